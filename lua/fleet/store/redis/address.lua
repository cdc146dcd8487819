-- Parses the address of a Redis server and its options, and rejects unsafe ones. A password comes from a file or the environment,
-- never from the address, which appears in output and in the list of processes.

local check_options = require "fleet.util.check_options"
local core = require "fleet.core"
local errors = require "fleet.util.errors"
local tables = require "fleet.util.tables"

local M = {}

local where = "fleet.store.redis"
local known = {
  "address", "username", "password", "password_file", "password_env", "database", "prefix", "timeout", "ca_file",
  "insecure_plain_tcp", "replicas", "settle", "warn", "clock",
}
local in_text = { -- options that may follow "?" in an address
  password_file = "text", password_env = "text", prefix = "text", ca_file = "text", timeout = "number", replicas = "number",
  settle = "number", insecure_plain_tcp = "flag",
}
local default_port = 6379

-- ---- an address as text ----

local function unescape(text)
  return (string.gsub(text, "%%(%x%x)", function(digits) return string.char(tonumber(digits, 16)) end))
end

local function read_value(name, text)
  local kind = in_text[name]
  if not kind then errors.unknown_name(where, "parameter", name, in_text) end
  if kind == "flag" then return text == "" or text == "1" or text == "true" end
  if kind == "text" then return unescape(text) end
  return tonumber(text) or errors.usage("%s: parameter '%s' is a number", where, name)
end

local function read_parameters(text, into)
  for pair in string.gmatch(text, "[^&]+") do
    local name, value = string.match(pair, "^([^=]+)=?(.*)$")
    if not name then errors.usage("%s: '%s' is no parameter", where, pair) end
    into[name] = read_value(name, value)
  end
end

local function not_an_address()
  errors.usage("%s: an address is redis+unix:/path/of/socket, rediss://host:port/database or redis://127.0.0.1:port/database", where)
end

local function read_host(authority, found)
  local user, rest = string.match(authority, "^(.*)@([^@]*)$")
  if user and string.find(user, ":", 1, true) then
    errors.usage("%s: a password does not belong in an address: give password_file or password_env", where)
  end
  found.username = user and user ~= "" and unescape(user) or nil
  local host, port = string.match(rest or authority, "^%[([%x:.]+)%]:?(%d*)$")
  if not host then host, port = string.match(rest or authority, "^([^:/%[%]]+):?(%d*)$") end
  if not host then not_an_address() end
  found.host, found.port = host, tonumber(port) or default_port
end

local function read_address(text)
  local plain, parameters = string.match(text, "^([^?]*)%??(.*)$")
  local found = {}
  local path = string.match(plain, "^redis%+unix:/?/?(/.*)$")
  local scheme, authority, database = string.match(plain, "^(rediss?)://([^/]*)/?(%d*)$")
  if path then
    found.path = unescape(path)
  elseif scheme then
    read_host(authority, found)
    found.tls, found.database = scheme == "rediss", tonumber(database)
  else
    not_an_address()
  end
  read_parameters(parameters, found)
  return found
end

-- ---- unsafe addresses ----

local function is_loopback(host)
  return host == "localhost" or host == "::1" or string.find(host, "^127%.%d+%.%d+%.%d+$") ~= nil
end

local function check_transport(found)
  if found.path or found.tls or is_loopback(found.host) or found.insecure_plain_tcp then return end
  errors.usage("%s: plain TCP carries tokens and the password for anybody to read: use rediss://%s, or say insecure_plain_tcp = true",
    where, found.host)
end

local function check_whole(found, name, most)
  local value = found[name]
  if value == nil or type(value) == "number" and value >= 0 and value <= most and value % 1 == 0 then return end
  errors.usage("%s: option '%s' is a whole number from 0 to %d", where, name, most)
end

local function check_texts(found)
  for _, name in ipairs { "username", "password", "password_file", "password_env", "prefix", "ca_file" } do
    if found[name] ~= nil and type(found[name]) ~= "string" then errors.usage("%s: option '%s' is a string", where, name) end
  end
end

local function check(found)
  check_texts(found)
  if string.find((found.path or found.host) .. (found.username or ""), "%c") then not_an_address() end
  check_whole(found, "port", 65535)
  check_whole(found, "database", 65535)
  check_whole(found, "replicas", 1000)
  check_options.seconds(where, "timeout", found.timeout)
  if found.settle ~= 0 then check_options.seconds(where, "settle", found.settle) end
  check_transport(found)
end

--- The part of the address that is printed.
local function label(found)
  if found.path then return "redis+unix:" .. found.path end
  local host = string.find(found.host, ":", 1, true) and "[" .. found.host .. "]" or found.host
  local database = found.database and found.database > 0 and "/" .. string.format("%d", found.database) or ""
  return (found.tls and "rediss://" or "redis://") .. host .. ":" .. string.format("%d", found.port) .. database
end

--- Reads an address (text) or a table of options; raises for an invalid address.
function M.read(given, options)
  if type(given) == "table" then given, options = given.address, given end
  if type(given) ~= "string" or string.find(given, "%c") then not_an_address() end
  check_options.names(where, "option", options, known)
  local found = tables.add(read_address(given), options)
  check(found)
  found.label = label(found)
  return found
end

-- ---- the password ----

local function from_file(path)
  local text, facts, kind = core.file_read(path, 4096)
  if not text then return errors.failure(kind, "the password file " .. path .. ": " .. facts.message) end
  if facts.mode % 64 ~= 0 then
    return errors.failure("store", "the password file " .. path .. " is open to others: chmod 600 it")
  end
  return (string.gsub(text, "%s+$", ""))
end

--- The password of a place, read again for each connection because it may have changed. Returns false when there is none; or nil, err,
--- kind.
function M.password(place)
  if place.password then return place.password end
  if place.password_file then return from_file(place.password_file) end
  if not place.password_env then return false end
  local text = os.getenv(place.password_env)
  if text and text ~= "" then return text end
  return errors.failure("store", "the environment holds no password of Redis in " .. place.password_env)
end

return M
