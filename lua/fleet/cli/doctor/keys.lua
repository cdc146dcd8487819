-- Where `fleet doctor` looks for the public key: in the local file, on the domain, in each region's registration, and on the vehicles.

local core = require "fleet.core"
local tables = require "fleet.util.tables"
local meant = require "fleet.cli.vehicles"
local lines = require "fleet.cli.doctor.lines"
local findings = require "fleet.registration.findings"
local pairing = require "fleet.registration.pairing"

local M = {}

local add, failed = lines.add, lines.failed

local function add_lines(report, more)
  for _, line in ipairs(more) do report.lines[#report.lines + 1] = tables.copy(line) end
end

-- Without a domain no other place of the key is known, so only the local file is reported.
function M.key_places(report, context, key_url)
  local client_context = core.context(context:client())
  local domain = client_context.config.domain
  report.key_lines = {}
  if not domain then
    if report.key then
      local bytes = report.key.bytes
      add(report, "key", bytes ~= nil, report.key.problem or "fingerprint " .. findings.fingerprint(bytes))
    end
    return add(report, "domain", nil, "not set, so hosting and registration are not checked", "set it with --domain")
  end
  local facts = { domain = domain, region = require("fleet.region").describe(client_context), key = report.key }
  facts.hosted = require("fleet.registration.well_known_key").fetch(client_context, domain, { url = key_url })
  if client_context.config.client_secret and report.reached then
    facts.registered = findings.registered(context:client().partner:public_key { domain = domain })
  end
  report.key_lines = findings.findings(facts)
  add_lines(report, report.key_lines)
end

--- Adds a line for the registration in each further region. found: list of { name = region, registered = as findings.registered }.
function M.registrations(report, domain, found)
  for _, one in ipairs(found) do
    local name, bytes = "registration " .. one.name, one.registered.bytes
    local fix = "run 'fleet setup --regions " .. one.name .. "'"
    if one.registered.missing then
      add(report, name, false, domain .. " is not registered there", fix).cause = "not_registered"
    elseif not bytes then
      add(report, name, nil, "could not be read: " .. one.registered.problem)
    elseif report.key and report.key.bytes and report.key.bytes ~= bytes then
      add(report, name, false, "another key is registered there", fix).cause = "replaced"
    else
      add(report, name, true, domain)
    end
  end
end

function M.other_regions(report, context, names)
  local config = core.context(context:client()).config
  if not names or not config.domain or not config.client_secret or config.base_url then return end
  local found = {}
  for _, name in ipairs(names) do
    local client = require("fleet.cli.regions").client(context, report.given, name)
    local registered = findings.registered(client.partner:public_key { domain = config.domain })
    found[#found + 1] = { name = name, registered = registered }
    client:close()
  end
  M.registrations(report, config.domain, found)
end

-- ---- on the vehicles ----

-- Returns the VINs, and those that the account may drive but does not own.
local function vins_of(context, client, given)
  if given[1] then
    local vins, err = meant.find_all(context, given, { vin_only = true })
    return vins, err, {}
  end
  local records, err = client:vehicles():collect()
  if not records then return nil, err end
  local vins, driven = {}, {}
  for _, record in ipairs(records) do
    local list = record.access_type == "DRIVER" and driven or vins
    if core.is_vin(record.vin) then list[#list + 1] = record.vin end
  end
  return vins, nil, driven
end

local owner_only = "pairing and telemetry belong to the owner's account: sign in with it, or ask the owner"

local function driver_line(report, vin)
  add(report, "pairing " .. vin, nil, vin .. ": this account is a driver of it: " .. owner_only)
end

-- Asks for each vehicle alone: fleet_status fails as a whole when the account does not own one of the vehicles.
local function status_of_each(report, context, client, vins)
  local known = {}
  for _, vin in ipairs(vins) do
    local status, err = context:check(client.fleet_status, client, { vin })
    if status then
      known[vin] = status
    elseif err.kind == "not_found" then
      add(report, "pairing " .. vin, false, vin .. ": " .. err.message, "if this account is a driver of it: " .. owner_only)
    else
      add(report, "pairing " .. vin, false, vin .. ": " .. err.message, "try again later")
    end
  end
  return known
end

function M.vehicles(report, context, given)
  if not report.user or not report.reached then return end
  local client = context:client()
  local vins, err, driven = vins_of(context, client, given)
  if not vins then
    return failed(report, "vehicles", err, given[1] and "name it by its VIN, the end of its VIN or its name" or "see the lines above")
  end
  for _, vin in ipairs(driven) do driver_line(report, vin) end
  if not vins[1] then return driven[1] or add(report, "vehicles", nil, "the account has none") end
  local status, status_err = context:check(client.fleet_status, client, vins)
  local single = status_err and status_err.kind == "not_found" and status_of_each(report, context, client, vins) or {}
  if status_err and status_err.kind ~= "not_found" then return failed(report, "vehicles", status_err, "see the lines above") end
  local domain = core.context(client).config.domain
  for _, vin in ipairs(vins) do
    local facts = { scopes = report.user.scopes, link = domain and client:pairing_url { domain = domain, vin = vin } }
    local found = status or single[vin]
    if found then add_lines(report, { pairing.line(vin, found, report.key_lines, facts) }) end
  end
end

return M
