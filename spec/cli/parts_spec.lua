-- Parts of the command line by themselves: how it is split, what a file or standard input stands for, what is read of records.
local argv = require "fleet.cli.argv"
local cli = require "spec.support.harness.cli"
local input = require "fleet.cli.input"
local vehicles = require "fleet.cli.vehicles"

local VIN = "5YJ3FLEE9RF000001"

describe("the command line", function()
  it("takes every word behind the first --, a second -- too", function()
    assert.same({ "send", "--", "--x", "-h" }, argv.split({ "send", "--", "--", "--x", "-h" }, {}).words)
  end)

  it("wants a whole number where the parameter is one, and says what it got", function()
    local result = cli.run({ "set_charge_limit", VIN, "percent=80.5" }, { env = { FLEET_TOKEN = "canary-token" } })
    assert.equal(2, result.status)
    assert.matches("'percent' must be a whole number, got '80.5'", result.err, 1, true)
  end)

  it("leaves out one line end of standard input, and nothing else", function()
    local function read(text)
      return input.read({ stdin = { read = function() return text end } }, "name", "-")
    end
    assert.same({ "a", "a", "a \n", "a\t", "", " a" }, { read "a\n", read "a\r\n", read "a \n\n", read "a\t\n", read "\n", read " a" })
  end)

  it("takes up to seven digits for the end of a VIN, and more for the id of a record", function()
    local context = { vehicles = { { vin = VIN }, { vin = "5YJ3FLEE9RF100001" }, { vin = "5YJ3FLEE9R1234567" } } }
    local function found(text) return vehicles.find(context, text) end
    assert.equal(VIN, found "000001")
    assert.equal("5YJ3FLEE9R1234567", found "1234567")
    assert.equal("12345678", found "12345678")
    assert.same({ "invalid", "not_found", "not_found" }, {
      (select(3, found "00001")), (select(3, found "01")), (select(3, found "999999")),
    })
  end)

  it("takes no name and no VIN from a record where they are something else", function()
    local listed = { { vin = VIN, display_name = "Red" }, { vin = 5, display_name = {} }, { vin = "short", display_name = false } }
    local client = { vehicles = function() return { collect = function() return listed end } end }
    local records = vehicles.records {
      client = function() return client end, waiting = function(_, _, call, ...) return call(...) end,
    }
    assert.same({ { vin = VIN, display_name = "Red" }, {}, {} }, records)
  end)
end)
