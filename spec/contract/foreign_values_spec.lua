-- No value in any place ends the process or reads memory that is not the module's: what is wrong raises or returns an error.

local process = require "spec.support.harness.process"

-- Runs the sweep in a process of its own, in a directory of its own; returns what it printed and the call it was at.
local function sweep()
  local directory = process.temporary("foreign")
  local script = process.root .. "/spec/support/fixtures/foreign_values.lua"
  local pipe = assert(io.popen(string.format("cd %s && timeout -s KILL 240 " .. process.lua .. " %s progress 2>&1; echo status $?",
    process.quote(directory), process.quote(script))))
  local out = pipe:read("a")
  pipe:close()
  local file = assert(io.open(directory .. "/progress", "r"))
  local at = file:read("l")
  file:close()
  process.execute("rm -r " .. process.quote(directory))
  return out, at
end

describe("a foreign value", function()
  it("as any argument of any function, method or metamethod ends no process", function()
    local out, at = sweep()
    local calls, found, status = string.match(out, "(%d+)\t([^\n]+)\nstatus (%d+)\n$")
    assert.are.equal("0", status, "at " .. tostring(at) .. ": " .. string.sub(out, -3000))
    assert.are.equal("all", found)
    assert.is_true(tonumber(calls) > 100000, calls)
  end)
end)
