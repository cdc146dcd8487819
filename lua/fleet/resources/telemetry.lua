-- Telemetry configurations: checks them, signs them if the client has a key, sends them, and waits until the vehicle has adopted them.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local rows = require "fleet.call.rows"
local calls = require "fleet.call"
local check_options = require "fleet.util.check_options"
local tasks = require "fleet.async"
local status_cache = require "fleet.call.vehicle_status_cache"
local telemetry_check = require "fleet.resources.telemetry_check"

local M = {}

local row = rows.by_name.create_fleet_telemetry_config

-- What to do about each reason for skipping a vehicle.
local function skip_advice()
  local advice = {}
  for _, reason in ipairs(core.reasons()) do
    if reason.where == "telemetry" then advice[reason.text] = reason.doc end
  end
  return advice
end

-- The vehicles that the configuration was not sent to, as a list of { vin =, reason =, advice = }. The service sends an object from reason
-- to VINs or from VIN to reason, or a list of { vin, reason }.
local function skipped_list(skipped)
  local list, advice = {}, skip_advice()
  local function add(vin, reason)
    list[#list + 1] = { vin = vin, reason = reason, advice = advice[reason] }
  end
  for key, value in pairs(skipped) do
    if type(value) == "table" and type(key) == "number" then
      add(value.vin, value.reason)
    elseif type(value) == "table" then
      for _, vin in ipairs(value) do add(vin, key) end
    else
      add(key, value)
    end
  end
  table.sort(list, function(a, b) return tostring(a.vin) .. tostring(a.reason) < tostring(b.vin) .. tostring(b.reason) end)
  return list
end

local function with_skipped(plain, client, ...)
  local value, err, kind = plain(client, ...)
  if type(value) == "table" and type(value.skipped_vehicles) == "table" then
    value.skipped_vehicles = skipped_list(value.skipped_vehicles)
  end
  return value, err, kind
end
M.create_jws = with_skipped

local function refusal(problems, report)
  return errors.failure("invalid", string.format("%s: %s (force = true sends it all the same)", row.name, problems), {
    outcome = "not_sent", request = row.verb .. " " .. row.path, problems = report.problems, warnings = report.warnings,
  })
end

-- The audience of the token: every vehicle that trusts the key, or the named one.
local function vin_for(params)
  if params.audience ~= "vehicle" then return nil end
  if #params.vins ~= 1 then errors.usage(row.method .. ": audience = \"vehicle\" needs exactly one VIN") end
  return params.vins[1]
end

-- Warns of vehicles whose last fleet_status shows that they follow the configuration only in part.
local function warn_of_firmware(context, params, report)
  for _, vin in ipairs(params.vins) do
    local version = status_cache.firmware(context, vin)
    local why = version and telemetry_check.firmware_sentence(params.config, version)
    if why then table.insert(report.warnings, { where = "vins", message = vin .. ": " .. why }) end
  end
end

-- The proxy takes the plain form and signs it with its own key.
local function through_proxy(client, params, options)
  local call = calls.new(row, core.plan(row.pointer, client, params, options), client)
  call.proxied = true
  return calls.run(call)
end

--- Creates or replaces the configuration of vehicles. plain makes the row's own request. With a key, the jws row sends a signed token;
--- commands = "proxy" leaves signing to the proxy, commands = "plain" sends it unsigned (applications with a CSR). A configuration with
--- problems returns nil, err, "invalid" with err.problems; the result has the check's warnings. options.force = true sends a configuration
--- that the check rejects.
function M.create(plain, client, params, options, ...)
  core.plan(row.pointer, client, params, options, ...) -- usage errors raise before anything else
  local context = core.context(client)
  local commands = context.config.commands
  if params.audience and (not context.keys or commands == "proxy" or commands == "plain") then
    errors.usage(row.method .. ": audience is part of a token that the client signs: it needs a key and no proxy")
  end
  local _, wall = context.clock()
  local report = telemetry_check.check(params.config, wall)
  warn_of_firmware(context, params, report)
  local problems = telemetry_check.sentence(report)
  if problems and not (options and options.force) then return refusal(problems, report) end
  local value, err, kind
  if context.config.commands == "proxy" then
    value, err, kind = with_skipped(through_proxy, client, params, options)
  elseif context.keys and context.config.commands ~= "plain" then
    local token
    token, err, kind = context.keys[1]:jws(params.config, { vin = vin_for(params) })
    if not token then return nil, err, kind end
    value, err, kind = client:create_fleet_telemetry_config_jws({ vins = params.vins, token = token }, options)
  else
    value, err, kind = with_skipped(plain, client, params, options)
  end
  if type(value) == "table" and #report.warnings > 0 then value.warnings = report.warnings end
  return value, err, kind
end

local first_pause, longest_pause, default_timeout = 5, 60, 1800

-- Why a vehicle with this reply will never stream: kind, text; nil when it may. key_paired = false alone does not prevent streaming:
-- configurations from before signing continue.
local function hopeless(value, wall)
  local config = type(value.config) == "table" and next(value.config) ~= nil and value.config
  if not config then
    return value.limit_reached == true and "limit_exceeded" or "refused",
      "the vehicle holds no configuration of this application: it was dropped, or none was created. " ..
      "Remove one of another application if it holds its most, and create it again"
  end
  if type(config.exp) == "number" and config.exp <= wall then
    return "refused", "the configuration of the vehicle has expired (exp): create it again"
  end
  if value.synced ~= true and value.limit_reached == true then
    return "limit_exceeded", "the vehicle holds as many configurations as it can: remove one of another application, and create it again"
  end
end

local function never_synced(car, kind, text)
  local request = "GET " .. rows.by_name.fleet_telemetry_config.path
  return errors.failure(kind, "wait_telemetry_synced: " .. text, { vin = car.vin, request = request })
end

--- Waits until the vehicle has adopted the configuration (synced), polling every few seconds at first, then each minute: some 35 billed
--- reads in the 1800 seconds of `timeout`. Returns the reply of fleet_telemetry_config, or nil, err, "timeout"; or "refused" or
--- "limit_exceeded" at once when the reply shows that waiting is useless.
function M.wait_synced(car, options)
  check_options.names("wait_telemetry_synced", "option", options, { "timeout" })
  local timeout = check_options.seconds("wait_telemetry_synced", "timeout", options and options.timeout, default_timeout)
  local pauses = tasks.pauses(timeout, first_pause, longest_pause)
  while true do
    local value, err, kind = car:fleet_telemetry_config()
    if err then return nil, err, kind end
    local _, wall = core.context(car).clock()
    local never, why = hopeless(value, wall)
    if never then return never_synced(car, never, why) end
    if value.synced == true then return value end
    if not pauses:again() then return never_synced(car, "timeout", string.format("not synced after %g s", timeout)) end
  end
end

return M
