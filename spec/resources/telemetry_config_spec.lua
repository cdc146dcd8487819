-- client:create_fleet_telemetry_config: checked, signed where there is a key, sent only when it can work.

local core = require "fleet.core"
local fleet = require "fleet"

local vin = "5YJ3E1EA7KF000001"
local key = fleet.key.generate()
local ca

setup(function()
  local directory = os.getenv("FLEET_BUILD") .. "/run"
  local path = directory .. "/telemetry_config_ca.pem"
  assert(os.execute("mkdir -p " .. directory .. " && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "
    .. path .. ".key -out " .. path .. " -days 30 -subj /CN=t.example.com -addext subjectAltName=DNS:t.example.com 2>/dev/null"))
  local file = assert(io.open(path))
  ca = file:read("a")
  file:close()
  os.remove(path)
  os.remove(path .. ".key")
end)

local function config(changes)
  local made = { hostname = "t.example.com", port = 443, ca = ca, fields = { Soc = { interval_seconds = 60 } } }
  for name, value in pairs(changes or {}) do made[name] = value end
  return made
end

local function service(with_key, commands)
  local requests = {}
  return fleet.new {
    token = "t", key = with_key and key or nil, commands = commands, proxy_url = commands == "proxy" and "https://proxy.example" or nil,
    http = function(request)
      requests[#requests + 1] = { url = request.url, body = core.json_decode(request.body) }
      return { status = 200, body = "{\"response\":{\"updated_vehicles\":1,\"skipped_vehicles\":{\"missing_key\":[\"V2\"]}}}" }
    end,
  }, requests
end

describe("create_fleet_telemetry_config", function()
  it("goes plain where there is no key", function()
    local client, requests = service(false)
    local value = assert(client:create_fleet_telemetry_config { vins = { vin }, config = config() })
    assert.truthy(requests[1].url:find("/fleet_telemetry_config$"))
    assert.same({ 60, 443 }, { requests[1].body.config.fields.Soc.interval_seconds, requests[1].body.config.port })
    assert.equal("missing_key", value.skipped_vehicles[1].reason)
  end)

  it("is signed for every vehicle that trusts the key", function()
    local client, requests = service(true)
    local value = assert(client:create_fleet_telemetry_config { vins = { vin, vin }, config = config() })
    assert.truthy(requests[1].url:find("/fleet_telemetry_config_jws$"))
    local claims = assert(fleet.jws_verify(requests[1].body.token, key:public_bytes()))
    assert.equal("com.tesla.fleet.TelemetryClient", claims.aud)
    assert.equal("t.example.com", claims.hostname)
    assert.equal("V2", value.skipped_vehicles[1].vin)
  end)

  it("is signed for one vehicle when the audience is that vehicle", function()
    local client, requests = service(true)
    assert(client:create_fleet_telemetry_config { vins = { vin }, config = config(), audience = "vehicle" })
    local claims = assert(fleet.jws_verify(requests[1].body.token, key:public_bytes()))
    assert.equal("com.tesla.vehicle." .. vin .. ".TelemetryClient", claims.aud)
    assert.error_matches(function()
      client:create_fleet_telemetry_config { vins = { vin, vin }, config = config(), audience = "vehicle" }
    end, "exactly one VIN")
  end)

  it("is left to the proxy to sign, with a key and without one", function()
    for _, with_key in ipairs { true, false } do
      local client, requests = service(with_key, "proxy")
      local value = assert(client:create_fleet_telemetry_config { vins = { vin }, config = config() })
      assert.equal("https://proxy.example/api/1/vehicles/fleet_telemetry_config", requests[1].url)
      assert.equal("t.example.com", requests[1].body.config.hostname)
      assert.equal("missing_key", value.skipped_vehicles[1].reason)
    end
  end)

  it("goes unsigned where the caller says plain, also with a key", function()
    local client, requests = service(true, "plain")
    assert(client:create_fleet_telemetry_config { vins = { vin }, config = config() })
    assert.truthy(requests[1].url:find("/fleet_telemetry_config$"))
    assert.equal("t.example.com", requests[1].body.config.hostname)
  end)

  it("returns what the check warns about", function()
    local client, requests = service(true)
    local odd = config { brand_new = 1, iss = "mine", exp = 1795575000000 }
    local value = assert(client:create_fleet_telemetry_config { vins = { vin }, config = odd })
    local where = {}
    for i, one in ipairs(value.warnings) do where[i] = one.where end
    table.sort(where)
    assert.same({ "brand_new", "exp", "iss" }, where)
    local claims = assert(fleet.jws_verify(requests[1].body.token, key:public_bytes()))
    assert.same({ 1, 1795575000000 }, { claims.brand_new, claims.exp })
    assert.not_equal("mine", claims.iss)
  end)

  it("warns of a vehicle whose last fleet_status shows older firmware, and of no other", function()
    local store = fleet.store.memory()
    local client = fleet.new { token = "t", store = store, http = function()
      return { status = 200, body = core.json_encode { response = { updated_vehicles = 1,
        vehicle_info = { [vin] = { firmware_version = "2024.38.2" } } } } }
    end }
    local given = { vins = { vin, "5YJ3E1EA7KF000002" }, config = config { delivery_policy = "latest" } }
    assert.is_nil(assert(client:create_fleet_telemetry_config(given)).warnings) -- nothing is known
    assert(client:fleet_status { vins = { vin } })
    local warnings = assert(client:create_fleet_telemetry_config(given)).warnings
    assert.same({ 1, "vins" }, { #warnings, warnings[1].where })
    assert.equal(vin .. ": its firmware 2024.38.2 is too old for delivery_policy (from 2024.45.32.20)", warnings[1].message)
  end)

  it("takes an audience only where the token is signed here", function()
    for _, case in ipairs { { false }, { true, "proxy" }, { true, "plain" } } do
      local client = service(case[1], case[2])
      assert.error_matches(function()
        client:create_fleet_telemetry_config { vins = { vin }, config = config(), audience = "vehicle" }
      end, "audience is part of a token that the client signs")
    end
  end)

  it("is not sent with a token that another key signed", function()
    local client, requests = service(true)
    assert(client:create_fleet_telemetry_config { vins = { vin }, config = config() })
    assert.is_nil(fleet.jws_verify(requests[1].body.token, fleet.key.generate():public_bytes()))
  end)

  local broken = {
    { "a port given as text", { port = "443" }, "port" },
    { "an unknown field", { fields = { Sok = { interval_seconds = 60 } } }, "Sok" },
    { "a host with a scheme", { hostname = "https://t.example.com" }, "scheme" },
    { "no certificate", { ca = "none" }, "certificate" },
  }
  for _, case in ipairs(broken) do
    it("refuses " .. case[1] .. " before anything is sent", function()
      local client, requests = service(true)
      local value, err, kind = client:create_fleet_telemetry_config { vins = { vin }, config = config(case[2]) }
      assert.is_nil(value)
      assert.same({ "invalid", "not_sent", 0 }, { kind, err.outcome, #requests })
      assert.truthy(err.message:find(case[3], 1, true), err.message)
      assert.is_true(#err.problems > 0)
      assert(client:create_fleet_telemetry_config({ vins = { vin }, config = config(case[2]) }, { force = true }))
    end)
  end
end)
