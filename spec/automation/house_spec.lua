-- storm_ready, charge_home_battery, keep_limit, left_open and precondition_by: what they do, and what they leave alone.

local core = require "fleet.core"
local fleet = require "fleet"
local months = require "spec.support.fixtures.month"

local zone = "Europe/Berlin"

local function names(report)
  local list = {}
  for _, command in ipairs(report.commands) do list[#list + 1] = command.name end
  return table.concat(list, " ")
end

local function battery_site()
  return { components = { battery = true }, battery_count = 1, backup_reserve_percent = 20, tariff_content_v2 = months.tariff }
end

describe("storm_ready", function()
  local begins, ends = fleet.time("2026-07-14T15:00:00+02:00"), fleet.time("2026-07-14T21:00:00+02:00")

  local function storm(more)
    local site_at = {}
    local function note(name)
      return function(world)
        site_at[name] = { world.site.info.backup_reserve_percent, world.car.sections.charge_state.charge_limit_soc }
      end
    end
    local habits = { { "18:00", note("in") }, { "23:50", note("after") } }
    for _, habit in ipairs(more and more.habits or {}) do table.insert(habits, habit) end
    local report = months.of { from = "2026-07-14", days = 1, habits = habits, energy_site = more and more.site or battery_site(),
      vehicle = { charge_state = { battery_level = 60, charge_limit_soc = 80 } }, automation = function(car, site)
        return fleet.automation.storm_ready { site = site, car = not (more and more.no_car) and car or nil,
          wake = not (more and more.wake == false), calm = 600, notify = more and more.notify,
          warning = more and more.warning or function(now)
          if now >= begins and now < ends then return { text = "wind", ends = ends } end
        end }
      end }
    return report, site_at
  end

  it("raises the reserve and the limit, and puts both back", function()
    local report, at = storm()
    assert.same({ ["in"] = { 100, 100 }, after = { 20, 80 } }, at)
    assert.equal("backup set_charge_limit backup set_charge_limit", names(report))
  end)

  it("leaves what a person has changed in between", function()
    local _, at = storm { habits = { { "19:00", function(world) world.site.info.backup_reserve_percent = 60 end },
      { "19:00", "limit", percent = 90 } } }
    assert.same({ 60, 90 }, at.after)
  end)

  it("puts the former reserve back also where the site kept another value than was sent", function()
    local notified = {}
    local report, at = storm { no_car = true, notify = function(event) notified[#notified + 1] = event.text end,
      habits = { { "15:15", function(world) world.site.info.backup_reserve_percent = 80 end } } }
    assert.equal("backup backup", names(report))
    assert.equal(20, at.after[1])
    assert.same({ "storm warning: wind", "the site keeps 80 %, 100 % was sent" }, notified)
  end)

  it("rounds a reserve with a fraction, and leaves one alone that the site does not say", function()
    for shown, after in pairs { [15.789] = 16, [25] = 25 } do
      local site = battery_site()
      site.backup_reserve_percent = shown
      local _, at = storm { no_car = true, site = site }
      assert.equal(after, at.after[1])
    end
  end)

  it("reports every warning once, also one that comes during another", function()
    local notified = {}
    storm { notify = function(event) notified[#notified + 1] = event.text end, warning = function(now)
      if now >= begins and now < ends then return { text = now < begins + 7200 and "wind" or "flood", ends = ends } end
    end }
    assert.same({ "storm warning: wind", "storm warning: flood" }, notified)
  end)

  it("does without a car, and wakes none without leave", function()
    local report, at = storm { no_car = true }
    assert.same({ ["in"] = { 100, 80 }, after = { 20, 80 } }, at)
    assert.same({}, report.calls)
    assert.is_nil(storm { wake = false }.calls.wake)
  end)

  it("takes a function that raises, or a warning that is over, for none", function()
    assert.equal("", names(storm { warning = function() error("no network") end }))
    assert.equal("", names(storm { warning = function(now) return { text = "old", ends = now - 1 } end }))
  end)
end)

describe("charge_home_battery", function()
  local function nights(more)
    local given = { from = "2026-11-02", days = 2, habits = {}, energy_site = battery_site() }
    for name, value in pairs(more or {}) do given[name] = value end
    given.options = nil
    given.automation = given.automation or function(_, site)
      local own = { site = site, from = "01:00", to = "05:00", zone = zone }
      for name, value in pairs(more and more.options or {}) do own[name] = value end
      return fleet.automation.charge_home_battery(own)
    end
    return months.of(given)
  end

  local function after(report_of)
    local site
    local report = report_of(function(world) site = world.site end)
    return site.info, report
  end

  it("sets the tariff, then the reserve, and puts both back", function()
    local info, report = after(function(take) return nights { habits = { { "06:00", take } } } end)
    assert.equal("time_of_use_settings backup time_of_use_settings backup", table.concat(months.on(report, "2026-11-02"), " "))
    assert.equal(20, info.backup_reserve_percent)
    assert.is_true(fleet.tariff.new(info.tariff_content_v2, { time_zone = zone }) == months.tariff)
  end)

  it("fills the battery in between", function()
    local stored
    nights { days = 1, habits = { { "04:50", function(world) stored = world.site.stored / world.site.capacity end } } }
    assert.is_true(stored > 0.95, tostring(stored))
  end)

  -- What owners' sites hold, and what a look at noon shows after the night.
  local function night(site, options)
    local info
    local report = nights { days = 1, habits = { { "12:00", function(world) info = world.site.info end } }, energy_site = site,
      options = options }
    return info, report
  end

  local function as_the_app_writes_it(change)
    local content = fleet.tariff.content_of(months.tariff)
    local copy = core.json_decode(core.json_encode(content))
    change(copy)
    return { components = { battery = true }, battery_count = 1, backup_reserve_percent = 20, tariff_content_v2 = copy }
  end

  for name, change in pairs {
    ["without a currency"] = function(t) t.currency = nil end,
    ["in another currency"] = function(t) t.currency = "AUD" end,
    ["with a member that is not known"] = function(t) t.plan_id = { a = { 1.25, "x" } } end,
    ["with a gap in its week"] = function(t)
      for _, season in pairs(t.seasons) do
        for _, periods in pairs(season.tou_periods or {}) do
          local list = periods.periods or periods
          if list[2] then table.remove(list) end
        end
      end
    end,
  } do
    it("puts back exactly the tariff that it found: " .. name, function()
      local site = as_the_app_writes_it(change)
      local before = core.json_encode(site.tariff_content_v2)
      local info, report = night(site)
      assert.equal("time_of_use_settings backup time_of_use_settings backup", names(report))
      assert.equal(before, core.json_encode(info.tariff_content_v2))
      assert.equal(20, info.backup_reserve_percent)
    end)
  end

  for shown, back in pairs { [15.789473684210527] = 16, [20.4] = 20 } do
    it("puts back a reserve that another tool has left as " .. tostring(shown), function()
      local site = battery_site()
      site.backup_reserve_percent = shown
      local info, report = night(site, { cheap = false })
      assert.equal("backup backup", names(report))
      assert.equal(back, info.backup_reserve_percent)
    end)
  end

  local function decided(automation, now, info, more)
    local state = { seen = { site_info = info }, at = { site_info = now }, inputs = {}, memory = {}, did = {}, refused = {},
      day = { commands = 0 }, calls = {} }
    for name, value in pairs(more or {}) do state[name] = value end
    local decision = automation:step(now, state)
    local calls = {}
    for i, action in ipairs(decision.actions) do calls[i] = action.call end
    return table.concat(calls, " "), decision.why, decision.memory or state.memory, decision
  end

  for _, shown in ipairs { "missing", "much", "20", -1, 140, true } do
    it("does not begin where the reserve could not be put back: " .. tostring(shown), function()
      months.of { days = 1, habits = {}, automation = function(car, handle)
        local automation = fleet.automation.charge_home_battery { site = handle, from = "01:00", to = "05:00", zone = zone }
        local site = battery_site()
        site.backup_reserve_percent = shown ~= "missing" and shown or nil
        local calls, why = decided(automation, fleet.time("2026-11-02T02:00:00+01:00"), site)
        assert.equal("", calls)
        assert.equal("the home battery is not charged: the site does not report its backup reserve", why)
        site.backup_reserve_percent = 20
        assert.equal("time_of_use_settings site_info", (decided(automation, fleet.time("2026-11-02T02:00:00+01:00"), site)))
        return fleet.automation.keep_limit { car = car, level = 80 }
      end }
    end)
  end

  it("keeps its hands off the tariff with cheap = false, and off a night that does not count", function()
    local report = nights { options = { cheap = false, when = function(now) return now < fleet.time("2026-11-03T00:00:00+01:00") end } }
    assert.equal("backup backup", names(report))
  end)

  it("puts everything back when it is started again after a crash in between", function()
    local site_info
    local habits = { { "12:00", function(world) site_info = world.site.info end } }
    local report = nights { days = 1, habits = habits, automation = function(_, site)
      local own = { site = site, from = "01:00", to = "05:00", zone = zone }
      local first, second = fleet.automation.charge_home_battery(own), fleet.automation.charge_home_battery(own)
      fleet.spawn(function()
        fleet.sleep(2 * 3600)
        first:stop()
        fleet.sleep(5 * 3600)
        fleet.spawn(function()
          fleet.sleep(3600)
          second:stop()
        end)
        assert(second:run())
      end)
      return first
    end }
    assert.equal("time_of_use_settings backup time_of_use_settings backup", names(report))
    assert.equal(20, site_info.backup_reserve_percent)
  end)

  it("raises for times that are none", function()
    months.of { days = 1, habits = {}, automation = function(_, site)
      assert.error_matches(function()
        fleet.automation.charge_home_battery { site = site, from = "01:00", to = "01:00", zone = zone }
      end, "must be two times")
      return {}
    end }
  end)
end)

describe("keep_limit", function()
  local function days(habits)
    return months.of { from = "2026-06-05", days = 2, habits = habits,
      vehicle = { charge_state = { battery_level = 80, charge_limit_soc = 80 }, sleep_after = 1e9 },
      automation = function(car) return fleet.automation.keep_limit { car = car, level = 80 } end }
  end

  it("sets the limit again after the trip, and not before it", function()
    local raise = { "20:00", "limit", percent = 95, date = "2026-06-05" }
    assert.equal(0, days({ { "18:00", "plug", date = "2026-06-05" }, raise }):sent())
    assert.equal(1, days({ { "18:00", "plug", date = "2026-06-05" }, raise, { "09:00", "leave", miles = 60, date = "2026-06-06" } }):sent())
  end)

  it("sends nothing when it was not changed", function()
    assert.equal(0, days({ { "09:00", "leave", miles = 60 } }):sent())
  end)
end)

describe("left_open", function()
  local function evening(open, options, more, sleep_after)
    local notified = {}
    local habits = { { "18:00", "leave_open", open = open } }
    for _, habit in ipairs(more or {}) do habits[#habits + 1] = habit end
    local vehicle = { charge_state = { battery_level = 70 }, sleep_after = sleep_after or 7200,
      drive_state = { latitude = 52.5, longitude = 13.4 } }
    local report = months.of { from = "2026-05-05", days = 1, habits = habits, vehicle = vehicle,
      automation = function(car)
        local given = { car = car, notify = function(event) notified[#notified + 1] = event.text end }
        for name, value in pairs(options or {}) do given[name] = value end
        return fleet.automation.left_open(given)
      end }
    return names(report), table.concat(notified, "; "), report
  end

  it("closes windows with the place of the car, without which the plain command is refused", function()
    local _, _, report = evening { fd_window = 1 }
    assert.same({ command = "close", lat = 52.5, lon = 13.4 }, report.commands[1].params)
  end)

  it("closes a car that has fallen asleep only with leave to wake it, and says so", function()
    local sent, notified, report = evening({ fd_window = 1 }, { minutes = 60 }, nil, 900)
    assert.equal("", sent)
    assert.equal("left open: driver's window", notified)
    assert.is_nil(report.calls.wake)
    assert.matches("the car is asleep: wake = true lets it be woken", months.said(report, "left_open"), 1, true)
    sent, notified, report = evening({ fd_window = 1 }, { minutes = 60, wake = true }, nil, 900)
    assert.equal("window_control", sent)
    assert.equal("left open: driver's window", notified)
    assert.equal(1, report.calls.wake)
  end)

  it("closes windows and locks, and reports it once", function()
    local sent, notified = evening { fd_window = 1, locked = false }
    assert.equal("window_control door_lock", sent)
    assert.equal("left open: driver's window; the car is unlocked", notified)
  end)

  it("reports a door and a trunk and does not lock an open door", function()
    local sent, notified = evening { df = 1, rt = 1, locked = false }
    assert.equal("", sent)
    assert.equal("left open: driver's door, trunk; the car is unlocked", notified)
  end)

  it("only reports with close = false", function()
    local sent, notified = evening({ fd_window = 1 }, { close = false })
    assert.equal("", sent)
    assert.equal("left open: driver's window", notified)
  end)

  it("does not report what was open for a moment, or with a person in the car", function()
    local _, notified = evening({ fd_window = 1 }, nil, { { "18:08", "leave_open", open = { fd_window = 0 } } })
    assert.equal("", notified)
    local sent
    sent, notified = evening { fd_window = 1, is_user_present = true }
    assert.equal("", sent .. notified)
  end)
end)

describe("the looks by the clock of left_open, keep_limit and ensure", function()
  local made = {
    left_open = function(car) return fleet.automation.left_open { car = car } end,
    keep_limit = function(car) return fleet.automation.keep_limit { car = car } end,
    ensure = function(car) return fleet.automation.ensure { car = car, settings = { set_sentry_mode = { on = false } } } end,
  }

  -- asked: how often each path was; spoil(path): a reply in place of the service's.
  local function day(name, spoil)
    local service, asked = require "fleet.sim.rehearsal.service", {}
    local serve = service.serve
    service.serve = function(stage, request)
      local path = string.match(request.url, "[^/?]+%f[?%z]")
      asked[path] = (asked[path] or 0) + 1
      local reply = spoil and spoil(path)
      if reply then return reply end
      return serve(stage, request)
    end
    local ok, report = pcall(months.of, { days = 1, habits = {}, automation = made[name], vehicle = { state = "asleep" } })
    service.serve = serve
    assert(ok, report)
    return asked, report
  end

  local vin = require("fleet.sim.rehearsal").vin

  for name in pairs(made) do
    it("cost nothing: " .. name .. " reads the list of products", function()
      local asked, report = day(name)
      assert.is_true(asked.products >= 24)
      assert.is_nil(asked[vin])
      assert.same({}, report.calls)
    end)

    it("are made at the car's record where the list does not have it: " .. name, function()
      local asked, report = day(name, function(path)
        local other = '{"response":[{"vin":"5YJSFLEE9KF000009","state":"online"}]}'
        return path == "products" and { status = 200, headers = {}, body = other }
      end)
      assert.equal(1, asked.products)
      assert.equal(asked[vin], report.calls.data)
    end)

    it("are made at the car's record where the reply is no list: " .. name, function()
      local asked, report = day(name, function(path)
        return path == "products" and { status = 200, headers = {}, body = '{"response":{"state":"online"}}' }
      end)
      assert.equal(1, asked.products)
      assert.equal(asked[vin], report.calls.data)
    end)

    it("ask neither again while the service is away: " .. name, function()
      local asked = day(name, function(path)
        return path == "products" and { status = 503, headers = {}, body = "" }
      end)
      assert.is_nil(asked[vin])
    end)
  end
end)

it("the zone of every automation is the one of its days and its times, and one that is unknown raises", function()
  local at = fleet.time("2026-05-05T22:30:00Z")
  months.of { days = 1, habits = {}, energy_site = battery_site(), automation = function(car, site)
    for _, name in ipairs { "left_open", "keep_limit", "storm_ready" } do
      local storm = name == "storm_ready"
      local given = { zone = zone, car = car, site = storm and site or nil, warning = storm and print or nil }
      local automation = fleet.automation[name](given)
      assert.equal("Wed 00:30", require("fleet.automation.decision").time_text(automation.config, at))
      given.zone = "Europe/Nowhere"
      local ok, err = pcall(fleet.automation[name], given)
      assert.is_false(ok)
      assert.matches("fleet.automation." .. name .. ": option 'zone': ", err, 1, true)
    end
    return {}
  end }
end)

describe("precondition_by", function()
  local function morning(vehicle, options, habits, days)
    local charge = { battery_level = 30, charge_limit_soc = 30 }
    local given = { charge_state = charge, climate_state = { outside_temp = -5, inside_temp = -5 } }
    for name, value in pairs(vehicle or {}) do charge[name] = value end
    local notified = {}
    local report = months.of { from = "2026-01-12", days = days or 1, vehicle = given, habits = habits or {}, automation = function(car)
      local own = { car = car, ready_by = "07:30", zone = zone, wake = true,
        notify = function(event) notified[#notified + 1] = event.text end }
      for name, value in pairs(options or {}) do own[name] = value end
      return fleet.automation.precondition_by(own)
    end }
    return names(report), table.concat(notified, "; "), report
  end

  it("warms a car that is plugged in or has enough, and ends it when no person came", function()
    assert.equal("auto_conditioning_start auto_conditioning_stop", (morning { conn_charge_cable = "IEC", charging_state = "Stopped" }))
    assert.equal("set_temps auto_conditioning_start auto_conditioning_stop", (morning({ battery_level = 60 }, { temp = 22.5 })))
  end)

  it("leaves one with too little alone, and says so", function()
    local sent, notified = morning()
    assert.equal("", sent)
    assert.equal("the car is not plugged in, and 30 % is less than 50 %: the cabin is not warmed or cooled", notified)
  end)

  it("says so every day, also a week later", function()
    local _, notified = morning(nil, { days = "mon-fri" }, nil, 14)
    assert.equal(10, select(2, string.gsub(notified, "is not warmed or cooled", "")))
  end)

  it("does not restart what a person has ended, and wakes no car without permission", function()
    local off = { { "07:20", function(world) require("fleet.sim.physics").set_climate(world.car, false) end } }
    assert.equal("auto_conditioning_start", (morning({ battery_level = 60 }, nil, off)))
    local sent, _, report = morning({ battery_level = 60 }, { wake = false })
    assert.equal("", sent)
    assert.is_nil(report.calls.wake)
  end)

  it("rests on days that do not count", function()
    assert.equal("", (morning({ battery_level = 60 }, { days = "sat-sun" })))
  end)
end)
