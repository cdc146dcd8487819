-- fleet.automation.sync_schedules: the difference is sent, nothing is doubled, others' schedules stay.

local fleet = require "fleet"
local months = require "spec.support.fixtures.month"

local wanted = {
  { kind = "charge", days = "Weekdays", start = "23:30", stop = "05:00" },
  { kind = "precondition", days = "Mon,Tues", at = "07:15" },
}

local owners = { id = 7, name = "", days_of_week = 127, start_enabled = true, start_time = 90, end_enabled = false, end_time = 0,
  one_time = false, enabled = true, latitude = 52.52, longitude = 13.405 }

-- Calls use(car, vehicle of the simulator) in a world; returns the report.
local function with_car(use, vehicle)
  local given = { charge_state = { battery_level = 40 }, charge_schedule_data = { charge_schedules = { owners } } }
  for name, value in pairs(vehicle or {}) do given[name] = value end
  local simulated
  local habits = { { "00:01", function(world) simulated = world.car end } }
  return months.of { days = 1, vehicle = given, habits = habits, automation = function(car)
    fleet.spawn(function()
      fleet.sleep(120)
      use(car, simulated)
    end)
    return {}
  end }
end

local function ids(simulated)
  local list = {}
  for _, one in ipairs(simulated.sections.charge_schedule_data.charge_schedules) do list[#list + 1] = one.id end
  for _, one in ipairs(simulated.sections.preconditioning_schedule_data.precondition_schedules) do list[#list + 1] = one.id end
  table.sort(list)
  return list
end

local function checked(use, vehicle)
  local failure
  local report = with_car(function(...)
    local ok, raised = pcall(use, ...)
    if not ok then failure = raised end
  end, vehicle)
  if failure then error(failure, 0) end
  return report
end

it("adds what is missing with ids of ours, once, and says so", function()
  local report = checked(function(car, simulated)
    local done = assert(fleet.automation.sync_schedules(car, wanted))
    assert.same({ added = { 7700101, 7700501 }, removed = {}, kept = 0 }, done)
    assert.same({ added = {}, removed = {}, kept = 2 }, assert(fleet.automation.sync_schedules(car, wanted)))
    assert.same({ 7, 7700101, 7700501 }, ids(simulated))
    local charge = simulated.sections.charge_schedule_data.charge_schedules[2]
    assert.same({ 62, 1410, 300, true }, { charge.days_of_week, charge.start_time, charge.end_time, charge.enabled })
    assert.near(52.52, charge.latitude, 1e-6)
  end)
  assert.equal(2, report:sent())
end)

it("changes in place, and removes what is gone from the list, but not what others have set", function()
  checked(function(car, simulated)
    assert(fleet.automation.sync_schedules(car, wanted))
    local done = assert(fleet.automation.sync_schedules(car, { { kind = "charge", days = "Weekdays", start = "22:00", stop = "05:00" } }))
    assert.same({ added = { 7700101 }, removed = { 7700501 }, kept = 0 }, done)
    assert.same({ 7, 7700101 }, ids(simulated))
    assert.same({ added = {}, removed = { 7700101 }, kept = 0 }, assert(fleet.automation.sync_schedules(car, {})))
    assert.same({ 7 }, ids(simulated))
  end)
end)

it("removes everything else with others = true", function()
  checked(function(car, simulated)
    assert.same({ 7 }, assert(fleet.automation.sync_schedules(car, {}, { others = true })).removed)
    assert.same({}, ids(simulated))
  end)
end)

it("takes a place that is given, of the options and of an entry", function()
  checked(function(car, simulated)
    assert(fleet.automation.sync_schedules(car, {
      { kind = "charge", start = "23:00" }, { kind = "charge", stop = "06:00", place = { lat = 48, lon = 11 } },
    }, { place = { lat = 10, lon = 20 } }))
    local list = simulated.sections.charge_schedule_data.charge_schedules
    assert.same({ 10, 48 }, { list[2].latitude, list[3].latitude })
    assert.same({ false, false }, { list[2].end_enabled, list[3].start_enabled })
  end)
end)

it("makes no live call to a car that sleeps, unless it may wake it", function()
  local report = checked(function(car, simulated)
    simulated.record.state = "asleep"
    local done, err, kind = fleet.automation.sync_schedules(car, wanted)
    assert.is_nil(done)
    assert.equal("asleep", kind)
    assert.matches("wake = true lets it be woken", err.message)
    assert(fleet.automation.sync_schedules(car, wanted, { wake = true }))
  end)
  assert.same({}, report.refused)
  assert.equal(1, report.calls.wake)
end)

it("says so when the car does not show what it took", function()
  local commands = require "fleet.sim.commands"
  local add = commands.add_charge_schedule
  commands.add_charge_schedule = function() end
  local ok, failure = pcall(checked, function(car)
    local done, err, kind = fleet.automation.sync_schedules(car, wanted)
    assert.is_nil(done)
    assert.equal("conflict", kind)
    assert.matches("1 of its schedules are not as wanted", err.message)
  end)
  commands.add_charge_schedule = add
  assert(ok, failure)
end)

describe("a mistake raises:", function()
  for _, case in ipairs {
    { "a list that is none", "x", "the list must be a table" }, { "a kind", { { kind = "charging" } }, "did you mean 'charge'" },
    { "no time", { { kind = "charge" } }, "'start' or 'stop' is missing" },
    { "a time", { { kind = "charge", start = "25:00" } }, "'start' must be a time such as" },
    { "a member", { { kind = "charge", strat = "23:00" } }, "did you mean 'start'" },
    { "a place", { { kind = "charge", start = "23:00", place = { 1, 2 } } }, "'place' must be { lat =, lon = } in degrees" },
  } do
    it(case[1], function()
      checked(function(car)
        local ok, raised = pcall(fleet.automation.sync_schedules, car, case[2])
        assert.is_false(ok)
        assert.is_truthy(string.find(tostring(raised), case[3], 1, true), raised)
      end)
    end)
  end
end)
