-- surplus_charge over a simulated April: grid share, commands, and what may interfere.

local fleet = require "fleet"
local months = require "spec.support.fixtures.month"

local habits = { { "07:30", "leave", days = "mon-fri", miles = 30 }, { "13:30", "plug", days = "mon-fri" } }

local function weather(world)
  local day = math.floor((world.measured - world.from) / 86400)
  world.site.peak = ({ 7000, 5200, 2600, 6400, 1500, 7000, 4300 })[day % 7 + 1]
end

local function rehearse(options, more)
  local automation
  local given = {
    from = "2026-04-01", days = 30, tariff = assert(fleet.tariff.flat { price = 0.33, currency = "EUR", time_zone = "Europe/Berlin" }),
    vehicle = { charge_state = { battery_level = 35, charge_limit_soc = 90, charge_current_request_max = 16 } }, habits = habits,
    also = { { "00:00", weather } },
    automation = function(car, site)
      local own = { car = car, site = site, zone = "Europe/Berlin", volts = 240, sample_every = 300, wake = true }
      for name, value in pairs(options or {}) do own[name] = value end
      automation = fleet.automation.surplus_charge(own)
      return automation
    end,
  }
  for name, value in pairs(more or {}) do given[name] = value end
  local month = months.of(given)
  return month, automation and automation:cost().calls
end

describe("surplus_charge over April 2026 in Berlin", function()
  local month, calls = rehearse()

  it("charges with the sun: at most a tenth comes from the grid, where charging at once takes more", function()
    local at_once = rehearse(nil, { automation = function() return {} end })
    assert.is_true(month.grid_kwh < 0.1 * month.kwh, month.grid_kwh .. " of " .. month.kwh)
    assert.is_true(month.grid_kwh / month.kwh < 0.5 * at_once.grid_kwh / at_once.kwh, at_once.grid_kwh .. " of " .. at_once.kwh)
  end)

  it("sends each amps once, not more than ten commands a day, and counts them as the service does", function()
    assert.same({}, months.wasted(month))
    assert.is_true(month:sent() <= 10 * 30, tostring(month:sent()))
    assert.same({ data = month.calls.data, command = month.calls.command, wake = month.calls.wake }, {
      data = calls.data, command = calls.command, wake = calls.wake,
    })
  end)

  it("costs at most 0.60 USD, wakes included: the site's own meters are free", function()
    assert.is_true(month.usd <= 0.60, tostring(month.usd))
  end)

  it("keeps the minimum times between start and stop, and within the limits of the cable", function()
    local last
    for _, command in ipairs(month.commands) do
      if command.params.charging_amps then
        assert.is_true(command.params.charging_amps >= 5 and command.params.charging_amps <= 16)
      else
        if last then assert.is_true(command.at - last >= 900) end
        last = command.at
      end
    end
  end)

  it("charges nothing at night", function()
    for _, sample in ipairs(month.samples) do
      local hour = month.zone:localtime(math.floor(sample.at)).hour
      if hour < 6 or hour >= 20 then assert.equal(0, sample.kwh) end
    end
  end)
end)

describe("the battery of the house", function()
  local site = { components = { battery = true }, battery_count = 1, percentage_charged = 20 }

  it("goes first when configured so", function()
    local first = rehearse({ battery_first = 95 }, { days = 4, energy_site = site })
    local second = rehearse(nil, { days = 4, energy_site = site })
    local function begins(month)
      for _, sample in ipairs(month.samples) do
        if sample.kwh > 0 and sample.at > month.from + 86400 * 3 then return sample.at end
      end
      return math.huge
    end
    assert.is_true(first.kwh < second.kwh)
    assert.is_true(begins(first) > begins(second))
  end)
end)

describe("a car without a wall connector that names it", function()
  it("is looked at by the clock, and charged all the same", function()
    local month = rehearse(nil, { days = 4, energy_site = { wall_connectors = require("fleet.sim.json").list() } })
    assert.is_true(month.sun_kwh > 20, tostring(month.sun_kwh))
    assert.same({}, months.wasted(month))
  end)
end)

describe("a car that charges by the sun itself", function()
  local function with(state)
    return { days = 2, vehicle = { charge_state = { battery_level = 35, charge_limit_soc = 90, charge_current_request_max = 16,
      managed_charging_state = { charge_on_solar_state = state } } } }
  end

  it("is left alone while that is at work, and not when the owner has switched it off", function()
    local month = rehearse(nil, with { charging_on_excess_solar = {} })
    assert.equal(0, month:sent())
    assert.matches("the car itself charges with solar power", months.said(month))
    assert.is_true(rehearse(nil, with { user_disabled = {} }):sent() > 0)
  end)

  it("is not stopped by charge_by in a dear hour, and charged by it in a cheap one", function()
    local function sent(state, name, waits)
      local given = with(state)
      given.from = "2026-04-01"
      given.tariff, given.habits, given.also = months.tariff, { { "17:45", "plug", date = "2026-04-01", start = not waits } }, {}
      return months.charge_by(nil, given):sent(name)
    end
    assert.equal(0, sent({ charging_on_excess_solar = {} }, "charge_stop"))
    assert.is_true(sent({ not_allowed = {} }, "charge_stop") > 0)
    assert.equal(1, sent({ charging_on_excess_solar = {} }, "charge_start", true))
  end)
end)

describe("what interferes", function()
  it("an owner who stops it by hand is left alone until midnight", function()
    local month = rehearse(nil, { days = 4, also = { { "00:00", weather }, { "14:20", "stop_by_hand", date = "2026-04-02" } } })
    assert.matches("the owner stopped charging by hand", months.said(month))
    for _, command in ipairs(month.commands) do
      local text = months.local_text(month, command.at)
      assert.is_false(text > "2026-04-02 14:20" and text < "2026-04-03 00:00", text .. " " .. command.name)
    end
    assert.equal("charge_start", string.match(table.concat(months.on(month, "2026-04-04"), " "), "charge_start"))
  end)

  it("a sleeping car is not woken unless that is allowed, and that is reported", function()
    local month = rehearse({ wake = false }, { days = 5 })
    assert.is_nil(month.calls.wake)
    assert.same({}, month.refused)
    assert.matches("the car is asleep; wake = true lets it be woken", months.said(month))
  end)

  it("looks at the site every five minutes by day while there is no car at the plug, and every two where one waits for sun", function()
    local day = 14 * 3600
    local _, away = rehearse({ sample_every = 120 }, { days = 2, habits = {} })
    local _, waiting = rehearse({ sample_every = 120, daily_cap = 1 }, { days = 2, habits = { { "00:10", "plug", start = false } } })
    local records = 86400 / 1800
    assert.is_true(away.free <= 2 * (day / 300 + 10 * 3600 / 900 + records) + 5, tostring(away.free))
    assert.is_true(waiting.free > 2 * 0.8 * day / 120, tostring(waiting.free))
  end)

  it("a service that is down while it charges gets the stop later", function()
    local month = rehearse(nil, { days = 2, also = {
      { "00:00", weather }, { "16:00", "service_down", date = "2026-04-01" }, { "18:00", "service_up", date = "2026-04-01" },
    } })
    local sent = months.on(month, "2026-04-01")
    assert.equal("charge_stop", sent[#sent])
  end)

  it("the cap of a day ends adjusting, but not the stop that belongs to a start", function()
    local month = rehearse({ daily_cap = 2 }, { days = 2 })
    local sent = months.on(month, "2026-04-01")
    assert.equal(3, #sent)
    assert.equal("charge_stop", sent[3])
    assert.matches("the cap of 2 commands a day is reached", months.said(month))
  end)
end)

-- A missing reading is no surplus, and an old one says nothing of now.
describe("surplus_charge without a reading", function()
  local seam = require "spec.support.fixtures.host_http"
  local now = fleet.time "2026-06-10T10:00:00Z"
  local client
  before_each(function() client = seam.client "{}" end)
  after_each(function() client:close() end)

  local function decided(charging, live, options, read_at)
    local given = { car = client:vehicle(seam.vin), site = client:energy_site "1234567890", zone = "UTC", min_on = 0, min_off = 0,
      steady = 0 }
    for name, value in pairs(options or {}) do given[name] = value end
    local state = {
      seen = { info = { state = "online" }, live_status = live, charge_state = { charging_state = charging,
        charge_current_request = 16, charge_current_request_max = 16, battery_level = 50, charge_limit_soc = 80 } },
      at = { info = now, live_status = read_at or now, charge_state = now },
      inputs = {}, memory = {}, did = {}, refused = {}, day = { commands = 0 }, calls = {}, claims = {},
    }
    local decision = fleet.automation.surplus_charge(given):step(now, state)
    local calls = {}
    for i, action in ipairs(decision.actions) do calls[i] = action.call end
    return table.concat(calls, " "), decision.why
  end

  local function live(more)
    local found = { solar_power = 6000, grid_power = -5000, load_power = 1000, timestamp = "2026-06-10T09:59:30Z", wall_connectors = {} }
    for name, value in pairs(more or {}) do found[name] = value ~= "none" and value or nil end
    return found
  end

  it("charges with one", function()
    local calls, why = decided("Stopped", live())
    assert.matches("charge_start", calls)
    assert.matches("^charging with 16 A", why)
    assert.equal("", (decided("Charging", live { timestamp = "none" }))) -- a site without timestamps: the time of the look counts
  end)

  for what, case in pairs {
    ["no reading of the grid power"] = live { grid_power = "none", solar_power = 500, load_power = 4500 },
    ["no reading of the grid power, but a text"] = live { grid_power = "-5000" },
    ["no reading of the site, the last one is of Tue 12:00"] = live { timestamp = "2026-06-09T12:00:00Z" },
    ["no reading of the site, the last one is of 05:00"] = live { timestamp = "2026-06-10T05:00:00Z" },
    ["no reading of the home battery's power"] = live { percentage_charged = 50 },
  } do
    it("neither starts nor goes on: " .. what, function()
      local said = string.match(what, "^[^,]*")
      local calls, why = decided("Stopped", case)
      assert.equal("", calls)
      assert.matches("waits: " .. said, why, 1, true)
      calls, why = decided("Charging", case)
      assert.equal("charge_stop", calls)
      assert.matches("stops: " .. said, why, 1, true)
      calls, why = decided("Charging", case, { steady = 300 })
      assert.equal("", calls)
      assert.matches("charging stops if that lasts", why)
    end)
  end

  it("gives the house's battery its part where its level is not known", function()
    local case = live { grid_power = 0, battery_power = -5000 }
    assert.matches("waits: no reading of the home battery's level", select(2, decided("Stopped", case, { battery_first = 80 })))
    case.percentage_charged = 30
    assert.matches("it leaves 0 W over", select(2, decided("Stopped", case, { battery_first = 80 })))
  end)

  it("reads the site again after a command that failed, which makes all that was seen too old", function()
    assert.equal("live_status", (decided("Stopped", live(), nil, "too old")))
  end)
end)
