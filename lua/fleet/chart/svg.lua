-- The SVG elements of our pictures. Colours are classes, so that one style sheet serves light and dark pages.

local core = require "fleet.core"

local M = {}

local escapes = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }

--- Escapes text for XML; control characters, which XML forbids, become spaces.
function M.escape(text)
  return (string.gsub(string.gsub(tostring(text), "[%z\1-\31\127]", " "), "[&<>\"']", escapes))
end

local function number(value)
  return core.shortened(value, 2)
end

--- A rectangle; tip is shown when the pointer rests on it.
function M.rect(x, y, width, height, class, tip)
  local element = string.format('<rect class="%s" x="%s" y="%s" width="%s" height="%s"', class, number(x), number(y),
    number(width), number(height))
  if not tip then return element .. "/>" end
  return element .. "><title>" .. M.escape(tip) .. "</title></rect>"
end

--- Text; anchor is "start", "middle" or "end".
function M.text(x, y, class, anchor, text)
  return string.format('<text class="%s" x="%s" y="%s" text-anchor="%s">%s</text>', class, number(x), number(y), anchor,
    M.escape(text))
end

function M.line(x1, y1, x2, y2, class)
  return string.format('<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>', class, number(x1), number(y1), number(x2),
    number(y2))
end

--- The step of a scale from 0 to value: 1, 2 or 5 times a power of ten, which gives about four lines.
function M.scale_step(value)
  local rough = value / 4
  local power = 10 ^ math.floor(math.log(rough) / math.log(10))
  for _, times in ipairs { 1, 2, 5 } do
    if rough <= times * power then return times * power end
  end
  return 10 * power
end

--- The whole picture. light and dark are style rules; the dark ones apply when the reader prefers dark.
function M.document(width, height, title, light, dark, elements)
  return table.concat({
    string.format('<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %s %s" role="img">',
      number(width), number(height), number(width), number(height)),
    "<title>" .. M.escape(title) .. "</title>",
    "<style>", "text { font-family: system-ui, 'DejaVu Sans', sans-serif; font-size: 12px }", light,
    "@media (prefers-color-scheme: dark) {", dark, "}", "</style>",
    table.concat(elements, "\n"), "</svg>", "",
  }, "\n")
end

return M
