-- Automations that events of the stream wake, in virtual time, beside the same without a stream.

local fleet = require "fleet"
local months = require "spec.support.fixtures.month"
local readings = require "fleet.automation.readings"
local templates = require "fleet.telemetry.templates"
local view = require "fleet.telemetry.view"

-- Seconds from a moment to the first note of this text after it; nil: there is none.
local function until_note(month, at, text)
  for _, note in ipairs(month.notes) do
    if note.at >= at and string.find(note.text, text, 1, true) then return note.at - at end
  end
end

local function until_command(month, at, name)
  for _, command in ipairs(month.commands) do
    if command.at >= at and command.name == name then return command.at - at end
  end
end

-- A rehearsal of two days; deeds: habits. Returns it and when the last deed was done.
local function rehearse(stream, make, habits, more)
  local at
  local list = {}
  for i, habit in ipairs(habits) do list[i] = habit end
  local last = list[#list]
  local action = last[2]
  list[#list] = { last[1], function(stage)
    at = select(2, fleet.loop.clock())
    action(stage)
  end, date = last.date }
  local given = { from = "2026-03-01", days = 2, habits = list, stream = stream, automation = make }
  for name, value in pairs(more or {}) do given[name] = value end
  return months.of(given), at
end

local awake = { sleep_after = 1e9, charge_state = { battery_level = 60, charge_limit_soc = 80, charge_current_request_max = 16 } }

describe("a car that is plugged in", function()
  local function make(car)
    return fleet.automation.charge_by { car = car, ready_by = "07:00", level = 80, tariff = months.tariff, schedules = false }
  end

  local habits = { { "18:03", function(stage)
    stage.event "park"
    stage.event("plug", {})
  end, date = "2026-03-01" } }

  it("is stopped in the dear hour within a minute of the event; by looks alone, minutes later", function()
    local month, at = rehearse("charging", make, habits, { vehicle = awake })
    local streamed = until_command(month, at, "charge_stop")
    assert.is_true(streamed ~= nil and streamed <= 60, tostring(streamed))
    month, at = rehearse(nil, make, habits, { vehicle = awake })
    local by_looks = until_command(month, at, "charge_stop")
    assert.is_true(by_looks ~= nil and by_looks > streamed + 60, tostring(by_looks))
  end)
end)

describe("a car that arrives", function()
  local function make(car) return fleet.automation.keep_limit { car = car, level = 80 } end

  local habits = {
    { "06:01", function(stage) stage.car.sections.charge_state.charge_limit_soc = 100 end, date = "2026-03-01" },
    { "10:02", function(stage) stage.event("drive", { miles = 60 }) end, date = "2026-03-01" },
    { "11:04", function(stage) stage.event "park" end, date = "2026-03-01" },
  }
  local config = templates.config "charging"
  config.fields.Gear, config.fields.LocatedAtHome = { interval_seconds = 10 }, { interval_seconds = 10 }

  it("gets its limit of every day back within a minute; by looks alone, later", function()
    local month, at = rehearse(config, make, habits, { vehicle = awake })
    local streamed = until_command(month, at - 3720, "set_charge_limit") -- from the moment at which it drove off
    assert.is_true(streamed ~= nil and streamed <= 3720 + 60, tostring(streamed))
    month, at = rehearse(nil, make, habits, { vehicle = awake })
    local by_looks = until_command(month, at - 3720, "set_charge_limit")
    assert.is_true(by_looks == nil or by_looks > streamed, tostring(by_looks))
  end)
end)

describe("a door that is opened", function()
  local function make(car) return fleet.automation.left_open { car = car, close = false } end

  local habits = { { "12:07", function(stage) stage.car.sections.vehicle_state.df = 1 end, date = "2026-03-01" } }

  it("is seen within a minute, and reported ten minutes later; a closed car needs no look", function()
    local month, at = rehearse("presence", make, habits, { vehicle = { sleep_after = 1e9, vehicle_state = { locked = true } } })
    assert.is_true(until_note(month, at, "open: driver's door, for less than") <= 60)
    local reported = until_note(month, at, "left open: driver's door")
    assert.is_true(reported >= 600 and reported <= 660, tostring(reported))
    local looks = 0
    for _, look in ipairs(month.looks) do looks = looks + (look.at < at and 1 or 0) end
    assert.is_true(looks <= 14, tostring(looks)) -- one an hour
    month, at = rehearse(nil, make, habits, { vehicle = { sleep_after = 1e9, vehicle_state = { locked = true } } })
    assert.is_true(until_note(month, at, "open: driver's door, for less than") > 60)
  end)
end)

describe("an event", function()
  it("while the automation is not following the receiver any more does nothing", function()
    local made
    months.of { days = 1, stream = "charging", vehicle = awake, automation = function(car)
      made = fleet.automation.keep_limit { car = car, level = 80 }
      return made
    end }
    assert.is_nil(made.followed)
    assert.is_nil(made.event_at)
  end)
end)

describe("a cable with a loose contact", function()
  local function habits_of(minutes)
    local list = {}
    for minute = 1, minutes do
      list[minute] = { string.format("%02d:%02d", 17 + math.floor(minute / 60), minute % 60), function(stage)
        if minute % 2 == 1 then stage.event("plug", {}) else stage.event "unplug" end
      end, date = "2026-03-01" }
    end
    return list
  end

  local function stops(minutes)
    local month = rehearse("charging", function(car)
      return fleet.automation.charge_by { car = car, ready_by = "07:00", level = 80, tariff = months.tariff, schedules = false }
    end, habits_of(minutes), { vehicle = awake })
    local count = 0
    for _, command in ipairs(month.commands) do count = count + (command.name == "charge_stop" and 1 or 0) end
    return count, month
  end

  it("causes few commands however often the car is plugged in", function()
    local count, month = stops(180)
    assert.is_true(count >= 3 and count <= 9, tostring(count))
    assert.is_true(#month.looks <= 4, tostring(#month.looks))
  end)

  it("is stopped each time while it is seldom", function()
    assert.equal(1, (stops(1)))
    assert.equal(2, (stops(5)))
  end)
end)

describe("the templates", function()
  local function streams(template, section, field)
    local config = templates.config(template)
    if field == "battery_level" then return config.fields.Soc ~= nil end
    local fields = require("fleet.telemetry.fields").rows
    for name in pairs(config.fields) do
      for path in string.gmatch(fields[name].counterpart or "", "%S+") do
        if path == section .. "." .. field then return true end
      end
    end
    return false
  end

  local sections_of = { charging = { "charge_state" }, solar = { "charge_state" }, presence = { "vehicle_state", "drive_state" } }
  for template, sections in pairs(sections_of) do
    it(template .. " streams what automations read of its sections", function()
      for _, section in ipairs(sections) do
        for _, field in ipairs(readings.all[section]) do
          local needed = view.has(section, field) and field ~= "car_version"
          if needed then assert.is_true(streams(template, section, field), section .. "." .. field) end
        end
      end
    end)
  end
end)
