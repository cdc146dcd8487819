-- Commands about charging. Reasons: doc/protocol.md#reasons.
local json = require("fleet.sim.json")
local physics = require("fleet.sim.physics")
local schedules = require("fleet.sim.schedules")

local M = {}

function M.charge_start(vehicle)
  return physics.start_charging(vehicle)
end

function M.charge_stop(vehicle)
  return physics.stop_charging(vehicle)
end

-- A limit outside the vehicle's bounds becomes the nearest bound, and the command succeeds (doc/protocol.md#command-bodies).
function M.set_charge_limit(vehicle, params)
  local charge = vehicle.sections.charge_state
  if params.percent == charge.charge_limit_soc then return "already_set" end
  local percent = math.floor(params.percent)
  charge.charge_limit_soc = math.max(charge.charge_limit_soc_min, math.min(percent, charge.charge_limit_soc_max))
  physics.limit_changed(vehicle)
  return nil
end

function M.set_charging_amps(vehicle, params)
  local charge = vehicle.sections.charge_state
  local amps = math.max(0, math.min(math.floor(params.charging_amps), charge.charge_current_request_max))
  charge.charge_current_request, charge.charge_amps = amps, amps
  return nil
end

function M.charge_standard(vehicle)
  local charge = vehicle.sections.charge_state
  if charge.charge_limit_soc <= charge.charge_limit_soc_std then return "already_started" end
  charge.charge_limit_soc = charge.charge_limit_soc_std
  physics.limit_changed(vehicle)
  return nil
end

function M.charge_max_range(vehicle)
  local charge = vehicle.sections.charge_state
  if charge.charge_limit_soc >= charge.charge_limit_soc_max then return "already_set" end
  charge.charge_limit_soc = charge.charge_limit_soc_max
  charge.max_range_charge_counter = charge.max_range_charge_counter + 1
  physics.limit_changed(vehicle)
  return nil
end

function M.charge_port_door_open(vehicle)
  if vehicle.car_wash then return "car_wash" end
  if not vehicle:parked() then return "not allowed" end
  vehicle.sections.charge_state.charge_port_door_open = true
  vehicle.sections.charge_state.charge_port_latch = "Disengaged"
  return nil
end

function M.charge_port_door_close(vehicle)
  local charge = vehicle.sections.charge_state
  if vehicle.sections.vehicle_config.motorized_charge_port == false then return "non-motorized charge port" end
  if vehicle:cable() then return "cable connected" end
  if not charge.charge_port_door_open then return "already closed" end
  charge.charge_port_door_open, charge.charge_port_latch = false, "Engaged"
  return nil
end

-- ---- schedules ----

local function put(list, entry)
  for i, other in ipairs(list) do
    if other.id == entry.id then
      list[i] = entry
      return
    end
  end
  list[#list + 1] = entry
end

local function remove(list, id)
  for i, other in ipairs(list) do
    if other.id == id then return table.remove(list, i) end
  end
end

-- The id of a new schedule: the time, increased until no schedule has it.
local function id_of(params, context, list)
  local id = tonumber(params.id)
  if id and id ~= 0 then return id end
  local taken = {}
  for _, other in ipairs(list) do taken[other.id] = true end
  id = math.floor(context.now)
  while taken[id] do id = id + 1 end
  return id
end

local function base(params, context, list)
  return {
    id = id_of(params, context, list), name = params.name or "", enabled = params.enabled, one_time = params.one_time or false,
    days_of_week = schedules.mask(params.days_of_week), latitude = params.lat, longitude = params.lon,
  }
end

function M.add_charge_schedule(vehicle, params, context)
  local data = vehicle.sections.charge_schedule_data
  local entry = base(params, context, data.charge_schedules)
  if not entry.days_of_week then return "invalid_value" end
  entry.start_enabled, entry.end_enabled = params.start_enabled, params.end_enabled
  entry.start_time, entry.end_time = params.start_time or 0, params.end_time or 0
  put(data.charge_schedules, entry)
  return nil
end

function M.remove_charge_schedule(vehicle, params)
  remove(vehicle.sections.charge_schedule_data.charge_schedules, tonumber(params.id))
  return nil
end

function M.add_precondition_schedule(vehicle, params, context)
  local data = vehicle.sections.preconditioning_schedule_data
  local entry = base(params, context, data.precondition_schedules)
  if not entry.days_of_week then return "invalid_value" end
  entry.precondition_time = params.precondition_time
  put(data.precondition_schedules, entry)
  return nil
end

function M.remove_precondition_schedule(vehicle, params)
  remove(vehicle.sections.preconditioning_schedule_data.precondition_schedules, tonumber(params.id))
  return nil
end

-- Home is the vehicle's position. The simulator has no work address, so every other place counts as "other".
local function remove_places(vehicle, list, params)
  local drive = vehicle.sections.drive_state
  for i = #list, 1, -1 do
    local near = math.abs(list[i].latitude - drive.latitude) < 0.01 and math.abs(list[i].longitude - drive.longitude) < 0.01
    if (near and params.home) or (not near and params.other) then table.remove(list, i) end
  end
  return nil
end

function M.batch_remove_charge_schedules(vehicle, params)
  return remove_places(vehicle, vehicle.sections.charge_schedule_data.charge_schedules, params)
end

function M.batch_remove_precondition_schedules(vehicle, params)
  return remove_places(vehicle, vehicle.sections.preconditioning_schedule_data.precondition_schedules, params)
end

-- From firmware 2024.26 on, the two older commands succeed and add one more schedule with each call.
local function pile_up(vehicle, list, entry, context)
  local drive = vehicle.sections.drive_state
  vehicle.piled = (vehicle.piled or 0) + 1
  entry.id = math.floor(context.now) * 1000 + vehicle.piled
  entry.name, entry.enabled, entry.one_time, entry.days_of_week = "", true, false, 127
  entry.latitude, entry.longitude = drive.latitude, drive.longitude
  list[#list + 1] = entry
end

function M.set_scheduled_charging(vehicle, params, context)
  local charge, time = vehicle.sections.charge_state, params.time or 0
  if vehicle:firmware("2024.26") then
    local list = vehicle.sections.charge_schedule_data.charge_schedules
    if params.enable then
      pile_up(vehicle, list, { start_enabled = true, start_time = time, end_enabled = false, end_time = 0 }, context)
    end
    return nil
  end
  charge.scheduled_charging_mode = params.enable and "StartAt" or "Off"
  charge.scheduled_charging_pending = params.enable and vehicle:cable() ~= nil
  charge.scheduled_charging_start_time_app = time
  charge.scheduled_charging_start_time = params.enable and schedules.next_time(vehicle, time, context.now) or json.null
  return nil
end

local function off_peak(charge, params)
  charge.off_peak_charging_enabled = params.off_peak_charging_enabled or params.off_peak_charging_weekdays_only or false
  charge.off_peak_charging_times = params.off_peak_charging_weekdays_only and "weekdays" or "all_week"
  charge.off_peak_hours_end_time = params.end_off_peak_time or charge.off_peak_hours_end_time
end

function M.set_scheduled_departure(vehicle, params, context)
  local charge, time = vehicle.sections.charge_state, params.departure_time or 0
  if vehicle:firmware("2024.26") then
    local list = vehicle.sections.preconditioning_schedule_data.precondition_schedules
    if params.enable then pile_up(vehicle, list, { precondition_time = time }, context) end
    return nil
  end
  charge.scheduled_charging_mode = params.enable and "DepartBy" or "Off"
  if not params.enable then return nil end
  charge.scheduled_departure_time_minutes = time
  charge.scheduled_departure_time = schedules.next_time(vehicle, time, context.now)
  charge.preconditioning_enabled = params.preconditioning_enabled or params.preconditioning_weekdays_only or false
  charge.preconditioning_times = params.preconditioning_weekdays_only and "weekdays" or "all_week"
  off_peak(charge, params)
  return nil
end

-- Fleet-managed charging: its bodies are not documented, so the simulator stores them unchecked.
local function managed(name)
  return function(vehicle, params)
    vehicle.managed = vehicle.managed or {}
    vehicle.managed[name] = params
    vehicle.sections.charge_state.managed_charging_active = true
    return nil
  end
end

M.set_managed_charge_current_request = managed("current")
M.set_managed_charger_location = managed("location")
M.set_managed_scheduled_charging_time = managed("time")


return M
