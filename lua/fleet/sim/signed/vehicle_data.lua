-- Vehicle data in the vehicle's own form (CarServer.VehicleData): the twelve sections of the protocol, made from the same state as
-- vehicle_data. Members that the simulated vehicle lacks are left out.
local json = require("fleet.sim.json")
local vehicles = require("fleet.sim.vehicle")

local M = {}

local value = vehicles.value

-- ---- writing members ----

local function put(out, path, v)
  if v ~= nil then out[path] = v end
end

-- A state that the protocol encodes as the name of an empty message.
local function put_word(out, path, word)
  if word then out[path .. "." .. word] = {} end
end

local TAKES = {
  number = function(v) return type(v) == "number" and v or nil end,
  whole = function(v) return type(v) == "number" and math.floor(v + 0.5) or nil end,
  flag = function(v)
    if type(v) == "boolean" then return v end
  end,
  text = function(v) return type(v) == "string" and v or nil end,
}

-- Copies members with the same name on both sides, or "there=here". names: words.
local function copy(out, at, source, kind, names)
  for word in names:gmatch("%S+") do
    local there, here = word:match("^(.-)=(.+)$")
    put(out, at .. (there or word), TAKES[kind](value(source[here or word])))
  end
end

local function stamp(out, at, now)
  out[at .. "timestamp.seconds"] = math.floor(now)
end

local function one_of(words, word, otherwise)
  for known in words:gmatch("%S+") do
    if known == word then return word end
  end
  return otherwise
end

-- ---- charging ----

local sections = {}

local function charge_words(out, at, c)
  put_word(out, at .. "charging_state",
    one_of("Disconnected NoPower Starting Charging Complete Stopped Calibrating", c.charging_state, "Unknown"))
  put_word(out, at .. "fast_charger_type",
    one_of("Supercharger Chademo Gb ACSingleWireCAN Combo MCSingleWireCAN Other Tesla", c.fast_charger_type, "SNA"))
  put_word(out, at .. "fast_charger_brand", one_of("Tesla", c.fast_charger_brand, "SNA"))
  put_word(out, at .. "conn_charge_cable", one_of("IEC SAE GB_AC GB_DC", c.conn_charge_cable, "SNA"))
  put_word(out, at .. "charge_port_latch", one_of("Disengaged Engaged Blocking", c.charge_port_latch, "SNA"))
  put_word(out, at .. "preconditioning_times", one_of("weekdays", c.preconditioning_times, "all_week"))
  put_word(out, at .. "off_peak_charging_times", one_of("weekdays", c.off_peak_charging_times, "all_week"))
  put(out, at .. "scheduled_charging_mode",
    "ScheduledChargingMode" .. one_of("StartAt DepartBy", c.scheduled_charging_mode, "Off"))
  put(out, at .. "charge_port_color", "ChargePortColor" ..
    one_of("Red Green Blue White FlashingGreen FlashingAmber Amber FlashingBlue", c.charge_port_color, "Off"))
  put(out, at .. "charge_limit_reason", "ChargeLimitReasonNone")
end

function sections.charge_state(out, at, vehicle)
  local c = vehicle.sections.charge_state
  copy(out, at, c, "whole", "charge_limit_soc charge_limit_soc_std charge_limit_soc_min charge_limit_soc_max " ..
    "max_range_charge_counter battery_level usable_battery_level charger_voltage charger_pilot_current charger_actual_current " ..
    "charger_power minutes_to_full_charge minutes_to_charge_limit=minutes_to_full_charge charger_phases charge_current_request " ..
    "charge_current_request_max off_peak_hours_end_time charging_amps=charge_amps charge_rate_mph=charge_rate " ..
    "scheduled_charging_start_time scheduled_charging_start_time_app scheduled_departure_time_minutes managed_charging_start_time " ..
    "scheduled_charging_start_time_minutes=scheduled_charging_start_time_app " ..
    "scheduled_departure_time.seconds=scheduled_departure_time")
  copy(out, at, c, "number", "battery_range est_battery_range ideal_battery_range charge_energy_added charge_miles_added_rated " ..
    "charge_miles_added_ideal charge_rate_mph_float=charge_rate")
  copy(out, at, c, "flag", "fast_charger_present trip_charging charge_port_door_open scheduled_charging_pending " ..
    "user_charge_enable_request charge_enable_request charge_port_cold_weather_mode managed_charging_active " ..
    "managed_charging_user_canceled preconditioning_enabled supercharger_session_trip_planner")
  charge_words(out, at, c)
end

-- Both kinds of schedules; id and name as in the commands that add them.
local function put_schedules(out, at, list, kind)
  for i, entry in ipairs(list) do
    local place = ("%s[%d]."):format(at, i)
    copy(out, place, entry, "whole", "id days_of_week " .. kind.whole)
    copy(out, place, entry, "number", "latitude longitude")
    copy(out, place, entry, "flag", "one_time enabled " .. kind.flag)
    copy(out, place, entry, "text", "name")
  end
end

local CHARGING = { whole = "start_time end_time", flag = "start_enabled end_enabled" }
local PRECONDITIONING = { whole = "precondition_time", flag = "" }

function sections.charge_schedule_state(out, at, vehicle)
  local data = vehicle.sections.charge_schedule_data
  put_schedules(out, at .. "charge_schedules", data.charge_schedules, CHARGING)
  copy(out, at, data, "whole", "charge_buffer max_num_charge_schedules")
  copy(out, at, data, "flag", "next_schedule show_schedule_complete_state")
end

function sections.preconditioning_schedule_state(out, at, vehicle)
  local data = vehicle.sections.preconditioning_schedule_data
  put_schedules(out, at .. "precondition_schedules", data.precondition_schedules, PRECONDITIONING)
  copy(out, at, data, "whole", "max_num_precondition_schedules")
  copy(out, at, data, "flag", "next_schedule")
end

-- ---- climate ----

local KEEPER = { off = "Off", on = "On", dog = "Dog", camp = "Party" }
local DEFROST = { [0] = "Off", [1] = "Normal", [2] = "Max" }
local WHEEL = { [0] = 1, [1] = 2, [3] = 3 }

function sections.climate_state(out, at, vehicle)
  local c = vehicle.sections.climate_state
  copy(out, at, c, "number", "inside_temp_celsius=inside_temp outside_temp_celsius=outside_temp driver_temp_setting " ..
    "passenger_temp_setting min_avail_temp_celsius=min_avail_temp max_avail_temp_celsius=max_avail_temp")
  copy(out, at, c, "whole", "left_temp_direction right_temp_direction fan_status seat_heater_left seat_heater_right " ..
    "seat_heater_rear_left seat_heater_rear_right seat_heater_rear_center seat_heater_rear_right_back " ..
    "seat_heater_rear_left_back seat_heater_third_row_right seat_heater_third_row_left seat_fan_front_left seat_fan_front_right")
  copy(out, at, c, "flag", "is_front_defroster_on is_rear_defroster_on is_climate_on battery_heater battery_heater_no_power " ..
    "steering_wheel_heater wiper_blade_heater side_mirror_heaters is_preconditioning remote_heater_control_enabled " ..
    "bioweapon_mode_on=bioweapon_mode is_auto_conditioning_on auto_seat_climate_left auto_seat_climate_right " ..
    "allow_cabin_overheat_protection supports_fan_only_cabin_overheat_protection cabin_overheat_protection_actively_cooling " ..
    "auto_steering_wheel_heat")
  put_word(out, at .. "climate_keeper_mode", KEEPER[c.climate_keeper_mode] or "Unknown")
  put_word(out, at .. "defrost_mode", DEFROST[c.defrost_mode])
  put(out, at .. "cabin_overheat_protection", "CabinOverheatProtection" .. one_of("On FanOnly", c.cabin_overheat_protection, "Off"))
  put(out, at .. "cop_activation_temperature",
    "CopActivationTemp" .. one_of("Low Medium High", c.cop_activation_temperature, "Unspecified"))
  put(out, at .. "steering_wheel_heat_level", WHEEL[c.steering_wheel_heat_level])
  put(out, at .. "hvac_auto_request", "HvacAutoRequest" .. one_of("Override", c.hvac_auto_request, "On"))
end

-- ---- driving ----

function sections.drive_state(out, at, vehicle, shows_place)
  local d = vehicle:drive_state(shows_place)
  put_word(out, at .. "shift_state", one_of("P R N D", value(d.shift_state), "Invalid"))
  copy(out, at, d, "whole", "speed power")
  copy(out, at, d, "number", "speed_float=speed active_route_minutes_to_arrival active_route_miles_to_arrival " ..
    "active_route_traffic_minutes_delay active_route_energy_at_arrival " ..
    "active_route_coordinates.latitude=active_route_latitude active_route_coordinates.longitude=active_route_longitude")
  copy(out, at, d, "text", "active_route_destination")
  put(out, at .. "odometer_in_hundredths_of_a_mile", TAKES.whole(vehicle.sections.vehicle_state.odometer * 100))
end

function sections.location_state(out, at, vehicle, shows_place)
  if not shows_place then return end
  local d = vehicle.sections.drive_state
  copy(out, at, d, "number", "latitude longitude native_latitude native_longitude corrected_latitude=latitude " ..
    "corrected_longitude=longitude geo_latitude=latitude geo_longitude=longitude geo_heading=heading")
  copy(out, at, d, "whole", "heading gps_as_of")
  put(out, at .. "native_location_supported", d.native_location_supported == 1)
  put_word(out, at .. "native_type", d.native_type == "gcj" and "GCJ" or "WGS")
  copy(out, at, vehicle.sections.vehicle_state, "flag", "homelink_nearby")
end

-- ---- doors, windows, locks ----

local OPENINGS = {
  door_open_driver_front = "df", door_open_driver_rear = "dr", door_open_passenger_front = "pf", door_open_passenger_rear = "pr",
  door_open_trunk_front = "ft", door_open_trunk_rear = "rt", window_open_driver_front = "fd_window",
  window_open_passenger_front = "fp_window", window_open_driver_rear = "rd_window", window_open_passenger_rear = "rp_window",
}
local ROOF = { closed = "Closed", open = "Open", vent = "Vent", moving = "Moving", calibrating = "Calibrating" }
local DISPLAY = {
  [0] = "Off", "Dim", "Accessory", "On", "Driving", "Charging", "Lock", "Sentry", "Dog", "Entertainment",
}
local TONNEAU = { closed = 0, open = 1, ajar = 2, opening = 5, closing = 6 }

local function put_speed_limit(out, at, mode)
  copy(out, at, mode, "flag", "active pin_code_set")
  copy(out, at, mode, "number", "max_limit_mph min_limit_mph current_limit_mph")
end

function sections.closures_state(out, at, vehicle)
  local s = vehicle.sections.vehicle_state
  for there, here in pairs(OPENINGS) do put(out, at .. there, (value(s[here]) or 0) ~= 0) end
  put_word(out, at .. "sun_roof_state", ROOF[value(s.sun_roof_state)] or "Unknown")
  put_word(out, at .. "center_display_state", DISPLAY[value(s.center_display_state)])
  put_word(out, at .. "sentry_mode_state", s.sentry_mode == true and "Armed" or "Off")
  copy(out, at, s, "whole", "sun_roof_percent_open tonneau_percent_open")
  copy(out, at, s, "flag", "locked is_user_present remote_start valet_mode valet_pin_needed sentry_mode_available")
  put(out, at .. "tonneau_state", TONNEAU[value(s.tonneau_state)])
  put_speed_limit(out, at .. "speed_limit_mode.", s.speed_limit_mode)
end

function sections.tire_pressure_state(out, at, vehicle)
  local s = vehicle.sections.vehicle_state
  for _, wheel in ipairs({ "fl", "fr", "rl", "rr" }) do
    copy(out, at, s, "number", "tpms_pressure_" .. wheel)
    copy(out, at, s, "flag", ("tpms_hard_warning_%s tpms_soft_warning_%s"):format(wheel, wheel))
    copy(out, at, s, "whole", ("tpms_last_seen_pressure_time_%s.seconds=tpms_last_seen_pressure_time_%s"):format(wheel, wheel))
  end
  copy(out, at, s, "number", "tpms_rcp_front_value tpms_rcp_rear_value")
end

-- ---- screen ----

local SOURCES = { [""] = 0, Bluetooth = 8, Spotify = 12, TuneIn = 17, Tidal = 20 }

function sections.media_state(out, at, vehicle)
  local info, state = vehicle.sections.vehicle_state.media_info, vehicle.sections.vehicle_state.media_state
  copy(out, at, state, "flag", "remote_control_enabled")
  copy(out, at, info, "text", "now_playing_artist now_playing_title")
  copy(out, at, info, "number", "audio_volume audio_volume_increment audio_volume_max")
  put(out, at .. "now_playing_source", SOURCES[info.now_playing_source])
  put(out, at .. "media_playback_status", one_of("Playing Paused", info.media_playback_status, "Stopped"))
end

function sections.media_detail_state(out, at, vehicle)
  local info = vehicle.sections.vehicle_state.media_info
  copy(out, at, info, "whole", "now_playing_duration now_playing_elapsed")
  copy(out, at, info, "text",
    "now_playing_source_string=now_playing_source now_playing_album now_playing_station a2dp_source_name")
end

local UPDATE = {
  installing = "Installing", scheduled = "Scheduled", available = "Available", downloading = "Downloading",
  downloading_wifi_wait = "DownloadingWifiWait",
}

function sections.software_update_state(out, at, vehicle)
  local update = vehicle.sections.vehicle_state.software_update
  put_word(out, at .. "status", UPDATE[update.status] or "Unknown")
  copy(out, at, update, "whole", "scheduled_time_ms warning_time_remaining_ms expected_duration_sec download_perc install_perc")
  copy(out, at, update, "text", "version")
end

function sections.parental_controls_state(out, at, vehicle)
  local controls, mode = vehicle.sections.vehicle_state.parental_controls, vehicle.sections.vehicle_state.speed_limit_mode
  local settings, place = controls.settings or {}, at .. "parental_controls_settings."
  put(out, at .. "parental_controls_active", controls.active == true)
  put(out, at .. "parental_controls_pin_set", controls.pin_code_set == true)
  put(out, place .. "speed_limit_enabled", settings.SpeedLimit == true)
  put(out, place .. "chill_acceleration_enabled", settings.Acceleration == true)
  put(out, place .. "require_safety_settings_enabled", settings.SafetyFeatures == true)
  put(out, place .. "curfew_enabled", settings.Curfew == true)
  copy(out, place, mode, "number", "max_limit_mph min_limit_mph")
  copy(out, place, controls, "number", "current_limit_mph=speed_limit_mph")
end

-- ---- all sections ----

local NAMES = {
  getChargeState = "charge_state", getClimateState = "climate_state", getDriveState = "drive_state",
  getLocationState = "location_state", getClosuresState = "closures_state", getTirePressureState = "tire_pressure_state",
  getMediaState = "media_state", getMediaDetailState = "media_detail_state", getSoftwareUpdateState = "software_update_state",
  getChargeScheduleState = "charge_schedule_state", getPreconditioningScheduleState = "preconditioning_schedule_state",
  getParentalControlsState = "parental_controls_state",
}

--- A CarServer.Response with the requested sections. wanted: the members of CarServer.GetVehicleData; shows_place: whether the sender may
--- see the position.
function M.answer(service, vehicle, wanted, shows_place)
  local out = { vehicleData = {} }
  for name in pairs(wanted == json.null and {} or wanted) do
    local section = NAMES[name]
    if section then
      local at = "vehicleData." .. section .. "."
      sections[section](out, at, vehicle, shows_place)
      stamp(out, at, service:now())
    end
  end
  return service.core.encode_message("CarServer.Response", out)
end

return M
