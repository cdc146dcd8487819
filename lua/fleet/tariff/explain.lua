-- What a check found, as sentences. One row per kind; the table itself stays as reference/tariffs writes it.

local number_format = require "fleet.util.number_format"
local tables = require "fleet.util.tables"

local M = {}

local day_order = { Mon = 1, Tue = 2, Wed = 3, Thu = 4, Fri = 5, Sat = 6, Sun = 7 }
local day_names = { "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun" }
local sides = { buy = "buying", sell = "selling" }
local charge_words = { energy_charges = "energy price", demand_charges = "demand price" }

local function list(names)
  if #names < 2 then return names[1] or "" end
  return table.concat(names, ", ", 1, #names - 1) .. " and " .. names[#names]
end

local function season(p)
  return string.format("season %s, %s", p.season, sides[p.side])
end

local function number(value)
  return number_format.short(value, 8)
end

local function place(p)
  return p.path == "" and "the tariff" or p.path
end

local rows = {
  season_gap = function(p)
    return string.format("%s: no season covers %s to %s (month-day); lengthen one or add one", sides[p.side], p.from, p.to)
  end,
  season_overlap = function(p)
    return string.format("%s: seasons %s both cover %s to %s (month-day); a day may have one season", sides[p.side],
      list(p.seasons), p.from, p.to)
  end,
  period_gap = function(p)
    return string.format("%s: no period covers %s; lengthen a period or add one", season(p), p.span)
  end,
  period_overlap = function(p)
    return string.format("%s: %s overlap on %s; a minute may have one period", season(p), list(p.labels), p.span)
  end,
  price_without_period = function(p)
    return string.format("%s: %s has an %s and no period; add a period or remove the price", season(p), p.label,
      charge_words[p.charges])
  end,
  period_without_price = function(p)
    return string.format("%s: %s has a period and no %s; set %s.%s.rates.%s", season(p), p.label, charge_words[p.charges],
      p.charges, p.season, p.label)
  end,
  bad_currency = function(p)
    if p.value == "" then return "the currency is missing; write USD, EUR or GBP" end
    return string.format("currency '%s' is not taken; write USD, EUR or GBP", tostring(p.value))
  end,
  bad_value = function(p)
    return string.format("%s is %s; it must be %s", place(p), tostring(p.value), p.expected)
  end,
  unknown_key = function(p)
    return string.format("%s has a member '%s' that no tariff has%s", place(p), p.key,
      p.nearest and "; did you mean '" .. p.nearest .. "'?" or "")
  end,
  negative_price = function(p)
    return string.format("%s: the %s of %s is %s; the service makes it 0", season(p), charge_words[p.charges], p.label,
      number(p.price))
  end,
  buy_below_sell = function(p)
    return string.format(
      "season %s: %s buys at %s, below the sell price %s (season %s, %s), on %s; the service makes it %s there",
      p.buy_season, p.buy_label, number(p.buy), number(p.sell), p.sell_season, p.sell_label, M.days(p.spans),
      number(p.buy_becomes))
  end,
  labels_not_shown = function(p)
    return string.format("%s: the app does not show the labels %s; it knows ON_PEAK, PARTIAL_PEAK, OFF_PEAK, SUPER_OFF_PEAK",
      sides[p.side], list(p.labels))
  end,
  all_recommended = function(p)
    return string.format("%s: every period costs %s; for a flat tariff the label ALL is recommended", sides[p.side],
      number(p.price))
  end,
  day_ranges = function(p)
    return string.format("%s: the app repeats rows for day ranges other than Mon-Sun, Mon-Fri and Sat-Sun (here: %s)",
      sides[p.side], list(p.ranges))
  end,
  missing_to_day_of_week = function(p)
    return string.format("%s: %s has a period without toDayOfWeek; it is read as 6 (Sunday), others may read 0; write it",
      season(p), p.label)
  end,
  missing_charges = function(p)
    return string.format("%s: %s has no price; a tariff without that section may be flagged later, so zeros are written",
      sides[p.side], p.charges)
  end,
  leap_day = function(p)
    return string.format("%s: 29 February is in no season; it is taken with the season of the 28th", season(p))
  end,
}

--- The kinds of finding there are, by name.
M.kinds = rows

local metatable = { __name = "fleet.tariff_fault" }
function metatable.__tostring(p)
  return rows[p.kind](p)
end

local lists = { "problems", "normalisations", "warnings" }

--- Gives every entry of a report its sentence.
function M.annotate(report)
  for _, name in ipairs(lists) do
    for _, entry in ipairs(report[name]) do setmetatable(entry, metatable) end
  end
  return report
end

-- ---- the same on several days in one line ----

local function day_ranges(days)
  local parts, first = {}, days[1]
  for i, day in ipairs(days) do
    if days[i + 1] ~= day + 1 then
      parts[#parts + 1] = first == day and day_names[day] or day_names[first] .. "-" .. day_names[day]
      first = days[i + 1]
    end
  end
  return table.concat(parts, ", ")
end

--- { "Mon 14:00-15:00", "Tue 14:00-15:00" } -> "Mon-Tue 14:00-15:00"
function M.days(spans)
  local order, by_hours = {}, {}
  for _, span in ipairs(spans) do
    local day, hours = string.match(span, "^(%a+) (.*)$")
    if not by_hours[hours] then
      by_hours[hours] = {}
      order[#order + 1] = hours
    end
    table.insert(by_hours[hours], day_order[day])
  end
  for i, hours in ipairs(order) do order[i] = day_ranges(by_hours[hours]) .. " " .. hours end
  return list(order)
end

local function without_day(p)
  return string.format("%s|%s|%s|%s|%s", p.kind, p.side, p.season, table.concat(p.labels or {}, "\0"),
    string.match(p.span, " (.*)$"))
end

local function copy_with(p, span)
  return setmetatable(tables.copy(p, { span = span }), metatable)
end

-- Entries that differ in the weekday only become one, at the place of the first.
local function joined(entries)
  local out, groups = {}, {}
  for _, p in ipairs(entries) do
    local key = p.span and without_day(p)
    if key and groups[key] then
      table.insert(groups[key].spans, p.span)
    else
      local group = { entry = p, spans = { p.span } }
      out[#out + 1] = group
      if key then groups[key] = group end
    end
  end
  for i, group in ipairs(out) do
    out[i] = tostring(group.spans[2] and copy_with(group.entry, M.days(group.spans)) or setmetatable(group.entry, metatable))
  end
  return out
end

--- A report as lines: "problem: …", "the service will change: …", "warning: …", or one line that says all is well.
function M.text(report)
  local out, words = {}, { problems = "problem: ", normalisations = "the service will change: ", warnings = "warning: " }
  for _, name in ipairs(lists) do
    for _, line in ipairs(joined(report[name] or {})) do out[#out + 1] = words[name] .. line end
  end
  if report.valid then table.insert(out, 1, "valid: every minute of every season has one period and one price") end
  return table.concat(out, "\n")
end

--- One sentence for err.message: the first three problems.
function M.summary(report)
  local lines = joined(report.problems)
  local count = #lines
  for i = count, 4, -1 do lines[i] = nil end
  if count > 3 then lines[4] = string.format("and %d more", count - 3) end
  return "the tariff is not valid: " .. table.concat(lines, "; ")
end

return M
