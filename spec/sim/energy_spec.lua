-- Energy sites: powers that add up, settings that act, histories whose sums are right.
local control = require("fleet.sim.control")
local json = require("fleet.sim.json")
local simulated = require("spec.support.fixtures.simulated")

local SITE = "/api/1/energy_sites/2252147638651584"
local BERLIN = function(_, at)
  -- Enough of Europe/Berlin for spring 2026: the clock goes forward on 29 March at 01:00 UTC.
  return at >= 1774746000 and 7200 or 3600
end

describe("a simulated energy site", function()
  local sim

  before_each(function() sim = simulated.new(nil, { zone = BERLIN }) end)

  local function live() return sim:get(SITE .. "/live_status").response end

  local function post(name, body) return sim:call("POST", SITE .. "/" .. name, body) end

  it("balances: sun, battery and grid together are the load", function()
    for _ = 1, 48 do
      sim:advance(1800)
      local s = live()
      assert.near(s.load_power, s.solar_power + s.battery_power + s.grid_power, 3)
      assert.is_true(s.percentage_charged >= 20 - 0.01 and s.percentage_charged <= 100)
    end
  end)

  it("makes power by day and none by night", function()
    assert.is_true(live().solar_power > 1000)
    sim:advance(12 * 3600)
    assert.equal(0, live().solar_power)
  end)

  it("says whether it serves the grid: by its power, or as the garage has it", function()
    local function services(site)
      site.energy_site_id = 2252147638651584
      sim = simulated.new({ energy_sites = { site } }, { zone = BERLIN })
      return { live().grid_services_active, live().grid_services_power }
    end
    assert.same({ false, 0 }, services({}))
    assert.same({ true, 1500 }, services({ grid_services_power = 1500 }))
    assert.same({ true, 0 }, services({ grid_services_active = true }))
    assert.same({ false, 20 }, services({ grid_services_active = false, grid_services_power = 20 }))
    assert.is_nil(sim:get(SITE .. "/site_info").response.grid_services_active)
  end)

  describe("settings", function()
    it("answer 201, grid settings 204, and show in site_info", function()
      assert.equal(201, post("backup", { backup_reserve_percent = 35 }).response.code)
      assert.equal(201, post("operation", { default_real_mode = "autonomous" }).response.code)
      assert.equal(201, post("storm_mode", { enabled = false }).response.code)
      assert.equal(201, post("off_grid_vehicle_charging_reserve", { off_grid_vehicle_charging_reserve_percent = 40 }).response.code)
      assert.equal(204, post("grid_import_export", { customer_preferred_export_rule = "never" }).response.code)
      local info = sim:get(SITE .. "/site_info").response
      assert.same({ 35, "autonomous", false, 40, "never" }, {
        info.backup_reserve_percent, info.default_real_mode, info.user_settings.storm_mode_enabled,
        info.off_grid_vehicle_charging_reserve_percent, info.components.customer_preferred_export_rule,
      })
    end)

    it("refuse what is out of range, unknown or missing", function()
      assert.equal(422, post("backup", { backup_reserve_percent = 101 }).status)
      assert.equal(400, post("backup", {}).status)
      assert.equal(422, post("operation", { default_real_mode = "party" }).status)
      assert.equal(400, post("grid_import_export", {}).status)
      assert.equal(422, post("grid_import_export", { customer_preferred_export_rule = "all" }).status)
    end)

    it("leave out the flag that forbids grid charging when it is false", function()
      post("grid_import_export", { disallow_charge_from_grid_with_solar_installed = true })
      assert.is_true(sim:get(SITE .. "/site_info").response.components.disallow_charge_from_grid_with_solar_installed)
      post("grid_import_export", { disallow_charge_from_grid_with_solar_installed = false })
      assert.is_nil(sim:get(SITE .. "/site_info").response.components.disallow_charge_from_grid_with_solar_installed)
    end)

    it("that a site cannot do are a device error", function()
      local plain = simulated.new({ energy_sites = { { energy_site_id = 2252147638651584, components = { battery = false } } } })
      assert.equal(540, plain:call("POST", SITE .. "/backup", { backup_reserve_percent = 20 }).status)
      assert.is_nil(plain:get(SITE .. "/live_status").response.battery_power)
    end)

    it("act: a reserve above the level fills the battery from the grid, unless forbidden", function()
      sim:advance(10 * 3600) -- evening
      post("backup", { backup_reserve_percent = 100 })
      assert.is_true(live().battery_power < 0)
      post("grid_import_export", { disallow_charge_from_grid_with_solar_installed = true })
      assert.equal(0, live().battery_power)
    end)

    it("act: export never means nothing flows out", function()
      sim:advance(2 * 3600)
      post("grid_import_export", { customer_preferred_export_rule = "never" })
      for _ = 1, 20 do
        sim:advance(1800)
        assert.is_true(live().grid_power >= 0)
      end
    end)
  end)

  describe("a tariff", function()
    local tariff = [[{"tou_settings":{"tariff_content_v2":{"version":1,"name":"T","utility":"U","daily_charges":[],
      "daily_demand_charges":{},"energy_charges":{"Year":{"rates":{"ON":0.4,"OFF":0.1}}},"seasons":{"Year":{"fromMonth":1,
      "fromDay":1,"toMonth":12,"toDay":31,"tou_periods":{"ON":{"periods":[{"fromDayOfWeek":0,"toDayOfWeek":6,"fromHour":17,
      "toHour":22}]},"OFF":{"periods":[{"fromDayOfWeek":0,"toDayOfWeek":6,"fromHour":22,"toHour":17}]}}}}}}}]]

    it("comes back as it was sent, empty lists and objects included", function()
      assert.equal(201, sim:call("POST", SITE .. "/time_of_use_settings", tariff).response.code)
      local sent = json.decode(tariff).tou_settings.tariff_content_v2
      local read = sim:get(SITE .. "/site_info")
      assert.same(sent, read.response.tariff_content_v2)
      assert.matches('"daily_charges":[]', read.body, 1, true)
      assert.matches('"daily_demand_charges":{}', read.body, 1, true)
    end)

    describe("is changed as the service changes it:", function()
      local function kept(energy, selling)
        local sent = json.decode(tariff)
        local content = sent.tou_settings.tariff_content_v2
        content.energy_charges.Year.rates, content.extra = energy, json.list({ 1 })
        if selling then
          content.sell_tariff = json.decode(json.encode(content))
          content.sell_tariff.energy_charges.Year.rates = selling
        end
        local body = json.encode(sent)
        assert.equal(201, sim:call("POST", SITE .. "/time_of_use_settings", body).response.code)
        local own = sim:get(SITE .. "/site_info").response.tariff_content_v2
        assert.same({ 1 }, own.extra)
        return own, json.decode(body).tou_settings.tariff_content_v2
      end

      it("a price below zero is zero", function()
        local own, sent = kept({ ON = 0.4, OFF = -0.1 })
        sent.energy_charges.Year.rates.OFF = 0
        assert.same(sent, own)
      end)

      it("a selling price below zero is zero", function()
        local own, sent = kept({ ON = 0.4, OFF = 0.1 }, { ON = 0.1, OFF = -0.1 })
        sent.sell_tariff.energy_charges.Year.rates.OFF = 0
        assert.same(sent, own)
      end)

      it("buying costs as much as selling brings", function()
        local own, sent = kept({ ON = 0.4, OFF = 0.1 }, { ON = 0.2, OFF = 0.3 })
        assert.same({ ON = 0.4, OFF = 0.3 }, own.energy_charges.Year.rates)
        assert.same(sent.sell_tariff, own.sell_tariff)
      end)

      it("and nothing where both agree", function()
        local own, sent = kept({ ON = 0.4, OFF = 0.1 }, { ON = 0.4, OFF = 0 })
        assert.same(sent, own)
      end)
    end)

    it("is needed in the body", function()
      assert.equal(400, sim:call("POST", SITE .. "/time_of_use_settings", "{}").status)
      assert.equal(400, sim:call("POST", SITE .. "/time_of_use_settings", '{"tou_settings":{}}').status)
    end)

    it("in time-based control keeps the battery for the dear hours", function()
      sim:call("POST", SITE .. "/time_of_use_settings", tariff)
      post("operation", { default_real_mode = "autonomous" })
      sim:advance(8 * 3600) -- 19:00 local, dear
      assert.is_true(live().battery_power > 0)
      sim:advance(4 * 3600) -- 23:00 local, cheap
      assert.equal(0, live().battery_power)
    end)
  end)

  describe("without grid", function()
    it("the battery carries the house, and the time is in the backup history", function()
      control.event(sim.service, "grid_down")
      sim:advance(1800)
      local s = live()
      assert.same({ "Inactive", "off_grid_unintentional", 0 }, { s.grid_status, s.island_status, s.grid_power })
      control.event(sim.service, "grid_up")
      local events = sim:get(SITE .. "/calendar_history?kind=backup&period=day").response.events
      assert.same({ 1, 1800 }, { #events, events[1].duration })
      assert.equal("on_grid", live().island_status)
    end)

    it("storm watch fills the battery before", function()
      sim:advance(12 * 3600)
      control.event(sim.service, "storm")
      assert.is_true(live().storm_mode_active)
      assert.is_true(live().battery_power < 0)
      control.event(sim.service, "storm_over")
      assert.is_false(live().storm_mode_active)
    end)
  end)

  describe("history", function()
    local function energy(query)
      return sim:get(SITE .. "/calendar_history?kind=energy&" .. query).response
    end

    local function range(from, to, period)
      return ("start_date=%s&end_date=%s&period=%s&time_zone=Europe%%2FBerlin"):format(
        from:gsub("+", "%%2B"), to:gsub("+", "%%2B"), period)
    end

    it("has quarter hours of a day, days of a week and a month, months of a year, years of a lifetime", function()
      local from, day, month = "2026-02-01T00:00:00+01:00", "2026-02-02T00:00:00+01:00", "2026-03-01T00:00:00+01:00"
      local function count(to, period) return #energy(range(from, to, period)).time_series end
      assert.same({ 96, 1, 1 }, { count(day, "day"), count(day, "week"), count(day, "lifetime") })
      assert.same({ 28, 28, 1 }, { count(month, "week"), count(month, "month"), count(month, "year") })
      local list = energy(range(from, day, "day")).time_series
      assert.same({ from, "2026-02-01T00:15:00+01:00", "2026-02-01T23:45:00+01:00" },
        { list[1].timestamp, list[2].timestamp, list[96].timestamp })
    end)

    it("has every balance closed", function()
      local list = energy(range("2026-03-01T00:00:00+01:00", "2026-03-08T00:00:00+01:00", "month")).time_series
      assert.equal(7, #list)
      for _, e in ipairs(list) do
        assert.near(e.solar_energy_exported, e.grid_energy_exported_from_solar + e.battery_energy_imported_from_solar +
          e.consumer_energy_imported_from_solar, 0.01)
        assert.near(e.grid_energy_imported, e.consumer_energy_imported_from_grid + e.battery_energy_imported_from_grid, 0.01)
        assert.near(e.battery_energy_exported, e.consumer_energy_imported_from_battery, 0.01)
      end
      assert.equal("2026-03-01T00:00:00+01:00", list[1].timestamp)
    end)

    it("has whole quarter hours, that in which the simulator began, too", function()
      local at = simulated.START + 437
      local garage = { energy_sites = { { energy_site_id = 2252147638651584 } } }
      sim = simulated.new(garage, { zone = BERLIN, clock = function() return 0, at end })
      sim:advance(3600)
      local list = energy(range("2026-03-10T10:00:00+01:00", "2026-03-10T12:00:00+01:00", "day")).time_series
      assert.equal(8, #list)
      for _, e in ipairs(list) do assert.near(100, e.total_home_usage, 0.01) end -- 400 W at this time of the day
    end)

    it("has totals that are the sums of their parts, in every period", function()
      local function thousandths(x) return math.floor(x * 1000 + 0.5) end
      local function same(total, ...)
        local sum = 0
        for _, part in ipairs({ ... }) do sum = sum + thousandths(part) end
        assert.equal(sum, thousandths(total))
        assert.equal(sum / 1000, total)
      end
      sim:advance(40000)
      local seen = 0
      for _, period in ipairs({ "day", "week", "month", "year", "lifetime" }) do
        for _, e in ipairs(energy(range("2026-03-08T00:00:00+01:00", "2026-03-12T00:00:00+01:00", period)).time_series) do
          same(e.total_home_usage, e.consumer_energy_imported_from_grid, e.consumer_energy_imported_from_solar,
            e.consumer_energy_imported_from_battery, e.consumer_energy_imported_from_generator)
          same(e.total_battery_charge, e.battery_energy_imported_from_grid, e.battery_energy_imported_from_solar,
            e.battery_energy_imported_from_generator)
          same(e.total_battery_discharge, e.battery_energy_exported)
          same(e.total_solar_generation, e.solar_energy_exported)
          same(e.solar_energy_exported, e.grid_energy_exported_from_solar, e.battery_energy_imported_from_solar,
            e.consumer_energy_imported_from_solar)
          same(e.total_grid_energy_exported, e.grid_energy_exported_from_solar, e.grid_energy_exported_from_battery,
            e.grid_energy_exported_from_generator)
          same(e.grid_energy_imported, e.consumer_energy_imported_from_grid, e.battery_energy_imported_from_grid)
          seen = seen + (e.total_home_usage > 0 and 1 or 0)
        end
      end
      assert.is_true(seen > 200, tostring(seen))
    end)

    it("sums to the same by day and by month", function()
      local days = energy(range("2026-02-01T00:00:00+01:00", "2026-03-01T00:00:00+01:00", "month")).time_series
      local months = energy(range("2026-02-01T00:00:00+01:00", "2026-03-01T00:00:00+01:00", "year")).time_series
      local sum = 0
      for _, e in ipairs(days) do sum = sum + e.solar_energy_exported end
      assert.same({ 28, 1 }, { #days, #months })
      assert.near(months[1].solar_energy_exported, sum, 0.1)
    end)

    local BATTERY_IN = { "battery_energy_imported_from_solar", "battery_energy_imported_from_grid" }

    -- A member, or several, summed over the entries of a range.
    local function total(names, from, to, period)
      local sum = 0
      for _, e in ipairs(energy(range(from, to, period or "month")).time_series) do
        for _, name in ipairs(names) do sum = sum + e[name] end
      end
      return sum
    end

    it("counts nothing twice and loses nothing, wherever a range is cut", function()
      sim:advance(3 * 86400 + 1000)
      local from, to = "2026-03-09T00:00:00+01:00", "2026-03-13T00:00:00+01:00"
      for _, cut in ipairs({ "2026-03-10T10:07:00+01:00", "2026-03-10T11:00:01+01:00", "2026-03-11T23:59:59+01:00" }) do
        for _, name in ipairs({ "solar_energy_exported", "grid_energy_imported", "battery_energy_exported" }) do
          assert.near(total({ name }, from, to), total({ name }, from, cut) + total({ name }, cut, to), 0.01)
          assert.near(total({ name }, from, to), total({ name }, from, to, "lifetime"), 0.01)
          assert.near(total({ name }, from, to),
            total({ name }, from, cut, "day") + total({ name }, cut, to, "day"), 0.01)
        end
      end
    end)

    it("says of the battery what the battery holds", function()
      local before = sim.service.sites[1].stored
      local from = "2026-03-10T11:00:00+01:00" -- when the simulator began
      sim:advance(31 * 86400)
      sim:get(SITE .. "/live_status")
      local to = "2026-04-10T12:00:00+02:00"
      local gained = total(BATTERY_IN, from, to) - total({ "battery_energy_exported" }, from, to)
      assert.near(sim.service.sites[1].stored - before, gained, 0.1)
    end)

    it("of days before the start takes no more from the battery than went in", function()
      local from, to = "2026-01-01T00:00:00+01:00", "2026-03-01T00:00:00+01:00"
      local out = total({ "battery_energy_exported" }, from, to)
      assert.is_true(out > 100000)
      assert.is_true(math.abs(total(BATTERY_IN, from, to) - out) < sim.service.sites[1].capacity)
    end)

    it("of days before the start is the same whatever is set later", function()
      local from, to = "2026-02-01T00:00:00+01:00", "2026-02-08T00:00:00+01:00"
      local before = energy(range(from, to, "day"))
      post("backup", { backup_reserve_percent = 90 })
      post("grid_import_export", { customer_preferred_export_rule = "never" })
      assert.same(before, energy(range(from, to, "day")))
    end)

    it("knows time zones by name and refuses others, in the query and in the garage", function()
      local offsets = { ["Asia/Kathmandu"] = 20700, ["Europe/Berlin"] = 3600 }
      local real = simulated.new(nil, { zone = function(name) return offsets[name] end })
      local day = "/calendar_history?kind=energy&start_date=2026-03-01T00:00:00%2B05:45&end_date=2026-03-03T00:00:00%2B05:45&period=month"
        .. "&time_zone="
      local reply = real:get(SITE .. day .. "Asia%2FKathmandu")
      assert.equal(2, #reply.response.time_series)
      assert.equal("2026-03-02T00:00:00+05:45", reply.response.time_series[2].timestamp)
      for _, kind in ipairs({ "calendar_history?kind=energy", "calendar_history?kind=backup", "telemetry_history?kind=charge" }) do
        for _, name in ipairs({ "Nowhere", "" }) do
          reply = real:get(SITE .. "/" .. kind .. "&time_zone=" .. name)
          assert.equal(400, reply.status)
          assert.matches("Europe/Berlin", reply.json.error_description, 1, true)
        end
      end
      assert.error_matches(function()
        simulated.new({ energy_sites = { { installation_time_zone = "Nowhere" } } }, { zone = function() return nil end })
      end, "energy_sites%[1%]%.installation_time_zone: there is no time zone 'Nowhere'")
    end)

    it("knows days of 23 hours", function()
      sim:advance(30 * 86400)
      local list = energy(range("2026-03-28T00:00:00+01:00", "2026-03-31T00:00:00+02:00", "month")).time_series
      assert.equal(3, #list)
      assert.equal(92, #energy(range("2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00", "day")).time_series)
      assert.same({ "2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00" }, { list[2].timestamp, list[3].timestamp })
    end)

    it("grows with what happens and ends now", function()
      local today = range("2026-03-10T00:00:00+01:00", "2026-03-11T00:00:00+01:00", "month")
      local before = energy(today).time_series[1].solar_energy_exported
      sim:advance(2 * 3600)
      assert.is_true(energy(today).time_series[1].solar_energy_exported > before + 5000)
      local future = range("2026-04-10T00:00:00+02:00", "2026-04-11T00:00:00+02:00", "day")
      assert.equal(json.null, energy(future))
    end)

    it("refuses dates without offset, ranges backwards, more entries than a month of quarter hours has and unknown periods", function()
      local function status(query) return sim:get(SITE .. "/calendar_history?kind=energy&" .. query).status end
      assert.equal(400, status("start_date=2026-03-01"))
      assert.equal(400, status(range("2026-03-02T00:00:00Z", "2026-03-01T00:00:00Z", "day")))
      assert.equal(400, status("period=hour"))
      local from = "2026-01-01T00:00:00Z"
      local month, more = "2026-02-01T00:00:00Z", "2026-02-03T00:00:00Z"
      assert.same({ 200, 400, 200 },
        { status(range(from, month, "day")), status(range(from, more, "day")), status(range(from, more, "month")) })
    end)

    it("of the wall connector holds what a vehicle charged at home, and the load shows it", function()
      control.event(sim.service, "plug", simulated.OLD)
      assert.is_true(live().load_power > 7680)
      sim:advance(3600)
      control.event(sim.service, "unplug", simulated.OLD)
      local list = sim:get(SITE .. "/telemetry_history?kind=charge").response.charge_history
      assert.equal(1, #list)
      assert.near(7680, list[1].energy_added_wh, 5)
      assert.near(3600, list[1].charge_duration.seconds, 5)
    end)
  end)

  it("is in the list of products with the vehicles", function()
    local reply = sim:get("/api/1/products")
    assert.same({ 3, "vehicle", "energy" }, {
      reply.json.count, reply.response[1].device_type, reply.response[3].device_type,
    })
  end)

  it("of another account is not found", function()
    local two = simulated.new({ accounts = { { email = "a@x" }, { email = "b@x" } },
      energy_sites = { { energy_site_id = 5, owner = "b@x" } } })
    assert.equal(404, two:get("/api/1/energy_sites/5/live_status").status)
  end)
end)
