-- A broker in this process, for specs in virtual time: what fleet.mqtt takes for its library. It keeps what is retained,
-- delivers to who subscribed, and records every message that came.

local tasks = require "fleet.async"

local M = {}

local function matches(filter, topic)
  local pattern = string.gsub(filter, "[%-%.%%]", "%%%0")
  pattern = string.gsub(string.gsub(pattern, "%+", "[^/]*"), "/#$", "/.*")
  return string.find(topic, "^" .. pattern .. "$") ~= nil
end

local Connection = {}
Connection.__index = Connection

local function emit(connection, ...)
  if connection.closed then return end
  connection.events[#connection.events + 1] = { ... }
  if connection.called then return end
  connection.called = true
  tasks.spawn(function()
    connection.called = false
    if not connection.closed then connection.wake() end
  end)
end

function Connection.fd() end
function Connection.wants() return "r" end
function Connection.ready() end
function Connection.tick() end

function Connection:publish(topic, payload, retained)
  if self.closed or self.broker.deaf then return nil end
  self.ids = self.ids + 1
  self.broker.publish(topic, payload, retained)
  emit(self, "published", self.ids)
  return self.ids
end

function Connection:subscribe(filter)
  self.filters[#self.filters + 1] = filter
  emit(self, "subscribed", #self.filters)
  for topic, payload in pairs(self.broker.retained) do
    if matches(filter, topic) then emit(self, "message", topic, payload, true) end
  end
  return true
end

function Connection:take()
  local event = table.remove(self.events, 1)
  if event then return event[1], event[2], event[3], event[4], event[5] end
end

function Connection:disconnect() self.polite = true end

function Connection:close()
  if self.closed then return end
  self.closed = true
  self.broker.connections[self] = nil
  if not self.polite and self.options.will_topic then self.broker.publish(self.options.will_topic, self.options.will, true) end
end

--- A broker: library for fleet.mqtt, retained = { topic = payload }, log = list of { at, topic, payload, retained },
--- publish(topic, payload, retained), drop(err) ends all connections, down = true takes no new ones, deaf = true no messages.
function M.new()
  local broker = { retained = {}, log = {}, connections = {} }
  function broker.publish(topic, payload, retained)
    local _, at = tasks.loop.clock()
    broker.log[#broker.log + 1] = { at = at, topic = topic, payload = payload, retained = retained }
    if retained then broker.retained[topic] = payload ~= "" and payload or nil end
    for connection in pairs(broker.connections) do
      for _, filter in ipairs(connection.filters) do
        if matches(filter, topic) then emit(connection, "message", topic, payload, false) end
      end
    end
  end
  --- A message whose payload the library did not keep.
  function broker.publish_too_long(topic, size)
    for connection in pairs(broker.connections) do emit(connection, "message", topic, nil, false, size) end
  end
  function broker.drop()
    for connection in pairs(broker.connections) do
      emit(connection, "ended", { kind = "network", message = "the broker has gone" })
    end
  end
  broker.library = { addresses = function(host) return { host } end, open = function(options, wake)
    if broker.down then return nil, { kind = "network", message = "no server listens there" } end
    local connection = setmetatable({ broker = broker, options = options, wake = wake, events = {}, filters = {}, ids = 0 }, Connection)
    broker.connections[connection] = true
    emit(connection, "connected")
    return connection
  end }
  --- The messages of a topic, in order.
  function broker.said(topic)
    local list = {}
    for _, message in ipairs(broker.log) do
      if message.topic == topic then list[#list + 1] = message.payload end
    end
    return list
  end
  return broker
end

return M
