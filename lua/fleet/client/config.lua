-- The options of fleet.new: checked against their rows, completed, and made into addresses.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local hostname = require "fleet.util.hostname"
local limits = require "fleet.budget.limits"
local prices = require "fleet.budget.prices"

local M = {}

local rows = {}
for _, row in ipairs(core.options()) do
  rows[row.name] = row
end

local lua_types = { integer = "number", number = "number", boolean = "boolean", strings = "table", object = "table" } -- else string

-- The row of this name; raises, with the names there are, for another value of the option.
local function row_named(list, option, name)
  local known = {}
  for i, row in ipairs(list) do
    if row.name == name then return row end
    known[i] = row.name
  end
  errors.unknown_choice("fleet.new", option, name, known)
end

-- Options that also take an object, or something else than their row's type says.
local also = {
  key = { userdata = true, table = true }, store = { table = true, userdata = true }, log = { ["function"] = true },
  http = { ["function"] = true }, audit = { ["function"] = true }, metrics = { ["function"] = true, table = true },
  budgets = { table = true }, pacing = { table = true }, prices = { table = true },
}

-- What the members of an option must be.
local members = {
  budgets = function(value) limits.read(value) end,
  pacing = function(value) prices.check("pacing", value, 1) end,
  prices = function(value) prices.check("prices", value, 0) end,
  metrics = function(value)
    if type(value) == "function" or (getmetatable(value) or {}).__call then return end
    errors.usage("fleet.new: option 'metrics' must be a function, or fleet.metrics.prometheus()")
  end,
}

local function check_type(row, value)
  local wanted = not row.lua_only and (lua_types[row.type] or "string") or nil
  local others = also[row.name] or {}
  if type(value) == wanted or others[type(value)] then return end
  local name = wanted == "table" and "list" or wanted or next(others)
  errors.usage("fleet.new: option '%s' must be a %s, got %s", row.name, name, type(value))
end

local function check_text(row, value)
  if type(value) ~= "string" then errors.usage("fleet.new: option '%s' must be a list of strings", row.name) end
  if string.find(value, "[%c]") and row.name ~= "key" then
    errors.usage("fleet.new: option '%s' must not hold control characters", row.name)
  end
end

local function check_number(row, value)
  if row.max and not (value >= row.min and value <= row.max) then
    errors.usage("fleet.new: option '%s' must be %.14g to %.14g, got %s", row.name, row.min, row.max, tostring(value))
  end
  if row.type == "integer" and value ~= math.floor(value) then errors.usage("fleet.new: option '%s' must be a whole number", row.name) end
end

local function check(row, value)
  check_type(row, value)
  if members[row.name] then members[row.name](value) end
  if type(value) == "string" then check_text(row, value) end
  if type(value) == "number" then check_number(row, value) end
  if row.type == "strings" then
    for _, text in ipairs(value) do check_text(row, text) end
  end
  if row.choices and #row.choices > 0 then row_named(row.choices, row.name, value) end
end

local function fallback(row)
  if row.fallback == nil then return nil end
  if row.type == "number" or row.type == "integer" then return tonumber(row.fallback) end
  if row.type == "boolean" then return row.fallback == "true" end
  return row.fallback
end

local defaults = {}
for name, row in pairs(rows) do defaults[name] = fallback(row) end
local config_mt = { __index = defaults }

local loopback = { ["localhost"] = true, ["127.0.0.1"] = true, ["[::1]"] = true }

--- Checks an address: https, or http to this machine only. Returns it without a trailing slash.
local function address(name, text, insecure)
  local scheme, host = string.match(text, "^(https?)://(%[[%x:]+%])")
  if not scheme then scheme, host = string.match(text, "^(https?)://([%w%-%.]+)") end
  local rest = scheme and string.sub(text, #scheme + 4 + #host)
  if not scheme or not (rest == "" or string.match(rest, "^:%d+$") or string.match(rest, "^:?%d*/[%w%-%._~/]*$")) then
    local shown = string.gsub(string.gsub(text, "^.*@", "...@"), "[?#].*", "?...") -- secrets stand there
    errors.usage("fleet.new: option '%s' must be an address such as https://host, got '%s'", name, shown)
  end
  local near = loopback[host] or string.match(host, "^127%.%d+%.%d+%.%d+$")
  if scheme == "http" and not near and not insecure then
    errors.usage("fleet.new: option '%s': http:// is taken for this machine only; use https, or insecure_http = true", name)
  end
  return (string.gsub(text, "/+$", ""))
end

local vendors = core.vendors()

-- "http+unix:/path" is HTTP over a Unix socket: a local proxy.
local function split_unix(config, name)
  return config[name] and string.match(config[name], "^http%+unix:(/.+)$")
end

--- Checks and completes the options. Raises for a wrong one, naming it. Returns config, vendor, addresses
--- { base_url, auth_url, token_url, unix_path, audience }.
function M.read(options)
  if type(options) ~= "table" then errors.usage("fleet.new: a table of options is needed, got %s", type(options)) end
  local config = setmetatable({}, config_mt)
  for name, value in pairs(options) do
    local row = rows[name]
    if not row then errors.unknown_name("fleet.new", "option", name, rows) end
    check(row, value)
    config[name] = value
  end
  if config.domain then hostname.check("fleet.new", config.domain) end
  local vendor = row_named(vendors, "vendor", config.vendor)
  return config, vendor, M.addresses(config, vendor)
end

--- The addresses of a configuration: its own, or those of its region.
function M.addresses(config, vendor)
  local region = row_named(vendor.regions, "region", config.region or vendor.regions[1].name)
  local unix = split_unix(config, "base_url")
  local insecure = config.insecure_http
  local function pick(name)
    if not config[name] then return region[name] end
    return address(name, config[name], insecure)
  end
  local found = { unix_path = unix, base_url = unix and "http://localhost" or pick("base_url"), auth_url = pick("auth_url") }
  found.audience = unix and region.base_url or nil -- behind the socket is the service: what a token is for is its address
  if config.commands == "proxy" and not config.proxy_url then errors.usage("fleet.new: commands = \"proxy\" needs proxy_url") end
  found.proxy_unix_path = split_unix(config, "proxy_url")
  found.proxy_url = found.proxy_unix_path and "http://localhost" or config.proxy_url and pick("proxy_url")
  found.token_url = pick("token_url")
  return found
end

return M
