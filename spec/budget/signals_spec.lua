-- Signals that vehicles stream, as a billing class.

local core = require "fleet.core"
local fleet = require "fleet"
local signals = require "fleet.budget.signals"
local virtual = require "spec.support.harness.virtual"

local WALL = 1773136800 -- 2026-03-10T10:00:00Z
local VIN, OTHER = "5YJ3E1EA7KF000001", "5YJ3E1EA7KF000002"

describe("signals", function()
  local time, client, events, count
  before_each(function() time = virtual.install(WALL) end)
  after_each(function()
    client:close()
    time.restore()
  end)

  local function start(given)
    events = {}
    local options = { base_url = "http://127.0.0.1:9", token = "none", log = function(event)
      if event.name then events[#events + 1] = event end
    end }
    for name, value in pairs(given or {}) do options[name] = value end
    client = fleet.new(options)
    count = signals.counter(core.context(client))
  end

  -- What has arrived is written within a second.
  local function pass() fleet.sleep(2) end

  it("are counted by day and vehicle, and priced", function()
    start()
    count(VIN, 1000)
    count(VIN, 500)
    count(OTHER, 1500)
    count(OTHER, 0)
    local cost = assert(client:cost {})
    assert.same({ signal = 3000 }, cost.calls)
    assert.near(3000 / 150000, cost.usd, 1e-12)
    assert.same({ { date = "2026-03-10", calls = { signal = 3000 }, usd = cost.usd } }, cost.days)
    assert.same({ { 1500, 1500 }, 2 }, { { cost.vehicles[1].calls.signal, cost.vehicles[2].calls.signal }, #cost.vehicles })
    assert.equal(1500, assert(client:cost { vehicle = OTHER }).calls.signal)
  end)

  it("take the caller's price", function()
    start { prices = { signal = 0.5 } }
    count(VIN, 3)
    assert.equal(1.5, client:cost {}.usd)
  end)

  it("are written without any call", function()
    local store = fleet.store.memory()
    start { store = store }
    count(VIN, 7)
    pass()
    assert.equal(7, store:add("count/default/2026-03", {}).signal)
    assert.equal(7, store:add("count/default/2026-03/" .. VIN, {})["signal/10"])
  end)

  it("warn once at 80 % of a budget that names them, offer a smaller configuration, and are not refused", function()
    start { budgets = { per_day = { signal = 100 } } }
    count(VIN, 79)
    pass()
    assert.same({}, events)
    count(VIN, 30) -- beyond the limit at once
    pass()
    count(VIN, 500)
    pass()
    assert.equal(1, #events)
    assert.same({ "budget_warning", "per_day.signal", 109, 100 }, { events[1].name, events[1].limit, events[1].spent, events[1].most })
    assert.matches("109 of 100 signals", events[1].message, 1, true)
    assert.matches("fleet telemetry cost CONFIG", events[1].message, 1, true)
    assert.equal(609, client:cost {}.calls.signal)
  end)

  it("warn for the vehicle that uses up its own", function()
    start { budgets = { per_vehicle_month = { signal = 10 } } }
    count(VIN, 5)
    count(OTHER, 9)
    pass()
    assert.same({ 1, "per_vehicle_month.signal", "0002" }, { #events, events[1].limit, events[1].vin })
  end)

  it("warn again on the next day", function()
    start { budgets = { per_day = { signal = 10 } } }
    count(VIN, 9)
    pass()
    time.advance(86400)
    count(VIN, 9)
    pass()
    assert.equal(2, #events)
  end)

  it("use up dollars: of the account, and of an application over accounts", function()
    start { client_id = "app", budgets = { usd_per_day = 0.01, usd_per_application_month = 0.02 } }
    count(VIN, 1200)
    pass()
    assert.same({ 1, "usd_per_day" }, { #events, events[1].limit })
    count(VIN, 1200)
    pass()
    assert.same({ 2, "usd_per_application_month" }, { #events, events[2].limit })
    local value, err = client:vehicle(VIN):vehicle_data {}
    assert.is_nil(value)
    assert.equal("usd_per_day", err.budget.limit)
  end)

  it("leave budgets of other classes alone", function()
    start { budgets = { per_day = { data = 10 } } }
    count(VIN, 1000)
    pass()
    assert.same({}, events)
  end)

  it("are in the metrics", function()
    local collector = fleet.metrics.prometheus()
    start { metrics = collector }
    count(VIN, 300)
    assert.matches('fleet_billed_total{class="signal"} 300', collector:text(), 1, true)
    assert.matches("fleet_usd_total 0.002", collector:text(), 1, true)
  end)
end)
