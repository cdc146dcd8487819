-- Queues of functions that tasks call in order. The queues of a pool share one task while no function waits, because a task for each record
-- would cost more than the record.

local compat = require "fleet.util.compat"
local tasks = require "fleet.async"

local Fifo = {}
Fifo.__index = Fifo

local M = {}

local longest_run = 0.002 -- seconds of one task in a step of the loop

--- The pool of a receiver: its queues that have functions and no task.
function M.pool() return { first = 1, last = 0, called = false, closed = false, idle = nil, worker = nil } end

--- on_failure(failure) is called with an error of a function.
function M.new(pool, on_failure)
  return setmetatable({ pool = pool, first = 1, last = 0, queued = false, worker = nil, on_failure = on_failure }, Fifo)
end

local function run(self)
  self.worker = tasks.current()
  while self.first <= self.last do
    local fn = self[self.first]
    self[self.first] = nil
    self.first = self.first + 1
    local ok, failure = compat.pcall(fn)
    if not ok then pcall(self.on_failure, failure) end -- without memory it fails, too; the queue goes on
  end
  self.worker = nil
end

local work

-- Wakes the task that waits for work, or starts one.
local function ensure_task(pool)
  local worker, idle = pool.worker, pool.idle
  if pool.called and not (worker and worker.state == "failed") then return end -- failed: it could not go on for lack of memory
  pool.called, pool.idle, pool.worker = true, nil, idle and idle.task
  if idle then return tasks.wake(idle) end
  local ran, made = pcall(tasks.spawn, work, pool)
  if not ran then
    pool.called = false
    error(made, 0)
  end
  pool.worker = made
end

-- While a function waits, another task handles the other queues; if none waited, that task finds nothing to do.
local function run_queues(pool)
  local until_ = tasks.real() + longest_run
  while pool.first <= pool.last do
    local queue = pool[pool.first]
    if pool.first < pool.last then ensure_task(pool) end
    pool[pool.first] = nil
    pool.first, queue.queued = pool.first + 1, false
    run(queue)
    if tasks.real() > until_ then return end
  end
end

-- A task waits for further work when no other one does.
function work(pool)
  repeat
    pool.called = false
    run_queues(pool)
    if pool.idle or pool.closed then return end
    pool.idle = tasks.promise()
    local ran, failure = compat.pcall(tasks.await_work, pool.idle)
    if not ran then
      pool.idle = nil
      error(failure, 0)
    end
  until pool.closed and pool.first > pool.last
end

--- The task that waits for further work ends; queues that have functions are worked off.
function M.close(pool)
  pool.closed = true
  if pool.idle then ensure_task(pool) end
end

--- Whether no function waits or runs. A worker that failed for lack of memory has left its queue.
function Fifo:is_idle()
  return not self.queued and not (self.worker and self.worker.state == "running")
end

--- Queues a function, which may wait.
function Fifo:push(fn)
  self[self.last + 1] = fn
  self.last = self.last + 1
  local pool = self.pool
  if self:is_idle() then
    pool[pool.last + 1] = self
    pool.last, self.queued = pool.last + 1, true
  end
  if pool.first <= pool.last then ensure_task(pool) end -- also where an earlier task could not start for lack of memory
end

function Fifo:size()
  return self.last - self.first + 1
end

--- Drops the queued functions that have not started.
function Fifo:clear()
  for i = self.first, self.last do self[i] = nil end
  self.first, self.last = 1, 0
end

return M
