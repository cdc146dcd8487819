-- fleet: the client of a vehicle, energy and account service. This file is the public face: it makes clients and hangs
-- the rows' methods on them; every module behind it is loaded when it is first used.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local unpack = require("fleet.util.compat").unpack
local tasks = require "fleet.async.task"
local rows = require "fleet.call.rows"
local commands = require "fleet.signing.transport"
local run = require "fleet.call"
local pages = require "fleet.call.pages"
local settling = require "fleet.confirm"
local special = require "fleet.resources.special"

local fleet = {
  _VERSION = "fleet 0.1",
  null = core.null,
  loop = tasks.loop, spawn = tasks.spawn, run = tasks.run, sleep = tasks.sleep, map = tasks.map, drain = tasks.drain,
}

-- ---- methods from rows ----

local function vehicle_of(client, record)
  return core.handle("vehicle", client, record.vin or record.id_s or record.id)
end

local function paged_method(row)
  local function each(handle)
    if row.name ~= "vehicles" then return nil end
    return function(record)
      local car = vehicle_of(handle, record)
      local account, _, id = core.account(car)
      account.states[id] = record.state
      return car, record
    end
  end
  return function(self, ...)
    local arguments, n = { ... }, select("#", ...)
    return pages.new(row, self, function() return core.plan(row.pointer, self, unpack(arguments, 1, n)) end, each(self))
  end
end

local function plain_method(row)
  local call = run.call
  return function(self, ...)
    return call(row, self, ...)
  end
end

-- What needs a module of its own is loaded when it is called.
local function method_on_first_use(module, row)
  local method
  return function(...)
    method = method or require(module).method(row)
    return method(...)
  end
end

local function method_of(row)
  if row.paging ~= "no" then return paged_method(row) end
  if row.flags.command then return commands.method(row) end
  if row.name == "time_of_use_settings" then return method_on_first_use("fleet.resources.time_of_use", row) end
  if row.flags.setting then return settling.setting_method(row) end
  local plain, more = plain_method(row), special.rows[row.name]
  if not more then return plain end
  return function(self, ...)
    return more(plain, self, ...)
  end
end

for _, row in ipairs(rows.list) do
  core.methods(row.handle)[row.method] = method_of(row)
end
for kind, methods in pairs(special.methods) do
  for name, method in pairs(methods) do core.methods(kind)[name] = method end
end

-- ---- clients ----

local client_methods, client_mt = core.methods("client")

--- A client. options: see doc/manual/client.md; raises for a wrong one. No file and no network is touched.
function fleet.new(options)
  return require("fleet.client").new(options)
end

--- A client from a JSON file of options: $XDG_CONFIG_HOME/fleet/config.json, or path.
--- Returns the client, or nil, err, kind.
function fleet.from_config(path)
  return require("fleet.client").from_config(path)
end

--- A handle for one vehicle; makes no call. vin: a VIN or the service's id, string.
function client_methods:vehicle(vin)
  return core.handle("vehicle", self, core.check_id("vehicle", vin))
end

--- A handle for one energy site; makes no call. id: digits, string or integer.
function client_methods:energy_site(id)
  return core.handle("site", self, core.check_id("energy_site", id))
end

--- Any row's call by its name: path arguments stand in args. Returns what the method returns; a paged row an iterable.
function client_methods:call(name, args, options)
  local row = rows.by_name[name]
  if not row then errors.unknown_name("call", "name", name, rows.by_name) end
  return require("fleet.call.by_name").call(row, self, args, options)
end

-- Signing in and tokens: what each does is said in the module that does it.
local of_account = {
  ["oauth.authorize"] = { "authorize_url", "authorize", "consent_url", "add_scopes_url", "pairing_url" },
  ["oauth.tokens"] = { "refresh", "partner_login", "business_login", "keep_alive" },
}
for module, names in pairs(of_account) do
  for _, name in ipairs(names) do
    client_methods[name] = function(self, ...)
      return require("fleet." .. module)[name]((core.account(self)), ...)
    end
  end
end

--- Finds the region in which the account lives and uses it from now on: see lua/fleet/region/discovery.lua.
function client_methods:discover_region()
  return require("fleet.region.discovery").discover((core.account(self)))
end

--- What is known of the account's tokens, without the tokens: see lua/fleet/oauth/tokens.lua.
function client_methods:token_info()
  return require("fleet.oauth.tokens").info((core.account(self)))
end

function client_methods:close()
  require("fleet.client").close(self)
end
client_mt.__close = client_methods.close

-- client.partner, client.user and client.charging are handles; everything else is a method.
client_mt.__index = function(self, name)
  local method = client_methods[name]
  if method ~= nil then return method end
  if name == "partner" or name == "user" or name == "charging" then return core.handle(name, self) end
end

-- ---- data and helpers ----

--- The tables as data: fresh lists of rows.
fleet.endpoints, fleet.commands, fleet.reasons = core.endpoints, core.commands, core.reasons

--- The same handle or client, whose calls raise err instead of returning nil, err, kind.
function fleet.throwing(object)
  return require("fleet.client.raising").wrap(object)
end

-- ---- what is loaded on first use ----

local later = {
  store = function() return require "fleet.store" end,
  tariff = function() return require "fleet.tariff" end,
  automation = function() return require "fleet.automation" end,
  chart = function() return require "fleet.chart" end,
  time = function() return core.time end,
}
for _, name in ipairs { "key", "session", "receiver", "command", "decode_command", "jws_verify", "base64", "unbase64" } do
  later[name] = function() return core[name] end
end

return setmetatable(fleet, {
  __index = function(self, name)
    local load = later[name]
    if not load then return nil end
    local value = load()
    rawset(self, name, value)
    return value
  end,
})
