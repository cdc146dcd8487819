-- Whose turn it is at a vehicle. One command at a time per VIN; those who wait are served caller by caller, so that one who
-- sends a hundred does not keep another waiting. All tables are bounded: who finds them full is told at once.

local tasks = require "fleet.async"
local pcall = require("fleet.util.compat").pcall -- what it calls may wait

local M = {}
M.__index = M

--- new { per_vin = 1, waiting_per_vin = 32, waiting = 1024 }
function M.new(limits)
  limits = limits or {}
  return setmetatable({
    per_vin = limits.per_vin or 1, waiting_per_vin = limits.waiting_per_vin or 32, most = limits.waiting or 1024,
    places = {}, waiting = 0,
  }, M)
end

local function place_of(self, vin)
  local place = self.places[vin]
  if not place then
    place = { busy = 0, waiting = 0, callers = nil, lists = nil } -- lists once somebody waits
    self.places[vin] = place
  end
  return place
end

-- Callers take turns in the order in which they came.
local function join(place, caller)
  local waiter = {}
  place.callers, place.lists = place.callers or {}, place.lists or {}
  local list = place.lists[caller]
  if not list then
    list = {}
    place.lists[caller] = list
    place.callers[#place.callers + 1] = caller
  end
  list[#list + 1] = waiter
  place.waiting = place.waiting + 1
  return waiter
end

local function take_next(place)
  local caller = place.callers and table.remove(place.callers, 1)
  if not caller then return nil end
  local list = place.lists[caller]
  local waiter = table.remove(list, 1)
  if list[1] then
    place.callers[#place.callers + 1] = caller
  else
    place.lists[caller] = nil
  end
  place.waiting = place.waiting - 1
  return waiter
end

-- Who gave up is passed over when his turn comes; until then he counts, so that the tables stay bounded.
local function pass_on(self, vin, place)
  while place.busy < self.per_vin do
    local waiter = take_next(place)
    if not waiter then break end
    self.waiting = self.waiting - 1
    if not waiter.gone and not waiter.done then
      place.busy = place.busy + 1
      tasks.wake(waiter, true)
    end
  end
  if place.busy == 0 and place.waiting == 0 then self.places[vin] = nil end
end

--- Whether one more may wait for this vehicle.
function M:has_room(vin)
  local place = self.places[vin]
  return not place or place.busy < self.per_vin or place.waiting < self.waiting_per_vin and self.waiting < self.most
end

--- Waits for the vehicle, at most so many seconds. Returns true; false when there is no room or the time is over. Whoever got
--- true calls leave.
function M:enter(vin, caller, seconds)
  if not self:has_room(vin) then return false end
  local place = place_of(self, vin)
  if place.busy < self.per_vin then
    place.busy = place.busy + 1
    return true
  end
  local waiter = join(place, caller)
  self.waiting = self.waiting + 1
  local ran, woken = pcall(tasks.await_for, waiter, seconds)
  if ran and woken then return true end
  waiter.gone = true
  if not ran then error(woken, 0) end -- the task was cancelled
  return false
end

function M:leave(vin)
  local place = self.places[vin]
  place.busy = place.busy - 1
  pass_on(self, vin, place)
end

return M
