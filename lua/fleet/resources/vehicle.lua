-- Methods of a vehicle beyond its rows.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local on_demand = require "fleet.util.on_demand"

local M = { around = {}, methods = {} }

-- The state in the handle's record decides how an ambiguous 408 is interpreted.
local function with_state(plain, car, ...)
  local value, err, kind = plain(car, ...)
  if type(value) == "table" and type(value.state) == "string" then
    local context, _, id = core.context(car)
    context.states[id] = value.state
  end
  return value, err, kind
end
M.around.info = with_state
M.around.wake_up = with_state

-- Whether the position was requested and is missing in the data; its section depends on the firmware.
local function position_withheld(data, params)
  local endpoints = type(data) == "table" and type(params) == "table" and params.endpoints
  for _, section in ipairs(type(endpoints) == "table" and endpoints or {}) do
    if section == "location_data" then
      local drive, location = data.drive_state, data.location_data
      return (type(drive) ~= "table" or drive.latitude == nil) and (type(location) ~= "table" or location.latitude == nil)
    end
  end
  return false
end

local from_stream = on_demand.call("fleet.resources.stream", "vehicle_data")

-- Reads from the client's receiver, without a call; with fallback = "look" makes a live read when the stream lacks a section.
local function streamed(car, params)
  if params.from ~= "stream" then errors.unknown_choice("vehicle_data", "from", tostring(params.from), { "stream" }) end
  if params.fallback ~= nil and params.fallback ~= "look" then
    errors.unknown_choice("vehicle_data", "fallback", tostring(params.fallback), { "look" })
  end
  local data, err, kind = from_stream(car, params)
  if data or not params.fallback then return data, err, kind end
  return nil, nil, nil, { endpoints = params.endpoints }
end

--- Sets location_hidden = true when location was requested and withheld. from = "stream": values of the client's receiver, without a call.
function M.around.vehicle_data(plain, car, params, ...)
  if type(params) == "table" and params.from ~= nil then
    local data, why, what, look = streamed(car, params)
    if not look then return data, why, what end
    params = look
  elseif type(params) == "table" and params.fallback ~= nil then
    errors.usage 'vehicle_data: fallback belongs to from = "stream"'
  end
  local value, err, kind = with_state(plain, car, params, ...)
  if position_withheld(value, params) then value.location_hidden = true end
  return value, err, kind
end

--- The service documents the same answer in three forms: { result = true, reason = "" }, "true" and true.
function M.around.mobile_enabled(plain, car, options, ...)
  local value, err, kind = plain(car, options, ...)
  local raw = type(options) == "table" and options.raw
  if type(value) == "boolean" or (type(value) == "string" and not raw) then
    value = { result = value == true or value == "true", reason = "" }
  end
  return value, err, kind
end

M.around.add_key = on_demand.call("fleet.signing.vehicle_security", "add_key")
M.around.remove_key = on_demand.call("fleet.signing.vehicle_security", "remove_key")

M.methods.body_controller_state = on_demand.call("fleet.signing.vehicle_security", "body_controller_state")
M.methods.keys = on_demand.call("fleet.signing.vehicle_security", "keys")
M.methods.signed_nearby_charging_sites = on_demand.call("fleet.signing.vehicle_data", "nearby_charging_sites")
M.methods.wake = on_demand.call("fleet.resources.wake", "wake")
M.methods.locate = on_demand.call("fleet.resources.looks", "locate")
M.methods.navigate = on_demand.call("fleet.resources.looks", "navigate")
M.methods.wait_until = on_demand.call("fleet.resources.looks", "wait_until")
M.methods.wait_telemetry_synced = on_demand.call("fleet.resources.telemetry", "wait_synced")
M.methods.signed_data = on_demand.call("fleet.signing.vehicle_data", "method")
M.methods.settle = on_demand.call("fleet.confirm", "settle")

return M
