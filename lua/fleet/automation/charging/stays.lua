-- What an automation has learned of a car's days: when it comes to the plug, and how much is missing then.

local battery = require "fleet.automation.charging.battery"
local manual_override = require "fleet.automation.manual_override"

local M = {}

local kept = 10 -- stays
local number = battery.number

--- When the charging that is under way began, from what it has added.
function M.began(charge, at)
  local added, kw = number(charge.charge_energy_added), battery.power(charge)
  if not manual_override.is_charging(charge) or not added or kw <= 0 then return at end
  return at - added / kw * 3600
end

local function minutes_of(zone, at)
  local t = zone:localtime(math.floor(at))
  return t.hour * 60 + t.min
end

-- When the charging of a stay that has just been found began: what is full has ended it since, and has taken as long as what it added.
local function charged_since(config, charge, at, rate)
  local added = number(charge.charge_energy_added)
  if charge.charging_state ~= "Complete" or not added then return M.began(charge, at) end
  return at - added / battery.capacity(config) * 100 / rate * 3600
end

-- What had come by a minute of the day came when it usually does until then, as far as is known; a day begins when the car must be ready.
local function usual_by(config, list, minutes)
  local function of_the_day(at) return (at - config.ready_minutes) % 1440 end
  local earlier = {}
  for _, one in ipairs(list) do
    if of_the_day(one.at) <= of_the_day(minutes) then earlier[#earlier + 1] = one.at end
  end
  table.sort(earlier, function(a, b) return of_the_day(a) < of_the_day(b) end)
  return earlier[math.ceil(#earlier / 2)] or minutes
end

--- Records the start of a stay. since: when the car was last seen before it, or nil. rate: percent per hour. arrival(began): minutes
--- after midnight at which the car came, for charging that started at another time than the arrival.
function M.note(config, memory, charge, at, since, rate, arrival)
  local list = memory.stays or {}
  memory.stays = list
  local from = math.max(charged_since(config, charge, at, rate), since or 0)
  local minutes, by = nil, false
  if arrival then minutes, by = arrival(from) end
  list[#list + 1] = {
    at = minutes and (by and usual_by(config, list, minutes) or minutes) or minutes_of(config.local_zone, from),
    missing = math.max(0, config.level - charge.battery_level + (at - from) / 3600 * rate),
  }
  while #list > kept do table.remove(list, 1) end
end

local function quantile(list, member, share)
  local values = {}
  for i, one in ipairs(list) do values[i] = one[member] end
  table.sort(values)
  return values[math.max(1, math.ceil(#values * share))]
end

--- Minutes after midnight by which the car is usually at the plug, or nil.
function M.arrival(memory)
  local list = memory.stays or {}
  if #list == 0 then return nil end
  return quantile(list, "at", 0.8)
end

--- When the car has come of late, at the earliest and at the latest: minutes after a minute of the day; or nil.
function M.arrivals(memory, from)
  local least, most
  for _, one in ipairs(memory.stays or {}) do
    local minutes = (one.at - from) % 1440
    least, most = math.min(least or minutes, minutes), math.max(most or minutes, minutes)
  end
  return least, most
end

--- Percent that must be expected to be missing: what was, and more while little is known.
function M.missing(config, memory)
  local list = memory.stays or {}
  if #list == 0 then return config.level - 20 end
  return math.max(10, math.min(config.level - 5, quantile(list, "missing", 1) * 1.1 + 15 / #list))
end

return M
