-- The queue of a vehicle: one command at a time per VIN. Waiting commands are served round-robin by source, and by caller within a source.
-- So neither a hundred commands of one caller nor invented caller names delay others. All tables are bounded: a command that finds them
-- full is rejected, unless another source fills them; that source then loses its newest entry.

local tasks = require "fleet.async"
local pcall = require("fleet.util.compat").pcall -- the called functions may yield

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

-- ---- commands that wait for one vehicle: a ring of sources, each a ring of callers, each a list of promises ----

local function new_ring(name)
  return { name = name, count = 0, by_name = {} }
end

-- Members are served in the order of arrival. When memory runs out here, an empty member remains.
local function member_of(ring, name)
  local member = ring.by_name[name]
  if not member then
    member = new_ring(name)
    ring[#ring + 1] = member
    ring.by_name[name] = member
  end
  return member
end

local function forget_empty(ring, at)
  local member = ring[at]
  if member.count > 0 then return false end
  table.remove(ring, at)
  if ring.by_name[member.name] == member then ring.by_name[member.name] = nil end
  return true
end

-- Takes the first promise; the member that was served moves to the end.
local function take_first(ring, depth)
  ring.count = ring.count - 1
  if depth == 0 then return table.remove(ring, 1) end
  while forget_empty(ring, 1) do end
  local member = table.remove(ring, 1)
  ring[#ring + 1] = member
  local promise = take_first(member, depth - 1)
  forget_empty(ring, #ring)
  return promise
end

local function largest(ring)
  local found = 1
  for i = 2, #ring do
    if ring[i].count >= ring[found].count then found = i end
  end
  return found
end

local function take_newest(ring, depth)
  ring.count = ring.count - 1
  if depth == 0 then return table.remove(ring) end
  local at = largest(ring)
  local promise = take_newest(ring[at], depth - 1)
  forget_empty(ring, at)
  return promise
end

local rings = 2 -- sources, callers

-- ---- a vehicle ----

local function place_of(self, vin)
  local place = self.places[vin]
  if not place then
    place = { busy = 0, sources = nil } -- sources: set when a caller waits
    self.places[vin] = place
  end
  return place
end

local function waiting_at(place)
  return place.sources and place.sources.count or 0
end

-- Allocating may run a finaliser, which may run the loop and remove empty rings: the ring is then filled again.
local function add(place, promise, source, caller)
  local ring, list
  repeat
    place.sources = place.sources or new_ring()
    ring = member_of(place.sources, source)
    list = member_of(ring, caller)
    list[#list + 1] = promise
  until place.sources.by_name[source] == ring and ring.by_name[caller] == list
  place.sources.count, ring.count, list.count = place.sources.count + 1, ring.count + 1, list.count + 1
end

local function join(self, vin, source, caller)
  local promise = tasks.promise()
  local place
  repeat
    place = place_of(self, vin)
    add(place, promise, source, caller)
  until self.places[vin] == place
  return promise, place
end

local function wake(promise, comes)
  if promise.done then return false end
  tasks.wake(promise, comes)
  return true
end

-- A promise that stopped waiting is skipped when it comes first; until then it counts, so that the tables stay bounded.
local function pass_on(self, vin, place)
  while place.busy < self.per_vin and waiting_at(place) > 0 do
    local promise = take_first(place.sources, rings)
    self.waiting = self.waiting - 1
    if wake(promise, true) then place.busy = place.busy + 1 end
  end
  if place.busy == 0 and waiting_at(place) == 0 then self.places[vin] = nil end
end

-- Whether another source has more entries in this vehicle's queue than this one would have.
local function is_outnumbered(place, source)
  local sources = place.sources
  if not sources or not sources[1] then return false end
  local own = sources.by_name[source]
  return sources[largest(sources)].count > (own and own.count or 0) + 1
end

local function is_free(self, place)
  return waiting_at(place) < self.waiting_per_vin and self.waiting < self.most
end

--- Whether one more command of this source may wait for this vehicle.
function M:has_room(vin, source)
  local place = self.places[vin]
  return not place or place.busy < self.per_vin or is_free(self, place) or is_outnumbered(place, source)
end

local function make_room(self, place)
  if is_free(self, place) then return end
  local promise = take_newest(place.sources, rings)
  self.waiting = self.waiting - 1
  wake(promise, false)
end

--- Whether a command for this vehicle would have to wait.
function M:is_busy(vin)
  local place = self.places[vin]
  return place ~= nil and place.busy >= self.per_vin
end

--- Waits for the vehicle, at most so many seconds. source: of the caller. Returns true; or false when there is no room or the time is over.
--- After true, the caller must call leave.
function M:enter(vin, caller, seconds, source)
  source = source or caller
  if not self:has_room(vin, source) then return false end
  local place = place_of(self, vin)
  if place.busy < self.per_vin then
    place.busy = place.busy + 1
    return true
  end
  make_room(self, place)
  local promise
  promise, place = join(self, vin, source, caller)
  self.waiting = self.waiting + 1
  pass_on(self, vin, place) -- the vehicle may have become free while this promise was added
  local ran, woken = pcall(tasks.await_for, promise, seconds)
  if ran and woken then return true end
  if promise.value then self:leave(vin) end -- woken at the same time as the timeout
  promise.done = true -- it will be skipped
  if not ran then error(woken, 0) end -- the task was cancelled
  return false
end

function M:leave(vin)
  local place = self.places[vin]
  place.busy = place.busy - 1
  if place.busy == 0 and not place.sources then
    self.places[vin] = nil
  else
    pass_on(self, vin, place)
  end
end

return M
