-- Data of both pictures of a tariff: a panel per season and side, and one scale of shades for all of them.

local core = require "fleet.core"

local M = {}

M.SHADES = 7

local months = { "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" }
local day_names = { "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun" }

--- "Mon-Fri", or one day's name; days from 0.
function M.days(first, last)
  if first == last then return day_names[first + 1] end
  return day_names[first + 1] .. "-" .. day_names[last + 1]
end

--- A price for people: at most five decimals, and at least two.
function M.price(value)
  local text = core.shortened(value, 5)
  local decimals = string.match(text, "%.(%d+)$")
  return decimals and #decimals >= 2 and text or core.fixed(value, 2)
end

--- Minutes of a day as "16:30"; the end of a day is "24:00".
function M.clock(minute)
  return string.format("%02d:%02d", math.floor(minute / 60), minute % 60)
end

local function dates(week)
  if week.fromMonth == 1 and week.fromDay == 1 and week.toMonth == 12 and week.toDay == 31 then return "all year" end
  return string.format("%d %s to %d %s", week.fromDay, months[week.fromMonth], week.toDay, months[week.toMonth])
end

-- Labels of a week, dearest first: { { label =, price =, demand = }, … }
local function labels_of(week)
  local seen, out = {}, {}
  for _, s in ipairs(week) do
    if not seen[s.label] then out[#out + 1] = { label = s.label, price = s.price, demand = s.demand } end
    seen[s.label] = true
  end
  table.sort(out, function(a, b)
    if a.price ~= b.price then return a.price > b.price end
    return a.label < b.label
  end)
  return out
end

local function panel(week, side)
  return {
    name = week.name, dates = dates(week), side = side == "buy" and "buying" or "selling",
    labels = labels_of(week), runs = week.runs,
  }
end

--- place(price) -> 1 (cheapest) to steps. A few prices are spaced by rank, many by their value.
function M.scale(panels, steps)
  local seen, prices = {}, {}
  for _, p in ipairs(panels) do
    for _, label in ipairs(p.labels) do
      if not seen[label.price] then prices[#prices + 1] = label.price end
      seen[label.price] = true
    end
  end
  table.sort(prices)
  local low, high = prices[1], prices[#prices]
  local rank = {}
  for i, price in ipairs(prices) do rank[price] = (i - 1) / math.max(#prices - 1, 1) end
  return function(price)
    local place = #prices <= steps and rank[price] or (price - low) / (high - low)
    return math.floor(place * (steps - 1) + 0.5) + 1
  end
end

--- The lines of a legend: one per label, or one per step of the scale when there are more labels than `most`. { { price = the highest, text
--- =, demand = }, … }, dearest first.
function M.legend(labels, most, place)
  local out, last = {}, nil
  if #labels <= most then
    for i, label in ipairs(labels) do out[i] = { price = label.price, text = label.label, demand = label.demand } end
    return out
  end
  for _, label in ipairs(labels) do
    local level = place(label.price)
    if not last or last.level ~= level then
      last = { level = level, price = label.price, count = 0, demand = 0 }
      out[#out + 1] = last
    end
    last.count = last.count + 1
    last.text = string.format("to %s, %d labels", M.price(label.price), last.count)
    if last.count == 1 then last.text = label.label end
  end
  return out
end

--- All panels, buying before selling, each side by first day; shade(price) -> 1 (cheapest) to SHADES.
function M.of(plan)
  local out = {}
  for _, side in ipairs { "buy", "sell" } do
    for _, week in ipairs(plan:weeks(side)) do out[#out + 1] = panel(week, side) end
  end
  return out, M.scale(out, M.SHADES)
end

--- The line above the panels.
function M.title(t)
  local parts = {}
  for _, text in ipairs { t.name, t.utility, t.currency .. " per kWh" } do
    if text ~= "" then parts[#parts + 1] = text end
  end
  return table.concat(parts, " · ")
end

return M
