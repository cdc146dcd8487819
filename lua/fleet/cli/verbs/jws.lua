-- fleet jws CLAIMS: signs claims, or a telemetry configuration, with the virtual key.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local usage_error = require "fleet.cli.usage_error"
local options = require "fleet.cli.options"
local telemetry_check = require "fleet.resources.telemetry_check"
local values = require "fleet.cli.values"
local vehicles = require "fleet.cli.vehicles"

local takes = {
  {
    name = "vin", type = "string", placeholder = "VIN",
    doc = "for one vehicle (its VIN, the end of it, or its name); by default for every vehicle that knows the key",
  },
  { name = "app", type = "string", doc = "what the token is for, by default TelemetryClient" },
  { name = "force", type = "boolean", doc = "sign a telemetry configuration that has problems" },
}

-- A file that says where to send telemetry is checked as a configuration (doc/protocol.md#telemetry-configuration); it may also be a whole
-- body { vins =, config = }.
local function check_configuration(context, claims, force)
  if claims.hostname == nil or claims.fields == nil or force then return true end
  local _, wall = core.clock()
  local report = context:check(telemetry_check.check, claims, wall)
  local problems = telemetry_check.sentence(report)
  if not problems then return true end
  local text = "jws: " .. problems .. " (--force signs it all the same)"
  return errors.failure("invalid", text, { problems = report.problems, warnings = report.warnings })
end

local function sign(context, key, claims, given)
  local token, err, kind
  if given.vin then
    given.vin, err, kind = vehicles.find(context, given.vin, { vin_only = true })
    if not given.vin then return nil, err, kind end
  end
  token, err, kind = context:check(key.jws, key, claims, { vin = given.vin, app = given.app })
  if not token then return nil, err, kind end
  return { token = token, fingerprint = key:fingerprint() }
end

local function run(context, line)
  local given = options.given(context.environment, takes, line.options)
  local claims = values.read(context.environment, { type = "object" }, line.words[1], "CLAIMS")
  if type(claims) ~= "table" then usage_error.raise("'jws' takes a JSON object, @file or -", { "jws" }) end
  if type(claims.config) == "table" then claims = claims.config end
  local good, err, kind = check_configuration(context, claims, given.force)
  if not good then return nil, err, kind end
  local account = core.context(context:client())
  if not account.keys then usage_error.raise("'jws' needs --key: the file of the virtual key", { "jws" }) end
  return sign(context, account.keys[1], claims, given)
end

local function show(out, value)
  out:write(value.token, "\n")
end

return {
  {
    name = "jws", words = { "CLAIMS" }, takes = takes, run = run, show = show,
    doc = "Signs claims (JSON text, @FILE or -) with the virtual key and prints the token. A telemetry configuration is checked "
      .. "first; the token is what create_fleet_telemetry_config_jws takes.",
  },
}
