-- Queues whose entries tasks handle in order. The queues of a pool share a task while no entry waits: a separate task for each record would
-- cost more than the record.

local compat = require "fleet.util.compat"
local tasks = require "fleet.async"

local Fifo = {}
Fifo.__index = Fifo

local M = {}

local longest_run = 0.004 -- seconds of one task in a step of the loop

--- The pool of a receiver: its queues that have entries and no task.
function M.pool() return { first = 1, last = 0, spawned = false } end

--- perform(entry) may wait; on_failure(failure) is called with an error that it raises.
function M.new(pool, perform, on_failure)
  return setmetatable({ pool = pool, first = 1, last = 0, running = false, perform = perform, on_failure = on_failure }, Fifo)
end

local function run(self)
  while self.first <= self.last do
    local entry = self[self.first]
    self[self.first] = nil
    self.first = self.first + 1
    local ok, failure = compat.pcall(self.perform, entry)
    if not ok then self.on_failure(failure) end
  end
  self.running = false
end

local work

local function ensure_task(pool)
  if pool.spawned then return end
  pool.spawned = true
  tasks.spawn(work, pool)
end

-- While an entry waits, another task handles the other queues; if none waited, that task finds nothing to do.
function work(pool)
  pool.spawned = false
  local until_ = tasks.real() + longest_run
  while pool.first <= pool.last do
    local queue = pool[pool.first]
    pool[pool.first] = nil
    pool.first = pool.first + 1
    if pool.first <= pool.last then ensure_task(pool) end
    run(queue)
    if tasks.real() > until_ then return end
  end
end

function Fifo:push(entry)
  self.last = self.last + 1
  self[self.last] = entry
  if self.running then return end
  self.running = true
  local pool = self.pool
  pool.last = pool.last + 1
  pool[pool.last] = self
  ensure_task(pool)
end

function Fifo:size()
  return self.last - self.first + 1
end

--- Drops the queued entries that have not started.
function Fifo:clear()
  for i = self.first, self.last do self[i] = nil end
  self.first, self.last = 1, 0
end

return M
