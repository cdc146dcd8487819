-- What the bridge knows of each car and site, and how it becomes messages.
--
-- A thing is { kind = "car" | "site" | "account", id =, name =, handle =, data = { section = … }, at = { section = seconds },
-- held = { topic = seconds }, seen = { topic = when it was last read }, more = rows of its own }.

local core = require "fleet.core"
local discovery = require "fleet.mqtt.discovery"
local entities = require "fleet.mqtt.entities"
local tables = require "fleet.util.tables"
local values = require "fleet.mqtt.values"

local M = {}

function M.new(kind, id, handle, name)
  return { kind = kind, id = id, handle = handle, name = name, data = {}, at = {}, held = {}, told_at = {}, seen = {} }
end

-- ---- discovery ----

--- Tells the hosts of a thing, as it is now.
function M.announce(bridge, thing)
  local shape = discovery.shape(thing)
  if thing.shape == shape then return end
  thing.shape = shape
  local messages = discovery.messages(bridge.config, thing)
  for topic in pairs(thing.announced or {}) do
    if not messages[topic] then bridge.link:clear(topic) end
  end
  thing.announced = messages
  for topic, payload in pairs(messages) do bridge.link:set(topic, payload) end
end

-- Every topic that a thing may have left at the broker.
local function topics_of(bridge, thing)
  local topics = {}
  for topic in pairs(discovery.messages(bridge.config, thing)) do topics[topic] = true end
  for topic in pairs(thing.announced or {}) do topics[topic] = true end
  for _, source in ipairs { entities[thing.kind], thing.more or {} } do
    for _, row in ipairs(source) do
      local section = values.section(row)
      if section then
        topics[discovery.state_topic(bridge.config, thing, row)] = true
        topics[discovery.attributes_topic(bridge.config, thing, section)] = true
      end
    end
  end
  return topics
end

--- Removes a thing from the hosts.
function M.withdraw(bridge, thing)
  for topic in pairs(topics_of(bridge, thing)) do bridge.link:clear(topic) end
end

-- ---- states ----

-- What expires is said again in time, also where it is the same.
local function due_again(bridge, thing, section, topic, now)
  local expires = bridge.config.expire_after[section]
  return expires ~= nil and now - (thing.told_at[topic] or 0) >= expires / 3
end

--- What a topic says from now on; nil is what is not known: said only where something else was said before.
function M.tell(bridge, thing, topic, text, again)
  if text == nil then
    if bridge.link.wanted[topic] == nil then return end
    text = values.UNKNOWN
  end
  thing.told_at[topic] = bridge.now()
  bridge.link:set(topic, text, again)
end

-- A look that began before a command had ended does not show what it did.
local function held(thing, topic, began)
  local since = thing.held[topic]
  if not since then return false end
  if began <= since then return true end
  thing.held[topic] = nil
  return false
end

local function iso(at)
  return os.date("!%Y-%m-%dT%H:%M:%SZ", math.floor(at))
end

local function tell_attributes(bridge, thing, section, more)
  local age = math.max(0, bridge.now() - thing.at[section])
  local attributes = { seen_at = iso(bridge.wall() - age), age = math.floor(age), source = section }
  for name, value in pairs(more or {}) do attributes[name] = value end
  bridge.link:set(discovery.attributes_topic(bridge.config, thing, section), core.json_encode(attributes))
end

--- Keeps what a reply says beside what others say of the same: what one leaves out is not taken back. What is no object is not kept.
function M.merge(thing, section, data)
  if type(data) ~= "table" then return end
  local all = tables.copy(thing.data[section])
  for name, value in pairs(data) do all[name] = value end
  thing.data[section] = all
end

--- Takes what was read of a section, and tells it. began: when the look began; more: further attributes.
function M.learn(bridge, thing, section, data, began, more)
  local now = bridge.now()
  thing.data[section], thing.at[section] = data, began
  local rows = discovery.rows_of(bridge.config, thing, section)
  for _, row in ipairs(rows) do
    local topic = discovery.state_topic(bridge.config, thing, row)
    if not held(thing, topic, began) then
      thing.seen[topic] = began
      M.tell(bridge, thing, topic, values.text(row, thing.data), due_again(bridge, thing, section, topic, now))
    end
  end
  if rows[1] then tell_attributes(bridge, thing, section, more) end
end

--- Withdraws what was last read too long ago: the broker keeps it for hosts that start later, and not every host ages it.
function M.expire(bridge, thing)
  local now = bridge.now()
  for _, row in ipairs(discovery.rows(bridge.config, thing)) do
    local topic, expires = discovery.state_topic(bridge.config, thing, row), bridge.config.expire_after[values.section(row)]
    if expires and thing.seen[topic] and now - thing.seen[topic] > expires then
      thing.seen[topic] = nil
      values.forget(thing.data, row.from)
      M.tell(bridge, thing, topic, nil)
      if row.form == "location" then bridge.link:set(discovery.attributes_topic(bridge.config, thing, "location"), "{}") end
    end
  end
end

--- Tells again what is known of a row: after a command that was refused.
function M.tell_known(bridge, thing, row)
  M.tell(bridge, thing, discovery.state_topic(bridge.config, thing, row), values.text(row, thing.data))
end

return M
