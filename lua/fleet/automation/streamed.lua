-- A look that the client's receiver of telemetry answers, so that it costs nothing: client:telemetry{ … }. A billed look comes first,
-- and then once an hour, since some of what it shows is not streamed.

local notices = require "fleet.automation.notices"
local readings = require "fleet.automation.readings"
local tables = require "fleet.util.tables"

local M = {}

-- Loaded with the first receiver.
local function view() return require "fleet.telemetry.view" end

local look_every = 3600 -- seconds between two billed looks
local newest = 60 -- seconds: what was known to hold earlier does not count
local long_awake = 600 -- seconds for which a car is awake and does not stream before it is said
local settles = 120 -- seconds after a command until its effect has surely been streamed: fields have intervals
local changes_fast = tables.set { "is_user_present", "managed_charging_state" } -- not streamed, and too old after a minute

--- Notes that a billed look has shown these sections.
function M.looked(self, sections, now)
  self.looked = self.looked or {}
  for _, name in ipairs(sections) do self.looked[name] = now end
end

-- The section of the stream with what is not streamed of the look before; nil where it lacks what is needed, or was seen and is streamed.
local function completed(self, state, name, streamed, now)
  local looked, seen = self.looked and self.looked[name], state.seen[name]
  if not looked or now - looked >= look_every or type(seen) ~= "table" or type(streamed) ~= "table" then return nil end
  if name == "charge_state" and streamed.battery_level == nil then streamed.battery_level = streamed.usable_battery_level end
  for field, value in pairs(seen) do
    if streamed[field] == nil then
      if changes_fast[field] or view().has(name, field) then return nil end
      streamed[field] = value
    end
  end
  return readings.read(name, streamed, self.definition.needs) and streamed
end

-- A receiver that a car which is awake does not reach is said once.
local function tell_away(self, state, now)
  local awake = state.awake_since and now - state.awake_since
  if not awake or awake < long_awake then return end
  notices.notify(self, state, { {
    key = "stream away", severity = "warning",
    text = "the car is awake and is not connected to the receiver of telemetry: it is looked at, which is billed",
  } }, now)
end

local function commanded_lately(state, now)
  for _, did in pairs(state.did or {}) do
    if now - did.at < settles then return true end
  end
  return false
end

--- The sections of an action as vehicle_data has them, or nil where a look is needed.
function M.read(self, state, action, now)
  local receiver, vin = self.context and self.context.receiver, self.config.car and self.config.car.vin
  if not receiver or not receiver.raw or action.texts then return nil end
  if not require("fleet.resources.stream").streams(receiver, vin) then return nil end
  if commanded_lately(state, now) then return nil end
  local vehicle = receiver:vehicle(vin)
  if not vehicle.online then return tell_away(self, state, now) end
  local data = view().of(vehicle, { age = newest })
  local value = {}
  for _, name in ipairs(action.sections) do
    value[name] = completed(self, state, name, data[name], now)
    if not value[name] then return nil end
  end
  return value
end

return M
