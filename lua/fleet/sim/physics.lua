-- How a vehicle changes over time, simple enough to check by hand:
--   battery   75 kWh usable, 300 miles; one percent is 0.75 kWh and 3 miles
--   charging  volts x amps x phases; amps is the least of request, cable and vehicle; it ends at the limit
--   climate   the inside temperature approaches the target with a time constant of 10 minutes, the outside temperature with
--             two hours; heating or cooling takes 1.5 kW, from the cable when the car is plugged in
--   waking    takes wake_seconds (12 by default, 10 to 60 in reality)
--   driving   see driving.lua
--   sleep     after sleep_after seconds without use, if the garage has it
-- Time advances when a call reads the vehicle: by minutes while something starts or ends, else in one step.
local driving = require("fleet.sim.driving")
local schedules = require("fleet.sim.schedules")
local vehicles = require("fleet.sim.vehicle")

local M = { PACK_KWH = 75, PACK_MILES = 300, CLIMATE_KW = 1.5, STARTING_SECONDS = 10 }

local STEP = 60
local METERED = 300
local TOLERANCE = 1e-6

local function round(x, step)
  return math.floor(x / step + 0.5) * step
end

-- ---- charging ----

function M.charging_amps(vehicle)
  local charge = vehicle.sections.charge_state
  return math.max(0, math.min(charge.charge_current_request, charge.charge_current_request_max, charge.charger_pilot_current))
end

function M.charging_kw(vehicle)
  local charge = vehicle.sections.charge_state
  if charge.charging_state ~= "Charging" then return 0 end
  return 240 * M.charging_amps(vehicle) * math.max(1, vehicles.value(charge.charger_phases) or 1) / 1000
end

local function minutes_left(vehicle, kw)
  if kw <= 0 then return 0 end
  local percent = vehicle.sections.charge_state.charge_limit_soc - vehicle.energy_percent
  return math.max(0, math.floor(percent / 100 * M.PACK_KWH / kw * 60 + 0.5))
end

local function show_charging(vehicle)
  local charge, kw = vehicle.sections.charge_state, M.charging_kw(vehicle)
  local amps = kw > 0 and M.charging_amps(vehicle) or 0
  charge.charger_actual_current = amps
  charge.charge_amps = charge.charge_current_request
  charge.charger_voltage = kw > 0 and 240 or 0
  charge.charger_power = math.floor(kw + 0.5)
  charge.charge_rate = round(kw / M.PACK_KWH * M.PACK_MILES, 0.1)
  charge.minutes_to_full_charge = minutes_left(vehicle, kw)
  charge.time_to_full_charge = round(charge.minutes_to_full_charge / 60, 0.01)
  charge.charge_port_color = kw > 0 and "FlashingGreen" or "<invalid>"
end

-- The range follows the charge, unless the range was set together with the level.
local function show_range(vehicle)
  local charge, percent = vehicle.sections.charge_state, vehicle.energy_percent
  if vehicle.range_percent == percent then return end
  vehicle.range_percent = percent
  charge.battery_range = round(percent * M.PACK_MILES / 100, 0.01)
  charge.ideal_battery_range = charge.battery_range
  charge.est_battery_range = round(charge.battery_range * 0.93, 0.01)
end

local function show_battery(vehicle)
  local charge = vehicle.sections.charge_state
  local shown = math.floor(vehicle.energy_percent + TOLERANCE)
  if shown ~= charge.battery_level then charge.battery_level, charge.usable_battery_level = shown, shown end
  show_range(vehicle)
end

-- Starts charging, or returns the reason why not. doc/protocol.md#reasons, charge_start.
function M.start_charging(vehicle)
  local charge = vehicle.sections.charge_state
  local state = charge.charging_state
  if not vehicle:cable() then return "disconnected" end
  if state == "NoPower" then return "no_power" end
  if state == "Starting" then return "requested" end
  if state == "Charging" then return "is_charging" end
  if state == "Complete" or vehicle.energy_percent + TOLERANCE >= charge.charge_limit_soc then
    charge.charging_state = "Complete"
    return "complete"
  end
  charge.charging_state, charge.charge_enable_request = "Charging", true
  if vehicle.record.state == "asleep" then vehicle.record.state, vehicle.wake_at = "online", nil end -- charging wakes the car
  charge.charge_energy_added, charge.charge_miles_added_rated, charge.charge_miles_added_ideal = 0, 0, 0
  show_charging(vehicle)
  return nil
end

function M.stop_charging(vehicle)
  local charge = vehicle.sections.charge_state
  if charge.charging_state ~= "Charging" and charge.charging_state ~= "Starting" then return "not_charging" end
  charge.charging_state, charge.charge_enable_request = "Stopped", false
  show_charging(vehicle)
  return nil
end

-- A new limit below the level ends charging; one above it restarts a car that was full.
function M.limit_changed(vehicle)
  local charge = vehicle.sections.charge_state
  local full = vehicle.energy_percent + TOLERANCE >= charge.charge_limit_soc
  if charge.charging_state == "Charging" and full then charge.charging_state = "Complete" end
  if charge.charging_state == "Complete" and not full and vehicle:cable() then charge.charging_state = "Charging" end
  show_charging(vehicle)
end

-- Records what was charged, in pieces of five minutes, for the energy site of the owner. Without such a site, a week is kept.
local function meter(vehicle, from, to, kwh)
  local list = vehicle.meter or {}
  vehicle.meter = list
  local last = list[#list]
  if last and math.floor(last.from / METERED) == math.floor(from / METERED) then
    last.to, last.kwh = to, last.kwh + kwh
    return
  end
  list[#list + 1] = { from = from, to = to, kwh = kwh }
  if #list > 2016 then table.remove(list, 1) end
end

local function charge(vehicle, from, to)
  local kw, state = M.charging_kw(vehicle), vehicle.sections.charge_state
  if kw <= 0 then return end
  local room = math.max(0, state.charge_limit_soc - vehicle.energy_percent) / 100 * M.PACK_KWH
  local kwh = math.min(kw * (to - from) / 3600, room)
  meter(vehicle, from, to, kwh)
  vehicle.charged_kwh = (vehicle.charged_kwh or 0) + kwh -- over the vehicle's whole life, unlike charge_energy_added
  vehicle.energy_percent = vehicle.energy_percent + kwh / M.PACK_KWH * 100
  state.charge_energy_added = round(state.charge_energy_added + kwh, 1e-6)
  state.charge_miles_added_rated = round(state.charge_energy_added / M.PACK_KWH * M.PACK_MILES, 0.01)
  state.charge_miles_added_ideal = state.charge_miles_added_rated
  if vehicle.energy_percent + TOLERANCE >= state.charge_limit_soc then state.charging_state = "Complete" end
end

-- ---- climate ----

function M.set_climate(vehicle, on)
  local climate = vehicle.sections.climate_state
  climate.is_climate_on, climate.is_auto_conditioning_on, climate.is_preconditioning = on, on, on
  climate.remote_heater_control_enabled = on
  climate.fan_status = on and 3 or 0
  if not on then
    climate.climate_keeper_mode, climate.defrost_mode, climate.bioweapon_mode = "off", 0, false
    climate.is_front_defroster_on, climate.is_rear_defroster_on = false, false
  end
end

local function warm(vehicle, seconds)
  local climate = vehicle.sections.climate_state
  local on = climate.is_climate_on
  local target = on and (climate.driver_temp_setting + climate.passenger_temp_setting) / 2 or climate.outside_temp
  local share = 1 - math.exp(-seconds / (on and 600 or 7200))
  climate.inside_temp = round(climate.inside_temp + (target - climate.inside_temp) * share, 1e-6)
  if on and not vehicle:cable() then
    vehicle.energy_percent = math.max(0, vehicle.energy_percent - M.CLIMATE_KW * seconds / 3600 / M.PACK_KWH * 100)
    if vehicle.energy_percent <= 10 then M.set_climate(vehicle, false) end -- the car keeps a reserve for driving
  end
end

-- ---- state ----

--- Wakes the vehicle, as plugging in or opening a door does; a vehicle without a network stays offline.
function M.rouse(vehicle, now)
  if vehicle.record.state == "asleep" then vehicle.record.state, vehicle.wake_at = "online", nil end
  vehicle.used_at = now
end

function M.wake(vehicle, now)
  if vehicle.record.state == "asleep" and not vehicle.wake_at then vehicle.wake_at = now + vehicle.wake_seconds end
end

function M.fall_asleep(vehicle)
  vehicle.record.state, vehicle.wake_at = "asleep", nil
end

local function busy(vehicle)
  local state, climate = vehicle.sections.vehicle_state, vehicle.sections.climate_state
  local charging = vehicle.sections.charge_state.charging_state
  return charging == "Charging" or charging == "Starting" or climate.is_climate_on or state.sentry_mode or
    state.is_user_present or not vehicle:parked()
end

local function rest(vehicle, now)
  if vehicle.wake_at and now >= vehicle.wake_at then
    vehicle.record.state, vehicle.used_at, vehicle.wake_at = "online", vehicle.wake_at, nil
  end
  if vehicle.record.state ~= "online" then return end
  if busy(vehicle) then vehicle.used_at = now end
  if vehicle.sleep_after and now - vehicle.used_at >= vehicle.sleep_after then M.fall_asleep(vehicle) end
end

local function update_software(vehicle, now)
  local update = vehicle.sections.vehicle_state.software_update
  if update.status == "scheduled" and vehicle.install_at and now >= vehicle.install_at then
    update.status, vehicle.installed_at = "installing", vehicle.install_at + update.expected_duration_sec
  end
  if update.status == "installing" and vehicle.installed_at then
    local left = vehicle.installed_at - now
    update.install_perc = math.max(0, math.min(100, math.floor(100 - left / update.expected_duration_sec * 100)))
    if left > 0 then return end
    vehicle.status.firmware_version = update.version:match("%S+") or vehicle.status.firmware_version
    vehicle.sections.vehicle_state.car_version = vehicle.status.firmware_version .. " 0123456789ab"
    update.status, update.version, update.install_perc, vehicle.installed_at, vehicle.install_at = "", " ", 0, nil, nil
  end
end

-- Removes links and codes that have expired.
local function expire(vehicle, now)
  if vehicle.guest_code and now >= vehicle.guest_code.expires_at then vehicle.guest_code = nil end
end

local function step(vehicle, from, to, due)
  local state = vehicle.sections.charge_state
  if state.charging_state == "Starting" and to >= (vehicle.starting_at or from) + M.STARTING_SECONDS then
    state.charging_state = "Charging"
  end
  charge(vehicle, from, to)
  driving.advance(vehicle, to, M.PACK_MILES)
  warm(vehicle, to - from)
  if due <= to then schedules.run(vehicle, from, to, M) end -- a schedule that starts at the end of a step was not active during the step
  update_software(vehicle, to)
  rest(vehicle, to)
end

local function show(vehicle, now)
  vehicle.shown = vehicle.shown + 1
  show_battery(vehicle)
  show_charging(vehicle)
  expire(vehicle, now)
  local stamp = math.floor(now * 1000)
  for _, section in pairs(vehicle.sections) do section.timestamp = stamp end
  vehicle.sections.drive_state.gps_as_of = math.floor(now)
end

-- The last whole minute before a time. An event at that time gets a step of one minute, as if all steps were minutes.
local function minute_before(moment)
  return (math.ceil(moment / STEP - TOLERANCE) - 1) * STEP
end

local function full_at(vehicle, at, kw)
  local percent = vehicle.sections.charge_state.charge_limit_soc - vehicle.energy_percent
  return at + math.max(0, percent) / 100 * M.PACK_KWH / kw * 3600
end

-- Whether the vehicle changes in a way that cannot be computed ahead, so that it is advanced by minutes.
local function unsteady(vehicle)
  local climate, update = vehicle.sections.climate_state, vehicle.sections.vehicle_state.software_update
  return vehicle.wake_at or update.status ~= "" or vehicle.sections.charge_state.charging_state == "Starting"
    or climate.is_climate_on and not vehicle:cable()
end

local INSTANT = 0.1 -- seconds: reads within this time see the same state

-- The end of the longest step in which nothing starts or ends, so that it equals many steps of a minute. due: when a schedule acts next.
local function end_of_step(vehicle, at, due)
  local minute = (math.floor(at / STEP) + 1) * STEP
  if unsteady(vehicle) then return minute end
  local ends, kw = minute_before(due), M.charging_kw(vehicle)
  if kw > 0 then ends = math.min(ends, (math.floor(at / METERED) + 1) * METERED, minute_before(full_at(vehicle, at, kw))) end
  return math.max(minute, ends)
end

-- Advances the vehicle to the current time.
function M.advance(vehicle, now)
  if now - vehicle.updated < INSTANT then return end
  local at = vehicle.updated
  local due = schedules.next_at(vehicle, at)
  while at < now do
    local to = math.min(now, end_of_step(vehicle, at, due))
    step(vehicle, at, to, due)
    if due <= to then due = schedules.next_at(vehicle, to) end
    at = to
  end
  vehicle.updated = now
  show(vehicle, now)
end

M.show = show

return M
