-- What the proxy gives of a vehicle's security computer: its state, in the shape of Bluetooth proxies, trunks by their state, and keys
-- only to callers whose list names them.
local callers = require "fleet.proxy.callers"
local clients = require "fleet.proxy.clients"
local core = require "fleet.core"
local fleet = require "fleet"
local services = require "fleet.proxy.service"
local signed_world = require "spec.support.fixtures.signed_world"

local VIN = signed_world.VIN

describe("the proxy", function()
  local world, opened, service

  before_each(function()
    world = signed_world.new()
    opened = clients.new(world:client())
    service = services.new { clients = opened, timeout = 30 }
  end)
  after_each(function()
    opened:close()
    world:close()
  end)

  local function ask(method, path, body, options, name)
    local known = callers.new(options or {})
    local caller = name and known.by_name[name] or known.default_caller
    return fleet.run(function()
      local status, _, text = service:handle(caller, { method = method, path = path, query = "", headers = {}, body = body or "" })
      return { status = status, json = core.json_decode(text), body = text }
    end)
  end

  local function command(word, params, options, name)
    return ask("POST", "/api/1/vehicles/" .. VIN .. "/command/" .. word, core.json_encode(params), options, name)
  end

  it("answers body_controller_state at both paths as Bluetooth proxies do", function()
    local state = world.sim:car(VIN).sections.vehicle_state
    state.locked, state.rt = true, 1
    for _, path in ipairs { "/api/1/vehicles/%s/body_controller_state", "/api/proxy/1/vehicles/%s/body_controller_state" } do
      for _, vin in ipairs { VIN, VIN:lower() } do
        local reply = ask("GET", path:format(vin))
        assert.equal(200, reply.status, reply.body)
        assert.same({
          result = true, reason = "The command was successfully processed.", vin = VIN, command = "body_controller_state",
          response = {
            closureStatuses = { rearTrunk = "CLOSURESTATE_OPEN" }, vehicleLockState = "VEHICLELOCKSTATE_LOCKED",
            vehicleSleepStatus = "VEHICLE_SLEEP_STATUS_AWAKE", userPresence = "VEHICLE_USER_PRESENCE_NOT_PRESENT",
          },
        }, reply.json.response)
      end
    end
    assert.same({}, world.ran)
  end)

  it("refuses it with another method, for what is no VIN, and to callers whose rows do not name it", function()
    assert.equal(405, ask("POST", "/api/1/vehicles/" .. VIN .. "/body_controller_state").status)
    assert.equal(404, ask("GET", "/api/1/vehicles/123/body_controller_state").status)
    local other = VIN:sub(1, -2) .. "9"
    local options = { callers = {
      reader = { secret = ("r"):rep(32), rows = { "body_controller_state" }, vins = { VIN } },
      other = { secret = ("o"):rep(32), rows = { "vehicle_data" } },
    } }
    assert.equal(200, ask("GET", "/api/1/vehicles/" .. VIN .. "/body_controller_state", nil, options, "reader").status)
    assert.equal(403, ask("GET", "/api/1/vehicles/" .. other .. "/body_controller_state", nil, options, "reader").status)
    assert.equal(403, ask("GET", "/api/1/vehicles/" .. VIN .. "/body_controller_state", nil, options, "other").status)
  end)

  it("says that a sleeping vehicle sleeps, and does not wake it", function()
    world.sim:car(VIN).record.state = "asleep"
    local reply = ask("GET", "/api/1/vehicles/" .. VIN .. "/body_controller_state")
    assert.equal(408, reply.status)
    assert.matches("offline or asleep", reply.body, 1, true)
    assert.equal("asleep", world.sim:car(VIN).record.state)
  end)

  it("opens and closes trunks by their state", function()
    assert.same({ response = { result = true, reason = "" } }, command("open_trunk", { which_trunk = "rear" }).json)
    assert.equal(1, world.sim:car(VIN).sections.vehicle_state.rt)
    world.sim:car(VIN).sections.vehicle_config.plg = true
    assert.same({ response = { result = true, reason = "" } }, command("close_trunk", { which_trunk = "rear" }).json)
    assert.equal(0, world.sim:car(VIN).sections.vehicle_state.rt)
    assert.equal(400, command("close_trunk", { which_trunk = "boot" }).status)
    assert.same({ "open_trunk", "close_trunk" }, world.ran)
  end)

  it("changes keys only for callers whose rows name it, and makes no key an owner's", function()
    local key = core.key.generate()
    local driver = { public_key = key:public_pem(), role = "driver" }
    local options = { callers = {
      all = { secret = ("a"):rep(32) }, keys = { secret = ("k"):rep(32), rows = { "add_key", "remove_key" } },
    } }
    for _, name in ipairs { false, "all" } do
      local reply = command("add_key", driver, options, name or nil)
      assert.equal(403, reply.status, reply.body)
      assert.equal(403, command("remove_key", driver, options, name or nil).status)
    end
    assert.equal(1, #world.sim:car(VIN).keys)
    assert.equal(200, command("add_key", driver, options, "keys").status)
    assert.equal(2, #world.sim:car(VIN).keys)
    local owner = { public_key = core.key.generate():public_pem(), role = "owner" }
    assert.equal(501, command("add_key", owner, options, "keys").status)
    assert.equal(2, #world.sim:car(VIN).keys)
    assert.equal(501, command("remove_key", { public_key = world.keys[1]:public_pem() }, options, "keys").status)
    assert.equal(200, command("remove_key", driver, options, "keys").status)
    assert.equal(1, #world.sim:car(VIN).keys)
  end)
end)
