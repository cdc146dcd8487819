-- The plan of a night as a picture: hours from left to right, a column as high as the price, charging where it is planned.

local number_format = require "fleet.util.number_format"
local svg = require "fleet.chart.svg"

local M = {}

local WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 190, 52, 18, 44, 46
local BAND = 10 -- the height of the stretches below the prices

local function style(page, ink, faint, colors)
  return table.concat({
    ".page { fill: " .. page .. " }", ".ink { fill: " .. ink .. " }", ".head { fill: " .. ink .. "; font-size: 15px; font-weight: 600 }",
    ".faint { fill: " .. faint .. "; font-size: 11px }", ".zero { stroke: " .. ink .. "; stroke-width: 1 }",
    ".grid-line { stroke: " .. faint .. "; stroke-width: 1; stroke-opacity: 0.35 }", ".price { fill: " .. colors.price .. " }",
    ".chosen { fill: " .. colors.charge .. " }", ".charge { fill: " .. colors.charge .. " }",
    ".ready { stroke: " .. colors.ready .. "; stroke-width: 2 }",
  }, "\n")
end

local light = style("#ffffff", "#1b2a2e", "#5f6f75", { price = "#c3ced4", charge = "#2f8f5b", ready = "#b3362f" })
local dark = style("#11181b", "#e8eef0", "#93a3a9", { price = "#3d4c53", charge = "#49b97c", ready = "#f07f78" })

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

-- A piece of a price is cut where a stretch begins or ends, so that it shows what is bought.
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
      local height = math.max(one.price, 0) / f.most * (f.base - TOP)
      local tip = string.format("%s to %s: %s", clock(zone, cuts[i]), clock(zone, cuts[i + 1]), number_format.short(one.price, 4))
      out[#out + 1] = svg.rect(f.x(cuts[i]), f.base - height, f.x(cuts[i + 1]) - f.x(cuts[i]), height,
        is_chosen(plan, cuts[i]) and "chosen" or "price", tip)
    end
  end
end

local function draw_scale(out, plan, f)
  if #plan.prices == 0 then return end
  local step = svg.scale_step(f.most)
  for value = 0, f.most, step do
    local y = f.base - value / f.most * (f.base - TOP)
    out[#out + 1] = svg.line(LEFT, y, WIDTH - RIGHT, y, value == 0 and "zero" or "grid-line")
    out[#out + 1] = svg.text(LEFT - 8, y + 4, "faint", "end", number_format.short(value, 4))
  end
end

local function draw_slots(out, plan, zone, f)
  for _, slot in ipairs(plan.slots) do
    local tip = string.format("charges %s to %s", clock(zone, slot.from), clock(zone, slot.to))
    out[#out + 1] = svg.rect(f.x(slot.from), f.base + 3, f.x(slot.to) - f.x(slot.from), BAND, "charge", tip)
  end
end

-- Whole hours of the clock on the wall, as many as there is room for.
local function draw_hours(out, plan, zone, f)
  local every = (plan.to - plan.from) / 3600 > 13 and 3 or (plan.to - plan.from) / 3600 > 6 and 2 or 1
  for at = math.ceil(plan.from / 900) * 900, plan.to, 900 do
    local t = zone:localtime(math.floor(at))
    local marked = t.min == 0 and t.hour % every == 0
    if marked then out[#out + 1] = svg.text(f.x(at), f.base + BAND + 18, "faint", "middle", string.format("%02d:00", t.hour)) end
  end
  out[#out + 1] = svg.line(f.x(plan.to), TOP - 8, f.x(plan.to), f.base + BAND + 3, "ready")
end

local function title_of(plan, zone)
  local wanted = string.format("%d %% now, %d %% by %s", math.floor(plan.level), plan.wanted, clock(zone, plan.to))
  local list = {}
  for _, slot in ipairs(plan.slots) do list[#list + 1] = clock(zone, slot.from) .. " to " .. clock(zone, slot.to) end
  if #list == 0 then return wanted .. ": no charging is planned" end
  return wanted .. ": charges " .. table.concat(list, ", ") .. (plan.in_car and ", kept in the car" or "")
end

--- plan: see lua/fleet/automation/charging/night.lua. zone: of the clock on the wall. Returns SVG.
function M.svg(plan, zone)
  local f = { base = HEIGHT - BOTTOM, most = math.max(highest(plan), 1e-6) }
  function f.x(at) return LEFT + (at - plan.from) / math.max(plan.to - plan.from, 1) * (WIDTH - LEFT - RIGHT) end
  local title = title_of(plan, zone)
  local out = { svg.rect(0, 0, WIDTH, HEIGHT, "page"), svg.text(LEFT, 24, "head", "start", title) }
  draw_scale(out, plan, f)
  draw_prices(out, plan, zone, f)
  draw_slots(out, plan, zone, f)
  draw_hours(out, plan, zone, f)
  return svg.document(WIDTH, HEIGHT, title, light, dark, out)
end

return M
