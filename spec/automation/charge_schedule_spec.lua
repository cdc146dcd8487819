-- charge_by where the car keeps schedules: what it costs against the least that it could have cost, and what it does not know.

local fleet = require "fleet"
local months = require "spec.support.fixtures.month"
local optimum = require "spec.support.fixtures.optimum"

local prices = {}
for hour = 0, 23 do prices[hour] = hour < 5 and 0.19 or hour < 17 and 0.31 or hour < 21 and 0.42 or 0.26 end

local function rehearse(options, more)
  local own = { schedules = true }
  for name, value in pairs(options or {}) do own[name] = value end
  return months.charge_by(own, more)
end

local function ratio(month, count)
  local paid, least = optimum.of(month, optimum.by_hour(month.zone, prices), 3.84, count)
  return paid / least
end

local function level_on(month, date)
  for _, ready in ipairs(month.ready) do
    if string.sub(months.local_text(month, ready.at), 1, 10) == date then return ready.level end
  end
end

-- A car that waits when it is plugged in, instead of charging at once.
local patient = {}
for i, habit in ipairs(months.commuting) do
  patient[i] = {}
  for name, value in pairs(habit) do patient[i][name] = value end
  if habit[2] == "plug" then patient[i].start = false end
end

describe("charge_by with schedules in the car", function()
  it("says between looks which periods are left, and that the plan has ended", function()
    local said = months.said(rehearse(nil, { days = 3 }))
    assert.matches("2026%-03%-03 00:00 charging until [^\n]*ready by 07:00", said)
    assert.matches("the plan has ended: 80 % should be reached", said, 1, true)
    local at = "2026-03-03 12:00"
    for line in string.gmatch(said, "[^\n]+") do
      local time, to = string.match(line, "^(%S+ %S+) charging until (%d%d:%d%d)")
      if to and string.sub(time, 1, 10) == string.sub(at, 1, 10) and time < at then assert.is_true(string.sub(time, 12) < to, line) end
    end
  end)

  for _, case in ipairs {
    { "the month in which the clock goes forward", { from = "2026-03-01" } },
    { "the month in which the clock goes back", { from = "2026-10-01" } },
    { "a car that does not start by itself", { from = "2026-05-01", habits = patient }, { look_every = 3600 } },
    { "a car that never sleeps", { from = "2026-06-01", vehicle = { sleep_after = 1e9,
      charge_state = { battery_level = 80, charge_limit_soc = 80, charge_current_request_max = 16 } } } },
    { "a limit above the wanted level", { from = "2026-06-01", vehicle = {
      charge_state = { battery_level = 80, charge_limit_soc = 90, charge_current_request_max = 16 } } } },
    { "late arrivals", { from = "2026-06-01", also = {
      { "17:46", "leave", date = "2026-06-10", miles = 20 }, { "22:10", "plug", date = "2026-06-10" },
      { "17:46", "leave", date = "2026-06-18", miles = 10 }, { "23:40", "plug", date = "2026-06-18" } } } },
    { "a service that is down in the evening", { from = "2026-06-01", also = {
      { "17:30", "service_down", date = "2026-06-09" }, { "22:30", "service_up", date = "2026-06-09" },
      { "18:30", "service_down", date = "2026-06-16" }, { "06:30", "service_up", date = "2026-06-17" } } } },
  } do
    it("is ready every day in " .. case[1] .. ", within 3 % of the optimum and for at most 0.60 USD", function()
      local month = rehearse(case[3], case[2])
      local ready, of = month:ready_days(80)
      assert.equal(of, ready)
      assert.is_true(ratio(month) <= 1.03, tostring(ratio(month)))
      assert.is_true(month.usd <= 0.60, tostring(month.usd))
      assert.same({}, months.wasted(month))
      for _, call in ipairs(month.refused) do assert.not_equal(408, call.status) end
    end)
  end

  it("says that the car waits by itself, and what it does on older firmware", function()
    assert.matches("charging from 00:00 to %d%d:%d%d tonight, .*, started by the car's own schedule",
      months.said(rehearse(nil, { days = 3 })))
    local older = rehearse(nil, { days = 3, vehicle = { firmware_version = "2024.20.9",
      charge_state = { battery_level = 80, charge_limit_soc = 80, charge_current_request_max = 16 } } })
    assert.equal(0, older:sent("add_charge_schedule"))
    assert.is_true(older:sent("set_scheduled_charging") > 0)
  end)

  it("gives each command its purpose: no two have the same, and none is sent twice", function()
    local month = rehearse(nil, { days = 4 })
    local notified = {}
    local kinds = { ["shows without a billed wake that it is plugged in"] = 0, ["; the car has shown that it is plugged in"] = 0,
      ["on the following nights"] = 0 }
    for _, note in ipairs(month.notes) do
      local text = string.match(note.text, "^sent (.+)$")
      if text then
        assert.is_nil(notified[note.at .. text], text)
        notified[note.at .. text] = true
        for words in pairs(kinds) do kinds[words] = kinds[words] + (string.find(text, words, 1, true) and 1 or 0) end
      end
    end
    for words, count in pairs(kinds) do assert.is_true(count > 0, words) end
    assert.same({}, months.wasted(month))
  end)

  local function check_ins(amps)
    local month = rehearse(nil, { days = 12, vehicle = { charge_state = { battery_level = 80, charge_limit_soc = 80,
      charge_current_request = amps, charge_current_request_max = amps, charger_pilot_current = amps } } })
    assert.same({ 12, 12 }, { month:ready_days(80) })
    local last, count = nil, 0
    for _, command in ipairs(month.commands) do
      local ours = command.name == "add_charge_schedule" and command.params.id == 7700000
      if ours then last, count = command.params.start_time, count + 1 end
    end
    return last, count
  end

  it("has the car show itself in a cheaper hour, where even an empty battery could be charged after it", function()
    local at, count = check_ins(32)
    assert.equal(21 * 60, at) -- it comes at 17:45, and what is dear lasts until 21:00
    assert.is_true(count <= 3, tostring(count))
  end)

  it("has a car that charges slowly show itself when it usually comes", function()
    local at = check_ins(16)
    assert.is_true(at > 17 * 60 + 45 and at < 19 * 60 + 30, tostring(at))
  end)

  it("leaves the schedules of others alone", function()
    local own = { id = 7, name = "", days_of_week = 127, start_enabled = true, start_time = 90, end_enabled = false, end_time = 0,
      one_time = false, enabled = false, latitude = 52.52, longitude = 13.405 }
    local seen
    local month = rehearse(nil, { days = 6, vehicle = { charge_schedule_data = { charge_schedules = { own } },
      charge_state = { battery_level = 80, charge_limit_soc = 80, charge_current_request_max = 16 } }, also = {
      { "08:00", function(world) seen = world.car.sections.charge_schedule_data.charge_schedules end, date = "2026-03-06" } } })
    local ids = {}
    for _, one in ipairs(seen) do ids[one.id] = true end
    assert.is_true(ids[7] and ids[7700000] and ids[7700001])
    assert.same({ 6, 6 }, { month:ready_days(80) })
  end)

  it("charges once, by command, when the car refuses a schedule", function()
    local handlers = require "fleet.sim.commands"
    local add = handlers.add_charge_schedule
    handlers.add_charge_schedule = function() return "not_supported" end
    local ok, month = pcall(rehearse, nil, { days = 3 })
    handlers.add_charge_schedule = add
    assert(ok, month)
    assert.same({ 3, 3 }, { month:ready_days(80) })
    assert.is_true(month:sent("charge_start") > 0)
  end)
end)

describe("charge_by with the one time of day that older firmware has", function()
  local function older(more, charge, options)
    local state = { battery_level = 80, charge_limit_soc = 80, charge_current_request_max = 16 }
    for name, value in pairs(charge or {}) do state[name] = value end
    local given = { vehicle = { firmware_version = "2024.20.9", charge_state = state } }
    for name, value in pairs(more or {}) do given[name] = value end
    return rehearse(options, given)
  end

  for name, from in pairs { forward = "2026-03-01", back = "2026-10-01" } do
    it("is ready every day of the month in which the clock goes " .. name .. ", within 3 % and for at most 0.60 USD", function()
      local month = older { from = from }
      assert.same({ 31, 31 }, { month:ready_days(80) })
      assert.is_true(ratio(month) <= 1.03, tostring(ratio(month)))
      assert.is_true(month.usd <= 0.60, tostring(month.usd))
      assert.same({}, months.wasted(month))
      assert.is_true(month:sent "set_scheduled_charging" <= 12) -- for the long way of a Saturday
    end)
  end

  it("says that the car waits by itself", function()
    assert.matches("charging from 00:00 to %d%d:%d%d tonight, .*, started by the car's own schedule", months.said(older { days = 3 }))
  end)

  it("leaves alone the time that the owner set, and his departure", function()
    for _, mode in ipairs { "StartAt", "DepartBy" } do
      local month = older({ days = 3 }, { scheduled_charging_mode = mode, scheduled_charging_start_time_app = 90,
        scheduled_departure_time_minutes = 420 })
      assert.equal(0, month:sent "set_scheduled_charging")
    end
  end)

  it("sets none on newer firmware, and none where schedules are switched off", function()
    assert.equal(0, rehearse({ schedules = true }, { days = 3 }):sent "set_scheduled_charging")
    assert.equal(0, older({ days = 3 }, nil, { schedules = false }):sent "set_scheduled_charging")
  end)

  it("does not stop what the owner started before the first read", function()
    local month = older { days = 4, also = { { "17:45", "start_by_hand", date = "2026-03-04" } } }
    assert.same({}, months.on(month, "2026-03-04"))
    assert.matches("the owner started charging by hand at Wed 17", months.said(month))
    assert.is_true(level_on(month, "2026-03-04") >= 80)
  end)

  it("is woken where the car did not begin at its time", function()
    local month = older { days = 4, also = { { "23:59", function(stage)
      stage.car.sections.charge_state.scheduled_charging_mode = "Off"
    end, date = "2026-03-03" } } }
    assert.same({ 4, 4 }, { month:ready_days(80) })
    assert.equal("charge_start", months.on(month, "2026-03-04")[1])
  end)
end)

describe("the owner's hand at a car with schedules", function()
  it("that starts charging before the check-in is not stopped", function()
    local month = rehearse(nil, { days = 14, also = { { "17:50", "start_by_hand", date = "2026-03-11" } } })
    for _, name in ipairs(months.on(month, "2026-03-11")) do assert.not_equal("charge_stop", name) end
    assert.matches("the owner started charging by hand at Wed", months.said(month))
    assert.is_true(level_on(month, "2026-03-12") >= 80)
    assert.is_true(level_on(month, "2026-03-14") >= 80)
  end)
end)

describe("knowledge has an age: a car that was asleep when last seen, is plugged in unseen and dozes off", function()
  -- Nobody can look while it comes: else the free record tells that it is awake.
  local days = { days = 5, habits = patient, also = { { "17:30", "service_down" }, { "18:30", "service_up" } } }

  it("is looked at once, while there is still time, and is ready", function()
    for _, way in ipairs { true, false } do
      local month = months.charge_by({ schedules = way, look_every = 7200 }, days)
      assert.same({ 5, 5 }, { month:ready_days(80) })
      -- One to see it and one to start it; while it is not known when it comes, two to see it.
      assert.is_true(month.calls.wake <= (way and 5 or 12))
    end
  end)

  it("is not woken without permission, and the unknown state is reported", function()
    local month = months.charge_by({ wake = false, look_every = 7200 }, days)
    assert.is_nil(month.calls.wake)
    assert.matches("it is not known whether the car is plugged in", months.said(month))
  end)
end)

it("a known place needs no read of the car's position", function()
  local asked = 0
  local serve = require("fleet.sim.rehearsal.service").serve
  require("fleet.sim.rehearsal.service").serve = function(stage, request)
    if string.find(request.url, "location_data", 1, true) then asked = asked + 1 end
    return serve(stage, request)
  end
  local ok, month = pcall(rehearse, { place = { lat = 52.52, lon = 13.405 } }, { days = 4 })
  require("fleet.sim.rehearsal.service").serve = serve
  assert(ok, month)
  assert.equal(0, asked)
  assert.is_true(month:sent("add_charge_schedule") > 0)
end)

it("a place that is none raises", function()
  months.of { days = 1, habits = {}, automation = function(car)
    local ok, err = pcall(fleet.automation.charge_by, { car = car, ready_by = "07:00", zone = "Europe/Berlin", place = { 1, 2 } })
    assert.is_false(ok)
    assert.matches("option 'place' must be { lat =, lon = } in degrees", err)
    return {}
  end }
end)

describe("a car that comes during the plan of a night without reads", function()
  local last = "2026-03-10"
  local long = { -- nights that need all but the dearest hours, and some of those
    { "07:30", "leave", miles = 115 }, { "18:45", "plug" },
  }

  -- The last day is a short one. also: what happens on it. Returns what was charged between two times of it, and the live looks.
  local function evening(also, from, to)
    local habits = {}
    for day = 1, 9 do
      local date = string.format("2026-03-%02d", day)
      for _, habit in ipairs(long) do habits[#habits + 1] = { habit[1], habit[2], miles = habit.miles, start = false, date = date } end
    end
    habits[#habits + 1] = { "07:30", "leave", miles = 20, date = last }
    local month = rehearse(nil, { days = 11, habits = habits, also = also, vehicle = { charge_state = {
      battery_level = 80, charge_limit_soc = 80, charge_current_request = 13, charge_current_request_max = 13, charger_pilot_current = 13,
    } } })
    local function inside(at)
      local text = months.local_text(month, at)
      return text >= last .. from and text < last .. to
    end
    local kwh, looks = 0, 0
    for _, sample in ipairs(month.samples) do kwh = kwh + (inside(sample.at) and sample.kwh or 0) end
    for _, look in ipairs(month.looks) do looks = looks + (look.name == "vehicle_data" and inside(look.at) and 1 or 0) end
    return kwh, looks, month
  end

  local function comes(at, from, to)
    local kwh, looks, month = evening({ { at, "plug", start = false, date = last } }, from, to)
    assert.is_true(kwh > 0, "no stretch of the plan was under way")
    assert.is_true(kwh <= 3.12 * 6 / 60, tostring(kwh))
    assert.is_true(looks <= 2, tostring(looks)) -- and one at the check-in
    assert.is_true(level_on(month, "2026-03-11") >= 79)
  end

  it("is seen within minutes", function() comes("18:49", " 17:00", " 21:00") end)

  it("is seen when the next stretch begins where it comes between two", function() comes("20:50", " 17:00", " 23:59") end)

  it("is not paid for by a look every few minutes while it drives", function()
    local drives = {}
    for minute = 0, 59 do
      drives[#drives + 1] = { string.format("18:%02d", minute), function(stage)
        require("fleet.sim.physics").rouse(stage.car, stage.service:now())
      end, date = last }
    end
    local kwh, looks = evening(drives, " 17:00", " 21:00")
    assert.equal(0, kwh)
    assert.is_true(looks <= 3, tostring(looks))
  end)
end)
