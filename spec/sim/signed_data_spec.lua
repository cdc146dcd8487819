-- Vehicle data over the signed protocol: twelve sections, made from the state that the plain reads show.
local json = require("fleet.sim.json")
local simulated = require("spec.support.fixtures.simulated")
local signed_vehicle = require("spec.support.fixtures.signed_vehicle")

-- ---- what a section says of a state: section of the protocol → cases of { state, what must be there } ----

local function vehicle_state(members) return { vehicle_state = members } end
local function charge(members) return { charge_state = members } end
local function climate(members) return { climate_state = members } end
local function drive(members) return { drive_state = members } end

local CASES = {
  getChargeState = {
    { charge({ battery_level = 55 }), { battery_level = 55, usable_battery_level = 55, charging_state = { Disconnected = {} } } },
    { charge({ charging_state = "Charging", conn_charge_cable = "IEC" }), {
      charging_state = { Charging = {} }, conn_charge_cable = { IEC = {} }, charge_port_door_open = true,
      charge_port_latch = { Engaged = {} },
    } },
    { charge({ charging_state = "Complete" }), { charging_state = { Complete = {} } } },
    { charge({ charging_state = "NoPower" }), { charging_state = { NoPower = {} } } },
    { charge({ fast_charger_type = "Tesla", fast_charger_present = true }), {
      fast_charger_type = { Tesla = {} }, fast_charger_present = true,
    } },
    { charge({ scheduled_charging_mode = "StartAt", scheduled_charging_start_time_app = 90 }), {
      scheduled_charging_mode = "ScheduledChargingModeStartAt", scheduled_charging_start_time_app = 90,
      scheduled_charging_start_time_minutes = 90,
    } },
    { charge({ scheduled_departure_time = 1773140000, preconditioning_times = "weekdays" }), {
      scheduled_departure_time = { seconds = "1773140000" }, preconditioning_times = { weekdays = {} },
      off_peak_charging_times = { all_week = {} },
    } },
    { charge({ charge_limit_soc = 90, charger_phases = 3 }), { charge_limit_soc = 90, charger_phases = 3, charging_amps = 32 } },
  },
  getClimateState = {
    { climate({ inside_temp = 20.5, driver_temp_setting = 22 }), {
      inside_temp_celsius = 20.5, driver_temp_setting = 22, is_climate_on = false,
    } },
    { climate({ climate_keeper_mode = "camp", defrost_mode = 2 }), { climate_keeper_mode = { Party = {} }, defrost_mode = { Max = {} } } },
    { climate({ cabin_overheat_protection = "FanOnly", cop_activation_temperature = "Low" }), {
      cabin_overheat_protection = "CabinOverheatProtectionFanOnly", cop_activation_temperature = "CopActivationTempLow",
    } },
    { climate({ steering_wheel_heat_level = 3, seat_heater_left = 2, bioweapon_mode = true }), {
      steering_wheel_heat_level = "StwHeatLevel_High", seat_heater_left = 2, bioweapon_mode_on = true,
    } },
  },
  getDriveState = {
    { {}, { shift_state = { Invalid = {} }, odometer_in_hundredths_of_a_mile = 1234560, power = 0 } },
    { drive({ shift_state = "D", speed = 30 }), { shift_state = { D = {} }, speed = 30, speed_float = 30 } },
    { drive({ shift_state = "P" }), { shift_state = { P = {} } } },
    { drive({ active_route_destination = "Home", active_route_latitude = 1.5, active_route_longitude = 2.5 }), {
      active_route_destination = "Home", active_route_coordinates = { latitude = 1.5, longitude = 2.5 },
    } },
  },
  getLocationState = {
    { drive({ latitude = 48.5, longitude = 9.25, heading = 180 }), {
      latitude = 48.5, longitude = 9.25, heading = 180, native_location_supported = true, native_type = { WGS = {} },
    } },
    { drive({ native_type = "gcj" }), { native_type = { GCJ = {} }, homelink_nearby = true } },
  },
  getClosuresState = {
    { {}, { locked = true, door_open_driver_front = false, window_open_driver_front = false, sun_roof_state = { Unknown = {} },
      sentry_mode_state = { Off = {} }, center_display_state = { Off = {} }, is_user_present = false } },
    { vehicle_state({ df = 1, rt = 1, rp_window = 1, locked = false }), {
      door_open_driver_front = true, door_open_trunk_rear = true, door_open_trunk_front = false,
      window_open_passenger_rear = true, locked = false,
    } },
    { vehicle_state({ sentry_mode = true, valet_mode = true, sun_roof_state = "vent", center_display_state = 7 }), {
      sentry_mode_state = { Armed = {} }, valet_mode = true, sun_roof_state = { Vent = {} }, center_display_state = { Sentry = {} },
    } },
    { vehicle_state({ speed_limit_mode = { active = true, current_limit_mph = 60 } }), {
      speed_limit_mode = { active = true, pin_code_set = false, max_limit_mph = 120, min_limit_mph = 50, current_limit_mph = 60 },
    } },
    { vehicle_state({ tonneau_state = "open", tonneau_percent_open = 100 }), {
      tonneau_state = "CLOSURESTATE_OPEN", tonneau_percent_open = 100,
    } },
  },
  getChargeScheduleState = {
    { {}, { charge_buffer = 60, max_num_charge_schedules = 50, next_schedule = false } },
  },
  getPreconditioningScheduleState = {
    { {}, { max_num_precondition_schedules = 50, next_schedule = false } },
  },
  getTirePressureState = {
    { vehicle_state({ tpms_pressure_fl = 2.5, tpms_soft_warning_fl = true }), {
      tpms_pressure_fl = 2.5, tpms_soft_warning_fl = true, tpms_hard_warning_rr = false, tpms_rcp_front_value = 2.9,
      tpms_pressure_rr = 2.9,
    } },
  },
  getMediaState = {
    { vehicle_state({ media_info = { now_playing_title = "Song", now_playing_source = "Spotify", media_playback_status = "Playing" } }), {
      now_playing_title = "Song", now_playing_source = "MediaSourceType_Spotify", media_playback_status = "Playing",
      remote_control_enabled = true,
    } },
    { {}, { media_playback_status = "Stopped", now_playing_source = "MediaSourceType_None", now_playing_title = "" } },
  },
  getMediaDetailState = {
    { vehicle_state({ media_info = { now_playing_album = "Album", now_playing_duration = 200, now_playing_source = "Spotify" } }), {
      now_playing_album = "Album", now_playing_duration = 200, now_playing_source_string = "Spotify", now_playing_elapsed = 0,
    } },
  },
  getSoftwareUpdateState = {
    { {}, { status = { Unknown = {} }, download_perc = 0, version = " " } },
    { vehicle_state({ software_update = { status = "available", version = "2026.24.1" } }), {
      status = { Available = {} }, version = "2026.24.1", expected_duration_sec = 1500,
    } },
  },
  getParentalControlsState = {
    { {}, { parental_controls_active = false, parental_controls_pin_set = false } },
    { vehicle_state({ parental_controls = { active = true, settings = { Curfew = true } } }), {
      parental_controls_active = true, parental_controls_settings = {
        curfew_enabled = true, chill_acceleration_enabled = false, speed_limit_enabled = false, require_safety_settings_enabled = false,
        max_limit_mph = 120, min_limit_mph = 50, current_limit_mph = 85,
      },
    } },
  },
}

local SECTION = {
  getChargeState = "charge_state", getClimateState = "climate_state", getDriveState = "drive_state",
  getLocationState = "location_state", getClosuresState = "closures_state", getTirePressureState = "tire_pressure_state",
  getMediaState = "media_state", getMediaDetailState = "media_detail_state", getSoftwareUpdateState = "software_update_state",
  getChargeScheduleState = "charge_schedule_state", getPreconditioningScheduleState = "preconditioning_schedule_state",
  getParentalControlsState = "parental_controls_state",
}

local function read(vehicle, ...)
  local wanted = {}
  for _, name in ipairs({ ... }) do wanted["getVehicleData." .. name] = {} end
  return vehicle:request("infotainment", wanted).vehicleData
end

describe("signed vehicle data", function()
  for name, section in pairs(SECTION) do
    for i, case in ipairs(CASES[name]) do
      it(("%s says what there is (case %d)"):format(section, i), function()
        local data = read(signed_vehicle.new(case[1]), name)[section]
        for member, wanted in pairs(case[2]) do assert.same({ [member] = wanted }, { [member] = data[member] }) end
        assert.equal(tostring(simulated.START), data.timestamp.seconds)
      end)
    end
  end

  it("gives the sections that were asked for, and no other", function()
    local data, count = read(signed_vehicle.new(), "getDriveState", "getMediaState"), 0
    for name in pairs(data) do
      count = count + 1
      assert.is_true(name == "drive_state" or name == "media_state", name)
    end
    assert.equal(2, count)
  end)

  local PLACE = drive({
    latitude = 48.5, active_route_destination = "Home", active_route_latitude = 1.5, active_route_minutes_to_arrival = 7,
  })

  it("shows no place and no route to a share that hides them", function()
    local v = signed_vehicle.new(PLACE)
    assert.equal("Home", read(v, "getDriveState").drive_state.active_route_destination)
    v.car.record.granular_access = { hide_private = true }
    local data = read(v, "getLocationState", "getDriveState")
    assert.same({ timestamp = data.location_state.timestamp }, data.location_state)
    assert.same({}, { data.drive_state.active_route_destination, data.drive_state.active_route_coordinates })
    assert.equal(7, data.drive_state.active_route_minutes_to_arrival)
    assert.equal(48.5, v:section("drive_state").latitude)
  end)

  it("shows no place to a token without its scope", function()
    local v = signed_vehicle.new(PLACE)
    v.sim.access = v.sim:login({ scope = "openid vehicle_device_data vehicle_cmds" }).access_token
    v.sim.access_until = math.huge
    local data = read(v, "getLocationState", "getDriveState")
    assert.same({ timestamp = data.location_state.timestamp }, data.location_state)
    assert.is_nil(data.drive_state.active_route_destination)
  end)

  it("gives every schedule", function()
    local v = signed_vehicle.new()
    for id = 1, 3 do
      v:request("infotainment", {
        ["addChargeScheduleAction.id"] = id, ["addChargeScheduleAction.days_of_week"] = 127, ["addChargeScheduleAction.enabled"] = true,
        ["addChargeScheduleAction.start_enabled"] = true, ["addChargeScheduleAction.start_time"] = id * 60,
        ["addChargeScheduleAction.latitude"] = 1.5, ["addChargeScheduleAction.longitude"] = 2.5,
      })
    end
    v:request("infotainment", {
      ["addPreconditionScheduleAction.id"] = 9, ["addPreconditionScheduleAction.days_of_week"] = 62,
      ["addPreconditionScheduleAction.precondition_time"] = 420, ["addPreconditionScheduleAction.enabled"] = true,
      ["addPreconditionScheduleAction.latitude"] = 1.5, ["addPreconditionScheduleAction.longitude"] = 2.5,
    })
    local data = read(v, "getChargeScheduleState", "getPreconditioningScheduleState")
    local list = data.charge_schedule_state.charge_schedules
    assert.same({ 3, "1", 180, 127, true }, { #list, list[1].id, list[3].start_time, list[2].days_of_week, list[2].enabled })
    local other = data.preconditioning_schedule_state.precondition_schedules
    assert.same({ 1, "9", 420, 62 }, { #other, other[1].id, other[1].precondition_time, other[1].days_of_week })
  end)

  it("leaves out what the vehicle does not have, and does not fail on odd state", function()
    local v = signed_vehicle.new({ charge_state = { battery_level = 61.5 }, climate_state = { battery_heater_no_power = json.null } })
    v:section("vehicle_state").odometer = 5.25
    v:section("drive_state").shift_state = "X"
    local data = read(v, "getChargeState", "getClimateState", "getDriveState")
    assert.equal(61, data.charge_state.battery_level)
    assert.is_nil(data.climate_state.battery_heater_no_power)
    assert.same({ Invalid = {} }, data.drive_state.shift_state)
    assert.equal(525, data.drive_state.odometer_in_hundredths_of_a_mile)
  end)
end)
