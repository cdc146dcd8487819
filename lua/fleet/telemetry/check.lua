-- Checks whether a vehicle would trust a receiver: its certificate, key and chain against the `ca` of a configuration, the authorities that
-- it trusts for vehicles, its name and its port. Lines like those of `fleet doctor`: { name =, ok = true, false or nil, message =, fix = }.

local tasks = require "fleet.async"

local M = {}

local DAY = 86400
local SOON = 30 -- days
local PATIENCE = 10 -- seconds for a connection
local makes_both = "`fleet telemetry certificate HOST` makes a certificate with its key"

local function add(lines, name, ok, message, fix)
  lines[#lines + 1] = { name = name, ok = ok, message = message, fix = fix }
end

local function days_left(certificate, now) return math.floor((certificate.until_utc - now) / DAY) end

-- ---- the receiver's files ----

local function check_order(lines, chain)
  for i = 1, #chain - 1 do
    if chain[i].issuer ~= chain[i + 1].subject then
      return add(lines, "order", false, string.format("certificate %d of the chain was issued by '%s', and '%s' follows it", i,
        chain[i].issuer or "?", chain[i + 1].subject or "?"), "put the leaf first, then its issuer, then that one's issuer")
    end
  end
  add(lines, "order", true, #chain == 1 and "one certificate" or #chain .. " certificates, each followed by its issuer")
end

local function check_days(lines, chain, now)
  for _, one in ipairs(chain) do
    local days = days_left(one, now)
    local name = one.subject or "a certificate"
    if days < 0 then
      return add(lines, "days", false, name .. " has ended: no vehicle connects", "renew it: `fleet telemetry certificate HOST`")
    elseif days < SOON then
      return add(lines, "days", nil, string.format("%s ends in %d days", name, days),
        "renew it: `fleet telemetry certificate HOST`; the receiver reads it again by itself")
    end
  end
  add(lines, "days", true, string.format("%d days are left", days_left(chain[1], now)))
end

local function check_root(lines, authorities)
  for _, one in ipairs(authorities) do
    if one.self_issued then return add(lines, "root", true, "ca has the root '" .. (one.subject or "?") .. "'") end
  end
  add(lines, "root", false, "ca has no root: vehicles believe only a chain that leads to a root in ca",
    "put the whole chain up to the root into ca, for a publicly trusted certificate, too")
end

local function check_belief(lines, stream, given)
  local good, err = stream.verify_server(given.certificate, given.ca, given.host)
  if not good then
    return add(lines, "chain", false, "a vehicle would refuse the certificate: " .. err.message,
      string.find(err.message, "mismatch", 1, true) and "the certificate's names must include " .. given.host
      or "send the intermediates in the chain, and the root in ca")
  end
  local alone = stream.verify_server(given.certificate, given.ca, given.host, true)
  add(lines, "chain", true, "a vehicle accepts it for " .. given.host .. (alone and ""
    or ". The maker's check_server_cert.sh, which leaves out the intermediates that the receiver sends, calls it invalid"))
end

--- Checks the files. given: stream (fleet.stream), certificate, key, ca (PEM texts), host, now (UTC seconds).
function M.files(given)
  local lines, stream = {}, given.stream
  local chain, err = stream.certificates(given.certificate)
  if not chain then
    add(lines, "certificate", false, "the chain cannot be read: " .. err.message, makes_both)
    return lines
  end
  add(lines, "certificate", true, string.format("%s, issued by %s, for %s", chain[1].subject or "?", chain[1].issuer or "?",
    table.concat(chain[1].hosts, ", ")))
  local fits
  fits, err = stream.key_fits(given.certificate, given.key)
  add(lines, "key", fits == true, fits and "it belongs to the certificate" or err.message, not fits and makes_both or nil)
  check_order(lines, chain)
  check_days(lines, chain, given.now)
  local authorities
  authorities, err = stream.certificates(given.ca)
  if not authorities then
    add(lines, "ca", false, "ca cannot be read: " .. err.message, "ca is a PEM text: the chain up to its root")
    return lines
  end
  check_root(lines, authorities)
  check_belief(lines, stream, given)
  return lines
end

-- ---- the vehicles' authorities ----

--- Where Tesla publishes its file, as the end of a sentence.
M.TESLAS_FILE = "take config/files/prod_ca.crt from github.com/teslamotors/fleet-telemetry"

--- Checks the authorities that sign vehicles' certificates. pem: Tesla's file.
function M.authorities(stream, pem, simulated)
  local lines = {}
  local found, err = stream.authorities(pem)
  if not found then
    add(lines, "vehicles' authorities", false, err.message, M.TESLAS_FILE)
    return lines
  end
  local known, foreign = 0, {}
  for _, one in ipairs(found.given) do
    if one.known then known = known + 1 else foreign[#foreign + 1] = one.name or "without a name" end
  end
  if simulated and known == 0 then
    add(lines, "vehicles' authorities", true, #foreign .. " of the simulator")
  elseif known == 0 then
    add(lines, "vehicles' authorities", false, "none is Tesla's: " .. table.concat(foreign, ", "), M.TESLAS_FILE)
  elseif foreign[1] then
    add(lines, "vehicles' authorities", nil, string.format("%d of Tesla's; not Tesla's: %s", known, table.concat(foreign, ", ")),
      "each of the others can name any vehicle: leave them out unless you made them")
  elseif found.missing[1] then
    add(lines, "vehicles' authorities", nil, "their vehicles cannot connect, since the file lacks them: "
      .. table.concat(found.missing, ", "), M.TESLAS_FILE)
  else
    add(lines, "vehicles' authorities", true, known .. " of Tesla's, all that are known")
  end
  return lines
end

-- ---- the port ----

-- Connects without a certificate and without verifying. Returns the chain that the server presents, or nil and the error.
local function served_chain(stream, address, host, port)
  local client, err = stream.client { address = address, name = host, port = port }
  if not client then return nil, err.message end
  local deadline = tasks.real() + PATIENCE
  while true do
    local good, failure = client:step()
    if client:connected() then
      local chain = client:chain()
      client:close()
      return chain
    end
    if not good or tasks.real() > deadline then
      client:close()
      return nil, good and "nothing answered within 10 seconds" or failure.message
    end
    tasks.sleep(0.02)
  end
end

local function port_fix(host, port)
  return string.format("forward TCP port %d of your router, or of %s, to this machine, without a proxy that ends TLS", port, host)
end

local function is_loopback(address) return string.find(address, "^127%.") ~= nil or address == "::1" end

-- RFC 1918, RFC 3927, RFC 4193, RFC 4291 section 2.5.6.
local function is_private(address)
  local second = tonumber(string.match(address, "^172%.(%d+)%."))
  return second and second >= 16 and second < 32 or string.find(address, "^10%.") ~= nil or string.find(address, "^192%.168%.") ~= nil
    or string.find(address, "^169%.254%.") ~= nil or string.find(address, "^[fF][cCdD]%x%x:") ~= nil
    or string.find(address, "^[fF][eE][89aAbB]%x:") ~= nil
end

--- Checks the connection that vehicles make: name, port, and the certificate served there. given as for M.files, and port. Returns lines,
--- and "unreachable" when the name has no address or no server answers.
function M.way(given)
  local lines, stream = {}, given.stream
  local address, err = stream.resolve(given.host)
  if not address then
    add(lines, "name", false, err.message, "give the name an address: dynamic DNS, or an A record")
    return lines, "unreachable"
  end
  local here, private = is_loopback(address), is_private(address)
  if private then
    add(lines, "name", nil, given.host .. " is " .. address .. ", an address of the local network: vehicles reach it at home only",
      "give the name a public address, unless this network's DNS answers with another one than the internet's")
  else
    add(lines, "name", true, given.host .. " is " .. address)
  end
  local chain, why = served_chain(stream, address, given.host, given.port)
  if not chain then
    local start = string.find(why, "refused", 1, true) and "start the receiver: `fleet telemetry serve`"
      or string.find(why, "wrong version number", 1, true) and "a server without TLS answers there: stop it, or choose another port"
    local forward = not here and port_fix(given.host, given.port) or nil
    add(lines, "port", false, string.format("%s:%d: %s", given.host, given.port, why),
      start and forward and start .. "; " .. forward or start or forward)
    return lines, "unreachable"
  end
  local served, own = stream.certificates(chain), stream.certificates(given.certificate)
  if served and own and served[1].fingerprint == own[1].fingerprint then
    add(lines, "port", true, string.format("%s:%d shows this certificate%s", given.host, given.port,
      here and "" or ". From outside it may differ: try it over a phone's network"))
  else
    add(lines, "port", false, string.format("%s:%d shows another certificate: %s", given.host, given.port,
      served and served[1].subject or "none"), "another receiver or a proxy that ends TLS answers there: stop it, or choose another "
      .. "port with --port")
  end
  local good, failure = stream.verify_server(chain, given.ca, given.host)
  add(lines, "served chain", good == true, good and "a vehicle accepts what is served" or "a vehicle would reject what is served: "
    .. failure.message, not good and "restart the receiver with the certificate that ca signed" or nil)
  return lines
end

return M
