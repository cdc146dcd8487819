-- What one call costs beside many, as a picture: over 100 of each, on a logarithmic scale of how many, with what n log n grants.

local svg = require "fleet.chart.svg"

local M = {}

local width, height = 640, 420
local left, right, top, bottom = 50, 150, 62, 58
local title = "How the cost of one call grows with how many there are"
local largest, ceiling = 5, 3 -- powers of ten across, times the cost at 100 upwards

local function x_of(count)
  return left + (width - left - right) * math.log(count) / (largest * math.log(10))
end

local function y_of(times)
  return height - bottom - (height - top - bottom) * math.min(times, ceiling) / ceiling
end

local function axes(out)
  out[#out + 1] = svg.text(left, 24, "title", "start", title)
  out[#out + 1] = svg.text(left - 40, 46, "text", "start", "Cost of one, as a multiple of its cost at 100")
  out[#out + 1] = svg.text((left + width - right) / 2, height - 14, "text", "middle",
    "How many there are: vehicles, requests, periods of a tariff (logarithmic)")
  for power = 0, largest do
    local x = x_of(10 ^ power)
    out[#out + 1] = svg.line(x, top, x, height - bottom, "grid")
    out[#out + 1] = svg.text(x, height - bottom + 18, "text", "middle", string.format("%.0f", 10 ^ power))
  end
  for times = 0, ceiling do
    out[#out + 1] = svg.line(left, y_of(times), width - right, y_of(times), "grid")
    out[#out + 1] = svg.text(left - 8, y_of(times) + 4, "text", "end", string.format("%d ×", times))
  end
end

-- Names that would stand on each other move apart.
local function place(labels)
  table.sort(labels, function(a, b) return a.y < b.y end)
  for i = 2, #labels do labels[i].y = math.max(labels[i].y, labels[i - 1].y + 15) end
end

local function curve(out, labels, one, class)
  local first = one.costs[2]
  for i = 2, #one.counts do
    out[#out + 1] = svg.line(x_of(one.counts[i - 1]), y_of(one.costs[i - 1] / first), x_of(one.counts[i]),
      y_of(one.costs[i] / first), class)
  end
  labels[#labels + 1] = { y = y_of(one.costs[#one.costs] / first), name = one.name, class = class .. "-text" }
end

local colours = { "#0b62a4", "#b35900", "#2e7d32", "#8e24aa", "#c62828", "#00838f", "#6d4c41" }
local dark_colours = { "#6cb6f0", "#ffb066", "#81c784", "#ce93d8", "#ef9a9a", "#4dd0e1", "#bcaaa4" }

local function styles(list, ground, ink, faint)
  local out = { string.format(".ground { fill: %s } .text { fill: %s } .grid { stroke: %s }", ground, ink, faint),
    string.format(".title { fill: %s; font-size: 15px; font-weight: 600 }", ink),
    string.format(".limit { stroke: %s; stroke-dasharray: 6 4; stroke-width: 2 } .limit-text { fill: %s }", ink, ink) }
  for i, colour in ipairs(list) do
    out[#out + 1] = string.format(".c%d { stroke: %s; stroke-width: 2 } .c%d-text { fill: %s }", i, colour, i, colour)
  end
  return table.concat(out, "\n")
end

--- rows: { name, counts, costs }, three counts or more, the second 100. Returns the picture.
function M.draw(rows)
  local out, labels = { svg.rect(0, 0, width, height, "ground") }, {}
  axes(out)
  curve(out, labels, { name = "n log n", counts = { 10, 100, 1000, 10000, 100000 }, costs = { 1, 2, 3, 4, 5 } }, "limit")
  for i, one in ipairs(rows) do curve(out, labels, one, "c" .. i) end
  place(labels)
  for _, label in ipairs(labels) do
    out[#out + 1] = svg.text(width - right + 8, label.y + 4, label.class, "start", label.name)
  end
  return svg.document(width, height, title,
    styles(colours, "#ffffff", "#222222", "#dddddd"), styles(dark_colours, "#16181c", "#e6e6e6", "#3a3d42"), out)
end

return M
