-- client.partner:check: fetches and compares the application's local, hosted and registered key.

local core = require "fleet.core"
local hostname = core.hostname
local well_known_key = require "fleet.registration.well_known_key"
local check_options = require "fleet.util.check_options"
local findings = require "fleet.registration.findings"
local region = require "fleet.region"

local M = {}

local function own_key(context)
  local key = context.keys and context.keys[1]
  return key and { bytes = key:public_bytes() } or nil
end

--- client.partner:check(options): compares the local key, the hosted one and the one registered in this region. Options: domain (default:
--- that of fleet.new), key_url (another address of the hosted file, see well_known_key.fetch). Returns { ok =, lines = of findings };
--- raises for a wrong option. An open-source app has no partner token, so its registration is not checked.
function M.check(partner, options)
  check_options.names("check", "option", options, { "domain", "key_url" })
  local context = core.context(partner)
  local domain = options and options.domain or context.config.domain
  hostname.check("check", domain)
  local facts = { domain = domain, region = region.describe(context), key = own_key(context) }
  facts.hosted = well_known_key.fetch(context, domain, { url = options and options.key_url })
  if context.config.client_secret then facts.registered = findings.registered(partner:public_key { domain = domain }) end
  local lines, ok = findings.findings(facts), true
  for _, line in ipairs(lines) do ok = ok and line.ok ~= false end
  return { ok = ok, lines = lines }
end

return M
