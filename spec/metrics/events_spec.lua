-- Events for operators: metrics, the audit of writes, and one alarm for many accounts.

local fleet = require "fleet"
local seam = require "spec.support.fixtures.host_http"

describe("metrics", function()
  it("get every attempt, with names from a short list and without VINs", function()
    local events = {}
    local car = seam.car({ seam.done, { status = 404, headers = {}, body = "{}" } }, {
      metrics = function(event) events[#events + 1] = event end,
    })
    assert(car:honk_horn())
    car:vehicle_data {}
    for _, event in ipairs(events) do event.seconds = nil end
    assert.same({
      { name = "attempt", row = "honk_horn", class = "command", status = 200, billed = true, attempt = 1, usd = 0.001 },
      { name = "attempt", row = "vehicle_data", class = "data", status = 404, kind = "not_found", billed = true, attempt = 1, usd = 0.002 },
    }, events)
  end)

  it("may raise without harm", function()
    local car = seam.car({ seam.done }, { metrics = function() error("x") end, audit = function() error("x") end })
    assert(car:honk_horn())
  end)

  it("are text for Prometheus, of several clients together", function()
    local collector = fleet.metrics.prometheus()
    local options = { metrics = collector, budgets = { per_day = { command = 5 } }, pacing = { wake = 1 } }
    for _ = 1, 2 do
      local car = seam.car({ seam.done }, options)
      for _ = 1, 6 do car:honk_horn() end
    end
    seam.car({ '{"response":{"state":"online"}}' }, options):wake_up()
    local car = seam.car({ '{"response":{"state":"online"}}' }, options)
    car:wake_up()
    car:wake_up { timeout = 20 } -- its turn comes in 60 s
    local text = collector:text()
    assert.matches('fleet_attempts_total{call="honk_horn",class="command",status="200",kind=""} 10\n', text)
    assert.matches('fleet_billed_total{class="command"} 10\n', text)
    assert.matches("fleet_usd_total 0.05", text)
    assert.matches('fleet_budget_total{limit="per_day.command",result="refused"} 2\n', text)
    assert.matches('fleet_budget_total{limit="per_day.command",result="warned"} 2\n', text)
    assert.matches('fleet_pace_total{class="wake",result="refused"} 1\n', text)
    assert.matches('fleet_attempt_seconds_count{class="command"} 10\n', text)
    assert.is_nil(text:find(seam.vin, 1, true))
  end)
end)

describe("the audit", function()
  local function audited(answers, act, options)
    local events = {}
    options = options or {}
    options.audit = function(event)
      event.time = nil
      events[#events + 1] = event
    end
    local car, _, client = seam.car(answers, options)
    act(car, client)
    return events
  end

  it("gets every write with its outcome, and no read", function()
    local events = audited({ seam.done, seam.refused("disconnected"), { status = 500, headers = {}, body = "" } }, function(car)
      car:honk_horn()
      car:charge_start()
      car:honk_horn()
      car:vehicle_data {}
      car:info()
    end)
    local common = { account = "default", token = "user", vin = seam.vin }
    local function event(more)
      for name, value in pairs(common) do more[name] = value end
      return more
    end
    assert.same({
      event { call = "honk_horn", outcome = "done", changed = true, via = "plain" },
      event { call = "charge_start", outcome = "refused", kind = "refused", reason = "disconnected" },
      event { call = "honk_horn", outcome = "unknown", kind = "service" },
    }, events)
  end)

  it("gets what was not sent, and never a parameter", function()
    local events = audited({ seam.done }, function(car)
      car:honk_horn()
      car:speed_limit_activate { pin = "4711" }
    end, { budgets = { per_day = { command = 1 } } })
    assert.same({ "done", "not_sent" }, { events[1].outcome, events[2].outcome })
    assert.equal("budget", events[2].kind)
    for _, value in pairs(events[2]) do assert.is_nil(tostring(value):find("4711", 1, true)) end
  end)
end)

describe("an account that must sign in again", function()
  local function fails(account, log)
    local car, _, client = seam.car({ { status = 401, headers = {}, body = "" } }, { account = account, log = log })
    return car, select(3, car:vehicle_data {}), client
  end

  it("is one alarm, and thousands of them are four", function()
    local alarms, cars, clients = {}, {}, {}
    local function log(event)
      if event.name then alarms[#alarms + 1] = event end
    end
    for i = 1, 1200 do
      local kind
      cars[i], kind, clients[i] = fails("account" .. i, log)
      assert.equal("auth", kind)
      cars[i]:vehicle_data {}
    end
    for _, car in ipairs(cars) do assert.equal("auth", select(3, car:info())) end
    local counts = {}
    for i, alarm in ipairs(alarms) do
      assert.equal("sign_in_needed", alarm.name)
      counts[i] = alarm.accounts
    end
    assert.same({ 1, 10, 100, 1000 }, counts)
    assert.matches("account 'account1' must sign in again", alarms[1].message)
    assert.matches("1000 accounts must sign in again", alarms[4].message)
    for _, client in ipairs(clients) do client:close() end
  end)

  it("raises another alarm after a success in between", function()
    local alarms, well = {}, false
    local client = seam.car(function()
      if well then return seam.answer '{"response":{"state":"online"}}' end
      return { status = 401, headers = {}, body = "" }
    end, { log = function(event)
      if event.name then alarms[#alarms + 1] = event.accounts end
    end })
    for _, goes_well in ipairs { false, false, true, false, false } do
      well = goes_well
      client:info()
    end
    assert.same({ 1, 1 }, alarms)
  end)
end)
