-- Stores what a bridge published of a car, a site or the account. The next bridge publishes the same at its start, also for a car that
-- sleeps, and withdraws what it no longer offers.

local core = require "fleet.core"
local entities = require "fleet.mqtt.entities"
local tables = require "fleet.util.tables"
local tasks = require "fleet.async"
local values = require "fleet.mqtt.values"

local M = {}

local save_every = 5 -- seconds

local function key(bridge, id)
  return "mqtt/" .. bridge.context.config.account .. "/thing/" .. id
end

-- Paths that rows read besides `from`.
local besides = {
  "vehicle_state.car_version", "vehicle_state.fp_window", "vehicle_state.rd_window", "vehicle_state.rp_window", "tariff.currency",
  "location.latitude", "location.longitude", "location.gps_accuracy",
}

local function put(into, path, value)
  local names = {}
  for name in string.gmatch(path, "[^.]+") do names[#names + 1] = name end
  for i = 1, #names - 1 do
    into[names[i]] = type(into[names[i]]) == "table" and into[names[i]] or {}
    into = into[names[i]]
  end
  into[names[#names]] = value
end

-- The part of the data that rows read.
local function kept_data(thing)
  local data = {}
  local function keep(path)
    local value = path and values.at(thing.data, path)
    if value ~= nil and path ~= "location" and path ~= "tariff" then put(data, path, value) end
  end
  for _, row in ipairs(entities[thing.kind]) do
    keep(row.from)
    keep(row.most_from)
    keep(row.needs)
  end
  for _, path in ipairs(besides) do keep(path) end
  return data
end

--- Stores a thing as it is published now.
function M.save(bridge, thing)
  local now, wall, seen = bridge.now(), bridge.wall(), {}
  for topic, at in pairs(thing.seen) do seen[topic] = wall - (now - at) end
  local record = {
    kind = thing.kind, name = thing.name, version = thing.version, data = kept_data(thing), seen = seen, had = thing.had,
    totals = thing.totals, components = thing.components, removed = thing.removed, topics = thing.topics,
    connectors = thing.connectors, energy_day = thing.energy_day,
  }
  thing.is_changed = nil
  local done, err = bridge.context.store:put(key(bridge, thing.id), core.json_encode(record), {})
  if not done then bridge.log_once("the published state of " .. thing.name .. " could not be stored: " .. err.message) end
end

local function table_of(value)
  return type(value) == "table" and value or {}
end

--- Loads what the previous bridge published of a thing. Returns whether there was any.
function M.load(bridge, thing)
  local text, err, kind = bridge.context.store:get(key(bridge, thing.id))
  if text == nil and kind then bridge.log_once("the published state of " .. thing.name .. " cannot be read: " .. err.message) end
  local record = text and core.json_decode(text)
  if type(record) ~= "table" then return false end
  thing.energy_day = record.energy_day
  thing.version = type(record.version) == "string" and record.version or nil
  for _, name in ipairs { "data", "had", "totals", "components", "removed", "topics", "connectors" } do
    thing[name] = tables.copy(table_of(record[name]))
  end
  if not bridge.config.location then thing.data.location = nil end
  local now = bridge.now()
  for topic, at in pairs(table_of(record.seen)) do
    if type(at) == "number" then thing.seen[topic] = now - tasks.age(at) end
  end
  return true
end

--- The topics that were published for this id.
function M.topics(bridge, id)
  local text = bridge.context.store:get(key(bridge, id))
  local record = text and core.json_decode(text)
  return table_of(table_of(record).topics)
end

function M.forget(bridge, id)
  bridge.context.store:delete(key(bridge, id))
end

--- Stores all things that have changed.
function M.save_changed(bridge)
  for _, thing in pairs(tables.copy(bridge.things)) do
    if thing.is_changed then M.save(bridge, thing) end
  end
end

--- Stores changes until the bridge ends.
function M.keep_saving(bridge)
  while not bridge.stopped do
    bridge.rest("saving", save_every)
    M.save_changed(bridge)
  end
end

return M
