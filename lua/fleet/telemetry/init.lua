-- A receiver of vehicles' telemetry on the loop: new{ … } listens, vehicles connect with their certificates, and the receiver delivers
-- their records. src/stream has TLS, frames, envelopes and acknowledgements; vehicle.lua has the state of a vehicle.
-- doc/manual/telemetry-receiver.md.

local certificates = require "fleet.telemetry.certificates"
local check_options = require "fleet.util.check_options"
local compat = require "fleet.util.compat"
local core = require "fleet.core"
local errors = require "fleet.util.errors"
local fields = require "fleet.telemetry.fields"
local fifos = require "fleet.telemetry.fifo"
local options = require "fleet.telemetry.options"
local records = require "fleet.telemetry.records"
local tables = require "fleet.util.tables"
local tasks = require "fleet.async"
local vehicles = require "fleet.telemetry.vehicle"

local M = {}

local Receiver = {}
local receiver_mt = { __index = Receiver, __name = "fleet.telemetry" }

local longest_drain = 0.004 -- seconds per iteration of the loop
local certificates_every, save_every = 1, 30 -- seconds; only while records arrive
local waiting_records = 256 -- per reader
local messages_of_piece = 512 -- per 16 KB read: more than fit
local topics = { V = true, alerts = true, errors = true }

function receiver_mt.__tostring(self)
  return self.raw and "fleet.telemetry (port " .. self.port .. ")" or "fleet.telemetry (closed)"
end

-- ---- reports ----

local function wall() return (select(2, tasks.loop.clock())) end

-- The text of an error, also of one whose __tostring fails: a queue must go on.
local function text_of(failure)
  local ran, text = pcall(tostring, failure)
  return ran and text or "an error that cannot be printed"
end

local function print_notice(text) io.stderr:write("fleet: telemetry: ", text, "\n") end

-- Reports failures of the functions that the receiver calls, certificates and limits. A repeated text is reported once. An error of
-- on_notice goes to standard error: passed to on_notice again, it would fail again.
local function notice(self, kind, text)
  if self.reported[kind] == text then return end
  local on_notice, limits = self.options.on_notice, self.options.limits
  if on_notice and self.calls:size() >= 2 * limits.unacknowledged then -- on_notice hangs; events take half of the queue
    self.counts.unreported = self.counts.unreported + 1
    return
  end
  self.reported[kind] = text
  if not on_notice then return print_notice(text) end
  self.calls:push(function()
    local ran, failure = compat.pcall(on_notice, text)
    if not ran then print_notice("on_notice failed: " .. text_of(failure) .. ", at: " .. text) end
  end)
end

local function report_connection(outputs, on_connection, entry)
  for _, output in ipairs(outputs) do
    if output.connection then output:connection(entry) end
  end
  if on_connection then on_connection(entry) end
end

-- Reports an event of a connection, in a task: what the caller does afterwards may be delayed.
local function event(self, vehicle, what, record, reason)
  self.counts[what] = (self.counts[what] or 0) + 1
  local on_connection, outputs = self.options.on_connection, self.options.outputs
  if not on_connection and not outputs[1] then return end
  local entry = {
    type = what, vin = record.kind == "vehicle_device" and record.id or nil, kind = record.kind, at = record.arrived,
    address = record.address, interface = record.network_interface, client_version = record.client_version,
    connection = record.connection, reason = reason or record.reason, online = vehicle and vehicle.online or false,
  }
  local calls = vehicle and vehicle.calls or self.calls
  if calls:size() >= self.options.limits.unacknowledged then
    self.counts.unreported = self.counts.unreported + 1
    notice(self, "events", "events of connections are dropped while 'on_connection' or an output is behind (unreported in stats)")
  else
    calls:run(report_connection, outputs, on_connection, entry)
  end
end

-- Calls the functions of receiver:listen.
local function call_listeners(self, vehicle, what, record, changed)
  local listeners = self.listeners[vehicle.vin]
  if not listeners then return end
  for fn in pairs(tables.copy(listeners)) do
    local ran, failure = pcall(fn, vehicle, what, record, changed)
    if not ran then notice(self, "function", "a listener failed: " .. text_of(failure)) end
  end
end

-- ---- vehicles ----

local function key_of(vin) return "telemetry/" .. vin end

-- Reads the stored state of a vehicle. While the store cannot be read, `unread` keeps its record from being overwritten.
local function read_kept(self, vehicle)
  local text, err, kind = self.options.store:get(key_of(vehicle.vin))
  vehicle.unread = text == nil and kind ~= nil
  if vehicle.unread then return nil, err end
  if text then vehicles.restore(vehicle, text) end
  return true
end

-- The state of a vehicle; with a store it may wait.
local function known(self, vin)
  local vehicle = self.vehicles[vin]
  if vehicle and not vehicle.unread then return vehicle end
  if not vehicle then
    vehicle = vehicles.new(vin)
    vehicle.calls, vehicle.tokens, vehicle.tokens_at = fifos.new(self.on_failure, vin), self.options.limits.per_minute, tasks.now()
  end
  if self.options.store then
    local done, err = read_kept(self, vehicle)
    if not done then notice(self, "store", "kept values are not read: " .. tostring(err)) end
  end
  self.vehicles[vin] = self.vehicles[vin] or vehicle -- another task may have read it in the meantime
  return self.vehicles[vin]
end

local function save(self)
  for vin, vehicle in pairs(tables.copy(self.vehicles)) do -- a copy: the store may wait, and vehicles may be added
    if vehicle.dirty then
      local done, err = true, nil
      if vehicle.unread then done, err = read_kept(self, vehicle) end
      vehicle.dirty = false
      if done then done, err = self.options.store:put(key_of(vin), vehicles.text(vehicle), {}) end
      if not done then
        vehicle.dirty = true
        return notice(self, "store", "newest values are not kept: " .. tostring(err))
      end
    end
  end
end

-- ---- connections ----

local function refused(self, record, handle, reason)
  handle:admit(false)
  event(self, nil, "refused", record, reason)
end

local function admission(self, record, handle)
  local vin = record.id
  if record.kind ~= "vehicle_device" then return refused(self, record, handle, "it is a " .. record.kind .. ", not a vehicle") end
  if not core.is_vin(vin) then return refused(self, record, handle, "its certificate's name is not a VIN") end
  if self.options.allowed(vin) ~= true then return refused(self, record, handle, "it is not among 'vehicles'") end
  local vehicle = known(self, vin)
  if self.raw == nil then return end
  if not handle:admit(true) then return end -- it has disconnected
  while vehicle.sockets >= self.options.limits.vehicle_connections do
    vehicles.drop_oldest(vehicle, wall()):end_connection(1008, "the vehicle has connected again")
  end
  vehicles.joins(vehicle, record, handle)
  call_listeners(self, vehicle, "connected", record)
  event(self, vehicle, "connected", record)
end

-- May wait for the store, and for the caller's function.
local function connected(self, record, handle)
  tasks.spawn(function()
    local ran, failure = compat.pcall(admission, self, record, handle)
    if ran then return end
    refused(self, record, handle, "'vehicles' or 'store' failed")
    notice(self, "function", "a vehicle could not be admitted: " .. text_of(failure))
  end)
end

local function disconnected(self, record)
  local vehicle = self.vehicles[record.id]
  if not vehicle then return end
  vehicles.leaves(vehicle, record)
  if vehicle.sockets == 0 then self.saved_at = -math.huge end
  call_listeners(self, vehicle, "disconnected", record)
  event(self, vehicle, "disconnected", record)
end

-- ---- records ----

-- Completes the record for the caller.
local function complete(record, arrived)
  record.arrived, record.at = arrived, record.at or arrived
  if record.values then fields.complete(record) end
  record.signals = record.signals or record.alerts and #record.alerts or 0
end

local function wake_waits(self, vehicle, record)
  local waits = self.waits[vehicle.vin]
  if not waits then return end
  for wait in pairs(tables.copy(waits)) do
    if record.values[wait.name] ~= nil then wait.look() end
  end
end

-- Waits with await_for or await_work until the seconds have passed, or the receiver closes or has closed.
local function pause(self, seconds, await)
  local promise = tasks.promise()
  self.pauses[promise] = true
  local ran, raised = compat.pcall(await, promise, seconds)
  self.pauses[promise] = nil
  if not ran then error(raised, 0) end
end

local function end_pauses(self)
  for promise in pairs(self.pauses) do tasks.wake(promise) end
end

local function name_of(output) return type(output.name) == "string" and "the output " .. output.name or "an output" end

-- Checks an output at the start until it can be used: without records, a wrong address or password would not show.
local function check_output(self, output)
  local seconds = 1
  while self.raw do
    local ran, done, err = compat.pcall(output.check, output)
    if not self.raw then return end
    if ran and done then
      if self.failing[output] then notice(self, output, name_of(output) .. " can be used now") end
      self.failing[output] = nil
      return
    end
    self.failing[output] = true
    notice(self, output, name_of(output) .. " cannot be used, and records wait: " .. text_of(ran and err or done))
    pause(self, seconds, tasks.await_work)
    seconds = math.min(seconds * 2, 30)
  end
end

-- Stores a record in one output. While the output is unavailable, the vehicle waits. A closing receiver tries once more.
local function store_in(self, output, record)
  local seconds = 1
  while true do
    local done, err = output:store(record)
    if done and self.failing[output] then
      self.failing[output] = nil
      notice(self, output, name_of(output) .. " stores records again")
    end
    if done or not self.raw then return done end
    if not self.failing[output] then notice(self, output, "records wait for " .. name_of(output) .. ": " .. text_of(err)) end
    self.failing[output] = true
    if self.raw then pause(self, seconds, tasks.await_for) end
    seconds = math.min(seconds * 2, 30)
  end
end

local function lost(self)
  self.counts.lost = self.counts.lost + 1
  notice(self, "lost", "records that were acknowledged are lost: an output has not stored them (lost in stats)")
end

-- Gives the record to on_record and to each output, even when another one fails.
local function hand_over(self, record, handle, answered)
  local good, kept, failure, stored = true, true, nil, true
  if self.options.on_record then
    good, stored = compat.pcall(self.options.on_record, record)
    if not good then failure = stored end
  end
  for _, output in ipairs(self.options.outputs) do
    local ran, done = compat.pcall(store_in, self, output, record)
    if not ran then good, failure = false, good and done or failure end
    kept = kept and ran and done == true
  end
  if answered then
    if not kept then lost(self) end
  elseif good and kept and (self.options.ack == "at_once" or stored == true) then
    handle:acknowledge()
  else
    if good then self.counts.unstored = self.counts.unstored + 1 end
    handle:leave()
  end
  if not good then error(failure, 0) end
end

-- Whether a queue of the vehicle's accepts another message: messages of ended connections stay in it and must not add up. A connection may
-- exceed its limit, because its bytes are read in pieces.
local function has_room(self, queue)
  local limits = self.options.limits
  return queue:size() < (limits.unacknowledged + messages_of_piece) * limits.vehicle_connections
end

local function leave(self, vehicle, handle)
  self.counts.unstored = self.counts.unstored + 1
  notice(self, "behind" .. vehicle.vin, "…" .. string.sub(vehicle.vin, -4) .. " connects again and again while its records wait: "
    .. "messages are not acknowledged (unstored in stats)")
  handle:leave()
end

-- Acknowledges a record when it is stored; with at_once as soon as it is received, unless the caller's function is still running: the
-- vehicle then waits, so that no queue grows.
local function deliver(self, vehicle, record, handle)
  if not self.options.on_record and not self.options.outputs[1] then return handle:acknowledge() end
  if not has_room(self, vehicle.calls) then return leave(self, vehicle, handle) end
  local answered = self.options.ack == "at_once" and vehicle.calls:size() < self.options.limits.unacknowledged / 2
  if answered then handle:acknowledge() end
  vehicle.calls:run(hand_over, self, record, handle, answered)
end

local function take(self, vehicle, record, handle)
  vehicle.signals = vehicle.signals + record.signals
  self.counts.signals = self.counts.signals + record.signals
  if record.topic == "V" then
    if self.count_signals then self.count_signals(vehicle.vin, record.signals) end
    local changed = vehicles.learn(vehicle, record, self.listeners[vehicle.vin] ~= nil)
    wake_waits(self, vehicle, record)
    call_listeners(self, vehicle, "record", record, changed)
  end
  for reader in pairs(self.readers) do
    if not reader.vin or reader.vin == record.vin then reader:push(record) end
    if reader.lost > 0 then
      notice(self, "reader", "a task that reads records() is too slow: it loses the oldest (lost of the reader counts them)")
    end
  end
  deliver(self, vehicle, record, handle)
end

-- Seconds until the vehicle may send another message; 0 takes a token.
local function take_token(self, vehicle, now)
  local most = self.options.limits.per_minute
  vehicle.tokens = math.min(most, vehicle.tokens + (now - vehicle.tokens_at) * most / 60)
  vehicle.tokens_at = now
  if vehicle.tokens < 1 then return (1 - vehicle.tokens) * 60 / most end
  vehicle.tokens = vehicle.tokens - 1
  return 0
end

-- Delays a vehicle that sends too much: its messages are processed later, and its bytes are not read in the meantime.
local function hold_back(self, vehicle, record, handle)
  vehicle.delayed = vehicle.delayed or fifos.new(self.on_failure, vehicle.vin)
  if not has_room(self, vehicle.delayed) then return leave(self, vehicle, handle) end
  vehicle.delayed:push(function()
    while self.raw do
      local seconds = take_token(self, vehicle, tasks.now())
      if seconds == 0 then return take(self, vehicle, record, handle) end
      pause(self, seconds, tasks.await_for)
    end
  end)
  self.counts.limited = self.counts.limited + 1
  notice(self, "limit" .. vehicle.vin, string.format("…%s sends more than %d messages a minute (limit per_minute): they are taken later",
    string.sub(vehicle.vin, -4), self.options.limits.per_minute))
end

local function message(self, record, handle)
  local vehicle = self.vehicles[record.vin]
  if not vehicle then return handle:leave() end
  if not topics[record.topic] then -- the topic connectivity is the receiver's own: a vehicle must not send it
    self.counts.ignored = self.counts.ignored + 1
    return handle:acknowledge()
  end
  local now, wall_time = tasks.loop.clock()
  complete(record, wall_time)
  local is_behind = vehicle.delayed and vehicle.delayed:is_working()
  if is_behind or take_token(self, vehicle, now) > 0 then return hold_back(self, vehicle, record, handle) end
  take(self, vehicle, record, handle)
end

local arrivals = {
  connected = connected, message = message, disconnected = disconnected,
  refused = function(self, record) event(self, nil, "refused", record) end,
  damaged = function(self, record) event(self, self.vehicles[record.id], "damaged", record) end,
}

-- ---- tasks ----

local function take_arrival(self, what, record, handle)
  local ran, failure = compat.pcall(arrivals[what], self, record, handle)
  if ran then return end
  if what == "message" then handle:leave() end -- for instance without memory
  local vehicle = self.vehicles[record.vin or record.id]
  local calls = vehicle and vehicle.calls or self.calls
  calls:leave()
  notice(self, "function", "what a vehicle sent was not taken: " .. text_of(failure))
end

local function take_rest(self)
  self.rest = nil
  self:arrived()
end

-- One task takes the rest in the next iteration of the loop: with one more for each iteration, an overloaded receiver would block the loop.
local function leave_rest(self)
  self.rest = self.rest or tasks.spawn(take_rest, self)
end

-- Takes what has arrived, until the time for it has passed. A function may cancel the task.
local function drain(self)
  local task = tasks.current()
  while self.raw and not task.cancelled do
    local what, record, handle = self.raw:take()
    if not what then return end
    take_arrival(self, what, record, handle)
    if tasks.real() > self.drains_until then return leave_rest(self) end
  end
end

-- The functions of the caller may wait. Then another task takes what arrives meanwhile, and this one ends when it has gone on.
local function work(self)
  repeat
    drain(self)
    if self.idle or not self.raw then return end
    self.idle = tasks.promise()
    tasks.await_work(self.idle)
  until not self.raw
end

-- ---- certificate files that change ----

--- Reads the certificate files again, for new connections. Returns true; or nil, err, kind, and the earlier ones stay in use.
function Receiver:reload()
  if not self.raw then return errors.failure("closed", "the receiver is closed") end
  local pem, err, kind = certificates.read(options.where, self.options)
  if not pem then return nil, err, kind end
  if certificates.equal(pem, self.pem) then return true end
  local done
  done, err, kind = self.raw:renew(pem)
  if not done then return nil, err, kind end
  self.pem = pem
  self:remarks()
  notice(self, "certificate", "the certificates were read again")
  return true
end

-- Checks the files before connections are accepted, so that a new connection gets the new certificate.
local function keep_certificates(self)
  if not self.has_files or tasks.now() - self.certificates_at < certificates_every then return end
  self.certificates_at = tasks.now()
  local done, err = self:reload()
  if not done then notice(self, "certificate", "the certificates that are in use stay: " .. tostring(err)) end
end

local function save_all(self)
  local ran, failure = compat.pcall(save, self)
  if not ran then notice(self, "store", "newest values are not kept: " .. text_of(failure)) end
end

local function keep_values(self)
  if not self.options.store or self.saving or tasks.now() - self.saved_at < save_every then return end
  self.saved_at = tasks.now()
  tasks.spawn(function()
    save_all(self)
    self.saving = false
  end)
  self.saving = true -- after spawn, which may fail for lack of memory
end

--- Sentences about the vehicles' authorities; on_notice gets them too.
function Receiver:remarks()
  local authorities = self.library.authorities(self.pem.client_ca)
  local remarks = authorities and certificates.remarks(authorities) or {}
  for i, text in ipairs(remarks) do notice(self, "authorities" .. i, text) end
  return remarks
end

-- ---- making one ----

-- raw: the source of connections and messages.
local function over(raw, read)
  local self = setmetatable({
    options = read, raw = raw, port = read.port, vehicles = {}, waits = {}, reported = {}, listeners = {},
    certificates_at = tasks.now(), saved_at = tasks.now(), saving = false,
    readers = setmetatable({}, { __mode = "k" }), -- weak: readers that a loop has left are forgotten
    counts = { signals = 0, limited = 0, ignored = 0, unstored = 0, lost = 0, unreported = 0, damaged = 0, refused = 0 },
    idle = nil, rest = nil, drains_until = 0, pauses = {}, closed = false, -- pauses: promises that closing wakes
    failing = {}, -- outputs that have not stored a record since they were reported
  }, receiver_mt)
  function self.on_failure(failure, vin)
    notice(self, "function", "a function that was given failed" .. (vin and " for …" .. string.sub(vin, -4) or "") .. ": "
      .. text_of(failure))
  end
  self.calls = fifos.new(self.on_failure)
  return self
end

--- Processes what has arrived, some of it in the next iteration of the loop.
function Receiver:arrived()
  if self.rest then return end
  self.drains_until = tasks.real() + longest_drain
  local task, waits
  repeat
    local idle = self.idle
    self.idle = nil
    task = idle and tasks.continue(idle) or tasks.start(work, self)
    waits = task.state == "running" and not self.idle -- a function does
  until not waits or tasks.real() > self.drains_until
  if waits or task.cancelled then leave_rest(self) end
  keep_values(self)
end

--- The options and limits as rows, for the command line and the manual.
M.options, M.limits = options.list, options.limits

--- A listening receiver, or nil, err, kind. Raises for a wrong option. See doc/manual/telemetry-receiver.md.
function M.new(given)
  local read = options.read(given)
  local pem, err, kind = certificates.read(options.where, read)
  if not pem then return nil, err, kind end
  local library, why = require("fleet.util.optional_module").find "stream"
  if not library then return errors.failure("unsupported", why) end
  tasks.reopen_after_fork()
  local limits = read.limits
  local raw
  raw, err, kind = library.receiver {
    host = read.host, port = read.port, certificate = pem.certificate, certificate_key = pem.certificate_key, client_ca = pem.client_ca,
    message = limits.message, connections = limits.connections, unacknowledged = limits.unacknowledged,
    proxies = read.proxy_protocol or nil, reuse_port = read.reuse_port,
  }
  if not raw then return nil, err, kind end
  local self = over(raw, read)
  self.pem, self.port, self.library, self.has_files = pem, raw:port(), library, certificates.are_files(read)
  self.watch = tasks.loop.watch(raw:fd(), "r", function()
    if not self.raw then return end
    keep_certificates(self)
    local full = self.raw:step()
    if full then notice(self, "full", "new connections wait: " .. full) end
    self:arrived()
  end)
  self:remarks()
  for _, output in ipairs(read.outputs) do
    if output.check then tasks.spawn(check_output, self, output) end
  end
  return self
end

--- A receiver of a simulation, without a network: raw has the methods take, stats and close of fleet.stream's listener. Options as for new.
--- receiver:arrived() processes what has arrived.
function M.over(raw, given)
  return over(raw, options.read(tables.copy(given, { port = 0 })))
end

-- ---- queries ----

local function check_vin(self, name, vin)
  if not core.is_vin(vin) then errors.usage("%s: '%s' is not a VIN", name, tostring(vin)) end
  if self.options.allowed(vin) ~= true then errors.usage("%s: …%s is not among 'vehicles'", name, string.sub(vin, -4)) end
end

--- The state of a vehicle: { online, since, interface, client_version, values, at, age(name) }. It stays up to date. For a vehicle that is
--- not connected here, it first reads the values that other receivers wrote to the same Redis.
function Receiver:vehicle(vin)
  check_vin(self, "vehicle", vin)
  local vehicle = known(self, vin)
  if vehicle.sockets > 0 then return vehicle end
  for _, output in ipairs(self.options.outputs) do
    local done, err = true, nil
    if output.refresh then done, err = output:refresh(vehicle) end
    if not done then notice(self, "output", "newest values were not read: " .. tostring(err)) end
  end
  return vehicle
end

--- Waits until a field has a value, or a function of the value returns true; without either, until the vehicle sends the field. A value
--- that is already known counts. Returns the value and its time, or nil, err, "timeout".
function Receiver:wait(vin, name, wanted, given)
  check_vin(self, "wait", vin)
  if type(name) ~= "string" or name == "" then errors.usage("wait: the field's name must be a text") end
  check_options.names("wait", "option", given, { "timeout" })
  local timeout = check_options.seconds("wait", "timeout", given and given.timeout, 300)
  local vehicle = known(self, vin)
  local promise, found, at, failure = tasks.promise(), nil, nil, nil
  local holds = type(wanted) == "function" and wanted or function(value) return wanted == nil or value == wanted end
  local function look()
    local value = vehicle.values[name]
    if value == nil or found ~= nil then return end
    local ran, yes = pcall(holds, value)
    if not ran then failure = yes end
    if ran and not yes then return end
    found, at = value, vehicle.at[name]
    tasks.wake(promise)
  end
  if wanted ~= nil then look() end
  if found == nil and self.raw then
    local waits = self.waits[vin] or {}
    local wait = { name = name, look = look, promise = promise }
    self.waits[vin], waits[wait] = waits, true
    local ran, raised = compat.pcall(tasks.await_for, promise, timeout)
    waits[wait] = nil
    if not next(waits) then self.waits[vin] = nil end
    if not ran then error(raised, 0) end
  end
  if failure then error(failure, 0) end
  if found ~= nil then return found, at end
  if not self.raw then return errors.failure("closed", "wait: the receiver is closed") end
  local last = vehicle.values[name]
  return errors.failure("timeout", string.format("wait: %s has not become so within %g s; the vehicle is %s, and the newest value is %s",
    name, timeout, vehicle.online and "connected" or "not connected", last == nil and "not known" or tostring(last)))
end

--- Calls fn(vehicle, what, record, changed) at once for each record of values ("record"; changed: a set of the fields whose value has
--- changed) and each connection ("connected", "disconnected") of a vehicle. fn must not wait. Returns a function that removes the listener.
function Receiver:listen(vin, fn)
  check_vin(self, "listen", vin)
  self.listeners[vin] = self.listeners[vin] or {}
  self.listeners[vin][fn] = true
  return function() self.listeners[vin][fn] = nil end
end

--- An iterator over the records of a vehicle, or of all, for a task: `for record in receiver:records(vin) do`. When more than 256 records
--- wait for a slow reader, it loses the oldest; its member `lost` counts them. close() ends it. Tasks that share an iterator share its
--- records.
function Receiver:records(vin)
  if vin ~= nil then check_vin(self, "records", vin) end
  local reader = records.new(vin, waiting_records)
  if self.raw then self.readers[reader] = true else reader:close() end
  return reader
end

--- Counters since the receiver was made: connections, accepted, handshakes_failed, messages, acknowledged, signals, online, vehicles,
--- limited, ignored, unstored, lost, unreported, damaged, refused; and those of its outputs.
function Receiver:stats()
  local stats = tables.copy(self.counts, self.raw and self.raw:stats() or self.last_stats)
  stats.online, stats.vehicles = 0, 0
  for _, vehicle in pairs(self.vehicles) do
    stats.vehicles = stats.vehicles + 1
    if vehicle.online then stats.online = stats.online + 1 end
  end
  for _, output in ipairs(self.options.outputs) do stats = tables.copy(stats, output.counts) end
  return stats
end

-- Waits until the calls that are queued have ended.
local function await_end(queue)
  if not queue:is_working() then return end
  local promise = tasks.promise()
  queue:push(function() tasks.wake(promise) end)
  tasks.await(promise)
end

-- Closes the outputs after they have received the records that were already acknowledged.
local function close_outputs(self)
  for _, vehicle in pairs(tables.copy(self.vehicles)) do
    await_end(vehicle.calls)
  end
  await_end(self.calls)
  for _, output in ipairs(self.options.outputs) do
    local ran, failure = true, nil
    if output.close then ran, failure = compat.pcall(output.close, output) end
    if not ran then notice(self, "output", "an output could not be closed: " .. text_of(failure)) end
  end
  self.closed = true
  end_pauses(self)
end

--- Ends all connections and all waits for records. Outputs still get the acknowledged records, and then close. May be called twice.
function Receiver:close()
  local raw = self.raw
  if not raw then return end
  self.last_stats = raw:stats()
  self.last_stats.connections = 0
  self.raw = nil
  if self.watch then self.watch:close() end
  raw:close()
  end_pauses(self)
  for _, vehicle in pairs(self.vehicles) do
    vehicle.sockets, vehicle.connections, vehicle.left = 0, {}, nil
    if vehicle.delayed then vehicle.delayed:clear() end
  end
  for _, waits in pairs(self.waits) do
    for wait in pairs(waits) do tasks.wake(wait.promise) end
  end
  for reader in pairs(self.readers) do reader:close() end
  if self.idle then tasks.wake(self.idle) end
  tasks.spawn(close_outputs, self)
  if self.options.store then save_all(self) end
end

--- Closes and waits until the outputs have stored the acknowledged records. Returns true; or nil, err, kind when records were lost, or
--- still wait after the timeout (10 seconds).
function Receiver:finish(given)
  check_options.names("finish", "option", given, { "timeout" })
  local timeout = check_options.seconds("finish", "timeout", given and given.timeout, 10)
  self:close()
  local until_ = tasks.now() + timeout
  while not self.closed and tasks.now() < until_ do pause(self, until_ - tasks.now(), tasks.await_for) end
  local waiting = 0
  for _, vehicle in pairs(self.vehicles) do waiting = waiting + vehicle.calls:size() end
  if self.counts.lost == 0 and waiting == 0 then return true end
  return errors.failure("store", string.format("finish: %d acknowledged records were not stored; %d records and events still wait",
    self.counts.lost, waiting))
end

receiver_mt.__close = Receiver.close

return M
