-- What became of a write: car:settle(err) and the read-back of settings.

local fleet = require "fleet"
local core = require "fleet.core"
local expectation = require "fleet.confirm.expectation"
local rows = require "fleet.call.rows"
local seam = require "spec.support.fixtures.host_http"
local virtual = require "spec.support.harness.virtual"

local lost = { status = 503, headers = {}, body = "" }

-- A car whose commands get no clear answer and whose data is as given; the requests it saw.
local function doubtful(data)
  return seam.car(function(request)
    if request.path:find("/vehicle_data") then return seam.answer(core.json_encode { response = data }) end
    return lost
  end)
end

local function asked_again(method, params, data)
  local car, requests = doubtful(data)
  local _, err = car[method](car, params or { idempotent = false }, params and { idempotent = false })
  assert.equal("unknown", err.outcome)
  fleet.drain()
  return { car:settle(err) }, requests
end

describe("settle", function()
  local cases = {
    { "set_charge_limit", { percent = 80 }, { charge_state = { charge_limit_soc = 80 } }, true },
    { "set_charge_limit", { percent = 80 }, { charge_state = { charge_limit_soc = 90 } }, false },
    { "set_charge_limit", { percent = 80 }, { charge_state = {} }, false },
    { "charge_start", nil, { charge_state = { charging_state = "Charging" } }, true },
    { "charge_start", nil, { charge_state = { charging_state = "starting" } }, true },
    { "charge_start", nil, { charge_state = { charging_state = "Stopped" } }, false },
    { "charge_stop", nil, { charge_state = { charging_state = "NoPower" } }, true },
    { "door_lock", nil, { vehicle_state = { locked = true } }, true },
    { "door_lock", nil, { vehicle_state = { locked = false } }, false },
    { "door_unlock", nil, { vehicle_state = { locked = false } }, true },
    { "door_unlock", nil, { vehicle_state = {} }, true }, -- false equals an absent field
    { "auto_conditioning_stop", nil, { climate_state = { is_climate_on = core.null } }, true },
    { "set_temps", { driver_temp = 21.5, passenger_temp = 20 },
      { climate_state = { driver_temp_setting = 21.54, passenger_temp_setting = 20 } }, true },
    { "set_temps", { driver_temp = 21.5, passenger_temp = 20 },
      { climate_state = { driver_temp_setting = 21.5, passenger_temp_setting = 19 } }, false },
    { "set_climate_keeper_mode", { climate_keeper_mode = "keep" }, { climate_state = { climate_keeper_mode = "on" } }, true },
    { "set_climate_keeper_mode", { climate_keeper_mode = 1 }, { climate_state = { climate_keeper_mode = "on" } }, true },
    { "set_climate_keeper_mode", { climate_keeper_mode = "dog" }, { climate_state = { climate_keeper_mode = "camp" } }, false },
    { "set_cop_temp", { cop_temp = 1 }, { climate_state = { cop_activation_temperature = "Medium" } }, true },
    { "remote_steering_wheel_heat_level_request", { level = "high" }, { climate_state = { steering_wheel_heat_level = 3 } }, true },
    { "remote_steering_wheel_heat_level_request", { level = "high" }, { climate_state = { steering_wheel_heat_level = 1 } }, false },
    { "adjust_volume", { volume = 4 }, { vehicle_state = { media_info = { audio_volume = 4.0333 } } }, true },
    { "adjust_volume", { volume = 4 }, { vehicle_state = { media_info = { audio_volume = 4.3 } } }, false },
    { "set_valet_mode", { on = false }, { vehicle_state = { valet_mode = false } }, true },
    { "schedule_software_update", { offset_sec = 60 }, { vehicle_state = { software_update = { status = "installing" } } }, true },
  }
  for i, case in ipairs(cases) do
    it(("tells by one read: %d %s %s"):format(i, case[1], tostring(case[4])), function()
      local result, requests = asked_again(case[1], case[2], case[3])
      assert.same({ case[4] }, result)
      assert.equal(2, #requests)
      local section = expectation.sections(rows.by_name[case[1]])[1]
      assert.equal("/api/1/vehicles/" .. seam.vin .. "/vehicle_data?endpoints=" .. section, requests[2].path)
    end)
  end

  for _, method in ipairs { "honk_horn", "actuate_trunk", "flash_lights" } do
    it("is unsupported without readable data: " .. method, function()
      local params = method == "actuate_trunk" and { which_trunk = "rear" } or nil
      local result, requests = asked_again(method, params, {})
      assert.is_nil(result[1])
      assert.equal("unsupported", result[3])
      assert.equal(1, #requests)
    end)
  end

  it("never wakes: a sleeping vehicle is the answer", function()
    local car, requests = seam.car(function(request)
      if request.path:find("/vehicle_data") then return { status = 408, body = "vehicle is asleep" } end
      return lost
    end)
    local _, err = car:door_unlock()
    local value, _, kind = car:settle(err)
    assert.is_nil(value)
    assert.equal("asleep", kind)
    assert.equal(2, #requests)
  end)

  it("reads a site's settings for what was set there", function()
    local site, requests = seam.site(function(request)
      if request.method == "GET" then return seam.answer '{"response":{"backup_reserve_percent":20}}' end
      return lost
    end)
    local _, err = site:backup({ backup_reserve_percent = 20 }, { idempotent = false })
    assert.is_true(site:settle(err))
    _, err = site:backup({ backup_reserve_percent = 30 }, { idempotent = false })
    assert.is_false(site:settle(err))
    assert.equal("GET", requests[2].method)
    fleet.drain()
  end)

  it("needs an err of this very vehicle", function()
    local car, _, client = doubtful {}
    local _, err = car:honk_horn()
    fleet.drain()
    assert.error_matches(function() car:settle() end, "an err that a call of this client returned is needed")
    assert.error_matches(function() car:settle { kind = "service" } end, "an err that a call")
    assert.error_matches(function() client:vehicle("5YJ3E1EA7KF000009"):settle(err) end, "belongs to another vehicle")
  end)

  it("takes options, such as a limit of time", function()
    local car, requests = doubtful { vehicle_state = { locked = false } }
    local _, err = car:door_unlock()
    fleet.drain()
    assert.is_true(car:settle(err, { timeout = 20 }))
    assert.is_true(requests[2].timeout <= 20)
    assert.error_matches(function() car:settle(err, { timeot = 2 }) end, "did you mean 'timeout'?")
  end)
end)

describe("every row that can be settled", function()
  it("names sections that can be read, and parameters that it has", function()
    for _, row in ipairs(rows.all()) do
      for _, section in ipairs(expectation.sections(row) or {}) do
        local security = section == "body_controller" or section == "keys"
        assert.is_truthy(security or section == "site_info" or section:find("_state$") or section:find("schedule_data$"), row.name)
      end
      for name in (row.settle or ""):gmatch("%$([%w_]+)") do
        local found = false
        for _, param in ipairs(row.params) do found = found or param.name == name end
        assert.is_true(found, row.name .. " " .. name)
      end
    end
  end)
end)

describe("read_back", function()
  local time
  before_each(function() time = virtual.install() end)
  after_each(function() time.restore() end)

  local function site(shown_after, options)
    local reads = 0
    local s, requests = seam.site(function(request)
      if request.method == "POST" then return seam.answer '{"response":{"code":201,"message":"Updated"}}' end
      reads = reads + 1
      return seam.answer('{"response":{"default_real_mode":"' .. (reads >= shown_after and "autonomous" or "self_consumption") .. '"}}')
    end, options)
    return s, requests
  end

  it("returns when the setting shows", function()
    local s, requests = site(3)
    local value = assert(s:operation({ default_real_mode = "autonomous" }, { read_back = true }))
    assert.is_true(value.changed)
    assert.equal(4, #requests)
    assert.equal(1003, time.now())
  end)

  it("ends as conflict, in doubt, when it does not show in time", function()
    local s = site(1e9)
    local value, err, kind = s:operation({ default_real_mode = "autonomous" }, { read_back = true, timeout = 10 })
    assert.is_nil(value)
    assert.equal("conflict", kind)
    assert.equal("unknown", err.outcome)
    assert.equal("1234567890", err.site)
    assert.equal("POST /api/1/energy_sites/{energy_site_id}/operation", err.request)
    assert.is_true(time.now() <= 1010)
  end)

  it("is not done unless asked", function()
    local s, requests = site(1)
    assert(s:operation { default_real_mode = "autonomous" })
    assert.equal(1, #requests)
  end)

  it("passes a failure of the setting on", function()
    local s, requests = seam.site { { status = 400, body = "no" } }
    local _, _, kind = s:operation({ default_real_mode = "autonomous" }, { read_back = true })
    assert.equal("invalid", kind)
    assert.equal(1, #requests)
  end)
end)
