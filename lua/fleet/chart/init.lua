-- Draws the energy flow of a day or a month, for the terminal and as SVG. Periods without data are shown as gaps.

local errors = require "fleet.util.errors"
local core = require "fleet.core"
local energy_series = require "fleet.energy.series"
local svg = require "fleet.chart.svg"

local M = {}

local DAY = 86400

local function kwh(wh)
  return core.fixed(wh / 1000, 1)
end

-- The length of a step as text. article: put before a single unit.
local function span_text(seconds, article)
  if seconds >= 20 * 3600 and seconds < 26 * 3600 then return article .. "day" end
  if seconds % DAY == 0 and seconds < 27 * DAY then return string.format("%d days", seconds / DAY) end
  if seconds >= 27 * DAY then return article .. "month" end
  if seconds == 3600 then return article == "" and "hour" or "an hour" end
  if seconds % 3600 == 0 then return string.format("%d hours", seconds / 3600) end
  return string.format("%d min", seconds / 60)
end

local function title_of(series)
  local title = string.sub(series.steps[1].text, 1, 10)
  if series.seconds >= 20 * 3600 then title = title .. " to " .. string.sub(series.steps[#series.steps].text, 1, 10) end
  if series.untimed == 0 then return title end
  return string.format("%s (%d %s without a time left out)", title, series.untimed, series.untimed == 1 and "entry" or "entries")
end

local function largest(series)
  local most = 0
  for _, row in ipairs(series.rows) do
    for i = 1, #series.steps do most = math.max(most, row[i] or 0) end
  end
  return most
end

-- The label under a step: the hour at every third hour, or the day of the month.
local function mark(series, step)
  if not step.text then return nil end
  if series.seconds >= 27 * DAY then return string.sub(step.text, 6, 7) end
  if series.seconds >= 20 * 3600 then return string.sub(step.text, 9, 10) end
  local hour, minute = string.sub(step.text, 12, 13), string.sub(step.text, 15, 16)
  if tonumber(hour) and tonumber(hour) % 3 == 0 and minute == "00" then return hour end
end

-- ---- the terminal ----

local COLUMNS = 48
local unicode = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█", missing = "·", zero = " " }
local ascii = { ".", ":", "-", "=", "+", "*", "%", "#", missing = "?", zero = " " }

local function glyph(glyphs, value, most)
  if not value then return glyphs.missing end
  if value <= 0 then return glyphs.zero end
  return glyphs[math.max(1, math.min(8, math.ceil(value / most * 8)))]
end

local function text_row(row, count, width, most, glyphs)
  local out = {}
  for i = 1, count do out[i] = string.rep(glyph(glyphs, row[i], most), width) end
  local total = kwh(row.total) .. " kWh"
  if row.missing > 0 then total = string.format("%s, %d missing", total, row.missing) end
  return string.format("%-12s", row.name) .. table.concat(out) .. "  " .. total
end

local function text_marks(series, width)
  local line, length = { string.rep(" ", 12) }, 0
  for i, step in ipairs(series.steps) do
    local text, place = mark(series, step), (i - 1) * width
    if text and place >= length then
      line[#line + 1] = string.rep(" ", place - length) .. text .. " "
      length = place + #text + 1
    end
  end
  return (string.gsub(table.concat(line), "%s+$", ""))
end

--- Draws the energy flow as text: a line of bars per source and use, followed by its sum. history: the result of energy_history. options:
--- ascii. Returns nil, err, "invalid" when there is nothing to draw.
function M.text(history, options)
  local whole, problem = energy_series.read(history)
  if not whole then return errors.failure("invalid", problem) end
  local series = energy_series.joined(whole, math.ceil(#whole.steps / COLUMNS))
  local glyphs = options and options.ascii and ascii or unicode
  local count, most = #series.steps, largest(series)
  local width = math.max(1, math.floor(COLUMNS / count))
  local out = { string.format("%s: a full bar is %s kWh in %s, '%s' is no data", title_of(whole), core.fixed(most / 1000, 2),
    span_text(series.seconds, "a "), glyphs.missing), "" }
  for r, row in ipairs(series.rows) do
    row.missing = whole.rows[r].missing
    out[#out + 1] = text_row(row, count, width, math.max(most, 1), glyphs)
  end
  out[#out + 1] = text_marks(series, width)
  return table.concat(out, "\n") .. "\n"
end

-- ---- the picture ----

local HEIGHT, LEFT, TOP, BOTTOM, RIGHT = 440, 56, 50, 94, 18

local classes = {
  solar = "solar", ["battery out"] = "battery", ["grid in"] = "grid", generator = "generator", home = "home",
  ["battery in"] = "charge", ["grid out"] = "export",
}

local function style(page, ink, faint, colors)
  local out = { ".page { fill: " .. page .. " }", ".ink { fill: " .. ink .. " }",
    ".head { fill: " .. ink .. "; font-size: 15px; font-weight: 600 }", ".faint { fill: " .. faint .. "; font-size: 11px }",
    ".grid-line { stroke: " .. faint .. "; stroke-width: 1; stroke-opacity: 0.35 }",
    ".zero { stroke: " .. ink .. "; stroke-width: 1 }",
    ".gap { fill: " .. faint .. "; fill-opacity: 0.25 }" }
  for _, name in ipairs { "solar", "battery", "grid", "generator", "home", "charge", "export" } do
    out[#out + 1] = string.format(".%s { fill: %s }", name, colors[name])
  end
  return table.concat(out, "\n")
end

local light = style("#ffffff", "#1b2a2e", "#5f6f75", { solar = "#e0a100", battery = "#2f8f5b", grid = "#7a8794",
  generator = "#a05a2c", home = "#2f6db3", charge = "#7cc49b", export = "#c592bb" })
local dark = style("#11181b", "#e8eef0", "#93a3a9", { solar = "#ffc83d", battery = "#49b97c", grid = "#9aa8b5",
  generator = "#d08a55", home = "#5c9be0", charge = "#2c6b49", export = "#8d5283" })

local function stack_heights(series)
  local up, down = 1, 1
  for i = 1, #series.steps do
    local above, below = 0, 0
    for _, row in ipairs(series.rows) do
      local value = math.max(row[i] or 0, 0)
      if row.up then above = above + value else below = below + value end
    end
    up, down = math.max(up, above), math.max(down, below)
  end
  return up, down
end

local function is_gap(series, i)
  for _, row in ipairs(series.rows) do
    if not row[i] then return true end
  end
  return false
end

local function frame(series, width)
  local up, down = stack_heights(series)
  local inner = HEIGHT - TOP - BOTTOM
  local scale = inner / (up + down)
  return {
    x = LEFT, width = width - LEFT - RIGHT, top = TOP, bottom = TOP + inner, zero = TOP + up * scale,
    scale = scale, up = up, down = down, step = (width - LEFT - RIGHT) / #series.steps,
  }
end

local function draw_step(out, series, f, i)
  local x, above, below = f.x + (i - 1) * f.step, f.zero, f.zero
  for _, row in ipairs(series.rows) do
    local height = math.max(row[i] or 0, 0) * f.scale
    if height > 0 then
      local y = row.up and above - height or below
      if row.up then above = y else below = below + height end
      local amount, at = core.fixed(row[i] / 1000, 2), string.sub(series.steps[i].text or "", 1, 16)
      local tip = string.format("%s %s: %s kWh", at, row.name, amount)
      out[#out + 1] = svg.rect(x + f.step * 0.06, y, f.step * 0.88, height, classes[row.name], tip)
    end
  end
end

local function draw_scale(out, f)
  local step = svg.scale_step(math.max(f.up, f.down))
  for value = math.ceil(-f.down / step) * step, f.up, step do
    local y = f.zero - value * f.scale
    out[#out + 1] = svg.line(f.x, y, f.x + f.width, y, "grid-line")
    out[#out + 1] = svg.text(f.x - 8, y + 4, "faint", "end", core.shortened(math.abs(value) / 1000, 6))
  end
end

-- Draws one band across neighbouring steps without data, with a label where the label fits.
local function draw_gaps(out, series, f)
  local first
  for i = 1, #series.steps + 1 do
    local gap = series.steps[i] and is_gap(series, i)
    if gap and not first then first = i end
    if first and not gap then
      local x, width = f.x + (first - 1) * f.step, (i - first) * f.step
      out[#out + 1] = svg.rect(x, f.top, width, f.bottom - f.top, "gap", "not all data arrived")
      if width > 50 then out[#out + 1] = svg.text(x + width / 2, f.top + 16, "faint", "middle", "no data") end
      first = nil
    end
  end
end

local function draw_marks(out, series, f)
  out[#out + 1] = svg.line(f.x, f.zero, f.x + f.width, f.zero, "zero")
  local free = 0
  for i, one in ipairs(series.steps) do
    local text, x = mark(series, one), f.x + (i - 1) * f.step
    if series.seconds >= 20 * 3600 then x = x + f.step / 2 end
    if text and x >= free then
      out[#out + 1] = svg.text(x, f.bottom + 16, "faint", "middle", text)
      free = x + 20
    end
  end
end

local function draw_legend(out, series, y, width)
  local x = LEFT
  for _, row in ipairs(series.rows) do
    local text = string.format("%s %s", row.name, kwh(row.total))
    if row.missing > 0 then text = string.format("%s (%d missing)", text, row.missing) end
    local wide = 38 + #text * 6.8
    if x + wide > width then x, y = LEFT, y + 22 end
    out[#out + 1] = svg.rect(x, y, 12, 12, classes[row.name])
    out[#out + 1] = svg.text(x + 17, y + 10, "ink", "start", text)
    x = x + wide
  end
end

--- Draws the same as SVG: sources above the line, uses below it, in kWh per step; grey where data is missing. options: width in pixels
--- (960), title. Returns the text, or nil, err, "invalid" when there is nothing to draw.
function M.svg(history, options)
  local series, problem = energy_series.read(history)
  if not series then return errors.failure("invalid", problem) end
  local width = options and options.width or 960
  if type(width) ~= "number" or not (width >= 480 and width <= 10000) then
    errors.usage("fleet.chart.svg: 'width' must be 480 to 10000 pixels")
  end
  local title = options and options.title or string.format("Energy %s, kWh per %s", title_of(series), span_text(series.seconds, ""))
  local f = frame(series, width)
  local out = { svg.rect(0, 0, width, HEIGHT, "page"), svg.text(LEFT, 28, "head", "start", title) }
  draw_scale(out, f)
  draw_gaps(out, series, f)
  for i = 1, #series.steps do draw_step(out, series, f, i) end
  draw_marks(out, series, f)
  draw_legend(out, series, HEIGHT - 52, width)
  return svg.document(width, HEIGHT, title, light, dark, out)
end

return M
