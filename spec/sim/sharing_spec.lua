-- Drivers, invitations, partner accounts and telemetry configurations: doc/protocol.md#sharing, #registration, #telemetry-configuration.
local json = require("fleet.sim.json")
local simulated = require("spec.support.fixtures.simulated")

local CAR = simulated.CAR
local PATH = "/api/1/vehicles/" .. CAR

local KEY = "046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296" ..
  "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"

describe("sharing a simulated vehicle", function()
  local sim, friend

  before_each(function()
    sim = simulated.new({
      accounts = { { email = "owner@x" }, { email = "friend@x" }, { email = "third@x" } }, vehicles = { { vin = CAR } },
    })
    friend = sim:login({ login_hint = "friend@x" }).access_token
  end)

  local function invite() return sim:call("POST", PATH .. "/invitations").response end

  local function redeem(code, token) return sim:call("POST", "/api/1/invitations/redeem", { code = code }, token or friend) end

  it("an invitation gives access once", function()
    assert.equal(404, sim:get(PATH, friend).status)
    local code = invite().code
    assert.equal(CAR, redeem(code).response.vin)
    assert.equal("DRIVER", sim:get(PATH, friend).response.access_type)
    assert.equal(404, redeem(code, sim:login({ login_hint = "third@x" }).access_token).status)
  end)

  it("the owner cannot use the own invitation, and another can then", function()
    local code = invite().code
    local reply = redeem(code, sim:own_token())
    assert.same({ 400, "OWNER" }, { reply.status, sim:get(PATH).response.access_type })
    assert.equal(200, redeem(code).status)
  end)

  describe("a guest", function()
    before_each(function()
      local control = require("fleet.sim.control")
      sim:car(CAR).sections.vehicle_state.guest_mode = true
      sim:car(CAR).guest_code = { code = "q", expires_at = math.huge }
      control.event(sim.service, "qr_scan", CAR, { guest = "friend@x" })
    end)

    it("who has an account uses the vehicle and is among its drivers, until a driver removes or displaces the guest", function()
      assert.equal("DRIVER", sim:get(PATH, friend).response.access_type)
      assert.equal("friend", sim:get(PATH .. "/drivers").response[1].driver_first_name)
      assert.equal(403, sim:get(PATH .. "/drivers", friend).status)
      assert.equal("ok", sim:call("DELETE", PATH .. "/drivers?share_user_id=800002").response)
      assert.equal(404, sim:get(PATH, friend).status)
      assert.equal(0, #sim:get(PATH .. "/drivers").response)
    end)

    it("may end the own access only", function()
      assert.equal(403, sim:call("DELETE", PATH .. "/drivers?share_user_id=800001", nil, friend).status)
      assert.equal("ok", sim:call("DELETE", PATH .. "/drivers", nil, friend).response)
      assert.is_nil(sim:car(CAR).guest)
      assert.equal("owner@x", sim:car(CAR).owner)
    end)
  end)

  it("a whole link is as good as its code", function()
    assert.equal(200, redeem(invite().share_link).status)
  end)

  it("an invitation ends after 24 hours", function()
    local code = invite().code
    sim:advance(24 * 3600)
    assert.equal(404, redeem(code, sim:login({ login_hint = "friend@x" }).access_token).status)
    code = invite().code
    sim:advance(24 * 3600 - 1)
    assert.equal(200, redeem(code, sim:login({ login_hint = "friend@x" }).access_token).status)
  end)

  it("a revoked invitation is no use, and is revoked once", function()
    local invitation = invite()
    local target = PATH .. "/invitations/" .. invitation.id_s .. "/revoke"
    assert.is_true(sim:call("POST", target).response)
    assert.equal(404, sim:call("POST", target).status)
    assert.equal(404, redeem(invitation.code).status)
  end)

  it("invitations come in pages of at most 25", function()
    for _ = 1, 30 do invite() end
    assert.equal(25, #sim:get(PATH .. "/invitations").response)
    assert.equal(5, #sim:get(PATH .. "/invitations?page=2").response)
    assert.equal(400, sim:get(PATH .. "/invitations?per_page=26").status)
  end)

  it("does not need the vehicle awake", function()
    sim:car(CAR).record.state = "asleep"
    assert.is_string(invite().code)
  end)

  it("drivers are shown to the owner only", function()
    redeem(invite().code)
    local list = sim:get(PATH .. "/drivers").response
    assert.same({ 1, "friend" }, { #list, list[1].driver_first_name })
    assert.equal(403, sim:get(PATH .. "/drivers", friend).status)
  end)

  it("a share user removes only the own access, the owner any", function()
    redeem(invite().code)
    redeem(invite().code, sim:login({ login_hint = "third@x" }).access_token)
    assert.equal(403, sim:call("DELETE", PATH .. "/drivers?share_user_id=800003", nil, friend).status)
    assert.equal("ok", sim:call("DELETE", PATH .. "/drivers", nil, friend).response)
    assert.equal(404, sim:get(PATH, friend).status)
    assert.equal("ok", sim:call("DELETE", PATH .. "/drivers?share_user_id=800003").response)
    assert.equal(404, sim:call("DELETE", PATH .. "/drivers?share_user_id=800003").status)
  end)

  it("five drivers are the most", function()
    local accounts = { { email = "owner@x" } }
    for i = 1, 6 do accounts[i + 1] = { email = ("d%d@x"):format(i) } end
    sim = simulated.new({ accounts = accounts, vehicles = { { vin = CAR } } })
    for i = 1, 5 do
      assert.equal(200, redeem(invite().code, sim:login({ login_hint = ("d%d@x"):format(i) }).access_token).status)
    end
    assert.equal(400, redeem(invite().code, sim:login({ login_hint = "d6@x" }).access_token).status)
  end)
end)

describe("a simulated partner account", function()
  local function garage(fields)
    local app = { client_id = "c1", client_secret = "x", domain = "example.com", public_key = KEY, redirect_uris = { "http://app/cb" } }
    for name, value in pairs(fields or {}) do app[name] = value end
    if app.public_key == "" then app.public_key = nil end
    return { apps = { app }, vehicles = { { vin = CAR } } }
  end

  local function register(sim, domain)
    return sim:call("POST", "/api/1/partner_accounts", { domain = domain }, sim:partner())
  end

  it("registers its domain or one below, again without harm, and shows its key", function()
    local sim = simulated.new(garage())
    assert.equal(KEY, register(sim, "example.com").response.public_key)
    assert.equal(200, register(sim, "app.example.com").status)
    local reply = sim:get("/api/1/partner_accounts/public_key?domain=app.example.com", sim:partner())
    assert.equal(KEY, reply.response.public_key)
    assert.equal(404, sim:get("/api/1/partner_accounts/public_key?domain=other.com", sim:partner()).status)
  end)

  it("is refused another domain, a scheme, or a key that is not hosted", function()
    local sim = simulated.new(garage())
    for _, domain in ipairs({ "other.com", "badexample.com", "https://example.com", "Example.com" }) do
      assert.equal(400, register(sim, domain).status)
    end
    assert.equal(424, register(simulated.new(garage({ public_key = "" })), "example.com").status)
  end)

  it("must exist before anything else works, where the garage says that it does not", function()
    local sim = simulated.new(garage({ registered = false }))
    local reply = sim:get("/api/1/vehicles")
    assert.equal(412, reply.status)
    assert.matches("must be registered", reply.json.error)
    register(sim, "example.com")
    assert.equal(200, sim:get("/api/1/vehicles").status)
  end)

  it("calls need a partner token", function()
    local sim = simulated.new(garage())
    assert.equal(403, sim:call("POST", "/api/1/partner_accounts", { domain = "example.com" }).status)
  end)
end)

describe("telemetry configuration of a simulated vehicle", function()
  local CONFIG = { hostname = "t.example.com", port = 443, ca = "PEM", fields = { Soc = { interval_seconds = 60 } } }

  local function new(members, options)
    local vehicle = { vin = CAR, keys = { KEY } }
    for name, value in pairs(members or {}) do vehicle[name] = value end
    return simulated.new({ vehicles = { vehicle } }, options)
  end

  local function create(sim, config, token)
    return sim:call("POST", "/api/1/vehicles/fleet_telemetry_config", { vins = json.list({ CAR }), config = config or CONFIG }, token)
  end

  local function jws(sim, header)
    local text = require("fleet.sim.text")
    local point = KEY:gsub("..", function(pair) return string.char(tonumber(pair, 16)) end)
    local claims = { iss = require("fleet.core").base64(point), aud = "com.vendor.fleet.TelemetryClient" }
    for name, value in pairs(CONFIG) do claims[name] = value end
    local token = text.base64url(json.encode(header or { alg = "V.SS256", typ = "JWT" })) .. "." ..
      text.base64url(json.encode(claims)) .. ".c2ln"
    return sim:call("POST", "/api/1/vehicles/fleet_telemetry_config_jws", { vins = json.list({ CAR }), token = token })
  end

  it("is refused unsigned with 412, but to an application with a CSR", function()
    local function app(fields)
      local sim = new()
      sim.service.garage.apps = { { client_id = "c1", client_secret = "x", redirect_uris = { "http://app/cb" }, csr = fields.csr } }
      return sim
    end
    local reply = create(app({}))
    assert.same({ 412, "must be called through the signing proxy" }, { reply.status, reply.json.error })
    assert.equal(412, create(app({ csr = false })).status)
    assert.equal(1, create(app({ csr = true })).response.updated_vehicles)
    assert.equal(1, jws(app({})).response.updated_vehicles)
  end)

  it("is synced when the vehicle has connected, and removed", function()
    local sim = new()
    assert.equal(1, create(sim).response.updated_vehicles)
    local read = sim:get(PATH .. "/fleet_telemetry_config").response
    assert.same({ false, false, "t.example.com" }, { read.synced, read.limit_reached, read.config.hostname })
    sim:advance(60)
    assert.is_true(sim:get(PATH .. "/fleet_telemetry_config").response.synced)
    assert.equal(1, sim:call("DELETE", PATH .. "/fleet_telemetry_config").response.updated_vehicles)
    assert.equal(json.null, sim:get(PATH .. "/fleet_telemetry_config").response.config)
  end)

  it("of a sleeping vehicle waits until it is awake", function()
    local sim = new({ state = "asleep" })
    create(sim)
    sim:advance(3600)
    assert.is_false(sim:get(PATH .. "/fleet_telemetry_config").response.synced)
    sim:call("POST", PATH .. "/wake_up")
    sim:advance(60)
    assert.is_true(sim:get(PATH .. "/fleet_telemetry_config").response.synced)
  end)

  local SKIPPED = {
    { "missing_key", { keys = {} }, false }, { "missing_key", { keys = {} }, true },
    { "unsupported_hardware", { model = "ms", model_year = 2017 }, false },
    { "unsupported_hardware", { model = "mx", model_year = 2020 }, true },
    { nil, { model = "ms", model_year = 2018 }, false }, { nil, { model = "ms", model_year = 2021 }, true },
    { nil, { model = "m3", model_year = 2017 }, false },
    { "unsupported_firmware", { firmware_version = "2023.19.9" }, false }, { nil, { firmware_version = "2023.20" }, false },
    { "unsupported_firmware", { firmware_version = "2024.25" }, true }, { nil, { firmware_version = "2024.26" }, true },
    { "unsupported_firmware", { intel_atom = true, model = "ms", model_year = 2017, firmware_version = "2025.19" }, false },
    { nil, { intel_atom = true, model = "ms", model_year = 2017, firmware_version = "2025.20", keys = {} }, false },
    { "max_configs", { telemetry_configs = 5 }, false }, { nil, { telemetry_configs = 4 }, false },
  }

  for i, case in ipairs(SKIPPED) do
    it(("%s, %s (case %d)"):format(case[1] or "accepted", case[3] and "signed" or "direct", i), function()
      local sim = new(case[2])
      local reply = case[3] and jws(sim) or create(sim)
      local found
      for reason, vins in pairs(reply.response.skipped_vehicles) do
        if vins[1] then found = reason end
      end
      assert.equal(case[1], found)
    end)
  end

  it("has the other published limit where it is asked for", function()
    local sim = new({ telemetry_configs = 3 }, { config_limit = 3 })
    assert.equal(CAR, create(sim).response.skipped_vehicles.max_configs[1])
    assert.is_true(sim:get(PATH .. "/fleet_telemetry_config").response.limit_reached)
  end)

  it("with a location is refused to a share that hides it and without the scope", function()
    local config = { hostname = "h", ca = "PEM", fields = { Location = { interval_seconds = 60 } } }
    assert.equal(1, create(new(), config).response.updated_vehicles)
    local reply = create(new({ granular_access = { hide_private = true } }), config)
    assert.equal(403, reply.status)
    assert.matches("location", reply.json.error)
    local sim = new()
    assert.equal(403, create(sim, config, sim:login({ scope = "openid vehicle_device_data" }).access_token).status)
  end)

  for name, config in pairs({
    ["a host with a scheme"] = { hostname = "https://h", ca = "PEM", fields = CONFIG.fields },
    ["a port as text"] = { hostname = "h", port = "443", ca = "PEM", fields = CONFIG.fields },
    ["no chain"] = { hostname = "h", fields = CONFIG.fields }, ["no fields"] = { hostname = "h", ca = "PEM", fields = {} },
    ["an interval of zero"] = { hostname = "h", ca = "PEM", fields = { Soc = { interval_seconds = 0 } } },
  }) do
    it("is refused with " .. name, function() assert.equal(400, create(new(), config).status) end)
  end

  it("signed with another algorithm, or wrongly, is refused", function()
    assert.equal(400, jws(new(), { alg = "ES256" }).status)
    assert.equal(400, jws(new(nil, { jws_verify = function() return nil end })).status)
    assert.equal(1, jws(new(nil, { jws_verify = function() return {} end })).response.updated_vehicles)
  end)

  it("errors are shown per vehicle and to the partner", function()
    local sim = new()
    require("fleet.sim.control").event(sim.service, "telemetry_error", CAR, { error_name = "unsupported_field" })
    assert.equal("unsupported_field", sim:get(PATH .. "/fleet_telemetry_errors").response.fleet_telemetry_errors[1].error_name)
    local partner = sim:partner()
    assert.equal(1, #sim:get("/api/1/partner_accounts/fleet_telemetry_errors", partner).response.fleet_telemetry_errors)
    assert.same({ CAR }, sim:get("/api/1/partner_accounts/fleet_telemetry_error_vins", partner).response.fleet_telemetry_error_vins)
  end)

  it("of any vehicle may be removed by a partner", function()
    local sim = new()
    create(sim)
    assert.equal(1, sim:call("DELETE", PATH .. "/fleet_telemetry_config", nil, sim:partner()).response.updated_vehicles)
  end)
end)
