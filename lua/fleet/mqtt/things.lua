-- The bridge's state of each car and site, and the messages made from it.
--
-- A thing is { kind = "car" | "site" | "account", id =, name =, handle =, data = { section = … }, at = { section = seconds }, commanded = {
-- topic = when its last command ended }, seen = { topic = when it was last read }, more = rows of its own }.

local core = require "fleet.core"
local discovery = require "fleet.mqtt.discovery"
local memory = require "fleet.mqtt.memory"
local tables = require "fleet.util.tables"
local values = require "fleet.mqtt.values"

local M = {}

function M.new(kind, id, handle, name)
  return {
    kind = kind, id = id, handle = handle, name = name, data = {}, at = {}, commanded = {}, seen = {}, totals = {}, topics = {},
  }
end

local clear_after = 5 -- seconds for a host to remove an entity before its topics are cleared
local say_again_after = 10 -- seconds after a changed discovery message until the host has processed it

-- ---- retained messages ----

local function publish(bridge, thing, topic, payload, again)
  if not thing.topics[topic] then thing.topics[topic], thing.is_changed = true, true end
  bridge.link:set(topic, payload, again)
end

local function clear(bridge, thing, topic)
  thing.topics[topic], thing.is_changed = nil, true
  bridge.link:clear(topic)
end

local function is_discovery(bridge, topic)
  local prefix = bridge.config.discovery_prefix .. "/"
  return string.sub(topic, 1, #prefix) == prefix
end

-- The topics of a thing's present rows.
local function topics_of(bridge, thing)
  local topics = {}
  for _, row in ipairs(discovery.rows(bridge.config, thing)) do
    local section = values.section(row)
    if section then
      topics[discovery.state_topic(bridge.config, thing, row)] = true
      topics[discovery.attributes_topic(bridge.config, thing, section)] = true
    end
  end
  return topics
end

-- Discovery messages go first: a host logs an error for an empty state of an entity that it still has.
local function clear_in_order(bridge, thing, stale, after)
  local later = {}
  for topic in pairs(stale) do
    if is_discovery(bridge, topic) then clear(bridge, thing, topic) else later[#later + 1] = topic end
  end
  if not later[1] then return after and after() end
  bridge.spawn(function()
    bridge.rest({}, clear_after)
    for _, topic in ipairs(later) do clear(bridge, thing, topic) end
    if after then after() end
  end)
end

-- ---- discovery ----

-- A host that processes a changed description of a device may lose the states of its entities, so they are published again.
local function say_again_later(bridge, thing)
  if thing.says_again then return end
  thing.says_again = true
  bridge.spawn(function()
    bridge.rest({}, say_again_after)
    thing.says_again = nil
    if bridge.stopped or bridge.things[thing.id] ~= thing then return end
    for topic in pairs(thing.topics) do
      local payload = bridge.link.wanted[topic]
      if payload and payload ~= "" and not is_discovery(bridge, topic) then bridge.link:set(topic, payload, true) end
    end
  end)
end

--- Publishes the discovery messages of a thing if they have changed.
function M.announce(bridge, thing)
  discovery.remember(thing)
  local shape = discovery.shape(thing)
  if thing.shape == shape then return end
  thing.shape = shape
  local messages, current, stale = discovery.messages(bridge.config, thing), topics_of(bridge, thing), {}
  for topic in pairs(thing.topics) do
    if not messages[topic] and not current[topic] then stale[topic] = true end
  end
  clear_in_order(bridge, thing, stale)
  for topic, payload in pairs(messages) do publish(bridge, thing, topic, payload) end
  if thing.was_announced then say_again_later(bridge, thing) end
  thing.was_announced = true
end

--- Removes a thing from the hosts.
function M.withdraw(bridge, thing)
  local stale = tables.copy(thing.topics, topics_of(bridge, thing))
  for topic in pairs(discovery.messages(bridge.config, thing)) do stale[topic] = true end
  clear_in_order(bridge, thing, stale, function() memory.forget(bridge, thing.id) end)
end

-- ---- states ----

--- Publishes a topic's state; text nil is unknown, and is published only when a value was published before.
function M.publish_state(bridge, thing, topic, text)
  if text == nil then
    if bridge.link.wanted[topic] == nil and not thing.topics[topic] then return end
    text = bridge.config.unknown
  end
  if bridge.link.wanted[topic] ~= text then thing.is_changed = true end
  publish(bridge, thing, topic, text)
end

-- Whether a read started before the end of the topic's last command: it does not show the command's effect.
local function precedes_command(thing, topic, began)
  local since = thing.commanded[topic]
  if not since then return false end
  if began <= since then return true end
  thing.commanded[topic] = nil
  return false
end

local function publish_attributes(bridge, thing, section, more)
  publish(bridge, thing, discovery.attributes_topic(bridge.config, thing, section), core.json_encode(more))
end

--- Merges a reply into the data: members that it leaves out remain. A reply that is not an object is ignored.
function M.merge(thing, section, data)
  if type(data) ~= "table" then return end
  local all = tables.copy(thing.data[section])
  for name, value in pairs(data) do all[name] = value end
  thing.data[section] = all
end

-- Publishes the value of a row.
local function publish_row(bridge, thing, row, topic)
  local text, total = values.steady(row, values.text(row, thing.data), thing.totals[topic])
  thing.totals[topic] = total or thing.totals[topic]
  M.publish_state(bridge, thing, topic, text)
end

--- Publishes the rows of a section that were read. began_of(row): when the read started, or nil for a row that was not read.
function M.learn_rows(bridge, thing, section, began_of)
  for _, row in ipairs(discovery.rows_of(bridge.config, thing, section)) do
    local topic, began = discovery.state_topic(bridge.config, thing, row), began_of(row)
    if began and not precedes_command(thing, topic, began) then
      thing.seen[topic] = began
      publish_row(bridge, thing, row, topic)
    end
  end
end

--- Takes the data of a section that was read, and publishes it. began: when the read started; more: attributes, if the section has any.
function M.learn(bridge, thing, section, data, began, more)
  thing.data[section], thing.at[section] = data, began
  M.learn_rows(bridge, thing, section, function() return began end)
  if more and discovery.has_attributes(section) then publish_attributes(bridge, thing, section, more) end
end

--- Publishes when a thing was last read: the only message of a read without changes.
function M.saw(bridge, thing, began)
  local at = os.date("!%Y-%m-%dT%H:%M:%SZ", math.floor(bridge.wall() - (bridge.now() - began)))
  M.learn(bridge, thing, "seen", { at = at }, began)
end

--- Loads what the previous bridge published, and publishes again what has not expired.
function M.resume(bridge, thing)
  thing.was_announced = memory.load(bridge, thing)
  if not thing.was_announced then return end
  local now = bridge.now()
  for _, row in ipairs(discovery.rows(bridge.config, thing)) do
    local section, topic = values.section(row), discovery.state_topic(bridge.config, thing, row)
    local expires, seen = bridge.config.expire_after[section or ""], thing.seen[topic]
    if expires and (not seen or now - seen > expires) then
      thing.seen[topic] = nil
      if row.from then values.forget(thing.data, row.from) end
    end
    if row.from then M.publish_state(bridge, thing, topic, values.text(row, thing.data)) end
  end
  if thing.data.location then publish_attributes(bridge, thing, "location", thing.data.location) end
end

--- Withdraws expired values: the broker keeps them for hosts that start later, and not every host expires them itself.
function M.expire(bridge, thing)
  local now = bridge.now()
  for _, row in ipairs(discovery.rows(bridge.config, thing)) do
    local topic, expires = discovery.state_topic(bridge.config, thing, row), bridge.config.expire_after[values.section(row)]
    if expires and thing.seen[topic] and now - thing.seen[topic] > expires then
      thing.seen[topic] = nil
      values.forget(thing.data, row.from)
      M.publish_state(bridge, thing, topic, nil)
      if row.form == "location" then publish_attributes(bridge, thing, "location", {}) end
    end
  end
end

return M
