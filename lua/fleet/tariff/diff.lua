-- The differences between the contents of two tariffs, member by member.

local tables = require "fleet.util.tables"

local M = {}

local function period_key(p)
  return string.format("%d-%d %02d:%02d-%02d:%02d", p.fromDayOfWeek or 0, p.toDayOfWeek or 0, p.fromHour or 0, p.fromMinute or 0,
    p.toHour or 0, p.toMinute or 0)
end

-- Periods are compared as a set: their order has no meaning.
local function keyed(value, name)
  if name ~= "periods" then return value end
  local out = {}
  for _, period in ipairs(value) do out[period_key(period)] = true end
  return out
end

local function by_text(a, b)
  return tostring(a) < tostring(b)
end

local function sorted_keys(a, b)
  local keys = {}
  for key in pairs(tables.copy(a, b)) do keys[#keys + 1] = key end
  table.sort(keys, by_text)
  return keys
end

local function compare(out, path, a, b, name)
  if type(a) ~= "table" or type(b) ~= "table" then
    if a ~= b then out[#out + 1] = { path = path, from = a, to = b } end
    return
  end
  a, b = keyed(a, name), keyed(b, name)
  for _, key in ipairs(sorted_keys(a, b)) do
    local step = type(key) == "number" and string.format("[%d]", key) or (path == "" and "" or ".") .. key
    compare(out, path .. step, a[key], b[key], key)
  end
end

--- The differences of two contents: { { path =, from =, to = }, … }, sorted by path.
function M.of(a, b)
  local out = {}
  compare(out, "", a, b)
  return out
end

return M
