-- charge_by over simulated months: energy, cost, readiness, billed calls; and what goes wrong in a month.

local fleet = require "fleet"
local months = require "spec.support.fixtures.month"
local optimum = require "spec.support.fixtures.optimum"
local plans = require "fleet.automation.charging.plan"

local prices = {}
for hour = 0, 23 do prices[hour] = hour < 5 and 0.19 or hour < 17 and 0.31 or hour < 21 and 0.42 or 0.26 end

local function level_on(month, date)
  for _, ready in ipairs(month.ready) do
    if string.sub(months.local_text(month, ready.at), 1, 10) == date then return ready.level end
  end
end

describe("charge_by over March 2026 in Berlin", function()
  local month = months.charge_by()
  local at_once, at_eleven = months.at_once(), months.at_hour("23:00")

  it("is ready every day, by the local clock also on the day of the change", function()
    assert.same({ 31, 31 }, { month:ready_days(80) })
    assert.equal("2026-03-29 07:00", months.local_text(month, month.ready[29].at))
  end)

  it("charges what the drives took, as much as the car would by itself", function()
    assert.near(at_once.kwh, month.kwh, 20) -- the last evening is charged in April
    assert.near(490, month.kwh, 30)
  end)

  it("pays less than charging at once and less than a fixed hour", function()
    assert.is_true(month.price < 0.7 * at_once.price, month.price .. " " .. at_once.price)
    assert.is_true(month.price < at_eleven.price, month.price .. " " .. at_eleven.price)
  end)

  it("comes within 3 % of the optimum: the car is found minutes after it comes, and charges until then", function()
    local paid, least = optimum.of(month, optimum.by_hour(month.zone, prices), 3.84)
    assert.is_true(paid / least <= 1.03, tostring(paid / least))
  end)

  it("looks live no more than six times a day, where the record is free", function()
    assert.is_true(month.calls.data <= 6 * 31, tostring(month.calls.data))
  end)

  it("does nothing twice, and sends at most four commands a night", function()
    assert.same({}, months.wasted(month))
    assert.is_true(month:sent() <= 31 * 4, tostring(month:sent()))
    assert.equal(month.calls.command, month:sent())
  end)

  it("counts the billed calls by class as the service does", function()
    assert.same(month.calls, { data = months.last_calls.data, command = months.last_calls.command, wake = months.last_calls.wake })
    assert.is_true(month.calls.wake <= 2 * 31) -- to know where it is, and to start it
    assert.near(month.usd, month.calls.data / 500 + month.calls.command / 1000 + month.calls.wake / 50, 1e-9)
  end)
end)

describe("charge_by over October 2026 in Berlin", function()
  it("is ready every day, and the longer night costs no command more", function()
    local month = months.charge_by(nil, { from = "2026-10-01" })
    assert.same({ 31, 31 }, { month:ready_days(80) })
    assert.same({}, months.wasted(month))
    assert.is_true(#months.on(month, "2026-10-25") <= 4)
  end)
end)

describe("a sleeping car", function()
  it("is never called live without wake = true, and the reason is given", function()
    local month = months.charge_by({ wake = false }, { days = 5 })
    local _, noted = month:ready_days(80)
    assert.equal(5, noted)
    assert.is_nil(month.calls.wake)
    for _, call in ipairs(month.refused) do assert.not_equal(408, call.status) end
    assert.matches("wake = true lets it be woken", months.said(month))
  end)

  it("gets no live call with it either, but is woken once a stretch, and once to be seen", function()
    local month = months.charge_by(nil, { days = 5 })
    assert.same({}, month.refused)
    assert.is_true(month.calls.wake <= 2 * 5)
  end)
end)

describe("the plug", function()
  it("that is not in gets no command", function()
    local month = months.charge_by(nil, { days = 4, habits = { { "07:30", "leave", miles = 10 } } })
    assert.equal(0, month:sent())
    assert.matches("the car is not plugged in", months.said(month))
  end)

  it("that is pulled in the night ends the plan, and a new one is made when it comes back", function()
    local month = months.charge_by(nil, { days = 4, also = {
      { "01:30", "leave", date = "2026-03-03", miles = 10 }, { "02:15", "plug", date = "2026-03-03" },
    } })
    assert.is_true(level_on(month, "2026-03-03") >= 80)
    assert.same({}, months.wasted(month))
  end)
end)

describe("a car that comes too late for its time", function()
  -- Plugged in at 06:50 for 07:00, and at the plug all day. Returns the level at 12:00 and the report.
  local function day(options)
    local level
    local month = months.charge_by(options, { days = 2, habits = { { "06:50", "plug", start = false, date = "2026-03-02" },
      { "12:00", function(world) level = world.car.sections.charge_state.battery_level end, date = "2026-03-02" } },
      start = fleet.time("2026-03-01T12:00:00+01:00"),
      vehicle = { charge_state = { battery_level = 60, charge_limit_soc = 80, charge_current_request_max = 16 } } })
    return level, month
  end

  for _, schedules in ipairs { false, true } do
    it("is charged on to its level after it, with schedules = " .. tostring(schedules), function()
      local level, month = day { schedules = schedules }
      assert.is_true(level >= 79, tostring(level))
      assert.is_true(month:sent() <= 6, tostring(month:sent()))
      assert.same({}, months.wasted(month))
    end)

    it("is not with go_on = false, and schedules = " .. tostring(schedules), function()
      local level = day { schedules = schedules, go_on = false }
      assert.is_true(level <= 63, tostring(level))
    end)
  end
end)

describe("prices that change", function()
  it("move the plan", function()
    local evening = assert(fleet.tariff.from_rows { currency = "EUR", time_zone = "Europe/Berlin", rows = {
      { from = "00:00", to = "19:00", price = 0.40 }, { from = "19:00", to = "24:00", price = 0.10 } } })
    local switch = fleet.time("2026-03-04T12:00:00+01:00")
    local function tariff(now) return now < switch and months.tariff or evening end
    local month = months.charge_by({ tariff = tariff, zone = "Europe/Berlin" }, { days = 5, tariff = tariff })
    local starts = {}
    for _, command in ipairs(month.commands) do
      if command.name == "charge_start" then starts[string.sub(months.local_text(month, command.at), 1, 13)] = true end
    end
    assert.is_true(starts["2026-03-03 00"] and starts["2026-03-04 19"])
    assert.same({ 5, 5 }, { month:ready_days(80) })
  end)

  it("make it stop in a dear hour between two cheap ones, and go on where a stop and a start cost more", function()
    local function starts(price)
      local tariff = assert(fleet.tariff.from_rows { currency = "EUR", time_zone = "Europe/Berlin", rows = {
        { from = "00:00", to = "02:00", price = 0.19 }, { from = "02:00", to = "03:00", price = price },
        { from = "03:00", to = "05:00", price = 0.19 }, { from = "05:00", to = "24:00", price = 0.42 } } })
      local given = { days = 3, tariff = tariff, habits = { { "20:00", "plug", start = false, date = "2026-03-01" } } }
      given.vehicle = { charge_state = { battery_level = 65, charge_limit_soc = 90, charge_current_request_max = 16 } }
      return months.charge_by({ tariff = tariff }, given):sent("charge_start")
    end
    assert.equal(1, starts(0.193))
    assert.equal(2, starts(0.35))
  end)

  it("that are missing make it charge in the last hours, and be ready", function()
    local month = months.charge_by({ tariff = function() error("no prices today") end, zone = "Europe/Berlin" }, { days = 5 })
    assert.same({ 5, 5 }, { month:ready_days(80) })
  end)
end)

describe("the owner's hand", function()
  it("that starts charging wins until it is unplugged, and that is reported", function()
    local month = months.charge_by(nil, { days = 4, also = { { "19:30", "start_by_hand", date = "2026-03-03" } } })
    assert.same({ "charge_start", "charge_stop" }, months.on(month, "2026-03-03"))
    assert.matches("the owner started charging by hand at Tue %d%d:%d%d", months.said(month))
  end)

  it("that stops charging wins for the night, and the next night is planned again", function()
    local month = months.charge_by(nil, { days = 5, also = { { "01:20", "stop_by_hand", date = "2026-03-04" } } })
    assert.is_true(level_on(month, "2026-03-04") < 80)
    assert.matches("the owner stopped charging by hand at Wed 0", months.said(month))
    assert.is_true(level_on(month, "2026-03-05") >= 80)
  end)
end)

describe("a service that is down", function()
  it("is tried again with pauses, and the car is ready all the same", function()
    local month = months.charge_by(nil, { days = 5, also = {
      { "23:00", "service_down", date = "2026-03-03" }, { "01:10", "service_up", date = "2026-03-04" },
    } })
    assert.same({ 5, 5 }, { month:ready_days(80) })
    assert.matches("the service could not be reached", months.said(month))
    assert.same({}, months.wasted(month))
  end)

  it("that loses a reply makes nothing happen twice", function()
    local month = months.charge_by(nil, { days = 5, also = {
      { "20:00", "fault", date = "2026-03-03", fault = "executed_503", row = "charge_start" },
      { "12:00", "fault", date = "2026-03-04", fault = "drop_after", row = "charge_stop" },
    } })
    assert.same({ 5, 5 }, { month:ready_days(80) })
    assert.is_nil(string.find(months.said(month), "by hand", 1, true))
  end)

  it("that limits calls is left alone for as long as it says", function()
    local month = months.charge_by(nil, { days = 3, also = {
      { "20:00", "fault", date = "2026-03-02", fault = "rate_limit", times = 2, retry_after = 1200 },
    } })
    assert.same({ 3, 3 }, { month:ready_days(80) })
  end)
end)

it("a plan of scraps keeps one of them", function()
  local tariff = assert(fleet.tariff.from_rows { currency = "EUR", time_zone = "UTC", rows = {
    { from = "00:00", to = "01:00", price = 0.2 }, { from = "01:00", to = "01:05", price = 0.1 },
    { from = "01:05", to = "02:00", price = 0.2 },
    { from = "02:00", to = "02:05", price = 0.1 }, { from = "02:05", to = "24:00", price = 0.2 } } })
  local now = fleet.time("2026-03-02T00:00:00Z")
  assert.equal(2, #plans.slots(tariff, now, now + 4 * 3600, 600 / 3600, 0))
  assert.equal(1, #plans.slots(tariff, now, now + 4 * 3600, 600 / 3600, 600))
end)

describe("a plan by start and stop", function()

  local function stretches(last_quarter, waits)
    local tariff = assert(fleet.tariff.from_rows { currency = "EUR", time_zone = "UTC", rows = {
      { from = "00:00", to = "05:00", price = 0.19 }, { from = "05:00", to = "21:00", price = 0.42 },
      { from = "21:00", to = "23:45", price = 0.26 }, { from = "23:45", to = "24:00", price = last_quarter } } })
    local now = fleet.time("2026-03-02T19:00:00Z")
    local slots = plans.slots(tariff, now, now + 12 * 3600, 7.5, 0, waits)
    return #slots, (slots[1].from - now) / 3600
  end

  it("buys a part next to the following one where the price goes on until then", function()
    assert.same({ 1, 2.5 }, { stretches(0.26, true) })
  end)

  it("leaves a gap whose price is another one, and what may be under way", function()
    assert.same({ 2, 2 }, { stretches(0.30, true) })
    assert.same({ 2, 2 }, { stretches(0.26, false) })
  end)
end)

describe("the first stretch of a plan", function()
  local function begun(at, hours, more)
    local slots = { { from = 0, to = 3600 }, more }
    return plans.begin_at(slots, at, hours), slots[1].from
  end

  it("begins some minutes later where what is left is enough", function()
    assert.same({ true, 600 }, { begun(600, 0.8) })
    assert.same({ true, 600 }, { begun(600, 1.3, { from = 7200, to = 9000 }) })
  end)

  it("begins no later where it is not, or by a quarter of an hour, after its end or before its begin", function()
    assert.same({ false, 0 }, { begun(600, 0.9) })
    assert.same({ false, 0 }, { begun(600, 1.4, { from = 7200, to = 9000 }) })
    assert.same({ false, 0 }, { begun(900, 0.1) })
    assert.same({ false, 0 }, { begun(3600, 0) })
    assert.same({ false, 0 }, { begun(-60, 0.1) })
  end)
end)

describe("a car that is at the plug and sleeps", function()
  local function wakes(also)
    local month = months.charge_by(nil, { days = 14, also = also })
    assert.same({ 14, 14 }, { month:ready_days(80) })
    return month.calls.wake
  end

  it("is woken to begin, and not to see what cannot have changed", function()
    local month = months.charge_by(nil, { days = 14 })
    assert.equal(month:sent("charge_start"), month.calls.wake)
  end)

  it("is woken when no read was possible for a while, and it may have left", function()
    local quiet = { { "10:00", "service_down", date = "2026-03-08" }, { "16:00", "service_up", date = "2026-03-08" } }
    assert.equal(wakes() + 1, wakes(quiet))
  end)
end)

describe("the rate of a battery", function()
  local battery = require "fleet.automation.charging.battery"

  local function charging(level, minutes, amps)
    return { charging_state = "Charging", battery_level = level, charge_limit_soc = 80, minutes_to_full_charge = minutes,
      charge_current_request = amps or 16 }
  end

  it("is what the car shows, but not near its limit, where a percent and a minute are too coarse", function()
    local memory, config = {}, { capacity_kwh = 75 }
    assert.equal(6, battery.rate(config, memory, charging(50, 300), 1))
    assert.equal(6, battery.rate(config, memory, charging(79, 1), 2))
    assert.equal(6, battery.rate(config, memory, charging(79, 20), 3))
    assert.equal(6, battery.rate(config, memory, charging(77, 14), 4))
    assert.equal(8, battery.rate(config, memory, charging(60, 150), 5))
  end)

  it("is not known from a few percent, which only give its bounds", function()
    local memory, config = {}, { capacity_kwh = 75 }
    assert.equal(4, battery.rate(config, memory, charging(50, 450), 1))
    assert.equal(4, battery.rate(config, memory, charging(77, 31), 2)) -- 3 % or little more than 2: 3.8 to 5.9
    assert.near(2 / 20.5 * 60, battery.rate(config, memory, charging(77, 20), 3), 1e-9)
    assert.near(3 / 49.5 * 60, battery.rate(config, memory, charging(77, 50), 4), 1e-9)
  end)

  it("is assumed where nothing else is known", function()
    local memory, config = {}, { capacity_kwh = 75 }
    assert.near(230 * 16 / 1000 / 75 * 100, battery.rate(config, memory, charging(79, 1), 1), 1e-9)
    assert.equal(12, battery.rate(config, memory, charging(60, 100, 24), 2))
  end)
end)

describe("what is learned of a stay", function()
  local stays = require "fleet.automation.charging.stays"
  local zone = { localtime = function(_, at) return { hour = math.floor(at / 3600) % 24, min = math.floor(at / 60) % 60 } end }
  local config = { level = 80, capacity_kwh = 75, local_zone = zone, ready_minutes = 420 }
  local rate = 8 -- percent per hour: 6 kW

  local function learned(charge, since)
    local memory = {}
    stays.note(config, memory, charge, 23 * 3600, since, rate)
    return { memory.stays[1].at / 60, memory.stays[1].missing }
  end

  it("is known from the added energy, also when the car is full at the first read", function()
    assert.same({ 21, 16 }, learned { charging_state = "Complete", battery_level = 80, charge_energy_added = 12 })
    assert.same({ 21, 26 }, learned { charging_state = "Charging", battery_level = 70, charge_energy_added = 12,
      charger_actual_current = 26, charger_voltage = 6000 / 26 })
  end)

  it("is not earlier than it was last seen elsewhere, whatever an earlier charge has added", function()
    assert.same({ 22, 8 }, learned({ charging_state = "Complete", battery_level = 80, charge_energy_added = 12 }, 22 * 3600))
  end)

  it("is nil when the car has not charged in this stay, or does not report it", function()
    assert.same({ 23, 20 }, learned { charging_state = "Stopped", battery_level = 60, charge_energy_added = 12 })
    assert.same({ 23, 0 }, learned { charging_state = "Complete", battery_level = 80 })
  end)

  it("is the usual time of coming where it is only known that it had come by then: one late evening is no habit", function()
    local memory = { stays = { { at = 1020, missing = 9 }, { at = 1180, missing = 9 } } }
    local function comes_by(minutes, bound)
      stays.note(config, memory, { charging_state = "Stopped", battery_level = 70 }, 0, nil, rate, function() return minutes, bound end)
      return memory.stays[#memory.stays].at
    end
    assert.equal(1020, comes_by(1185, true))
    assert.equal(1000, comes_by(1000, true)) -- earlier than ever
    assert.equal(1180, comes_by(1180, false)) -- what is known is kept as it is
    assert.equal(413, comes_by(413, false)) -- in the last minutes of a night, which is later than any evening
    assert.equal(1020, comes_by(1025, true))
  end)
end)

describe("the check-in", function()
  local check_in = require "fleet.automation.charging.check_in"
  local zone = require("fleet.automation.local_time").zone("Europe/Berlin")
  local config = { level = 80, ready_minutes = 420, local_zone = zone }
  local now = zone:day("2026-06-01")

  local function at(from, options, had)
    local f = { rate = 10, tariff = months.tariff } -- 17 to 21 is dear, then less, from midnight on cheap
    for name, value in pairs(options or {}) do f[name] = value end
    return check_in.in_a_cheap_hour(config, now, f, f.stretches or { { start_time = 0, end_time = 300 } }, from, had)
  end

  it("waits for a cheaper hour, four hours at most", function()
    assert.equal(21 * 60, at(17 * 60 + 20))
    assert.equal(21 * 60, at(19 * 60))
    assert.equal(16 * 60, at(16 * 60))
    assert.equal(22 * 60 + 7, at(22 * 60 + 7))
  end)

  it("does not wait without prices, until a stretch has started, or longer than an empty battery leaves time for", function()
    assert.equal(19 * 60, at(19 * 60, { tariff = false }))
    assert.equal(19 * 60, at(19 * 60, { stretches = { { start_time = 21 * 60, end_time = 300 } } }))
    assert.equal(19 * 60, at(19 * 60, { rate = 6 }))
  end)

  it("stays when it is about there and not dearer: an earlier choice is kept", function()
    assert.equal(21 * 60 + 12, at(19 * 60, nil, { start_time = 21 * 60 + 12 }))
    assert.equal(21 * 60, at(19 * 60, nil, { start_time = 20 * 60 + 50 }))
    for from = 0, 1435, 5 do
      for had = 0, 1435, 35 do
        local chosen = at(from, nil, { start_time = had })
        assert.equal(chosen, at(from, nil, { start_time = chosen }))
      end
    end
  end)
end)
