-- Draws the cost of a month: a bar for each day with the price classes stacked, and how much of the monthly budget is used.

local core = require "fleet.core"
local prices = require "fleet.budget.prices"
local svg = require "fleet.chart.svg"

local M = {}

local WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT = 760, 360, 62, 62, 52, 18
local order = { "data", "command", "wake", "specs", "signal" }

local function style(page, ink, faint, colors)
  local out = { ".page { fill: " .. page .. " }", ".ink { fill: " .. ink .. " }",
    ".head { fill: " .. ink .. "; font-size: 15px; font-weight: 600 }", ".faint { fill: " .. faint .. "; font-size: 11px }",
    ".grid-line { stroke: " .. faint .. "; stroke-width: 1; stroke-opacity: 0.35 }", ".zero { stroke: " .. ink .. "; stroke-width: 1 }",
    ".limit { stroke: " .. colors.limit .. "; stroke-width: 1.5; stroke-dasharray: 5 4 }" }
  for _, name in ipairs(order) do out[#out + 1] = string.format(".%s { fill: %s }", name, colors[name]) end
  return table.concat(out, "\n")
end

local light = style("#ffffff", "#1b2a2e", "#5f6f75",
  { data = "#2f6db3", command = "#2f8f5b", wake = "#e0a100", specs = "#a05a2c", signal = "#7a5aa8", limit = "#b3362f" })
local dark = style("#11181b", "#e8eef0", "#93a3a9",
  { data = "#5c9be0", command = "#49b97c", wake = "#ffc83d", specs = "#d08a55", signal = "#ab8be0", limit = "#f07f78" })

-- ---- numbers ----

local function usd(value)
  return core.fixed(value, value < 1 and 3 or 2) .. " USD"
end

local function limit_named(report, name)
  for _, limit in ipairs(report.budgets) do
    if limit.name == name then return limit end
  end
end

-- The daily limit is drawn only when it is close to the highest bar; further away it would flatten the bars.
local function scale_of(report)
  local most = 0
  for _, day in ipairs(report.days) do most = math.max(most, day.usd) end
  local limit = limit_named(report, "usd_per_day")
  if limit and limit.most <= 4 * most then most = math.max(most, limit.most) else limit = nil end
  if most == 0 then most = 0.01 end
  return most * 1.05, limit
end

-- ---- parts ----

local function add_grid(out, most, y_of)
  local step = svg.scale_step(most)
  local value = 0
  while value <= most do
    out[#out + 1] = svg.line(LEFT, y_of(value), WIDTH - RIGHT, y_of(value), value == 0 and "zero" or "grid-line")
    out[#out + 1] = svg.text(LEFT - 8, y_of(value) + 4, "faint", "end", core.shortened(value, 4))
    value = value + step
  end
end

local function add_day(out, report, day, x, width, y_of)
  local sum = 0
  for _, class in ipairs(order) do
    local count = day.calls[class] or 0
    local cost = count * report.prices.usd[class]
    if cost > 0 then
      local tip = string.format("%s: %s, %s", day.date, prices.count_text(class, count), usd(cost))
      out[#out + 1] = svg.rect(x, y_of(sum + cost), width, y_of(sum) - y_of(sum + cost), class, tip)
      sum = sum + cost
    end
  end
end

local function add_days(out, report, y_of)
  local slot = (WIDTH - LEFT - RIGHT) / 31
  for number = 1, 31, 5 do
    out[#out + 1] = svg.text(LEFT + (number - 0.5) * slot, HEIGHT - BOTTOM + 16, "faint", "middle", tostring(number))
  end
  for _, day in ipairs(report.days) do
    local number = tonumber(string.sub(day.date, 9, 10))
    add_day(out, report, day, LEFT + (number - 1) * slot + 2, slot - 4, y_of)
  end
end

local function add_legend(out, report)
  local x = LEFT
  for _, class in ipairs(order) do
    if (report.calls[class] or 0) > 0 then
      local text = prices.count_text(class, report.calls[class])
      out[#out + 1] = svg.rect(x, HEIGHT - 22, 10, 10, class)
      out[#out + 1] = svg.text(x + 15, HEIGHT - 13, "ink", "start", text)
      x = x + 40 + 7 * #text
    end
  end
end

local function head_of(report)
  local whose = report.vin and "vehicle …" .. string.sub(report.vin, -6) or "account " .. report.account
  local limit = limit_named(report, report.vin and "usd_per_vehicle_month" or "usd_per_month")
  local sum = usd(report.usd) .. (limit and " of " .. usd(limit.most) or "")
  return string.format("%s, %s: %s", report.month, whose, sum)
end

local function prices_of(report)
  return report.prices.own and "your own prices" or "the published prices"
end

--- Draws the result of client:cost{} as SVG.
function M.svg(report)
  local most, limit = scale_of(report)
  local function y_of(value)
    return HEIGHT - BOTTOM - value / most * (HEIGHT - TOP - BOTTOM)
  end
  local out = { svg.rect(0, 0, WIDTH, HEIGHT, "page"), svg.text(LEFT, 26, "head", "start", head_of(report)) }
  out[#out + 1] = svg.text(LEFT, 44, "faint", "start", "dollars a day of UTC, at " .. prices_of(report))
  add_grid(out, most, y_of)
  add_days(out, report, y_of)
  if limit then out[#out + 1] = svg.line(LEFT, y_of(limit.most), WIDTH - RIGHT, y_of(limit.most), "limit") end
  add_legend(out, report)
  return svg.document(WIDTH, HEIGHT, head_of(report), light, dark, out)
end

return M
