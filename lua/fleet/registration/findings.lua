-- Compares the application's key in the local file, on the domain and in the registration. "Key not paired" has six causes
-- (doc/protocol.md#registration), and only the comparison shows which one applies. This file does not fetch: findings turns facts into
-- lines.
--
-- A line is { name =, ok = true, false or nil (could not be checked), cause = a name of causes, message =, fix = }.

local core = require "fleet.core"

local M = {}

--- The causes, in the order of the checks.
M.causes = {
  { name = "no_key", doc = "there is no usable private key here: absent, public, RSA, of a TLS certificate, open to others" },
  { name = "not_hosted", doc = "the public key cannot be fetched from the domain, or the file is not a public key" },
  { name = "not_registered", doc = "the domain is not registered in this region: it was never, or another one was" },
  { name = "replaced", doc = "the hosted key is not the registered one" },
  { name = "wrong_key", doc = "the key here is not the registered one: vehicles know another" },
  { name = "not_accepted", doc = "the owner has not added the key to this vehicle" },
}

local function unhex(text)
  return (string.gsub(text, "%x%x", function(pair) return string.char(tonumber(pair, 16)) end))
end

--- The answer of partner:public_key as { bytes = }, { missing = true } or { problem = }. The service sends PEM or the hexadecimal digits of
--- the point.
function M.registered(value, err)
  if err and (err.kind == "not_found" or err.kind == "unregistered") then return { missing = true } end
  if err then return { problem = err.message } end
  local text = type(value) == "table" and value.public_key
  if type(text) ~= "string" then return { missing = true } end
  local bytes = core.key.public_bytes(text)
  if bytes then return { bytes = bytes } end
  if #text == 130 and string.find(text, "^04%x+$") then return { bytes = unhex(text) } end
  return { problem = "the service's answer holds no public key" }
end

--- The beginning of the fingerprint of 65 bytes, long enough to distinguish two keys.
function M.fingerprint(bytes)
  return string.sub(core.public_fingerprint(bytes), 1, 16)
end

local short = M.fingerprint

function M.good(name, text)
  return { name = name, ok = true, message = text }
end

function M.bad(name, cause, text, fix)
  return { name = name, ok = false, cause = cause, message = text, fix = fix }
end

local good, bad = M.good, M.bad

local function here(key)
  if key and key.bytes then return good("key", "fingerprint " .. short(key.bytes)) end
  return bad("key", "no_key", key and key.problem or "the client has no key",
    "name the private key of the application with 'key', or make one with 'fleet keygen'")
end

local function hosted(found)
  if found.bytes then return good("hosted key", found.url) end
  return bad("hosted key", "not_hosted", (found.url or "") .. ": " .. found.problem, found.fix)
end

local function registered(found, facts)
  if found.bytes then return good("registration", facts.domain .. " in " .. facts.region) end
  if found.missing then
    return bad("registration", "not_registered", facts.domain .. " is not registered in " .. facts.region,
      "run 'fleet setup', or look whether another domain was registered")
  end
  return { name = "registration", message = "could not be looked at: " .. found.problem }
end

-- The line about the first two keys that differ; nil when fewer than two are known.
local function comparison(own, file, known)
  if file and known and file ~= known then
    return bad("comparison", "replaced",
      string.format("the hosted key (%s) is not the registered one (%s)", short(file), short(known)),
      own == known and "host the public half of the key here again: it is the registered one"
        or "register again with 'fleet setup'; owners must then pair again")
  end
  local other, what = known or file, known and "registered" or "hosted"
  if own and other and own ~= other then
    return bad("comparison", "wrong_key", string.format("the key here (%s) is not the %s one (%s)", short(own), what, short(other)),
      "give the client the private key that belongs to it; or host the public half of this one, register, and let owners pair again")
  end
  if own and other then return good("comparison", "the same key here and " .. (file and known and "hosted and registered" or what)) end
end

--- A list of lines. facts: domain =, region = (for the sentences), key = { bytes = } or { problem = }, hosted = from well_known_key.fetch
--- and registered = from M.registered; each may be nil (not checked). A misspelt domain ends the list.
function M.findings(facts)
  local key, file, known = facts.key or {}, facts.hosted, facts.registered
  local lines = { here(facts.key) }
  local misspelt = core.hostname.sentence(facts.domain)
  if misspelt then
    lines[2] = bad("domain", "not_hosted", misspelt, "mend the spelling")
    return lines
  end
  lines[2] = good("domain", facts.domain)
  if file then lines[#lines + 1] = hosted(file) end
  if known then lines[#lines + 1] = registered(known, facts) end
  lines[#lines + 1] = comparison(key.bytes, file and file.bytes, known and known.bytes)
  return lines
end

return M
