-- Reads over the signed protocol: car:signed_data{ "charge", "climate" }, car:signed_nearby_charging_sites{ count = 3 }, and those of
-- fleet.signing.vehicle_security. A read changes nothing in the vehicle, so it may be repeated.
--
-- The names of sections are those of the protocol's own messages (CarServer.GetVehicleData), in snake_case without "state"; the values are
-- those of vehicle_data.

local core = require "fleet.core"
local check_options = require "fleet.util.check_options"
local errors = require "fleet.util.errors"
local rows = require "fleet.call.rows"
local calls = require "fleet.call"
local failure = require "fleet.call.failure"
local command = require "fleet.signing.command"
local tables = require "fleet.util.tables"

local M = {}

-- ---- from the protocol's values to those of vehicle_data ----

-- Members whose words or numbers differ from those of vehicle_data. An empty text means that vehicle_data has no value.
local words = {
  climate_keeper_mode = { Off = "off", On = "on", Dog = "dog", Party = "camp", Unknown = "" },
  defrost_mode = { Off = 0, Normal = 1, Max = 2 },
  shift_state = { Invalid = "", SNA = "" },
  steering_wheel_heat_level = { StwHeatLevel_Unknown = "", StwHeatLevel_Off = 0, StwHeatLevel_Low = 1, StwHeatLevel_High = 3 },
  conn_charge_cable = { SNA = "<invalid>" }, fast_charger_type = { SNA = "<invalid>" }, fast_charger_brand = { SNA = "<invalid>" },
  charge_port_latch = { SNA = "<invalid>" }, native_type = { GCJ = "gcj", WGS = "wgs" },
  sun_roof_state = { Closed = "closed", Open = "open", Vent = "vent", Moving = "moving", Calibrating = "calibrating", Unknown = "unknown" },
}

-- The prefix of an enumeration's words, when it is not the member's own name in CamelCase.
local prefixes = {
  cop_activation_temperature = "CopActivationTemp", cop_not_running_reason = "COPNotRunningReason",
  now_playing_source = "MediaSourceType_", tonneau_state = "CLOSURESTATE_",
}
for name in string.gmatch("scheduled_charging_mode charge_port_color charge_limit_reason hvac_auto_request outlet_state "
  .. "cabin_overheat_protection power_feed_state powershare_status powershare_type powershare_stop_reason", "%S+") do
  prefixes[name] = string.gsub("_" .. name, "_(%l)", string.upper)
end

local function word(name, text)
  local known = words[name] and words[name][text]
  if known == "" then return nil end
  if known then return known end
  local prefix = prefixes[name]
  return prefix and string.sub(text, 1, #prefix) == prefix and string.sub(text, #prefix + 1) or text
end

-- The value of an empty message is its name: { Charging = {} } is "Charging".
local function named_alone(value)
  local name, inside = next(value)
  if type(name) ~= "string" or next(value, name) ~= nil or type(inside) ~= "table" or next(inside) ~= nil then return nil end
  return name
end

-- A time is { seconds =, nanos = }; vehicle_data gives `timestamp` in milliseconds, other times in seconds.
local function time_of(name, value)
  if type(value.seconds) ~= "number" then return nil end
  if name ~= "timestamp" then return value.seconds end
  return value.seconds * 1000 + math.floor((value.nanos or 0) / 1e6)
end

local function plain(name, value)
  if type(value) == "string" then return word(name, value) end
  if type(value) ~= "table" then return value end
  local alone = named_alone(value)
  if alone then return word(name, alone) end
  local time = time_of(name, value)
  if time then return time end
  local members = {}
  for key, inside in pairs(value) do members[key] = plain(type(key) == "string" and key or name, inside) end
  return members
end

local renamed = { charge_schedule_state = "charge_schedule_data", preconditioning_schedule_state = "preconditioning_schedule_data" }

-- Converts values to those of vehicle_data; members keep their own names.
local function as_vehicle_data(data)
  local sections = { authenticated = data.authenticated }
  for name, section in pairs(data) do
    if type(section) == "table" then
      local members = {}
      for member, value in pairs(section) do members[member] = plain(member, value) end
      sections[renamed[name] or name] = members
    end
  end
  return sections
end

-- ---- one request ----

local named = {}

-- The row of the envelope, with the name of the request.
local function row_of(name)
  named[name] = named[name] or setmetatable({ name = name, method = name, write = false }, { __index = rows.by_name.signed_command })
  return named[name]
end

--- Sends a request to a computer of the vehicle. question: { name = of the method, domain =, payload = bytes of the message, wanted = the
--- member of the answer }. Returns that member as a table, with authenticated; or nil, err, kind. The client's key must be paired with the
--- vehicle.
function M.ask(car, question, options)
  local row = row_of(question.name)
  local call = calls.new(row, core.plan(row.pointer, car, "", options), car)
  call.payload, call.domain, call.wanted, call.signed = question.payload, question.domain, question.wanted, true
  call.idempotent = true
  if not call.context.keys then return failure.new(call, "unsupported", "it needs a key") end
  if not core.is_vin(call.id) then return failure.new(call, "unsupported", "signing needs the VIN, not an id") end
  return calls.run(call, command.perform)
end

-- ---- sections of the vehicle's data ----

-- CarServer.GetVehicleData has a member for each section: get<Name>State.
local sections = {
  "charge", "charge_schedule", "climate", "closures", "drive", "location", "media", "media_detail", "parental_controls",
  "preconditioning_schedule", "software_update", "tire_pressure",
}
local is_section = tables.set(sections)

-- The message that asks for these sections.
local function request_for(wanted)
  if type(wanted) ~= "table" or #wanted == 0 then
    errors.usage("signed_data: a list of sections is needed: " .. table.concat(sections, ", "))
  end
  local members = {}
  for _, section in ipairs(wanted) do
    if not is_section[section] then errors.unknown_name("signed_data", "section", section, sections) end
    members["vehicleAction.getVehicleData.get" .. string.gsub("_" .. section, "_(%l)", string.upper) .. "State"] = {}
  end
  return core.encode_message("CarServer.Action", members)
end

--- Sections of the vehicle's data, signed and, on newer firmware, encrypted: { charge_state = {...}, ..., authenticated = }, with the
--- values of vehicle_data (doc/manual/commands.md). wanted: list of section names. The client's key must be paired with the vehicle.
--- Returns nil, err, kind on failure.
function M.method(car, wanted, options)
  local question = { name = "signed_data", domain = "infotainment", payload = request_for(wanted), wanted = "vehicleData" }
  local data, err, kind = M.ask(car, question, options)
  if not data then return nil, err, kind end
  return as_vehicle_data(data)
end

-- ---- charging sites ----

local nearby = "signed_nearby_charging_sites"

local function whole(name, value, most)
  if value == nil then return nil end
  if type(value) ~= "number" or value ~= math.floor(value) or value < 1 or value > most then
    errors.usage("%s: '%s' must be a whole number, 1 to %d", nearby, name, most)
  end
  return value
end

-- Converts a site to the form of the plain call, where ids are texts.
local function shaped(site)
  site.type = "supercharger"
  if type(site.id) == "number" then site.id = string.format("%.0f", site.id) end
  if site.location then site.location = { lat = site.location.latitude, long = site.location.longitude } end
  return site
end

--- Superchargers near the vehicle from the vehicle's own data, in the form of nearby_charging_sites. params: count, radius (miles), detail
--- (with amenities and billing).
function M.nearby_charging_sites(car, params, options)
  check_options.names(nearby, "parameter", params, { "count", "radius", "detail" })
  params = params or {}
  local asked = {
    ["vehicleAction.getNearbyChargingSites"] = {},
    ["vehicleAction.getNearbyChargingSites.count"] = whole("count", params.count, 1000),
    ["vehicleAction.getNearbyChargingSites.radius"] = whole("radius", params.radius, 12500),
  }
  if params.detail ~= nil and type(params.detail) ~= "boolean" then errors.usage("%s: 'detail' must be true or false", nearby) end
  if params.detail then asked["vehicleAction.getNearbyChargingSites.include_meta_data"] = true end
  local found, err, kind = M.ask(car, {
    name = nearby, domain = "infotainment", payload = core.encode_message("CarServer.Action", asked), wanted = "getNearbyChargingSites",
  }, options)
  if not found then return nil, err, kind end
  local list = {}
  for i, site in ipairs(found.superchargers or {}) do list[i] = shaped(site) end
  found.superchargers = list
  found.timestamp = found.timestamp and plain("timestamp", found.timestamp)
  return found
end

return M
