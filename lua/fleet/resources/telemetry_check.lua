-- What can be said of a telemetry configuration before it is sent: types, names, host, port and certificates.
--
-- The service accepts nearly anything and the vehicle then stays silent for hours (doc/protocol.md#telemetry-configuration). A problem is
-- certain to fail; a warning is likely to. Pure: the time is an argument.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local status_cache = require "fleet.call.vehicle_status_cache"

local M = {}

local field_rows = core.telemetry_fields()
local field_names = {}
for name in pairs(field_rows) do field_names[#field_names + 1] = name end
table.sort(field_names)

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

local function sorted_keys(given)
  local keys = {}
  for key in pairs(given) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  return keys
end

local function unknown(report, where, what, name, known)
  report:problem(where, "%s", errors.unknown(what, name, known))
end

-- ---- host and port ----

local function is_host(host)
  if #host > 253 or not host:match("^[%w.-]+$") then return false end
  for label in (host .. "."):gmatch("([^.]*)%.") do
    if #label == 0 or #label > 63 or label:match("^%-") or label:match("%-$") then return false end
  end
  return true
end

local function check_hostname(report, where, host)
  if type(host) ~= "string" or host == "" then
    report:problem(where, "must be the name of your telemetry server")
  elseif host:find("://", 1, true) then
    report:problem(where, "must be a host name without a scheme such as https://")
  elseif host:find("[/:?#@ ]") then
    report:problem(where, "must be a host name alone, without port, path or user")
  elseif not is_host(host) then
    report:problem(where, "is not a host name")
  elseif not host:find(".", 1, true) then
    report:warning(where, "'%s' has no dot: a vehicle will not find it", host)
  end
end

local function check_port(report, where, port)
  if port == nil then return end
  if not is_whole(port) or port < 1 or port > 65535 then
    local hint = type(port) == "string" and ", not text" or ""
    report:problem(where, "must be a whole number from 1 to 65535%s", hint)
  end
end

-- ---- certificates: as much of DER (X.690) and RFC 5280 as is needed to see a broken or expired chain ----

-- The element at position at: its tag, where its contents start and end; nil when it does not fit into last.
local function element(der, at, last)
  local tag, size = der:byte(at, at + 1)
  local start = at + 2
  if not size then return nil end
  if size >= 0x80 then
    local count = size - 0x80
    if count == 0 or count > 3 then return nil end
    size = 0
    for i = start, start + count - 1 do size = size * 256 + (der:byte(i) or 0) end
    start = start + count
  end
  if start + size - 1 > last then return nil end
  return tag, start, start + size - 1
end

local SEQUENCE, VERSION = 0x30, 0xA0

local function utc_digits(der, start, stop)
  local text = der:sub(start, stop)
  local century = text:sub(1, 2) < "50" and "20" or "19" -- RFC 5280 section 4.1.2.5.1
  if #text == 13 then text = century .. text end
  return text:match("^%d+Z$") and #text == 15 and text or nil
end

-- Issuer, subject and last day of a certificate; nil when the bytes are none.
local function certificate(der)
  local tag, at, last = element(der, 1, #der)
  if tag ~= SEQUENCE or last ~= #der then return nil end
  tag, at, last = element(der, at, last)
  if tag ~= SEQUENCE then return nil end
  local parts = {}
  while at <= last do
    local part, start, stop = element(der, at, last)
    if not part then return nil end
    if part ~= VERSION then parts[#parts + 1] = { start = start, stop = stop, bytes = der:sub(at, stop) } end
    at = stop + 1
  end
  -- serial number, algorithm, issuer, validity, subject, key, …
  if #parts < 6 then return nil end
  local _, _, from_stop = element(der, parts[4].start, parts[4].stop)
  if not from_stop then return nil end
  local _, start, stop = element(der, from_stop + 1, parts[4].stop)
  local until_utc = start and utc_digits(der, start, stop)
  return { issuer = parts[3].bytes, subject = parts[5].bytes, until_utc = until_utc }
end

local function read_certificates(report, where, ca)
  local list = {}
  for body in ca:gmatch("%-%-BEGIN CERTIFICATE%-%-%-%-%-(.-)%-%-%-%-%-END CERTIFICATE%-%-") do
    local der = core.unbase64((body:gsub("%s", "")))
    local found = der and certificate(der)
    if not found then
      return report:problem(where, "certificate %d cannot be read: it was cut or changed", #list + 1)
    end
    list[#list + 1] = found
  end
  return list
end

local function check_dates(report, where, list, wall)
  local now = wall and os.date("!%Y%m%d%H%M%SZ", math.floor(wall))
  for i, one in ipairs(list) do
    if now and one.until_utc and one.until_utc < now then
      local year, month, day = one.until_utc:match("^(%d%d%d%d)(%d%d)(%d%d)")
      report:problem(where, "certificate %d ended on %s-%s-%s", i, year, month, day)
    end
  end
end

local function check_links(report, where, list)
  local subjects = {}
  for _, one in ipairs(list) do subjects[one.subject] = true end
  for i, one in ipairs(list) do
    if not subjects[one.issuer] then
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
  local list = read_certificates(report, where, ca)
  if not list then return end
  if #list == 0 then
    return report:problem(where, "holds no certificate: PEM text with BEGIN CERTIFICATE is needed")
  end
  check_dates(report, where, list, wall)
  check_links(report, where, list)
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
  for _, name in ipairs(value) do
    if not field_rows[name] then unknown(report, where, "field", name, field_names) end
  end
end

local field_options = {
  interval_seconds = function(report, where, value) check_interval(report, where, value, true) end,
  minimum_delta = check_delta,
  resend_interval_seconds = check_interval,
  include_fields = check_include,
}
local option_names = sorted_keys(field_options)

local function check_field(report, where, name, options)
  if not field_rows[name] then return unknown(report, where, "field", name, field_names) end
  if type(options) ~= "table" then
    return report:problem(where, "must be a table such as { interval_seconds = 60 }")
  end
  for _, option in ipairs(sorted_keys(options)) do
    if not field_options[option] then unknown(report, where, "option", option, option_names) end
  end
  for _, option in ipairs(option_names) do
    local extra = option == "minimum_delta" and name or nil
    field_options[option](report, where .. "." .. option, options[option], extra)
  end
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

local alert_types = { "customer", "service", "service-fix" }
local delivery_policies = { "latest", "no_retry" }

local function has(list, wanted)
  for _, value in ipairs(list) do
    if value == wanted then return true end
  end
  return false
end

local function check_alerts(report, where, value)
  if value == nil then return end
  if type(value) ~= "table" then
    return report:problem(where, "must be a list of %s", table.concat(alert_types, ", "))
  end
  for _, name in ipairs(value) do
    if not has(alert_types, name) then unknown(report, where, "alert type", name, alert_types) end
  end
end

local function check_policy(report, where, value)
  if value ~= nil and not has(delivery_policies, value) then
    unknown(report, where, "delivery policy", value, delivery_policies)
  end
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
local member_names = sorted_keys(members)

--- Checks the config of create_fleet_telemetry_config.
-- config: the table; wall: UTC seconds for what depends on the time, or nil.
-- Returns { problems = list, warnings = list } of { where = "fields.Soc.interval_seconds", message = text }; a
-- configuration without problems can be sent. Raises when config is no table.
function M.check(config, wall)
  if type(config) ~= "table" then errors.usage("config must be a table, got " .. type(config)) end
  local report = setmetatable({ problems = {}, warnings = {} }, Report)
  for _, name in ipairs(sorted_keys(config)) do
    if not members[name] then unknown(report, tostring(name), "member", name, member_names) end
  end
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
