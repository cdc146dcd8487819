-- The sentence of a plan: its times, its price, and what of it is left out because it is not known.

local fleet = require "fleet"
local local_time = require "fleet.automation.local_time"
local sentence = require "fleet.automation.charging.sentence"

local zone = assert(local_time.zone "Europe/Berlin")
local function at(text) return fleet.time(text .. ":00+01:00") end

local function tariff(currency)
  local plan = assert(fleet.tariff.from_rows {
    name = "Night", currency = currency, any_currency = currency == nil, time_zone = "Europe/Berlin",
    rows = { { from = "22:00", to = "06:00", price = 0.2 }, { from = "06:00", to = "22:00", price = 0.4 } },
  })
  return assert(fleet.tariff.new(plan, { time_zone = "Europe/Berlin", any_currency = true }))
end

local config = { local_zone = zone, level = 80 }

local function slots(...)
  local list = {}
  for i, pair in ipairs { ... } do list[i] = { from = at(pair[1]), to = at(pair[2]) } end
  return list
end

-- 39 % are missing and take so many hours.
local function facts(list, more)
  local f = { level = 41, missing = 39, rate = 39 / 6, deadline = at "2026-03-11T07:00", slots = list }
  for name, value in pairs(more or {}) do f[name] = value end
  return f
end

local function state(prices, kwh)
  return { inputs = { tariff = prices }, memory = { percent_kwh = kwh and kwh / 100 } }
end

local evening = at "2026-03-10T20:00"
local night = slots { "2026-03-10T22:00", "2026-03-11T04:54" }

describe("the sentence of a plan", function()
  it("says when, until when and for how much", function()
    assert.equal("charging from 22:00 to 04:54 tonight, ready by 07:00, about 5.85 EUR: from 41 % to 80 % when it is cheapest",
      sentence.plan(config, evening, state(tariff "EUR", 75), facts(night)))
    assert.equal("charging until 04:54, ready by 07:00, about 5.85 EUR: from 41 % to 80 %",
      sentence.plan(config, at "2026-03-10T22:00", state(tariff "EUR", 75), facts(night)))
    assert.equal("charging from 22:00 to 04:54 tonight, ready by 07:00, about 5.85 EUR: from 41 % to 80 % when it is cheapest, "
      .. "started by the car's own schedule", sentence.plan(config, evening, state(tariff "EUR", 75), facts(night), true))
  end)

  it("takes each price at its time, and what does not fit is not charged", function()
    local f = facts(slots { "2026-03-10T20:00", "2026-03-10T23:00" }, { missing = 30, rate = 10 })
    assert.equal("10.00 EUR", sentence.price(config, evening, state(tariff "EUR", 100), f)) -- 20 kWh at 0.4, 10 at 0.2
    f.missing, f.rate = 60, 10
    assert.equal("10.00 EUR", sentence.price(config, evening, state(tariff "EUR", 100), f))
  end)

  it("names no price where energy, currency or prices are not known, or where it is nothing", function()
    local without = "charging until 04:54, ready by 07:00: from 41 % to 80 %"
    local now = at "2026-03-10T22:00"
    assert.equal(without, sentence.plan(config, now, state(tariff "EUR", nil), facts(night)))
    assert.equal(without, sentence.plan(config, now, state(tariff(nil), 75), facts(night)))
    assert.equal(without, sentence.plan(config, now, state(nil, 75), facts(night)))
    assert.equal(without, sentence.plan(config, now, { memory = { percent_kwh = 0.75 } }, facts(night)))
    assert.is_nil(sentence.price(config, now, state(tariff "EUR", 75), facts(night, { missing = 0.001 })))
    local unknown = { currency = "EUR", price = function() end }
    assert.equal(without, sentence.plan(config, now, state(unknown, 75), facts(night)))
  end)

  it("takes the capacity that was given until a charge has shown the energy of a percent", function()
    local given = { local_zone = zone, level = 80, capacity_kwh = 50 }
    assert.equal("3.90 EUR", sentence.price(given, evening, state(tariff "EUR", nil), facts(night)))
    assert.equal("5.85 EUR", sentence.price(given, evening, state(tariff "EUR", 75), facts(night)))
  end)

  it("names blocks plainly, and the day where it is not tonight", function()
    local function times(now, ...) return sentence.times(config, at(now), slots(...)) end
    local first, second = { "2026-03-10T22:00", "2026-03-10T23:30" }, { "2026-03-11T02:00", "2026-03-11T04:54" }
    assert.equal("22:00-23:30 and 02:00-04:54 tonight", times("2026-03-10T20:00", first, second))
    assert.equal("until 23:30, then 02:00-04:54 tonight", times("2026-03-10T22:00", first, second))
    assert.equal("from 02:00 to 04:54 tonight", times("2026-03-11T01:00", second))
    assert.equal("from 22:00 to 23:30 tonight", times("2026-03-10T08:00", first))
    assert.equal("from 13:00 to 15:00 today", times("2026-03-10T08:00", { "2026-03-10T13:00", "2026-03-10T15:00" }))
    assert.equal("from 13:00 to 15:00 on Wed", times("2026-03-10T20:00", { "2026-03-11T13:00", "2026-03-11T15:00" }))
    assert.equal("13:00-15:00 today and 22:00-23:30 and 02:00-04:54 tonight",
      times("2026-03-10T08:00", { "2026-03-10T13:00", "2026-03-10T15:00" }, first, second))
  end)

  it("says what a late car gets", function()
    local now = slots { "2026-03-10T20:00", "2026-03-11T07:00" }
    assert.equal("charging until 07:00, about 7.80 EUR: 41 % now, and the time until 07:00 is too short for 80 %",
      sentence.plan(config, evening, state(tariff "EUR", 75), facts(now, { late = true })))
    assert.equal("charging until 07:00: from 41 % to 80 %, as the car came too late",
      sentence.plan(config, evening, state(tariff "EUR", nil), facts(now, { overdue = true })))
  end)

  it("says without prices that it takes the last hours", function()
    assert.equal("charging in the last hours, from 22:00 to 04:54 tonight, ready by 07:00: from 41 % to 80 %",
      sentence.plan(config, evening, state(nil, 75), facts(night)))
  end)

  it("of a car that is charged says what was wanted", function()
    assert.equal("charged to 80 %, as wanted", sentence.reached(config, { level = 80.4 }))
    assert.equal("charged to 85 %; 80 % was wanted", sentence.reached(config, { level = 85 }))
  end)

  it("fits a sensor of a home automation host", function()
    local four = slots({ "2026-03-10T22:00", "2026-03-10T22:30" }, { "2026-03-10T23:00", "2026-03-10T23:30" },
      { "2026-03-11T01:00", "2026-03-11T02:00" }, { "2026-03-11T03:00", "2026-03-11T04:00" })
    assert.is_true(#sentence.plan(config, evening, state(tariff "EUR", 75), facts(four), true) <= 255)
  end)
end)

describe("the energy of a percent", function()
  local battery = require "fleet.automation.charging.battery"

  local function shown(more)
    local charge = { charging_state = "Charging", battery_level = 40, charge_limit_soc = 80, minutes_to_full_charge = 160,
      charge_current_request = 16, charger_actual_current = 16, charger_voltage = 230, charger_phases = 3 }
    for name, value in pairs(more) do charge[name] = value end
    local memory = {}
    battery.rate({}, memory, charge, 1)
    return memory.percent_kwh
  end

  it("is learned from the power and the rate that the car shows", function()
    assert.near(11.04 / 15, shown {}, 1e-9)
    assert.near(11 / 15, shown { charger_phases = 2, charger_power = 11 }, 1e-9)
    assert.near(11.04 / 15, shown { charger_power = 11 }, 1e-9)
  end)

  it("stays unknown where the car shows no power, or does not charge", function()
    assert.is_nil(shown { charger_actual_current = "absent" })
    assert.is_nil(shown { charging_state = "Stopped" })
    assert.is_nil(battery.kwh({}, {}, 39))
    assert.equal(19.5, battery.kwh({ capacity_kwh = 50 }, {}, 39))
  end)
end)
