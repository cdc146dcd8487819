-- Draws the charging plan of a night: hours from left to right, a column per price, and the planned charging.

local core = require "fleet.core"
local svg = require "fleet.chart.svg"

local M = {}

local WIDTH, LEFT, RIGHT, COLUMNS = 760, 52, 18, 100 -- COLUMNS: the height of the highest column
local BAND = 10 -- the height of the bands below the prices
local LINE, LETTER, HOUR = 19, 9.3, 46 -- LINE: height of a line of the title, LETTER: width of a letter, HOUR: width of an hour's label

local function style(page, ink, faint, colors)
  return table.concat({
    ".page { fill: " .. page .. " }", ".ink { fill: " .. ink .. " }", ".head { fill: " .. ink .. "; font-size: 15px; font-weight: 600 }",
    ".faint { fill: " .. faint .. "; font-size: 12px }", ".zero { stroke: " .. ink .. "; stroke-width: 1 }",
    ".grid-line { stroke: " .. faint .. "; stroke-width: 1; stroke-opacity: 0.35 }", ".price { fill: " .. colors.price .. " }",
    ".chosen { fill: " .. colors.charge .. " }", ".charge { fill: " .. colors.charge .. " }",
    ".ready { stroke: " .. colors.ready .. "; stroke-width: 2 }", ".due { fill: " .. colors.ready .. "; font-size: 12px }",
  }, "\n")
end

local of_light = { price = "#c3ced4", charge = "#2f8f5b", ready = "#b3362f" }
local of_dark = { price = "#4a5a62", charge = "#49b97c", ready = "#f07f78" }

-- A picture on its own sets its background; a picture inside one of our pages uses the page's.
local alone = { light = style("#ffffff", "#1b2a2e", "#5f6f75", of_light), dark = style("#11181b", "#e8eef0", "#93a3a9", of_dark) }
local within = { light = style("none", "CanvasText", "var(--note)", of_light), dark = style("none", "CanvasText", "var(--note)", of_dark) }

local function clock(zone, at)
  local t = zone:localtime(math.floor(at))
  return string.format("%02d:%02d", t.hour, t.min)
end

local function is_chosen(plan, from)
  for _, slot in ipairs(plan.slots) do
    if slot.from <= from and from < slot.to then return true end
  end
  return false
end

local function highest(plan)
  local most = 0
  for _, one in ipairs(plan.prices) do most = math.max(most, one.price) end
  return most
end

-- ---- parts ----

-- Splits a price at the start and end of each planned stretch, so that each piece is bought as a whole or not at all.
local function pieces(plan, one)
  local cuts = { one.from, one.to }
  for _, slot in ipairs(plan.slots) do
    for _, at in ipairs { slot.from, slot.to } do
      if at > one.from and at < one.to then cuts[#cuts + 1] = at end
    end
  end
  table.sort(cuts)
  return cuts
end

local function draw_prices(out, plan, zone, f)
  for _, one in ipairs(plan.prices) do
    local cuts = pieces(plan, one)
    for i = 1, #cuts - 1 do
      local height = math.max(one.price, 0) / f.most * (f.base - f.top)
      local tip = string.format("%s to %s: %s", clock(zone, cuts[i]), clock(zone, cuts[i + 1]), core.shortened(one.price, 4))
      out[#out + 1] = svg.rect(f.x(cuts[i]), f.base - height, f.x(cuts[i + 1]) - f.x(cuts[i]), height,
        is_chosen(plan, cuts[i]) and "chosen" or "price", tip)
    end
  end
end

local function draw_scale(out, plan, f)
  if #plan.prices == 0 then return end
  local step = svg.scale_step(f.most)
  for value = 0, f.most, step do
    local y = f.base - value / f.most * (f.base - f.top)
    out[#out + 1] = svg.line(LEFT, y, f.width - RIGHT, y, value == 0 and "zero" or "grid-line")
    out[#out + 1] = svg.text(LEFT - 8, y + 4, "faint", "end", core.shortened(value, 4))
  end
  out[#out + 1] = svg.text(8, f.top - 14, "faint", "start", (plan.currency or "price") .. " per kWh")
end

local function draw_slots(out, plan, zone, f)
  for _, slot in ipairs(plan.slots) do
    local tip = string.format("charges %s to %s", clock(zone, slot.from), clock(zone, slot.to))
    out[#out + 1] = svg.rect(f.x(slot.from), f.base + 3, f.x(slot.to) - f.x(slot.from), BAND, "charge", tip)
  end
end

local function hours_between(span, width)
  for _, every in ipairs { 1, 2, 3, 6 } do
    if span / 3600 / every * HOUR <= width then return every end
  end
  return 12
end

-- Labels the whole hours of local time, as many as there is room for.
local function draw_hours(out, plan, zone, f)
  local every = hours_between(plan.to - plan.from, f.width - LEFT - RIGHT)
  for at = math.ceil(plan.from / 900) * 900, plan.to, 900 do
    local t = zone:localtime(math.floor(at))
    local marked = t.min == 0 and t.hour % every == 0
    if marked then out[#out + 1] = svg.text(f.x(at), f.base + BAND + 18, "faint", "middle", string.format("%02d:00", t.hour)) end
  end
end

local function draw_ready(out, plan, zone, f)
  out[#out + 1] = svg.line(f.x(plan.to), f.top - 8, f.x(plan.to), f.base + BAND + 3, "ready")
  out[#out + 1] = svg.text(f.x(plan.to) + 2, f.top - 14, "due", "end", "ready by " .. clock(zone, plan.to))
end

local function draw_legend(out, plan, f)
  if #plan.prices == 0 then return end
  local x, y = LEFT, f.base + BAND + 30
  for _, entry in ipairs { { "chosen", "charges" }, { "price", "does not charge" } } do
    out[#out + 1] = svg.rect(x, y, 12, 12, entry[1])
    out[#out + 1] = svg.text(x + 18, y + 10, "faint", "start", entry[2])
    x = x + 44 + #entry[2] * 6.5
  end
end

local function title_of(plan, zone)
  local wanted = string.format("%d %% now, %d %% by %s", math.floor(plan.level), plan.wanted, clock(zone, plan.to))
  local list = {}
  for _, slot in ipairs(plan.slots) do list[#list + 1] = clock(zone, slot.from) .. " to " .. clock(zone, slot.to) end
  if #list == 0 then return wanted .. ": no charging is planned" end
  return wanted .. ": charges " .. table.concat(list, ", ") .. (plan.in_car and ", kept in the car" or "")
end

-- Breaks a text at spaces into lines of at most so many letters.
local function lines_of(text, most)
  local lines = {}
  for word in string.gmatch(text, "%S+") do
    local last = lines[#lines]
    if last and #last + 1 + #word <= most then lines[#lines] = last .. " " .. word else lines[#lines + 1] = word end
  end
  return lines
end

local function frame(plan, width, lines)
  local f = { width = width, top = 42 + LINE * lines, most = math.max(highest(plan), 1e-6) }
  f.base = f.top + COLUMNS
  f.height = f.base + (#plan.prices > 0 and 62 or 40)
  function f.x(at) return LEFT + (at - plan.from) / math.max(plan.to - plan.from, 1) * (width - LEFT - RIGHT) end
  return f
end

--- Draws a plan as SVG. plan: see lua/fleet/automation/charging/night.lua. zone: the time zone of the hours. options: width in pixels
--- (760); within = true: the picture is part of one of our pages and uses its background and text colours.
function M.svg(plan, zone, options)
  local width = options and options.width or WIDTH
  local title = title_of(plan, zone)
  local lines = lines_of(title, math.floor((width - 16) / LETTER))
  local f, styles = frame(plan, width, #lines), options and options.within and within or alone
  local out = { styles == alone and svg.rect(0, 0, width, f.height, "page") or nil }
  for i, line in ipairs(lines) do out[#out + 1] = svg.text(8, 5 + LINE * i, "head", "start", line) end
  draw_scale(out, plan, f)
  draw_prices(out, plan, zone, f)
  draw_slots(out, plan, zone, f)
  draw_hours(out, plan, zone, f)
  draw_ready(out, plan, zone, f)
  draw_legend(out, plan, f)
  return svg.document(width, f.height, title, styles.light, styles.dark, out)
end

return M
