-- The examples that need no network run as they stand.
local cases = {
  { "time", "^1774762200\t1774762200\n23%.0 hours\t2026%-03%-29T00:00:00%+01:00\n2026%-10%-25T02:30:00%+02:00\trepeated\n$" },
  { "stores", "^second\tsomebody else wrote the key\ntrue\t1\n$" },
  { "sign_in", "\nhttps://[^\n]+/oauth2/v3/authorize%?response_type=code&client_id=[^\n]+\n$" },
}

for _, case in ipairs(cases) do
  it("examples/" .. case[1] .. ".lua prints what it should", function()
    local pipe = assert(io.popen("lua5.4 examples/" .. case[1] .. ".lua </dev/null 2>&1"))
    local text = pipe:read("a")
    assert.is_true((pipe:close()), text)
    assert.matches(case[2], text)
  end)
end
