-- Conditions and reasons of commands beyond the documented ones (those stand in states_spec.lua), each with its
-- opposite; what each command does not fail at.
local core = require("fleet.core")
local simulated = require("spec.support.fixtures.simulated")

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
  -- charging
  { "charge_standard", {}, charge({ charge_limit_soc = 70, charge_limit_soc_std = 80 }), "already_started" },
  { "charge_standard", {}, charge({ charge_limit_soc = 90, charge_limit_soc_std = 80 }), "" },
  { "charge_max_range", {}, charge({ charge_limit_soc = 100 }), "already_set" },
  { "charge_max_range", {}, charge({ charge_limit_soc = 80 }), "" },
  { "charge_start", {}, charge(with(CABLE, { charging_state = "Stopped", battery_level = 80 })), "complete" },
  { "charge_start", {}, charge(with(CABLE, { charging_state = "Stopped" })), "" },
  { "add_charge_schedule", { days_of_week = "Tue", enabled = true, start_enabled = true, end_enabled = false, lat = 1, lon = 2 },
    {}, "invalid_value" },
  { "add_charge_schedule", { days_of_week = "Tues", enabled = true, start_enabled = true, end_enabled = false, lat = 1, lon = 2 },
    {}, "" },
  -- equipment
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
  { "remote_seat_heater_request", { heater = 0, level = 3 }, WARM, "" }, -- its older name
  { "remote_seat_heater_request", { heater = 9, level = 3 }, WARM, "invalid_value" },
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
  { "set_valet_mode", { on = false }, with({ pins = { valet = "1234" } }, state({ valet_mode = true })), "invalid_pin" },
  { "set_valet_mode", { on = false, password = "1234" }, with({ pins = { valet = "1234" } }, state({ valet_mode = true })), "" },
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
      local obey = require("fleet.sim.commands")[row.name] or function() end -- one that is not modelled
      local reason = obey(car, plan, sim.service:command_context({ now = simulated.START }))
      assert.is_true(reason == nil or type(reason) == "string")
    end)
  end

  for _, row in ipairs(core.commands()) do
    if row.since then
      it(row.name .. " is not known to firmware before " .. row.since, function()
        local year, release = row.since:match("^(%d+)%.(%d+)$")
        local function said(firmware)
          local sim = simulated.new(simulated.garage({ firmware_version = firmware }))
          return sim.service:obey(sim:car(), row.name, { id = 1, home = true, days_of_week = "Mon" }, { now = simulated.START })
        end
        assert.equal("not_supported", said(("%s.%d.9"):format(year, release - 1)))
        assert.is_nil(said(row.since))
      end)
    end
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
end)
