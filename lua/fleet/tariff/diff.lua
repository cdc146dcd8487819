-- What differs between the contents of two tariffs, told member by member.

local tables = require "fleet.util.tables"

local M = {}

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

local function compare(out, path, a, b, name)
  if type(a) ~= "table" or type(b) ~= "table" then
    if a ~= b then out[#out + 1] = { path = path, from = a, to = b } end
    return
  end
  a, b = keyed(a, name), keyed(b, name)
  for _, key in ipairs(tables.sorted_keys(tables.copy(a, b))) do
    local place = type(key) == "number" and string.format("[%d]", key) or (path == "" and "" or ".") .. key
    compare(out, path .. place, a[key], b[key], key)
  end
end

--- The differences of two contents: { { path =, from =, to = }, … }, sorted by path.
function M.of(a, b)
  local out = {}
  compare(out, "", a, b)
  return out
end

return M
