-- Lua orders and waits: how often a warm signed command calls into the core is a budget, and a count, so that it is held here.
it("a warm signed command with the file store calls into the core no more often than its budget", function()
  local pipe = assert(io.popen(require("spec.support.harness.process").lua .. " spec/bench/crossings.lua"))
  local said = pipe:read "a"
  pipe:close()
  local count, budget, verdict = string.match(said, "^crossings (%d+) (%d+) (%w+)\n$")
  assert.equal("ok", verdict, said)
  assert.is_true(tonumber(count) > 10 and tonumber(count) <= tonumber(budget), said)
end)
