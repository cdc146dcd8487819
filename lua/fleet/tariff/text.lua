-- A tariff for the terminal: a row for days with the same prices, a column for each half hour, a legend of prices.

local panels = require "fleet.tariff.panels"

local M = {}

local MOST_LABELS = 12

-- Cheapest first. Each season has its own scale of glyphs, so that a few prices look different; colours compare seasons.
local unicode = { "·", "░", "▒", "▓", "█" }
local ascii = { ".", "-", "+", "*", "#" }
local colors = { 23, 30, 73, 179, 208, 202, 160 } -- of the terminal's 256 colours

local function paint(style, price, count)
  local glyphs = string.rep(style.glyphs[style.place(price)], count)
  if not style.color then return glyphs end
  return string.format("\27[38;5;%dm%s\27[0m", colors[style.shade(price)], glyphs)
end

-- The price of most of the minutes from..to.
local function price_in(spans, from, to)
  local best, most = nil, 0
  for _, s in ipairs(spans) do
    local minutes = math.min(s.to, to) - math.max(s.from, from)
    if minutes > most then best, most = s, minutes end
  end
  return best.price
end

local function row(run, style)
  local out, same, last = {}, 0, nil
  for cell = 0, 47 do
    local price = price_in(run.spans, cell * 30, cell * 30 + 30)
    if last and price ~= last then
      out[#out + 1] = paint(style, last, same)
      same = 0
    end
    last, same = price, same + 1
  end
  out[#out + 1] = paint(style, last, same)
  return string.format("  %-8s", panels.days(run.first, run.last)) .. table.concat(out)
end

local function legend(out, panel, style)
  for _, line in ipairs(panels.legend(panel.labels, MOST_LABELS, style.place)) do
    local demand = line.demand ~= 0 and string.format("  (demand %s per kW)", panels.price(line.demand)) or ""
    out[#out + 1] = string.format("  %s %9s  %s%s", paint(style, line.price, 2), panels.price(line.price), line.text, demand)
  end
end

-- Numbers are above the cell that begins at their hour.
local function hours()
  local out = {}
  for hour = 0, 21, 3 do out[#out + 1] = string.format("%-6s", string.format("%02d", hour)) end
  return "          " .. table.concat(out) .. "24"
end

function M.draw(t, plan, options)
  local list, shade = panels.of(plan)
  local style = { color = options.color, glyphs = options.ascii and ascii or unicode, shade = shade }
  local out = { panels.title(t) }
  if options.ascii then out[1] = string.gsub(out[1], " · ", ", ") end
  for _, panel in ipairs(list) do
    out[#out + 1] = ""
    out[#out + 1] = string.format("%s, %s, %s", panel.name, panel.dates, panel.side)
    out[#out + 1] = hours()
    style.place = panels.scale({ panel }, #style.glyphs)
    for _, run in ipairs(panel.runs) do out[#out + 1] = row(run, style) end
    legend(out, panel, style)
  end
  return table.concat(out, "\n") .. "\n"
end

return M
