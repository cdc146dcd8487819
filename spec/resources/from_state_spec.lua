-- set_temps with one temperature: the other is read, and sent as it is.

local fleet = require "fleet"
local seam = require "spec.support.fixtures.host_http"

local function car_with(climate, state)
  local client, requests = seam.client(function(request)
    if request.method == "POST" then return seam.answer(seam.done) end
    return seam.answer(string.format('{"response":{"state":"%s"%s}}', state or "online", climate))
  end)
  return client:vehicle(seam.vin), requests
end

local known = ',"climate_state":{"driver_temp_setting":21.5,"passenger_temp_setting":19}'

describe("a temperature alone", function()
  it("is sent with the other one as it is", function()
    for given, body in pairs { driver_temp = '{"driver_temp":23,"passenger_temp":19}',
      passenger_temp = '{"driver_temp":21.5,"passenger_temp":23}' } do
      local car, requests = car_with(known)
      local params = { [given] = 23 }
      assert.is_true(assert(car:set_temps(params)).changed)
      assert.equal(2, #requests)
      assert.matches("vehicle_data%?endpoints=climate_state$", requests[1].path)
      assert.equal(body, requests[2].body)
      assert.same({ [given] = 23 }, params)
    end
  end)

  it("costs no read where both are given, and raises where none is", function()
    local car, requests = car_with(known)
    assert.is_true(assert(car:set_temps { driver_temp = 20, passenger_temp = 21 }).changed)
    assert.equal(1, #requests)
    assert.has_error(function() car:set_temps {} end)
    assert.has_error(function() car:set_temps { temp = 20 } end)
    assert.equal(1, #requests)
  end)

  it("is not sent where the other cannot be read", function()
    local car = car_with(',"climate_state":{"driver_temp_setting":21.5}')
    local value, err, kind = car:set_temps { driver_temp = 23 }
    assert.same({ nil, "protocol", "not_sent", seam.vin }, { value, kind, err.outcome, err.vin })
    assert.matches("give 'passenger_temp', too", err.message)
    local sleeping, requests = car_with(known, "asleep")
    value, err, kind = sleeping:set_temps { driver_temp = 23 }
    assert.same({ nil, "asleep", "not_sent" }, { value, kind, err.outcome })
    assert.equal(1, #requests)
  end)

  it("raises out of range before anything is read", function()
    local car, requests = car_with(known)
    assert.error_matches(function() car:set_temps { driver_temp = 70 } end, "must be 15 to 30")
    assert.equal(0, #requests)
  end)

  it("is no message of its own", function()
    assert.error_matches(function() fleet.command("set_temps", { driver_temp = 23 }) end, "'passenger_temp' is missing")
  end)
end)
