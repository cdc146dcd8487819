-- The options of the bridge as rows, their checks and defaults. Parses the broker's address.

local check_options = require "fleet.util.check_options"
local entities = require "fleet.mqtt.entities"
local errors = require "fleet.util.errors"
local rows = require "fleet.call.rows"
local tables = require "fleet.util.tables"
local core = require "fleet.core"

local M = {}

local where = "fleet.mqtt.new"

M.list = {
  { name = "broker", type = "string", doc = "mqtt://host[:port], mqtts://host[:port] with TLS, or mqtt+unix:/path" },
  { name = "user", type = "string", doc = "user name at the broker" },
  { name = "password", type = "string", doc = "its password" },
  { name = "broker_ca_file", type = "string", doc = "authority of the broker's certificate; by default those of the system" },
  { name = "cert_file", type = "string", doc = "client certificate for the broker" },
  { name = "key_file", type = "string", doc = "key of the client certificate" },
  { name = "mqtt_id", type = "string", doc = "client id at the broker; by default a random one" },
  { name = "keepalive", type = "seconds", default = 60,
    doc = "whole seconds, 5 to 3600: a broker that is silent for twice as long counts as gone" },
  { name = "topic", type = "string", default = "fleet", doc = "beginning of every topic except discovery" },
  { name = "discovery_prefix", type = "string", default = "homeassistant", doc = "beginning of the discovery topics" },
  { name = "discovery", choices = { "device", "component", false }, default = "device",
    doc = "one message per device, one per entity (component), or none (false)" },
  { name = "vehicles", type = "table", doc = "VINs; by default all of the account" },
  { name = "sites", type = "table", doc = "ids of energy sites; by default all of the account" },
  { name = "names", type = "table", default = {}, doc = "names by VIN, site, entity, or VIN/entity" },
  { name = "areas", type = "table", default = {}, doc = "areas by VIN or site" },
  { name = "location", type = "boolean", default = false, doc = "publish where cars are; reading it shows an icon in the car" },
  { name = "unknown", type = "string", default = "None",
    doc = "published for a value that is no longer known: None for Home Assistant, UNDEF for openHAB" },
  { name = "commands", doc = "\"entities\" (what entities send), \"all\", a list of names, or false: nothing can be changed" },
  { name = "wake", choices = { false, true, "always" }, default = false,
    doc = "whether a command may wake a car: never (false), if the message says so, which entities do (true), or always" },
  { name = "max_age", type = "seconds", default = 60, doc = "seconds after which a request with a time (at) is too old" },
  { name = "look_every", type = "seconds", default = 120, doc = "seconds between polls of the list of cars, which is free" },
  { name = "longest_look", type = "seconds", default = 600, doc = "longest pause between these polls while nothing changes" },
  { name = "live_every", type = "seconds", default = 300, doc = "seconds between live reads of a busy car" },
  { name = "idle_every", type = "seconds", default = 1200, doc = "seconds from the first to the second live read of an idle car" },
  { name = "longest_idle", type = "seconds", default = 14400, doc = "longest pause between live reads of an idle car" },
  { name = "site_every", type = "seconds", default = 60, doc = "seconds between reads of a site, which are free" },
  { name = "energy_every", type = "seconds", default = 300, doc = "seconds between reads of a site's energy of the day, which are free" },
  { name = "site_info_every", type = "seconds", default = 600, doc = "seconds between reads of a site's settings, which are free" },
  { name = "live_expires", type = "seconds", default = 259200, doc = "seconds after which live data of a car is no longer valid" },
  { name = "telemetry", type = "table",
    doc = "receiver to which cars stream, instead of live reads: options as of `client:telemetry`; see The stream" },
  { name = "automations", type = "table", default = {}, doc = "automations that run in the same process" },
}

-- ---- the address ----

local function refuse_address(text)
  errors.usage("%s: option 'broker' cannot be '%s': write mqtt://host[:port], mqtts://host[:port] or mqtt+unix:/path", where, text)
end

local function port_of(text, digits, fallback)
  if digits == "" then return fallback end
  local port = tonumber(digits)
  if not port or port < 1 or port > 65535 then refuse_address(text) end
  return port
end

--- Parses an address: { host =, port =, tls = }; port 0 is a Unix socket. Raises for an invalid address, and for one with a password.
function M.address(text)
  local path = string.match(text, "^mqtt%+unix:(/.+)$")
  if path then return { host = path, port = 0 } end
  local scheme, rest = string.match(text, "^(mqtts?)://([^/?#]+)/?$")
  if not scheme then refuse_address((string.gsub(text, "//[^/]*@", "//…@"))) end
  if string.find(rest, "@", 1, true) then
    errors.usage("%s: option 'broker' holds a user or password: they have options of their own", where)
  end
  local host, digits = string.match(rest, "^%[([%x:]+)%]:?(%d*)$")
  if not host then host, digits = string.match(rest, "^([%w%.%-_]+):?(%d*)$") end
  if not host then refuse_address(text) end
  return { host = host, port = port_of(text, digits, scheme == "mqtts" and 8883 or 1883), tls = scheme == "mqtts" or nil }
end

-- ---- which commands ----

local function add_calls(set, row)
  for _, call in pairs(row.calls or {}) do set[call[1]] = true end
  if row.call then set[row.call] = true end
end

local function of_entities()
  local set = {}
  for _, kind in ipairs { entities.car, entities.site } do
    for _, row in ipairs(kind) do add_calls(set, row) end
  end
  return set
end

local function of_list(list)
  local set = {}
  for _, name in ipairs(list) do
    local row = type(name) == "string" and rows.by_name[name]
    if not row then errors.unknown_name(where, "command", tostring(name), rows.all_by_name()) end
    set[name] = true
  end
  return set
end

-- A function that returns whether a call is allowed.
local function allowed(commands)
  if commands == false then return function() return false end end
  if commands == "all" then return function(name) return not (rows.by_name[name] and rows.by_name[name].flags.by_name_only) end end
  if type(commands) ~= "table" and commands ~= "entities" then
    errors.usage("%s: option 'commands' must be \"entities\", \"all\", a list of names, or false", where)
  end
  local set = type(commands) == "table" and of_list(commands) or of_entities()
  return function(name) return set[name] == true end
end

-- ---- checking ----

local function check(option, value)
  if option.type == "seconds" then return check_options.seconds(where, option.name, value) end
  if option.choices then
    for _, choice in ipairs(option.choices) do
      if choice == value then return end
    end
    local names = {}
    for i, choice in ipairs(option.choices) do names[i] = tostring(choice) end
    errors.unknown_choice(where, option.name, tostring(value), names)
  end
  if option.type and type(value) ~= option.type then
    errors.usage("%s: option '%s' must be a %s, got %s", where, option.name, option.type, type(value))
  end
end

local function check_topic(name, text)
  local ends_well = text ~= "" and not string.find(text, "^/") and not string.find(text, "/$")
  if not ends_well or string.find(text, "[+#%c]") or not core.utf8_valid(text) then
    errors.usage("%s: option '%s' must be the beginning of a topic in UTF-8, without + and #", where, name)
  end
end

-- The options of the receiver; without `vehicles` it takes those of the bridge.
local function check_telemetry(given)
  if given then require("fleet.telemetry.options").read(tables.copy(given, { vehicles = given.vehicles or {} })) end
end

local function check_keepalive(seconds)
  if seconds < 5 or seconds > 3600 or seconds ~= math.floor(seconds) then
    errors.usage("%s: option 'keepalive' must be whole seconds from 5 to 3600", where)
  end
end

-- Seconds after which a published value expires: three missed reads.
local function expiry(config)
  local live = math.floor(config.live_expires)
  return {
    info = math.floor(config.longest_look * 3 + 600), charge_state = live, climate_state = live, vehicle_state = live,
    drive_state = live, location = live, live_status = math.floor(config.site_every * 3 + 600),
    site_info = math.floor(config.site_info_every * 3 + 600),
    energy = math.floor(config.energy_every * 3 + 3600), tariff = math.floor(config.site_info_every * 3 + 600),
  }
end

--- Checks the options and adds defaults. Raises for a wrong one.
function M.read(given)
  local names = { "client" }
  for _, option in ipairs(M.list) do names[#names + 1] = option.name end
  if type(given) ~= "table" then errors.usage("%s: the options must be a table, got %s", where, type(given)) end
  check_options.names(where, "option", given, names)
  if not given.client then errors.usage("%s: option 'client' is missing", where) end
  if not given.broker then errors.usage("%s: option 'broker' is missing", where) end
  local config = {}
  for _, option in ipairs(M.list) do
    local value = given[option.name]
    if value == nil then value = option.default else check(option, value) end
    config[option.name] = value
  end
  check_keepalive(config.keepalive)
  check_telemetry(config.telemetry)
  check_topic("topic", config.topic)
  check_topic("discovery_prefix", config.discovery_prefix)
  if config.commands == nil then config.commands = "entities" end
  config.allowed, config.expire_after = allowed(config.commands), expiry(config)
  tables.add(config, { address = M.address(config.broker) })
  return config
end

return M
