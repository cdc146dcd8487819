-- The application's key in its four places: here, hosted, registered, on the vehicle. Fetching is apart from comparing, which the
-- core does (src/bind/registration): `findings` and `pairing` take facts and give lines.

local core = require "fleet.core"
local hostname = require "fleet.util.hostname"
local well_known_key = require "fleet.registration.well_known_key"
local check_options = require "fleet.util.check_options"
local region = require "fleet.region"

local M = {}

local registration = core.registration

--- The causes why a key is not paired, in the order in which they are looked for: { name =, doc = } each.
M.causes = registration.causes()

--- What partner:public_key answered (value, err): { bytes = }, { missing = true } or { problem = }. Hexadecimal digits of the point;
--- PEM is taken, too.
M.registered = registration.registered

--- The beginning of a fingerprint of 65 bytes, enough to tell two keys apart.
M.fingerprint = registration.fingerprint

--- What the facts say, line by line: { name =, ok = true, false or nil (could not be looked at), cause = a name of causes,
--- message =, fix = }. facts: domain =, region = (for the sentences), key = { bytes = } or { problem = }, hosted = and
--- registered = as well_known_key.fetch and M.registered give them; each may be nil (not looked at). A domain that is wrong
--- as it is written ends the list.
M.findings = registration.findings

--- What fleet_status says about one vehicle: "paired", "unpaired" or nil, and its record.
function M.paired(status, vin)
  return registration.paired(vin, status)
end

--- pairing(vin, status, lines, facts): the line of one vehicle. status: of fleet_status; lines: the findings about the key; facts:
--- scopes = granted (list), link = the pairing address. A vehicle that takes plain commands needs no key.
M.pairing = registration.pairing

-- ---- the method ----

local function own_key(context)
  local key = context.keys and context.keys[1]
  return key and { bytes = key:public_bytes() } or nil
end

--- client.partner:check(options): compares the key here, hosted and registered in this region. Options: domain (default: that of
--- fleet.new), key_url (another address of the hosted file, see well_known_key.fetch). Returns { ok =, lines = as findings
--- gives them }; raises for a wrong option. An open-source app has no partner token: its registration is not looked at.
function M.check(partner, options)
  check_options.names("check", "option", options, { "domain", "key_url" })
  local context = core.context(partner)
  local domain = options and options.domain or context.config.domain
  hostname.check("check", domain)
  local facts = { domain = domain, region = region.describe(context), key = own_key(context) }
  facts.hosted = well_known_key.fetch(context, domain, { url = options and options.key_url })
  if context.config.client_secret then facts.registered = M.registered(partner:public_key { domain = domain }) end
  local lines, ok = M.findings(facts), true
  for _, line in ipairs(lines) do ok = ok and line.ok ~= false end
  return { ok = ok, lines = lines }
end

return M
