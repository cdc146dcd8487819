-- Looking what became of a write: car:settle(err) after an unknown outcome, and the read-back of energy
-- settings. What the service shows afterwards is written down here by hand (doc/protocol.md#vehicle-data, #energy-settings).

local cjson = require "cjson"
local core = require "fleet.core"
local fleet = require "fleet"
local recorder = require "spec.support.servers.recorder"

require "spec.support.harness.quick"(fleet)

local vin = "5YJ3E1EA7KF000001"
local server, client, car, site

setup(function() server = recorder.start() end)
before_each(function()
  client = fleet.new { base_url = server.url, token = "t0ken", key = fleet.key.generate(),
    commands = "plain" }
  car, site = client:vehicle(vin), client:energy_site("7")
end)
after_each(function() client:close() end)
teardown(function() server:stop() end)

-- row, parameters, section, what it shows when it was done (several), what it shows when it was not
local cases = {
  { "door_lock", nil, "vehicle_state", { { locked = true } }, { { locked = false }, {} } },
  { "door_unlock", nil, "vehicle_state", { { locked = false } }, { { locked = true } } },
  { "remote_start_drive", nil, "vehicle_state", { { remote_start = true } }, { { remote_start = false } } },
  { "charge_start", nil, "charge_state",
    { { charging_state = "Charging" }, { charging_state = "Starting" }, { charging_state = "Complete" } },
    { { charging_state = "Stopped" }, { charging_state = "Disconnected" }, {} } },
  { "charge_stop", nil, "charge_state",
    { { charging_state = "Stopped" }, { charging_state = "Disconnected" } },
    { { charging_state = "Charging" } } },
  { "charge_port_door_open", nil, "charge_state", { { charge_port_door_open = true } },
    { { charge_port_door_open = false } } },
  { "charge_port_door_close", nil, "charge_state", { { charge_port_door_open = false } },
    { { charge_port_door_open = true } } },
  { "set_charge_limit", { percent = 80 }, "charge_state",
    { { charge_limit_soc = 80 }, { charge_limit_soc = 80.0 } },
    { { charge_limit_soc = 81 }, {} } },
  { "set_charging_amps", { charging_amps = 16 }, "charge_state", { { charge_current_request = 16 } },
    { { charge_current_request = 6 } } },
  { "auto_conditioning_start", nil, "climate_state", { { is_climate_on = true } },
    { { is_climate_on = false } } },
  { "auto_conditioning_stop", nil, "climate_state", { { is_climate_on = false } },
    { { is_climate_on = true } } },
  { "set_temps", { driver_temp = 21.5, passenger_temp = 20 }, "climate_state",
    { { driver_temp_setting = 21.5, passenger_temp_setting = 20.0 },
      { driver_temp_setting = 21.52, passenger_temp_setting = 19.96 } },
    { { driver_temp_setting = 21.5, passenger_temp_setting = 21 },
      { driver_temp_setting = 22, passenger_temp_setting = 20 } } },
  { "set_climate_keeper_mode", { climate_keeper_mode = "dog" }, "climate_state",
    { { climate_keeper_mode = "dog" } },
    { { climate_keeper_mode = "camp" }, { climate_keeper_mode = "off" } } },
  { "set_climate_keeper_mode", { climate_keeper_mode = "keep" }, "climate_state",
    { { climate_keeper_mode = "on" } },
    { { climate_keeper_mode = "off" } } },
  { "set_climate_keeper_mode", { climate_keeper_mode = 0 }, "climate_state",
    { { climate_keeper_mode = "off" } },
    { { climate_keeper_mode = "dog" } } },
  { "set_bioweapon_mode", { on = true, manual_override = false }, "climate_state",
    { { bioweapon_mode = true } },
    { { bioweapon_mode = false } } },
  { "set_cop_temp", { cop_temp = "medium" }, "climate_state", { { cop_activation_temperature = "Medium" } },
    { { cop_activation_temperature = "High" } } },
  { "remote_steering_wheel_heater_request", { on = false }, "climate_state",
    { { steering_wheel_heater = false } },
    { { steering_wheel_heater = true } } },
  { "remote_steering_wheel_heat_level_request", { level = "high" }, "climate_state",
    { { steering_wheel_heat_level = 3 } },
    { { steering_wheel_heat_level = 1 } } },
  { "remote_auto_steering_wheel_heat_climate_request", { on = true }, "climate_state",
    { { auto_steering_wheel_heat = true } },
    { { auto_steering_wheel_heat = false } } },
  { "adjust_volume", { volume = 4.5 }, "vehicle_state", { { media_info = { audio_volume = 4.5 } } },
    { { media_info = { audio_volume = 5 } }, {} } },
  { "schedule_software_update", { offset_sec = 60 }, "vehicle_state",
    { { software_update = { status = "scheduled" } } },
    { { software_update = { status = "available" } } } },
  { "cancel_software_update", nil, "vehicle_state", { { software_update = { status = "available" } } },
    { { software_update = { status = "scheduled" } }, { software_update = { status = "installing" } } } },
  { "set_sentry_mode", { on = true }, "vehicle_state", { { sentry_mode = true } },
    { { sentry_mode = false } } },
  { "set_valet_mode", { on = true, password = "1234" }, "vehicle_state", { { valet_mode = true } },
    { { valet_mode = false } } },
  { "speed_limit_activate", { pin = "1234" }, "vehicle_state", { { speed_limit_mode = { active = true } } },
    { { speed_limit_mode = { active = false } } } },
  { "speed_limit_deactivate", { pin = "1234" }, "vehicle_state",
    { { speed_limit_mode = { active = false } } },
    { { speed_limit_mode = { active = true } } } },
  { "speed_limit_set_limit", { limit_mph = 65 }, "vehicle_state",
    { { speed_limit_mode = { current_limit_mph = 65 } } },
    { { speed_limit_mode = { current_limit_mph = 85 } } } },
  { "speed_limit_clear_pin", { pin = "1234" }, "vehicle_state",
    { { speed_limit_mode = { pin_code_set = false } } },
    { { speed_limit_mode = { pin_code_set = true } } } },
  { "speed_limit_clear_pin_admin", nil, "vehicle_state", { { speed_limit_mode = { pin_code_set = false } } },
    { { speed_limit_mode = { pin_code_set = true } } } },
  { "charge_standard", nil, "charge_state", { { charge_limit_soc = 80, charge_limit_soc_std = 80 } },
    { { charge_limit_soc = 90, charge_limit_soc_std = 80 } } },
  { "charge_max_range", nil, "charge_state", { { charge_limit_soc = 100, charge_limit_soc_max = 100 } },
    { { charge_limit_soc = 80, charge_limit_soc_max = 100 } } },
  { "set_preconditioning_max", { on = true }, "climate_state", { { defrost_mode = 2 } }, { { defrost_mode = 0 }, {} } },
  { "set_preconditioning_max", { on = false }, "climate_state", { { defrost_mode = 0 } }, { { defrost_mode = 2 } } },
  { "set_cabin_overheat_protection", { on = true, fan_only = true }, "climate_state",
    { { cabin_overheat_protection = "FanOnly" } }, { { cabin_overheat_protection = "On" }, { cabin_overheat_protection = "Off" } } },
  { "set_cabin_overheat_protection", { on = true, fan_only = false }, "climate_state", { { cabin_overheat_protection = "On" } },
    { { cabin_overheat_protection = "FanOnly" }, { cabin_overheat_protection = "Off" } } },
  { "set_cabin_overheat_protection", { on = true }, "climate_state",
    { { cabin_overheat_protection = "On" }, { cabin_overheat_protection = "FanOnly" } }, { { cabin_overheat_protection = "Off" } } },
  { "set_cabin_overheat_protection", { on = false, fan_only = true }, "climate_state", { { cabin_overheat_protection = "Off" } },
    { { cabin_overheat_protection = "FanOnly" } } },
  { "remote_seat_heater_request", { seat_position = "rear_left", level = "high" }, "climate_state",
    { { seat_heater_rear_left = 3, seat_heater_left = 0 } }, { { seat_heater_rear_left = 1, seat_heater_left = 3 }, {} } },
  { "remote_seat_heater_request", { seat_position = 0, level = 0 }, "climate_state", { { seat_heater_left = 0 } },
    { { seat_heater_left = 1 } } },
  { "remote_auto_seat_climate_request", { auto_seat_position = 2, auto_climate_on = true }, "climate_state",
    { { auto_seat_climate_right = true } }, { { auto_seat_climate_left = true, auto_seat_climate_right = false } } },
  { "add_charge_schedule", { id = 7, days_of_week = { "mon", "tue" }, enabled = true, lat = 52.52, lon = 13.405,
    start_enabled = true, start_time = 120, end_enabled = false }, "charge_schedule_data",
    { { charge_schedules = { { id = 1 }, { id = 7, days_of_week = 6, enabled = true, latitude = 52.52, longitude = 13.405,
      start_enabled = true, start_time = 120, end_enabled = false, end_time = 300 } } } },
    { { charge_schedules = {} }, {}, { charge_schedules = { { id = 7, days_of_week = 2, enabled = true, latitude = 52.52,
      longitude = 13.405, start_enabled = true, start_time = 120 } } },
      { charge_schedules = { { id = 8, days_of_week = 6, enabled = true, latitude = 52.52, longitude = 13.405,
        start_enabled = true, start_time = 120 } } } } },
  { "remove_charge_schedule", { id = 7 }, "charge_schedule_data", { { charge_schedules = { { id = 1 } } }, {} },
    { { charge_schedules = { { id = 1 }, { id = 7 } } } } },
  { "add_precondition_schedule", { id = 7, days_of_week = "weekdays", enabled = true, lat = 52.52, lon = 13.405,
    precondition_time = 450 }, "preconditioning_schedule_data",
    { { precondition_schedules = { { id = 7, days_of_week = 62, enabled = true, latitude = 52.52, longitude = 13.405,
      precondition_time = 450 } } } },
    { { precondition_schedules = { { id = 7, days_of_week = 62, enabled = true, latitude = 52.52, longitude = 13.405,
      precondition_time = 460 } } } } },
  { "remove_precondition_schedule", { id = 7 }, "preconditioning_schedule_data", { {} },
    { { precondition_schedules = { { id = 7 } } } } },
  -- settings of energy sites
  { "backup", { backup_reserve_percent = 20 }, "site", { { backup_reserve_percent = 20 } },
    { { backup_reserve_percent = 30 }, {} } },
  { "operation", { default_real_mode = "autonomous" }, "site", { { default_real_mode = "autonomous" } },
    { { default_real_mode = "self_consumption" } } },
  { "storm_mode", { enabled = true }, "site", { { user_settings = { storm_mode_enabled = true } } },
    { { user_settings = { storm_mode_enabled = false } }, {} } },
  { "off_grid_vehicle_charging_reserve", { off_grid_vehicle_charging_reserve_percent = 0 }, "site",
    { { off_grid_vehicle_charging_reserve_percent = 0 } },
      { { off_grid_vehicle_charging_reserve_percent = 10 } } },
  { "grid_import_export", { disallow_charge_from_grid_with_solar_installed = false,
    customer_preferred_export_rule = "never" }, "site",
    { { components = { customer_preferred_export_rule = "never" } } }, -- the flag is absent when false
    { { components = { customer_preferred_export_rule = "pv_only" } },
      { components = { customer_preferred_export_rule = "never",
        disallow_charge_from_grid_with_solar_installed = true } } } },
  { "grid_import_export", { customer_preferred_export_rule = "never" }, "site",
    { { components = { customer_preferred_export_rule = "never",
      disallow_charge_from_grid_with_solar_installed = true } } },
    { { components = {} } } },
}

-- The err of a command that was carried out, or not, and never answered.
local function doubtful(handle, word, params)
  server:script { { drop = true, times = 0 } }
  local value, err = handle[word](handle, params)
  assert.is_nil(value)
  assert.are.equal("unknown", err.outcome, word)
  return err
end

local function shows(case, data)
  if case[3] == "site" then return { body = cjson.encode { response = data }, times = 0 } end
  return { body = cjson.encode { response = { state = "online", [case[3]] = data } }, times = 0 }
end

describe("settling", function()
  it("says of every row that can be settled whether it was done, by one read of its section", function()
    for _, case in ipairs(cases) do
      local handle = case[3] == "site" and site or car
      local err = doubtful(handle, case[1], case[2])
      for wanted, list in pairs { [true] = case[4], [false] = case[5] } do
        for _, data in ipairs(list) do
          server:script { shows(case, data) }
          local done, failure = handle:settle(err)
          assert.is_nil(failure, case[1] .. ": " .. tostring(failure))
          assert.are.equal(wanted, done, case[1] .. " " .. cjson.encode(data))
          local requests = server:records()
          assert.are.equal(1, #requests)
          assert.are.equal("GET", requests[1].method)
          local wanted_query = case[3] == "site" and "" or "endpoints=" .. case[3]
          assert.are.equal(wanted_query, requests[1].query)
          assert.is_truthy(string.find(requests[1].path, case[3] == "site" and "/site_info$" or
            "/vehicle_data$"))
        end
      end
    end
  end)

  it("is known here for every row that names a way", function()
    local known = {
      set_vehicle_name = true, time_of_use_settings = true, -- below
      open_trunk = true, close_trunk = true, add_key = true, remove_key = true, -- spec/signing/vehicle_security_spec.lua
    }
    for _, case in ipairs(cases) do known[case[1]] = true end
    for _, rows in ipairs { core.endpoints(), core.commands() } do
      for _, row in ipairs(rows) do
        if row.settle then assert.is_true(known[row.name], row.name) end
      end
    end
  end)

  it("is not possible when no readable data shows it, and then nothing is read", function()
    for word, params in pairs { actuate_trunk = { which_trunk = "rear" }, honk_horn = {},
      media_next_track = {}, open_tonneau = {} } do
      local err = doubtful(car, word, next(params) and params or nil)
      server:script {}
      local done, failure, kind = car:settle(err)
      assert.is_nil(done)
      assert.are.equal("unsupported", kind)
      assert.is_truthy(string.find(failure.message, word, 1, true))
      assert.are.equal(0, #server:records())
    end
  end)

  it("never wakes: a sleeping vehicle leaves it open", function()
    local err = doubtful(car, "door_lock")
    server:script { { status = 408, body = '{"error":"vehicle unavailable: vehicle is offline or asleep"}',
      times = 0 } }
    local done, _, kind = car:settle(err)
    assert.are.same({ nil, "asleep" }, { done, kind })
    assert.are.equal(1, #server:records())
  end)

  it("does not take what is old or withheld for the present", function()
    local err = doubtful(car, "door_unlock")
    for body, wanted in pairs {
      ['{"response":{"state":"asleep","vehicle_state":{"locked":false}}}'] = "asleep",
      ['{"response":{"state":"offline","vehicle_state":{"locked":false}}}'] = "offline",
      ['{"response":{"state":"online"}}'] = "protocol", ['{"response":{"vehicle_state":null}}'] = "protocol",
    } do
      server:script { { body = body } }
      local done, _, kind = car:settle(err)
      assert.are.same({ nil, wanted }, { done, kind }, body)
    end
  end)

  it("needs an err of this vehicle's own", function()
    local err = doubtful(car, "door_lock")
    assert.has_error(function() client:vehicle("5YJ3E1EA7KF000002"):settle(err) end)
    assert.has_error(function() site:settle(err) end)
    assert.has_error(function() car:settle({ kind = "timeout" }) end)
    assert.has_error(function() car:settle(nil) end)
    server:script { { body = '{"response":{"vehicle_state":{"locked":true}}}' } }
    assert.is_true(client:vehicle(vin):settle(err))
  end)
end)

describe("a setting that is read back", function()
  local accepted = { on = "POST", body = '{"response":{"code":201,"message":"Updated"}}' }

  local function info(percent, times)
    return { on = "GET", times = times, body = '{"response":{"backup_reserve_percent":' .. percent .. "}}" }
  end

  local function set(options)
    options.read_back = true
    return site:backup({ backup_reserve_percent = 20 }, options)
  end

  it("is done when it shows", function()
    server:script { accepted, info(50, 2), info(20, 0) }
    local value = assert(set { timeout = 1e5 })
    assert.is_true(value.changed)
    assert.are.equal(4, #server:records())
  end)

  it("that never shows is a conflict, which can be settled later", function()
    server:script { accepted, info(50, 0) }
    local value, err, kind = set { timeout = 10 }
    assert.is_nil(value)
    assert.are.same({ "conflict", "unknown", "7" }, { kind, err.outcome, err.site })
    server:script { info(20, 0) }
    assert.is_true(site:settle(err))
  end)

  it("that was refused is not read", function()
    server:script { { on = "POST", status = 403, body = "" }, info(20, 0) }
    local _, _, kind = set {}
    assert.are.equal("forbidden", kind)
    assert.are.equal(1, #server:records())
  end)

  it("whose reading fails was accepted all the same", function()
    server:script { accepted, { on = "GET", status = 403, body = "", times = 0 } }
    local _, err, kind = set {}
    assert.are.same({ "forbidden", "unknown" }, { kind, err.outcome })
    assert.are.equal("POST /api/1/energy_sites/{energy_site_id}/backup", err.request)
  end)
end)

describe("a tariff", function()
  local tariff = fleet.tariff.flat { name = "Flat", utility = "Example Power", currency = "EUR", price = 0.3 }
  local other = fleet.tariff.flat { name = "Flat", utility = "Example Power", currency = "EUR", price = 0.4 }
  local accepted = { on = "POST", body = '{"response":{"code":201,"message":"Updated"}}' }

  local function holds(one, times)
    local content = one and one:encode() or "{}"
    return { on = "GET", times = times or 0, body = '{"response":{"tariff_content_v2":' .. content .. "}}" }
  end

  it("that never shows is a conflict, which can be settled later like any setting", function()
    server:script { accepted, holds(other) }
    local value, err, kind = site:time_of_use_settings(tariff, { read_back = true, timeout = 10 })
    assert.is_nil(value)
    assert.are.same({ "conflict", "unknown", "7" }, { kind, err.outcome, err.site })
    server:script { holds(other) }
    assert.is_false(site:settle(err))
    server:script { holds(tariff) }
    assert.is_true(site:settle(err))
    server:script { holds(nil) }
    assert.is_false(site:settle(err))
  end)

  it("whose fate is not known is looked for", function()
    server:script { holds(other, 1), { drop = true, times = 0 } }
    local value, err = site:time_of_use_settings(tariff)
    assert.is_nil(value)
    assert.are.equal("unknown", err.outcome)
    server:script { holds(tariff) }
    assert.is_true(site:settle(err))
    assert.are.equal(1, #server:records())
    server:script { holds(other) }
    assert.is_false(site:settle(err))
  end)

  it("is done when it shows", function()
    server:script { holds(other, 1), accepted, holds(other, 2), holds(tariff) }
    assert.is_true(assert(site:time_of_use_settings(tariff, { read_back = true, timeout = 1e5 })).changed)
  end)
end)

describe("waiting for a telemetry configuration", function()
  local function config(synced, times)
    return { times = times, body = '{"response":{"synced":' .. synced ..
      ',"config":{"hostname":"t.example.com"}}}' }
  end

  it("ends when the vehicle has taken it over", function()
    server:script { config("false", 3), config("true", 0) }
    local value = assert(car:wait_telemetry_synced { timeout = 1e6 })
    assert.are.equal("t.example.com", value.config.hostname)
    assert.are.equal(4, #server:records())
  end)

  it("ends with the time given, and with any failure", function()
    server:script { config("false", 0) }
    local value, _, kind = car:wait_telemetry_synced { timeout = 20 }
    assert.are.same({ nil, "timeout" }, { value, kind })
    server:script { config("false"), { status = 404, body = "", times = 0 } }
    value, _, kind = car:wait_telemetry_synced { timeout = 1e6 }
    assert.are.same({ nil, "not_found" }, { value, kind })
    assert.has_error(function() car:wait_telemetry_synced { time = 5 } end)
  end)
end)
