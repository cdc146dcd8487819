-- What the client's receiver of telemetry (client:telemetry{ … }) does for an automation: it answers looks, and its events wake it.
-- A billed look comes first, and then once an hour, since some of what it shows is not streamed.

local notices = require "fleet.automation.notices"
local readings = require "fleet.automation.readings"
local shared_looks = require "fleet.automation.shared_looks"
local tables = require "fleet.util.tables"
local tasks = require "fleet.async"

local M = {}

-- Loaded with the first receiver.
local function looks() return require "fleet.telemetry.looks" end

local repeats_after = 300 -- seconds since the last look until an event is worth a billed one
local longest_calm = 3600 -- seconds between commands that events cause, when they cause many

-- Fields whose change is an event: what people and the car do, not what flows.
local events = tables.set {
  "DetailedChargeState", "ChargingCableType", "ChargePortDoorOpen", "ChargeLimitSoc", "ChargeCurrentRequest", "ScheduledChargingMode",
  "ScheduledChargingPending", "FastChargerPresent", "HvacPower", "ClimateKeeperMode", "HvacLeftTemperatureRequest", "Gear", "Locked",
  "DoorState", "FdWindow", "FpWindow", "RdWindow", "RpWindow", "SentryMode", "LocatedAtHome", "LocatedAtWork", "LocatedAtFavorite",
  "DriverSeatOccupied",
}

local function receiver_of(self)
  local car = self.config.car
  return self.context and self.context.receiver and looks().receiver(self.context, car and car.vin)
end

--- Notes that a billed look has shown these sections.
function M.looked(self, sections)
  for _, name in ipairs(sections) do shared_looks.looked(self)[name] = tasks.steady() end
end

local asks_again = 60 -- seconds; also the time that a car which has just connected gets to send its values

local function last_command_at(state)
  local at = -math.huge
  for _, did in pairs(state.did or {}) do at = math.max(at, did.at) end
  return at
end

-- When the last command has surely been streamed.
local function settled_at(state) return last_command_at(state) + looks().settles_within end

-- When events count again: as soon as the last command has been streamed. Each command that follows an event doubles that time, so that a
-- cable with a loose contact costs few commands; two hours without one end it.
local function calm_at(self, state)
  local at, calm = last_command_at(state), self.calm or { commands = 0 }
  self.calm = calm
  if at ~= calm.at then
    local is_by_event = self.looked_into_at and at >= self.looked_into_at and at - self.looked_into_at <= looks().settles_within
    if at - (calm.at or at) > 2 * longest_calm then calm.commands = 0 end
    if is_by_event then calm.commands = calm.commands + 1 end
    calm.at = at
  end
  return at + math.min(looks().settles_within * 2 ^ math.max(calm.commands - 1, 0), longest_calm)
end

-- The car at the receiver where that may answer a look; nil: a look is needed.
local function vehicle_of(self, state, action, now)
  local receiver = not action.texts and receiver_of(self)
  if not receiver or now < settled_at(state) then return nil end
  return receiver:vehicle(self.config.car.vin)
end

--- The sections of an action as vehicle_data has them, or nil where the stream lacks something.
function M.read(self, state, action, now)
  self.sections = tables.add(self.sections or {}, tables.set(action.sections))
  local vehicle = vehicle_of(self, state, action, now)
  if not vehicle or not vehicle.online then return nil end
  self.stream_away = nil
  local reads = self.definition.reads
  local data = looks().sections(vehicle, action.sections, {
    looked = shared_looks.looked(self), seen = state.seen, strict = type(reads) == "function",
    reads = type(reads) == "function" and reads(self.config) or reads or readings.all,
    suffices = function(name, section) return readings.read(name, section, self.definition.needs) ~= nil end,
  }, tasks.steady())
  if data then self.awaited = nil end
  return data
end

--- While the values of a car that has connected are under way: until when to wait for them. nil: a look may be due.
function M.values_due(self, now)
  local awaited = self.awaited
  return awaited and awaited.connected and now < awaited.ends and awaited.ends or nil
end

--- When to ask again for a car that is awake and not connected: it may be falling asleep. When it connects, its first values wake the
--- automation earlier. nil: a billed look is due. A car that does not connect is reported once.
function M.waits_until(self, state, action, now)
  self.awaited = nil
  local vehicle = vehicle_of(self, state, action, now)
  if not vehicle or vehicle.online then return nil end
  local awake_for = state.awake_since and now - state.awake_since
  self.stream_away = looks().is_missing(awake_for, vehicle.left and tasks.steady() - vehicle.left, self.stream_away)
  if not self.stream_away then
    self.awaited = { ends = now + asks_again }
    return self.awaited.ends
  end
  notices.notify(self, state, { {
    key = "stream away", severity = "warning",
    text = "the car is awake and is not connected to the receiver of telemetry: it is looked at, which is billed",
  } }, now)
end

-- ---- events ----

local function is_event(self, record, changed, now)
  if self.awaited and now < self.awaited.ends then return true end
  if record.resend then return false end
  for name in pairs(changed) do
    if events[name] then return true end
  end
  return false
end

--- Wakes the automation at events of its car from now on; again after the client got another receiver.
function M.follow(self)
  local receiver = receiver_of(self)
  if receiver == self.followed then return end
  M.unfollow(self)
  if not receiver then return end
  self.followed = receiver
  self.end_following = receiver:listen(self.config.car.vin, function(_, what, record, changed)
    local now = self:wall()
    if what == "connected" and self.awaited then self.awaited.connected, self.awaited.ends = true, now + asks_again end
    if what ~= "record" or not is_event(self, record, changed, now) then return end
    if self.event_at and self.event_at <= now then return end -- it waits for an earlier one already
    self.event_at = now
    if self.promise then tasks.wake(self.promise) end
  end)
end

function M.unfollow(self)
  if self.end_following then self.end_following() end
  self.followed, self.end_following, self.event_at, self.looked_into_at, self.calm, self.awaited = nil, nil, nil, nil, nil, nil
end

--- Moves all times after the wall clock was set by so many seconds.
function M.shift(self, seconds)
  local function moved(at) return at and at + seconds end
  self.event_at, self.looked_into_at = moved(self.event_at), moved(self.looked_into_at)
  if self.calm then self.calm.at = moved(self.calm.at) end
  if self.awaited then self.awaited.ends = moved(self.awaited.ends) end
end

--- When an event is to be looked into: not before the effect of a command has been streamed, and later where events cause many commands.
--- nil: there is none.
function M.due_at(self, state)
  return self.event_at and math.max(self.event_at, calm_at(self, state)) or nil
end

--- Looks into an event. Returns the sections that the stream shows, to be noted. Where it lacks something, they are marked as too old, so
--- that the next decision looks; a few minutes after the last look at the earliest.
function M.look_into(self, state, now)
  self.looked_into_at = now
  self.event_at, state.at.live_status = nil, nil -- what the site said before the event may contradict it; reading it again is free
  local list, latest = {}, -math.huge
  for name in pairs(state.at) do
    if self.sections and self.sections[name] then list[#list + 1] = name end
  end
  for _, name in ipairs(list) do latest = math.max(latest, state.at[name]) end
  if not list[1] then return nil end
  table.sort(list)
  local value = M.read(self, state, { sections = list }, now)
  if value then return value, list end
  if now - latest < repeats_after then
    self.event_at = latest + repeats_after
    return nil
  end
  for _, name in ipairs(list) do state.at[name] = nil end
  return nil
end

return M
