-- signed_command: the vehicle command protocol. fleet.receiver has the cryptography, with one receiver per vehicle and domain. This file
-- checks permissions and runs accepted messages. Without fleet.receiver (service.core is nil) the simulator replies with an error.
local admission = require("fleet.sim.admission")
local computers = require("fleet.sim.signed.computers")
local faults = require("fleet.sim.faults")
local json = require("fleet.sim.json")
local signed_faults = require("fleet.sim.signed.faults")
local text = require("fleet.sim.text")

local M = {}

local UNSUPPORTED = "the vehicle does not support the vehicle command protocol: use the plain command"
local NO_RECEIVER = "this simulator was started without fleet.receiver: signed commands cannot be verified"
local DOMAIN = "infotainment" -- of a message that names none
local UNKNOWN_ACTION = 9 -- the fault for an invalid command

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

-- Adds members that are zero: a protobuf message omits them.
local function complete(service, name, params)
  local row = service.rows.by_name[name]
  for _, param in ipairs(row and row.params or {}) do
    if param.place == "body" and param.required and params[param.name] == nil then params[param.name] = ZERO[param.type] end
  end
  return params
end

-- ---- an accepted message ----

-- the member that contains the action
local OWN = {
  infotainment = { type = "CarServer.Action", inside = "vehicleAction", actions = require("fleet.sim.signed.infotainment") },
  vehicle_security = { type = "VCSEC.UnsignedMessage", actions = require("fleet.sim.signed.security") },
}
local PASS = {} -- marks an action that its handler leaves to the rows

-- The members of the action of a message.
local function members_of(core, own, name, payload)
  local message = json.decode(assert(core.message_json(own.type, payload)))
  return (own.inside and message[own.inside] or message)[name]
end

-- Runs actions without a row: reads, keys, single closures. Returns whether it was one, answer or nil, reason or nil.
local function run_own(x, domain, payload)
  local own, core = OWN[domain], x.service.core
  local name = core.command_action(domain, payload)
  local act = name and own.actions[name]
  if not act then return false end
  local answer, reason = act(x, members_of(core, own, name, payload))
  if answer == PASS then return false end
  x.named(name)
  return true, answer, reason
end

-- A message may contain a command for several seats; the first refusal ends it.
local function run_row(x, domain, payload)
  local name, params, further = x.service.core.decode_command(domain, payload)
  if not name then return false end
  x.named(name)
  local reason = x.obey(name, params)
  for _, more in ipairs(further or {}) do
    reason = reason or x.obey(name, more)
  end
  return true, reason
end

local function respond(service, vehicle, domain, payload, context)
  local x = {
    service = service, vehicle = vehicle, signer = context.envelope.signer, pass = PASS, shows_place = context.shows_place,
    obey = function(name, params) return service:obey(vehicle, name, complete(service, name, params), context) end,
    named = function(name) context.signed_name = name end,
  }
  local done, answer, reason = run_own(x, domain, payload)
  if not done then
    done, reason = run_row(x, domain, payload)
    if not done then return nil, UNKNOWN_ACTION end
  end
  return reason and refusal(service, domain, reason) or answer
end

-- ---- the endpoint ----

-- The service accepts HMAC only; AES-GCM is for Bluetooth (doc/protocol.md#command-authentication).
local function check_signature(context, envelope)
  if envelope.gcm then
    context.fail(400, "invalid_request", "messages signed with AES-GCM are not accepted here: use HMAC")
  end
end

local function read_message(context)
  local service = context.service
  local bytes = text.unbase64(context.body.routable_message)
  if not bytes or bytes == "" then context.fail(400, "invalid_request", "routable_message is not base64") end
  if not service.core then context.fail(540, NO_RECEIVER) end
  local envelope = service.core.read_envelope(bytes)
  if not envelope then context.fail(400, "invalid_request", "routable_message cannot be read") end
  return envelope, bytes
end

-- The command in a message, before its signature is checked; nil when no row has it.
local function command_of(core, envelope, bytes)
  local message = core.message_json("UniversalMessage.RoutableMessage", bytes)
  local payload = message and json.decode(message).protobuf_message_as_bytes
  return payload and core.decode_command(envelope.domain or DOMAIN, text.unbase64(payload)) or nil
end

-- The vehicle checks the role of the key. The service checks account and token as for the plain command.
local function check_rights(context, envelope, bytes)
  if envelope.handshake or context.role == "OWNER" and context.token.scopes.vehicle_cmds then return end
  local service = context.service
  local row = service.rows.by_name[command_of(service.core, envelope, bytes)]
  if not row then return end
  admission.scope(row, context.token)
  service.check_role(context, row)
end

-- Returns "handshake", or "command" and the name of its row, because a fault may be limited to one of them.
function M.kind_of(context)
  local read, envelope, bytes = pcall(read_message, context)
  if not read then return nil end
  if envelope.handshake then return "handshake" end
  return "command", command_of(context.service.core, envelope, bytes)
end

local function deliver(context, domain, counter)
  local service, vehicle = context.service, context.vehicle
  return function(bytes)
    local answer, accepted, fault = computers.receiver(service, vehicle, domain):handle(bytes, function(payload)
      return respond(service, vehicle, domain, payload, context)
    end)
    if not answer then context.fail(540, tostring(accepted)) end
    context.request.note = { accepted = context.signed_name, domain = domain, counter = counter, fault = fault }
    return answer
  end
end

local handlers = {}
M.handlers = handlers

function handlers.signed_command(context)
  local service, vehicle = context.service, context.vehicle
  local fault = service.faults:take(faults.PROTOCOL, context)
  if not vehicle:speaks_protocol() or fault and fault.name == "no_protocol" then context.fail(422, UNSUPPORTED) end
  local envelope, bytes = read_message(context)
  check_signature(context, envelope)
  check_rights(context, envelope, bytes)
  context.envelope, context.signed = envelope, true
  local domain = envelope.domain or DOMAIN
  local answer = signed_faults.run({
    service = service, vehicle = vehicle, domain = domain, bytes = bytes, epoch = envelope.epoch, fault = fault,
    deliver = deliver(context, domain, envelope.counter),
  })
  if not answer then context.fail(504, "vehicle did not answer in time") end
  return service.core.base64(answer)
end

return M
