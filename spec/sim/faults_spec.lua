-- Named faults and limits: what the reply is, and whether the call was carried out.
local control = require("fleet.sim.control")
local core = require("fleet.core")
local faults = require("fleet.sim.faults")
local signed_vehicle = require("spec.support.fixtures.signed_vehicle")
local simulated = require("spec.support.fixtures.simulated")

-- fault, options → status, carried out, what else must be true
local CASES = {
  { "rate_limit", { retry_after = 7 }, 429, false, function(r) return r.headers["Retry-After"] == "7" and r.body:find("Retry in 7") end },
  { "region", {}, 421, false, function(r) return r.json.error:find("use base URL: http://base", 1, true) end },
  { "unregistered", {}, 412, false, function(r) return r.json.error:find("registered") end },
  { "error_500", {}, 500, false, function(r) return r.json.error end },
  { "error_502", {}, 502, false, function(r) return r.headers["Content-Type"]:find("html") end },
  { "error_504", {}, 504, false, function(r) return r.headers["Content-Type"]:find("html") end },
  { "error_540", {}, 540, false, function(r) return r.json.error end },
  { "revoked", {}, 401, false, function(r) return r.json.error end },
  { "asleep", {}, 408, false, function(r) return r.json.error:find("offline or asleep") end },
  { "offline", {}, 408, false, function(r) return r.json.error:find("offline or asleep") end },
  { "drop_before", {}, 0, false, function(r) return r.manner.drop end },
  { "drop_after", {}, 0, true, function(r) return r.manner.drop end },
  { "executed_503", {}, 503, true, function(r) return r.json.error end },
  { "slow", { seconds = 3 }, 200, true, function(r) return r.manner.delay == 3 end },
  { "trickle", {}, 200, true, function(r) return r.manner.piece > 0 and r.manner.every > 0 end },
  { "truncated", {}, 200, true, function(r) return r.json == nil and #r.body > 0 end },
  { "truncated", { cut = true }, 200, true, function(r) return r.manner.cut < #r.body end },
  { "wrong_type", {}, 200, true, function(r) return r.headers["Content-Type"]:find("html") end },
}

describe("a named fault", function()
  local sim

  before_each(function() sim = simulated.new(simulated.garage()) end)

  local function set(percent) return select(2, sim:command("set_charge_limit", { percent = percent })) end

  for i, case in ipairs(CASES) do
    local name, options, status, done, also = case[1], case[2], case[3], case[4], case[5]
    it(("%s answers %d, %s (case %d)"):format(name, status, done and "carried out" or "not carried out", i), function()
      sim:own_token()
      sim.service.faults:add(name, 1, options)
      local path = "/api/1/vehicles/" .. simulated.OLD .. "/command/set_charge_limit"
      local reply = sim:call("POST", path, { percent = 55 })
      assert.equal(status, reply.status)
      assert.is_truthy(also(reply))
      assert.equal(done and 55 or 80, sim:section("charge_state").charge_limit_soc)
      assert.equal(200, sim:call("POST", path, { percent = 60 }).status)
    end)
  end

  it("is known by every name that help shows", function()
    local seen = {}
    for _, case in ipairs(CASES) do seen[case[1]] = true end
    seen.token_error = true
    for _, name in ipairs(faults.PROTOCOL) do seen[name] = true end -- signed_spec
    for _, name in ipairs(faults.TELEMETRY) do seen[name] = true end -- telemetry_spec
    for _, name in ipairs(faults.names()) do assert.is_true(seen[name], name) end
  end)

  it("happens as often as asked, for one row or one vehicle only", function()
    sim:own_token()
    sim.service.faults:add("error_500", 2, { row = "user.me" })
    assert.equal(200, sim:get("/api/1/vehicles").status)
    assert.equal(500, sim:get("/api/1/users/me").status)
    assert.equal(500, sim:get("/api/1/users/me").status)
    assert.equal(200, sim:get("/api/1/users/me").status)
    sim.service.faults:add("error_500", 1, { vin = simulated.CAR })
    assert.equal(200, set(61).status)
  end)

  it("with an unknown name or no count raises", function()
    assert.has_error(function() sim.service.faults:add("rain") end)
    assert.has_error(function() sim.service.faults:add("error_500", 0) end)
  end)

  it("raises for a row, a message, a vehicle or an option that does not exist, and names what was meant", function()
    for _, case in ipairs({
      { { row = "honk" }, "unknown row 'honk', did you mean 'honk_horn'?" }, { { row = "vehicle_dat" }, "'vehicle_data'" },
      { { row = 7 }, "unknown row '7'" }, { { row = "Honk_Horn" }, "'honk_horn'" }, { { message = "comand" }, "'command'" },
      { { vin = "5YJ3FLEE9RF999999" }, "no vehicle 5YJ3FLEE9RF999999" }, { { retry_afetr = 3 }, "'retry_after'" },
    }) do
      assert.error_matches(function() control.fault(sim.service, "rate_limit", 1, case[1]) end, case[2], 1, true)
    end
    assert.same({}, sim.service.faults.list)
    for _, row in ipairs({ "token", "honk_horn", "signed_command", "user.me" }) do
      control.fault(sim.service, "rate_limit", 1, { row = row, vin = "000002" })
    end
    assert.equal(simulated.OLD, sim.service.faults.list[1].options.vin)
  end)

  it("of a command meets its signed form, and no other message", function()
    local v = signed_vehicle.new()
    v:request("infotainment", { ["vehicleControlFlashLightsAction"] = {} })
    local function status(domain, members)
      local paths = {}
      for path, value in pairs(members) do paths[(domain == "infotainment" and "vehicleAction." or "") .. path] = value end
      local type_of = domain == "infotainment" and "CarServer.Action" or "VCSEC.UnsignedMessage"
      local bytes = v:session(domain):sign(core.encode_message(type_of, paths), { method = "hmac", encrypt_response = true })
      return select(2, v:send(bytes)).status
    end
    control.fault(v.sim.service, "executed_503", 1, { row = "honk_horn" })
    control.fault(v.sim.service, "rate_limit", 1, { row = "door_lock" })
    control.fault(v.sim.service, "lost", 1, { row = "flash_lights" })
    v:handshake("vehicle_security")
    assert.equal(200, status("infotainment", { ["getVehicleData.getChargeState"] = {} }))
    assert.same({ 503, 200 }, { status("infotainment", { vehicleControlHonkHornAction = {} }),
      status("infotainment", { vehicleControlHonkHornAction = {} }) })
    assert.same({ 429, 200 }, { status("vehicle_security", { RKEAction = 1 }), status("vehicle_security", { RKEAction = 1 }) })
    assert.same({ 504, 200 }, { status("infotainment", { vehicleControlFlashLightsAction = {} }),
      status("infotainment", { vehicleControlFlashLightsAction = {} }) })
  end)

  describe("at the token endpoint", function()
    local function refresh(token)
      return sim:token({ grant_type = "refresh_token", client_id = "c1", refresh_token = token })
    end

    it("token_error fails and leaves the token good", function()
      local token = sim:login().refresh_token
      sim.service.faults:add("token_error")
      assert.same({ 500, "server_error" }, { refresh(token).status, "server_error" })
      assert.equal(200, refresh(token).status)
    end)

    it("revoked says login_required", function()
      local token = sim:login().refresh_token
      sim.service.faults:add("revoked")
      local reply = refresh(token)
      assert.same({ 401, "login_required" }, { reply.status, reply.json.error })
    end)

    it("drop_after with row = token loses the reply of an exchange that was made", function()
      local token = sim:login().refresh_token
      sim.service.faults:add("drop_after", 1, { row = "token" })
      assert.equal(0, refresh(token).status)
      assert.is_not_nil(sim.service.oauth.refresh[token].used_at)
    end)
  end)
end)

describe("rate limits", function()
  local path = "/api/1/vehicles/" .. simulated.OLD .. "/command/flash_lights"

  local function hit(sim, count)
    local last
    for _ = 1, count do last = sim:call("POST", path, {}) end
    return last
  end

  it("are off unless the garage wants them", function()
    assert.equal(200, hit(simulated.new(simulated.garage()), 40).status)
  end)

  it("refuse the 31st command in a minute and say how long to wait", function()
    local garage = simulated.garage()
    garage.limits = true
    local sim = simulated.new(garage)
    assert.equal(200, hit(sim, 30).status)
    local reply = hit(sim, 1)
    assert.same({ 429, "60" }, { reply.status, reply.headers["Retry-After"] })
    sim:advance(60)
    assert.equal(200, hit(sim, 1).status)
  end)
end)
