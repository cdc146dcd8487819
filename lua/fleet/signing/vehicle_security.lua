-- Data of the vehicle's security computer: car:body_controller_state(), car:keys(). It answers while the infotainment computer sleeps
-- (doc/protocol.md#vehicle-answers).

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local tables = require "fleet.util.tables"
local tasks = require "fleet.async"
local vehicle_data = require "fleet.signing.vehicle_data"

local M = {}

local function request(kind, members)
  local paths = { ["InformationRequest.informationRequestType"] = "INFORMATION_REQUEST_TYPE_GET_" .. kind }
  for name, value in pairs(members or {}) do paths["InformationRequest." .. name] = value end
  return core.encode_message("VCSEC.UnsignedMessage", paths)
end

local function ask(car, name, payload, wanted, options)
  return vehicle_data.ask(car, { name = name, domain = "vehicle_security", payload = payload, wanted = wanted }, options)
end

-- The word for a value of an enumeration; a number without a name becomes "unknown". An omitted value is the first one.
local function enum_word(value, prefix, first)
  if value == nil then return first end
  if type(value) ~= "string" then return "unknown" end
  return string.lower((string.gsub(value, "^" .. prefix, "")))
end

-- ---- locks, lids, sleep ----

local closures = {
  frontDriverDoor = "front_driver_door", frontPassengerDoor = "front_passenger_door", rearDriverDoor = "rear_driver_door",
  rearPassengerDoor = "rear_passenger_door", rearTrunk = "rear_trunk", frontTrunk = "front_trunk", chargePort = "charge_port",
  tonneau = "tonneau",
}
local locked = { locked = true, internal_locked = true, unlocked = false, selective_unlocked = false }

--- The vehicle's status as in its message, or nil, err, kind.
function M.status(car, options)
  local status, err, kind = ask(car, "body_controller_state", request("STATUS"), "vehicleStatus", options)
  if not status then return nil, err, kind end
  for name in pairs(status) do
    if name ~= "authenticated" then return status end
  end
  return errors.failure("protocol", "body_controller_state: the vehicle's answer says nothing", { vin = car.vin })
end

--- Locks, lids, sleep and presence: { locked =, lock =, closures = { rear_trunk = "closed", … }, sleep =, user_presence =,
--- tonneau_percent_open =, authenticated = }, or nil, err, kind. Never wakes the vehicle unless options.wake is true.
function M.body_controller_state(car, options)
  local status, err, kind = M.status(car, options)
  if not status then return nil, err, kind end
  local out = {
    lock = enum_word(status.vehicleLockState, "VEHICLELOCKSTATE_", "unlocked"), authenticated = status.authenticated,
    sleep = enum_word(status.vehicleSleepStatus, "VEHICLE_SLEEP_STATUS_", "unknown"),
    user_presence = enum_word(status.userPresence, "VEHICLE_USER_PRESENCE_", "unknown"),
  }
  out.locked = locked[out.lock]
  if status.closureStatuses then
    out.closures = {}
    for member, name in pairs(closures) do out.closures[name] = enum_word(status.closureStatuses[member], "CLOSURESTATE_", "closed") end
  end
  if status.detailedClosureStatus then out.tonneau_percent_open = status.detailedClosureStatus.tonneauPercentOpen or 0 end
  return out
end

-- ---- keys ----

local function hex_of(base64)
  local bytes = base64 and core.unbase64(base64)
  return bytes and (string.gsub(bytes, ".", function(c) return string.format("%02x", string.byte(c)) end))
end

-- FM in the messages is a fleet manager.
local function role_of(value)
  local role = enum_word(value, "ROLE_", "none")
  return role == "fm" and "fleet_manager" or role
end

local function own_keys(car)
  local own = {}
  for _, key in ipairs(core.context(car).keys or {}) do own[core.public_key_hex(key:public_bytes())] = true end
  return own
end

local function key_in(car, slot, own, options)
  local entry, err, kind = ask(car, "keys", request("WHITELIST_ENTRY_INFO", { slot = slot }), "whitelistEntryInfo", options)
  if not entry then return nil, err, kind end
  if (entry.slot or 0) ~= slot then
    return errors.failure("protocol", string.format("keys: the vehicle answered for another slot than %d", slot), { vin = car.vin })
  end
  local public = hex_of(entry.publicKey and entry.publicKey.PublicKeyRaw)
  local form_factor = enum_word(entry.metadataForKey and entry.metadataForKey.keyFormFactor, "KEY_FORM_FACTOR_", "unknown")
  return {
    slot = slot, id = hex_of(entry.keyId and entry.keyId.publicKeySHA1), public_key = public, role = role_of(entry.keyRole),
    form_factor = form_factor ~= "unknown" and form_factor or nil, own = own[public or ""] == true, authenticated = entry.authenticated,
  }
end

--- The keys that open the vehicle: a list of { slot =, id =, public_key = 130 hex digits, role =, form_factor =, own =, authenticated = },
--- or nil, err, kind. Sends one message for the list and one for each key; options.timeout applies to all of them together.
function M.keys(car, options)
  local timeout = type(options) == "table" and options.timeout or core.context(car).config.timeout
  local summary, err, kind = ask(car, "keys", request("WHITELIST_INFO"), "whitelistInfo", options)
  if not summary then return nil, err, kind end
  local began, own, list, mask = tasks.now(), own_keys(car), {}, summary.slotMask or 0
  for slot = 0, 31 do
    if mask % 2 == 1 then
      local left = math.max(timeout - (tasks.now() - began), 0.001)
      list[#list + 1], err, kind = key_in(car, slot, own, tables.copy(options or {}, { timeout = left }))
      if err then return nil, err, kind end
    end
    mask = math.floor(mask / 2)
  end
  if #list ~= (summary.numberOfEntries or 0) then
    local text = "keys: the vehicle counts %d keys and names %d"
    return errors.failure("protocol", string.format(text, summary.numberOfEntries or 0, #list), { vin = car.vin })
  end
  return list
end

-- ---- adding and removing ----

local strong = { owner = "may add and remove keys, yours too", fleet_manager = "may do nearly what an owner may" }

-- The parameters with the key as its hex digits; an invalid key is rejected by the row's own check.
local function with_hex(params)
  if type(params) ~= "table" then return params end
  local public = params.public_key
  if type(public) == "userdata" then public = public:public_bytes() end
  local hex = type(public) == "string" and core.public_key_hex(public)
  return hex and tables.copy(params, { public_key = hex }) or params
end

local function refused(car, text, ...)
  return errors.failure("unsupported", string.format(text, ...), { outcome = "not_sent", vin = car.vin })
end

--- Adds a key: { public_key =, role =, form_factor = }. A role above driver requires force = true.
function M.add_key(plain, car, params, options, ...)
  params = with_hex(params)
  local why = type(params) == "table" and strong[params.role]
  if why and not (type(options) == "table" and options.force == true) then
    return refused(car, "add_key: a key of the role %s %s: force = true adds it all the same", params.role, why)
  end
  return plain(car, params, options, ...)
end

--- Removes a key. Removing the client's own key requires force = true, because the client can sign nothing afterwards.
function M.remove_key(plain, car, params, options, ...)
  params = with_hex(params)
  local own = type(params) == "table" and own_keys(car)[params.public_key]
  if own and not (type(options) == "table" and options.force == true) then
    return refused(car, "remove_key: this is the client's own key: without it no command can be signed, and only a person at the vehicle "
      .. "can add it again. force = true removes it all the same")
  end
  return plain(car, params, options, ...)
end

return M
