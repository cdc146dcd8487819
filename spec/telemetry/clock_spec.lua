-- Values of a vehicle while the receiver's wall clock is set.

local fleet = require "fleet"
local tasks = require "fleet.async"
local vehicles = require "fleet.telemetry.vehicle"
local view = require "fleet.telemetry.view"

local VIN, START = "5YJ3000TEST000001", 1767200000

describe("a receiver whose wall clock is set", function()
  local vehicle, passed, jump, own

  before_each(function()
    vehicle, passed, jump, own = vehicles.new(VIN), 0, 0, fleet.loop.clock
    fleet.loop.clock = function() return 1000 + passed, START + passed + jump end
    tasks.steady() -- a process reads its clock at its start
  end)
  after_each(function() fleet.loop.clock = own end)

  -- A record of a car whose clock is right, or given.ahead seconds ahead.
  local function arrives(values, given)
    given = given or {}
    vehicles.learn(vehicle, { values = values, invalid = given.invalid or {}, at = START + passed - (given.late or 0) + (given.ahead or 0),
      arrived = START + passed + jump, connection = given.connection or 1, resend = given.resend })
  end

  for _, seconds in ipairs { -3600, 3600, -20 * 365 * 86400 } do
    it("by " .. seconds .. " s takes what the vehicle sends by another connection, and again", function()
      arrives { Soc = 60, ChargeLimitSoc = 80, Locked = true }
      passed, jump = 100, seconds
      arrives({ Soc = 61 }, { connection = 2 })
      arrives({ ChargeLimitSoc = 90 }, { connection = 1 })
      arrives({}, { connection = 2, invalid = { "Locked" } })
      assert.same({ Soc = 61, ChargeLimitSoc = 90 }, vehicle.values)
      passed = 200
      arrives({ ChargeLimitSoc = 70 }, { resend = true, connection = 2, late = 50 })
      assert.equal(70, vehicle.values.ChargeLimitSoc)
    end)

    it("by " .. seconds .. " s does not take what the vehicle sent earlier", function()
      arrives { Soc = 60 }
      passed, jump = 100, seconds
      arrives({ Soc = 59 }, { connection = 2, late = 150 })
      assert.equal(60, vehicle.values.Soc)
      arrives({ Soc = 58 }, { resend = true, late = 150 })
      assert.equal(60, vehicle.values.Soc)
    end)

    it("by " .. seconds .. " s shows no value as older than it is", function()
      arrives { Soc = 60 }
      passed, jump = 30, seconds
      assert.near(30, vehicle.age "Soc", 0.1)
      assert.equal(60, view.of(vehicle, { age = 31 }).charge_state.usable_battery_level)
      assert.is_nil(view.of(vehicle, { age = 29 }).charge_state)
      arrives { Soc = 61 }
      passed = 50
      assert.near(20, vehicle.age "Soc", 0.1)
      passed, jump = 60, 0
      assert.near(30, vehicle.age "Soc", 0.1)
    end)
  end

  it("is the same for a car whose clock is minutes ahead", function()
    arrives({ Soc = 60 }, { ahead = 300 })
    passed = 10
    arrives({ Soc = 61 }, { connection = 2, ahead = 300 })
    passed = 20
    arrives({ Soc = 62 }, { connection = 3 })
    assert.equal(62, vehicle.values.Soc)
  end)
end)
