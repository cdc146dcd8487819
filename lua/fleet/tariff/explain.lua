-- The findings of a tariff check as sentences: of one entry, and of a report, in which entries that differ only in the weekday are one
-- line. The sentences are rows of the core (src/tariff/kinds.c); the caller may make or change entries.

local core = require "fleet.core"
local errors = require "fleet.util.errors"

local M = {}

local sentences = {}
for _, kind in ipairs(core.tariff_kinds()) do sentences[kind.name] = kind.sentence end

-- ---- words ----

-- "a, b and c"
local function list(texts)
  local count = #texts
  if count < 2 then return texts[1] or "" end
  return table.concat(texts, ", ", 1, count - 1) .. " and " .. texts[count]
end

local function text_of(value)
  if type(value) == "number" then return core.shortened(value, 8) end
  if type(value) ~= "table" then return tostring(value) end
  local texts = {}
  for i, item in ipairs(value) do texts[i] = tostring(item) end
  return list(texts)
end

local day_names = { "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun" }
local day_order = {}
for i, name in ipairs(day_names) do day_order[name] = i end

-- "Mon 14:00-15:00" -> 1, "14:00-15:00"; nil and the whole text when it does not begin with a day.
local function split_span(span)
  local day, hours = string.match(span, "^(%a%a%a) (.+)$")
  if day_order[day] then return day_order[day], hours end
  return nil, span
end

-- "Mon-Wed, Fri " of a set of days.
local function day_ranges(days)
  local parts, first = {}, nil
  for day = 1, 7 do
    if days[day] then
      first = first or day
      if not days[day + 1] then
        parts[#parts + 1] = first == day and day_names[day] or day_names[first] .. "-" .. day_names[day]
        first = nil
      end
    end
  end
  return parts[1] and table.concat(parts, ", ") .. " " or ""
end

-- { "Mon 14:00-15:00", "Tue 14:00-15:00" } -> "Mon-Tue 14:00-15:00"
local function spans_text(spans)
  local order, days_of = {}, {}
  for _, span in ipairs(type(spans) == "table" and spans or {}) do
    local day, hours = split_span(type(span) == "string" and span or "")
    if not days_of[hours] then
      days_of[hours] = {}
      order[#order + 1] = hours
    end
    if day then days_of[hours][day] = true end
  end
  for i, hours in ipairs(order) do order[i] = day_ranges(days_of[hours]) .. hours end
  return list(order)
end

-- Texts of $name in a sentence when they are not the member of that name: function(entry) -> text.
local words = {
  side = function(entry) return entry.side == "buy" and "buying" or "selling" end,
  charged = function(entry) return entry.charges == "energy_charges" and "energy price" or "demand price" end,
  path = function(entry) return entry.path == "" and "the tariff" or tostring(entry.path) end,
  value = function(entry) return tostring(entry.value) end,
  currency = function(entry)
    if entry.value == "" then return "the currency is missing" end
    return "currency '" .. tostring(entry.value) .. "' is not taken"
  end,
  nearest = function(entry) return entry.nearest and "; did you mean '" .. tostring(entry.nearest) .. "'?" or "" end,
  spans = function(entry) return spans_text(entry.spans) end,
  span = function(entry) return tostring(entry.span) end,
}

-- ---- one sentence ----

local metatable = { __name = "fleet.tariff_fault" }

-- span: of all entries of the line, or nil.
local function sentence(entry, span)
  local template = sentences[entry.kind]
  if not template then return tostring(entry.kind) end
  return (string.gsub(template, "%$([a-z_]+)", function(name)
    if name == "span" and span then return span end
    return words[name] and words[name](entry) or text_of(entry[name])
  end))
end

function metatable.__tostring(entry)
  return sentence(entry)
end

local lists = { "problems", "normalisations", "warnings" }

--- Gives every entry of a report its sentence.
function M.annotate(report)
  for _, name in ipairs(lists) do
    for _, entry in ipairs(report[name]) do setmetatable(entry, metatable) end
  end
  return report
end

-- ---- lines ----

-- All of an entry except the day; nil for one without hours.
local function key_of(entry)
  if not entry.span then return nil end
  local parts = { tostring(entry.kind), tostring(entry.side), tostring(entry.season) }
  for _, label in ipairs(type(entry.labels) == "table" and entry.labels or {}) do parts[#parts + 1] = tostring(label) end
  parts[#parts + 1] = select(2, split_span(tostring(entry.span)))
  return table.concat(parts, "\0")
end

-- A line per entry; entries that differ only in the weekday become one, at the place of the first.
local function lines_of(entries)
  local lines, by_key = {}, {}
  for _, entry in ipairs(type(entries) == "table" and entries or {}) do
    local key = key_of(entry)
    local line = key and by_key[key]
    if not line then
      line = { entry = entry, spans = {} }
      lines[#lines + 1] = line
      if key then by_key[key] = line end
    end
    line.spans[#line.spans + 1] = entry.span
  end
  for i, line in ipairs(lines) do lines[i] = sentence(line.entry, line.spans[2] and spans_text(line.spans)) end
  return lines
end

local function check(report)
  if type(report) ~= "table" then errors.usage("fleet.tariff.explain: the report must be a table, got a %s", type(report)) end
end

local beginnings = { problems = "problem: ", normalisations = "the service will change: ", warnings = "warning: " }

--- A report as lines: "problem: …", "the service will change: …", "warning: …", after a line that says all is well if it is.
function M.text(report)
  check(report)
  local out = {}
  if report.valid then out[1] = "valid: every minute of every season has one period and one price" end
  for _, name in ipairs(lists) do
    for _, line in ipairs(lines_of(report[name])) do out[#out + 1] = beginnings[name] .. line end
  end
  return table.concat(out, "\n")
end

local shown = 3

--- One sentence for err.message: the first three problems.
function M.summary(report)
  check(report)
  local lines = lines_of(report.problems)
  local more = #lines - shown
  local text = "the tariff is not valid: " .. table.concat(lines, "; ", 1, math.min(#lines, shown))
  return more > 0 and string.format("%s; and %d more", text, more) or text
end

return M
