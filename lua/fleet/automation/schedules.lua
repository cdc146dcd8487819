-- The schedules of a car as data: what is wanted and what it has, in; what to send, out. Pure.
--
-- Every schedule of ours has an id from one block, so that it is found again, replaced and never doubled; all others are left alone.

local core = require "fleet.core"

local M = {}

local first_id, last_id = 7700000, 7709999

--- The id of our schedule of that number.
function M.id(number)
  return first_id + number
end

function M.is_ours(id)
  id = tonumber(id)
  return id ~= nil and id >= first_id and id <= last_id
end

local function same_place(a, b)
  return math.abs((tonumber(a) or 999) - (tonumber(b) or 999)) < 0.002 -- the car keeps 32 bits
end

local function days_of(value)
  return tonumber(value) or core.days(value)
end

-- A time that does not count may be anything.
local function same_times(a, b)
  for _, name in ipairs { "start", "end" } do
    local on = a[name .. "_enabled"] or false
    if on ~= (b[name .. "_enabled"] or false) or on and a[name .. "_time"] ~= b[name .. "_time"] then return false end
  end
  return a.precondition_time == b.precondition_time
end

--- Whether a schedule that was read back is the one that is wanted (params of the command that adds it).
function M.same(seen, wanted)
  return seen.enabled == wanted.enabled and (seen.one_time or false) == (wanted.one_time or false)
    and days_of(seen.days_of_week) == days_of(wanted.days_of_week) and same_times(seen, wanted)
    and same_place(seen.latitude, wanted.lat) and same_place(seen.longitude, wanted.lon)
end

local function by_id(list)
  local found = {}
  for _, one in ipairs(type(list) == "table" and list or {}) do found[tonumber(one.id) or 0] = one end
  return found
end

--- What must be sent so that a list becomes as wanted: the parameters to add, the ids to remove. mine(id, schedule): whether one that
--- is not wanted may be removed.
function M.difference(seen, wanted, mine)
  local had, add, keep, remove = by_id(seen), {}, {}, {}
  for _, params in ipairs(wanted) do
    keep[params.id] = true
    if not (had[params.id] and M.same(had[params.id], params)) then add[#add + 1] = params end
  end
  for _, one in ipairs(type(seen) == "table" and seen or {}) do
    local id = tonumber(one.id)
    if not keep[id] and mine(id, one) then remove[#remove + 1] = id end
  end
  return add, remove
end

--- A schedule as it is read back after it was added.
function M.as_read(params)
  local out = { latitude = params.lat, longitude = params.lon }
  for name, value in pairs(params) do out[name] = value end
  out.lat, out.lon, out.days_of_week = nil, nil, days_of(params.days_of_week)
  return out
end

--- A list without an id, or with one schedule in its place.
function M.replaced(list, id, with)
  local out = {}
  for _, one in ipairs(type(list) == "table" and list or {}) do
    if tonumber(one.id) ~= id then out[#out + 1] = one end
  end
  out[#out + 1] = with
  return out
end

return M
