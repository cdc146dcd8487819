-- Numbers for a monitoring system: counters, gauges and histograms, and their text in the format that Prometheus reads
-- (text format 0.0.4).
--
-- Every name and its labels are declared when the registry is made, and a name has a limited number of series, so that labels with VINs by
-- mistake do not fill the memory. Further series are counted together, as "other".

local errors = require "fleet.util.errors"

local M = {}

local most_series = 500
local default_buckets = { 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30 }

local Registry = { __name = "fleet.metrics.registry" }
Registry.__index = Registry

-- ---- series ----

local function family_of(registry, name, kind)
  local family = registry.families[name]
  if not family then errors.unknown_name("metrics", "name", name, registry.families) end
  if family.kind ~= kind then errors.usage("metrics: '%s' is a %s", name, family.kind) end
  return family
end

local escapes = { ["\\"] = "\\\\", ["\""] = "\\\"", ["\n"] = "\\n" }

local function written(label, value)
  return string.format('%s="%s"', label, (string.gsub(tostring(value), '[\\"\n]', escapes)))
end

-- Cache of label texts; it is emptied before it exceeds the limit of series.
local function remembered(family, label, value)
  local known = family.written[label]
  if not known or family.remembered >= most_series then
    known, family.remembered = {}, known and 0 or family.remembered
    family.written[label] = known
  end
  known[value], family.remembered = written(label, value), family.remembered + 1
  return known[value]
end

-- Labels as text: {class="data",kind="timeout"}
local function label_text(family, labels, other)
  local parts = {}
  for i, label in ipairs(family.labels) do
    local value, known = other and "other" or labels and labels[label] or "", family.written[label]
    parts[i] = known and known[value] or remembered(family, label, value)
  end
  return table.concat(parts, ",")
end

local function new_series(family, text)
  local series = { text = text, value = 0 }
  if family.kind == "histogram" then
    series.count, series.inside, series.bounds = 0, {}, family.buckets
    for i = 1, #family.buckets + 1 do series.inside[i] = 0 end
  end
  family.series[text], family.count = series, family.count + 1
  family.order[#family.order + 1] = text
  return series
end

local function series_of(family, labels)
  local text = label_text(family, labels)
  local found = family.series[text]
  if found then return found end
  if family.count < most_series then return new_series(family, text) end
  local other = label_text(family, nil, true)
  return family.series[other] or new_series(family, other)
end

-- ---- counting ----

-- Counts a value in the narrowest bucket that holds it; the text adds the buckets up. The last bucket has no bound.
local function observe(series, value)
  local bounds, i = series.bounds, 1
  while bounds[i] and value > bounds[i] do i = i + 1 end
  series.inside[i] = series.inside[i] + 1
  series.count, series.value = series.count + 1, series.value + value
end

--- Adds to a counter. labels: { name = text }, as declared; amount: 1 by default.
function Registry.add(registry, name, labels, amount)
  local series = series_of(family_of(registry, name, "counter"), labels)
  series.value = series.value + (amount or 1)
end

--- Sets a gauge.
function Registry.set(registry, name, labels, value)
  series_of(family_of(registry, name, "gauge"), labels).value = value
end

--- Puts a value into a histogram.
function Registry.observe(registry, name, labels, value)
  observe(series_of(family_of(registry, name, "histogram"), labels), value)
end

--- Returns put(value) of a histogram, for callers that count often: the series is looked up once.
function Registry.putter(registry, name, labels)
  local series = series_of(family_of(registry, name, "histogram"), labels)
  return function(value) observe(series, value) end
end

--- The same for a counter: a table to whose `value` the caller adds.
function Registry.counter(registry, name, labels)
  return series_of(family_of(registry, name, "counter"), labels)
end

-- ---- text ----

-- Writes a bound with few digits if they suffice: le="0.005" is the name of the bucket.
local function digits(value)
  if value % 1 == 0 and math.abs(value) < 2 ^ 53 then return string.format("%.0f", value) end
  local short = string.format("%.15g", value)
  return tonumber(short) == value and short or string.format("%.17g", value)
end

-- Whole numbers without a fraction, others exactly, with a point in every locale.
local function number(value)
  if value ~= value then return "NaN" end
  if value == math.huge or value == -math.huge then return value > 0 and "+Inf" or "-Inf" end
  return (string.gsub(digits(value), "[^%d%-+e]", "."))
end

local function line(name, labels, more, value)
  local inside = labels ~= "" and more and labels .. "," .. more or more or labels
  return name .. (inside ~= "" and "{" .. inside .. "}" or "") .. " " .. number(value)
end

local function add_histogram(lines, family, series)
  local within = 0
  for i, bound in ipairs(family.buckets) do
    within = within + series.inside[i]
    lines[#lines + 1] = line(family.name .. "_bucket", series.text, 'le="' .. number(bound) .. '"', within)
  end
  lines[#lines + 1] = line(family.name .. "_bucket", series.text, 'le="+Inf"', series.count)
  lines[#lines + 1] = line(family.name .. "_sum", series.text, nil, series.value)
  lines[#lines + 1] = line(family.name .. "_count", series.text, nil, series.count)
end

local function add_family(lines, family)
  lines[#lines + 1] = "# HELP " .. family.name .. " " .. string.gsub(family.doc, "[\\\n]", escapes)
  lines[#lines + 1] = "# TYPE " .. family.name .. " " .. family.kind
  for _, text in ipairs(family.order) do
    local series = family.series[text]
    if family.kind == "histogram" then
      add_histogram(lines, family, series)
    else
      lines[#lines + 1] = line(family.name, text, nil, series.value)
    end
  end
end

--- All metrics as text, for GET /metrics with Content-Type "text/plain; version=0.0.4".
function Registry.text(registry)
  local lines = {}
  for _, family in ipairs(registry.list) do add_family(lines, family) end
  lines[#lines + 1] = ""
  return table.concat(lines, "\n")
end

-- ---- making ----

local kinds = { counter = true, gauge = true, histogram = true }

local function new_family(row)
  if not kinds[row.kind] then errors.usage("metrics: '%s' must be a counter, a gauge or a histogram", tostring(row.name)) end
  if not string.find(row.name, "^[%a_][%w_]*$") then errors.usage("metrics: '%s' is no name of a metric", row.name) end
  return {
    name = row.name, kind = row.kind, doc = row.doc, labels = row.labels or {}, buckets = row.buckets or default_buckets,
    series = {}, order = {}, count = 0, written = {}, remembered = 0,
  }
end

--- A registry of rows { name =, kind = "counter" | "gauge" | "histogram", doc =, labels = { names }, buckets = { bounds } }.
function M.new(rows)
  local registry = setmetatable({ list = {}, families = {} }, Registry)
  for i, row in ipairs(rows) do
    registry.list[i] = new_family(row)
    registry.families[row.name] = registry.list[i]
  end
  return registry
end

return M
