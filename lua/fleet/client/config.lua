-- The options of fleet.new: checks them against their rows (src/tables/options.c), adds defaults, and makes the addresses.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local limits = require "fleet.budget.limits"
local prices = require "fleet.budget.prices"
local scopes = require "fleet.oauth.scopes"

local M = {}

local where = "fleet.new"
local rows, names = {}, {}
for i, row in ipairs(core.options()) do rows[row.name], names[i] = row, row.name end

-- ---- one option ----

local lua_types = { integer = "number", number = "number", boolean = "boolean", strings = "table", object = "table" } -- else string

local function lua_type_of(row)
  return lua_types[row.type] or "string"
end

local function check_type(row, value)
  local also, wanted = row.also, lua_type_of(row)
  if also[type(value)] or not row.lua_only and type(value) == wanted then return end
  if row.lua_only then
    wanted = also["function"] and "function" or "table"
  elseif wanted == "table" then
    wanted = "list"
  end
  errors.usage("fleet.new: option '%s' must be a %s, got %s", row.name, wanted, type(value))
end

local function check_text(row, value)
  if type(value) ~= "string" then errors.usage("fleet.new: option '%s' must be a list of strings", row.name) end
  if string.find(value, "%c") and not row.lines then
    errors.usage("fleet.new: option '%s' must not hold control characters", row.name)
  end
end

local function check_number(row, value)
  if row.max and not (value >= row.min and value <= row.max) then
    errors.usage("fleet.new: option '%s' must be %.14g to %.14g, got %s", row.name, row.min, row.max, tostring(value))
  end
  if row.type == "integer" and math.floor(value) ~= value then
    errors.usage("fleet.new: option '%s' must be a whole number", row.name)
  end
end

-- The row of this name. Raises for an unknown name, and lists the known ones.
local function row_named(list, option, name)
  local known = {}
  for i, row in ipairs(list) do
    if row.name == name then return row end
    known[i] = row.name
  end
  errors.unknown_choice(where, option, name, known)
end

-- Further checks of single options.
local more = {
  budgets = function(value) limits.read(value) end,
  pacing = function(value) prices.check("pacing", value, 1) end,
  prices = function(value) prices.check("prices", value, 0) end,
  metrics = function(value)
    if type(value) == "function" or (getmetatable(value) or {}).__call then return end
    errors.usage("fleet.new: option 'metrics' must be a function, or fleet.metrics.prometheus()")
  end,
  domain = function(value) core.hostname.check(where, value) end,
  token = function(value)
    if value == "" then errors.usage("fleet.new: option 'token' is empty: leave it out, or give the access token") end
  end,
}

local function check(row, value)
  check_type(row, value)
  if type(value) == "string" then
    check_text(row, value)
    if row.choices then row_named(row.choices, row.name, value) end
  end
  if type(value) == "number" then check_number(row, value) end
  if row.type == "strings" then
    for _, text in ipairs(value) do check_text(row, text) end
  end
  if more[row.name] then more[row.name](value) end
end

-- ---- defaults ----

local function fallback(row)
  local text = row.fallback
  if lua_type_of(row) == "boolean" then return text and text == "true" end
  local n = lua_type_of(row) == "number" and tonumber(text)
  if not n then return text end
  return math.floor(n) == n and math.floor(n) or n
end

local config_mt = { __index = {} }
for name, row in pairs(rows) do config_mt.__index[name] = fallback(row) end

-- ---- addresses ----

-- The address of an option without trailing slashes.
local function address(config, name)
  local text, kind = core.address(config[name])
  if not text then
    errors.usage("fleet.new: option '%s' must be an address such as https://host, got '%s'", name, kind)
  elseif kind == "plain" and not config.insecure_http then
    errors.usage("fleet.new: option '%s': http:// is taken for this machine only; use https, or insecure_http = true", name)
  end
  return text
end

-- "http+unix:/path" is HTTP over a Unix socket: a local proxy.
local function socket_of(config, name)
  return config[name] and string.match(config[name], "^http%+unix:(/.+)$")
end

-- The addresses of the configuration, or those of its region.
local function addresses(config, region)
  local found = {}
  for _, name in ipairs { "base_url", "auth_url", "token_url" } do
    local socket = name == "base_url" and socket_of(config, name)
    if socket then
      found.unix_path, found.base_url = socket, "http://localhost"
      found.audience = region.base_url -- the token is for the service, which the socket leads to
    else
      found[name] = config[name] and address(config, name) or region[name]
    end
  end
  if config.commands == "proxy" and not config.proxy_url then errors.usage("fleet.new: commands = \"proxy\" needs proxy_url") end
  found.proxy_unix_path = socket_of(config, "proxy_url")
  found.proxy_url = found.proxy_unix_path and "http://localhost" or config.proxy_url and address(config, "proxy_url")
  return found
end

-- ---- all options ----

local vendors = core.vendors()

--- Checks the options and adds defaults. Raises for a wrong one, naming it. Returns config, vendor, addresses { base_url, auth_url,
--- token_url, unix_path, audience, proxy_url, proxy_unix_path }.
function M.read(options)
  if type(options) ~= "table" then errors.usage("fleet.new: a table of options is needed, got %s", type(options)) end
  local config = setmetatable({}, config_mt)
  for name, value in pairs(options) do
    local row = rows[name]
    if not row then errors.unknown_name(where, "option", name, names) end
    if name == "scopes" then value = scopes.list(where, value) end
    check(row, value)
    config[name] = value
  end
  local vendor = row_named(vendors, "vendor", config.vendor)
  local region = config.region and row_named(vendor.regions, "region", config.region) or vendor.regions[1]
  return config, vendor, addresses(config, region)
end

return M
