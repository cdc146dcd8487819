-- signed_command: the vehicle's side of the command protocol. The cryptography is fleet.receiver's, one per vehicle and
-- domain, the very code that ships; here stands which receiver a message is for, what happens to an accepted command, and
-- how the vehicle words its answer.
local core = require("fleet.core")
local data = require("fleet.sim.signed_data")

local M = {}

local handlers = {}
M.handlers = handlers

local UNSUPPORTED = "the vehicle does not support the vehicle command protocol: use the plain command"
local DECODING, INVALID_COMMAND = 10, 9 -- signed_message_fault

local domain_names = { DOMAIN_VEHICLE_SECURITY = "vehicle_security", DOMAIN_INFOTAINMENT = "infotainment" }

-- ---- receivers ----

local function bytes_of_hex(hex)
  return (hex:gsub("%x%x", function(pair) return string.char(tonumber(pair, 16)) end))
end

local function enrolled(vehicle)
  local list = {}
  for i, key in ipairs(vehicle.keys) do list[i] = { public_key = bytes_of_hex(key.public_key), role = key.role } end
  return list
end

-- A vehicle has a key of its own per domain; it is made when it is first needed.
local function receiver_for(service, vehicle, domain)
  vehicle.receivers = vehicle.receivers or {}
  local receiver = vehicle.receivers[domain]
  if not receiver then
    receiver = assert(core.receiver({
      key = core.key.generate(), vin = vehicle.vin, domain = domain,
      clock = function() return service:now(), service:now() end,
    }))
    vehicle.receivers[domain] = receiver
  end
  assert(receiver:enroll(enrolled(vehicle)))
  return receiver
end

--- The vehicle gets other keys of its own, as after a repair.
function M.replace_vehicle_keys(vehicle)
  vehicle.receivers = nil
end

--- The vehicle's computers restart: new epochs, clocks and counters at 0.
function M.restart(vehicle)
  for _, receiver in pairs(vehicle.receivers or {}) do receiver:restart() end
end

-- ---- answers ----

-- The words of a refusal that the security domain has a number for.
local errors = {
  not_parked = "GENERICERROR_VEHICLE_NOT_IN_PARK", ["not allowed"] = "GENERICERROR_VEHICLE_NOT_IN_PARK",
  already_set = "GENERICERROR_ALREADY_ON",
}

local answers = {}

function answers.vehicle_security(reason)
  if not reason then return nil end
  return core.encode_message("VCSEC.FromVCSECMessage", { ["nominalError.genericError"] = errors[reason] or "GENERICERROR_UNKNOWN" })
end

function answers.infotainment(reason)
  if not reason then return core.encode_message("CarServer.Response", { ["actionStatus.result"] = 0 }) end
  return core.encode_message("CarServer.Response", {
    ["actionStatus.result"] = 1, ["actionStatus.result_reason.plain_text"] = reason,
  })
end

-- Runs an accepted message. Returns the answer, and the number of a fault when the vehicle knows no such command.
local function obey(context, domain, payload)
  local wanted = data.wanted(domain, payload)
  if wanted then return data.answer(context.vehicle, wanted) end
  local name, params, kind = core.decode_command(domain, payload)
  if not name then return nil, kind == "protocol" and DECODING or INVALID_COMMAND end
  context.accepted = name
  return answers[domain](context.service:obey(context.vehicle, name, params, context))
end

-- ---- the endpoint ----

local function envelope(context, bytes)
  local text = core.message_json("UniversalMessage.RoutableMessage", bytes)
  local message = text and core.json_decode(text)
  if type(message) ~= "table" then context.fail(400, "invalid_request", "routable_message is not a RoutableMessage") end
  return message
end

-- The service reads commands before it passes them on, and cannot read encrypted ones.
local function refuse_encrypted(context, message)
  local signature = message.signature_data or {}
  if signature.AES_GCM_Personalized_data then context.fail(400, "invalid_request", "encrypted commands cannot be inspected") end
end

function handlers.signed_command(context)
  local vehicle = context.vehicle
  if not vehicle:speaks_protocol() then context.fail(422, UNSUPPORTED) end
  local bytes = core.unbase64(context.body.routable_message or "")
  if not bytes or bytes == "" then context.fail(400, "invalid_request", "routable_message is not base64") end
  local message = envelope(context, bytes)
  refuse_encrypted(context, message)
  local domain = domain_names[(message.to_destination or {}).domain]
  if not domain then context.fail(400, "invalid_request", "routable_message is for no domain of the vehicle") end
  local receiver = receiver_for(context.service, vehicle, domain)
  local answer, err = receiver:handle(bytes, function(payload) return obey(context, domain, payload) end)
  if not answer then context.fail(400, "invalid_request", tostring(err)) end
  return core.base64(answer)
end

return M
