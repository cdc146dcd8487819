-- Vehicle data over the signed protocol: the sections of vehicle_data in the words of the protocol's messages.
local core = require("fleet.core")

local M = {}

-- Member of GetVehicleData → member of VehicleData, section of vehicle_data, and the fields that both have.
local sections = {
  getChargeState = { "charge_state", "charge_state", {
    "battery_level", "usable_battery_level", "charge_limit_soc", "charge_limit_soc_std", "charge_limit_soc_min",
    "charge_limit_soc_max", "battery_range", "charger_power", "charger_voltage", "charger_actual_current", "charging_amps",
    "charge_port_door_open", "minutes_to_full_charge",
  } },
  getClimateState = { "climate_state", "climate_state", {
    "driver_temp_setting", "passenger_temp_setting", "is_climate_on", "battery_heater", "fan_status", "is_preconditioning",
  }, { inside_temp = "inside_temp_celsius", outside_temp = "outside_temp_celsius" } },
}

--- The sections that a message asks for, or nil when it is no such question.
function M.wanted(domain, payload)
  if domain ~= "infotainment" then return nil end
  local text = core.message_json("CarServer.Action", payload)
  local action = text and core.json_decode(text)
  local question = action and action.vehicleAction and action.vehicleAction.getVehicleData
  if not question then return nil end
  local list = {}
  for member in pairs(question) do list[#list + 1] = member end
  table.sort(list)
  return list
end

local function put(message, path, value)
  if type(value) ~= "number" and type(value) ~= "boolean" then return end
  if core.encode_message("CarServer.Response", { [path] = value }) then message[path] = value end
end

--- The answer: what the vehicle has of the sections, and of their fields what the protocol's messages have.
function M.answer(vehicle, wanted)
  local message = {}
  for _, member in ipairs(wanted) do
    local section = sections[member]
    if section then
      local path, values = "vehicleData." .. section[1], vehicle.sections[section[2]] or {}
      message[path] = {}
      for _, name in ipairs(section[3]) do put(message, path .. "." .. name, values[name]) end
      for name, other in pairs(section[4] or {}) do put(message, path .. "." .. other, values[name]) end
    end
  end
  message["actionStatus.result"] = 0
  return core.encode_message("CarServer.Response", message)
end

return M
