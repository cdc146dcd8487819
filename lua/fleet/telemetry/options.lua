-- The options of a receiver as rows, their checks and defaults.

local check_options = require "fleet.util.check_options"
local core = require "fleet.core"
local errors = require "fleet.util.errors"
local tables = require "fleet.util.tables"
local tasks = require "fleet.async"

local M = {}

local where = "fleet.telemetry.new"
M.where = where

M.list = {
  { name = "host", type = "string", default = "0.0.0.0", doc = "the address to listen on; \"::\" for IPv6 as well" },
  { name = "port", doc = "the port that the configuration of the cars names; 0: any free port, see `receiver.port`" },
  { name = "reuse_port", type = "boolean", default = false,
    doc = "several processes listen at the same port, and the kernel shares the connections out" },
  { name = "certificate", doc = "the receiver's certificate chain, leaf first: PEM text or \"@file\"" },
  { name = "certificate_key", doc = "its key: PEM text, or \"@file\" that only its owner may read" },
  { name = "client_ca", doc = "the authorities that sign vehicles' certificates: PEM text or \"@file\"" },
  { name = "vehicles", doc = "the VINs that may connect: a list, or a function(vin) that returns true; it may wait" },
  { name = "proxy_protocol", default = false,
    doc = "load balancers that send the PROXY protocol: a list of addresses and networks" },
  { name = "ack", default = "at_once", choices = { "at_once", "when_stored" },
    doc = "when a message is acknowledged: on arrival, or when every output and `on_record` have stored it" },
  { name = "on_record", type = "function", doc = "called with each record; it may wait" },
  { name = "outputs", type = "table", doc = "where records are passed on: a list of outputs, see Outputs; they close with the receiver" },
  { name = "on_connection", type = "function", doc = "called with each event of a connection; it may wait" },
  { name = "on_notice", type = "function",
    doc = "called with a sentence about certificates, limits and failures; by default it is printed on standard error" },
  { name = "store", doc = "a store that keeps the newest values for the next process" },
  { name = "limits", type = "table", doc = "see Limits" },
  { name = "loop", doc = "`fleet.loop`" },
}

M.limits = {
  { name = "message", default = 1000000, most = 16e6, least = 1024,
    doc = "bytes of a message; a longer one is rejected, and the connection continues" },
  { name = "per_minute", default = 1200, doc = "messages of a vehicle in a minute; further ones are read later" },
  { name = "connections", default = 20000, most = 1e6, doc = "connections at the same time; more wait in the system's queue" },
  { name = "vehicle_connections", default = 4, doc = "connections of one vehicle; one more closes the oldest" },
  { name = "unacknowledged", default = 256, most = 65536,
    doc = "messages of a connection that wait for their acknowledgement; at the limit the receiver stops reading from it" },
}

local function check_vehicles(given)
  if type(given) == "function" then return given end
  if type(given) ~= "table" then
    errors.usage("%s: option 'vehicles' must list the VINs that may connect, or be a function(vin) that returns true for them", where)
  end
  for _, vin in ipairs(given) do
    if not core.is_vin(vin) then errors.usage("%s: option 'vehicles': '%s' is not a VIN", where, tostring(vin)) end
  end
  local listed = tables.set(given)
  return function(vin) return listed[vin] == true end
end

local function has_function(object, name)
  local ran, member = pcall(function() return object[name] end)
  return ran and type(member) == "function"
end

local function read_limits(given)
  local limits, by_name = {}, {}
  for _, limit in ipairs(M.limits) do limits[limit.name], by_name[limit.name] = limit.default, limit end
  if given ~= nil then check_options.names(where, "limit", given, limits) end
  for name, value in pairs(given or {}) do
    local least, most = by_name[name].least or 1, by_name[name].most or 1e9
    if type(value) ~= "number" or value % 1 ~= 0 or value < least or value > most then
      errors.usage("%s: limit '%s' must be a whole number from %d to %.0f", where, name, least, most)
    end
    limits[name] = value
  end
  return limits
end

local function check(option, value)
  if option.choices then
    for _, choice in ipairs(option.choices) do
      if value == choice then return end
    end
    errors.unknown_choice(where, option.name, tostring(value), option.choices)
  end
  if option.type and type(value) ~= option.type then
    errors.usage("%s: option '%s' must be a %s, got a %s", where, option.name, option.type, type(value))
  end
end

--- Checks the options and adds defaults. Raises for a wrong one.
function M.read(given)
  if type(given) ~= "table" then errors.usage("%s: the options must be a table, got %s", where, type(given)) end
  local names, read = {}, {}
  for i, option in ipairs(M.list) do names[i] = option.name end
  check_options.names(where, "option", given, names)
  for _, option in ipairs(M.list) do
    local value = given[option.name]
    if value == nil then value = option.default else check(option, value) end
    read[option.name] = value
  end
  if type(read.port) ~= "number" or read.port % 1 ~= 0 or read.port < 0 or read.port > 65535 then
    errors.usage("%s: option 'port' must be a number from 0 to 65535", where)
  end
  if read.proxy_protocol and type(read.proxy_protocol) ~= "table" then
    errors.usage("%s: option 'proxy_protocol' must be false, or list the load balancers' addresses and networks", where)
  end
  read.outputs = read.outputs or {}
  for _, output in ipairs(read.outputs) do
    if type(output) ~= "table" or type(output.store) ~= "function" then
      errors.usage("%s: 'outputs' must list outputs, objects with store(record)", where)
    end
  end
  if read.ack == "when_stored" and not read.on_record and not read.outputs[1] then
    errors.usage("%s: ack = \"when_stored\" needs 'on_record', which returns true once the record is stored, or 'outputs'", where)
  end
  if read.store and not (has_function(read.store, "get") and has_function(read.store, "put")) then
    errors.usage("%s: option 'store' must be a store, with get and put, got a %s", where, type(read.store))
  end
  if read.loop ~= nil and read.loop ~= tasks.loop then errors.usage("%s: option 'loop' must be fleet.loop", where) end
  read.allowed, read.limits = check_vehicles(read.vehicles), read_limits(read.limits)
  return read
end

return M
