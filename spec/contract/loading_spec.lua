it("a program that loads the library loads no more than the loop; the rest comes when it is used", function()
  local program = [[
    require "fleet"
    local n = 0
    for name in pairs(package.loaded) do if name:find "^fleet%." then n = n + 1 end end
    print(n)]]
  local pipe = assert(io.popen("lua5.4 -e '" .. program .. "'"))
  local loaded = tonumber(pipe:read("l"))
  pipe:close()
  assert.is_true(loaded <= 17, loaded .. " modules")
end)
