-- Signed commands reach a simulated vehicle through the code that ships: handshake, command, refusal, and what the service
-- itself refuses.
local core = require("fleet.core")
local probe = require("probe_signing")
local control = require("fleet.sim.control")
local simulated = require("spec.support.fixtures.simulated")
local text = require("fleet.sim.text")

local CAR = simulated.CAR

describe("signed_command", function()
  local sim, key, hex

  local function pair(fields)
    key = core.key.generate()
    hex = key:public_bytes():gsub(".", function(c) return ("%02x"):format(c:byte()) end)
    local vehicle = { vin = CAR, keys = { { public_key = hex, role = fields and fields.role or "OWNER" } } }
    for name, value in pairs(fields or {}) do
      if name ~= "role" then vehicle[name] = value end
    end
    sim = simulated.new({ vehicles = { vehicle } }, { core = core })
  end

  before_each(function() pair() end)

  local function send(bytes)
    local reply = sim:call("POST", "/api/1/vehicles/" .. CAR .. "/signed_command", { routable_message = core.base64(bytes) })
    return reply.response and type(reply.response) == "string" and text.unbase64(reply.response), reply
  end

  local function session(domain)
    local s = core.session({ key = key, vin = CAR, domain = domain or "infotainment" })
    return s, s:accept((assert(send(s:handshake()))))
  end

  local function command(s, name, params, method)
    local c = assert(core.command(name, params or {}))
    local answer, reply = send(s:sign(c.payload, { method = method or "hmac", encrypt_response = true }))
    if not answer then return nil, reply end
    local payload, err, authenticated = s:open(answer)
    if not payload then return nil, err end
    local ok, refused = probe.read_answer(c.domain, payload, authenticated)
    return ok, refused
  end

  it("obeys infotainment", function()
    local s, accepted = session()
    assert.is_true(accepted)
    assert.is_true(command(s, "set_charge_limit", { percent = 70 }))
    assert.equal(70, sim:section("charge_state", CAR).charge_limit_soc)
  end)

  it("obeys vehicle security", function()
    local s = session("vehicle_security")
    assert.is_true(command(s, "door_unlock"))
    assert.is_false(sim:section("vehicle_state", CAR).locked)
  end)

  it("obeys commands that need the protocol", function()
    assert.is_true(command(session(), "set_vehicle_name", { vehicle_name = "Green" }))
    assert.equal("Green", sim:get("/api/1/vehicles/" .. CAR).response.display_name)
  end)

  it("takes false and zero for what they are", function()
    local s = session()
    sim:section("vehicle_state", CAR).sentry_mode = true
    assert.is_true(command(s, "set_sentry_mode", { on = false }))
    assert.is_false(sim:section("vehicle_state", CAR).sentry_mode)
  end)

  it("carries the vehicle's reason", function()
    local ok, err = command(session(), "charge_start")
    assert.is_nil(ok)
    assert.matches("disconnected", err.reason)
    control.event(sim.service, "drive", CAR)
    ok, err = command(session("vehicle_security"), "remote_start_drive")
    assert.is_true(ok == true or err ~= nil)
  end)

  it("gives vehicle data", function()
    local s = session()
    local payload = core.encode_message("CarServer.Action", { ["vehicleAction.getVehicleData.getChargeState"] = {} })
    local answer = s:open((assert(send(s:sign(payload, { encrypt_response = true })))))
    assert.matches('"battery_level":62', core.message_json("CarServer.Response", answer))
  end)

  it("is refused when signed with AES-GCM", function()
    local ok, reply = command(session(), "honk_horn", {}, "gcm")
    assert.is_nil(ok)
    assert.equal(400, reply.status)
  end)

  it("is refused to a key that is not on the vehicle, and allowed once it is paired", function()
    control.event(sim.service, "remove_key", CAR)
    local s = core.session({ key = key, vin = CAR, domain = "infotainment" })
    assert.is_nil((s:accept((assert(send(s:handshake()))))))
    control.event(sim.service, "pair_key", CAR, { public_key = hex })
    assert.is_true(command(session(), "honk_horn"))
  end)

  it("is refused to a role that may not", function()
    pair({ role = "CHARGING_MANAGER" })
    assert.is_true(command(session(), "charge_max_range"))
    assert.is_nil((command(session(), "honk_horn")))
  end)

  it("ends a session when the vehicle restarts", function()
    local s = session()
    assert.is_true(command(s, "honk_horn"))
    control.event(sim.service, "restart", CAR)
    assert.is_nil((command(s, "honk_horn")))
    assert.is_true(command(session(), "honk_horn"))
  end)

  it("does nothing when a message comes twice or too late", function()
    local s = session()
    local c = core.command("set_charge_limit", { percent = 60 })
    local bytes = s:sign(c.payload, { method = "hmac", expires_in = 15 })
    assert.is_string((s:open((assert(send(bytes))))))
    sim:section("charge_state", CAR).charge_limit_soc = 90
    send(bytes)
    assert.equal(90, sim:section("charge_state", CAR).charge_limit_soc)
    local late = s:sign(c.payload, { method = "hmac", expires_in = 15 })
    sim:advance(60)
    send(late)
    assert.equal(90, sim:section("charge_state", CAR).charge_limit_soc)
  end)

  it("is 408 for a sleeping vehicle, 422 where the protocol is not spoken, 400 for what cannot be read", function()
    sim:car(CAR).record.state = "asleep"
    assert.equal(408, select(2, send("\50\0")).status)
    pair({ vehicle_command_protocol_required = false })
    assert.equal(422, select(2, send("\50\0")).status)
    pair({ vehicle_command_protocol_required = false, protocol = true })
    assert.is_true(command(session(), "honk_horn"))
    assert.equal(400, select(2, send("\255\255\255")).status)
  end)

  it("of a lowered counter leaves the vehicle's clock alone", function()
    local s = session()
    assert.is_true(command(s, "honk_horn"))
    sim:advance(1000)
    sim.service.faults:add("counter_lowered")
    local answer = send(s:sign(core.command("honk_horn").payload, { method = "hmac" }))
    local info = core.unbase64(core.message_json("UniversalMessage.RoutableMessage", answer):match('"session_info":"(.-)"'))
    info = require("fleet.sim.json").decode(core.message_json("Signatures.SessionInfo", info))
    assert.same({ 1000, nil }, { info.clock_time, info.counter })
    local again = assert(send(core.session({ key = key, vin = CAR, domain = "infotainment" }):handshake()))
    local after = core.unbase64(core.message_json("UniversalMessage.RoutableMessage", again):match('"session_info":"(.-)"'))
    after = require("fleet.sim.json").decode(core.message_json("Signatures.SessionInfo", after))
    assert.same({ 1000, info.epoch, 1 }, { after.clock_time, after.epoch, after.counter })
  end)
end)
