-- Partner accounts: registration, its public key, telemetry errors. doc/protocol.md#registration
local calendar = require("fleet.sim.calendar")
local json = require("fleet.sim.json")

local handlers = {}

-- The generator point of P-256, shown as the hosted key when the garage has no apps.
local SAMPLE_KEY = "046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296" ..
  "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"

local function below(domain, root)
  return domain == root or domain:sub(-#root - 1) == "." .. root
end

local function check_domain(context, app, domain)
  if domain:find("[^a-z0-9%-%.]") or not domain:find("%.") then
    context.fail(400, "invalid_request", "a domain is lower case, without scheme and path")
  end
  if app.domain and not below(domain, app.domain) then
    context.fail(400, "invalid_request", "the domain does not match the root domain of an allowed origin")
  end
  if not app.any and not app.key_hex then
    context.fail(424, "public_key_download_failed", "the public key could not be downloaded from " .. domain)
  end
end

handlers["partner.register"] = function(context)
  local service, token = context.service, context.token
  local app, domain = service.oauth:app(token.client_id), context.body.domain
  check_domain(context, app, domain)
  local known = service.registered[app.client_id]
  local key = app.key_hex or SAMPLE_KEY
  local at = calendar.text(context.now)
  service.registered[app.client_id] = {
    domain = domain, public_key = key, created_at = known and known.created_at or at,
  }
  return {
    client_id = app.client_id, name = app.name or app.client_id, description = "", domain = domain, ca = json.null,
    created_at = service.registered[app.client_id].created_at, updated_at = at, enterprise_tier = "free",
    account_id = service:subject({ client_id = app.client_id }), issuer = json.null, csr = json.null,
    csr_updated_at = json.null, public_key = key, public_key_hash = key:sub(3, 34),
  }
end

handlers["partner.public_key"] = function(context)
  local domain = context.query.domain
  if not domain then context.fail(400, "invalid_request", "missing domain param") end
  for _, entry in pairs(context.service.registered) do
    if entry.domain == domain then return { public_key = entry.public_key } end
  end
  for _, app in ipairs(context.service.garage.apps or {}) do
    if app.domain == domain and app.key_hex and app.registered ~= false then return { public_key = app.key_hex } end
  end
  context.fail(404, "not_found", "no such domain is registered")
end

handlers["partner.fleet_telemetry_errors"] = function(context)
  local list = json.list()
  for _, vehicle in ipairs(context.service.vehicles) do
    for _, entry in ipairs(vehicle.telemetry_errors) do list[#list + 1] = entry end
  end
  return { fleet_telemetry_errors = list }
end

handlers["partner.fleet_telemetry_error_vins"] = function(context)
  local list = json.list()
  for _, vehicle in ipairs(context.service.vehicles) do
    if #vehicle.telemetry_errors > 0 then list[#list + 1] = vehicle.vin end
  end
  return { fleet_telemetry_error_vins = list }
end

return { handlers = handlers }
