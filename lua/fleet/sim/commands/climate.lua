-- Commands about climate, seats and steering wheel.
local physics = require("fleet.sim.physics")
local vehicles = require("fleet.sim.vehicle")

local M = {}

local NOT_ENABLED = "cabin comfort remote settings not enabled"

local function climate(vehicle)
  return vehicle.sections.climate_state
end

-- Seats and the steering wheel heat only while preconditioning or climate keeper is on (doc/protocol.md#command-bodies).
local function needs_climate(vehicle)
  local c = climate(vehicle)
  if c.is_climate_on or c.is_preconditioning or c.climate_keeper_mode ~= "off" then return nil end
  return NOT_ENABLED
end

function M.auto_conditioning_start(vehicle)
  physics.set_climate(vehicle, true)
  return nil
end

function M.auto_conditioning_stop(vehicle)
  physics.set_climate(vehicle, false)
  return nil
end

local function within(c, value)
  return math.max(c.min_avail_temp, math.min(value, c.max_avail_temp))
end

-- An omitted temperature keeps its value; in a protobuf message it is 0.
function M.set_temps(vehicle, params)
  local c = climate(vehicle)
  if (params.driver_temp or 0) ~= 0 then c.driver_temp_setting = within(c, params.driver_temp) end
  if (params.passenger_temp or 0) ~= 0 then c.passenger_temp_setting = within(c, params.passenger_temp) end
  return nil
end

function M.set_preconditioning_max(vehicle, params)
  local c = climate(vehicle)
  if params.on then physics.set_climate(vehicle, true) end
  c.defrost_mode = params.on and 2 or 0
  c.is_front_defroster_on, c.is_rear_defroster_on = params.on, params.on
  return nil
end

function M.set_bioweapon_mode(vehicle, params)
  if params.on then physics.set_climate(vehicle, true) end
  climate(vehicle).bioweapon_mode = params.on
  return nil
end

function M.set_cabin_overheat_protection(vehicle, params)
  climate(vehicle).cabin_overheat_protection = params.on and (params.fan_only and "FanOnly" or "On") or "Off"
  return nil
end

local COP = { [0] = "Low", [1] = "Medium", [2] = "High" }

function M.set_cop_temp(vehicle, params)
  local level = COP[params.cop_temp]
  if not level then return "invalid_value" end
  climate(vehicle).cop_activation_temperature = level
  return nil
end

local KEEPER = { [0] = "off", [1] = "on", [2] = "dog", [3] = "camp" }

function M.set_climate_keeper_mode(vehicle, params)
  local mode = KEEPER[params.climate_keeper_mode]
  if not mode then return "invalid_value" end
  if mode ~= "off" then physics.set_climate(vehicle, true) end
  climate(vehicle).climate_keeper_mode = mode
  return nil
end

-- ---- seats: doc/protocol.md#command-bodies ----

local HEATERS = {
  [0] = "seat_heater_left", [1] = "seat_heater_right", [2] = "seat_heater_rear_left", [3] = "seat_heater_rear_left_back",
  [4] = "seat_heater_rear_center", [5] = "seat_heater_rear_right", [6] = "seat_heater_rear_right_back",
  [7] = "seat_heater_third_row_left", [8] = "seat_heater_third_row_right",
}

local function whole(value, low, high)
  return type(value) == "number" and value % 1 == 0 and value >= low and value <= high
end

function M.remote_seat_heater_request(vehicle, params)
  local seat = HEATERS[params.seat_position or params.heater]
  if not seat or not whole(params.level, 0, 3) then return "invalid_value" end
  local refused = needs_climate(vehicle)
  if refused then return refused end
  climate(vehicle)[seat] = params.level
  return nil
end

local FANS = { [1] = "seat_fan_front_left", [2] = "seat_fan_front_right" }

-- The command counts 1 (off) to 4 (high), see commands.tsv; the state counts from 0.
function M.remote_seat_cooler_request(vehicle, params)
  local seat = FANS[params.seat_position]
  if not seat or not whole(params.seat_cooler_level, 1, 4) then return "invalid_value" end
  if not vehicle.sections.vehicle_config.has_seat_cooling then return "not_supported" end
  local refused = needs_climate(vehicle)
  if refused then return refused end
  climate(vehicle)[seat] = params.seat_cooler_level - 1
  return nil
end

local AUTO = { [1] = "auto_seat_climate_left", [2] = "auto_seat_climate_right" }

function M.remote_auto_seat_climate_request(vehicle, params)
  local seat = AUTO[params.auto_seat_position]
  if not seat then return "invalid_value" end
  local refused = needs_climate(vehicle)
  if refused then return refused end
  climate(vehicle)[seat] = params.auto_climate_on
  return nil
end

function M.remote_auto_steering_wheel_heat_climate_request(vehicle, params)
  local refused = needs_climate(vehicle)
  if refused then return refused end
  if vehicles.value(climate(vehicle).auto_steering_wheel_heat) == nil then return "not_supported" end
  climate(vehicle).auto_steering_wheel_heat = params.on
  return nil
end

local LEVELS = { [0] = true, [1] = true, [3] = true }

function M.remote_steering_wheel_heat_level_request(vehicle, params)
  if not LEVELS[params.level] then return "invalid_value" end
  local refused = needs_climate(vehicle)
  if refused then return refused end
  climate(vehicle).steering_wheel_heat_level = params.level
  climate(vehicle).steering_wheel_heater = params.level > 0
  return nil
end

function M.remote_steering_wheel_heater_request(vehicle, params)
  local refused = needs_climate(vehicle)
  if refused then return refused end
  climate(vehicle).steering_wheel_heater = params.on
  climate(vehicle).steering_wheel_heat_level = params.on and 3 or 0
  return nil
end

return M
