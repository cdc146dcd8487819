-- The context of a client: the table that every call of the client works on. It holds the options, the addresses, the store, and the
-- functions that lower layers use. No code below this file knows the loop.
--
-- Each part is made at its first use, because in a program with thousands of clients most are idle.

local count = require "fleet.budget.count"
local lifetime = require "fleet.call.lifetime"
local on_demand = require "fleet.util.on_demand"
local pacing = require "fleet.budget.pacing"
local send = require "fleet.call.send"
local tables = require "fleet.util.tables"
local tasks = require "fleet.async"
local pcall = require("fleet.util.compat").pcall -- the called functions may yield

local M = {}

local shared = {
  agent = "fleet/" .. require "fleet.util.version", sleep = tasks.sleep, ended_within = tasks.ended_within,
  clock = function() return tasks.loop.clock() end,
  wake = function(car, options) return car:wake(options) end,
  finish = on_demand.call("fleet.client.closing", "finish"),
}

local parts = {}

function parts.store()
  return (require("fleet.client.storage").open(nil))
end

function parts.send(context)
  return function(request, seconds)
    return send.raw(context, request, seconds)
  end
end

-- Calls the caller's function of this option, if there is one. Its errors are ignored.
local function observer(option)
  return function(context)
    return function(event)
      local listener = context.config[option]
      if listener then pcall(listener, event) end
    end
  end
end
parts.report, parts.measure = observer "log", observer "metrics"

function parts.meter(context)
  local config = context.config
  local by_key = config.budgets and context.keys and context.keys[1] and context.keys[1]:fingerprint() or nil
  return count.new(config, function() return context.store end, config.client_id, by_key)
end

function parts.pacer(context)
  local given = context.config.pacing
  if not given then return false end
  return pacing.new(given, context.config.account, function() return context.store end)
end

--- Whether calls must ask budgets or rate limits before sending.
function parts.has_limits(context)
  return context.config.budgets ~= nil or context.config.pacing ~= nil
end

-- slots: of lua/fleet/oauth/token_cache.lua; flights: the exchanges in flight, by what they exchange, each a task.
function parts.tokens()
  return { slots = {}, flights = {} }
end

local function ended(context, ran, ...)
  lifetime.release(context)
  if not ran then error((...), 0) end
  return ...
end

function parts.spawn(context)
  return function(fn)
    return tasks.spawn(function()
      lifetime.hold(context)
      return ended(context, pcall(fn))
    end)
  end
end

local function fresh_table()
  return {}
end
for _, name in ipairs { "states", "wakes", "sessions", "accepts_signed", "zones" } do parts[name] = fresh_table end

local metatable = {}

function metatable.__index(context, name)
  local value = shared[name]
  if value ~= nil then return value end
  local make = parts[name]
  if not make then return nil end
  value = make(context)
  rawset(context, name, value)
  return value
end

--- A context. config, vendor, addresses: of fleet.client.config; store: nil for one in memory, made when it is needed.
function M.new(config, vendor, addresses, store, keys)
  local context = { -- false: every call asks, and what is not there costs a look at all the parts
    config = config, vendor = vendor, generation = tasks.generation(), store = store, keys = keys, under_way = 0, closed = false,
    listeners = false, alarmed = false, logs_attempts = true,
  }
  context.owns_store = type(config.store) ~= "table" and type(config.store) ~= "userdata"
  return setmetatable(tables.add(context, addresses), metatable)
end

return M
