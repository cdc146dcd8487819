-- A process that runs an automation and is killed in the middle of the month: the outcome is that of one that was not.

local fleet = require "fleet"
local killed_month = require "spec.support.fixtures.killed_month"
local months = require "spec.support.fixtures.month"

local days = 16

local function month_with(strike)
  return killed_month.month(strike, { days = days })
end

-- A look that was cut off may move the following ones by minutes; what is done on which day stays.
local function outline(month)
  local list = {}
  for _, command in ipairs(month.commands) do
    list[#list + 1] = string.sub(months.local_text(month, command.at), 1, 10) .. " " .. command.name
  end
  return list
end

describe("kill -9 in mid-month", function()
  local quiet = month_with(function() end)
  local function is_command(request, name) return string.find(request.url, "/command/" .. name, 1, true) ~= nil end

  it("has something to lose: the undisturbed month is ready every day", function()
    assert.same({ days, days }, { quiet:ready_days(80) })
    assert.is_true(quiet:sent() > 18)
  end)

  it("changes nothing when looks are cut off", function()
    local month, killed = month_with(function(_, number) return number % 200 == 199 and "before" or nil end)
    assert.is_true(killed >= 3, tostring(killed))
    assert.same(outline(quiet), outline(month))
    assert.near(quiet.price, month.price, 0.05 * quiet.price)
    assert.same({ days, days }, { month:ready_days(80) })
  end)

  it("sends no command twice that arrived, and none too few that did not", function()
    local starts = 0
    local month, killed = month_with(function(request)
      if not is_command(request, "charge_st") then return end
      starts = starts + 1
      if starts % 6 == 2 then return "after" end
      if starts % 6 == 5 then return "before" end
    end)
    assert.is_true(killed >= 7, tostring(killed))
    assert.same(outline(quiet), outline(month))
    assert.near(quiet.price, month.price, 0.05 * quiet.price)
    assert.same({ days, days }, { month:ready_days(80) })
    assert.same({}, months.wasted(month))
  end)
end)

-- Each night: the tariff, the reserve, and both back. Whatever is cut off, what stood before the night stands after it.
describe("kill -9 while the battery of the house is filled", function()
  local nights = 2

  local function house(strike)
    return killed_month.month(strike, { days = nights, kind = "charge_home_battery", stage = {
      habits = {}, energy_site = { components = { battery = true }, battery_count = 1, backup_reserve_percent = 20,
        tariff_content_v2 = months.tariff },
    } })
  end

  local function assert_as_before(world)
    assert.equal(20, world.site.info.backup_reserve_percent)
    assert.is_true(fleet.tariff.new(world.site.info.tariff_content_v2, { time_zone = "Europe/Berlin" }) == months.tariff)
  end

  local function is_write(request) return request.method == "POST" and string.find(request.url, "/energy_sites/", 1, true) ~= nil end

  it("has something to put back: the undisturbed nights send four changes each", function()
    local month, _, world = house(function() end)
    assert.equal(4 * nights, month:sent())
    assert_as_before(world)
  end)

  for change, name in ipairs { "the tariff", "the reserve", "the tariff of before", "the reserve of before" } do
    for _, how in ipairs { "before", "after" } do
      it("puts everything back when it dies " .. how .. " " .. name .. " was set", function()
        local writes, seen = 0, {}
        local month, killed, world = house(function(request)
          if not is_write(request) then return end
          writes = writes + 1
          seen[#seen + 1] = request.url
          if writes == change then return how end
        end)
        assert.equal(1, killed)
        assert_as_before(world)
        assert.is_true(month:sent "backup" >= 2 * nights and month:sent "time_of_use_settings" >= 2 * nights)
        assert.is_true(month:sent() <= 4 * nights + 1, table.concat(seen, " "))
      end)
    end
  end

  it("puts everything back when it dies while it reads back", function()
    local _, killed, world = house(function(request, number)
      return string.find(request.url, "/site_info", 1, true) and number % 3 == 2 and "before" or nil
    end)
    assert.is_true(killed >= 3, tostring(killed))
    assert_as_before(world)
  end)
end)

-- A storm from 15:00 to 21:00: reserve and limit go up, and back.
describe("kill -9 while house and car are ready for a storm", function()
  local function storm(strike)
    return killed_month.month(strike, { days = 1, kind = "storm_ready", stage = {
      habits = {}, vehicle = { charge_state = { battery_level = 60, charge_limit_soc = 80 } },
      energy_site = { components = { battery = true }, battery_count = 1, backup_reserve_percent = 20 },
    } })
  end

  local function is_change(request)
    local url = request.method == "POST" and request.url or ""
    return string.find(url, "/backup", 1, true) or string.find(url, "/set_charge_limit", 1, true)
  end

  local function standing(world)
    return { world.site.info.backup_reserve_percent, world.car.sections.charge_state.charge_limit_soc }
  end

  it("has something to put back: the undisturbed day sends four changes", function()
    local month, _, world = storm(function() end)
    assert.equal(4, month:sent())
    assert.same({ 20, 80 }, standing(world))
  end)

  for change, name in ipairs { "the reserve", "the limit", "the reserve of before", "the limit of before" } do
    for _, how in ipairs { "before", "after" } do
      it("puts everything back when it dies " .. how .. " " .. name .. " was set", function()
        local changes = 0
        local month, killed, world = storm(function(request)
          if not is_change(request) then return end
          changes = changes + 1
          return changes == change and how or nil
        end)
        assert.equal(1, killed)
        assert.same({ 20, 80 }, standing(world))
        assert.is_true(month:sent "backup" >= 2 and month:sent "set_charge_limit" >= 2)
      end)
    end
  end
end)

describe("a wall clock that is set", function()
  -- Looks at the list of products in the six hours after the clock was set by so many seconds, and the notifications.
  local function looks_after(jump, make)
    local service, count, jumped, notified = require "fleet.sim.rehearsal.service", 0, nil, {}
    local serve = service.serve
    service.serve = function(stage, request)
      if jumped and string.find(request.url, "/products", 1, true) then count = count + 1 end
      return serve(stage, request)
    end
    local ok, raised = pcall(months.of, { from = "2026-05-05", days = 1, habits = {}, vehicle = { state = "asleep" },
      automation = function(car)
        local one = make(car, function(event) notified[#notified + 1] = event.text end)
        fleet.spawn(function()
          fleet.sleep(6 * 3600)
          local real = fleet.loop.clock
          fleet.loop.clock = function()
            local mono, wall = real()
            return mono, wall + jump
          end
          jumped = true
          fleet.sleep(6 * 3600)
          jumped, fleet.loop.clock = nil, real
        end)
        return one
      end })
    service.serve = serve
    assert(ok, raised)
    return count, notified
  end

  for _, jump in ipairs { -400 * 86400, -7200, 7200 } do
    it("by " .. jump .. " seconds stops no automation", function()
      local count, notified = looks_after(jump, function(car, notify)
        return fleet.automation.keep_limit { car = car, level = 80, notify = notify }
      end)
      assert.is_true(count >= 5 and count <= 9, tostring(count))
      assert.same({}, notified)
    end)
  end

  it("back while nothing ran leaves no moment to come", function()
    local states = require "fleet.automation.state"
    local state = states.fresh()
    state.at, state.again_at, state.memory = { info = 2e9, charge_state = 2e9 - 50 }, 2e9 + 600, { look = { at = 2e9 + 60 }, level = 80 }
    states.not_ahead(state, 1.8e9)
    assert.same({ info = 1.8e9, charge_state = 1.8e9 - 50 }, state.at)
    assert.same({ 1.8e9 + 600, 1.8e9 + 60, 80 }, { state.again_at, state.memory.look.at, state.memory.level })
    states.not_ahead(state, 1.9e9)
    assert.equal(1.8e9, state.at.info)
  end)
end)
