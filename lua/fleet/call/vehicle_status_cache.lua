-- Caches the last fleet_status of each vehicle for a day. Commands that newer firmware takes in another form depend on it. The cache never
-- sends a request, because fleet_status is billed.

local core = require "fleet.core"

local M = {}

local kept_seconds = 24 * 3600

local function key(vin)
  return "status/" .. vin
end

--- Stores the vehicle_info of a fleet_status reply.
function M.remember(context, reply)
  for vin, info in pairs(type(reply) == "table" and type(reply.vehicle_info) == "table" and reply.vehicle_info or {}) do
    context.store:put(key(vin), core.json_encode(info), { ttl = kept_seconds })
  end
end

--- The vehicle_info of the newest fleet_status within a day, or nil.
function M.recall(context, vin)
  local text = context.store:get(key(vin))
  return text and core.json_decode(text) or nil
end

--- The firmware of a vehicle by the newest fleet_status within a day, or nil.
function M.firmware(context, vin)
  local info = M.recall(context, vin)
  return info and info.firmware_version
end

--- Why a deprecated command of this row must not be sent to the vehicle, or nil when it may be: only older firmware takes it.
function M.objection(context, row, vin)
  local version = M.firmware(context, vin)
  if core.firmware_older(version, row["until"]) then return nil end
  local known = version and "the vehicle has " .. tostring(version) or "its firmware is not known here: call fleet_status first"
  return string.format("from firmware %s on it adds a schedule with every call; %s. Use %s, or force = true", row["until"], known,
    row.replacement)
end

--- The firmware that a command of this row needs, and whether the vehicle's is certainly too old; nil when it is new enough.
function M.firmware_need(context, row, vin)
  local version = M.firmware(context, vin)
  local is_older = row.since and core.firmware_older(version, row.since)
  if not row.since or is_older == false then return nil end
  local need = "it needs firmware " .. row.since
  if is_older then need = need .. "; this vehicle has " .. version end
  return need, is_older or false
end

return M
