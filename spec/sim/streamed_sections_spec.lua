-- What a simulated car streams, in the form of vehicle_data, beside its own vehicle_data.

local car_fields = require "fleet.sim.telemetry.fields"
local fields = require "fleet.telemetry.fields"
local json = require "fleet.sim.json"
local physics = require "fleet.sim.physics"
local sim_telemetry = require "fleet.sim.telemetry"
local stream = require "fleet.stream"
local vehicles = require "fleet.sim.vehicle"
local received = require "fleet.telemetry.vehicle"
local view = require "fleet.telemetry.view"

local VIN = "5YJ3FLEE9RF000001"

local fast = { fast_charger_present = true, fast_charger_type = "Combo" }

-- A car that knows nearly all that can be streamed.
local function car_of(charge)
  local charge_state = {
    charging_state = "Charging", conn_charge_cable = "IEC", charger_voltage = 230, charger_actual_current = 16,
    charge_current_request = 16, charger_phases = 3, charge_energy_added = 3.25, charge_rate = 21.5, time_to_full_charge = 1.5,
    minutes_to_full_charge = 90, charger_power = 11.52,
    charge_port_door_open = true, scheduled_charging_start_time = 1767225600, scheduled_departure_time = 1767250800,
    not_enough_power_to_heat = false, powershare_status = "Stopped", powershare_type = "Home", powershare_stop_reason = "User",
    powershare_hours_left = 2.5, powershare_instantaneous_power_kw = 3.5,
  }
  for name, value in pairs(charge or {}) do charge_state[name] = value end
  return vehicles.new({
    vin = VIN, display_name = "Blue", charge_state = charge_state,
    climate_state = { is_climate_on = true, is_preconditioning = true, is_auto_conditioning_on = true, defrost_mode = 2 },
    drive_state = { speed = 30, shift_state = "D", active_route_latitude = 52.25, active_route_longitude = -13.5,
      active_route_destination = "Work", active_route_miles_to_arrival = 12.5, active_route_minutes_to_arrival = 18.5,
      active_route_energy_at_arrival = 41, active_route_traffic_minutes_delay = 3 },
    gui_settings = { gui_distance_units = "km/hr" },
    vehicle_config = { sun_roof_installed = 2 },
    vehicle_state = { df = 1, fd_window = 1, sentry_mode = true, center_display_state = 4, tpms_hard_warning_fl = true,
      tpms_soft_warning_rr = true, tpms_pressure_rl = 2.75, tpms_last_seen_pressure_time_fr = 1767200000,
      media_info = { now_playing_album = "Album", now_playing_artist = "Artist", now_playing_duration = 215000,
        now_playing_elapsed = 1000, now_playing_station = "Station", now_playing_title = "Title", media_playback_status = "Playing",
        audio_volume = 2.5, audio_volume_increment = 0.25, audio_volume_max = 10.5 },
      software_update = { version = "2026.32.1", download_perc = 100, install_perc = 10, expected_duration_sec = 1500,
        scheduled_time_ms = 1767225600000, status = "installing" } },
  }, 1, 1767200000)
end

-- The received vehicle, after the payload was encoded and decoded as between a vehicle and a receiver.
local function stream_to_receiver(car, names, as_text)
  local list, kw = {}, physics.charging_kw(car)
  for _, name in ipairs(names) do
    local value = car_fields.value(car, name, kw)
    if value ~= nil then list[#list + 1] = sim_telemetry.signal({ field = name, value = value }, as_text) end
  end
  local record = assert(stream.payload("V", stream.data_payload { vin = VIN, at = 1767200000, signals = list }))
  fields.complete(record)
  record.at, record.arrived, record.connection = 1767200000, 1767200000, 1
  local vehicle = received.new(VIN)
  received.learn(vehicle, record)
  return vehicle
end

local function at_path(data, path)
  for word in string.gmatch(path, "[^.]+") do data = (data or {})[word] end
  return data
end

-- vehicle_data has the unit of the charging rate there; the stream says only whether a distance or a percentage is shown.
local apart = { SettingChargeUnit = true }

describe("a simulated car", function()
  local function compare(as_text)
    local compared = 0
    for name, row in pairs(fields.rows) do
      local has_text = not (name == "DoorState" or string.find(name, "Warnings$"))
      if row.counterpart and not apart[name] and (has_text or not as_text) then
        local car = car_of(string.find(name, "^DC") and fast)
        local data = view.of(stream_to_receiver(car, { name }, as_text))
        for path in string.gmatch(row.counterpart, "%S+") do
          local wanted = at_path(car.sections, path)
          if wanted == json.null then wanted = nil end
          assert.equal(wanted, at_path(data, path), name .. " at " .. path)
          compared = compared + (wanted == nil and 0 or 1)
        end
      end
    end
    return compared
  end

  it("streams what its vehicle_data has", function() assert.is_true(compare() >= 130) end)

  it("streams it also as the text of older firmware", function() assert.is_true(compare(true) >= 117) end)

  it("streams power and energy of the kind that charges, and does not know the other energy", function()
    local names = { "ACChargingPower", "DCChargingPower", "ACChargingEnergyIn", "DCChargingEnergyIn", "FastChargerType" }
    local vehicle = stream_to_receiver(car_of(fast), names)
    assert.same({ ACChargingPower = 0, DCChargingPower = 11.52, DCChargingEnergyIn = 3.25, FastChargerType = "Combo" }, vehicle.values)
    assert.equal("Combo", view.of(vehicle).charge_state.fast_charger_type)
    vehicle = stream_to_receiver(car_of(), names)
    assert.same({ ACChargingPower = 11.52, DCChargingPower = 0, ACChargingEnergyIn = 3.25, FastChargerType = "SNA" }, vehicle.values)
    assert.equal("<invalid>", view.of(vehicle).charge_state.fast_charger_type)
  end)

  it("does not know a value that has no name in the stream", function()
    local car = car_of { powershare_status = "Resting", charge_port_latch = "<invalid>", powershare_type = json.null }
    assert.same({}, stream_to_receiver(car, { "PowershareStatus", "ChargePortLatch", "PowershareType" }).values)
  end)
end)
