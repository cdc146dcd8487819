-- The listening address and its protection: a Unix socket by its mode, loopback by a secret, any other address by TLS and authentication of
-- callers. Unsafe combinations are rejected here, before anything listens.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local files = require "fleet.util.atomic_file"

local M = {}

local where = "fleet.proxy.new"
local secret_bytes = 24
local largest_file = 1048576

-- ---- the address ----

local function is_loopback(host)
  return string.find(host, "^127%.%d+%.%d+%.%d+$") ~= nil or host == "::1"
end

local function address_of(text)
  local path = string.match(text, "^unix:(/.+)$")
  if path then return { socket = true, unix = path } end
  if text == "systemd" then return { systemd = true } end
  local host, port = string.match(text, "^%[([%x:%.]+)%]:(%d+)$")
  if not host then host, port = string.match(text, "^(%d+%.%d+%.%d+%.%d+):(%d+)$") end
  if not host or tonumber(port) > 65535 then
    errors.usage("%s: option 'listen' is unix:/path, 127.0.0.1:port, [::1]:port or systemd, not '%s'", where, text)
  end
  return { host = host, port = tonumber(port), loopback = is_loopback(host) }
end

-- The first descriptor from systemd, if it is for this process.
local function handed_over(getenv)
  local file = io.open("/proc/self/stat")
  local pid = file and string.match(file:read("*a"), "^%d+")
  if file then file:close() end
  if not pid then
    errors.usage("%s: 'listen' is 'systemd', and this system has no /proc/self/stat to compare LISTEN_PID with: give unix:/path or an "
      .. "address", where)
  end
  if getenv("LISTEN_PID") ~= pid or getenv("LISTEN_FDS") ~= "1" then
    errors.usage("%s: 'systemd' needs one socket from a unit (LISTEN_FDS=1, LISTEN_PID=%s)", where, tostring(pid))
  end
  return 3
end

-- ---- files ----

local function read(path, private)
  local real, problem, kind = core.real_path(path)
  if not real then return nil, problem, kind end
  local text, facts
  text, facts, kind = core.file_read(real, largest_file)
  if not text then return nil, facts, kind end
  if private and not (facts.mine and facts.mode % 64 == 0) then
    return errors.failure("store", path .. ": others can read it: it has to be yours, with mode 0600")
  end
  return text
end

-- The secret in a file, which is created when it is missing. When two proxies start together, the second reads the secret of the first.
local function secret_of(path)
  local known, _, absent = core.file_read(path, largest_file)
  if not known and absent == "not_found" then
    local secret = core.random_text(secret_bytes)
    local done, problem, why = files.create(path, secret .. "\n")
    if done then return secret end
    if why ~= "conflict" then return nil, problem, why end
  end
  local text, err, kind = read(path, true)
  if not text then return nil, err, kind end
  return (string.gsub(text, "%s+$", ""))
end

-- ---- reading the options ----

local function read_certificates(place, options)
  for option, private in pairs { certificate = false, certificate_key = true, client_ca = false } do
    if options[option] then
      local text, err, kind = read(options[option], private)
      if not text then return nil, err, kind end
      place[option] = text
    end
  end
  return true
end

local function check_pairs(place, options)
  if (options.certificate == nil) ~= (options.certificate_key == nil) then
    errors.usage("%s: options 'certificate' and 'certificate_key' belong together", where)
  end
  if options.client_ca and not options.certificate then errors.usage("%s: option 'client_ca' needs 'certificate'", where) end
  if options.certificate and place.socket then errors.usage("%s: a Unix socket needs no certificate", where) end
end

-- A secret file that the options do not name does not count as authentication for other machines.
local function check_open(place, options)
  if place.socket or place.loopback then return end
  local known = options.secret or options.secret_file_given or options.client_ca or options.callers or options.pass_through
  local named = options.listen == "systemd" and place.host or options.listen
  if not options.certificate then
    errors.usage("%s: '%s' is not this machine alone: give 'certificate' and 'certificate_key', or listen on loopback", where, named)
  end
  if not known then
    errors.usage("%s: '%s' is not this machine alone, and callers would not be authenticated: give a 'secret_file', 'client_ca' or "
      .. "'callers'", where, named)
  end
end

local function needs_secret(place, options)
  if place.socket or options.pass_through then return false end
  return not (options.secret or options.callers or options.client_ca)
end

-- Reads the secret of callers on TCP; the mode of a Unix socket is its protection.
local function guard(place, options)
  place.secret = options.secret
  if not needs_secret(place, options) and not options.secret_file_given then return place end
  if not options.secret_file then errors.usage("%s: TCP needs a 'secret_file': it is made where there is none", where) end
  local err, kind
  place.secret, err, kind = secret_of(options.secret_file)
  if not place.secret then return nil, err, kind end
  place.secret_file = options.secret_file
  return place
end

--- Reads the options of fleet.proxy.new about listening: { socket, unix | host, port | fd, loopback, secret, certificate, … }. Raises for a
--- usage error and for an unsafe address; returns nil, err, kind for an unusable file.
function M.read(options)
  local place = address_of(options.listen)
  if place.systemd then place.fd = handed_over(options.getenv or os.getenv) end
  check_pairs(place, options)
  if not place.systemd then check_open(place, options) end
  local done, err, kind = read_certificates(place, options)
  if not done then return nil, err, kind end
  if place.systemd then return place end
  return guard(place, options)
end

--- Completes the place once the socket of systemd is open. address: of the socket, nil for a Unix socket. Returns like read.
function M.complete(place, address, port, options)
  place.socket, place.host, place.port = address == nil, address, port
  place.loopback = address ~= nil and is_loopback(address)
  check_open(place, options)
  return guard(place, options)
end

--- The address in the form of a client's base_url.
function M.url(place, port)
  if place.socket then return place.unix and "http+unix:" .. place.unix or nil end
  local host = string.find(place.host, ":", 1, true) and "[" .. place.host .. "]" or place.host
  return string.format("%s://%s:%d", place.certificate and "https" or "http", host, port)
end

return M
