-- ensure over a simulated June: declared settings, reached with few billed calls.

local damage = require "spec.support.fixtures.damage"
local fleet = require "fleet"
local months = require "spec.support.fixtures.month"

local function set(changes)
  return function(world) require("fleet.sim.control").set(world.service, world.car.vin, changes) end
end

local function rehearse(options, more)
  local automation
  local given = {
    from = "2026-06-01", days = 30,
    vehicle = { vehicle_state = { sentry_mode = false }, charge_state = { charge_limit_soc = 90, battery_level = 55 } },
    automation = function(car, site)
      local own = { car = not options.site and car or nil, site = options.site and site or nil, zone = "Europe/Berlin" }
      for name, value in pairs(options) do if name ~= "site" then own[name] = value end end
      automation = fleet.automation.ensure(own)
      return automation
    end,
  }
  for name, value in pairs(more or {}) do given[name] = value end
  local month = months.of(given)
  return month, automation:cost().calls
end

describe("ensure over June 2026", function()
  it("sets what differs once, and looks without waking", function()
    local month, calls = rehearse {
      settings = { set_charge_limit = { percent = 80 }, set_temps = { driver_temp = 20, passenger_temp = 20 } },
    }
    assert.equal(1, month:sent("set_charge_limit"))
    assert.equal(1, month:sent("set_temps"))
    assert.same({}, month.refused)
    assert.is_nil(month.calls.wake)
    assert.same(month.calls, { data = calls.data, command = 2 })
    assert.is_true(month.calls.data <= 30 * 30, tostring(month.calls.data))
  end)

  it("sends nothing where everything is as declared", function()
    assert.equal(0, rehearse({ settings = { set_charge_limit = { percent = 90 } } }, { days = 5 }):sent())
  end)

  it("sets again what a person changed, when the car is awake anyway", function()
    local month = rehearse({ settings = { set_charge_limit = { percent = 80 } } }, { days = 6, also = {
      { "18:10", set { charge_state = { charge_limit_soc = 100 } }, date = "2026-06-03" },
    } })
    assert.equal(2, month:sent("set_charge_limit"))
  end)

  it("gives up for the day where another person or program keeps changing it, and says so", function()
    local also = {}
    for hour = 8, 22 do also[#also + 1] = { hour .. ":30", set { charge_state = { charge_limit_soc = 100 } }, date = "2026-06-03" } end
    local month = rehearse({ settings = { set_charge_limit = { percent = 80 } }, look_every = 600, every = 600 }, {
      days = 4, vehicle = { sleep_after = 1e9, charge_state = { charge_limit_soc = 80 } }, habits = {}, also = also })
    assert.equal(3, #months.on(month, "2026-06-03"))
    assert.equal(1, #months.on(month, "2026-06-04"))
    assert.matches("charge limit: a person or another program keeps changing it, so it is left alone until tomorrow", months.said(month))
  end)

  it("does not send again what the site keeps at another value, and says so", function()
    local notified = {}
    local month = damage.while_spoilt(function(body, path)
      local over = path == "site_info" and string.find(body, '"backup_reserve_percent":100', 1, true)
      return over and damage.named(body, { backup_reserve_percent = 80 })
    end, function()
      return rehearse({ site = true, settings = { backup = { backup_reserve_percent = 100 } },
        notify = function(event) notified[#notified + 1] = event.text end }, {
        days = 3, energy_site = { components = { battery = true }, battery_count = 1, backup_reserve_percent = 20 } })
    end)
    assert.equal(1, month:sent("backup"))
    assert.same(3, #notified) -- once a day
    assert.matches("backup: the site keeps another value than was sent, .*80.*, and it is left alone", notified[1])
  end)

  it("sends nothing for a value that the reply lacks, and reports that", function()
    for _, value in ipairs { "absent", damage.null, damage.list, "text" } do
      local month = damage.while_spoilt(function(body, path)
        return path == "vehicle_data" and damage.named(body, { charge_limit_soc = value })
      end, function() return rehearse({ settings = { set_charge_limit = { percent = 80 } } }, { days = 2 }) end)
      assert.equal(0, month:sent())
      assert.matches("charge limit: its present value is not known, so it is left alone", months.said(month), 1, true)
    end
  end)

  it("keeps settings of a site", function()
    local month = rehearse({ site = true, settings = { backup = { backup_reserve_percent = 35 } } }, {
      days = 3, energy_site = { components = { battery = true }, battery_count = 1 },
      also = { { "12:00", function(world) world.site.info.backup_reserve_percent = 10 end, date = "2026-06-02" } },
    })
    assert.equal(2, month:sent("backup"))
  end)
end)
