-- A bridge whose cars stream, in virtual time: what is published, what is billed, and what happens when the stream fails.

local fleet = require "fleet"
local control = require "fleet.sim.control"
local core = require "fleet.core"
local houses = require "spec.support.fixtures.mqtt_house"
local options = require "fleet.mqtt.options"
local schedule = require "fleet.mqtt.schedule"
local streams = require "fleet.sim.rehearsal.stream"
local templates = require "fleet.telemetry.templates"

local vin = houses.vin

-- Runs fn(house, source) with cars that stream by a template or a configuration.
local function run(given, config, fn)
  local house = houses.new(given)
  house:run(function()
    local source = streams.of_client(house.service, house.client, type(config) == "string" and templates.config(config) or config)
    local task = fleet.spawn(function() source:run() end)
    local ok, failure = pcall(fn, house, source)
    source:close()
    for _, bridge in ipairs(house.bridges) do bridge:stop() end
    task:cancel()
    if not ok then error(failure, 0) end
  end)
end

local function said(bridge, pattern)
  local count = 0
  for _, text in ipairs(bridge.logged) do
    if string.find(text, pattern, 1, true) then count = count + 1 end
  end
  return count
end

describe("a car that streams", function()
  it("is published as its values come, without a look", function()
    run({ vehicle = { sleep_after = 1e9, charge_state = { battery_level = 40, charge_limit_soc = 80 } } }, "everything", function(house)
      house:start()
      fleet.sleep(100)
      assert.same({ "online", "40", "OFF", "80" },
        { house:says "state", house:says "battery", house:says "charging", house:says "charge_limit" })
      control.event(house.service, "plug", vin)
      fleet.sleep(31)
      assert.same({ "ON", "ON" }, { house:says "charging", house:says "plug" })
      fleet.sleep(3 * 3600)
      assert.is_true(tonumber(house:says "battery") > 40)
      assert.same({}, house.calls)
    end)
  end)

  it("leaves unknown what is not streamed and was never looked at", function()
    run({ vehicle = { sleep_after = 1e9 } }, "charging", function(house)
      house:start()
      fleet.sleep(300)
      assert.equal("60", house:says "battery") -- Soc alone is streamed
      for _, name in ipairs { "lock", "door_driver_front", "windows", "climate/mode", "user_present", "charge_port", "location" } do
        assert.is_nil(house:says(name))
      end
      assert.same({}, house.calls)
    end)
  end)

  it("keeps what an earlier look showed beside what is streamed", function()
    local house = houses.new { vehicle = { sleep_after = 1e9 } }
    house:run(function()
      local bridge = house:start()
      fleet.sleep(60)
      assert.equal("LOCKED", house:says "lock")
      house:stop(bridge)
      house.car.energy_percent = 44
      local source = streams.of_client(house.service, house.client, templates.config "charging")
      local task = fleet.spawn(function() source:run() end)
      house:start()
      fleet.sleep(100)
      assert.same({ "44", "LOCKED", 1 }, { house:says "battery", house:says "lock", house.calls.data })
      source:close()
      task:cancel()
    end)
  end)

  it("publishes as unknown what it no longer knows", function()
    local config = { fields = { TimeToFullCharge = { interval_seconds = 30 }, DetailedChargeState = { interval_seconds = 30 } } }
    run({ vehicle = { sleep_after = 1e9, charge_state = { battery_level = 40, charge_limit_soc = 80 } } }, config, function(house)
      house:start()
      control.event(house.service, "plug", vin)
      fleet.sleep(200)
      assert.is_true(tonumber(house:says "time_to_full") > 0)
      control.event(house.service, "unplug", vin)
      fleet.sleep(100)
      assert.same({ "None", "OFF" }, { house:says "time_to_full", house:says "plug" })
    end)
  end)

  it("that falls asleep keeps its values, and needs no look when it wakes", function()
    run({}, "everything", function(house)
      house:start()
      fleet.sleep(3600)
      assert.same({ "asleep", "60" }, { house:says "state", house:says "battery" })
      control.event(house.service, "plug", vin) -- it wakes
      fleet.sleep(31)
      assert.same({ "online", "ON" }, { house:says "state", house:says "charging" })
      fleet.sleep(1800)
      assert.same({}, house.calls)
    end)
  end)

  it("publishes the position only with the option", function()
    for wanted, shown in pairs { [true] = true, [false] = false } do
      run({ vehicle = { sleep_after = 1e9 } }, "presence", function(house)
        house:start { location = wanted }
        fleet.sleep(100)
        local text = house:says "attributes/location"
        assert.equal(shown, text ~= nil and core.json_decode(text).latitude ~= nil)
      end)
    end
  end)
end)

describe("a command to a car that streams", function()
  it("shows at once, is not taken back by what was under way, and follows the car later", function()
    run({ vehicle = { sleep_after = 1e9 } }, "everything", function(house)
      local bridge = house:start()
      fleet.sleep(100)
      assert.equal("80", house:says "charge_limit")
      local answer = house:ask(vin .. "/charge_limit/set", "70")
      assert.equal("done", answer.outcome)
      for _ = 1, 20 do
        assert.equal("70", house:says "charge_limit")
        fleet.sleep(10)
      end
      house.car.sections.charge_state.charge_limit_soc = 90
      fleet.sleep(61)
      assert.equal("90", house:says "charge_limit")
      assert.is_nil(house.calls.data)
      house:stop(bridge)
    end)
  end)

  it("that had no effect is taken back after two minutes", function()
    run({ vehicle = { sleep_after = 1e9 } }, "everything", function(house)
      house:start()
      fleet.sleep(100)
      house.after = function(request)
        if string.find(request.url, "set_charge_limit", 1, true) then
          house.car.sections.charge_state.charge_limit_soc = 80
        end
      end
      assert.equal("done", house:ask(vin .. "/charge_limit/set", "70").outcome)
      fleet.sleep(20)
      assert.equal("70", house:says "charge_limit")
      fleet.sleep(200)
      assert.equal("80", house:says "charge_limit")
      assert.is_nil(house.calls.data)
    end)
  end)
end)

describe("a stream that fails", function()
  it("because the car does not connect: looks begin after ten minutes, which is logged once, and end when it streams again", function()
    run({ vehicle = { sleep_after = 1e9, charge_state = { battery_level = 40, charge_limit_soc = 80 } } }, "everything",
      function(house, source)
        source.is_cut = true
        control.event(house.service, "plug", vin)
        local bridge = house:start()
        fleet.sleep(500)
        assert.same({}, house.calls)
        assert.is_nil(house:says "battery")
        fleet.sleep(300)
        assert.equal(1, house.calls.data)
        assert.is_string(house:says "battery")
        fleet.sleep(3600)
        assert.is_true(house.calls.data >= 8, tostring(house.calls.data))
        assert.equal(1, said(bridge, "not connected to the receiver of telemetry: live reads are made, which are billed"))
        source.is_cut = false
        fleet.sleep(120)
        local before = house.calls.data
        fleet.sleep(3600)
        assert.equal(before, house.calls.data)
        assert.equal(1, said(bridge, "it streams again"))
      end)
  end)

  it("because the connection of a car that has long been awake breaks: looks begin after ten minutes, and not before", function()
    run({ vehicle = { sleep_after = 1e9 } }, "everything", function(house, source)
      local bridge = house:start()
      fleet.sleep(3 * 3600)
      source.is_cut = true
      fleet.sleep(300)
      source.is_cut = false
      fleet.sleep(1800)
      assert.same({}, house.calls)
      assert.equal(0, said(bridge, "billed"))
      source.is_cut = true
      fleet.sleep(800)
      assert.equal(1, house.calls.data)
      assert.equal(1, said(bridge, "not connected to the receiver of telemetry: live reads are made, which are billed"))
    end)
  end)

  it("because the car sends nothing more: looks begin after an hour", function()
    run({ vehicle = { sleep_after = 1e9 } }, "everything", function(house, source)
      local bridge = house:start()
      fleet.sleep(100)
      source.is_silent = true
      fleet.sleep(3600)
      assert.same({}, house.calls)
      fleet.sleep(600)
      assert.equal(1, house.calls.data)
      assert.equal(1, said(bridge, "has sent nothing for 65 minutes"))
    end)
  end)

  it("because the receiver has closed: looks begin at once, which is logged once", function()
    run({ vehicle = { sleep_after = 1e9 } }, "everything", function(house, source)
      local bridge = house:start()
      fleet.sleep(100)
      source:close()
      fleet.sleep(1500)
      assert.is_true(house.calls.data >= 1)
      assert.equal(1, said(bridge, "the receiver of telemetry: it has closed"))
    end)
  end)

  it("that a car which the receiver does not admit never began: looks are made", function()
    local house = houses.new { vehicle = { sleep_after = 1e9 } }
    house:run(function()
      local source = streams.of_client(house.service, house.client, templates.config "charging", { vehicles = {} })
      house:start()
      fleet.sleep(100)
      assert.equal(1, house.calls.data)
      source:close()
    end)
  end)
end)

describe("the wall clock", function()
  for _, jump in ipairs { -3600, 3600, -20 * 365 * 86400 } do
    it("set by " .. jump .. " s causes no look, and what the car sends after that is published", function()
      run({ vehicle = { sleep_after = 1e9 } }, "everything", function(house, source)
        local clock, set_by = fleet.loop.clock, 0
        function fleet.loop.clock()
          local mono, wall = clock()
          return mono, wall + set_by
        end
        local function right() return (select(2, clock())) end -- the car's clock
        house.service.now, source.now = right, right
        local limit = 80
        local function changes()
          limit = limit - 1
          house.car.sections.charge_state.charge_limit_soc = limit
          fleet.sleep(120)
          assert.equal(tostring(limit), house:says "charge_limit")
        end
        house:start()
        fleet.sleep(600)
        for _, seconds in ipairs { jump, 0 } do
          set_by = seconds
          source.is_cut = true
          fleet.sleep(300)
          source.is_cut = false
          changes()
          fleet.sleep(4000)
          changes()
        end
        assert.same({}, house.calls)
      end)
    end)
  end
end)

describe("the option telemetry", function()
  local telemetry = require "fleet.telemetry"

  local function given(more)
    local all = { port = 8443, certificate = "c", certificate_key = "k", client_ca = "a" }
    for name, value in pairs(more or {}) do all[name] = value end
    return all
  end

  it("opens a receiver for the cars of the bridge, again after it failed, and closes it with the bridge", function()
    local house = houses.new { vehicle = { sleep_after = 1e9 } }
    local source, asked, works = nil, 0, false
    stub(telemetry, "new", function(read)
      asked = asked + 1
      if not works then return nil, { message = "port 8443 is in use", kind = "network" }, "network" end
      source = streams.new(house.service, templates.config "everything", { vehicles = read.vehicles })
      fleet.spawn(function() source:run() end)
      return source.receiver
    end)
    house:run(function()
      local bridge = house:start { telemetry = given() }
      fleet.sleep(30)
      assert.equal(1, house.calls.data) -- it falls back
      fleet.sleep(100)
      assert.is_true(asked >= 2)
      assert.equal(1, said(bridge, "port 8443 is in use: live reads are made, which are billed"))
      works = true
      fleet.sleep(600)
      assert.equal(1, said(bridge, "listens at port"))
      local before = house.calls.data
      fleet.sleep(3600)
      assert.equal(before, house.calls.data)
      assert.is_true(source.receiver.options.allowed(vin))
      assert.is_false(source.receiver.options.allowed "5YJ3000TEST000009")
      house:stop(bridge)
      assert.is_nil(source.receiver.raw)
    end)
    telemetry.new:revert()
  end)

  it("listens with the certificates that it names, and a store of the client's", function()
    local pki = require("spec.support.servers.vehicle_pki").new()
    houses.new({ vehicle = { sleep_after = 1e9 } }):run(function(house)
      local bridge = house:start { telemetry = given {
        host = "127.0.0.1", port = 0, certificate = pki.server.certificate, certificate_key = pki.server.key, client_ca = pki.authorities,
      } }
      fleet.sleep(30)
      local receiver = house.client:telemetry()
      assert.is_true(receiver.port > 0)
      assert.equal(1, said(bridge, "listens at port " .. receiver.port))
      assert.equal("online", house:says "state")
      assert.same({}, house.calls)
      house:stop(bridge)
      assert.is_nil(receiver.raw)
      bridge = house:start { telemetry = given { certificate = "@/nowhere/chain.pem" } }
      fleet.sleep(30)
      assert.equal(1, said(bridge, "the receiver of telemetry: "))
      assert.equal(1, house.calls.data)
    end)
    pki.close()
  end)

  it("is checked before anything starts", function()
    for _, one in ipairs { { { port = "x" }, "'port'" }, { { prot = 1 }, "prot" }, { { ack = "never" }, "never" } } do
      local all = { client = {}, broker = "mqtt://b", telemetry = given(one[1]) }
      assert.error_matches(function() options.read(all) end, one[2])
    end
    assert.error_matches(function() options.read { client = {}, broker = "mqtt://b", telemetry = 8443 } end, "telemetry")
    assert.is_table(options.read { client = {}, broker = "mqtt://b", telemetry = given() }.telemetry)
  end)

  it("changes the sentence about the cost", function()
    local config = options.read { client = {}, broker = "mqtt://b", telemetry = given() }
    local month, without = schedule.month(config, 2, nil, true), schedule.month(config, 2)
    assert.same({ 0, 0, without.most }, { month.usd, month.looks, month.most })
    assert.matches("cars that stream: no live reads; signals cost 0.01 USD for 1000", month.text, 1, true)
    assert.matches(string.match(without.text, "2 cars: .*$"), month.text, 1, true)
    assert.is_nil(string.find(without.text, "signals", 1, true))
  end)
end)
