-- An automation that waits for its car to connect to the receiver of telemetry, in virtual time; and the wall clock set meanwhile.

local fleet = require "fleet"
local houses = require "spec.support.fixtures.mqtt_house"
local streams = require "fleet.sim.rehearsal.stream"

local function clock() return (fleet.loop.clock()) end

-- Runs fn(house, source, said) beside keep_limit of an awake car that cannot connect yet. fields: name = interval. said: what it says, with
-- times. before: seconds for which the car was connected before that. house.jump: by how many seconds the wall clock was set; the car's
-- clock and that of the service are right.
local function run(fields, fn, before)
  local house, said = houses.new { vehicle = { sleep_after = 1e9, charge_state = { charge_limit_soc = 80 } } }, {}
  local read = fleet.loop.clock
  house.jump = 0
  function fleet.loop.clock()
    local mono, wall = read()
    return mono, wall + house.jump
  end
  local function right() return (select(2, read())) end
  house.service.now = right
  house:run(function()
    local config = { fields = {} }
    for name, interval in pairs(fields) do config.fields[name] = { interval_seconds = interval, resend_interval_seconds = 30 } end
    local source = streams.of_client(house.service, house.client, config)
    source.now = right
    source.is_cut, source.step = not before, 1
    local task = fleet.spawn(function() source:run() end)
    fleet.sleep(before or 0)
    source.is_cut = true
    fleet.sleep(10)
    local automation = fleet.automation.keep_limit { car = house.client:vehicle(houses.vin), level = 80 }
    local running = fleet.spawn(function()
      assert(automation:run { wait = true, progress = function(text) said[#said + 1] = { at = clock(), text = text } end })
    end)
    local ok, failure = pcall(fn, house, source, said)
    automation:stop()
    running:wait()
    source:close()
    task:cancel()
    if not ok then error(failure, 0) end
  end)
end

local function first(said, text)
  for _, one in ipairs(said) do
    if string.find(one.text, text, 1, true) then return one.at end
  end
end

local all = { DetailedChargeState = 1, Soc = 1, ChargeLimitSoc = 1, ScheduledChargingMode = 1 }

describe("an automation that waits for its car to connect", function()
  for before, name in pairs { [0] = "", [100] = ", with values that the receiver knew already" } do
    it("acts when the car connects" .. name .. ", without a look and without asking more often", function()
      run(all, function(house, source, said)
        fleet.sleep(125)
        local asked = 0
        house.before = function() asked = asked + 1 end
        assert.matches("waits for the car to connect", said[1].text, 1, true)
        assert.is_nil(first(said, "the charge limit is 80 %"))
        local at = clock()
        source.is_cut = false
        fleet.sleep(30)
        local acted = first(said, "the charge limit is 80 %")
        assert.is_true(acted ~= nil and acted - at <= 5, tostring(acted))
        assert.is_nil(house.calls.data)
        assert.equal(0, asked)
      end, before > 0 and before or nil)
    end)
  end

  it("waits a minute for the values of a car that has connected, and then makes one look for what is not streamed", function()
    run({ Soc = 1 }, function(house, source)
      fleet.sleep(175)
      source.is_cut = false
      fleet.sleep(50)
      assert.is_nil(house.calls.data)
      fleet.sleep(70)
      assert.equal(1, house.calls.data)
      fleet.sleep(600)
      assert.equal(1, house.calls.data)
    end)
  end)

  it("looks ten minutes later at a car that does not connect", function()
    run(all, function(house)
      fleet.sleep(590)
      assert.is_nil(house.calls.data)
      fleet.sleep(100)
      assert.equal(1, house.calls.data)
    end)
  end)
end)

describe("an automation of a client without a receiver", function()
  it("looks, also when it would wait for another process", function()
    local house, said = houses.new { vehicle = { sleep_after = 1e9 } }, nil
    house:run(function()
      local automation = fleet.automation.keep_limit { car = house.client:vehicle(houses.vin), level = 80 }
      local running = fleet.spawn(function()
        assert(automation:run { wait = true, progress = function(text) said = text end })
      end)
      fleet.sleep(100)
      automation:stop()
      running:wait()
    end)
    assert.matches("the charge limit is 80 %", said, 1, true)
    assert.equal(1, house.calls.data)
  end)
end)

describe("the wall clock", function()
  for _, jump in ipairs { 0, -3600, 3600, -20 * 365 * 86400 } do
    it("set by " .. jump .. " s causes no look at a car that streams, or that left a minute ago", function()
      run(all, function(house, source, said)
        source.is_cut = false
        fleet.sleep(600)
        assert.is_number(first(said, "the charge limit is 80 %"))
        house.jump = jump
        fleet.sleep(3000)
        assert.is_nil(house.calls.data)
        source.is_cut = true
        fleet.sleep(60)
        house.jump = 0
        fleet.sleep(300)
        source.is_cut = false
        fleet.sleep(1200)
        assert.is_nil(house.calls.data)
      end)
    end)

    it("set by " .. jump .. " s changes nothing of when a car that does not connect is looked at", function()
      run(all, function(house, source)
        source.is_cut = false
        fleet.sleep(600)
        source.is_cut = true
        fleet.sleep(100)
        house.jump = jump
        fleet.sleep(400)
        assert.is_nil(house.calls.data)
        fleet.sleep(3600)
        assert.equal(1, house.calls.data)
      end)
    end)
  end
end)
