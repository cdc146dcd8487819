-- Which reads of an automation or of the MQTT bridge the stream answers.

local core = require "fleet.core"
local looks = require "fleet.telemetry.looks"
local vehicles = require "fleet.telemetry.vehicle"

local VIN = "5YJ3000TEST000001"

describe("sections of the stream", function()
  local vehicle, now, known

  before_each(function()
    now = select(2, core.clock())
    vehicle = vehicles.new(VIN)
    known = { looked = {}, seen = {}, reads = {}, suffices = function() return true end }
  end)

  local function connect() vehicles.joins(vehicle, { connection = 1, arrived = now }, {}) end
  local function learn(values) vehicles.learn(vehicle, { values = values, invalid = {}, at = now, arrived = now, connection = 1 }) end
  local function sections(...) return looks.sections(vehicle, { ... }, known, now) end

  it("are those of a connected vehicle only", function()
    learn { Soc = 61, ChargeLimitSoc = 80 }
    known.reads = { charge_state = { "battery_level", "charge_limit_soc" } }
    assert.is_nil(sections "charge_state")
    connect()
    learn { Soc = 61, ChargeLimitSoc = 80 }
    local data = sections "charge_state"
    assert.same({ 61, 80 }, { data.charge_state.battery_level, data.charge_state.charge_limit_soc })
  end)

  it("take a field that is never streamed from a look of the last hour", function()
    connect()
    learn { Soc = 61 }
    known.reads = { charge_state = { "battery_level", "trip_charging" } }
    assert.is_nil(sections "charge_state")
    known.seen, known.looked = { charge_state = { trip_charging = false } }, { charge_state = now - looks.look_every + 1 }
    assert.is_false(sections("charge_state").charge_state.trip_charging)
    known.looked.charge_state = now - looks.look_every
    assert.is_nil(sections "charge_state")
  end)

  it("take no field from a look that the vehicle could stream and does not", function()
    connect()
    learn { Soc = 61 }
    known.reads = { charge_state = { "charge_limit_soc" } }
    known.seen, known.looked = { charge_state = { charge_limit_soc = 80 } }, { charge_state = now - 1 }
    assert.is_nil(sections "charge_state")
    known.seen.charge_state = {} -- the car does not have it
    assert.is_table(sections "charge_state")
  end)
end)
