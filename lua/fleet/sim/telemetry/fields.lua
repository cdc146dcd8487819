-- The values of the fields that a simulated car streams, from its sections. nil: the car cannot report the field now. Fields without an
-- entry here are never streamed.

local physics = require "fleet.sim.physics"
local vehicles = require "fleet.sim.vehicle"

local value = vehicles.value

local M = {}

-- Fields that are copied from a section: { section, member, … }.
local as_they_are = {
  ChargeLimitSoc = { "charge_state", "charge_limit_soc" }, ChargeAmps = { "charge_state", "charger_actual_current" },
  ChargeCurrentRequest = { "charge_state", "charge_current_request" },
  ChargeCurrentRequestMax = { "charge_state", "charge_current_request_max" },
  ChargerVoltage = { "charge_state", "charger_voltage" }, ChargerPhases = { "charge_state", "charger_phases" },
  ChargeRateMilePerHour = { "charge_state", "charge_rate" },
  RatedRange = { "charge_state", "battery_range" }, EstBatteryRange = { "charge_state", "est_battery_range" },
  IdealBatteryRange = { "charge_state", "ideal_battery_range" }, FastChargerPresent = { "charge_state", "fast_charger_present" },
  ChargePortDoorOpen = { "charge_state", "charge_port_door_open" }, DetailedChargeState = { "charge_state", "charging_state" },
  ChargePortColdWeatherMode = { "charge_state", "charge_port_cold_weather_mode" },
  ChargeEnableRequest = { "charge_state", "charge_enable_request" }, BatteryHeaterOn = { "charge_state", "battery_heater_on" },
  NotEnoughPowerToHeat = { "charge_state", "not_enough_power_to_heat" },
  ScheduledChargingPending = { "charge_state", "scheduled_charging_pending" },
  ScheduledChargingStartTime = { "charge_state", "scheduled_charging_start_time" },
  ScheduledChargingMode = { "charge_state", "scheduled_charging_mode" },
  PreconditioningEnabled = { "charge_state", "preconditioning_enabled" },
  SuperchargerSessionTripPlanner = { "charge_state", "supercharger_session_trip_planner" },
  PowershareHoursLeft = { "charge_state", "powershare_hours_left" },
  PowershareInstantaneousPowerKW = { "charge_state", "powershare_instantaneous_power_kw" },
  VehicleSpeed = { "drive_state", "speed" }, Gear = { "drive_state", "shift_state" }, GpsHeading = { "drive_state", "heading" },
  MilesToArrival = { "drive_state", "active_route_miles_to_arrival" },
  MinutesToArrival = { "drive_state", "active_route_minutes_to_arrival" },
  ExpectedEnergyPercentAtTripArrival = { "drive_state", "active_route_energy_at_arrival" },
  RouteTrafficMinutesDelay = { "drive_state", "active_route_traffic_minutes_delay" },
  DestinationName = { "drive_state", "active_route_destination" }, Odometer = { "vehicle_state", "odometer" },
  Locked = { "vehicle_state", "locked" }, VehicleName = { "vehicle_state", "vehicle_name" },
  Version = { "vehicle_state", "car_version" }, ValetModeEnabled = { "vehicle_state", "valet_mode" },
  SpeedLimitMode = { "vehicle_state", "speed_limit_mode", "active" },
  CurrentLimitMph = { "vehicle_state", "speed_limit_mode", "current_limit_mph" },
  RemoteStartEnabled = { "vehicle_state", "remote_start_enabled" }, ServiceMode = { "vehicle_state", "service_mode" },
  HomelinkNearby = { "vehicle_state", "homelink_nearby" }, HomelinkDeviceCount = { "vehicle_state", "homelink_device_count" },
  GuestModeEnabled = { "vehicle_state", "guest_mode" }, PinToDriveEnabled = { "vehicle_state", "pin_to_drive_enabled" },
  SoftwareUpdateVersion = { "vehicle_state", "software_update", "version" },
  SoftwareUpdateDownloadPercentComplete = { "vehicle_state", "software_update", "download_perc" },
  SoftwareUpdateInstallationPercentComplete = { "vehicle_state", "software_update", "install_perc" },
  MediaPlaybackStatus = { "vehicle_state", "media_info", "media_playback_status" },
  MediaNowPlayingTitle = { "vehicle_state", "media_info", "now_playing_title" },
  MediaNowPlayingArtist = { "vehicle_state", "media_info", "now_playing_artist" },
  MediaNowPlayingAlbum = { "vehicle_state", "media_info", "now_playing_album" },
  MediaNowPlayingStation = { "vehicle_state", "media_info", "now_playing_station" },
  MediaNowPlayingDuration = { "vehicle_state", "media_info", "now_playing_duration" },
  MediaNowPlayingElapsed = { "vehicle_state", "media_info", "now_playing_elapsed" },
  MediaPlaybackSource = { "vehicle_state", "media_info", "now_playing_source" },
  MediaAudioVolume = { "vehicle_state", "media_info", "audio_volume" },
  MediaAudioVolumeMax = { "vehicle_state", "media_info", "audio_volume_max" },
  MediaAudioVolumeIncrement = { "vehicle_state", "media_info", "audio_volume_increment" },
  InsideTemp = { "climate_state", "inside_temp" }, OutsideTemp = { "climate_state", "outside_temp" },
  HvacLeftTemperatureRequest = { "climate_state", "driver_temp_setting" },
  HvacRightTemperatureRequest = { "climate_state", "passenger_temp_setting" },
  HvacFanStatus = { "climate_state", "fan_status" }, SeatHeaterLeft = { "climate_state", "seat_heater_left" },
  SeatHeaterRight = { "climate_state", "seat_heater_right" }, SeatHeaterRearLeft = { "climate_state", "seat_heater_rear_left" },
  SeatHeaterRearRight = { "climate_state", "seat_heater_rear_right" },
  SeatHeaterRearCenter = { "climate_state", "seat_heater_rear_center" },
  AutoSeatClimateLeft = { "climate_state", "auto_seat_climate_left" },
  AutoSeatClimateRight = { "climate_state", "auto_seat_climate_right" },
  ClimateSeatCoolingFrontLeft = { "climate_state", "seat_fan_front_left" },
  ClimateSeatCoolingFrontRight = { "climate_state", "seat_fan_front_right" },
  HvacSteeringWheelHeatLevel = { "climate_state", "steering_wheel_heat_level" },
  HvacSteeringWheelHeatAuto = { "climate_state", "auto_steering_wheel_heat" },
  RearDefrostEnabled = { "climate_state", "is_rear_defroster_on" },
  CabinOverheatProtectionMode = { "climate_state", "cabin_overheat_protection" },
  CabinOverheatProtectionTemperatureLimit = { "climate_state", "cop_activation_temperature" },
  WiperHeatEnabled = { "climate_state", "wiper_blade_heater" }, Trim = { "vehicle_config", "trim_badging" },
  ExteriorColor = { "vehicle_config", "exterior_color" }, RoofColor = { "vehicle_config", "roof_color" },
  WheelType = { "vehicle_config", "wheel_type" }, ChargePort = { "vehicle_config", "charge_port_type" },
  EfficiencyPackage = { "vehicle_config", "efficiency_package" }, EuropeVehicle = { "vehicle_config", "eu_vehicle" },
  RightHandDrive = { "vehicle_config", "rhd" }, Setting24HourTime = { "gui_settings", "gui_24_hour_time" },
}

-- Names of an enum for the values of a section; a value without a name is unknown.
local function named(section, member, names)
  return function(sections) return names[value(sections[section][member])] end
end

-- Names of an enum that a section has as they are.
local function one_of(section, member, words)
  local names = {}
  for word in string.gmatch(words, "%S+") do names[word] = word end
  return named(section, member, names)
end

local function text_of(section, member)
  return function(sections)
    local number = value(sections[section][member])
    return number ~= nil and tostring(number) or nil
  end
end

local function tyres(kind)
  return function(sections)
    local s, name = sections.vehicle_state, "tpms_" .. kind .. "_warning_"
    return { front_left = s[name .. "fl"] == true, front_right = s[name .. "fr"] == true, rear_left = s[name .. "rl"] == true,
      rear_right = s[name .. "rr"] == true }
  end
end

local fast_chargers = {
  Supercharger = "Supercharger", Tesla = "Supercharger", Chademo = "CHAdeMO", CHAdeMO = "CHAdeMO", Gb = "GB", GB = "GB", Combo = "Combo",
  ACSingleWireCAN = "ACSingleWireCAN", MCSingleWireCAN = "MCSingleWireCAN",
}

local function is_fast(sections) return sections.charge_state.fast_charger_present == true end

local function software(sections) return sections.vehicle_state.software_update end

local function pack_voltage(vehicle) return math.floor(340 + 0.6 * vehicle.energy_percent + 0.5) end

local computed = {
  PackVoltage = function(_, vehicle) return pack_voltage(vehicle) end,
  -- Positive while the car charges.
  PackCurrent = function(sections, vehicle, kw)
    local power = kw - (tonumber(value(sections.drive_state.power)) or 0)
    return math.floor(power * 10000 / pack_voltage(vehicle) + 0.5) / 10
  end,
  Soc = function(_, vehicle) return math.floor(vehicle.energy_percent * 100 + 0.5) / 100 end,
  EnergyRemaining = function(_, vehicle) return math.floor(vehicle.energy_percent * physics.PACK_KWH + 0.5) / 100 end,
  ACChargingPower = function(sections, _, kw) return is_fast(sections) and 0 or kw end,
  DCChargingPower = function(sections, _, kw) return is_fast(sections) and kw or 0 end,
  ACChargingEnergyIn = function(sections) return not is_fast(sections) and sections.charge_state.charge_energy_added or nil end,
  DCChargingEnergyIn = function(sections) return is_fast(sections) and sections.charge_state.charge_energy_added or nil end,
  Location = function(sections)
    local drive = sections.drive_state
    return { latitude = drive.latitude, longitude = drive.longitude }
  end,
  DestinationLocation = function(sections)
    local latitude, longitude = value(sections.drive_state.active_route_latitude), value(sections.drive_state.active_route_longitude)
    return latitude and longitude and { latitude = latitude, longitude = longitude } or nil
  end,
  DoorState = function(sections)
    local s = sections.vehicle_state
    return { DriverFront = s.df ~= 0, DriverRear = s.dr ~= 0, PassengerFront = s.pf ~= 0, PassengerRear = s.pr ~= 0,
      TrunkFront = s.ft ~= 0, TrunkRear = s.rt ~= 0 }
  end,
  TimeToFullCharge = function(sections, _, kw) return kw > 0 and sections.charge_state.time_to_full_charge or nil end,
  EstimatedHoursToChargeTermination = function(sections, _, kw)
    return kw > 0 and sections.charge_state.time_to_full_charge or nil
  end,
  ChargingCableType = function(sections) return value(sections.charge_state.conn_charge_cable) or "SNA" end,
  ChargePortLatch = one_of("charge_state", "charge_port_latch", "Engaged Disengaged Blocking"),
  FastChargerType = function(sections)
    local name = value(sections.charge_state.fast_charger_type)
    if name == nil or name == "<invalid>" then return "SNA" end
    return fast_chargers[name] or "Other"
  end,
  PowershareStatus = one_of("charge_state", "powershare_status",
    "Inactive Handshaking Init Enabled EnabledReconnectingSoon Stopped"),
  PowershareType = one_of("charge_state", "powershare_type", "None Load Home"),
  PowershareStopReason = one_of("charge_state", "powershare_stop_reason",
    "None SOCTooLow Retry Fault User Reconnecting Authentication"),
  ScheduledDepartureTime = text_of("charge_state", "scheduled_departure_time"),
  RearSeatHeaters = text_of("vehicle_config", "rear_seat_heaters"),
  TpmsHardWarnings = tyres "hard", TpmsSoftWarnings = tyres "soft",
  SunroofInstalled = named("vehicle_config", "sun_roof_installed", { [0] = "NotInstalled", [1] = "Gen1Installed", [2] = "Gen2Installed" }),
  CenterDisplay = named("vehicle_state", "center_display_state", { [0] = "Off", [1] = "Dim", [2] = "Accessory", [3] = "On",
    [4] = "Driving", [5] = "Charging", [6] = "Lock", [7] = "Sentry", [8] = "Dog", [9] = "Entertainment" }),
  SettingTirePressureUnit = one_of("gui_settings", "gui_tirepressure_units", "Psi Bar"),
  SoftwareUpdateExpectedDurationMinutes = function(sections)
    local seconds = value(software(sections).expected_duration_sec)
    return seconds and seconds / 60
  end,
  SoftwareUpdateScheduledStartTime = function(sections)
    local ms = value(software(sections).scheduled_time_ms)
    return ms and ms / 1000
  end,
  SoftwareUpdateAvailable = function(sections) return software(sections).status == "available" end,
  SoftwareUpdateInProgress = function(sections) return software(sections).status == "installing" end,
  RemoteStartActive = function(sections) return sections.vehicle_state.remote_start == true end,
  DefrostForPreconditioning = function(sections)
    return sections.climate_state.is_preconditioning == true and sections.climate_state.defrost_mode == 2
  end,
  SentryMode = function(sections) return sections.vehicle_state.sentry_mode and "Armed" or "Off" end,
  HvacPower = function(sections)
    local climate = sections.climate_state
    return climate.is_preconditioning and "Precondition" or climate.is_climate_on and "On" or "Off"
  end,
  HvacAutoMode = function(sections) return sections.climate_state.is_auto_conditioning_on and "On" or "Override" end,
  LocatedAtHome = function(_, vehicle) return vehicle.trip == nil end,
  DriverSeatOccupied = function(sections) return sections.vehicle_state.is_user_present == true end,
  ClimateKeeperMode = named("climate_state", "climate_keeper_mode", { off = "Off", on = "On", dog = "Dog", camp = "Party" }),
  DefrostMode = named("climate_state", "defrost_mode", { [0] = "Off", [1] = "Normal", [2] = "Max" }),
  CarType = named("vehicle_config", "car_type", { model3 = "Model3", modely = "ModelY", models = "ModelS", models2 = "ModelS",
    modelx = "ModelX", cybertruck = "Cybertruck", semitruck = "SemiTruck" }),
  SettingTemperatureUnit = named("gui_settings", "gui_temperature_units", { C = "Celsius", F = "Fahrenheit" }),
  SettingDistanceUnit = named("gui_settings", "gui_distance_units", { ["mi/hr"] = "Miles", ["km/hr"] = "Kilometers" }),
}
computed.BatteryLevel = computed.Soc

for name, member in pairs { FdWindow = "fd_window", FpWindow = "fp_window", RdWindow = "rd_window", RpWindow = "rp_window" } do
  computed[name] = function(sections) return sections.vehicle_state[member] == 0 and "Closed" or "Opened" end
end
for name, wheel in pairs { Fl = "fl", Fr = "fr", Rl = "rl", Rr = "rr" } do
  as_they_are["TpmsLastSeenPressureTime" .. name] = { "vehicle_state", "tpms_last_seen_pressure_time_" .. wheel }
  as_they_are["TpmsPressure" .. name] = { "vehicle_state", "tpms_pressure_" .. wheel }
end

--- Whether cars of the simulator stream a field.
function M.streams(name) return computed[name] ~= nil or as_they_are[name] ~= nil end

--- The value of a field; nil when the car cannot report it now. kw: charging power.
function M.value(vehicle, name, kw)
  local fn, path = computed[name], as_they_are[name]
  if fn then return fn(vehicle.sections, vehicle, kw) end
  local at = vehicle.sections
  for _, member in ipairs(path) do
    at = at[member]
    if type(at) ~= "table" then break end
  end
  at = value(at)
  if at == "" or at == " " then return nil end
  return at
end

return M
