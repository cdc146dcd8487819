-- fleet: the client for vehicles, energy sites and accounts. This file is the public interface; the module behind a name is loaded at first
-- use.

local core = require "fleet.core"
local tasks = require "fleet.async"

local fleet = {
  _VERSION = "fleet " .. require "fleet.util.version",
  null = core.null,
  loop = tasks.loop, spawn = tasks.spawn, run = tasks.run, sleep = tasks.sleep, map = tasks.map, drain = tasks.drain,
}

require("fleet.resources").define()

-- ---- clients ----

--- A client. options: see doc/manual/client.md; raises for a wrong one. Uses no file and no network.
function fleet.new(options)
  return require("fleet.client").new(options)
end

--- A client from a JSON file of options, $XDG_CONFIG_HOME/fleet/config.json or path, and the variables FLEET_…, which override the file as
--- on the command line. Returns the client, or nil, err, kind.
function fleet.from_config(path)
  return require("fleet.client").from_config(path)
end

-- ---- data and helpers ----

--- The tables as data: new lists of rows at each call.
fleet.reasons = core.reasons
for _, name in ipairs { "endpoints", "commands" } do
  fleet[name] = function()
    local rows = core[name]()
    for _, row in ipairs(rows) do row.pointer = nil end -- a pointer of the core
    return rows
  end
end

--- pcall of a function that may yield: tasks of Lua 5.1 need it, see doc/manual/versions.md. On other versions it is pcall.
fleet.pcall = require("fleet.util.compat").pcall

--- The same handle or client; its calls raise err instead of returning nil, err, kind.
function fleet.throwing(object)
  return require("fleet.client.raising").wrap(object)
end

-- ---- loaded at first use ----

-- Rehearsing needs the simulator, which uses the automations.
local function automation_and_rehearsal()
  local automation = require "fleet.automation"
  --- fleet.automation.rehearse(options): a month in a minute, see lua/fleet/sim/rehearsal/init.lua.
  automation.rehearse = function(given) return require("fleet.sim.rehearsal").run(given, automation.is) end
  return automation
end

local later = {
  store = function() return require "fleet.store" end,
  tariff = function() return require "fleet.tariff" end,
  automation = automation_and_rehearsal,
  metrics = function() return require "fleet.metrics" end,
  chart = function() return require "fleet.chart" end,
  time = function() return core.time end,
}
for _, name in ipairs { "key", "session", "receiver", "command", "decode_command", "jws_verify", "base64", "unbase64" } do
  later[name] = function() return core[name] end
end

-- Raises when the name resembles a known one; a program may test for any other.
local function unknown(self, name)
  if type(name) ~= "string" then return nil end
  local names = {}
  for known in pairs(self) do names[known] = true end
  for known in pairs(later) do names[known] = true end
  local sentence = core.unknown("name", name, names)
  local near = string.match(sentence, "did you mean '([%w_]+)'")
  if near and math.abs(#near - #name) <= 2 then require("fleet.util.errors").usage("fleet: " .. sentence) end
end

return setmetatable(fleet, {
  __index = function(self, name)
    local load = later[name]
    if not load then return unknown(self, name) end
    local value = load()
    rawset(self, name, value)
    return value
  end,
})
