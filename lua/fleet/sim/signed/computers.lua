-- The two computers of a vehicle that verify signatures, one per domain. Each has its own key pair, epoch and clock (doc/protocol.md). The
-- cryptography is that of fleet.receiver.
local json = require("fleet.sim.json")
local text = require("fleet.sim.text")

local M = {}

local function bytes_of(hex)
  return (hex:gsub("..", function(pair) return string.char(tonumber(pair, 16)) end))
end

M.bytes_of = bytes_of

local function enrolled(vehicle)
  local list = {}
  for i, key in ipairs(vehicle.keys) do list[i] = { public_key = bytes_of(key.public_key), role = key.role } end
  return list
end

local function vehicle_clock(service, vehicle)
  return service:now() + (vehicle.clock_step or 0)
end

local function private_key(service, vehicle, domain)
  vehicle.private_keys = vehicle.private_keys or {}
  vehicle.private_keys[domain] = vehicle.private_keys[domain] or service.core.key.generate()
  return vehicle.private_keys[domain]
end

local function new_receiver(service, vehicle, domain, options)
  options.key, options.vin, options.domain = private_key(service, vehicle, domain), vehicle.vin, domain
  options.keys = enrolled(vehicle)
  return assert(service.core.receiver(options))
end

--- The receiver of a vehicle for a domain.
function M.receiver(service, vehicle, domain)
  vehicle.receivers = vehicle.receivers or {}
  local found = vehicle.receivers[domain]
  if found then return found end
  found = new_receiver(service, vehicle, domain, { clock = function() return vehicle_clock(service, vehicle) end })
  vehicle.receivers[domain] = found
  return found
end

-- When the epoch of this domain began, by the vehicle's clock, as the handshake states it.
local function epoch_began(service, vehicle, domain)
  local core = service.core
  local asked = core.encode_message("UniversalMessage.RoutableMessage", {
    ["to_destination.domain"] = domain == "infotainment" and 3 or 2, uuid = ("\0"):rep(16),
    ["session_info_request.public_key"] = bytes_of(vehicle.keys[1].public_key),
  })
  local reply = json.decode(core.message_json("UniversalMessage.RoutableMessage", (M.receiver(service, vehicle, domain):handle(asked))))
  local info = json.decode(core.message_json("Signatures.SessionInfo", core.unbase64(reply.session_info)))
  return math.floor(vehicle_clock(service, vehicle)) - (info.clock_time or 0)
end

--- A copy of the vehicle in the middle of its epoch whose clock continues but which has forgotten all used counters. The vehicle must have
--- a key.
function M.forgetful(service, vehicle, domain, epoch)
  local began = epoch_began(service, vehicle, domain)
  return new_receiver(service, vehicle, domain, {
    clock = function()
      local now = began or vehicle_clock(service, vehicle)
      began = nil
      return now
    end,
    random = function(n)
      local bytes = epoch or text.unbase64(service.core.random_text(n))
      epoch = nil
      return bytes
    end,
  })
end

--- Applies added or removed keys.
function M.keys_changed(vehicle)
  for _, each in pairs(vehicle.receivers or {}) do assert(each:enroll(enrolled(vehicle))) end
end

--- Replaces both computers, as a repair does: new key pairs and epochs, which invalidate all sessions.
function M.replace(vehicle)
  vehicle.receivers, vehicle.private_keys = nil, nil
end

--- Begins a new epoch, so many seconds ago.
function M.restart(vehicle, ago)
  local step = vehicle.clock_step
  vehicle.clock_step = (step or 0) - (ago or 0)
  for _, each in pairs(vehicle.receivers or {}) do assert(each:restart()) end
  vehicle.clock_step = step
end

return M
