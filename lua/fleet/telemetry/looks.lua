-- Reads that a receiver answers for automations and the MQTT bridge, so that they are free.

local core = require "fleet.core"
local tables = require "fleet.util.tables"
local view = require "fleet.telemetry.view"

local M = {}

--- Seconds between billed reads of a section that has a needed field which is not streamed.
M.look_every = 3600

--- Seconds for which a car may be awake without connecting before that counts as a failure.
M.connects_within = 600

--- Whether billed looks are made at a car that the service reports as awake and that is not connected. Within ten minutes they are not: a
--- car that falls asleep disconnects some time before the service reports it, and one in a tunnel comes back. A car that failed before gets
--- no more time until it connects. awake_for, gone_for: seconds since it came awake, and since its last connection ended; nil: not known.
function M.is_missing(awake_for, gone_for, failed_before)
  return failed_before or math.min(awake_for or 0, gone_for or math.huge) >= M.connects_within
end

--- Seconds after a command until its effect has certainly been streamed: fields have intervals.
M.settles_within = 120

local newest = 60 -- seconds: older values do not count
local openings = { "df", "dr", "pf", "pr", "ft", "rt", "fd_window", "fp_window", "rd_window", "rp_window" }

--- Whether a receiver may have values of this vehicle.
function M.streams(receiver, vin)
  return core.is_vin(vin) and receiver.options.allowed(vin) == true
end

--- The client's receiver if it is open and may have values of this vehicle; else nil.
function M.receiver(context, vin)
  local receiver = context and context.receiver
  if not receiver or not receiver.raw or not vin then return nil end
  return M.streams(receiver, vin) and receiver or nil
end

--- Calls fn(path, value, name) as view.each does. When only the usable level is streamed (Soc), it also serves as the battery's level.
function M.each(vehicle, fn)
  local has_level = vehicle.values.BatteryLevel ~= nil
  view.each(vehicle, function(path, value, name)
    fn(path, value, name)
    if name == "Soc" and not has_level then fn({ "charge_state", "battery_level" }, value, name) end
  end)
end

-- Whether the car is locked and every opening that it streams is closed: then a person inside does not matter.
local function is_closed(vehicle_state)
  if vehicle_state.locked ~= true then return false end
  for _, name in ipairs(openings) do
    local value = vehicle_state[name]
    if value ~= nil and value ~= 0 and value ~= false then return false end
  end
  return true
end

-- Fields that are not streamed and count as too old after a minute, unless they do not matter now.
local changes_fast = { is_user_present = is_closed, managed_charging_state = function() return false end }

-- Fields that count for a day.
local changes_seldom = tables.set { "car_version", "charger_pilot_current", "scheduled_charging_start_time_app" }
local seldom_for = 86400 -- seconds

-- Fields that the car has reported as invalid: sets by section.
local function invalid_by(vehicle, list)
  local invalid = {}
  for _, name in ipairs(list) do invalid[name] = {} end
  M.each(vehicle, function(path, value, name)
    local section = invalid[path[1]]
    if section and value == nil and vehicle.ended[name] then section[path[2]] = true end
  end)
  return invalid
end

-- Whether a field that the stream lacks may be taken from the last read. seen: the section, or nil; age: since its last read.
local function may_be_kept(name, field, streamed, seen, age)
  local fast = changes_fast[field]
  if seen and seen[field] == nil then return true end -- the car does not have it
  if fast then return fast(streamed) end
  if changes_seldom[field] then return seen ~= nil end
  return seen ~= nil and age < M.look_every and not view.has(name, field)
end

-- A section of the stream, completed by fields of the last read that the caller needs and the stream lacks. nil: a new read is needed.
local function completed(name, streamed, seen, age, invalid, known)
  if name == "charge_state" and streamed.battery_level == nil then streamed.battery_level = streamed.usable_battery_level end
  for _, field in ipairs(known.reads[name] or {}) do
    local is_known = streamed[field] ~= nil or invalid[field] and not known.strict
    if not is_known then
      if not may_be_kept(name, field, streamed, seen, age) then return nil end
      streamed[field] = seen and seen[field]
    end
  end
  return streamed
end

--- The sections (a list of names) in the form of vehicle_data, or nil when a read is needed. known: { looked = { section = time of its last
--- read }, seen = { section = its fields }, reads = { section = list of the fields that the caller needs }, strict = all those fields must
--- have a value, suffices = function(name, section): whether the section has what is needed }. now: by the clock of known.looked.
function M.sections(vehicle, list, known, now)
  if not vehicle.online then return nil end
  local data, invalid, out = view.of(vehicle, { age = newest, sections = tables.set(list) }), invalid_by(vehicle, list), {}
  for _, name in ipairs(list) do
    local age, seen = now - (known.looked[name] or -math.huge), known.seen[name]
    if age >= seldom_for or type(seen) ~= "table" then seen = nil end
    local section = completed(name, data[name] or {}, seen, age, invalid[name], known)
    if not section or not known.suffices(name, section) then return nil end
    out[name] = section
  end
  return out
end

return M
