-- Draws a rehearsed month: a row per day, its hours from left to right. The shade of the row is the price, bars are charging from the roof
-- and from the grid, marks are commands, and the level is at the end of the row. Rows without charging show the level of the home battery
-- if its reserve was set, or the car's openings that were open.

local calendar = require "fleet.automation.local_time"
local cost = require "fleet.automation.cost"
local core = require "fleet.core"
local svg = require "fleet.chart.svg"

local M = {}

local fixed = core.fixed

local LEFT, RIGHT, TOP, ROW, BOTTOM, WIDTH = 74, 64, 66, 15, 74, 960

local function style(page, ink, faint, colors)
  local out = {
    ".page { fill: " .. page .. " }", ".ink { fill: " .. ink .. " }", ".head { fill: " .. ink .. "; font-size: 15px; font-weight: 600 }",
    ".faint { fill: " .. faint .. "; font-size: 11px }", ".hour { stroke: " .. faint .. "; stroke-width: 1; stroke-opacity: 0.25 }",
    ".mark { stroke: " .. ink .. "; stroke-width: 1.5 }",
  }
  for name, color in pairs(colors) do out[#out + 1] = string.format(".%s { fill: %s }", name, color) end
  for step = 1, 5 do
    out[#out + 1] = string.format(".dear%d { fill: %s; fill-opacity: %s }", step, colors.dear, core.shortened(step * 0.09, 2))
  end
  table.sort(out)
  return table.concat(out, "\n")
end

local light = style("#ffffff", "#1b2a2e", "#5f6f75", { grid = "#2f6db3", sun = "#e0a100", plugged = "#9fb3bb", dear = "#c2453a",
  battery = "#3d9a63", open = "#c46210" })
local dark = style("#11181b", "#e8eef0", "#93a3a9", { grid = "#5c9be0", sun = "#ffc83d", plugged = "#4d6169", dear = "#ff7a6b",
  battery = "#57c182", open = "#ff9d3c" })

local classes = {
  grid = "from the grid", sun = "from the roof", plugged = "plugged in, waiting", battery = "home battery: a full row is 100 %",
  open = "a window, door or trunk is open",
}

-- ---- samples to stretches ----

local function class_of(sample)
  if sample.kwh > 1e-6 then return sample.sun > 0.5 and "sun" or "grid" end
  return sample.plugged and "plugged" or nil
end

-- Joins neighbouring samples of one day with the same value into one stretch { from, to (hours), what }.
local function stretches(samples, read)
  local out = {}
  for _, s in ipairs(samples) do
    local what, last = read(s), out[#out]
    if what and last and last.what == what and math.abs(last.to - s.hour) < 0.02 then
      last.to = s.hour + s.length
    elseif what then
      out[#out + 1] = { from = s.hour, to = s.hour + s.length, what = what }
    end
  end
  return out
end

local function by_day(report)
  local days, order = {}, {}
  local function day_at(at)
    local date = calendar.date(report.zone, at)
    if not days[date] then
      days[date] = { date = date, samples = {}, marks = {} }
      order[#order + 1] = days[date]
    end
    return days[date]
  end
  local function hour(at)
    local t = report.zone:localtime(math.floor(at))
    return t.hour + t.min / 60 + t.sec / 3600
  end
  for _, s in ipairs(report.samples) do
    local list = day_at(s.at).samples
    list[#list + 1] = {
      hour = hour(s.at), length = (s.to - s.at) / 3600, kwh = s.kwh, sun = s.sun, plugged = s.plugged, price = s.price, level = s.level,
      battery = s.battery, open = s.open,
    }
  end
  for _, command in ipairs(report.commands) do
    local marks = day_at(command.at).marks
    marks[#marks + 1] = { hour = hour(command.at), name = command.name }
  end
  for _, ready in ipairs(report.ready) do day_at(ready.at).ready = ready.level end
  table.sort(order, function(a, b) return a.date < b.date end)
  return order
end

local function price_range(report)
  local low, high = math.huge, -math.huge
  for _, s in ipairs(report.samples) do
    if s.price then low, high = math.min(low, s.price), math.max(high, s.price) end
  end
  return low, high
end

-- ---- drawing ----

local function draw_hours(out, f)
  for hour = 0, 24, 3 do
    local x = f.x(hour)
    out[#out + 1] = svg.line(x, TOP - 4, x, f.bottom, "hour")
    out[#out + 1] = svg.text(x, TOP - 10, "faint", "middle", string.format("%02d", hour))
  end
end

local function shade_of(f)
  return function(s)
    if f.high <= f.low or not s.price then return nil end
    local step = math.floor((s.price - f.low) / (f.high - f.low) * 5 + 0.5)
    return step > 0 and step or nil
  end
end

-- Draws the level of the home battery in steps, so that neighbouring samples form one shape.
local BATTERY_STEP = 4 -- percent

local function battery_of(s)
  return s.battery and math.floor(s.battery / BATTERY_STEP + 0.5) or nil
end

local function draw_battery(out, f, y, day)
  for _, s in ipairs(stretches(day.samples, battery_of)) do
    local height = (ROW - 2) * s.what * BATTERY_STEP / 100
    if height > 0 then out[#out + 1] = svg.rect(f.x(s.from), y + ROW - 1 - height, f.x(s.to) - f.x(s.from), height, "battery") end
  end
end

-- Draws the bar, with its label at the end of the row.
local function draw_open(out, f, y, day)
  local names = {}
  for _, s in ipairs(stretches(day.samples, function(sample) return sample.open end)) do
    out[#out + 1] = svg.rect(f.x(s.from), y + 3, f.x(s.to) - f.x(s.from), 9, "open")
    names[#names + 1] = names[#names] ~= s.what and s.what or nil
  end
  if names[1] then
    out[#out + 1] = svg.text(f.width - RIGHT + 8, y + 11, "faint", "start", table.concat(names, ", "))
  end
end

local function draw_day(out, f, i, day)
  local y = TOP + (i - 1) * ROW
  for _, s in ipairs(stretches(day.samples, shade_of(f))) do
    out[#out + 1] = svg.rect(f.x(s.from), y, f.x(s.to) - f.x(s.from), ROW, "dear" .. s.what)
  end
  if f.shows_battery then draw_battery(out, f, y, day) end
  if f.shows_open then draw_open(out, f, y, day) end
  for _, s in ipairs(stretches(day.samples, class_of)) do
    local thin = s.what == "plugged"
    out[#out + 1] = svg.rect(f.x(s.from), y + (thin and 6.5 or 3), f.x(s.to) - f.x(s.from), thin and 2 or 9, s.what)
  end
  for _, mark in ipairs(day.marks) do
    out[#out + 1] = svg.line(f.x(mark.hour), y + 1, f.x(mark.hour), y + ROW - 1, "mark")
  end
  local weekday = os.date("!%a", core.date_days(day.date) * 86400)
  out[#out + 1] = svg.text(LEFT - 8, y + 11, "faint", "end", weekday .. " " .. string.sub(day.date, 9))
  if day.ready then
    out[#out + 1] = svg.text(f.width - RIGHT + 8, y + 11, "faint", "start", string.format("%d %%", math.floor(day.ready + 0.01)))
  end
end

local function draw_legend(out, f, report)
  local x, y, seen = LEFT, f.bottom + 20, {}
  for _, s in ipairs(report.samples) do
    local class = class_of(s)
    if class then seen[class] = true end
  end
  local function entry(shape, text)
    out[#out + 1] = shape
    out[#out + 1] = svg.text(x + 18, y + 10, "ink", "start", text)
    x = x + 34 + #text * 6.7
  end
  seen.battery, seen.open = f.shows_battery, f.shows_open
  for _, class in ipairs { "sun", "grid", "plugged", "battery", "open" } do
    local thin = class == "plugged"
    if seen[class] then entry(svg.rect(x, y + (thin and 4 or 0), 12, thin and 3 or 12, class), classes[class]) end
  end
  if #report.commands > 0 then entry(svg.line(x + 6, y, x + 6, y + 12, "mark"), "a command") end
  if f.high > f.low then
    entry(svg.rect(x, y, 12, 12, "dear5"), string.format("price: %s to %s%s per kWh", fixed(f.low, 2), fixed(f.high, 2),
      report:currency_text " "))
  end
end

local function totals(report)
  local parts = {}
  if report.kwh > 0 then
    parts[1] = string.format("%s kWh charged, %s from the roof", fixed(report.kwh, 1), fixed(report.sun_kwh, 1))
    local bought = fixed(report.grid_kwh, 1) .. " kWh from the grid"
    parts[2] = report.price and report:paid_text() .. " paid for " .. bought or bought
  end
  parts[#parts + 1] = cost.text(report.calls)
  return table.concat(parts, "; ")
end

--- Options: width in pixels (960), title.
function M.svg(report, options)
  local width, days = options.width or WIDTH, by_day(report)
  local low, high = price_range(report)
  local f = { width = width, bottom = TOP + #days * ROW, low = low, high = high }
  for _, s in ipairs(report.kwh == 0 and report.samples or {}) do
    f.shows_battery = f.shows_battery or s.battery ~= nil and report:sent "backup" > 0
    f.shows_open = f.shows_open or s.open ~= nil
  end
  function f.x(hour)
    return LEFT + math.min(hour, 24) / 24 * (width - LEFT - RIGHT)
  end
  local height = f.bottom + BOTTOM
  local title = options.title or calendar.date(report.zone, report.from) .. " to " .. calendar.date(report.zone, report.to - 1)
  local out = { svg.rect(0, 0, width, height, "page"), svg.text(LEFT, 26, "head", "start", title) }
  for i, day in ipairs(days) do draw_day(out, f, i, day) end
  draw_hours(out, f)
  draw_legend(out, f, report)
  out[#out + 1] = svg.text(LEFT, f.bottom + 54, "faint", "start", totals(report))
  return svg.document(width, height, title, light, dark, out)
end

return M
