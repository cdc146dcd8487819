-- Every reason of interface section 7 under its condition, every move of section 3 about vehicles, each with its opposite.
local core = require("fleet.core")
local control = require("fleet.sim.control")
local simulated = require("spec.support.simulated")

local PARKED, DRIVING = { drive_state = { shift_state = "P" } }, { drive_state = { shift_state = "D" } }
local CABLE = { conn_charge_cable = "IEC" }

local function charge(fields) return { charge_state = fields } end

local function with(base, fields)
  local out = {}
  for name, value in pairs(base) do out[name] = value end
  for name, value in pairs(fields) do out[name] = value end
  return out
end

local function state(fields) return { vehicle_state = fields } end

local CLIMATE_OFF = "cabin comfort remote settings not enabled"
local WARM = { climate_state = { is_climate_on = true } }

-- command, parameters, vehicle, reason ("" is done)
local CASES = {
  -- charge port
  { "charge_port_door_close", {}, charge(with(CABLE, {})), "cable connected" },
  { "charge_port_door_close", {}, { vehicle_config = { motorized_charge_port = false } }, "non-motorized charge port" },
  { "charge_port_door_close", {}, {}, "already closed" },
  { "charge_port_door_close", {}, charge({ charge_port_door_open = true }), "" },
  { "charge_port_door_open", {}, { car_wash = true }, "car_wash" },
  { "charge_port_door_open", {}, DRIVING, "not allowed" },
  { "charge_port_door_open", {}, PARKED, "" },
  -- charging
  { "charge_standard", {}, charge({ charge_limit_soc = 80, charge_limit_soc_std = 80 }), "already_started" },
  { "charge_standard", {}, charge({ charge_limit_soc = 70, charge_limit_soc_std = 80 }), "already_started" },
  { "charge_standard", {}, charge({ charge_limit_soc = 90, charge_limit_soc_std = 80 }), "" },
  { "charge_max_range", {}, charge({ charge_limit_soc = 100 }), "already_set" },
  { "charge_max_range", {}, charge({ charge_limit_soc = 80 }), "" },
  { "charge_start", {}, charge(with(CABLE, { charging_state = "Complete" })), "complete" },
  { "charge_start", {}, charge(with(CABLE, { charging_state = "Stopped", battery_level = 80 })), "complete" },
  { "charge_start", {}, charge(with(CABLE, { charging_state = "Charging" })), "is_charging" },
  { "charge_start", {}, charge({ charging_state = "Disconnected" }), "disconnected" },
  { "charge_start", {}, charge(with(CABLE, { charging_state = "NoPower" })), "no_power" },
  { "charge_start", {}, charge(with(CABLE, { charging_state = "Starting" })), "requested" },
  { "charge_start", {}, charge(with(CABLE, { charging_state = "Stopped" })), "" },
  { "charge_stop", {}, charge(with(CABLE, { charging_state = "Stopped" })), "not_charging" },
  { "charge_stop", {}, charge(with(CABLE, { charging_state = "Charging" })), "" },
  { "set_charge_limit", { percent = 80 }, charge({ charge_limit_soc = 80 }), "already_set" },
  { "set_charge_limit", { percent = 81 }, charge({ charge_limit_soc = 80 }), "" },
  { "add_charge_schedule", { days_of_week = "Tue", enabled = true, start_enabled = true, end_enabled = false, lat = 1, lon = 2 },
    {}, "invalid_value" },
  { "add_charge_schedule", { days_of_week = "Tues", enabled = true, start_enabled = true, end_enabled = false, lat = 1, lon = 2 },
    {}, "" },
  -- equipment
  { "trigger_homelink", { lat = 1, lon = 2, token = "t" }, state({ homelink_device_count = 0 }), "not_supported" },
  { "trigger_homelink", { lat = 1, lon = 2, token = "t" }, state({ homelink_device_count = 1 }), "" },
  { "sun_roof_control", { state = "vent" }, {}, "not_supported" },
  { "sun_roof_control", { state = "vent" }, { vehicle_config = { sun_roof_installed = 1 } }, "" },
  { "open_tonneau", {}, {}, "not_supported" },
  { "remote_seat_cooler_request", { seat_position = 1, seat_cooler_level = 2 },
    with(WARM, { vehicle_config = { has_seat_cooling = false } }), "not_supported" },
  -- park
  { "honk_horn", {}, DRIVING, "not_parked" }, { "honk_horn", {}, PARKED, "" },
  { "flash_lights", {}, DRIVING, "not_parked" }, { "flash_lights", {}, PARKED, "" },
  { "erase_user_data", {}, with(DRIVING, state({ guest_mode = true })), "not_parked" },
  { "erase_user_data", {}, state({ guest_mode = false }), "guest_mode_not_active" },
  { "erase_user_data", {}, state({ guest_mode = true }), "" },
  -- climate
  { "remote_seat_heater_request", { seat_position = 0, level = 3 }, {}, CLIMATE_OFF },
  { "remote_seat_heater_request", { seat_position = 0, level = 3 }, WARM, "" },
  { "remote_seat_heater_request", { seat_position = 9, level = 3 }, WARM, "invalid_value" },
  { "remote_seat_cooler_request", { seat_position = 1, seat_cooler_level = 4 }, {}, CLIMATE_OFF },
  { "remote_seat_cooler_request", { seat_position = 1, seat_cooler_level = 4 }, { climate_state = { climate_keeper_mode = "dog" } }, "" },
  { "remote_auto_seat_climate_request", { auto_seat_position = 1, auto_climate_on = true }, {}, CLIMATE_OFF },
  { "remote_auto_seat_climate_request", { auto_seat_position = 1, auto_climate_on = true }, WARM, "" },
  { "remote_steering_wheel_heater_request", { on = true }, {}, CLIMATE_OFF },
  { "remote_steering_wheel_heater_request", { on = true }, WARM, "" },
  { "remote_steering_wheel_heat_level_request", { level = 3 }, {}, CLIMATE_OFF },
  { "remote_steering_wheel_heat_level_request", { level = 2 }, WARM, "invalid_value" },
  { "remote_steering_wheel_heat_level_request", { level = 3 }, WARM, "" },
  { "remote_auto_steering_wheel_heat_climate_request", { on = true }, {}, CLIMATE_OFF },
  { "remote_auto_steering_wheel_heat_climate_request", { on = true }, WARM, "" },
  { "set_climate_keeper_mode", { climate_keeper_mode = 4 }, {}, "invalid_value" },
  { "set_cop_temp", { cop_temp = 3 }, {}, "invalid_value" },
  -- media and software
  { "adjust_volume", { volume = 3 }, state({ is_user_present = false }), "user_not_present" },
  { "adjust_volume", { volume = 3 }, state({ is_user_present = true }), "" },
  { "schedule_software_update", { offset_sec = 60 }, state({ software_update = { status = "" } }), "not_available" },
  { "schedule_software_update", { offset_sec = 60 }, state({ software_update = { status = "available" } }), "" },
  { "cancel_software_update", {}, state({ software_update = { status = "installing" } }), "installing" },
  { "cancel_software_update", {}, state({ software_update = { status = "scheduled" } }), "" },
  { "navigation_sc_request", { id = 1, order = 0 }, {}, "invalid_value" },
  { "navigation_sc_request", { id = 1001, order = 0 }, {}, "" },
  -- keyless driving, valet, speed limit, parental controls
  { "remote_start_drive", {}, state({ remote_start_enabled = false }), "keyless_driving_disabled" },
  { "remote_start_drive", {}, {}, "" },
  { "set_valet_mode", { on = true, password = "12" }, {}, "invalid_pin" },
  { "set_valet_mode", { on = true, password = "1234" }, { pins = { valet = "9999" } }, "invalid_pin" },
  { "set_valet_mode", { on = true, password = "1234" }, {}, "" },
  { "set_valet_mode", { on = false }, {}, "already off" },
  { "set_valet_mode", { on = false, password = "1111" }, with({ pins = { valet = "1234" } }, state({ valet_mode = true })), "invalid_pin" },
  { "set_valet_mode", { on = false }, state({ valet_mode = true }), "" },
  { "reset_valet_pin", {}, state({ valet_mode = true }), "valet_mode_active" },
  { "reset_valet_pin", {}, { pins = { valet = "1234" } }, "" },
  { "speed_limit_set_limit", { limit_mph = 20 }, {}, "invalid_value" },
  { "speed_limit_set_limit", { limit_mph = 65 }, {}, "" },
  { "speed_limit_activate", { pin = "1234" }, { pins = { speed_limit = "9999" } }, "invalid_pin" },
  { "speed_limit_activate", { pin = "1234" }, {}, "" },
  { "speed_limit_deactivate", { pin = "1234" }, { pins = { speed_limit = "9999" } }, "invalid_pin" },
  { "speed_limit_deactivate", { pin = "9999" }, { pins = { speed_limit = "9999" } }, "" },
  { "speed_limit_clear_pin", { pin = "1234" }, { pins = { speed_limit = "9999" } }, "invalid_pin" },
  { "speed_limit_clear_pin", { pin = "9999" }, { pins = { speed_limit = "9999" } }, "" },
  { "speed_limit_clear_pin_admin", {}, { firmware_version = "2023.37" }, "not_supported" },
  { "speed_limit_clear_pin_admin", {}, { firmware_version = "2023.38" }, "" },
  { "clear_pin_to_drive_admin", {}, { firmware_version = "2023.43" }, "not_supported" },
  { "clear_pin_to_drive_admin", {}, { firmware_version = "2023.44" }, "" },
  { "parental_controls_enable_setting", { setting = "Curfew", enable = true },
    state({ parental_controls = { active = true } }), "parental_controls_active" },
  { "parental_controls_enable_setting", { setting = "Curfew", enable = true }, {}, "" },
  { "parental_controls_set_speed_limit", { limit_mph = 60 }, {}, "speed_limit_not_enabled" },
  { "parental_controls_set_speed_limit", { limit_mph = 60 },
    state({ parental_controls = { active = true, settings = { SpeedLimit = true } } }), "parental_controls_active" },
  { "parental_controls_set_speed_limit", { limit_mph = 60 }, state({ parental_controls = { settings = { SpeedLimit = true } } }), "" },
  { "parental_controls_activate", { pin = "12" }, {}, "invalid_pin" },
  { "parental_controls_activate", { pin = "1234" }, {}, "" },
  { "parental_controls_deactivate", { pin = "0000" }, { pins = { parental = "1234" } }, "invalid_pin" },
  { "parental_controls_deactivate", { pin = "1234" }, { pins = { parental = "1234" } }, "" },
}

describe("a command to a simulated vehicle", function()
  for _, case in ipairs(CASES) do
    local name, params, members, reason = case[1], case[2], case[3], case[4]
    it(("%s: %s (case %d)"):format(name, reason == "" and "done" or reason, _), function()
      local sim = simulated.new(simulated.garage(members))
      assert.equal(reason, (sim:command(name, params)))
    end)
  end

  -- An argument of the right type for every parameter of a row, so that each command runs once.
  local function sample(row)
    local text = row.example
    return text ~= "" and assert(load("return " .. text))() or {}
  end

  for _, row in ipairs(core.commands()) do
    it(row.name .. " takes the example of its row without failing", function()
      local sim = simulated.new(simulated.garage())
      local car = sim:car()
      local plan = sample(row)
      for _, param in ipairs(row.params) do
        for _, choice in ipairs(param.choices or {}) do
          if plan[param.name] == choice.name then plan[param.name] = choice.value end
        end
      end
      if type(plan.days_of_week) == "table" then plan.days_of_week = "Mon" end
      for name, value in pairs(plan) do
        if type(value) == "string" and value:match("^%d+$") and name == "id" then plan[name] = tonumber(value) end
      end
      local reason = require("fleet.sim.commands")[row.name](car, plan, sim.service:command_context({ now = simulated.START }))
      assert.is_true(reason == nil or type(reason) == "string")
    end)
  end

  describe("for owners and fleet managers only", function()
    it("is forbidden to a share user", function()
      local shared = simulated.new(simulated.garage({ access_type = "DRIVER" }))
      assert.equal(403, (shared:command("speed_limit_clear_pin_admin")))
      assert.equal(403, (shared:command("parental_controls_clear_pin_admin")))
      assert.equal("", (shared:command("honk_horn")))
      assert.equal("", (simulated.new(simulated.garage()):command("speed_limit_clear_pin_admin")))
    end)
  end)

  describe("state moves", function()
    local sim

    before_each(function() sim = simulated.new(simulated.garage()) end)

    it("parental controls: settings only while not active; the PIN is remembered until cleared", function()
      assert.equal("", (sim:command("parental_controls_enable_setting", { setting = "SpeedLimit", enable = true })))
      assert.equal("", (sim:command("parental_controls_set_speed_limit", { limit_mph = 60 })))
      assert.equal("", (sim:command("parental_controls_activate", { pin = "1234" })))
      assert.equal("", (sim:command("parental_controls_activate", { pin = "1234" })))
      assert.equal("invalid_pin", (sim:command("parental_controls_activate", { pin = "4321" })))
      assert.equal("", (sim:command("parental_controls_deactivate", { pin = "1234" })))
      assert.equal("invalid_pin", (sim:command("parental_controls_activate", { pin = "4321" })))
      assert.equal("", (sim:command("parental_controls_clear_pin_admin")))
      assert.equal("", (sim:command("parental_controls_activate", { pin = "4321" })))
    end)

    it("PIN to Drive: a PIN once set stays, another is discarded, reset needs it off", function()
      local function obey(name, params) return sim.service:obey(sim:car(), name, params or {}, { now = simulated.START }) end
      assert.equal("invalid_pin", obey("set_pin_to_drive", { on = true }))
      assert.is_nil(obey("set_pin_to_drive", { on = true, password = "1234" }))
      assert.is_nil(obey("set_pin_to_drive", { on = true, password = "9999" }))
      assert.equal("1234", sim:car().pins.pin_to_drive)
      assert.equal("pin_to_drive_active", obey("reset_pin_to_drive_pin"))
      assert.is_nil(obey("set_pin_to_drive", { on = false }))
      assert.equal("1234", sim:car().pins.pin_to_drive)
      assert.is_nil(obey("reset_pin_to_drive_pin"))
      assert.is_nil(sim:car().pins.pin_to_drive)
    end)

    it("a guest code works once, for ten minutes, and only one guest at a time", function()
      sim:command("guest_mode", { enable = true })
      control.event(sim.service, "qr_scan", simulated.OLD, { guest = "g1" })
      assert.equal("g1", sim:car().guest)
      assert.has_error(function() control.event(sim.service, "qr_scan", simulated.OLD) end)
      sim:command("guest_mode", { enable = true })
      control.event(sim.service, "qr_scan", simulated.OLD, { guest = "g2" })
      assert.equal("g2", sim:car().guest)
      control.event(sim.service, "key_card", simulated.OLD)
      assert.is_nil(sim:car().guest)
      control.event(sim.service, "park", simulated.OLD)
      sim:command("guest_mode", { enable = true })
      sim:advance(600)
      assert.has_error(function() control.event(sim.service, "qr_scan", simulated.OLD) end)
      sim:command("guest_mode", { enable = false })
      assert.is_nil(sim:car().guest)
    end)

    it("a software update installs at its time and can be called off before", function()
      control.event(sim.service, "software_available", simulated.OLD, { version = "2027.1" })
      sim:command("schedule_software_update", { offset_sec = 600 })
      assert.equal("", (sim:command("cancel_software_update")))
      sim:command("schedule_software_update", { offset_sec = 600 })
      sim:advance(700)
      assert.equal("installing", sim:section("vehicle_state").software_update.status)
      assert.equal("installing", (sim:command("cancel_software_update")))
      sim:advance(3600)
      assert.same({ "", "2027.1" }, { sim:section("vehicle_state").software_update.status, sim:car().status.firmware_version })
    end)

    it("the older schedule commands pile up schedules on newer firmware and set a mode on older", function()
      for _ = 1, 2 do sim:command("set_scheduled_charging", { enable = true, time = 60 }) end
      assert.equal(2, #sim:section("charge_schedule_data").charge_schedules)
      local older = simulated.new(simulated.garage({ firmware_version = "2024.20" }))
      for _ = 1, 2 do older:command("set_scheduled_charging", { enable = true, time = 60 }) end
      assert.same({ "StartAt", 0 }, {
        older:section("charge_state").scheduled_charging_mode, #older:section("charge_schedule_data").charge_schedules,
      })
    end)

    it("a schedule with a known id replaces the old one; one without gets the time as id", function()
      local params = { days_of_week = "Weekdays", enabled = true, start_enabled = true, end_enabled = false, start_time = 60,
        lat = 1, lon = 2, id = 7 }
      sim:command("add_charge_schedule", params)
      params.start_time = 90
      sim:command("add_charge_schedule", params)
      local list = sim:section("charge_schedule_data").charge_schedules
      assert.same({ 1, 90, 62 }, { #list, list[1].start_time, list[1].days_of_week })
      params.id = nil
      sim:command("add_charge_schedule", params)
      assert.equal(simulated.START, list[2].id)
      sim:command("remove_charge_schedule", { id = 7 })
      assert.equal(1, #list)
    end)
  end)

  it("in any order never leads to a state that section 3 forbids", function()
    local names, commands = {}, require("fleet.sim.commands")
    for name in pairs(commands) do names[#names + 1] = name end
    table.sort(names)
    local seed = 42
    local function pick(n)
      seed = (seed * 1103515245 + 12345) % 2147483648
      return seed % n + 1
    end
    local rows = {}
    for _, row in ipairs(core.commands()) do rows[row.name] = row end
    local values = {
      string = { "1234", "9999", "front", "rear", "vent", "SpeedLimit", "Mon", "x" }, integer = { 0, 1, 2, 50, 80, 100 },
      number = { 0, 3, 22, 60 }, boolean = { true, false }, days = { "Mon", "All", "Tue" }, id = { 1, 2 }, object = { {} },
    }
    for _ = 1, 20 do
      local sim = simulated.new(simulated.garage({ charge_state = { conn_charge_cable = "IEC" } }))
      local car = sim:car()
      for _ = 1, 150 do
        local row, params = rows[names[pick(#names)]], {}
        for _, param in ipairs(row.params) do
          local list = values[param.type] or { nil }
          if param.place == "body" then params[param.name] = list[pick(math.max(1, #list))] end
        end
        local before = { pin = car.pins.pin_to_drive, active = car.sections.vehicle_state.parental_controls.active }
        local settings = require("fleet.sim.json").encode(car.sections.vehicle_state.parental_controls.settings)
        sim.service:obey(car, row.name, params, { now = sim.service:now() })
        if pick(10) == 1 then sim:advance(600) end
        local vs, cs = car.sections.vehicle_state, car.sections.charge_state
        if before.active and vs.parental_controls.active then
          assert.equal(settings, require("fleet.sim.json").encode(vs.parental_controls.settings))
        end
        if before.pin and car.pins.pin_to_drive then assert.equal(before.pin, car.pins.pin_to_drive) end
        assert.is_false(vs.parental_controls.active and car.pins.parental == nil)
        assert.is_false(vs.valet_mode and car.pins.valet == nil)
        assert.is_false(vs.speed_limit_mode.active and car.pins.speed_limit == nil)
        assert.is_true(cs.battery_level >= 0 and cs.battery_level <= 100)
        assert.is_true(cs.charge_limit_soc >= cs.charge_limit_soc_min and cs.charge_limit_soc <= cs.charge_limit_soc_max)
        assert.is_false(cs.charging_state == "Charging" and car.energy_percent > cs.charge_limit_soc + 0.01)
      end
    end
  end)
end)
