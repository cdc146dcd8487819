-- The connection of a store to its server, shared by all tasks. Commands are pipelined: they leave in order, many in one write, and
-- their replies have the same order. After a lost connection the first waiting task connects again and sends unanswered commands
-- again, which is safe because each script is idempotent.

local async = require "fleet.async"
local compat = require "fleet.util.compat"
local error_replies = require "fleet.store.redis.error_replies"
local errors = require "fleet.util.errors"
local handshake = require "fleet.store.redis.handshake"
local scripts = require "fleet.store.redis.scripts"
local pcall = require("fleet.util.compat").pcall -- the called functions may yield

local unpack = compat.unpack
local failure = errors.failure

local few = 2 -- commands in flight: with more, the following commands are collected until the loop's next tick
local first_pause, longest_pause = 0.02, 0.5 -- seconds between attempts to connect
local default_timeout = 5 -- seconds for a reply, including reconnecting
local kept_seconds = 60 -- deadline of commands whose reply is not waited for

local Link = {}
Link.__index = Link

-- ---- the queue: first .. last are unanswered; those up to sent have been sent on this connection ----

local function push(self, entry)
  self.last = self.last + 1
  self.queue[self.last] = entry
end

local function shift(self)
  local entry = self.queue[self.first]
  self.queue[self.first] = nil
  self.first = self.first + 1
  return entry
end

local function finish(entry, value, err)
  entry.done, entry.value, entry.err = true, value, err
  if entry.promise then async.wake(entry.promise, true) end
end

-- Drops commands whose caller stopped waiting: they must not run later. Commands that were posted without a caller stay until their
-- deadline.
local function drop_abandoned(self)
  local kept, now = {}, async.real()
  for i = self.first, self.last do
    local entry = self.queue[i]
    local is_late = entry.posted and (entry.late_at or entry.deadline) <= now
    if is_late then finish(entry, nil, errors.new("store", self.place.label .. " was not there in time")) end
    if not entry.abandoned and not is_late then kept[#kept + 1] = entry end
  end
  self.queue, self.first, self.last, self.sent = kept, 1, #kept, 0
end

-- ---- the end of a connection ----

local function hang_up(self)
  if self.watch then self.watch:close() end
  if self.connection then self.connection:close() end
  self.watch, self.connection, self.state = nil, nil, "down"
end

-- Restores lost data to the server before other processes act on its loss. Connects in a task, because no caller may be waiting now.
local function come_back(self)
  if self.returns or not self.owner.has_memories() then return end
  self.returns = true
  async.spawn(function()
    pcall(self.ready, self)
    self.returns = false
  end)
end

-- Wakes all waiting tasks; the first of them reconnects.
local function lost(self, err)
  hang_up(self)
  self.problem = err
  self.retry_at = async.real() + self.pause
  self.pause = math.min(self.pause * 2, longest_pause)
  drop_abandoned(self)
  for i = self.first, self.last do
    local promise = self.queue[i].promise
    if promise then async.wake(promise, true) end
  end
  if self.began then come_back(self) end
end

local function fail_all(self, err)
  while self.first <= self.last do finish(shift(self), nil, err) end
  self.sent = self.last
end

-- The server refuses the connection for good: wrong password, or an untrusted certificate. Retrying is useless.
local function refused(self, err)
  lost(self, err)
  fail_all(self, err)
end

-- The error of a closed store. Allocating may run a finaliser of the host that closes the store between two steps.
function Link.closed_error()
  return errors.new("closed", "the store is closed")
end

-- ---- sending ----

local function rearm(self)
  local connection = self.connection
  if not connection then return nil, Link.closed_error() end
  local mode = self.gathers and "rw" or connection:mode()
  if self.watch and self.mode == mode then return true end
  local watch, err = async.loop.watch(connection:fd(), mode, self.on_ready)
  if not watch then return nil, err end
  if self.connection ~= connection then
    watch:close()
    return nil, Link.closed_error()
  end
  self.watch, self.mode = watch, mode
  return true
end

local function send_queue(self)
  while self.sent < self.last do
    if not self.connection then return nil, Link.closed_error() end
    self.sent = self.sent + 1
    local sent, err = self.connection:send(unpack(self.queue[self.sent].words))
    if not sent then return nil, err end
  end
  return true
end

-- ---- receiving ----

-- Gives an addition a number, by which the server recognises a repeated one.
local function number(self, entry)
  self.numbered = self.numbered + 1
  entry.words[entry.script.number_at] = string.format("%.0f", self.numbered)
end

-- The server has lost the scripts: loads them, and sends the script again after the other commands.
local function reload(self, entry)
  if entry.script.number_at then number(self, entry) end
  push(self, { words = { "SCRIPT", "LOAD", entry.script.text }, posted = true, deadline = async.real() + self.timeout })
  push(self, entry)
  return send_queue(self)
end

-- Returns nil, err when the connection is useless.
local function take_error(self, entry, text)
  if error_replies.lacks_script(text) and entry.script then return reload(self, entry) end
  if error_replies.is_passing(text) then
    self.first = self.first - 1
    self.queue[self.first] = entry
    return nil, errors.new("store", self.place.label .. " says " .. string.sub(text, 1, 200))
  end
  finish(entry, nil, errors.new("store", self.place.label .. " refused: " .. error_replies.explain(text)))
  return true
end

local function take_reply(self, reply)
  if self.first > self.sent then return nil, errors.new("store", "Redis answers what was not asked") end
  local entry = shift(self)
  if type(reply) == "table" and reply.error then return take_error(self, entry, reply.error) end
  if scripts.may_answer(entry.script, entry.words, reply) then
    finish(entry, reply)
    return true
  end
  -- later replies on this connection may belong to others too
  local what = entry.script and entry.script.name or entry.words[1]
  local err = errors.new("store", string.format("%s gives no answer that a Redis gives to '%s': is something else in its place?",
    self.place.label, what))
  finish(entry, nil, err)
  return nil, err
end

-- ---- progress ----

local function take_handshake(self, reply)
  local went, err, is_refused = handshake.take(self, reply)
  if is_refused then
    refused(self, err)
    return true
  end
  if went ~= "done" then return went, err end
  self.state, self.problem, self.pause = "ready", nil, first_pause
  self.owner.on_settings(self.settings)
  return send_queue(self)
end

local function take_replies(self)
  while self.connection do
    local reply, err = self.connection:take()
    if reply == nil then return err == nil or nil, err end
    local good
    if self.state == "handshake" then good, err = take_handshake(self, reply) else good, err = take_reply(self, reply) end
    if not good then return nil, err end
  end
  return true
end

local function progress(self)
  local stepped, step_err = self.connection:step()
  local good, err = take_replies(self)
  if good and not stepped then good, err = nil, step_err end
  if good and self.connection then
    self.gathers = false
    good, err = rearm(self)
  end
  if good then return end
  if err.kind == "tls" then return refused(self, errors.new("store", self.place.label .. ": " .. err.message)) end
  lost(self, err)
end

local function connect(self)
  local place = self.place
  self.attempt = self.attempt + 1
  local connection, err = self.redis.connect {
    host = place.host, port = place.port, path = place.path, tls = place.tls, ca_file = place.ca_file, attempt = self.attempt,
  }
  if not connection then return lost(self, err) end
  if self.closed then return connection:close() end
  self.connection, self.mode, self.gathers = connection, nil, false
  local sent, handshake_err = handshake.begin(self)
  self.state = "handshake"
  if not sent then
    lost(self, handshake_err)
    return fail_all(self, handshake_err)
  end
  if self.connection then progress(self) end
end

-- Sends now, or together with the other commands of this tick of the loop while replies are awaited.
local function leave(self)
  if self.closed then return fail_all(self, Link.closed_error()) end
  if self.state == "down" then
    if async.real() >= self.retry_at then connect(self) end
    return
  end
  if self.state ~= "ready" then return end
  local many = self.last - self.first >= few
  local sent, err = send_queue(self)
  if sent and many then
    self.gathers = true
    sent, err = rearm(self)
  elseif sent and self.connection then
    sent, err = self.connection:flush()
    if sent then sent, err = rearm(self) end
  end
  if not sent then lost(self, err) end
end

-- ---- waiting ----

local function give_up(self, entry)
  local label = self.place.label
  entry.abandoned = true
  if self.state ~= "down" then
    lost(self, errors.new("store", label .. " did not answer within " .. self.timeout .. " s"))
  end
  local why = self.problem and self.problem.message or "no answer"
  return failure("store", string.format("%s does not answer: %s", label, why))
end

-- Waits until the answer arrives, the connection breaks, or it is time to reconnect.
local function wait_once(self, entry, left)
  entry.promise = async.promise(false)
  if entry.done then return end -- making the promise may run a finaliser of the host that closes the store
  local pause = self.state == "down" and math.max(self.retry_at - async.real(), 0) or left
  local ran, raised = pcall(async.await_for, entry.promise, math.min(pause, left))
  entry.promise = nil
  if ran then return end
  entry.abandoned = true
  error(raised, 0)
end

local function await(self, entry)
  if self.sent < self.last then leave(self) end
  while not entry.done do
    local left = entry.deadline - async.real()
    if left <= 0 then return give_up(self, entry) end
    if self.state == "down" then leave(self) end
    if not entry.done then wait_once(self, entry, left) end
  end
  if entry.err then return nil, entry.err, entry.err.kind end
  return entry.value
end

local function usable(self)
  if async.usable(self.generation) then return true end
  return failure("closed", "the store was opened before fork: open a new one")
end

-- ---- commands of a store ----

local function entry_of(self, script, key, ...)
  if not script then return { words = { key, ... }, deadline = async.real() + self.timeout } end
  local entry = { script = script, words = { "EVALSHA", script.sha, script.keys, key, ... }, deadline = async.real() + self.timeout }
  if script.number_at then number(self, entry) end
  return entry
end

--- Runs a script (of scripts.lua) for a key, or with script = false a command of these words, and waits for its answer. Returns it, or nil,
--- err, kind.
function Link.call(self, script, key, ...)
  local ok, err, kind = usable(self)
  if not ok then return nil, err, kind end
  local entry = entry_of(self, script, key, ...)
  push(self, entry)
  leave(self)
  return await(self, entry)
end

--- The same for two commands at once; returns both answers.
function Link.call_both(self, first, second)
  local ok, err, kind = usable(self)
  if not ok then return nil, err, kind end
  local one, two = entry_of(self, unpack(first)), entry_of(self, unpack(second))
  push(self, one)
  push(self, two)
  leave(self)
  local value
  value, err, kind = await(self, one)
  if value == nil then
    two.abandoned = true
    return nil, err, kind
  end
  local other
  other, err, kind = await(self, two)
  return value, other, err, kind
end

--- Starts a script and returns a function that waits for the answer. more = true: it is sent in one write with the next command.
function Link.begin(self, more, script, key, ...)
  local ok, err, kind = usable(self)
  if not ok then return function() return nil, err, kind end end
  local entry = entry_of(self, script, key, ...)
  entry.posted, entry.late_at = true, async.real() + kept_seconds
  push(self, entry)
  if not more then leave(self) end
  return function() return await(self, entry) end
end

--- Runs a script without waiting for its reply. It is dropped after the deadline.
function Link.post(self, seconds, script, key, ...)
  if not async.usable(self.generation) then return end
  local entry = entry_of(self, script, key, ...)
  entry.posted, entry.deadline = true, async.real() + seconds
  push(self, entry)
  leave(self)
end

--- Whether a posted command is unanswered.
function Link.owes(self)
  for i = self.first, self.last do
    if self.queue[i].posted then return true end
  end
  return false
end

--- Whether a posted command waits for a connection.
function Link.is_stuck(self)
  return self.state == "down" and self:owes()
end

--- Waits for the replies of all posted commands: true, or nil, err, kind.
function Link.drain(self)
  if not self:owes() then return true end
  local answer, err, kind = self:call(false, "PING")
  if not answer then return nil, err, kind end
  return true
end

--- Waits until there is a connection: true, or nil, err, kind.
function Link.ready(self)
  if self.state == "ready" and async.usable(self.generation) then return true end
  local answer, err, kind = self:call(false, "PING")
  if not answer then return nil, err, kind end
  return true
end

function Link.close(self)
  self.closed = true
  hang_up(self)
  fail_all(self, Link.closed_error())
end

-- ---- making one ----

local needs_hiredis = "a Redis store needs fleet/redis.so, which is built where hiredis is found: install libhiredis-dev and build again"

--- A link to a place (of address.lua), which connects at first use. owner: memories(forgot) returns the commands that restore lost data,
--- all of it or the newest; has_memories() says whether there are any; on_settings(settings) gets the server's settings. Returns the link,
--- or nil, err, kind.
return function(place, owner)
  local found, redis = pcall(require, "fleet.redis")
  if not found then return failure("store", needs_hiredis) end
  local self = setmetatable({
    redis = redis, place = place, state = "down", queue = {}, first = 1, last = 0, sent = 0, attempt = -1, numbered = 0, closed = false,
    retry_at = 0, pause = first_pause, quiet_until = 0, timeout = place.timeout or default_timeout,
    generation = async.generation(), warn = place.warn or function() end,
    owner = owner,
  }, Link)
  self.on_ready = function()
    if self.connection then progress(self) end
  end
  return self
end
