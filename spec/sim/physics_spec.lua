-- What vehicles do by themselves, in numbers that can be checked by hand.
local control = require("fleet.sim.control")
local simulated = require("spec.support.fixtures.simulated")

local function car(members)
  return simulated.new(simulated.garage(members))
end

local function plugged(fields)
  local charge = { conn_charge_cable = "IEC", charging_state = "Charging", battery_level = 50, charge_limit_soc = 80 }
  for name, value in pairs(fields or {}) do charge[name] = value end
  return car({ charge_state = charge })
end

describe("a simulated vehicle", function()
  it("advances at every read, however short the time in between", function()
    local sim = plugged()
    for _ = 1, 3600 * 20 do
      sim.service.clock:advance(0.05)
      require("fleet.sim.physics").advance(sim:car(), sim.service:now())
    end
    assert.near(7.68, sim:section("charge_state").charge_energy_added, 0.001)
  end)

  -- A night with everything that begins and ends in it: looked at every minute and once, it is the same night.
  for _, case in ipairs {
    { "charges to its limit and sleeps", { state = "online", sleep_after = 900,
      charge_state = { conn_charge_cable = "IEC", charging_state = "Charging", battery_level = 71, charge_limit_soc = 80 } } },
    { "charges by its schedules", { state = "asleep", sleep_after = 900,
      charge_state = { conn_charge_cable = "IEC", charging_state = "Stopped", battery_level = 40, charge_limit_soc = 80 },
      charge_schedule_data = { charge_schedules = {
        { id = 1, enabled = true, start_enabled = true, start_time = 127, end_enabled = true, end_time = 251, days_of_week = 127 } } } } },
    { "charges by the older setting", { state = "asleep", sleep_after = 900,
      charge_state = { conn_charge_cable = "IEC", charging_state = "Stopped", battery_level = 40, charge_limit_soc = 50,
        scheduled_charging_mode = "StartAt", scheduled_charging_start_time_app = 187 } } },
    { "is warmed from the battery", { state = "online", sleep_after = 900,
      charge_state = { battery_level = 12 }, climate_state = { is_climate_on = true, inside_temp = 2, outside_temp = -4 } } },
  } do
    it("that " .. case[1] .. " lives through a night in one look as in many", function()
      local once, often = car(case[2]), car(case[2])
      for _ = 1, 480 do often:advance(60) end
      once:advance(480 * 60)
      local a, b = once:car(), often:car()
      assert.near(b.energy_percent, a.energy_percent, 1e-3)
      assert.near(b.charged_kwh or 0, a.charged_kwh or 0, 1e-6)
      assert.same({ b.record.state, b.used_at, b.sections.charge_state.charging_state },
        { a.record.state, a.used_at, a.sections.charge_state.charging_state })
      assert.near(b.sections.climate_state.inside_temp, a.sections.climate_state.inside_temp, 1e-3)
    end)
  end

  it("charges when it is plugged in while its schedule is under way, and waits before it", function()
    local function plugged_at(start_time, end_time)
      local sim = car({ charge_state = { battery_level = 40 }, charge_schedule_data = { charge_schedules = {
        { id = 1, enabled = true, start_enabled = true, start_time = start_time, end_enabled = true, end_time = end_time,
          days_of_week = 127 } } } })
      local offset = sim:section("vehicle_config").utc_offset
      local minute = math.floor((sim.service:now() + offset) % 86400 / 60)
      sim:car().sections.charge_schedule_data.charge_schedules[1].start_time = (minute + start_time) % 1440
      sim:car().sections.charge_schedule_data.charge_schedules[1].end_time = (minute + end_time) % 1440
      control.event(sim.service, "plug", simulated.OLD, { start = false })
      return sim:section("charge_state").charging_state
    end
    assert.equal("Charging", plugged_at(-60, 60))
    assert.equal("Stopped", plugged_at(60, 120))
    assert.equal("Stopped", plugged_at(-120, -60))
  end)

  it("begins when it is plugged in within six hours after the time of the older setting, and waits at any other time", function()
    local function plugged_after(minutes, mode)
      local sim = car({ charge_state = { battery_level = 40 } })
      local now = math.floor((sim.service:now() + sim:section("vehicle_config").utc_offset) % 86400 / 60)
      local charge = sim:section("charge_state")
      charge.scheduled_charging_mode, charge.scheduled_charging_start_time_app = mode, (now - minutes) % 1440
      control.event(sim.service, "plug", simulated.OLD, { start = mode ~= "Off" })
      return charge.charging_state
    end
    for _, minutes in ipairs { 1, 180, 359 } do assert.equal("Charging", plugged_after(minutes, "StartAt")) end
    for _, minutes in ipairs { 361, 720, 1439 } do assert.equal("Stopped", plugged_after(minutes, "StartAt")) end
    assert.equal("Stopped", plugged_after(180, "Off"))
  end)

  describe("has a range", function()
    local function range(sim)
      local charge = sim:section("charge_state")
      return charge.battery_range, charge.ideal_battery_range, charge.usable_battery_level
    end

    it("that follows its level: three miles for a percent", function()
      local sim = car({ charge_state = { battery_level = 40 } })
      assert.same({ 120, 120, 40 }, { range(sim) })
      control.set(sim.service, simulated.OLD, { charge_state = { battery_level = 70 } })
      assert.same({ 210, 210, 70 }, { range(sim) })
      control.event(sim.service, "drive", simulated.OLD, { miles = 30 })
      assert.same({ 180, 180, 60 }, { range(sim) })
    end)

    it("that follows within a percent as well", function()
      local sim = plugged()
      sim:advance(60)
      assert.near(150 + 3 * 0.128 / 0.75, (range(sim)), 0.01)
      assert.equal(50, sim:section("charge_state").battery_level)
    end)

    it("that was given, until the level moves", function()
      local sim = car({ charge_state = { battery_level = 50, battery_range = 99, est_battery_range = 88 } })
      assert.equal(99, (range(sim)))
      assert.equal(88, sim:section("charge_state").est_battery_range)
      control.event(sim.service, "drive", simulated.OLD, { miles = 30 })
      assert.equal(120, (range(sim)))
    end)
  end)

  describe("that sleeps", function()
    local function state_after(change)
      local sim = car({ state = "asleep", sleep_after = 600 })
      change(sim)
      return sim:car():state(), sim
    end

    it("wakes when it is plugged in, by whatever way, and dozes off again", function()
      local plug = function(sim) control.event(sim.service, "plug", simulated.OLD, { start = false }) end
      local state, sim = state_after(plug)
      assert.equal("online", state)
      sim:advance(900)
      assert.equal("asleep", sim:car():state())
      assert.equal("online", (state_after(function(other)
        control.set(other.service, simulated.OLD, { charge_state = { conn_charge_cable = "IEC" } })
      end)))
      assert.equal("online", (state_after(function(other)
        control.set(other.service, simulated.OLD, { charge_state = { charging_state = "Stopped" } })
      end)))
    end)

    it("stays asleep when something else is set, by order, and when it is out of reach", function()
      assert.equal("asleep", (state_after(function(sim)
        control.set(sim.service, simulated.OLD, { charge_state = { battery_level = 30 } })
      end)))
      assert.equal("asleep", (state_after(function(sim)
        control.set(sim.service, simulated.OLD, { state = "asleep", charge_state = { conn_charge_cable = "IEC" } })
      end)))
      assert.equal("offline", (state_after(function(sim)
        control.set(sim.service, simulated.OLD, { state = "offline" })
        control.event(sim.service, "plug", simulated.OLD)
      end)))
    end)
  end)

  describe("charges", function()
    it("with volts times amps: 32 A for an hour are 7.68 kWh of 75", function()
      local sim = plugged()
      sim:advance(3600)
      assert.near(7.68, sim:section("charge_state").charge_energy_added, 0.001)
      assert.near(50 + 7.68 / 75 * 100, sim:car().energy_percent, 0.01)
      assert.equal(60, sim:section("charge_state").battery_level)
    end)

    it("more slowly with fewer amps, as much as the cable allows", function()
      local slow, cable = plugged({ charge_current_request = 8 }), plugged({ charger_pilot_current = 16 })
      slow:advance(3600)
      cable:advance(3600)
      assert.near(1.92, slow:section("charge_state").charge_energy_added, 0.001)
      assert.near(3.84, cable:section("charge_state").charge_energy_added, 0.001)
    end)

    it("up to the limit, then says Complete; a higher limit goes on", function()
      local sim = plugged()
      sim:advance(6 * 3600)
      local charge = sim:section("charge_state")
      assert.same({ "Complete", 80, 0 }, { charge.charging_state, charge.battery_level, charge.charger_power })
      sim:command("set_charge_limit", { percent = 90 })
      assert.equal("Charging", charge.charging_state)
      sim:command("set_charge_limit", { percent = 60 })
      assert.equal("Complete", charge.charging_state)
    end)

    it("the same in one look as in many", function()
      local one, many = plugged(), plugged()
      one:advance(7000)
      for _ = 1, 700 do many:advance(10) end
      assert.near(one:car().energy_percent, many:car().energy_percent, 1e-6)
    end)

    it("not without a cable, without power, or when stopped", function()
      for _, fields in ipairs({ { charging_state = "Stopped" }, { charging_state = "NoPower" } }) do
        local sim = plugged(fields)
        sim:advance(3600)
        assert.equal(50, sim:section("charge_state").battery_level)
      end
      local sim = plugged()
      control.event(sim.service, "unplug", simulated.OLD)
      sim:advance(3600)
      assert.same({ "Disconnected", "<invalid>" }, {
        sim:section("charge_state").charging_state, sim:section("charge_state").conn_charge_cable,
      })
    end)

    it("after some seconds of Starting", function()
      local sim = plugged({ charging_state = "Starting" })
      sim:advance(60)
      assert.equal("Charging", sim:section("charge_state").charging_state)
    end)

    it("by schedule, in the vehicle's own time, on the days given", function()
      local sim = plugged({ charging_state = "Stopped" })
      local params = { days_of_week = "Wed", enabled = true, start_enabled = true, end_enabled = true, start_time = 60,
        end_time = 120, lat = 1, lon = 2 }
      sim:command("add_charge_schedule", params)
      sim:advance(13 * 3600 + 1800) -- Tuesday 10:00 UTC to Wednesday 00:30 local
      assert.equal("Stopped", sim:section("charge_state").charging_state)
      sim:advance(3600)
      assert.equal("Charging", sim:section("charge_state").charging_state)
      sim:advance(3600)
      assert.equal("Stopped", sim:section("charge_state").charging_state)
      assert.near(7.68, sim:section("charge_state").charge_energy_added, 0.2)
    end)

    it("by schedule from its minute on and not before, until its end", function()
      local sim = plugged({ charging_state = "Stopped" })
      sim:command("add_charge_schedule", { days_of_week = "Wed", enabled = true, start_enabled = true, end_enabled = true, start_time = 60,
        end_time = 120, lat = 1, lon = 2 })
      local function added_after(seconds)
        sim:advance(seconds)
        return sim:section("charge_state").charge_energy_added
      end
      assert.equal(0, added_after(14 * 3600)) -- Wednesday 01:00 local
      assert.equal("Charging", sim:section("charge_state").charging_state)
      assert.near(7.68 / 60, added_after(60), 1e-3)
      assert.near(7.68, added_after(59 * 60), 1e-3)
      assert.equal("Stopped", sim:section("charge_state").charging_state)
      assert.near(7.68, added_after(60), 1e-3)
    end)

    it("by schedule over midnight: the end belongs to the day of the start", function()
      local sim = plugged({ charging_state = "Stopped" })
      sim:command("add_charge_schedule", { days_of_week = "Tues", enabled = true, start_enabled = true, end_enabled = true,
        start_time = 23 * 60, end_time = 60, one_time = true, lat = 1, lon = 2 })
      sim:advance(12 * 3600 + 300) -- Tuesday 10:00 UTC to 23:05 local
      assert.equal("Charging", sim:section("charge_state").charging_state)
      assert.equal(1, #sim:section("charge_schedule_data").charge_schedules)
      sim:advance(2 * 3600)
      assert.equal("Stopped", sim:section("charge_state").charging_state)
      assert.equal(0, #sim:section("charge_schedule_data").charge_schedules)
    end)

    it("when it is plugged in, unless a schedule of its own begins within a day", function()
      local function after_plug(schedule)
        local sim = car()
        schedule.enabled, schedule.start_enabled, schedule.lat, schedule.lon = true, true, 1, 2
        sim:command("add_charge_schedule", schedule)
        control.event(sim.service, "plug", simulated.OLD)
        return sim:section("charge_state").charging_state
      end
      assert.equal("Stopped", after_plug { days_of_week = "Wed", start_time = 60, end_enabled = false }) -- it is Tuesday 11:00
      assert.equal("Charging", after_plug { days_of_week = "Fri", start_time = 60, end_enabled = false })
      assert.equal("Charging", after_plug { days_of_week = "Tues", start_time = 600, end_time = 720, end_enabled = true })
      assert.equal("Stopped", after_plug { days_of_week = "All", start_time = 540, end_time = 600, end_enabled = true })
    end)
  end)

  describe("keeps a climate", function()
    it("that comes near the target in an hour and back again in a day", function()
      local sim = car()
      sim:command("auto_conditioning_start")
      sim:advance(3600)
      assert.near(21, sim:section("climate_state").inside_temp, 0.1)
      sim:command("auto_conditioning_stop")
      sim:advance(86400)
      assert.near(12, sim:section("climate_state").inside_temp, 0.1)
    end)

    it("from the battery, or from the cable where there is one", function()
      local battery, cable = car(), plugged({ charging_state = "Stopped" })
      for _, sim in ipairs({ battery, cable }) do
        sim:command("auto_conditioning_start")
        sim:advance(3600)
      end
      assert.near(62 - 1.5 / 75 * 100, battery:car().energy_percent, 0.01)
      assert.equal(50, cable:car().energy_percent)
    end)

    it("before a departure and not after it", function()
      local sim = car()
      sim:command("add_precondition_schedule", { days_of_week = "All", enabled = true, precondition_time = 12 * 60, lat = 1, lon = 2 })
      sim:advance(3600 - 600) -- 11:50 local
      assert.is_true(sim:section("climate_state").is_climate_on)
      sim:advance(1200)
      assert.is_false(sim:section("climate_state").is_climate_on)
    end)
  end)

  describe("sleeps", function()
    it("after sleep_after seconds without use, and never without it", function()
      local sleepy, awake = car({ sleep_after = 600 }), car()
      sleepy:advance(599)
      assert.equal("online", sleepy:car().record.state)
      sleepy:advance(61)
      assert.equal("asleep", sleepy:car().record.state)
      awake:advance(86400)
      assert.equal("online", awake:car().record.state)
    end)

    it("not while it charges, keeps a climate, watches or is polled", function()
      local polled = car({ sleep_after = 600 })
      for _ = 1, 10 do
        polled:advance(500)
        assert.equal(200, polled:get("/api/1/vehicles/" .. simulated.OLD .. "/vehicle_data").status)
      end
      for _, members in ipairs({ { vehicle_state = { sentry_mode = true } }, { climate_state = { is_climate_on = true } } }) do
        members.sleep_after = 600
        local sim = car(members)
        sim:advance(3600)
        assert.equal("online", sim:car().record.state)
      end
    end)

    it("on while its record is read", function()
      local sim = car({ state = "asleep", sleep_after = 600 })
      for _ = 1, 10 do
        sim:get("/api/1/vehicles/" .. simulated.OLD)
        sim:advance(60)
      end
      assert.equal("asleep", sim:car().record.state)
    end)
  end)

  it("looks through a month in no time when nothing happens", function()
    local sim = car()
    local steps, quiet = 0, require("fleet.sim.schedules").run
    require("fleet.sim.schedules").run = function(...)
      steps = steps + 1
      return quiet(...)
    end
    sim:advance(30 * 86400)
    sim:advance(30 * 86400)
    require("fleet.sim.schedules").run = quiet
    assert.is_true(steps < 3000)
  end)
end)
