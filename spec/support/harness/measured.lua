-- What the manual says of automations as measured: the month of each example, beside what is there without it.

local fleet = require "fleet"
local months = require "spec.support.fixtures.month"
local optimum = require "spec.support.fixtures.optimum"

local M = { names = require "fleet.automation.builtin" }

local function example(name)
  local chunk = assert(loadfile("examples/automation_" .. name .. ".lua", "t", setmetatable({ print = function() end }, { __index = _G })))
  return chunk()
end

-- The rehearsal of an example with other habits or another automation: what rehearse was given, changed.
local function varied(name, change)
  local rehearse, found = fleet.automation.rehearse, nil
  fleet.automation.rehearse = function(given)
    found = rehearse(change(given))
    return found
  end
  local ok, failure = pcall(example, name)
  fleet.automation.rehearse = rehearse
  if not ok then error(failure, 0) end
  return found
end

local function without(given)
  given.automation = function() return {} end
  return given
end

local function at_hour(hour)
  return function(given)
    for _, habit in ipairs(given.habits) do
      if habit[2] == "plug" then habit.start = false end
    end
    given.habits[#given.habits + 1] = { hour, "start_by_hand" }
    return without(given)
  end
end

local function row(...)
  return "| " .. table.concat({ ... }, " | ") .. " |"
end

local function number(format, value)
  return (string.gsub(string.format(format, value), ",", "."))
end

local tables = {}

local four_prices = {}
for hour = 0, 23 do four_prices[hour] = hour < 5 and 0.19 or hour < 17 and 0.31 or hour < 21 and 0.42 or 0.26 end

local function by_commands(given)
  local automation = given.automation
  given.automation = function(car, ...)
    local made = automation(car, ...)
    made.config.schedules = false
    return made
  end
  return given
end

local function on_older_firmware(given)
  given.vehicle.firmware_version = "2024.20.9"
  return given
end

function tables.charge_by(month)
  local list = {
    row("March 2026", "kWh", "EUR", "cent per kWh", "of the optimum", "ready at 07:00", "calls"),
    row("---", "---:", "---:", "---:", "---:", "---:", "---"),
  }
  local function add(what, m)
    local ready, of = m:ready_days(80)
    local paid, least = optimum.of(m, optimum.by_hour(m.zone, four_prices), 3.84)
    list[#list + 1] = row(what, number("%.1f", m.kwh), number("%.2f", m.price), number("%.1f", m.price / m.kwh * 100),
      number("%.0f %%", paid / least * 100), string.format("%d of %d", ready, of), m.usd > 0 and number("%.2f USD", m.usd) or "none")
  end
  add("charge_by, by schedules in the car", month)
  add("charge_by, by the one time of older firmware", varied("charge_by", on_older_firmware))
  add("charge_by, by start and stop", varied("charge_by", by_commands))
  add("at once when plugged in", varied("charge_by", without))
  add("every day at 23:00", varied("charge_by", at_hour("23:00")))
  return list
end

function tables.surplus_charge(month)
  local list = {
    row("April 2026", "kWh", "from the grid", "share", "EUR", "calls"), row("---", "---:", "---:", "---:", "---:", "---"),
  }
  local function add(what, m)
    list[#list + 1] = row(what, number("%.1f", m.kwh), number("%.1f", m.grid_kwh), number("%.0f %%", m.grid_kwh / m.kwh * 100),
      number("%.2f", m.price), m.usd > 0 and number("%.2f USD", m.usd) or "none")
  end
  add("surplus_charge", month)
  add("at once when plugged in", varied("surplus_charge", without))
  add("every day at 22:00", varied("surplus_charge", at_hour("22:00")))
  return list
end

function tables.tariff_sync(month)
  return {
    row("October 2026", "tariffs sent", "billed calls"), row("---", "---:", "---:"),
    row("tariff_sync", tostring(month:sent("time_of_use_settings")), tostring((month.calls.data or 0) + (month.calls.command or 0))),
  }
end

function tables.ensure(month)
  return {
    row("June 2026", "commands", "looks", "calls"), row("---", "---:", "---:", "---"),
    row("ensure", tostring(month:sent()), tostring(month.calls.data), number("%.2f USD", month.usd)),
  }
end

for name, head in pairs {
  precondition_by = "January 2026, two weeks", keep_limit = "June 2026, two weeks", left_open = "May 2026, a week",
  storm_ready = "July 2026, five days", charge_home_battery = "November 2026, a week",
} do
  tables[name] = function(report)
    return {
      row(head, "commands", "looks", "wakes", "calls"), row("---", "---:", "---:", "---:", "---"),
      row(name, tostring(report:sent()), tostring(report.calls.data or 0), tostring(report.calls.wake or 0),
        report.usd > 0 and number("%.2f USD", report.usd) or "none"),
    }
  end
end

--- The month of an example, and the table that its page shows.
function M.of(name)
  local month = example(name)
  return month, table.concat(tables[name](month), "\n") .. "\n"
end

M.months = months

local opening, closing = "<!-- measured by make look -->\n", "<!-- end -->"

--- What stands between the marks of a page; and the page with something else there.
function M.shown(page)
  return string.match(page, opening:gsub("%-", "%%-") .. "(.-)" .. closing:gsub("%-", "%%-"))
end

function M.put(page, text)
  local before, after = string.match(page, "^(.-" .. opening:gsub("%-", "%%-") .. ").-(" .. closing:gsub("%-", "%%-") .. ".*)$")
  return before .. text .. after
end

return M
