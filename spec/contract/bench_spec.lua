-- What benches stand on: a process at the other side, and what the machine's host took meanwhile.

local machine = require "spec.bench.machine"
local other_side = require "spec.bench.other_side"

describe("a bench", function()
  it("asks a process at the other side, and ends it though a later one holds its pipe", function()
    local line, first = other_side.start("sh -c \"echo here; read word; echo \\${#word}; cat\"")
    local _, second = other_side.start("cat /proc/version -")
    assert.equal("here", line)
    assert.equal(4, first.ask "four")
    first.stop()
    second.stop()
    assert.falsy(io.open("/proc/" .. first.pid .. "/stat"))
    assert.falsy(io.open("/proc/" .. second.pid .. "/stat"))
  end)

  it("learns of a process that did not start", function()
    assert.error_matches(function() other_side.start("true") end, "it did not start: true")
  end)

  it("knows the share of the cores that the host took", function()
    local before = "cpu  100 10 50 800 10 0 10 20 5 0"
    assert.equal(0.25, machine.stolen_between(before, "cpu  160 10 50 890 10 0 10 70 65 0"))
    assert.equal(0, machine.stolen_between(before, "cpu  160 10 50 890 10 0 10 20 65 0"))
    assert.equal(0, machine.stolen_between(before, before))
    assert.equal(0, machine.stolen_between("", ""))
  end)
end)
