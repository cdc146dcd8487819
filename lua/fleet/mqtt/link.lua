-- The link to the broker: one connection after another, and the wanted content of each topic.
--
-- The newest retained message of each topic is kept here: while the broker is away nothing accumulates, and each new connection publishes
-- all of them again. Answers are sent once, from a bounded queue. The connection itself is src/mqtt/broker.h; fleet.loop.watch drives it.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local tables = require "fleet.util.tables"
local tasks = require "fleet.async"
local compat = require "fleet.util.compat"

local M = {}

local Link = {}
local link_mt = { __index = Link, __name = "fleet.mqtt.link" }

local tick_every = 5 -- seconds between calls of the library for its keepalive
local most_answers = 1000
local connect_seconds = 30 -- until the broker has accepted the connection
local first_pause, longest_pause = 1, 60

--- The module of the library that opens connections; or nil and a sentence that says what is missing.
function M.library()
  local found, library = pcall(require, "fleet.mosquitto")
  if found then return library end
  return errors.failure("unsupported",
    "the MQTT bridge needs libmosquitto: install libmosquitto-dev (Debian's name) and build fleet again")
end

--- given: broker = options of fleet.mosquitto.open, library, on_message(topic, payload, retained, size): payload is nil when it was too
--- long to keep; on_state(state, err): "connected", "listening" once all subscriptions are confirmed, "refused" for each topic that the
--- broker refuses, or "lost".
function M.new(given)
  return setmetatable({
    broker = given.broker, library = given.library, topics = {}, on_message = given.on_message,
    on_state = given.on_state, wanted = {}, dirty = {}, dirty_first = 1, dirty_last = 0, marked = {}, answers = {},
    in_flight = {}, dropped = 0, sent = 0,
  }, link_mt)
end

-- ---- the queue ----

local function mark(self, topic)
  if self.marked[topic] then return end
  self.marked[topic] = true
  self.dirty_last = self.dirty_last + 1
  self.dirty[self.dirty_last] = topic
end

local function unmark_first(self)
  local topic = self.dirty[self.dirty_first]
  self.dirty[self.dirty_first] = nil
  self.dirty_first = self.dirty_first + 1
  self.marked[topic] = nil
end

-- Sends as many messages as the connection allows to be unconfirmed.
local function pump(self)
  local connection = self.connection
  if not self.connected or not connection then return end
  while self.answers[1] do
    local answer = self.answers[1]
    local id = connection:publish(answer.topic, answer.payload, answer.retain or false)
    if not id then return end
    self.sent = self.sent + 1
    self.in_flight[id] = { number = self.sent, answer = table.remove(self.answers, 1) }
  end
  while self.dirty_first <= self.dirty_last do
    local topic = self.dirty[self.dirty_first]
    local payload = self.wanted[topic]
    local id = payload and connection:publish(topic, payload, true)
    if payload and not id then return end
    unmark_first(self)
    if payload then -- otherwise it was cleared twice, and the first one has been confirmed
      self.sent = self.sent + 1
      self.in_flight[id] = { number = self.sent, topic = topic, payload = payload }
    end
  end
end

local function confirmed(self, id)
  local message = self.in_flight[id]
  self.in_flight[id] = nil
  local promise = message and message.answer and message.answer.promise
  if promise then
    message.answer.confirmed = true
    tasks.wake(promise)
  end
  if message and message.payload == "" and self.wanted[message.topic] == "" then self.wanted[message.topic] = nil end
end

-- ---- driving the connection ----

local rewatch

local events = {}

local function subscribe(self)
  self.unheard = 0
  for _, topic in ipairs(self.topics) do
    if self.connection:subscribe(topic) then self.unheard = self.unheard + 1 end
  end
end

function events.connected(self)
  self.connected, self.was_connected = true, true
  subscribe(self)
  for topic in pairs(self.wanted) do mark(self, topic) end
  self.on_state("connected")
end

function events.message(self, topic, payload, retained, size) self.on_message(topic, payload, retained, size) end

function events.published(self, id) confirmed(self, id) end

function events.subscribed(self, id)
  self.unheard = self.unheard - 1
  if id == 0 then self.on_state("refused") end
  if self.unheard == 0 then self.on_state("listening") end
end

function events.ended(self, err)
  self.err, self.connected = err, false
  if self.ending then tasks.wake(self.ending) end
end

local function drain(self, connection)
  while self.connection == connection do
    local function hand(name, ...)
      if not name then return false end
      events[name](self, ...)
      return true
    end
    if not hand(connection:take()) then break end
  end
  pump(self)
  rewatch(self)
end

local function ready(self, connection, what)
  if self.connection ~= connection then return end
  connection:ready(what)
  drain(self, connection)
end

-- Watches the descriptor for what the library waits for now.
function rewatch(self)
  local connection = self.connection
  local fd = connection and connection:fd()
  if not fd then
    if self.watch then self.watch:close() end
    self.watch, self.mode = nil, nil
    return
  end
  local mode = connection:wants()
  if self.watch and self.mode == mode then return end
  self.mode = mode
  self.watch = assert(tasks.loop.watch(fd, mode, function(what) ready(self, connection, what) end))
end

-- ---- one connection ----

-- The answers keep their order: of two answers of one topic the later one counts.
local function put_back(self)
  local messages = {}
  for _, message in pairs(self.in_flight) do messages[#messages + 1] = message end
  table.sort(messages, function(a, b) return a.number > b.number end)
  for _, message in ipairs(messages) do
    if message.answer then
      table.insert(self.answers, 1, message.answer)
    elseif self.wanted[message.topic] then
      mark(self, message.topic)
    end
  end
  self.in_flight = {}
end

local function shut(self)
  if self.watch then self.watch:close() end
  if self.connection then self.connection:close() end
  self.connection, self.connected, self.watch, self.mode, self.ending = nil, false, nil, nil, nil
  put_back(self)
end

-- The keepalive, and the limit of connecting, which is in real time.
local function tick(self, connection, opened)
  connection:tick()
  if not self.connected and core.clock() - opened > connect_seconds then
    self.err = errors.new("timeout", "the broker did not answer within " .. connect_seconds .. " seconds")
    return false
  end
  drain(self, connection)
  return true
end

local function serve(self, connection, opened)
  while not self.err and not self.stopped do
    self.ending = tasks.promise()
    if not self.stopped then tasks.await_for(self.ending, tick_every) end
    self.ending = nil
    if self.err or self.stopped or not tick(self, connection, opened) then return end
  end
end

local function connect_once(self, address)
  self.err = nil
  local options = tables.copy(self.broker, { address = address })
  local connection, err = self.library.open(options, function() drain(self, self.connection) end)
  if not connection then
    self.err = err
    return
  end
  self.connection = connection
  rewatch(self)
  local ok, failure = compat.pcall(serve, self, connection, (core.clock()))
  if not ok or self.stopped then self:goodbye() end
  shut(self)
  if not ok then error(failure, 0) end
end

-- A Unix socket has no addresses.
local function addresses_of(self)
  if self.broker.port == 0 then return { self.broker.host } end
  return self.library.addresses(self.broker.host)
end

-- Tries each address of a host until one answers: a broker need not listen on all of them.
local function connect(self)
  self.was_connected = false
  local addresses, err = addresses_of(self)
  if not addresses then self.err = err end
  for _, address in ipairs(addresses or {}) do
    connect_once(self, address)
    local answered = self.was_connected or self.err and self.err.kind ~= "network" and self.err.kind ~= "timeout"
    if self.stopped or answered then return end
  end
end

--- Keeps a connection until stop() or the end of the task.
function Link:run()
  local pause = first_pause
  while not self.stopped do
    connect(self)
    if self.stopped then break end
    self.on_state("lost", self.err)
    if self.was_connected then pause = first_pause end
    self.resting = tasks.promise()
    if not self.stopped then tasks.await_for(self.resting, pause) end
    self.resting = nil
    pause = math.min(pause * 2, longest_pause)
  end
end

-- ---- subscriptions ----

--- Subscribes to these topics, now and with every new connection.
function Link:listen(topics)
  self.topics = topics
  if not self.connected then return end
  subscribe(self)
  rewatch(self)
end

-- ---- publishing ----

--- Sets the retained message of a topic; again = true: publishes it even if it is unchanged.
function Link:set(topic, payload, again)
  payload = core.utf8_repaired(payload)
  if self.wanted[topic] == payload and not again then return end
  self.wanted[topic] = payload
  mark(self, topic)
  pump(self)
  rewatch(self)
end

--- Removes a retained topic from the broker.
function Link:clear(topic)
  self:set(topic, "", true)
end

--- Sends a message once, not retained. With a full queue the oldest is dropped, and counted.
function Link:say(topic, payload)
  if #self.answers >= most_answers then
    table.remove(self.answers, 1)
    self.dropped = self.dropped + 1
  end
  self.answers[#self.answers + 1] = { topic = topic, payload = core.utf8_repaired(payload) }
  pump(self)
  rewatch(self)
end

--- Publishes once. Returns an entry whose promise is woken: with entry.confirmed set once the broker has confirmed it, without it when too
--- many messages wait. forget(entry) drops an entry for which the caller no longer waits.
function Link:publish(topic, payload, retain)
  local entry = { topic = topic, payload = core.utf8_repaired(payload), retain = retain, promise = tasks.promise() }
  if #self.answers >= most_answers then
    tasks.wake(entry.promise)
    return entry
  end
  self.answers[#self.answers + 1] = entry
  pump(self)
  rewatch(self)
  return entry
end

function Link:forget(entry)
  for i, one in ipairs(self.answers) do
    if one == entry then return table.remove(self.answers, i) end
  end
end

--- How many messages wait or are unconfirmed.
function Link:waiting()
  local count = #self.answers + self.dirty_last - self.dirty_first + 1
  for _ in pairs(self.in_flight) do count = count + 1 end
  return count
end

--- Waits until all messages are confirmed, for at most so many seconds. Not for callbacks.
function Link:flush(seconds)
  local pauses = tasks.pauses(seconds, 0.01, 0.1)
  while self.connected and self:waiting() > 0 and pauses:again() do end
  return self:waiting() == 0
end

--- Disconnects, so that the broker does not send the will. Messages that were published before are still sent.
function Link:goodbye()
  if self.connection and self.connected then self.connection:disconnect() end
end

--- Ends run() soon.
function Link:stop()
  self.stopped = true
  for _, promise in ipairs { self.ending or false, self.resting or false } do
    if promise then tasks.wake(promise) end
  end
end

return M
