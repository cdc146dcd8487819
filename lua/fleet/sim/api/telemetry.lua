-- Telemetry configurations: which applications may send one, and when a vehicle adopts it. doc/protocol.md#telemetry-configuration
local calendar = require("fleet.sim.calendar")
local json = require("fleet.sim.json")
local keys = require("fleet.sim.keys")
local text = require("fleet.sim.text")

local handlers = {}

local SYNC_SECONDS = 30 -- of an online vehicle; cars that stream use vehicle.sync_seconds

local LOCATION = text.set({
  "Location", "OriginLocation", "DestinationLocation", "DestinationName", "RouteLine", "GpsState", "GpsHeading",
})

-- ---- whether a vehicle can take a configuration: doc/protocol.md#telemetry-configuration ----

local function is_old(vehicle, year)
  return (vehicle.model == "ms" or vehicle.model == "mx") and vehicle.model_year < year
end

local function count_configs(vehicle)
  local count = vehicle.foreign_configs
  for _ in pairs(vehicle.configs) do count = count + 1 end
  return count
end

local function needed_firmware(vehicle, signed)
  if vehicle.intel_atom then return "2025.20" end
  return signed and "2024.26" or "2023.20"
end

-- Why a vehicle is skipped, or nil. key: hex of the signer's key, or of the application's; nil when it is unknown.
local function skip_reason(context, vehicle, signed, key)
  local client = context.token.client_id
  local paired = vehicle.intel_atom or (key and vehicle:has_key(key) ~= nil) or (not key and #vehicle.keys > 0)
  if is_old(vehicle, signed and 2021 or 2018) and not vehicle.intel_atom then return "unsupported_hardware" end
  if not vehicle:firmware(needed_firmware(vehicle, signed)) then return "unsupported_firmware" end
  if not paired then return "missing_key" end
  if not vehicle.configs[client] and count_configs(vehicle) >= context.service.config_limit then return "max_configs" end
end

-- ---- required content of a configuration ----

local function wrong(context, message)
  context.fail(400, "invalid_request", message)
end

local function check_field(context, name, options)
  if type(options) ~= "table" then wrong(context, "config.fields." .. name .. " must be an object") end
  local interval = options.interval_seconds
  if type(interval) ~= "number" or interval < 1 or interval % 1 ~= 0 then
    wrong(context, "config.fields." .. name .. ".interval_seconds must be a whole number from 1")
  end
end

local function check_config(context, config)
  if type(config.hostname) ~= "string" or config.hostname:find("/", 1, true) then
    wrong(context, "config.hostname must be a host name without scheme")
  end
  if config.port ~= nil and (type(config.port) ~= "number" or config.port % 1 ~= 0) then
    wrong(context, "config.port must be an integer")
  end
  if type(config.ca) ~= "string" then wrong(context, "config.ca must be a PEM text") end
  if type(config.fields) ~= "table" or next(config.fields) == nil then wrong(context, "config.fields must name a field") end
  for name, options in pairs(config.fields) do check_field(context, name, options) end
end

local function asks_location(config)
  for name in pairs(config.fields) do
    if LOCATION[name] then return true end
  end
  return false
end

local function check_location(context, config, vehicle, hidden)
  if not asks_location(config) then return end
  if hidden or not context.token.scopes.vehicle_location then
    context.fail(403, "location access not granted", "fields with a location are not allowed for " .. vehicle.vin)
  end
end

-- ---- create ----

local function resolve(context, vins)
  local list = {}
  if #vins == 0 then wrong(context, "vins is empty") end
  for _, vin in ipairs(vins) do
    local vehicle, _, hidden = context.service:find_vehicle(context, vin)
    if not vehicle then context.fail(404, "not_found", "no such vehicle, or not yours: " .. tostring(vin)) end
    list[#list + 1] = { vehicle, hidden }
  end
  return list
end

local function apply(context, config, signed, key)
  local skipped, updated = {
    missing_key = json.list(), unsupported_hardware = json.list(), unsupported_firmware = json.list(),
    max_configs = json.list(),
  }, 0
  local list = resolve(context, context.body.vins)
  for _, entry in ipairs(list) do check_location(context, config, entry[1], entry[2]) end
  for _, entry in ipairs(list) do
    local reason = skip_reason(context, entry[1], signed, key)
    if reason then
      table.insert(skipped[reason], entry[1].vin)
    else
      entry[1].configs[context.token.client_id] = { config = config, at = context.now }
      updated = updated + 1
    end
  end
  return { updated_vehicles = updated, skipped_vehicles = skipped }
end

-- Only an application whose key has a CSR at the vendor may send an unsigned configuration. Without apps in the garage, all may.
local function check_unsigned(context)
  local app = context.service.oauth:app(context.token.client_id)
  if not app.any and not app.csr then
    context.fail(412, "must be called through the signing proxy", "a telemetry configuration must be signed")
  end
end

function handlers.create_fleet_telemetry_config(context)
  check_unsigned(context)
  check_config(context, context.body.config)
  return apply(context, context.body.config, false, context.service:app_key(context.token))
end

-- ---- the signed form ----

local function parts_of(context, token)
  local head, claims, signature = token:match("^([^.]+)%.([^.]+)%.([^.]+)$")
  local header = head and text.unbase64(head) and json.decode(text.unbase64(head))
  local body = claims and text.unbase64(claims) and json.decode(text.unbase64(claims))
  if type(header) ~= "table" or type(body) ~= "table" or not signature then
    wrong(context, "token is not a compact JWS")
  end
  return header, body
end

local function verify(context, token, header, key, claims)
  local service = context.service
  local wanted = service.vendor.jws_algorithm
  if wanted and header.alg ~= wanted then wrong(context, "token must be signed with " .. wanted) end
  if not key then wrong(context, "iss must be the base64 of the public key of the signer") end
  if service.jws_verify and not service.jws_verify(token, text.unbase64(claims.iss)) then
    wrong(context, "the signature of the token is wrong")
  end
  local audience = service.vendor.jws_audience
  if audience and (type(claims.aud) ~= "string" or claims.aud:sub(1, #audience) ~= audience) then
    wrong(context, "aud does not name a telemetry client")
  end
end

function handlers.create_fleet_telemetry_config_jws(context)
  local token = context.body.token
  local header, claims = parts_of(context, token)
  local key = type(claims.iss) == "string" and keys.hex_of_base64(claims.iss) or nil
  verify(context, token, header, key, claims)
  check_config(context, claims)
  return apply(context, claims, true, key)
end

-- ---- read and remove ----

-- A vehicle adopts the configuration when it next connects: an online one soon, a sleeping one after it wakes.
local function synced(vehicle, entry, now)
  if entry.synced then return true end
  if vehicle.record.state == "online" and now - entry.at >= (vehicle.sync_seconds or SYNC_SECONDS) then entry.synced = true end
  return entry.synced == true
end

function handlers.fleet_telemetry_config(context)
  local vehicle = context.vehicle
  local entry = vehicle.configs[context.token.client_id]
  local key = context.service:app_key(context.token)
  return {
    synced = entry ~= nil and synced(vehicle, entry, context.now), config = entry and entry.config or json.null,
    limit_reached = count_configs(vehicle) >= context.service.config_limit,
    key_paired = key and vehicle:has_key(key) ~= nil or not key and #vehicle.keys > 0,
  }
end

function handlers.delete_fleet_telemetry_config(context)
  local vehicle = context.vehicle
  if not vehicle then context.fail(404, "not_found", "no such vehicle") end
  local had = vehicle.configs[context.token.client_id] ~= nil
  vehicle.configs[context.token.client_id] = nil
  return { updated_vehicles = had and 1 or 0 }
end

function handlers.fleet_telemetry_errors(context)
  local list = json.list()
  for _, entry in ipairs(context.vehicle.telemetry_errors) do list[#list + 1] = entry end
  return { fleet_telemetry_errors = list }
end

-- Makes a vehicle report an error, for the control address: error(vehicle, client, name, now).
local function report(service, vehicle, options, now)
  local list = vehicle.telemetry_errors
  list[#list + 1] = {
    name = options.client_id or "unknown", error = options.error or "field is not supported", vin = vehicle.vin,
    created_at = calendar.text(now), error_name = options.error_name or "unsupported_field", txID = service.random(8),
  }
  if #list > 100 then table.remove(list, 1) end
end

return { handlers = handlers, report = report, synced = synced }
