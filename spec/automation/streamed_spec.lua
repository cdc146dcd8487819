-- Looks of automations that the client's receiver of telemetry answers.

local look = require "fleet.automation.look"
local vehicles = require "fleet.telemetry.vehicle"

local shared_looks = require "fleet.automation.shared_looks"
local streamed = require "fleet.automation.streamed"
local tasks = require "fleet.async"

local VIN = "5YJ3000TEST000001"
local self, state, calls, now, vehicle, notified

local function full()
  return { charge_state = { charging_state = "Charging", battery_level = 50, charge_limit_soc = 80, charger_pilot_current = 16 } }
end

before_each(function()
  calls, notified = {}, {}
  now = select(2, require("fleet").loop.clock())
  vehicle = vehicles.new(VIN)
  local car = { vin = VIN, vehicle_data = function()
    calls[#calls + 1] = "vehicle_data"
    return full()
  end }
  local receiver = { raw = true, options = { allowed = function() return true end }, vehicle = function() return vehicle end }
  self = { config = { car = car, name = "a" }, context = { receiver = receiver },
    definition = { needs = { charge_state = { "battery_level" } } }, id = VIN, hooks = {}, dry = true,
    wall = function() return now end }
  state = { seen = { info = { state = "online" } }, at = { info = now }, awake_since = now, notified = {} }
end)

local action = { call = "vehicle_data", params = { endpoints = { "charge_state" } }, sections = { "charge_state" } }

local function streams(values, at)
  vehicles.learn(vehicle, { values = values, invalid = {}, at = at or now, arrived = now, connection = 1 })
end

local function connect() vehicles.joins(vehicle, { arrived = now, connection = 1 }, {}) end

describe("a look", function()
  it("is made once, then the stream answers while the car is connected", function()
    connect()
    streams({ DetailedChargeState = "Stopped", Soc = 61.2, ChargeLimitSoc = 90 }, 1000)
    assert.is_true(look.look(self, state, action))
    assert.equal(50, state.seen.charge_state.battery_level)
    assert.is_true(look.look(self, state, action))
    assert.same({ "Stopped", 61, 90, 16 }, { state.seen.charge_state.charging_state, state.seen.charge_state.battery_level,
      state.seen.charge_state.charge_limit_soc, state.seen.charge_state.charger_pilot_current })
    assert.equal(now, state.at.charge_state)
    assert.equal(1, #calls)
  end)

  it("is made again after an hour", function()
    connect()
    streams { DetailedChargeState = "Stopped", BatteryLevel = 61, ChargeLimitSoc = 90 }
    look.look(self, state, action)
    look.look(self, state, action)
    assert.equal(1, #calls)
    local looked = shared_looks.looked(self)
    for name in pairs(looked) do looked[name] = tasks.steady() - 86401 end
    look.look(self, state, action)
    assert.equal(2, #calls)
  end)

  it("is made where the stream lacks a field that a look has shown", function()
    connect()
    streams { DetailedChargeState = "Stopped", BatteryLevel = 61 }
    look.look(self, state, action)
    look.look(self, state, action)
    assert.equal(2, #calls) -- charge_limit_soc is not streamed
    streams { ChargeLimitSoc = 90 }
    look.look(self, state, action)
    assert.equal(2, #calls)
  end)

  it("is not made again because the wall clock was set", function()
    self.dry = false
    connect()
    streams { DetailedChargeState = "Stopped", BatteryLevel = 61, ChargeLimitSoc = 90 }
    look.look(self, state, action)
    look.look(self, state, action)
    assert.equal(1, #calls)
    shared_looks.forget(self)
    look.look(self, state, action)
    assert.equal(1, #calls)
  end)

  it("waits while a car that has disconnected may be falling asleep, and is made ten minutes later", function()
    connect()
    streams { DetailedChargeState = "Stopped", BatteryLevel = 61, ChargeLimitSoc = 90 }
    look.look(self, state, action)
    vehicles.leaves(vehicle, { connection = 1, arrived = now })
    vehicle.left = vehicle.left - 60
    assert.same({ false, nil, now + 60 }, { look.look(self, state, action) })
    assert.equal(1, #calls)
    assert.same({}, notified)
    vehicle.left, state.awake_since = tasks.steady() - 600, now - 600
    assert.is_true(look.look(self, state, action))
    assert.equal(2, #calls)
    vehicle.left = tasks.steady() - 60 -- it failed before
    assert.is_true(look.look(self, state, action))
    assert.equal(3, #calls)
    connect()
    look.look(self, state, action)
    vehicles.leaves(vehicle, { connection = 1, arrived = now })
    vehicle.left = vehicle.left - 60
    assert.is_false((look.look(self, state, action)))
    assert.equal(3, #calls)
  end)

  it("is made where a field is no longer known", function()
    connect()
    streams { DetailedChargeState = "Stopped", BatteryLevel = 61, ChargeLimitSoc = 90 }
    look.look(self, state, action)
    vehicles.learn(vehicle, { values = {}, invalid = { "BatteryLevel" }, at = now, arrived = now, connection = 1 })
    look.look(self, state, action)
    assert.equal(2, #calls)
  end)

  it("is made after a command, whose effect may not have been streamed yet", function()
    connect()
    streams { DetailedChargeState = "Stopped", BatteryLevel = 61, ChargeLimitSoc = 90 }
    look.look(self, state, action)
    state.did = { charging = { at = now - 30 } }
    look.look(self, state, action)
    assert.equal(2, #calls)
    state.did.charging.at = now - 121
    look.look(self, state, action)
    assert.equal(2, #calls)
  end)

  it("says once that a car which is awake does not stream", function()
    self.dry, state.awake_since = false, now - 700
    self.handle = require("fleet").new({ base_url = "http://127.0.0.1:9", token = "none" }):vehicle(VIN)
    self.hooks = { function(event) notified[#notified + 1] = event.text end }
    look.look(self, state, action)
    look.look(self, state, action)
    assert.equal(2, #calls)
    assert.equal(1, #notified)
    assert.matches("not connected to the receiver", notified[1])
  end)

  it("does not say so of a car whose connection has just ended", function()
    self.dry, state.awake_since = false, now - 7000
    self.handle = require("fleet").new({ base_url = "http://127.0.0.1:9", token = "none" }):vehicle(VIN)
    self.hooks = { function(event) notified[#notified + 1] = event.text end }
    connect()
    vehicles.leaves(vehicle, { connection = 1, arrived = now - 60 })
    vehicle.left = vehicle.left - 60
    look.look(self, state, action)
    assert.same({}, notified)
    vehicle.left = tasks.steady() - 700
    look.look(self, state, action)
    assert.equal(1, #notified)
  end)
end)

describe("the wall clock", function()
  for _, jump in ipairs { -3600, 3600 } do
    it("set by " .. jump .. " s moves when an event is looked into, and the end of a wait", function()
      local hear
      self.context.receiver.listen = function(_, _, fn)
        hear = fn
        return function() end
      end
      streamed.follow(self)
      hear(nil, "record", {}, { Locked = true })
      assert.equal(now, streamed.due_at(self, state))
      assert.is_false((look.look(self, state, action))) -- it waits for the car
      hear(nil, "connected", {})
      assert.equal(now + 60, streamed.values_due(self, now))
      now = now + jump
      streamed.shift(self, jump)
      assert.equal(now, streamed.due_at(self, state))
      assert.equal(now + 60, streamed.values_due(self, now))
      assert.is_nil(streamed.values_due(self, now + 60))
    end)
  end
end)
