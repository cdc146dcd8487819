-- The runner of automations: decisions, refusals, caps, dry runs, leases. The months stand in specs of their own.

local fleet = require "fleet"
local months = require "spec.support.fixtures.month"
local seam = require "spec.support.fixtures.host_http"

local client, car, site
before_each(function()
  client = seam.client "{}"
  car, site = client:vehicle(seam.vin), client:energy_site("1234567890")
end)
after_each(function()
  client:close()
  client, car, site = nil, nil, nil
end)

local function charge_by(more)
  local given = { car = car, ready_by = "07:00", level = 80, tariff = months.tariff }
  for name, value in pairs(more or {}) do given[name] = value end
  return fleet.automation.charge_by(given)
end

local night = fleet.time("2026-03-03T01:00:00+01:00")

local function seen(at, fields, more)
  local charge = { charging_state = "Stopped", battery_level = 60, charge_limit_soc = 80, charge_current_request = 16,
    charger_pilot_current = 16, charge_current_request_max = 16, charger_phases = 1 }
  for name, value in pairs(fields or {}) do charge[name] = value end
  local state = { seen = { info = { state = "online" }, charge_state = charge }, at = { info = at, charge_state = at },
    inputs = { tariff = months.tariff }, memory = {}, did = {}, refused = {}, day = { commands = 0 }, calls = {} }
  for name, value in pairs(more or {}) do state[name] = value end
  return state
end

local function names(decision)
  local list = {}
  for _, action in ipairs(decision.actions) do list[#list + 1] = action.call end
  return table.concat(list, " ")
end

describe("a decision", function()
  it("is pure: the same state and moment give the same, and the state stays as it was", function()
    local state = seen(night)
    local before = require("fleet.core").json_encode { state.seen, state.at, state.memory }
    local one, two = charge_by():step(night, state), charge_by():step(night, state)
    assert.equal("charge_start", names(one))
    assert.equal(names(one), names(two))
    assert.equal(one.why, two.why)
    assert.equal(before, require("fleet.core").json_encode { state.seen, state.at, state.memory })
  end)

  for _, case in ipairs {
    { "looks first when nothing is known", nil, "info" },
    { "starts in a cheap hour", seen(night), "charge_start" },
    { "does nothing unplugged", seen(night, { charging_state = "Disconnected" }), "" },
    { "does nothing without power", seen(night, { charging_state = "NoPower" }), "" },
    { "stops what runs in a dear hour", seen(night + 18 * 3600, { charging_state = "Charging" }), "charge_stop", night + 18 * 3600 },
    { "does nothing at the level", seen(night, { battery_level = 80 }), "" },
    { "raises a limit that stands too low", seen(night, { charge_limit_soc = 70 }), "set_charge_limit charge_start" },
    { "looks at the record before a command when its look is old", seen(night, nil,
      { at = { info = night - 600, charge_state = night - 600 } }), "info" },
  } do
    it(case[1], function()
      local decision = charge_by():step(case[4] or night, case[2])
      assert.equal(case[3], names(decision))
      if decision.why then assert.is_true(#decision.why > 10) end
      assert.is_true(decision.again_at > (case[4] or night))
    end)
  end

  it("sets the amps that were asked for, within what the cable takes", function()
    local decision = charge_by { amps = 20 }:step(night, seen(night, { charge_current_request = 6 }))
    assert.equal("set_charging_amps charge_start", names(decision))
    assert.equal(16, decision.actions[1].params.charging_amps)
  end)

  it("keeps to the cap of a day, and says so", function()
    local decision = charge_by { daily_cap = 3 }:step(night, seen(night, nil, { day = { commands = 3 } }))
    assert.equal("", names(decision))
    assert.matches("the cap of 3 commands a day is reached", decision.why)
  end)

  it("gives way to a claim above it, not to one below", function()
    local function with(rank)
      return seen(night, nil, { claims = { charging = { by = "someone", rank = rank, ends = night + 60 } } })
    end
    local lost = charge_by():step(night, with(40))
    assert.equal("", names(lost))
    assert.matches("gives way to someone %(precedence 40%), which holds charging until Tue 01:01", lost.why)
    assert.equal("charge_start", names(charge_by():step(night, with(10))))
  end)

  it("does not repeat at once what was refused", function()
    local state = seen(night, nil, { refused = { charge_start = { reason = "no_power", ends = night + 900 } } })
    assert.matches("charge_start was refused %(no_power%); tries again at Tue 01:15", charge_by():step(night, state).why)
  end)
end)

describe("a mistake in the options raises", function()
  for _, case in ipairs {
    { "an unknown option", { redy_by = "07:00" }, "unknown option 'redy_by', did you mean 'ready_by'?; its options are amps, " },
    { "one that is near to none", { horizon = 1 }, "charge_by: unknown option 'horizon'; its options are amps, capacity_kwh, car, " },
    { "a time that is none", { ready_by = "25:00" }, "'ready_by' must be a time such as" },
    { "a level out of range", { level = 120 }, "option 'level' must lie between 20 and 100" },
    { "a wrong type", { wake = "yes" }, "option 'wake' must be a boolean, got a string" },
    { "a tariff that is a plain table", { tariff = {} }, "option 'tariff' must be a tariff object" },
    { "a zone that does not exist", { zone = "Europe/Nowhere" }, "option 'zone'" },
  } do
    it(case[1], function()
      local ok, err = pcall(charge_by, case[2])
      assert.is_false(ok)
      assert.is_truthy(string.find(err, case[3], 1, true), err)
    end)
  end

  it("a missing car, or a site in its place", function()
    assert.error_matches(function() fleet.automation.charge_by { ready_by = "07:00", zone = "UTC" } end, "option 'car' is missing")
    assert.error_matches(function() fleet.automation.charge_by { car = site, ready_by = "07:00", zone = "UTC" } end,
      "option 'car' must be a vehicle")
  end)

  it("an automation that does not exist names the nearest", function()
    assert.error_matches(function() return fleet.automation.charge_bye end, "did you mean 'charge_by'")
  end)

  it("a setting that cannot be read back, or is none", function()
    assert.error_matches(function() fleet.automation.ensure { car = car, settings = { honk_horn = {} } } end, "cannot be read back")
    assert.error_matches(function() fleet.automation.ensure { car = car, settings = { set_charge_limits = {} } } end,
      "did you mean 'set_charge_limit'")
  end)
end)

describe("a dry run", function()
  local function dry(state)
    local rehearsal_report
    months.of { days = 1, habits = { { "00:10", "plug" } }, start = fleet.time("2026-03-02T00:00:00+01:00"), vehicle = state,
      automation = function(own)
        local automation = fleet.automation.charge_by { car = own, ready_by = "07:00", level = 80, tariff = months.tariff,
          schedules = false }
        rehearsal_report = assert(automation:dry_run())
        return {}
      end }
    return rehearsal_report
  end

  it("prints what it would send and what that costs, and sends nothing", function()
    local report = dry { charge_state = {
      battery_level = 50, charging_state = "Stopped", charge_limit_soc = 70, charge_current_request_max = 16,
    } }
    assert.equal("set_charge_limit", report.actions[1].call)
    assert.equal("charge_start", report.actions[2].call)
    assert.same({ command = 2 }, report.cost.calls)
    assert.near(0.002, report.cost.usd, 1e-9)
    assert.matches("^2 commands %(0%.002 USD%)$", report.cost.text)
    assert.is_true(report.month.usd > 0)
    assert.matches("charging until", report.why)
  end)

  it("run in dry mode sends nothing all month, though it looks", function()
    local month = months.charge_by({ dry_run = true }, { days = 3 })
    assert.equal(0, month:sent())
    assert.is_nil(month.calls.wake)
    assert.matches("would send charge_stop", months.said(month))
  end)
end)

describe("running", function()
  it("twice at once is refused: nothing is done twice", function()
    local kind
    months.of { days = 1, habits = {}, automation = function(own)
      local first = fleet.automation.charge_by { car = own, ready_by = "07:00", tariff = months.tariff }
      local second = fleet.automation.charge_by { car = own, ready_by = "07:00", tariff = months.tariff }
      fleet.spawn(function()
        fleet.sleep(60)
        local _
        _, _, kind = second:run()
      end)
      return first
    end }
    assert.equal("busy", kind)
  end)

  it("waits, when asked to, until the other has ended, says so once, and can be stopped meanwhile", function()
    local notified, ran, stopped = {}, nil, nil
    months.of { days = 1, habits = {}, automation = function(own)
      local options = { car = own, ready_by = "07:00", tariff = months.tariff }
      local make = fleet.automation.charge_by
      local first, second, third = make(options), make(options), make(options)
      local waiting = { wait = true, notify = function(event) notified[#notified + 1] = event.text end }
      fleet.spawn(function()
        fleet.sleep(60)
        fleet.spawn(function() stopped = third:run { wait = true } end)
        fleet.sleep(600)
        third:stop()
        first:stop()
      end)
      fleet.spawn(function()
        fleet.sleep(60)
        ran = second:run(waiting)
      end)
      fleet.spawn(function()
        fleet.sleep(3600)
        assert.is_true(second:status().running)
        second:stop()
      end)
      return first
    end }
    assert.is_true(stopped)
    assert.is_true(ran)
    assert.same({ "already runs in another process; it starts here when that one ends" }, notified)
  end)

  it("that is stopped before it has started ends at once", function()
    local ended
    months.of { days = 1, habits = {}, automation = function(own)
      local automation = fleet.automation.charge_by { car = own, ready_by = "07:00", tariff = months.tariff }
      automation:stop()
      ended = automation:run()
      return {}
    end }
    assert.is_true(ended)
  end)

  it("explains itself, before and after", function()
    assert.equal("charge_by has not decided anything yet", charge_by():explain())
    months.charge_by(nil, { days = 1, habits = {} })
    assert.matches("^charge_by, %a+ %d%d:%d%d: the car is not plugged in$", months.last_said)
  end)

  it("prints without secrets", function()
    assert.matches("^fleet%.automation charge_by %(%.%.%.%d%d%d%d%)$", tostring(charge_by()))
  end)
end)

describe("a store that cannot be read", function()
  -- Fails the reads whose key begins so.
  local function failing(store, prefix)
    local broken = setmetatable({}, { __index = store })
    for _, name in ipairs { "put", "lease" } do
      broken[name] = function(_, ...) return store[name](store, ...) end
    end
    function broken.get(_, key)
      if key:find(prefix, 1, true) == 1 then return nil, { kind = "store", message = "away" }, "store" end
      return store:get(key)
    end
    return broken
  end

  for _, prefix in ipairs { "automation/", "claims/" } do
    it("ends the run, forgets nothing of " .. prefix .. " and leaves the automation as it was", function()
      local automation = charge_by()
      local context = automation.context
      local store = context.store
      local pending = '{"pending":{"call":"charge_start","subject":"charging","want":true,"at":1}}'
      assert(store:put(automation.key, pending))
      context.store = failing(store, prefix)
      local done, _, kind = fleet.run(automation.run, automation)
      local dry, cost = select(3, automation:dry_run()), prefix == "automation/" and select(3, automation:cost())
      context.store = store
      assert.same({ nil, "store" }, { done, kind })
      if prefix == "automation/" then
        assert.equal(pending, (store:get(automation.key)))
        assert.same({ "store", "store" }, { dry, cost })
      end
      assert.is_truthy(store:lease(automation.key, 5)) -- nobody holds it
    end)
  end
end)
