-- The application's key in its four places: here, hosted, registered, on the vehicle. "Key not paired" has six causes
-- (doc/protocol.md#registration), and which of them it is shows only when the four are compared.
--
-- Comparing is apart from fetching: `findings` and `pairing` take facts and give lines.

local core = require "fleet.core"
local hostname = require "fleet.util.hostname"
local well_known_key = require "fleet.registration.well_known_key"
local tables = require "fleet.util.tables"
local check_options = require "fleet.util.check_options"
local region = require "fleet.region"

local M = {}

--- The causes, in the order in which they are looked for.
M.causes = {
  { name = "no_key", doc = "there is no usable private key here: absent, public, RSA, of a TLS certificate, open to others" },
  { name = "not_hosted", doc = "the public key cannot be fetched from the domain, or something else stands there" },
  { name = "not_registered", doc = "the domain is not registered in this region: it was never, or another one was" },
  { name = "replaced", doc = "the hosted key is not the registered one" },
  { name = "wrong_key", doc = "the key here is not the registered one: vehicles know another" },
  { name = "not_accepted", doc = "the owner has not added the key to this vehicle" },
}

-- ---- public keys as they are compared: 65 bytes ----

local function unhex(text)
  return (string.gsub(text, "%x%x", function(pair) return string.char(tonumber(pair, 16)) end))
end

--- What partner:public_key answered: { bytes = } or { problem = }. Hexadecimal digits of the point; PEM is taken, too.
function M.registered(value, err)
  if err and (err.kind == "not_found" or err.kind == "unregistered") then return { missing = true } end
  if err then return { problem = err.message } end
  local text = type(value) == "table" and value.public_key
  if type(text) ~= "string" then return { missing = true } end
  local pem = core.key.public_bytes(text)
  if pem then return { bytes = pem } end
  if #text == 130 and string.find(text, "^04%x+$") then return { bytes = unhex(text) } end
  return { problem = "the service's answer holds no public key" }
end

--- The beginning of a fingerprint of 65 bytes, enough to tell two keys apart.
function M.fingerprint(bytes)
  return string.sub(core.public_fingerprint(bytes), 1, 16)
end

local short = M.fingerprint

-- ---- lines ----

local function good(name, text)
  return { name = name, ok = true, message = text }
end

local function bad(name, cause, text, fix)
  return { name = name, ok = false, cause = cause, message = text, fix = fix }
end

local function here(facts)
  local key = facts.key
  if key and key.bytes then return good("key", "fingerprint " .. short(key.bytes)) end
  return bad("key", "no_key", key and key.problem or "the client has no key",
    "name the private key of the application with 'key', or make one with 'fleet keygen'")
end

local function hosted(facts)
  local found = facts.hosted
  if found.bytes then return good("hosted key", found.url) end
  return bad("hosted key", "not_hosted", found.url .. ": " .. found.problem, found.fix)
end

local function registered(facts)
  local found = facts.registered
  if found.bytes then return good("registration", facts.domain .. " in " .. facts.region) end
  local text = facts.domain .. " is not registered in " .. facts.region
  if found.missing then
    return bad("registration", "not_registered", text, "run 'fleet setup', or look whether another domain was registered")
  end
  return { name = "registration", message = "could not be looked at: " .. found.problem }
end

-- Which of two halves differ: the cause, the sentence, what to do.
local function comparison(facts)
  local own, file, known = facts.key and facts.key.bytes, facts.hosted and facts.hosted.bytes, facts.registered and facts.registered.bytes
  if file and known and file ~= known then
    local text = string.format("the hosted key (%s) is not the registered one (%s)", short(file), short(known))
    if own == known then
      return bad("comparison", "replaced", text, "host the public half of the key here again: it is the registered one")
    end
    return bad("comparison", "replaced", text, "register again with 'fleet setup'; owners must then pair again")
  end
  local other, what = known or file, known and "registered" or "hosted"
  if own and other and own ~= other then
    return bad("comparison", "wrong_key", string.format("the key here (%s) is not the %s one (%s)", short(own), what, short(other)),
      "give the client the private key that belongs to it; or host the public half of this one, register, and let owners pair again")
  end
  if own and other then return good("comparison", "the same key here and " .. (file and known and "hosted and registered" or what)) end
end

--- What the facts say, line by line: { name =, ok = true, false or nil (could not be looked at), cause = a name of causes,
--- message =, fix = }. facts: domain =, region = (for the sentences), key = { bytes = } or { problem = }, hosted = and
--- registered = as well_known_key.fetch and M.registered give them; each may be nil (not looked at). A domain that is wrong
--- as it is written ends the list.
function M.findings(facts)
  local lines = { here(facts) }
  local problem = hostname.sentence(facts.domain)
  if problem then
    lines[2] = bad("domain", "not_hosted", problem, "mend the spelling")
    return lines
  end
  lines[2] = good("domain", facts.domain)
  if facts.hosted then lines[#lines + 1] = hosted(facts) end
  if facts.registered then lines[#lines + 1] = registered(facts) end
  lines[#lines + 1] = comparison(facts)
  return lines
end

-- ---- pairing of vehicles ----

local most_keys = 20 -- doc/protocol.md#pairing

--- What fleet_status says about one vehicle: "paired", "unpaired" or nil, and its record.
function M.paired(status, vin)
  local info = type(status.vehicle_info) == "table" and status.vehicle_info[vin] or {}
  if tables.set(status.key_paired_vins)[vin] then return "paired", info end
  if tables.set(status.unpaired_vins)[vin] then return "unpaired", info end
  return nil, info
end

local pairing_scopes = { "vehicle_device_data", "vehicle_cmds", "vehicle_location" }

-- The pairing link does nothing before one of these was granted (doc/protocol.md#pairing).
local function may_pair(scopes)
  local set = tables.set(scopes)
  for _, scope in ipairs(pairing_scopes) do
    if set[scope] then return true end
  end
  return #(scopes or {}) == 0
end

local function unpaired_fix(info, facts)
  if not may_pair(facts.scopes) then
    return "the owner must first grant one of " .. table.concat(pairing_scopes, ", ") .. ", then open the pairing link"
  end
  if (tonumber(info.total_number_of_keys) or 0) >= most_keys then
    return string.format("remove a key in the vehicle first: it holds %d, and no more fit", most_keys)
  end
  return "the owner opens " .. (facts.link or "the pairing link") .. " on the phone with the vendor's app, beside the vehicle"
end

-- A wrong key is paired for the service, which compares with the registered one, and unknown to the vehicle.
local function wrong_cause(lines)
  for _, line in ipairs(lines) do
    if line.cause == "wrong_key" or line.cause == "no_key" then return line end
  end
end

--- The line of one vehicle. status: of fleet_status; lines: the findings about the key; facts: scopes = granted (list), link =
--- the pairing address. A vehicle that takes plain commands needs no key.
function M.pairing(vin, status, lines, facts)
  local state, info = M.paired(status, vin)
  local name = "pairing " .. vin
  if info.vehicle_command_protocol_required == false and state ~= "paired" then
    return good(name, "takes plain commands: no key needed")
  end
  if state == "unpaired" then
    return bad(name, "not_accepted", "the key is not on this vehicle", unpaired_fix(info, facts))
  end
  if state ~= "paired" then return { name = name, message = "the service does not say whether the key is on this vehicle" } end
  local wrong = wrong_cause(lines)
  if wrong then
    return bad(name, wrong.cause, "the registered key is on this vehicle, but the key here is not it", wrong.fix)
  end
  return good(name, "the key is on this vehicle")
end

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
