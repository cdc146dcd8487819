-- Vehicle data over the signed protocol: car:signed_data{ "charge", "climate" }.
--
-- It is a read: nothing in the vehicle changes, so that it may be repeated. The names are those of the protocol's own
-- messages (CarServer.GetVehicleData), in snake_case without "state"; the values are those of vehicle_data.

local core = require "fleet.core"
local rows = require "fleet.call.rows"
local calls = require "fleet.call"
local failure = require "fleet.call.failure"
local command = require "fleet.signing.command"

local M = {}

-- ---- the words of vehicle_data for those of the protocol ----

-- Members that say with other words, or with numbers, what vehicle_data says. An empty text: vehicle_data has no value then.
local words = {
  climate_keeper_mode = { Off = "off", On = "on", Dog = "dog", Party = "camp", Unknown = "" },
  defrost_mode = { Off = 0, Normal = 1, Max = 2 },
  shift_state = { Invalid = "", SNA = "" },
  steering_wheel_heat_level = { StwHeatLevel_Unknown = "", StwHeatLevel_Off = 0, StwHeatLevel_Low = 1, StwHeatLevel_High = 3 },
  conn_charge_cable = { SNA = "<invalid>" }, fast_charger_type = { SNA = "<invalid>" }, fast_charger_brand = { SNA = "<invalid>" },
  charge_port_latch = { SNA = "<invalid>" }, native_type = { GCJ = "gcj", WGS = "wgs" },
  sun_roof_state = { Closed = "closed", Open = "open", Vent = "vent", Moving = "moving", Calibrating = "calibrating", Unknown = "unknown" },
}

-- The prefix of an enumeration's words: the member's own name in CamelCase, or another one.
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

-- An empty message says its own name, { Charging = {} }.
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

-- Values as vehicle_data has them; members keep their own names.
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

-- ---- the call ----

local row = setmetatable({ name = "signed_data", method = "signed_data", write = false }, { __index = rows.by_name.signed_command })

--- Sections of the vehicle's data, signed and, on newer firmware, encrypted: { charge_state = {...}, ..., authenticated = },
--- with the values of vehicle_data (doc/manual/commands.md).
--- wanted: list of section names. Needs a key that is paired with the vehicle. Returns nil, err, kind otherwise.
function M.method(car, wanted, options)
  local payload = core.sections_message(wanted)
  local call = calls.new(row, core.plan(row.pointer, car, "", options), car)
  call.payload, call.domain, call.signed = payload, "infotainment", true
  call.idempotent = true
  if not call.context.keys then return failure.new(call, "unsupported", "it needs a key") end
  if not core.is_vin(call.id) then return failure.new(call, "unsupported", "signing needs the VIN, not an id") end
  local data, err, kind = calls.run(call, command.perform)
  if not data then return nil, err, kind end
  return as_vehicle_data(data)
end

return M
