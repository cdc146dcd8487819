-- signed_command: the vehicle command protocol. The cryptography is fleet.receiver's, one per vehicle and domain, the very code
-- that ships; here stands who may use it and what an accepted message does. Without it (service.core is nil) the simulator says
-- so instead of pretending.
local faults = require("fleet.sim.faults")
local json = require("fleet.sim.json")
local signed_faults = require("fleet.sim.signed_faults")
local text = require("fleet.sim.text")

local M = {}

local UNSUPPORTED = "the vehicle does not support the vehicle command protocol: use the plain command"
local NO_RECEIVER = "this simulator was started without fleet.receiver: signed commands cannot be verified"
local UNKNOWN_ACTION = 9 -- enum OperationStatus of the message definitions

local DOMAINS = { DOMAIN_VEHICLE_SECURITY = "vehicle_security", DOMAIN_INFOTAINMENT = "infotainment" }

-- ---- the vehicle's receivers ----

local function bytes_of(hex)
  return (hex:gsub("..", function(pair) return string.char(tonumber(pair, 16)) end))
end

local function enrolled(vehicle)
  local list = {}
  for i, key in ipairs(vehicle.keys) do list[i] = { public_key = bytes_of(key.public_key), role = key.role } end
  return list
end

local function vehicle_clock(service, vehicle)
  return service:now() + (vehicle.clock_step or 0)
end

local function new_receiver(service, vehicle, domain, options)
  options.key, options.vin, options.domain, options.keys = vehicle.private_key, vehicle.vin, domain, enrolled(vehicle)
  return assert(service.core.receiver(options))
end

local function receiver(service, vehicle, domain)
  vehicle.receivers = vehicle.receivers or {}
  local found = vehicle.receivers[domain]
  if found then return found end
  vehicle.private_key = vehicle.private_key or service.core.key.generate()
  found = new_receiver(service, vehicle, domain, { clock = function() return vehicle_clock(service, vehicle) end })
  vehicle.receivers[domain] = found
  return found
end

-- The same vehicle as a fresh one in the middle of its epoch: it knows of no counter that was used.
function M.forgetful(service, vehicle, domain, epoch)
  local random = service.random
  return new_receiver(service, vehicle, domain, {
    clock = function() return vehicle_clock(service, vehicle) end,
    random = function(n)
      local bytes = epoch or random(n)
      epoch = nil
      return bytes
    end,
  })
end

-- After keys were added or removed.
function M.keys_changed(vehicle)
  for _, each in pairs(vehicle.receivers or {}) do assert(each:enroll(enrolled(vehicle))) end
end

-- As after a repair: another key pair, a new epoch; every session of before is worth nothing.
function M.replace_computer(vehicle)
  vehicle.receivers, vehicle.private_key = nil, nil
end

--- A new epoch, which began so many seconds ago.
function M.restart(vehicle, ago)
  local step = vehicle.clock_step
  vehicle.clock_step = (step or 0) - (ago or 0)
  for _, each in pairs(vehicle.receivers or {}) do assert(each:restart()) end
  vehicle.clock_step = step
end

-- ---- vehicle data over the protocol ----

local SECTIONS = {
  getChargeState = { "charge_state", "charge_state" }, getClimateState = { "climate_state", "climate_state" },
  getDriveState = { "drive_state", "drive_state" }, getLocationState = { "location_state", "drive_state" },
  getClosuresState = { "closures_state", "vehicle_state" }, getTirePressureState = { "tire_pressure_state", "vehicle_state" },
  getMediaState = { "media_state", "vehicle_state" }, getMediaDetailState = { "media_detail_state", "vehicle_state" },
  getSoftwareUpdateState = { "software_update_state", "vehicle_state" },
  getChargeScheduleState = { "charge_schedule_state", "charge_schedule_data" },
  getPreconditioningScheduleState = { "preconditioning_schedule_state", "preconditioning_schedule_data" },
  getParentalControlsState = { "parental_controls_state", "vehicle_state" },
}

-- Which of our fields the protocol's message has is tried once; the messages are the judge.
local function fits(service, path, value)
  service.data_paths = service.data_paths or {}
  if service.data_paths[path] == nil then
    service.data_paths[path] = pcall(service.core.encode_message, "CarServer.Response", { [path] = value })
  end
  return service.data_paths[path]
end

local function vehicle_data(service, vehicle, wanted)
  local members = { vehicleData = {} }
  for name in pairs(wanted) do
    local target, source = SECTIONS[name] and SECTIONS[name][1], SECTIONS[name] and vehicle.sections[SECTIONS[name][2]]
    if target then members["vehicleData." .. target] = {} end
    for field, value in pairs(source or {}) do
      local path = ("vehicleData.%s.%s"):format(target, field)
      local kind = type(value)
      if (kind == "number" or kind == "boolean" or kind == "string") and fits(service, path, value) then members[path] = value end
    end
  end
  return service.core.encode_message("CarServer.Response", members)
end

-- ---- what an accepted message does ----

local GENERIC = { not_parked = "GENERICERROR_VEHICLE_NOT_IN_PARK", keyless_driving_disabled = "GENERICERROR_DISABLED_FOR_USER_COMMAND" }

local function refusal(service, domain, reason)
  if domain == "infotainment" then
    return service.core.encode_message("CarServer.Response", {
      ["actionStatus.result"] = 1, ["actionStatus.result_reason.plain_text"] = reason,
    })
  end
  return service.core.encode_message("VCSEC.FromVCSECMessage", {
    ["nominalError.genericError"] = GENERIC[reason] or "GENERICERROR_UNKNOWN",
  })
end

local ZERO = { boolean = false, integer = 0, number = 0, string = "" }

-- A value that is zero leaves no trace in a message.
local function complete(service, name, params)
  for _, param in ipairs(service.rows.params_of[name] or {}) do
    if param.place == "body" and param.required and params[param.name] == nil then params[param.name] = ZERO[param.type] end
  end
  return params
end

local function read_data(service, vehicle, domain, payload)
  local action = domain == "infotainment" and service.core.message_json("CarServer.Action", payload)
  local asked = action and json.decode(action)
  local wanted = type(asked) == "table" and asked.vehicleAction and asked.vehicleAction.getVehicleData
  return wanted and vehicle_data(service, vehicle, wanted) or nil
end

local function respond(service, vehicle, domain, payload, context)
  local name, params = service.core.decode_command(domain, payload)
  if not name then
    local data = read_data(service, vehicle, domain, payload)
    if data then return data end
    return nil, UNKNOWN_ACTION
  end
  context.signed_name = name
  local reason = service:obey(vehicle, name, complete(service, name, params), context)
  return reason and refusal(service, domain, reason) or nil
end

-- ---- the endpoint ----

-- AES-GCM requests are for the short range; the service takes HMAC only (doc/protocol.md#command-authentication).
local function check_signature(context, message)
  local signature = message.signature_data
  if signature and signature.AES_GCM_Personalized_data then
    context.fail(400, "invalid_request", "messages signed with AES-GCM are not accepted here: use HMAC")
  end
end

local function domain_of(message)
  local to = message.to_destination
  return DOMAINS[to and to.domain or ""] or "infotainment"
end

local function read_message(context)
  local service = context.service
  local bytes = text.unbase64(context.body.routable_message)
  if not bytes or bytes == "" then context.fail(400, "invalid_request", "routable_message is not base64") end
  if not service.core then context.fail(540, NO_RECEIVER) end
  local readable = service.core.message_json("UniversalMessage.RoutableMessage", bytes)
  local message = readable and json.decode(readable)
  if not message then context.fail(400, "invalid_request", "routable_message cannot be read") end
  return message, bytes
end

-- Whether a request brings a handshake or a command; faults may be for one of them.
function M.kind_of(context)
  local read, message = pcall(read_message, context)
  if not read then return nil end
  return message.session_info_request and "handshake" or "command"
end

local function signature_of(message)
  return message.signature_data and message.signature_data.HMAC_Personalized_data or {}
end

local function epoch_of(service, message)
  local epoch = signature_of(message).epoch
  return epoch and service.core.unbase64(epoch)
end

local function deliver(context, domain, counter)
  local service, vehicle = context.service, context.vehicle
  return function(bytes)
    local answer, accepted, fault = receiver(service, vehicle, domain):handle(bytes, function(payload)
      return respond(service, vehicle, domain, payload, context)
    end)
    if not answer then context.fail(540, tostring(accepted)) end
    context.note({ accepted = context.signed_name, domain = domain, counter = counter, fault = fault })
    return answer
  end
end

local handlers = {}
M.handlers = handlers

function handlers.signed_command(context)
  local service, vehicle = context.service, context.vehicle
  local fault = service.faults:take(faults.PROTOCOL, context)
  if not vehicle:speaks_protocol() or fault and fault.name == "no_protocol" then context.fail(422, UNSUPPORTED) end
  local message, bytes = read_message(context)
  check_signature(context, message)
  local domain = domain_of(message)
  local answer = signed_faults.run({
    service = service, vehicle = vehicle, domain = domain, bytes = bytes, epoch = epoch_of(service, message), fault = fault,
    deliver = deliver(context, domain, signature_of(message).counter), vehicle_side = M,
  })
  if not answer then context.fail(504, "vehicle did not answer in time") end
  return service.core.base64(answer)
end

return M
