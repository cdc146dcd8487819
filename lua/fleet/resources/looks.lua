-- Reads of a car that answer one question: its position, whether a route was set, whether a condition is true. None wakes the car.

local check_options = require "fleet.util.check_options"
local core = require "fleet.core"
local errors = require "fleet.util.errors"
local records = require "fleet.resources.record"
local tasks = require "fleet.async"

local M = {}

local place_cure = "the token needs vehicle_location, and the owner may hide it"

-- ---- position ----

local function section(data, name)
  return type(data[name]) == "table" and data[name] or {}
end

-- The position in the data, or nil when it was withheld. The section depends on the firmware.
local function place_of(data, wall)
  local drive, location = section(data, "drive_state"), section(data, "location_data")
  local function member(name)
    if drive[name] ~= nil then return drive[name] end
    return location[name]
  end
  local latitude, longitude, at = member "latitude", member "longitude", member "gps_as_of"
  if type(latitude) ~= "number" or type(longitude) ~= "number" then return nil end
  at = type(at) == "number" and at or nil
  return { lat = latitude, lon = longitude, heading = member "heading", at = at, age = at and math.max(0, wall - at) or nil }
end

--- The car's position, by one live read: { lat =, lon =, heading =, at = UTC seconds of the position, age = seconds }, or nil, err, kind.
--- The position may be older than the read; see age.
function M.locate(car, options)
  local data, err, kind = car:vehicle_data({ endpoints = { "location_data", "drive_state" } }, options)
  if not data then return nil, err, kind end
  local place = place_of(data, select(2, core.context(car).clock()))
  if place then return place end
  if type(data.drive_state) ~= "table" and type(data.location_data) ~= "table" then
    local service = data.in_service == true and " (it is in service)" or " (as in service, or while it starts)"
    return errors.failure("service", "locate: the vehicle sent no drive_state" .. service .. ": try again later", { vin = car.vin })
  end
  return errors.failure("forbidden", "locate: the position was withheld: " .. place_cure, { vin = car.vin })
end

-- ---- navigate ----

local function route(car, left)
  local data, err, kind = car:vehicle_data({ endpoints = { "drive_state", "location_data" } }, { timeout = left })
  if not data then return nil, err, kind end
  local drive = section(data, "drive_state")
  local name = drive.active_route_destination
  return {
    destination = type(name) == "string" and name or nil, minutes = drive.active_route_minutes_to_arrival,
    miles = drive.active_route_miles_to_arrival,
  }, data.location_hidden
end

local no_route = "navigate: the service took the address, but no new route appeared within %g s: the car may not have found it"
local hidden_route = "navigate: the service took the address, but whether a route appeared was withheld, as the position is: " .. place_cure

-- The service accepted the address, but no read shows the car's route.
local function unseen(car, kind, message)
  return errors.failure(kind, message, { outcome = "unknown", vin = car.vin })
end

--- Sends an address to the navigation and checks whether a route appears, which the service's answer does not say. options.timeout: seconds
--- to check for, 30. Returns { destination =, minutes =, miles = }, or nil, err, kind: conflict when no route appeared, forbidden when the
--- service withholds routes from this token or share.
function M.navigate(car, address, options)
  check_options.names("navigate", "option", options, { "timeout" })
  if type(address) ~= "string" or address == "" then errors.usage("navigate: the address must be a text, got a %s", type(address)) end
  local timeout = check_options.seconds("navigate", "timeout", options and options.timeout, 30)
  local before, err, kind = route(car, timeout)
  if not before then return nil, err, kind end
  local done
  done, err, kind = car:navigation_request { value = address }
  if not done then return nil, err, kind end
  local pauses = tasks.pauses(timeout, 1, 8)
  while pauses:again() do
    local found, hidden, why = route(car, math.max(1, pauses:left()))
    if not found then return nil, hidden, why end
    local new = found.destination and (found.destination ~= before.destination or before.destination == address)
    if new then return found end
    if hidden and not found.destination then return unseen(car, "forbidden", hidden_route) end
  end
  return unseen(car, "conflict", string.format(no_route, timeout))
end

-- ---- wait_until ----

local list_age = 10 -- seconds

-- The value at a path such as "charge_state.battery_level", or nil.
local function field(data, path)
  for name in string.gmatch(path, "[^.]+") do
    if type(data) ~= "table" then return nil end
    data = data[name]
  end
  return data
end

-- Reads the record if it has the field, from the free list if that has it; otherwise makes a live read, but only if the record shows the
-- car awake.
local function look(car, path, left)
  local part = string.match(path, "^([^.]+)%.")
  local record, err = records.of(car, { timeout = left, age = list_age })
  if record and not part and record[path] == nil then record, err = car:info { timeout = left } end
  if not record then return nil, err, err.kind end
  if not part then return { value = record[path], state = record.state } end
  if record.state ~= "online" then return { state = record.state, unseen = true } end
  local data, failure, kind = car:vehicle_data({ endpoints = { part } }, { timeout = left })
  if not data then
    if kind == "asleep" or kind == "offline" then return { state = kind, unseen = true } end
    return nil, failure, kind
  end
  return { value = field(data, path), state = record.state }
end

local function checked(given)
  check_options.names("wait_until", "option", given, { "what", "is", "timeout", "every" })
  if type(given.what) ~= "string" or given.what == "" then
    errors.usage("wait_until: 'what' must name a field such as \"state\" or \"charge_state.charging_state\"")
  end
  if given.is == nil then errors.usage("wait_until: 'is' is missing: a value, or a function of the value") end
  return check_options.seconds("wait_until", "every", given.every, 60), check_options.seconds("wait_until", "timeout", given.timeout, 3600)
end

--- Waits until a field of the car has a value, or a function of it returns true: { what = "charge_state.battery_level", is = function(v) …
--- }. A field of the record (state) is free when the list of products has it, else a read of the record is billed. For other fields it
--- makes live reads of their section, only while the record shows the car awake. every: seconds between reads, 60, growing to twenty times
--- that; timeout: 3600. Returns the value, or nil, err, kind: timeout with err.state.
function M.wait_until(car, given)
  local every, timeout = checked(given)
  local holds = type(given.is) == "function" and given.is or function(value) return value == given.is end
  local pauses = tasks.pauses(timeout, every, every * 20) -- a car that is read more often does not fall asleep
  local state
  repeat
    local found, err, kind = look(car, given.what, math.max(1, pauses:left()))
    if not found then return nil, err, kind end
    if not found.unseen and holds(found.value) then return found.value end
    state = found.state
  until not pauses:again()
  local text = string.format("wait_until: %s has not become so within %g s; the car is %s", given.what, timeout, tostring(state))
  return errors.failure("timeout", text, { state = state })
end

return M
