-- Draws a drive from streamed records: on the left the route, coloured by speed; on the right speed and charge over time. A value that the
-- car reported as invalid leaves a gap in its line.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local svg = require "fleet.chart.svg"

local M = {}

local WIDTH, HEIGHT, TOP, MARGIN, GUTTER = 880, 420, 56, 24, 84
local MAP = 380 -- width and height of the map, at most
local FAST = { 15, 30, 45 } -- mph, the limits between the colours

local function style(page, ink, faint, ways, soc)
  local out = {
    ".page { fill: " .. page .. " }", ".ink { fill: " .. ink .. " }", ".head { fill: " .. ink .. "; font-size: 15px; font-weight: 600 }",
    ".faint { fill: " .. faint .. "; font-size: 11px }", ".grid-line { stroke: " .. faint .. "; stroke-width: 1; stroke-opacity: 0.35 }",
    ".speed { fill: none; stroke: " .. ways[3] .. "; stroke-width: 2 }", ".soc { fill: none; stroke: " .. soc .. "; stroke-width: 2 }",
    ".start { fill: " .. page .. "; stroke: " .. ink .. "; stroke-width: 2 }", ".stop { fill: " .. ink .. " }",
  }
  for i, color in ipairs(ways) do
    out[#out + 1] = string.format(".way%d { stroke: %s; stroke-width: 4; stroke-linecap: round } .key%d { fill: %s }", i, color, i, color)
  end
  return table.concat(out, "\n")
end

local light = style("#ffffff", "#1b2a2e", "#5f6f75", { "#8aa4b8", "#4f86c6", "#2f5fb3", "#b3382f" }, "#2f8f5b")
local dark = style("#11181b", "#e8eef0", "#93a3a9", { "#5a6f80", "#4f86c6", "#8ab4f0", "#ff7a6b" }, "#49b97c")

-- ---- values over time ----

-- Returns points { at, value } of a field; value is false where the car reported it as invalid.
local function line_of(records, name)
  local list = {}
  for _, record in ipairs(records) do
    local value = record.values and record.values[name]
    for _, invalid in ipairs(record.invalid or {}) do
      if invalid == name then value = false end
    end
    if value ~= nil then list[#list + 1] = { record.at, value } end
  end
  return list
end

-- The value at a time: that of the newest point at or before it.
local function at_time(list, time)
  local found
  for _, point in ipairs(list) do
    if point[1] > time then break end
    found = point[2]
  end
  return found
end

local function places(records)
  local list = {}
  for _, point in ipairs(line_of(records, "Location")) do
    local place = point[2]
    if type(place) == "table" and type(place.latitude) == "number" and type(place.longitude) == "number" then
      list[#list + 1] = { at = point[1], latitude = place.latitude, longitude = place.longitude }
    end
  end
  return list
end

-- ---- the map ----

local function bounds(list)
  local b = { south = 90, north = -90, west = 180, east = -180 }
  for _, p in ipairs(list) do
    b.south, b.north = math.min(b.south, p.latitude), math.max(b.north, p.latitude)
    b.west, b.east = math.min(b.west, p.longitude), math.max(b.east, p.longitude)
  end
  return b
end

local function speed_class(speed)
  if not speed then return 1 end
  for i, limit in ipairs(FAST) do
    if speed < limit then return i end
  end
  return #FAST + 1
end

local function draw_map(out, way, speeds)
  local b = bounds(way)
  local shrink = math.cos(math.rad((b.south + b.north) / 2))
  local wide, high = math.max((b.east - b.west) * shrink, 1e-6), math.max(b.north - b.south, 1e-6)
  local scale = math.min((MAP - 24) / wide, (HEIGHT - TOP - 70) / high)
  local left, top = MARGIN + (MAP - wide * scale) / 2, TOP + (HEIGHT - TOP - 60 - high * scale) / 2
  local function xy(p) return left + (p.longitude - b.west) * shrink * scale, top + (b.north - p.latitude) * scale end
  for i = 2, #way do
    local x1, y1 = xy(way[i - 1])
    local x2, y2 = xy(way[i])
    out[#out + 1] = svg.line(x1, y1, x2, y2, "way" .. speed_class(at_time(speeds, way[i].at)))
  end
  for _, one in ipairs { { way[1], "start" }, { way[#way], "stop" } } do
    local x, y = xy(one[1])
    out[#out + 1] = string.format('<circle class="%s" cx="%s" cy="%s" r="5"/>', one[2], core.shortened(x, 2), core.shortened(y, 2))
  end
  for i = 1, #FAST + 1 do
    local x = MARGIN + (i - 1) * 92
    out[#out + 1] = svg.rect(x, HEIGHT - 30, 18, 6, "key" .. i)
    local text = i > #FAST and FAST[#FAST] .. " mph up" or i == 1 and "below " .. FAST[1] or FAST[i - 1] .. " to " .. FAST[i]
    out[#out + 1] = svg.text(x + 24, HEIGHT - 23, "faint", "start", text)
  end
end

-- ---- a value over time ----

local function range(list, least)
  local low, high = math.huge, -math.huge
  for _, point in ipairs(list) do
    if type(point[2]) == "number" then low, high = math.min(low, point[2]), math.max(high, point[2]) end
  end
  if high == -math.huge then return nil end
  if least == 0 then low = 0 end
  if high - low < 1 then low, high = low - 0.5, high + 0.5 end
  return low, high
end

local function draw_line(out, f, list, class, label, unit, least)
  local low, high = range(list, least)
  out[#out + 1] = svg.text(f.x, f.top - 10, "ink", "start", label)
  if not low then
    out[#out + 1] = svg.text(f.x + f.width / 2, f.top + f.height / 2, "faint", "middle", "not streamed")
    return
  end
  local function y(value) return f.top + f.height - (value - low) / (high - low) * f.height end
  local step = svg.scale_step(high - low)
  for value = math.ceil(low / step) * step, high, step do
    out[#out + 1] = svg.line(f.x, y(value), f.x + f.width, y(value), "grid-line")
    out[#out + 1] = svg.text(f.x - 8, y(value) + 4, "faint", "end", core.shortened(value, 2) .. " " .. unit)
  end
  local path, pen = {}, "M"
  for i, point in ipairs(list) do
    if type(point[2]) == "number" then
      local x = f.x + (point[1] - f.from) / (f.to - f.from) * f.width
      path[#path + 1] = pen .. core.shortened(x, 1) .. " " .. core.shortened(y(point[2]), 1)
      pen = "L"
    elseif i > 1 then
      pen = "M"
    end
  end
  out[#out + 1] = string.format('<path class="%s" d="%s"/>', class, table.concat(path))
end

local function draw_minutes(out, f)
  local minutes = (f.to - f.from) / 60
  local step = math.max(1, svg.scale_step(math.max(minutes, 1)))
  for minute = 0, minutes, step do
    out[#out + 1] = svg.text(f.x + minute * 60 / (f.to - f.from) * f.width, HEIGHT - 23, "faint", "middle",
      core.shortened(minute, 1) .. " min")
  end
end

local function duration(seconds)
  local unit, count = "minute", math.floor(seconds / 60 + 0.5)
  if seconds < 60 then unit, count = "second", math.floor(seconds + 0.5) end
  return string.format("%d %s%s", count, unit, count == 1 and "" or "s")
end

--- Draws the records of one car, in their order, as SVG. records: a list of { at =, values =, invalid = }. options: title. Returns nil,
--- err, "invalid" when the records hold fewer than two positions.
function M.svg(records, options)
  local way, speeds, socs = places(records), line_of(records, "VehicleSpeed"), line_of(records, "Soc")
  if #way < 2 then
    return errors.failure("invalid", "there are fewer than two places to draw: the records need the field Location of a car that moves")
  end
  local from, to = records[1].at, records[#records].at
  local x = MARGIN + MAP + GUTTER
  local high = (HEIGHT - TOP - 60 - 50) / 2
  local title = options and options.title or "A drive of " .. duration(to - from)
  local out = { svg.rect(0, 0, WIDTH, HEIGHT, "page"), svg.text(MARGIN, 28, "head", "start", title) }
  draw_map(out, way, speeds)
  local f = { x = x, width = WIDTH - x - MARGIN, top = TOP + 14, height = high, from = from, to = math.max(to, from + 1) }
  draw_line(out, f, speeds, "speed", "Speed", "mph", 0)
  f.top = f.top + high + 42
  draw_line(out, f, socs, "soc", "State of charge", "%")
  draw_minutes(out, f)
  return svg.document(WIDTH, HEIGHT, title, light, dark, out)
end

return M
