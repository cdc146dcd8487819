-- The default vehicle: the sections of vehicle_data with their documented fields (doc/protocol.md#vehicle-data). Functions return new
-- tables, because each vehicle changes its own.
local json = require("fleet.sim.json")

local null = json.null
local M = {}

M.INVALID = "<invalid>" -- the service sends it for a text without a value

local sections = {}
M.sections = sections

function sections.charge_state()
  return {
    battery_heater_on = false, battery_level = 62, battery_range = 186, charge_amps = 32, charge_current_request = 32,
    charge_current_request_max = 32, charge_enable_request = true, charge_energy_added = 0, charge_limit_soc = 80,
    charge_limit_soc_max = 100, charge_limit_soc_min = 50, charge_limit_soc_std = 80, charge_miles_added_ideal = 0,
    charge_miles_added_rated = 0, charge_port_cold_weather_mode = false, charge_port_color = M.INVALID,
    charge_port_door_open = false, charge_port_latch = "Engaged", charge_rate = 0, charger_actual_current = 0,
    charger_phases = 1, charger_pilot_current = 32, charger_power = 0, charger_voltage = 0, charging_state = "Disconnected",
    conn_charge_cable = M.INVALID, est_battery_range = 174, fast_charger_brand = M.INVALID, fast_charger_present = false,
    fast_charger_type = M.INVALID, ideal_battery_range = 186, managed_charging_active = false,
    managed_charging_start_time = null, managed_charging_user_canceled = false, max_range_charge_counter = 0,
    minutes_to_full_charge = 0, not_enough_power_to_heat = null, off_peak_charging_enabled = false,
    off_peak_charging_times = "all_week", off_peak_hours_end_time = 360, preconditioning_enabled = false,
    preconditioning_times = "all_week", scheduled_charging_mode = "Off", scheduled_charging_pending = false,
    scheduled_charging_start_time = null, scheduled_charging_start_time_app = 0, scheduled_departure_time = null,
    scheduled_departure_time_minutes = 0, supercharger_session_trip_planner = false, time_to_full_charge = 0,
    trip_charging = false, usable_battery_level = 62, user_charge_enable_request = null,
  }
end

function sections.climate_state()
  return {
    allow_cabin_overheat_protection = true, auto_seat_climate_left = false, auto_seat_climate_right = false,
    auto_steering_wheel_heat = false, battery_heater = false, battery_heater_no_power = null, bioweapon_mode = false,
    cabin_overheat_protection = "Off", cabin_overheat_protection_actively_cooling = false, climate_keeper_mode = "off",
    cop_activation_temperature = "High", defrost_mode = 0, driver_temp_setting = 21, fan_status = 0, hvac_auto_request = "On",
    inside_temp = 15, is_auto_conditioning_on = false, is_climate_on = false, is_front_defroster_on = false,
    is_preconditioning = false, is_rear_defroster_on = false, left_temp_direction = 0, max_avail_temp = 28,
    min_avail_temp = 15, outside_temp = 12, passenger_temp_setting = 21, remote_heater_control_enabled = false,
    right_temp_direction = 0, seat_heater_left = 0, seat_heater_right = 0, seat_heater_rear_left = 0,
    seat_heater_rear_center = 0, seat_heater_rear_right = 0, seat_fan_front_left = 0, seat_fan_front_right = 0,
    side_mirror_heaters = false, steering_wheel_heat_level = 0, steering_wheel_heater = false,
    supports_fan_only_cabin_overheat_protection = true, wiper_blade_heater = false,
  }
end

-- The position is stored here; replies include it only when location_data is requested.
function sections.drive_state()
  return {
    active_route_latitude = null, active_route_longitude = null, active_route_traffic_minutes_delay = 0,
    gps_as_of = 0, heading = 90, latitude = 52.52, longitude = 13.405, native_latitude = 52.52, native_location_supported = 1,
    native_longitude = 13.405, native_type = "wgs", power = 0, shift_state = null, speed = null,
  }
end

M.location_fields = {
  "active_route_latitude", "active_route_longitude", "active_route_destination", "gps_as_of", "heading", "latitude",
  "longitude", "native_latitude", "native_location_supported", "native_longitude", "native_type",
}

function sections.gui_settings()
  return {
    gui_24_hour_time = true, gui_charge_rate_units = "kW", gui_distance_units = "mi/hr", gui_range_display = "Rated",
    gui_temperature_units = "C", gui_tirepressure_units = "Bar", show_range_units = false,
  }
end

function sections.vehicle_config()
  return {
    aux_park_lamps = "Eu", badge_version = 0, can_accept_navigation_requests = true, can_actuate_trunks = true,
    car_special_type = "base", car_type = "model3", charge_port_type = "CCS", cop_user_set_temp_supported = true,
    dashcam_clip_save_supported = true, default_charge_to_max = false, driver_assist = "AP3",
    ece_restrictions = true, efficiency_package = "Default", eu_vehicle = true, exterior_color = "DeepBlue",
    exterior_trim = "Black", exterior_trim_override = "", front_drive_unit = "PermanentMagnet", has_air_suspension = false,
    has_ludicrous_mode = false, has_seat_cooling = true, headlamp_type = "Global", interior_trim_type = "Black",
    key_version = 2, motorized_charge_port = true, paint_color_override = "", performance_package = "Base", plg = true,
    pws = true, rear_drive_unit = "PermanentMagnet", rear_seat_heaters = 1, rear_seat_type = 0, rhd = false,
    roof_color = "RoofColorGlass", seat_type = null, spoiler_type = "None", sun_roof_installed = null,
    supports_qr_pairing = true, third_row_seats = "None", trim_badging = "74d", use_range_badging = true, utc_offset = 3600,
    webcam_selfie_supported = true, webcam_supported = true, wheel_type = "Pinwheel18",
  }
end

local function tyres(t)
  for _, wheel in ipairs({ "fl", "fr", "rl", "rr" }) do
    t["tpms_hard_warning_" .. wheel] = false
    t["tpms_soft_warning_" .. wheel] = false
    t["tpms_pressure_" .. wheel] = 2.9
    t["tpms_last_seen_pressure_time_" .. wheel] = 0
  end
  return t
end

function sections.vehicle_state()
  return tyres({
    allow_authorized_mobile_devices_only = false, api_version = 85, autopark_state_v2 = "unavailable",
    autopark_style = "dead_man", calendar_supported = true, center_display_state = 0, dashcam_clip_save_available = true,
    dashcam_state = "Recording", df = 0, dr = 0, pf = 0, pr = 0, ft = 0, rt = 0, fd_window = 0, fp_window = 0,
    rd_window = 0, rp_window = 0, feature_bitmask = "15dffbff,0", homelink_device_count = 1, homelink_nearby = true,
    is_user_present = false, last_autopark_error = "no_error", locked = true, notifications_supported = true,
    odometer = 12345.6, parsed_calendar_supported = true, remote_start = false, remote_start_enabled = true,
    remote_start_supported = true, santa_mode = 0, sentry_mode = false, sentry_mode_available = true, service_mode = false,
    service_mode_plus = false, smart_summon_available = false, summon_standby_mode_enabled = false,
    sun_roof_percent_open = null, sun_roof_state = "unknown", tpms_rcp_front_value = 2.9, tpms_rcp_rear_value = 2.9,
    valet_mode = false, valet_pin_needed = true, vehicle_self_test_progress = 0, vehicle_self_test_requested = false,
    webcam_available = true, media_state = { remote_control_enabled = true },
    media_info = {
      a2dp_source_name = "", audio_volume = 2.6, audio_volume_increment = 0.333333, audio_volume_max = 10.333333,
      media_playback_status = "Stopped", now_playing_album = "", now_playing_artist = "", now_playing_duration = 0,
      now_playing_elapsed = 0, now_playing_source = "", now_playing_station = "", now_playing_title = "",
    },
    software_update = { download_perc = 0, expected_duration_sec = 1500, install_perc = 0, status = "", version = " " },
    speed_limit_mode = {
      active = false, current_limit_mph = 85, max_limit_mph = 120, min_limit_mph = 50, pin_code_set = false,
    },
    guest_mode = false, pin_to_drive_enabled = false,
    parental_controls = { active = false, pin_code_set = false, speed_limit_mph = 85, settings = {} },
  })
end

function sections.charge_schedule_data()
  return {
    charge_schedules = json.list(), charge_schedule_window = null, charge_buffer = 60, max_num_charge_schedules = 50,
    next_schedule = false, show_schedule_complete_state = false,
  }
end

function sections.preconditioning_schedule_data()
  return {
    precondition_schedules = json.list(), preconditioning_schedule_window = null, max_num_precondition_schedules = 50,
    next_schedule = false,
  }
end

-- Fields of the record in GET vehicles and GET vehicles/{vin}.
function M.record()
  return {
    color = null, access_type = "OWNER", option_codes = null, granular_access = { hide_private = false }, tokens = null,
    state = "online", in_service = false, calendar_enabled = true, api_version = 85, backseat_token = null,
    backseat_token_updated_at = null, ble_autopair_enrolled = false,
  }
end

-- Fields of fleet_status.
function M.status()
  return {
    firmware_version = "2026.20.3", vehicle_command_protocol_required = true, discounted_device_data = false,
    fleet_telemetry_version = "1.3.0", safety_screen_streaming_toggle_enabled = null,
  }
end

-- The garage without a file. The VINs have a wrong check digit, so that no real car has them.
M.garage = {
  accounts = { { email = "driver@example.com", region = "na" } },
  vehicles = {
    {
      vin = "5YJ3FLEE9RF000001", display_name = "Blue",
      charge_state = { conn_charge_cable = "IEC", charging_state = "Stopped" },
    },
    { vin = "5YJSFLEE9KF000002", display_name = "Red", vehicle_command_protocol_required = false },
  },
  energy_sites = { { energy_site_id = 2252147638651584, site_name = "Home" } },
  charging_history = { { vin = "5YJ3FLEE9RF000001" } },
}

return M
