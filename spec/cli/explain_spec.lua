-- fleet explain, err.help and the manual's page say the same.

local core = require "fleet.core"
local cures = require "fleet.cli.cures"
local cli = require "spec.support.harness.cli"

describe("what stands behind an error", function()
  it("is written down for every kind, and for nothing that is no kind", function()
    local kinds = {}
    for _, kind in ipairs(core.kinds()) do
      kinds[kind.name] = true
      assert.is_true(#(cures[kind.name] or {}) > 0, kind.name)
    end
    for name in pairs(cures) do assert.is_true(kinds[name], name) end
  end)

  it("stands in the page that is committed", function()
    local file = assert(io.open(require("spec.support.harness.process").root .. "/doc/manual/troubleshooting.md"))
    assert.is_true(file:read "a" == require("doc.generate.troubleshooting").markdown(), "run make doc")
    file:close()
  end)

  it("is named by err.help, for kinds only and for nothing else of an err", function()
    local err = core.err { kind = "asleep", message = "asleep" }
    assert.equal("fleet explain asleep", err.help)
    assert.is_nil(err.outcome)
    assert.is_nil(rawget(err, "help"))
    local index = getmetatable(err).__index
    assert.is_nil(index(5, "help"))
    assert.is_nil(index({}, "help"))
    assert.is_nil(index(err, 5))
  end)
end)

describe("fleet explain", function()
  local function run(line)
    local words = {}
    for word in string.gmatch(line, "%S+") do words[#words + 1] = word end
    return cli.run(words)
  end

  it("tells causes and cures of a kind", function()
    local result = run "explain key_not_paired"
    assert.equal(0, result.status)
    assert.matches("fleet pair VIN", result.out, 1, true)
    assert.equal("asleep", run("explain asleep --json").json[1].kind)
  end)

  it("tells what a reason and a fault mean, and of which kind they are", function()
    assert.matches("The charger gives no power.", run("explain no_power").out, 1, true)
    assert.matches("fleet explain key_not_paired", run("explain 3").out, 1, true)
    assert.matches("fleet explain key_not_paired", run("explain UNKNOWN_KEY_ID").out, 1, true)
  end)

  it("names the nearest for what it does not know", function()
    local result = run "explain key_not_pared"
    assert.equal(2, result.status)
    assert.matches("did you mean 'key_not_paired'", result.err, 1, true)
    assert.equal(2, run("explain").status)
  end)
end)
