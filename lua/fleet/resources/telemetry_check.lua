-- Checks a telemetry configuration before it is sent: types, names, host, port and certificates.
--
-- The service accepts nearly any configuration, and the vehicle may then stay silent for hours (doc/protocol.md#telemetry-configuration). A
-- problem is certain to fail; a warning is likely to. Pure: the time is an argument.

local core = require "fleet.core"
local errors = require "fleet.util.errors"

local M = {}

local field_rows = core.telemetry_fields()

-- ---- the report ----

-- Collects { where =, message = } in the order of discovery.
local Report = {}
Report.__index = Report

function Report:problem(where, ...)
  self.problems[#self.problems + 1] = { where = where, message = string.format(...) }
end

function Report:warning(where, ...)
  self.warnings[#self.warnings + 1] = { where = where, message = string.format(...) }
end

-- Returns true when the name is a key of the table known; else reports a problem.
local function is_known(report, where, what, name, known)
  if known[name] then return true end
  report:problem(where, "%s", errors.unknown(what, name, known))
end

local function by_text(a, b)
  return tostring(a) < tostring(b)
end

local function sorted_keys(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys, by_text)
  return keys
end

-- Warns of names in t without a check, because they may be new; then runs each check, also for missing members. where: of all the names, or
-- nil: each is its own. prefix: before the name of a member.
local function check_members(report, t, checks, what, where, prefix, ...)
  for _, name in ipairs(sorted_keys(t)) do
    if not checks[name] then report:warning(where or tostring(name), "%s", errors.unknown(what, name, checks)) end
  end
  for _, name in ipairs(sorted_keys(checks)) do checks[name](report, prefix .. name, t[name], ...) end
end

-- ---- values ----

local function is_number(value, least)
  return type(value) == "number" and value >= least and value < math.huge
end

local function is_whole(value, least)
  return is_number(value, least) and value % 1 == 0
end

-- ---- host and port ----

local function check_hostname(report, where, host)
  local wrong = type(host) ~= "string" and "it must be text" or core.hostname.host_problem(host)
  if wrong then return report:problem(where, "must be the name of your telemetry server: %s", wrong) end
  if not string.find(host, ".", 1, true) then report:warning(where, "'%s' has no dot: a vehicle will not find it", host) end
end

local function check_port(report, where, port)
  if port == nil or is_whole(port, 1) and port <= 65535 then return end
  report:problem(where, "must be a whole number from 1 to 65535%s", type(port) == "string" and ", not text" or "")
end

-- ---- certificates ----

local function check_chain(report, where, pem, host, wall)
  local list, unnamed = core.certificates(pem, host)
  if not list then return report:problem(where, "%s", unnamed.message) end
  if #list == 0 then report:problem(where, "holds no certificate: PEM text with BEGIN CERTIFICATE is needed") end
  for i, one in ipairs(list) do
    if wall and one.until_utc < wall then
      report:problem(where, "certificate %d ended on %s", i, string.sub(core.time_text(one.until_utc), 1, 10))
    end
    if not one.has_issuer then
      report:warning(where, "certificate %d comes without its issuer: vehicles want the full chain", i)
    end
  end
  if unnamed then report:warning(where, "holds a server's certificate that does not name %s", host) end
end

local function check_ca(report, where, ca, config, wall)
  if type(ca) ~= "string" then
    return report:problem(where, "must be the certificate chain of your server as PEM text")
  end
  if string.find(ca, "PRIVATE KEY", 1, true) then
    return report:problem(where, "holds a private key: send certificates only, replace a key that was sent")
  end
  check_chain(report, where, ca, type(config.hostname) == "string" and config.hostname or "", wall)
end

-- ---- fields ----

local function check_interval(report, where, value)
  if not is_whole(value, 1) then report:problem(where, "must be a whole number of seconds, 1 or more") end
end

local function check_resend(report, where, value)
  if value ~= nil and not is_whole(value, 0) then report:problem(where, "must be a whole number of seconds; 0: on change only") end
end

local function check_delta(report, where, value, field)
  if value == nil then return end
  local takes = field_rows[field].minimum_delta
  if not is_number(value, 0) then
    report:problem(where, "must be a number, 0 or more")
  elseif takes == false then
    report:problem(where, "is not taken by %s, which is not a number", field)
  elseif takes == "metres" and value > 0 and value < 1 then
    report:warning(where, "counts metres, not degrees")
  end
end

local function check_include(report, where, value)
  if value == nil then return end
  if type(value) ~= "table" then return report:problem(where, "must be a list of field names") end
  for _, name in ipairs(value) do is_known(report, where, "field", name, field_rows) end
end

local field_options = {
  include_fields = check_include,
  interval_seconds = check_interval,
  minimum_delta = check_delta,
  resend_interval_seconds = check_resend,
}

local function check_field(report, where, name, options)
  if not is_known(report, where, "field", name, field_rows) then return end
  if type(options) ~= "table" then
    return report:problem(where, "must be a table such as { interval_seconds = 60 }")
  end
  check_members(report, options, field_options, "option", where, where .. ".", name)
end

local function check_fields(report, where, fields)
  if type(fields) ~= "table" or next(fields) == nil then
    return report:problem(where, "must name at least one field, such as Soc = { interval_seconds = 60 }")
  end
  for _, name in ipairs(sorted_keys(fields)) do
    check_field(report, where .. "." .. tostring(name), name, fields[name])
  end
end

-- ---- the rest ----

local alert_types = { customer = true, service = true, ["service-fix"] = true }
local delivery_policies = { latest = true, no_retry = true }
local far_future = 1e11 -- seconds since 1970; milliseconds of this size are of 1973

local function check_alerts(report, where, value)
  if value == nil then return end
  if type(value) ~= "table" then return report:problem(where, "must be a list of customer, service, service-fix") end
  for _, name in ipairs(value) do is_known(report, where, "alert type", name, alert_types) end
end

local function check_policy(report, where, value)
  if value ~= nil then is_known(report, where, "delivery policy", value, delivery_policies) end
end

local function check_expiry(report, where, value, _, wall)
  if value == nil then return end
  if not is_whole(value, 0) then
    report:problem(where, "must be seconds since 1970")
  elseif value >= far_future then
    report:warning(where, "counts seconds since 1970: this is after the year 5000, so it may be in milliseconds")
  elseif wall and value <= wall then
    report:problem(where, "is in the past: the vehicle would drop the configuration at once")
  end
end

-- The signing code sets these two itself.
local function check_overwritten(report, where, value)
  if value ~= nil then report:warning(where, "is written by what signs the configuration: yours is not sent") end
end

local function check_boolean(report, where, value)
  if value ~= nil and type(value) ~= "boolean" then report:problem(where, "must be true or false") end
end

local members = {
  alert_types = check_alerts,
  aud = check_overwritten,
  ca = check_ca,
  delivery_policy = check_policy,
  exp = check_expiry,
  fields = check_fields,
  hostname = check_hostname,
  iss = check_overwritten,
  port = check_port,
  prefer_typed = check_boolean,
}

--- Checks the config of create_fleet_telemetry_config. config: the table; wall: UTC seconds for checks that depend on the time, or nil.
--- Returns { problems = list, warnings = list } of { where = "fields.Soc.interval_seconds", message = text }; a configuration without
--- problems can be sent. Raises when config is not a table.
function M.check(config, wall)
  if type(config) ~= "table" then errors.usage("config must be a table, got " .. type(config)) end
  local report = setmetatable({ problems = {}, warnings = {} }, Report)
  check_members(report, config, members, "member", nil, "", config, wall)
  return setmetatable(report, nil)
end

-- ---- firmware ----

local MOST_NAMED = 8 -- in a sentence
local CLIENT_1_0 = "2024.45.32.20" -- version 1.0.0 of the client in vehicles

-- Calls add(what, first firmware) for a field and its options.
local function field_needs(name, options, add)
  local row = field_rows[name] or {}
  add(name, row.since)
  if type(options) ~= "table" then return end
  if options.minimum_delta and row.minimum_delta == "metres" then
    add("minimum_delta of " .. name, CLIENT_1_0)
  elseif options.minimum_delta then
    add("minimum_delta", "2024.44.32")
  end
  if type(options.include_fields) ~= "table" then return end
  add("include_fields", "2026.26.6")
  for _, included in ipairs(options.include_fields) do add(included, field_rows[included] and field_rows[included].since) end
end

--- What a configuration needs which firmware for, if it is published: a list of { what = "ChargerVoltage", since = "2024.44.32" }, fields
--- before options, by name. version: a vehicle's firmware; the list then has only what it is too old for.
function M.needs(config, version)
  local first, list = {}, {}
  local function add(what, since)
    if since and (not version or core.firmware_older(version, since)) then first[what] = since end
  end
  for name, options in pairs(type(config.fields) == "table" and config.fields or {}) do field_needs(name, options, add) end
  if config.delivery_policy == "latest" then add("delivery_policy", CLIENT_1_0) end
  for _, what in ipairs(sorted_keys(first)) do list[#list + 1] = { what = what, since = first[what] } end
  return list
end

--- Why a vehicle with this firmware follows a configuration only in part, as a sentence; nil when it follows all of it.
function M.firmware_sentence(config, version)
  local parts, needs = {}, M.needs(config, version)
  for i = 1, math.min(#needs, MOST_NAMED) do parts[i] = needs[i].what .. " (from " .. needs[i].since .. ")" end
  local more = #needs > MOST_NAMED and string.format(" and %d more", #needs - MOST_NAMED) or ""
  return parts[1] and "its firmware " .. version .. " is too old for " .. table.concat(parts, ", ") .. more
end

--- The problems of a report as one sentence, or nil when there are none.
function M.sentence(report)
  local lines = {}
  for i, problem in ipairs(report.problems) do lines[i] = problem.where .. " " .. problem.message end
  return lines[1] and table.concat(lines, "; ")
end

return M
