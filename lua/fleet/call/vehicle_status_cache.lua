-- The last reply of fleet_status for each vehicle, cached for a day. It decides about commands that newer firmware takes in another
-- form. The cache never fetches: fleet_status is a billed call that the caller did not make.

local core = require "fleet.core"

local M = {}

local kept_seconds = 24 * 3600

local function key(vin)
  return "status/" .. vin
end

--- Keeps the vehicle_info of a fleet_status reply.
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

--- Why a deprecated command of this row must not be sent to the vehicle, or nil when it may be.
function M.objection(context, row, vin)
  local info = M.recall(context, vin)
  return core.objection(row.pointer, info and info.firmware_version)
end

--- Which firmware a command of this row needs, and whether the vehicle's is too old for certain; nil where it will do.
function M.firmware_need(context, row, vin)
  local info = M.recall(context, vin)
  return core.firmware_need(row.pointer, info and info.firmware_version)
end

return M
