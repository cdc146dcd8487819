-- signed_command: the vehicle command protocol. The cryptography is fleet.receiver's, one per vehicle and domain; here stands
-- who may use it and what happens to an accepted command. Without a receiver the simulator says so, instead of pretending.
local text = require("fleet.sim.text")

local M = {}

local handlers = {}
M.handlers = handlers

local UNSUPPORTED = "the vehicle does not support the vehicle command protocol: use the plain command"
local NO_RECEIVER = "this simulator was started without fleet.receiver: signed commands cannot be verified"

-- hook(service, vehicle, bytes, context) → reply bytes. Set by whoever brings the receivers.
M.hook = nil

function handlers.signed_command(context)
  local service, vehicle = context.service, context.vehicle
  if not vehicle:speaks_protocol() then context.fail(422, UNSUPPORTED) end
  local bytes = text.unbase64(context.body.routable_message)
  if not bytes or bytes == "" then context.fail(400, "invalid_request", "routable_message is not base64") end
  local hook = service.signed_hook or M.hook
  if not hook then context.fail(540, NO_RECEIVER) end
  local answer = hook(service, vehicle, bytes, context)
  return M.base64(answer)
end

-- Standard base64 with padding.
function M.base64(bytes)
  local out = text.base64url(bytes):gsub("-", "+"):gsub("_", "/")
  return out .. ("="):rep(-#out % 4)
end

return M
