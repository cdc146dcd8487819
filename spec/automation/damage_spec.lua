-- Replies with odd fields: an automation says that it does not know, looks again, and goes on; so do those beside it.

local damage = require "spec.support.fixtures.damage"
local fleet = require "fleet"
local generator = require("spec.support.fixtures.generator").new
local months = require "spec.support.fixtures.month"

local zone = "Europe/Berlin"

local make = {
  charge_by = function(car) return { car = car, ready_by = "07:00", tariff = months.tariff, wake = true } end,
  surplus_charge = function(car, site) return { car = car, site = site, zone = zone, wake = true, battery_first = 50 } end,
  keep_limit = function(car) return { car = car, level = 70 } end,
  left_open = function(car) return { car = car, wake = true } end,
  precondition_by = function(car) return { car = car, ready_by = "07:30", zone = zone, wake = true, temp = 21 } end,
  storm_ready = function(car, site)
    return { car = car, site = site, wake = true, warning = function(now) return now % 43200 < 21600 and { text = "wind" } or nil end }
  end,
  charge_home_battery = function(_, site) return { site = site, from = "01:00", to = "05:00", zone = zone } end,
  tariff_sync = function(_, site) return { site = site, prices = months.tariff } end,
  ensure = function(car)
    return { car = car, settings = {
      set_charge_limit = { percent = 75 }, set_temps = { driver_temp = 20, passenger_temp = 20 }, set_sentry_mode = { on = true },
    } }
  end,
}

local names = {}
for name in pairs(make) do names[#names + 1] = name end
table.sort(names)

local habits = {
  { "07:30", "leave", miles = 40 }, { "17:45", "plug" }, { "18:00", "leave_open", open = { fd_window = 1 } },
}

-- Two days of automations; spoil as of damage.while_spoilt. Returns the report, and what each said to a person.
local function days(list, spoil, more)
  local notified, made = {}, {}
  local given = {
    days = 2, habits = habits, vehicle = { charge_state = { battery_level = 60, charge_limit_soc = 90 } },
    energy_site = { components = { battery = true }, battery_count = 1, backup_reserve_percent = 20,
      tariff_content_v2 = months.tariff },
    automation = function(car, site)
      for i, name in ipairs(list) do
        local options = make[name](car, site)
        options.notify = function(event) notified[#notified + 1] = event.text end
        made[i] = fleet.automation[name](options)
      end
      return made
    end,
  }
  for name, value in pairs(more or {}) do given[name] = value end
  local report = damage.while_spoilt(spoil, function() return months.of(given) end)
  return report, table.concat(notified, "\n"), made
end

local shapes = { "[]", "{}", "null", "7", '"text"', '{"response":null}', '{"response":[]}', '{"response":7}', '{"response":"x"}', "" }

describe("random damage", function()
  for _, name in ipairs(names) do
    it("ends no run of " .. name .. ", and no decision raises", function()
      for seed = 1, 6 do
        local g = generator(seed)
        local report = days({ name }, function(body)
          if g.chance(0.4) then return damage.body(g, body, 1 + g.below(4)) end
        end)
        assert.is_nil(string.match(months.said(report), "[^\n]*could not decide[^\n]*"))
      end
    end)
  end

  it("of the shape of whole replies ends no run either", function()
    for seed = 1, 4 do
      local g = generator(100 + seed)
      local report = days(names, function()
        if g.chance(0.3) then return g.pick(shapes) end
      end)
      assert.is_nil(string.match(months.said(report), "[^\n]*could not decide[^\n]*"))
    end
  end)
end)

describe("a needed field", function()
  for _, case in ipairs {
    { "charge_by", "battery_level" }, { "charge_by", "charging_state" }, { "charge_by", "charge_limit_soc" },
    { "keep_limit", "battery_level" }, { "left_open", "locked" }, { "precondition_by", "is_climate_on" },
    { "storm_ready", "charge_limit_soc" }, { "surplus_charge", "charging_state" },
  } do
    for _, value in ipairs { damage.null, "absent", "text", -5, damage.list } do
      it(case[2] .. " of " .. case[1] .. " that is " .. tostring(value) .. " is notified, and the car gets no command", function()
        local report, notified = days({ case[1] }, function(body, path)
          if path == "vehicle_data" then return damage.named(body, { [case[2]] = value }) end
        end, { days = 1 })
        for _, command in ipairs(report.commands) do assert.equal("backup", command.name) end
        assert.matches("a reply lacks data: vehicle_data: no usable value for [%w_., ]*" .. case[2], notified)
        assert.is_true(report.calls.data <= 60, tostring(report.calls.data))
      end)
    end
  end

  it("that comes back is used: the car is charged", function()
    local until_then = fleet.time("2026-03-01T23:00:00+01:00")
    local report, notified = days({ "charge_by", "ensure" }, function(body, path)
      local _, now = fleet.loop.clock()
      if path == "vehicle_data" and now < until_then then return damage.named(body, { battery_level = damage.null }) end
    end)
    assert.matches("charge_state.battery_level", notified, 1, true)
    assert.is_true(report.ready[2].level >= 80, tostring(report.ready[2].level))
    assert.is_true(report:sent("set_charge_limit") > 0) -- of the automation beside it
  end)

  it("that is odd and not needed is reported once a day, and the rest is used", function()
    local report, notified = days({ "charge_by" }, function(body, path)
      if path == "vehicle_data" then return damage.named(body, { charger_phases = "three" }) end
    end)
    assert.is_true(report.ready[2].level >= 80, tostring(report.ready[2].level))
    local count = select(2, string.gsub(notified, "charge_state.charger_phases has a value of another kind", ""))
    assert.is_true(count >= 1 and count <= 3, notified)
  end)
end)

describe("a decision that raises", function()
  -- Raises at the decisions of the first hours.
  local function failing(made, hours)
    local decide, first = made.definition.decide, nil
    made.definition = setmetatable({ decide = function(config, now, state)
      first = first or now
      state.memory.half_done = true
      if now < first + hours * 3600 then error("deep inside: a nil value") end
      state.memory.half_done = nil
      return decide(config, now, state)
    end }, { __index = made.definition })
  end

  it("is reported once, tried again, and ends neither itself nor another automation", function()
    local notified, status = {}, nil
    local report = months.of { days = 2, habits = habits, automation = function(car)
      local one = fleet.automation.charge_by { car = car, ready_by = "07:00", tariff = months.tariff, wake = true,
        notify = function(event) notified[#notified + 1] = event.text end }
      failing(one, 6)
      fleet.spawn(function()
        fleet.sleep(3600)
        status = one:status()
      end)
      return { one, fleet.automation.ensure { car = car, settings = { set_charge_limit = { percent = 85 } } } }
    end }
    local notes = months.said(report, "charge_by")
    assert.equal(1, #notified)
    assert.matches("^could not decide: .*deep inside: a nil value$", notified[1])
    assert.matches("could not decide", notes)
    assert.is_true(status.running)
    assert.matches("deep inside", status.trouble.message)
    assert.matches("charging until", notes)
    assert.equal(1, report:sent("set_charge_limit"))
  end)

  it("leaves the memory as it was, and is an answer of step, too", function()
    local client = require("spec.support.fixtures.host_http").client "{}"
    local one = fleet.automation.keep_limit { car = client:vehicle "5YJ3E1EA7KF000001" }
    failing(one, 1)
    local decision = one:step(1e9, {})
    assert.matches("deep inside", decision.problem)
    assert.matches("^could not decide: ", decision.why)
    assert.same({}, decision.actions)
    assert.is_nil(decision.state.memory.half_done)
    client:close()
  end)

  it("in a run that happens once returns like any other trouble", function()
    local ended
    months.of { days = 1, habits = {}, automation = function(car)
      local one = fleet.automation.keep_limit { car = car }
      failing(one, 48)
      fleet.spawn(function() ended = one:run { once = true } end)
      return {}
    end }
    assert.is_true(ended)
  end)
end)

describe("step", function()
  local odd = { "nothing", 7, true, {}, { seen = 7, at = "x", memory = true, did = 1, day = {} }, { seen = {}, at = {} },
    { seen = { charge_state = 7, site_info = true, live_status = "x", vehicle_state = {} }, at = { charge_state = {}, live_status = 1 } } }

  for _, name in ipairs(names) do
    it("of " .. name .. " never raises, whatever the state is", function()
      local client = require("spec.support.fixtures.host_http").client "{}"
      local one = fleet.automation[name](make[name](client:vehicle "5YJ3E1EA7KF000001", client:energy_site "1234567890"))
      for _, state in ipairs(odd) do
        local decision = one:step(1.78e9, state)
        assert.is_nil(decision.problem)
        assert.is_true(decision.again_at > 1.78e9)
      end
      assert.is_nil(one:step(1.78e9).problem)
      client:close()
    end)
  end
end)
