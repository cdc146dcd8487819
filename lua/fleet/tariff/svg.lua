-- A tariff as a picture: the week of every season as a heat map with its prices.

local errors = require "fleet.util.errors"
local panels = require "fleet.tariff.panels"
local svg = require "fleet.chart.svg"

local M = {}

local ROW, LEFT, LEGEND, TOP, BETWEEN, MARGIN = 22, 62, 240, 50, 40, 18
local MOST_LINES = 7 -- fit beside a panel

-- Lightness falls with the price on a light page and rises on a dark one, so the scale survives without colour too.
-- Each shade has the colour of the text on it.
local light = {
  { "#e3f1f1", "#1b2a2e" }, { "#b8dcdc", "#1b2a2e" }, { "#f6e3a1", "#1b2a2e" }, { "#f3bd63", "#1b2a2e" },
  { "#e58a3c", "#1b2a2e" }, { "#c4502b", "#ffffff" }, { "#8a1f2d", "#ffffff" },
}
local dark = {
  { "#15363c", "#dfe8ea" }, { "#1f565c", "#dfe8ea" }, { "#5c5a2b", "#ffffff" }, { "#8a6a24", "#ffffff" },
  { "#c4842f", "#12181b" }, { "#eda852", "#12181b" }, { "#ffdc9a", "#12181b" },
}

local function style(shades, page, ink, faint)
  local out = {
    ".page { fill: " .. page .. " }", ".ink { fill: " .. ink .. " }",
    ".head { fill: " .. ink .. "; font-size: 15px; font-weight: 600 }",
    ".name { fill: " .. ink .. "; font-weight: 600 }", ".faint { fill: " .. faint .. "; font-size: 11px }",
    ".grid { stroke: " .. faint .. "; stroke-width: 1 }", ".cell { stroke: " .. page .. "; stroke-width: 1 }",
  }
  for i, shade in ipairs(shades) do
    out[#out + 1] = string.format(".s%d { fill: %s } .t%d { fill: %s; font-size: 11px }", i, shade[1], i, shade[2])
  end
  return table.concat(out, "\n")
end

local function tip(run, s)
  return string.format("%s %s to %s: %s, %s", panels.days(run.first, run.last), panels.clock(s.from), panels.clock(s.to),
    panels.price(s.price), s.label)
end

local function draw_run(out, run, shade, top, width)
  local y, height = top + run.first * ROW, (run.last - run.first + 1) * ROW
  for _, s in ipairs(run.spans) do
    local x, wide, level = LEFT + s.from / 1440 * width, (s.to - s.from) / 1440 * width, shade(s.price)
    local text = panels.price(s.price)
    out[#out + 1] = svg.rect(x, y, wide, height, "cell s" .. level, tip(run, s))
    if wide > #text * 6.5 + 4 then out[#out + 1] = svg.text(x + wide / 2, y + height / 2 + 4, "t" .. level, "middle", text) end
  end
end

local function draw_axes(out, top, width)
  for day = 0, 6 do out[#out + 1] = svg.text(LEFT - 8, top + day * ROW + 15, "faint", "end", panels.days(day, day)) end
  for hour = 0, 24, 3 do
    local x = LEFT + hour / 24 * width
    out[#out + 1] = svg.line(x, top + 7 * ROW, x, top + 7 * ROW + 4, "grid")
    out[#out + 1] = svg.text(x, top + 7 * ROW + 16, "faint", "middle", string.format("%02d", hour))
  end
end

-- Long names are cut at a whole UTF-8 character so that they stay inside the picture.
local function short(text)
  if #text <= 24 then return text end
  return string.gsub(string.sub(text, 1, 22), "[\192-\255][\128-\191]*$", "") .. "…"
end

-- A demand price takes a line of its own.
local function most_labels(labels)
  for _, label in ipairs(labels) do
    if label.demand ~= 0 then return math.floor(MOST_LINES / 1.7) end
  end
  return MOST_LINES
end

local function draw_legend(out, panel, shade, x, y)
  for _, line in ipairs(panels.legend(panel.labels, most_labels(panel.labels), shade)) do
    out[#out + 1] = svg.rect(x, y + 4, 14, 14, "s" .. shade(line.price))
    out[#out + 1] = svg.text(x + 72, y + 15, "ink", "end", panels.price(line.price))
    out[#out + 1] = svg.text(x + 82, y + 15, "ink", "start", short(line.text))
    y = y + ROW
    if line.demand ~= 0 then
      out[#out + 1] = svg.text(x + 82, y + 8, "faint", "start", string.format("demand %s per kW", panels.price(line.demand)))
      y = y + 14
    end
  end
end

local function draw_panel(out, panel, shade, top, width)
  out[#out + 1] = svg.text(LEFT, top - 10, "name", "start", string.format("%s, %s, %s", panel.name, panel.dates, panel.side))
  for _, run in ipairs(panel.runs) do draw_run(out, run, shade, top, width) end
  draw_axes(out, top, width)
  draw_legend(out, panel, shade, LEFT + width + 24, top)
end

function M.draw(t, plan, options)
  local list, shade = panels.of(plan)
  local width = options.width or 960
  if type(width) ~= "number" or not (width >= 480 and width <= 10000) then
    errors.usage("fleet.tariff.svg: 'width' must be 480 to 10000 pixels")
  end
  local step = 7 * ROW + BETWEEN + 24
  local height = TOP + #list * step
  local title = options.title or panels.title(t)
  local out = { svg.rect(0, 0, width, height, "page"), svg.text(MARGIN, 28, "head", "start", title) }
  for i, panel in ipairs(list) do draw_panel(out, panel, shade, TOP + 26 + (i - 1) * step, width - LEFT - LEGEND - MARGIN) end
  return svg.document(width, height, title, style(light, "#ffffff", "#1b2a2e", "#5f6f75"),
    style(dark, "#11181b", "#e8eef0", "#93a3a9"), out)
end

return M
