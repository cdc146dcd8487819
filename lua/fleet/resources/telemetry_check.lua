-- What can be said of a telemetry configuration before it is sent: types, names, host, port and certificates.
--
-- The service accepts nearly anything and the vehicle then stays silent for hours (doc/protocol.md#telemetry-configuration). A problem is
-- certain to fail; a warning is likely to. Pure: the time is an argument.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local hostname = require "fleet.util.hostname"
local tables = require "fleet.util.tables"
local status_cache = require "fleet.call.vehicle_status_cache"

local M = {}

local field_rows = core.telemetry_fields()

-- A report collects { where =, message = } in the order of discovery.
local Report = {}
Report.__index = Report

function Report:problem(where, ...)
  self.problems[#self.problems + 1] = { where = where, message = string.format(...) }
end

function Report:warning(where, ...)
  self.warnings[#self.warnings + 1] = { where = where, message = string.format(...) }
end

local function is_whole(value)
  return type(value) == "number" and value % 1 == 0
end

-- known: a table with the names as keys. True when the name is one of them.
local function is_known(report, where, what, name, known)
  if known[name] then return true end
  report:problem(where, "%s", errors.unknown(what, name, known))
end

-- ---- host and port ----

local function check_hostname(report, where, host)
  local problem = hostname.host_problem(host)
  if problem then return report:problem(where, "must be the name of your telemetry server: %s", problem) end
  if not host:find(".", 1, true) then report:warning(where, "'%s' has no dot: a vehicle will not find it", host) end
end

local function check_port(report, where, port)
  if port == nil then return end
  if not is_whole(port) or port < 1 or port > 65535 then
    local hint = type(port) == "string" and ", not text" or ""
    report:problem(where, "must be a whole number from 1 to 65535%s", hint)
  end
end

-- ---- certificates ----

local function check_certificates(report, where, list, wall)
  if #list == 0 then
    report:problem(where, "holds no certificate: PEM text with BEGIN CERTIFICATE is needed")
  end
  for i, one in ipairs(list) do
    if wall and one.until_utc < wall then
      report:problem(where, "certificate %d ended on %s", i, os.date("!%Y-%m-%d", one.until_utc))
    end
    if not one.has_issuer then
      report:warning(where, "certificate %d comes without its issuer: vehicles want the full chain", i)
    end
  end
end

local function check_ca(report, where, ca, wall)
  if type(ca) ~= "string" then
    return report:problem(where, "must be the certificate chain of your server as PEM text")
  end
  if ca:find("PRIVATE KEY", 1, true) then
    return report:problem(where, "holds a private key: send certificates only, replace a key that was sent")
  end
  local list, unreadable = core.certificates(ca)
  if not list then return report:problem(where, "%s", unreadable.message) end
  check_certificates(report, where, list, wall)
end

-- ---- fields ----

local function check_interval(report, where, value, required)
  if value == nil and not required then return end
  if not is_whole(value) or value < 1 then
    report:problem(where, "must be a whole number of seconds, 1 or more")
  end
end

local function check_delta(report, where, value, name)
  if value == nil then return end
  if type(value) ~= "number" or value < 0 or value == math.huge or value ~= value then
    return report:problem(where, "must be a number, 0 or more")
  end
  if field_rows[name] and field_rows[name].minimum_delta == false then
    report:problem(where, "is not taken by %s, which is not a number", name)
  end
end

local function check_include(report, where, value)
  if value == nil then return end
  if type(value) ~= "table" then return report:problem(where, "must be a list of field names") end
  for _, name in ipairs(value) do is_known(report, where, "field", name, field_rows) end
end

local field_options = {
  interval_seconds = function(report, where, value) check_interval(report, where, value, true) end,
  minimum_delta = check_delta,
  resend_interval_seconds = check_interval,
  include_fields = check_include,
}
local option_names = tables.sorted_keys(field_options)

local function check_field(report, where, name, options)
  if not is_known(report, where, "field", name, field_rows) then return end
  if type(options) ~= "table" then
    return report:problem(where, "must be a table such as { interval_seconds = 60 }")
  end
  for _, option in ipairs(tables.sorted_keys(options)) do is_known(report, where, "option", option, field_options) end
  for _, option in ipairs(option_names) do
    local extra = option == "minimum_delta" and name or nil
    field_options[option](report, where .. "." .. option, options[option], extra)
  end
end

local function check_fields(report, where, fields)
  if type(fields) ~= "table" or next(fields) == nil then
    return report:problem(where, "must name at least one field, such as Soc = { interval_seconds = 60 }")
  end
  for _, name in ipairs(tables.sorted_keys(fields)) do
    check_field(report, where .. "." .. tostring(name), name, fields[name])
  end
end

-- ---- the rest ----

local alert_types = tables.set { "customer", "service", "service-fix" }
local delivery_policies = tables.set { "latest", "no_retry" }

local function check_alerts(report, where, value)
  if value == nil then return end
  if type(value) ~= "table" then
    return report:problem(where, "must be a list of %s", table.concat(tables.sorted_keys(alert_types), ", "))
  end
  for _, name in ipairs(value) do is_known(report, where, "alert type", name, alert_types) end
end

local function check_policy(report, where, value)
  if value ~= nil then is_known(report, where, "delivery policy", value, delivery_policies) end
end

local function check_expiry(report, where, value, wall)
  if value == nil then return end
  if not is_whole(value) or value < 0 then return report:problem(where, "must be seconds since 1970") end
  if wall and value <= wall then
    report:problem(where, "is in the past: the vehicle would drop the configuration at once")
  end
end

local function check_boolean(report, where, value)
  if value ~= nil and type(value) ~= "boolean" then report:problem(where, "must be true or false") end
end

local members = {
  hostname = check_hostname,
  port = check_port,
  ca = check_ca,
  fields = check_fields,
  alert_types = check_alerts,
  exp = check_expiry,
  prefer_typed = check_boolean,
  delivery_policy = check_policy,
}
local member_names = tables.sorted_keys(members)

--- Checks the config of create_fleet_telemetry_config.
-- config: the table; wall: UTC seconds for what depends on the time, or nil.
-- Returns { problems = list, warnings = list } of { where = "fields.Soc.interval_seconds", message = text }; a
-- configuration without problems can be sent. Raises when config is no table.
function M.check(config, wall)
  if type(config) ~= "table" then errors.usage("config must be a table, got " .. type(config)) end
  local report = setmetatable({ problems = {}, warnings = {} }, Report)
  for _, name in ipairs(tables.sorted_keys(config)) do is_known(report, tostring(name), "member", name, members) end
  for _, name in ipairs(member_names) do members[name](report, name, config[name], wall) end
  return setmetatable(report, nil)
end

--- The newest of the firmware versions that first knew the fields of a configuration, or nil.
function M.since(config)
  local newest
  for name in pairs(config.fields or {}) do
    local since = field_rows[name] and field_rows[name].since
    if since and (not newest or status_cache.older(newest, since)) then newest = since end
  end
  return newest
end

--- The signed form: a token for all vehicles that trust the key, or for one when vin is given.
-- Returns the text that create_fleet_telemetry_config_jws takes, or nil, err, kind.
function M.sign(key, config, vin)
  return key:jws(config, { vin = vin, app = "TelemetryClient" })
end

return M
