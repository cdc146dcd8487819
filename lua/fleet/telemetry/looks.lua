-- Looks that a receiver answers for automations and the MQTT bridge, so that they cost nothing.

local core = require "fleet.core"
local tables = require "fleet.util.tables"
local view = require "fleet.telemetry.view"

local M = {}

--- Seconds between two billed looks at a section whose fields are not all streamed.
M.look_every = 3600

--- Seconds for which a car may be awake without a connection before that counts as a failure.
M.connects_within = 600

--- Seconds after a command until its effect has surely been streamed: fields have intervals.
M.settles_within = 120

local newest = 60 -- seconds: what was known to hold earlier does not count
local openings = { "df", "dr", "pf", "pr", "ft", "rt", "fd_window", "fp_window", "rd_window", "rp_window" }

--- Whether a receiver may know of this vehicle.
function M.streams(receiver, vin)
  return core.is_vin(vin) and receiver.options.allowed(vin) == true
end

--- The client's receiver where it is open and may know of this vehicle; else nil.
function M.receiver(context, vin)
  local receiver = context and context.receiver
  if not receiver or not receiver.raw or not vin then return nil end
  return M.streams(receiver, vin) and receiver or nil
end

--- Calls fn(path, value, name) as view.each does. Where only the usable level is streamed (Soc), it is the battery's level, too.
function M.each(vehicle, fn)
  local has_level = vehicle.values.BatteryLevel ~= nil
  view.each(vehicle, function(path, value, name)
    fn(path, value, name)
    if name == "Soc" and not has_level then fn({ "charge_state", "battery_level" }, value, name) end
  end)
end

-- Whether the car is locked and all that the stream tells of it is closed: then it does not matter who sits in it.
local function is_closed(vehicle_state)
  if vehicle_state.locked ~= true then return false end
  for _, name in ipairs(openings) do
    local value = vehicle_state[name]
    if value ~= nil and value ~= 0 and value ~= false then return false end
  end
  return true
end

-- What is not streamed and is too old after a minute, unless it does not matter now.
local changes_fast = { is_user_present = is_closed, managed_charging_state = function() return false end }

-- A section of the stream with what is not streamed of the look before. nil where a field that the look showed is streamed and missing, or
-- changes fast.
local function completed(name, streamed, seen)
  if name == "charge_state" and streamed.battery_level == nil then streamed.battery_level = streamed.usable_battery_level end
  for field, value in pairs(seen) do
    if streamed[field] == nil then
      local matters_not = changes_fast[field]
      if matters_not and not matters_not(streamed) or view.has(name, field) then return nil end
      streamed[field] = value
    end
  end
  return streamed
end

--- The sections (a list of names) as vehicle_data has them, or nil where a look is needed. known: { looked = { section = when it was last
--- looked at }, seen = { section = its fields }, suffices = function(name, section) that tells whether it has what is needed }.
function M.sections(vehicle, list, known, now)
  if not vehicle.online then return nil end
  local data, out = view.of(vehicle, { age = newest, sections = tables.set(list) }), {}
  for _, name in ipairs(list) do
    local looked, seen = known.looked[name], known.seen[name]
    if not looked or now - looked >= M.look_every or type(seen) ~= "table" then return nil end
    local streamed = data[name] or next(seen) == nil and {} -- a section that the look did not show, such as location_data
    local section = streamed and completed(name, streamed, seen)
    if not section or not known.suffices(name, section) then return nil end
    out[name] = section
  end
  return out
end

return M
