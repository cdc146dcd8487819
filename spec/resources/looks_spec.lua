-- car:locate, car:navigate and car:wait_until: one question each, and never a car woken for it.

local fleet = require "fleet"
local months = require "spec.support.fixtures.month"

-- Calls use(car, vehicle of the simulator, stage) in a day of simulated time; returns the report.
local function with_car(use, habits)
  local stage, failure
  local all = { { "00:01", function(own) stage = own end } }
  for _, habit in ipairs(habits or {}) do all[#all + 1] = habit end
  local report = months.of { days = 1, vehicle = { charge_state = { battery_level = 40 } }, habits = all, automation = function(car)
    fleet.spawn(function()
      fleet.sleep(120)
      local ok, raised = pcall(use, car, stage.car, stage)
      if not ok then failure = raised end
    end)
    return {}
  end }
  if failure then error(failure, 0) end
  return report
end

describe("locate", function()
  it("gives the place and the age of the position", function()
    with_car(function(car)
      local place = assert(car:locate())
      assert.near(52.52, place.lat, 1e-6)
      assert.near(13.405, place.lon, 1e-6)
      assert.is_true(place.age >= 0 and place.age < 120, tostring(place.age))
    end)
  end)

  it("says that the position was withheld, and makes no car awake", function()
    local report = with_car(function(car, simulated)
      simulated.sections.drive_state.latitude = nil
      local place, err, kind = car:locate()
      assert.is_nil(place)
      assert.equal("forbidden", kind)
      assert.matches("vehicle_location", err.message)
      simulated.record.state = "asleep"
      assert(car:info())
      assert.equal("asleep", (select(3, car:locate())))
    end)
    assert.is_nil(report.calls.wake)
  end)
end)

describe("navigate", function()
  it("looks whether the route appeared", function()
    with_car(function(car)
      assert.equal("Example Street 1, Example Town", assert(car:navigate("Example Street 1, Example Town")).destination)
    end)
  end)

  it("says so when none did, though the service took the address", function()
    local commands = require "fleet.sim.commands"
    local request = commands.navigation_request
    commands.navigation_request = function() end
    local ok, failure = pcall(with_car, function(car)
      local route, err, kind = car:navigate("nowhere", { timeout = 10 })
      assert.is_nil(route)
      assert.equal("conflict", kind)
      assert.matches("no new route appeared within 10 s", err.message)
    end)
    commands.navigation_request = request
    assert(ok, failure)
  end)

  it("says that the route is withheld from a share that hides the place, by one look after sending", function()
    local report = with_car(function(car, simulated)
      simulated.record.granular_access = { hide_private = true }
      local route, err, kind = car:navigate("Example Street 1, Example Town")
      assert.is_nil(route)
      assert.same({ "forbidden", "unknown" }, { kind, err.outcome })
      assert.matches("vehicle_location, and the owner may hide it", err.message, 1, true)
      assert.equal("Example Street 1, Example Town", simulated.sections.drive_state.active_route_destination)
    end)
    assert.equal(2, report.calls.data)
  end)

  it("raises for an address that is none", function()
    with_car(function(car) assert.error_matches(function() car:navigate(7) end, "the address must be a text") end)
  end)
end)

describe("wait_until", function()
  local plug = { { "00:30", "plug" } }

  it("waits for a field of a section, and looks live only at a car that is awake", function()
    local report = with_car(function(car)
      assert.equal("Charging", assert(car:wait_until { what = "charge_state.charging_state", is = "Charging", timeout = 7200 }))
    end, plug)
    assert.same({}, report.refused)
    assert.is_nil(report.calls.wake)
    assert.is_true(report.calls.data < 30, tostring(report.calls.data))
  end)

  it("makes no live call to a car that sleeps, and makes one when it is awake", function()
    local service = require "fleet.sim.rehearsal.service"
    local serve, live = service.serve, 0
    service.serve = function(stage, request)
      if string.find(request.url, "/vehicle_data", 1, true) then live = live + 1 end
      return serve(stage, request)
    end
    local asleep
    local ok, raised = pcall(with_car, function(car)
      assert(car:wait_until { what = "state", is = "asleep", every = 300 })
      local _, _, kind = car:wait_until { what = "charge_state.charging_state", is = "Charging", timeout = 2400 }
      assert.equal("timeout", kind)
      asleep = live
      assert(car:wait_until { what = "charge_state.charging_state", is = "Charging", timeout = 20000 })
    end, { { "04:00", "plug" } })
    service.serve = serve
    assert(ok, raised)
    assert.equal(0, asleep)
    assert.is_true(live > 0)
  end)

  it("takes a function of the value", function()
    with_car(function(car)
      local function enough(level) return level ~= nil and level >= 45 end
      local level = assert(car:wait_until { what = "charge_state.battery_level", is = enough, timeout = 20000 })
      assert.is_true(level >= 45)
    end, plug)
  end)

  it("reads a field of the free list at no price, and the record when the list lacks the field", function()
    local report = with_car(function(car)
      assert.equal("asleep", assert(car:wait_until { what = "state", is = "asleep", every = 300 }))
    end)
    assert.is_nil(report.calls.data)
    report = with_car(function(car)
      local _, _, kind = car:wait_until { what = "backseat_token", is = 1, timeout = 60 }
      assert.equal("timeout", kind)
    end)
    assert.is_true(report.calls.data >= 1)
  end)

  it("ends with the state of the car when the time is over", function()
    with_car(function(car)
      local value, err, kind = car:wait_until { what = "charge_state.charging_state", is = "Charging", timeout = 2400 }
      assert.is_nil(value)
      assert.equal("timeout", kind)
      assert.equal("asleep", err.state)
    end)
  end)

  for _, case in ipairs {
    { {}, "'what' must name a field" }, { { what = "state" }, "'is' is missing" },
    { { what = "state", is = 1, evry = 1 }, "did you mean 'every'" },
  } do
    it("raises: " .. case[2], function()
      with_car(function(car)
        local ok, raised = pcall(car.wait_until, car, case[1])
        assert.is_false(ok)
        assert.is_truthy(string.find(tostring(raised), case[2], 1, true), tostring(raised))
      end)
    end)
  end
end)

describe("auto_conditioning_start", function()
  it("takes manual_override, and goes without it as before", function()
    with_car(function(car, simulated)
      assert(car:auto_conditioning_start { manual_override = true })
      assert.is_true(simulated.sections.climate_state.is_climate_on)
      assert(car:auto_conditioning_start())
      assert.has_error(function() car:auto_conditioning_start { manual_overide = true } end)
    end)
  end)
end)
