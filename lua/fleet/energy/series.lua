-- An energy history as rows of numbers: energy from sun, battery and grid, and its uses, per step.
--
-- A missing value is not zero (doc/protocol.md#energy-history): it stays nil, also in a sum of several steps, and totals say how many are
-- missing. Steps that are missing as a whole are added as empty ones.

local core = require "fleet.core"
local errors = require "fleet.util.errors"

local M = {}

-- up: supplied to the house; down: taken. Members are those of an energy item (doc/protocol.md#energy-history), in Wh.
local quantities = {
  { name = "solar", up = true, "solar_energy_exported" },
  { name = "battery out", up = true, "battery_energy_exported" },
  { name = "grid in", up = true, "grid_energy_imported" },
  { name = "generator", up = true, "generator_energy_exported" },
  { name = "home", "consumer_energy_imported_from_grid", "consumer_energy_imported_from_solar",
    "consumer_energy_imported_from_battery", "consumer_energy_imported_from_generator" },
  { name = "battery in", "battery_energy_imported_from_grid", "battery_energy_imported_from_solar",
    "battery_energy_imported_from_generator" },
  { name = "grid out", "grid_energy_exported_from_solar", "grid_energy_exported_from_battery",
    "grid_energy_exported_from_generator" },
}

-- A site without a battery has no members of one: the sum of the present members; nil when none is present.
local function value_of(item, quantity)
  local sum
  for _, member in ipairs(quantity) do
    if type(item[member]) == "number" then sum = (sum or 0) + item[member] end
  end
  return sum
end

-- ---- steps ----

local DAY = 86400

local function smallest_step(items)
  local step
  for i = 2, #items do
    local one = items[i].utc - items[i - 1].utc
    if one > 0 and (not step or one < step) then step = one end
  end
  return step
end

-- The entries in the order of time, and the number of entries without a readable time, which cannot be placed.
local function read_items(history)
  local out, untimed = {}, 0
  for _, item in ipairs(type(history.time_series) == "table" and history.time_series or {}) do
    local text = type(item) == "table" and item.timestamp
    local utc = type(text) == "string" and core.time(text)
    if utc then out[#out + 1] = { utc = utc, text = text, item = item } else untimed = untimed + 1 end
  end
  table.sort(out, function(a, b) return a.utc < b.utc end)
  return out, untimed
end

-- The number of steps between two neighbours. Days are counted by date, because two days of the year have 23 and 25 hours.
local function steps_between(a, b, step)
  if step >= 27 * DAY then return 1 end
  if step >= 20 * 3600 then return core.date_days(string.sub(b.text, 1, 10)) - core.date_days(string.sub(a.text, 1, 10)) end
  return math.floor((b.utc - a.utc) / step + 0.5)
end

local MOST_MISSING = 5000 -- added empty steps: a wrong date must not add millions

local function with_empty_steps(items, step)
  local out, missing = {}, 0
  for i, one in ipairs(items) do
    if i > 1 then
      for _ = 2, steps_between(items[i - 1], one, step) do
        missing = missing + 1
        if missing > MOST_MISSING then return items end
        out[#out + 1] = {}
      end
    end
    out[#out + 1] = one
  end
  return out
end

local function row_of(quantity, steps)
  local row, total, missing, any = { name = quantity.name, up = quantity.up }, 0, 0, false
  for i, step in ipairs(steps) do
    local value = step.item and value_of(step.item, quantity)
    row[i] = value or false
    if value then
      total, any = total + value, any or value ~= 0 or quantity.name ~= "generator"
    else
      missing = missing + 1
    end
  end
  row.total, row.missing, row.any = total, missing, any
  return row
end

--- A history (the result of energy_history) as { steps = { { text = local timestamp or nil }, … }, seconds = of a step, rows = { { name =,
--- up =, total = Wh, missing = count, [i] = Wh or false }, … }, untimed = number of entries without a time, which are left out }. Rows
--- without any value are left out. Returns nil, text when there is no data.
function M.read(history)
  if type(history) ~= "table" then errors.usage("fleet.chart: an energy history expected, got a " .. type(history)) end
  local items, untimed = read_items(history)
  if #items == 0 then return nil, untimed > 0 and "no entry of the history has a time" or "the history is empty" end
  local seconds = smallest_step(items) or DAY
  local series = { steps = with_empty_steps(items, seconds), seconds = seconds, rows = {}, untimed = untimed }
  for _, quantity in ipairs(quantities) do
    local row = row_of(quantity, series.steps)
    if row.any then series.rows[#series.rows + 1] = row end
  end
  if #series.rows == 0 then return nil, "the history holds no energy" end
  return series
end

--- Joins `count` steps into one; a sum with a missing value is missing.
function M.joined(series, count)
  if count <= 1 then return series end
  local out = { steps = {}, seconds = series.seconds * count, rows = {}, untimed = series.untimed }
  for i = 1, #series.steps, count do out.steps[#out.steps + 1] = series.steps[i] end
  for r, row in ipairs(series.rows) do
    local joined = { name = row.name, up = row.up, total = row.total, missing = row.missing }
    for i = 1, #series.steps, count do
      local sum = 0
      for j = i, math.min(i + count - 1, #series.steps) do sum = sum and row[j] and sum + row[j] end
      joined[#joined + 1] = sum
    end
    out.rows[r] = joined
  end
  return out
end

return M
