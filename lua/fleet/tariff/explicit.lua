-- A tariff with every member written out, and what differs between two of them.
--
-- The service drops zero fields on read-back and the app flags what was left out (doc/protocol.md#tariff-meaning), so what is sent and
-- what is compared has all of them. The members come from the core's rows; seasons that are not in use are left out.

local core = require "fleet.core"

local M = {}

--- Members that are lists even when empty, for core.json_encode.
M.lists = "daily_charges periods"

local members = core.tariff_members()

local function is_absent(value)
  return value == nil or value == core.null
end

local function present(value, fallback)
  if is_absent(value) then return fallback end
  return value
end

local function copy(value)
  if type(value) ~= "table" then return value end
  local out = {}
  for key, one in pairs(value) do
    if not is_absent(one) then out[key] = copy(one) end
  end
  return out
end

local shapes = {}

local function object(rows, t, context)
  local out = {}
  for _, row in ipairs(members[rows]) do out[row.name] = shapes[row.shape](t[row.name], context, row.name) end
  return out
end

-- ---- one function per shape of the rows ----

function shapes.text(value)
  return present(value, "")
end

function shapes.number(value, _, name)
  return present(value, name == "version" and 1 or 0)
end

function shapes.whole(value, _, name)
  return present(value, name == "toDayOfWeek" and 6 or 0)
end

function shapes.object(value)
  return copy(present(value, {}))
end

function shapes.charges(value)
  local out = {}
  for i, charge in ipairs(present(value, {})) do out[i] = object("charge", charge) end
  return out
end

function shapes.prices(value)
  return copy(present(value, {}))
end

-- A period that ends with the day is written as the published example has it: 0:00.
function shapes.periods(value)
  local out, indexes = {}, {}
  for index in pairs(present(value, {})) do indexes[#indexes + 1] = index end
  table.sort(indexes)
  for i, index in ipairs(indexes) do
    out[i] = object("period", value[index])
    if out[i].toHour == 24 then out[i].toHour = 0 end
  end
  return out
end

function shapes.labels(value)
  local out = {}
  for name, label in pairs(present(value, {})) do
    local one = not is_absent(label) and object("label", label)
    if one and #one.periods > 0 then out[name] = one end
  end
  return out
end

local function block(value)
  return object("block", present(value, {}))
end

-- ALL is written beside the seasons as the published example does (doc/protocol.md#tariff-checks).
function shapes.blocks(value, context)
  value = present(value, {})
  local out = { ALL = block(value.ALL) }
  if next(out.ALL.rates) == nil then out.ALL.rates.ALL = 0 end
  for _, week in ipairs(context.weeks) do
    if week.name ~= "ALL" then out[week.name] = block(value[week.name]) end
  end
  return out
end

-- The core knows which seasons are in use, and the dates of one called ALL that gives none.
function shapes.seasons(value, context)
  local out = {}
  for _, week in ipairs(context.weeks) do
    out[week.name] = object("season", value[week.name])
    for _, row in ipairs(members.season) do
      if row.shape == "whole" then out[week.name][row.name] = week[row.name] end
    end
  end
  return out
end

function shapes.sell(value, context)
  local weeks = context.plan:weeks("sell")
  if is_absent(value) or #weeks == 0 then return nil end
  return object("sell", value, { plan = context.plan, weeks = weeks })
end

--- The content of a valid tariff table, copied and complete. plan is the core's plan of that table.
function M.content(t, plan)
  return object("tariff", t, { plan = plan, weeks = plan:weeks("buy") })
end

-- ---- diff ----

local function period_key(p)
  return string.format("%d-%d %02d:%02d-%02d:%02d", p.fromDayOfWeek, p.toDayOfWeek, p.fromHour, p.fromMinute,
    p.toHour, p.toMinute)
end

-- Periods are compared as a set: their order has no meaning.
local function keyed(value, name)
  if name ~= "periods" then return value end
  local out = {}
  for _, period in ipairs(value) do out[period_key(period)] = true end
  return out
end

local function sorted_keys(a, b)
  local keys, seen = {}, {}
  for _, t in ipairs { a, b } do
    for key in pairs(t) do
      if not seen[key] then keys[#keys + 1] = key end
      seen[key] = true
    end
  end
  table.sort(keys, function(x, y) return tostring(x) < tostring(y) end)
  return keys
end

local function compare(out, path, a, b, name)
  if type(a) ~= "table" or type(b) ~= "table" then
    if a ~= b then out[#out + 1] = { path = path, from = a, to = b } end
    return
  end
  a, b = keyed(a, name), keyed(b, name)
  for _, key in ipairs(sorted_keys(a, b)) do
    local place = type(key) == "number" and string.format("[%d]", key) or (path == "" and "" or ".") .. key
    compare(out, path .. place, a[key], b[key], key)
  end
end

--- The differences of two contents: { { path =, from =, to = }, … }, sorted by path.
function M.diff(a, b)
  local out = {}
  compare(out, "", a, b)
  return out
end

return M
