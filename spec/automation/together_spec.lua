-- Two automations that want different things of one car: the higher precedence wins, and the other one says so.

local arbitration = require "fleet.automation.arbitration"
local core = require "fleet.core"
local fleet = require "fleet"
local observers = require "fleet.call.observers"
local months = require "spec.support.fixtures.month"

local sunny = { { "17:00", "plug", date = "2026-04-01" } }

local function both(more)
  return function(car, site)
    return {
      fleet.automation.surplus_charge { car = car, site = site, zone = "Europe/Berlin", volts = 240, sample_every = 300, wake = true,
        precedence = more.surplus },
      fleet.automation.charge_by { car = car, ready_by = "11:00", level = 80, tariff = more.tariff, wake = true },
    }
  end
end

local function cheap_morning()
  return assert(fleet.tariff.from_rows { currency = "EUR", time_zone = "Europe/Berlin", rows = {
    { from = "07:00", to = "11:00", price = 0.10 }, { from = "11:00", to = "07:00", price = 0.40 } } })
end

local function rehearse(more)
  return months.of {
    from = "2026-04-01", days = 3, tariff = cheap_morning(), habits = sunny, ready_by = "11:00",
    vehicle = { charge_state = { battery_level = 50, charge_limit_soc = 80, charge_current_request_max = 16 } },
    energy_site = { solar_power = 1500 }, automation = both { surplus = more.surplus, tariff = cheap_morning() },
  }
end

describe("charge_by and surplus_charge for one car", function()
  it("charge_by wins in its hours, and surplus_charge says who holds the charging until when", function()
    local month = rehearse {}
    assert.is_true(month.ready[2].level >= 64)
    assert.matches("gives way to charge_by %(precedence 30%), which holds charging until Thu", months.said(month, "surplus_charge"))
    assert.is_nil(string.find(months.said(month, "charge_by"), "gives way", 1, true))
  end)

  it("the order can be stated otherwise", function()
    local month = months.of {
      from = "2026-04-01", days = 2, habits = { { "00:10", "plug", date = "2026-04-01" } }, tariff = cheap_morning(),
      vehicle = { charge_state = { battery_level = 50, charge_limit_soc = 70, charge_current_request_max = 16 } },
      automation = function(car)
        return {
          fleet.automation.ensure { car = car, settings = { set_charge_limit = { percent = 70 } }, precedence = 50 },
          fleet.automation.charge_by { car = car, ready_by = "11:00", level = 80, tariff = cheap_morning(), wake = true },
        }
      end,
    }
    assert.equal(0, month:sent("set_charge_limit"))
    assert.matches("gives way to ensure %(precedence 50%), which holds limit", months.said(month, "charge_by"))
  end)

  it("what is held is held on while the site is looked at", function()
    local held = 0
    local function watched(car)
      local context, _, id = core.context(car)
      observers.listen(context, function(row)
        if row.name == "live_status" and arbitration.read(context, id).charging then held = held + 1 end
      end)
    end
    months.of { from = "2026-04-01", days = 2, habits = { { "00:10", "plug", start = false, date = "2026-04-01" } },
      vehicle = { charge_state = { battery_level = 50, charge_limit_soc = 80, charge_current_request_max = 16 } },
      automation = function(car, site)
        watched(car)
        return fleet.automation.surplus_charge { car = car, site = site, zone = "Europe/Berlin", volts = 240, wake = true }
      end }
    assert.is_true(held > 20, tostring(held))
  end)
end)

it("a wake is counted for the automation that asked for it", function()
  local made
  local month = months.of { days = 3, automation = function(car)
    made = {
      fleet.automation.charge_by { car = car, ready_by = "07:00", level = 80, tariff = months.tariff, wake = true, schedules = false },
      fleet.automation.keep_limit { car = car, level = 80 },
    }
    return made
  end }
  assert.is_true(month.calls.wake > 0)
  assert.equal(month.calls.wake, made[1]:cost().calls.wake)
  assert.is_nil(made[2]:cost().calls.wake)
end)
