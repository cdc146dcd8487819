local garage = require("fleet.sim.garage")
local schema = require("fleet.sim.schema")
local simulated = require("spec.support.fixtures.simulated")

local VIN = simulated.CAR

local read = require("spec.support.harness.files").read

describe("a garage", function()
  it("without a file has an account, a site, a charging entry and two vehicles", function()
    local g = garage.load()
    assert.same({ 1, 1, 1, 2 }, { #g.accounts, #g.energy_sites, #g.charging_history, #g.vehicles })
    assert.is_nil(g.vehicles[1].vehicle_command_protocol_required)
    assert.is_false(g.vehicles[2].vehicle_command_protocol_required)
  end)

  it("has VINs of the right form that cannot belong to a real car", function()
    local values, weights = {}, { 8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2 }
    for letter, value in ("A1B2C3D4E5F6G7H8J1K2L3M4N5P7R9S2T3U4V5W6X7Y8Z9"):gmatch("(%a)(%d)") do values[letter] = tonumber(value) end
    for _, vehicle in ipairs(garage.load().vehicles) do
      assert.matches("^[A-HJ-NPR-Z0-9]+$", vehicle.vin)
      assert.equal(17, #vehicle.vin)
      local sum = 0
      for i = 1, 17 do sum = sum + weights[i] * (tonumber(vehicle.vin:sub(i, i)) or values[vehicle.vin:sub(i, i)]) end
      local check = sum % 11 == 10 and "X" or tostring(sum % 11)
      assert.not_equal(check, vehicle.vin:sub(9, 9))
    end
  end)

  it("that is empty has an account and nothing else", function()
    local g = garage.load({})
    assert.same({ "driver@example.com" }, { g.accounts[1].email, g.vehicles, g.charging_history })
  end)

  it("is not changed by who loads it", function()
    local source = { vehicles = { { vin = VIN, charge_state = { battery_level = 20 } } } }
    simulated.new(source):advance(86400)
    assert.same({ vehicles = { { vin = VIN, charge_state = { battery_level = 20 } } } }, source)
  end)

  it("of the examples can be loaded", function()
    local sim = simulated.new("examples/garage.json")
    assert.equal("eu", sim.service.region)
    assert.equal(2, #sim.service.vehicles)
  end)

  for name, case in pairs({
    ["a misspelt member"] = { { vehicels = {} }, "the garage: unknown member 'vehicels', did you mean 'vehicles'?" },
    ["a misspelt member of a vehicle"] = { { vehicles = { { vin = VIN, sleep_afte = 1 } } }, "vehicles[1]: unknown member 'sleep_afte'" },
    ["a VIN with a letter that none has"] = { { vehicles = { { vin = "5YJ3FLEE9RFO00001" } } }, "vehicles[1].vin: a VIN has 17" },
    ["no VIN"] = { { vehicles = { {} } }, "vehicles[1]: 'vin' is missing" },
    ["a VIN that occurs twice"] = { { vehicles = { { vin = VIN }, { vin = VIN } } }, "occurs twice" },
    ["a text for a number"] = { { vehicles = { { vin = VIN, charge_state = { battery_level = "50" } } } },
      "vehicles[1].charge_state.battery_level: a number or null is expected, not a string" },
    ["an unknown state"] = { { vehicles = { { vin = VIN, state = "dreaming" } } }, "one of online, asleep, offline is expected" },
    ["an object for a list"] = { { vehicles = { vin = VIN } }, "vehicles: a list is expected" },
    ["a key that is none"] = { { vehicles = { { vin = VIN, keys = { "04ff" } } } }, "a P-256 public key, as 130 hex digits or PEM," },
    ["a key with a misspelt member"] = { { vehicles = { { vin = VIN, keys = { { publik_key = "x" } } } } }, "did you mean 'public_key'" },
    ["an owner that no account has"] = { { vehicles = { { vin = VIN, owner = "x@y" } } }, "no account has the email x@y" },
    ["an account without email"] = { { accounts = { { region = "na" } } }, "accounts[1]: 'email' is missing" },
    ["an unknown region"] = { { accounts = { { email = "a", region = "moon" } } }, "one of na, eu, cn is expected" },
  }) do
    it("with " .. name .. " is refused with its place", function()
      local ok, message = pcall(garage.load, case[1])
      assert.is_false(ok)
      assert.matches(case[2], message, 1, true)
    end)
  end

  it("file that is no JSON says where", function()
    local path = os.tmpname()
    local file = io.open(path, "w")
    file:write('{"vehicles": [}')
    file:close()
    local ok, message = pcall(garage.load, path)
    os.remove(path)
    assert.is_false(ok)
    assert.matches("at byte 15", message)
  end)

  it("has the schema that the rules make", function()
    assert.equal(schema.text(), read("doc/garage.schema.json"))
  end)

  it("takes keys as hex, as PEM and with a role", function()
    local key = require("fleet.core").key.generate()
    local hex = key:public_bytes():gsub(".", function(c) return ("%02x"):format(c:byte()) end)
    for _, written in ipairs({ hex, hex:upper(), key:public_pem(), { public_key = hex, role = "DRIVER" } }) do
      local car = simulated.new({ vehicles = { { vin = VIN, keys = { written } } } }):car(VIN)
      assert.equal(hex, car.keys[1].public_key)
    end
  end)
end)
