-- fleet.store.file(directory): one file per key, for several processes of one machine.
--
-- src/store writes the files. This file waits while other processes write, and defers writes, which it makes at most once a second and at
-- close. A lease ends when its process ends, normally or not; its ttl is ignored.

local async = require "fleet.async"
local core = require "fleet.core"
local counters = require "fleet.store.counters"
local errors = require "fleet.util.errors"
local contract = require "fleet.store"

local behind = 1 -- seconds between flushes of deferred writes
local slice, slice_pause = 16, 0.01 -- records per iteration of the loop, and seconds until the next
local lock_seconds = 20 -- flash memory with few free pages blocks for several seconds
local lock_pause, quick_tries, task_pause = 0.0005, 10, 0.01 -- seconds; a write takes microseconds, so the first tries follow quickly
local swept_every, swept_again, swept_at_once = 1, 3600, 256 -- seconds, seconds, files
local largest = 1048576

local failure = errors.failure

-- ---- the store ----

local File = {}
File.__index = File

local function warn_of(self, err)
  self.warn("the store cannot be written, what is not a token stays in memory: " .. err.message)
end

-- Pauses while another process writes. The loop continues; a forked child does not run it, because it is the parent's.
local function pause(self, tries)
  if self.sleep then return self.sleep(lock_pause) end
  if tries <= quick_tries or not async.usable(async.generation()) then return core.pause(lock_pause) end
  async.sleep(task_pause)
end

-- Until when to try, in real seconds: not longer than the call's own deadline.
local function patience()
  local task = async.current()
  local deadline = async.real() + lock_seconds
  return task and task.call_deadline and math.min(deadline, task.call_deadline) or deadline
end

-- Calls a method of the records, or one of the functions below, again until no other process is writing: it returns false while one is.
local function run(self, act, ...)
  local tries, deadline = 0, nil
  repeat
    local value, more, kind = act(self, ...)
    if value ~= false then return value, more, kind end
    tries, deadline = tries + 1, deadline or patience()
    pause(self, tries)
  until tries > quick_tries and async.real() >= deadline
  local _, err, kind = failure("store", "another process keeps the store locked: end it, or the backup that has its 'lock' open")
  if self.deferred_count > 0 then warn_of(self, err) end
  return nil, err, kind
end

local function call_records(self, method, ...)
  return self.records[method](self.records, ...)
end

-- The wall clock by which the expiry of a key's record is judged.
local function wall_of(self, key)
  return self.ends:wall_of(key, self.clock())
end

-- ---- deferred records ----
--
-- self.deferred has the deferred records by key: { value =, generation =, ends = UTC seconds or nil, leased = whether it may stay deferred
-- after its lease is released }. A deferred record never hides or overwrites a newer one of another process.

local function keep_deferred(self, key, record)
  local replaces = self.deferred[key]
  self.deferred[key] = record
  if not replaces then self.deferred_count = self.deferred_count + 1 end
end

local function drop_deferred(self, key)
  if not self.deferred[key] then return end
  self.deferred[key], self.deferred_count = nil, self.deferred_count - 1
end

-- Returns true, also when no record is deferred.
local function write_deferred(self, key, wall)
  local record = self.deferred[key]
  if not record then return true end
  local generation, err, kind = self.records:put(key, record.value, wall, record.ends, false, nil, nil, nil, record.generation)
  if not generation then return generation, err, kind end
  drop_deferred(self, key)
  return true
end

-- Writes the deferred record before another change of the key.
local function write_first(self, key, wall)
  local done, err, kind = write_deferred(self, key, wall)
  if done == nil then warn_of(self, err) end
  return done, err, kind
end

-- Writes at most so many records. Returns the first failure.
local function write_some(self, most, wall)
  local keys, failed, failed_kind = {}, nil, nil
  for key in pairs(self.deferred) do
    if #keys >= most then break end
    keys[#keys + 1] = key
  end
  for _, key in ipairs(keys) do
    local done, err, kind = write_deferred(self, key, wall)
    if done == false then return false end
    if not done and not failed then failed, failed_kind = err, kind end
  end
  if not failed then return true end
  warn_of(self, failed)
  return nil, failed, failed_kind
end

function File.flush(self, most)
  self.written = self.clock()
  local _, wall = self.clock()
  local done, err, kind = run(self, write_some, most or math.huge, wall)
  if not done then return nil, err, kind end
  if self.deferred_count > 0 then self.written = self.written - behind + slice_pause end
  return true
end

function File.due(self)
  if self.deferred_count == 0 then return nil end
  return math.max(self.written + behind - (self.clock()), 0)
end

-- ---- reading ----

local function get(self, key, wall)
  local value, generation, kind = self.records:get(key, wall)
  local record = self.deferred[key]
  if not record then return value, generation, kind end
  if value and generation >= record.generation then
    drop_deferred(self, key)
    return value, generation
  end
  if record.ends and record.ends <= wall then return nil, 0 end
  return record.value, record.generation
end

function File.get(self, key)
  return run(self, get, key, wall_of(self, key))
end

-- ---- leases and tickets ----

local Lease = {}
Lease.__index = Lease

function Lease.renew(lease)
  if lease.released then return failure("conflict", "the lease was released") end
  return lease.lock:renew()
end

-- The lease is released last: a task that is cancelled while it waits for the disk releases it again.
function Lease.release(lease)
  if lease.released then return true end
  local store = lease.store
  local record = store.deferred[lease.key]
  if record and not record.leased then run(store, write_first, lease.key, wall_of(store, lease.key)) end
  if lease.released then return true end
  lease.released = true
  store.records:release(lease.key, lease.lock)
  lease.lock = nil
  return true
end

local Ticket = {}
Ticket.__index = Ticket

function Ticket.close(ticket)
  ticket.draft:close()
  return true
end

-- ---- writing ----

local function delete(self, key, wall, generation)
  local done, err, kind = write_first(self, key, wall)
  if not done then return done, err, kind end
  return self.records:remove(key, wall, generation)
end

local function forget_ended(self, key)
  return run(self, call_records, "remove", key, wall_of(self, key), nil, true)
end

-- A put that compares first writes the deferred record; any other put replaces it.
local function put(self, key, value, wall, ends, options, lock, draft)
  if options.generation then
    local done, err, kind = write_first(self, key, wall)
    if not done then return done, err, kind end
  end
  local replaced = self.deferred[key]
  local generation, err, kind = self.records:put(key, value, wall, ends, options.durable, options.generation, lock, draft, nil,
    replaced and replaced.generation)
  if generation then drop_deferred(self, key) end
  return generation, err, kind
end

local function put_now(self, key, value, wall, ends, options)
  local lease, ticket = options.lease, options.ticket
  local generation, err, kind = run(self, put, key, value, wall, ends, options, lease and lease.lock, ticket and ticket.draft)
  if lease and generation then lease.generation = generation end
  return generation, err, kind
end

-- Defers a put. Returns the generation, and true when it was deferred; it is not when that generation belongs to immediate writes. last:
-- the generation that the lease wrote last, or nil.
local function defer(self, key, value, ends, leased, last)
  local before = self.deferred[key]
  local generation, fits, kind = self.records:next(key, before and before.generation or last)
  if not generation then return generation, fits, kind end
  if fits then keep_deferred(self, key, { value = value, generation = generation, ends = ends, leased = leased }) end
  return generation, fits
end

local function put_behind(self, key, value, wall, ends, options)
  local lease = options.lease
  local generation, deferred = run(self, defer, key, value, ends, lease ~= nil, lease and lease.generation)
  if not generation then -- a put is deferred even when the disk cannot be written
    local _, read = File.get(self, key)
    generation, deferred = run(self, defer, key, value, ends, lease ~= nil, type(read) == "number" and read or 0)
  end
  if not deferred then return put_now(self, key, value, wall, ends, options) end
  if (self.clock()) - self.written >= behind then File.flush(self, slice) end
  return generation
end

-- Removes expired records, also those of ended processes: some files each second, all of them each hour.
local function sweep(self, mono, wall)
  if mono < self.sweep_at then return end
  local more, ended = self.records:sweep(wall, swept_at_once)
  self.sweep_at = mono + (more and swept_every or swept_again)
  for _, key in ipairs(ended) do forget_ended(self, key) end
end

-- Records when a written record expires; ttl nil: never.
local function note(self, key, ttl, mono, wall)
  self.ends:note(key, ttl, mono, wall)
  if ttl then sweep(self, mono, wall) end
end

function File.put(self, key, value, options)
  local lease, ttl = options.lease, options.ttl
  if #value > largest then return failure("store", "the value is too large to be stored") end
  if lease and lease.released then return failure("conflict", "another process has the lease now") end
  local now, wall = self.clock()
  local ends, judged_by = ttl and wall + ttl, wall_of(self, key)
  -- A record that other processes compare or lease is written at once, unless the caller allows deferring.
  local may_wait = not (options.durable or options.generation or options.ticket) and (options.behind or not lease)
  local generation, err, kind = (may_wait and put_behind or put_now)(self, key, value, judged_by, ends, options)
  if generation then note(self, key, ttl, now, wall) end
  return generation, err, kind
end

local function add(self, key, wall, amounts, ends)
  local done, err, kind = write_first(self, key, wall)
  if not done then return done, err, kind end
  return self.records:add(key, wall, amounts, ends)
end

function File.add(self, key, amounts, options)
  local now, wall = self.clock()
  local ttl, changes = options.ttl, next(amounts) ~= nil
  local totals, err, kind = run(self, add, key, wall_of(self, key), counters.text(amounts), changes and ttl and wall + ttl or nil)
  if not totals then return nil, err, kind end
  if changes then note(self, key, ttl, now, wall) end
  return counters.totals(totals)
end

function File.delete(self, key, generation)
  return run(self, delete, key, wall_of(self, key), generation)
end

function File.reserve(self, key, bytes)
  if bytes > largest then return failure("store", "the value is too large to be stored") end
  local draft, err, kind = run(self, call_records, "reserve", key, bytes)
  if not draft then return nil, err, kind end
  return setmetatable({ key = key, draft = draft }, Ticket)
end

-- Allocates the table first: nothing may fail once the lock is taken.
function File.lease(self, key)
  local lease = setmetatable({ key = key, fence = false, lock = false, store = self, released = false }, Lease)
  local lock, fence, kind = run(self, call_records, "lease", key)
  if not lock then return nil, fence, kind end
  lease.lock, lease.fence = lock, fence
  return lease
end

function File.close(self)
  local done, err, kind = File.flush(self)
  self.records:close()
  self.deferred, self.deferred_count = {}, 0
  return done, err, kind
end

local M = {}

--- Opens the store in a directory, which is created with mode 0700 when it is missing. options: clock, function() -> mono, wall
--- (default: fleet.store.clock); sleep, function(seconds), called while another process writes; warn, function(text), called for
--- damaged files and open permissions. Returns a store, or nil, err, kind.
function M.open(directory, options)
  if type(directory) ~= "string" or directory == "" or string.find(directory, "%z") then
    errors.usage("fleet.store.file: a directory expected")
  end
  options = options or {}
  local warn = contract.warner(options.warn)
  local records, err, kind = core.records(directory, warn)
  if not records then return nil, err, kind end
  local self = setmetatable({
    records = records, clock = contract.clock_of(options), sleep = options.sleep, warn = warn, sweep_at = -math.huge,
    written = -math.huge, deferred = {}, deferred_count = 0,
  }, File)
  self.ends = contract.new_ends(function(key) forget_ended(self, key) end)
  return contract.object("fleet.store.file (" .. records:directory() .. ")", self)
end

--- For specs: an empty store; a function that opens it again; a function that removes it.
function M.sample(options)
  local path = os.tmpname()
  os.remove(path)
  local function again()
    return assert(M.open(path, options))
  end
  local function remove()
    for _, name in ipairs(core.directory_list(path) or {}) do os.remove(path .. "/" .. name) end
    os.remove(path)
  end
  return again(), again, remove
end

return M
