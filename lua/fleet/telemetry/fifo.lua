-- A queue of calls for one vehicle: they run in order, one at a time. A call starts at once in the caller's task when no other one is
-- waiting, because a task for each record would cost more than the record.

local compat = require "fleet.util.compat"
local tasks = require "fleet.async"

local Fifo = {}
Fifo.__index = Fifo

local M = {}

--- on_failure(failure, name) is called with an error of a call.
function M.new(on_failure, name)
  return setmetatable({ first = 1, last = 0, worker = false, on_failure = on_failure, name = name }, Fifo)
end

--- Whether a call waits or runs. A task that failed for lack of memory has left its queue.
function Fifo:is_working()
  return self.worker and self.worker.state == "running" or false
end

local function call(self, fn, ...)
  local ok, failure = compat.pcall(fn, ...)
  if not ok then pcall(self.on_failure, failure, self.name) end -- without memory it fails, too; the queue goes on
end

-- A function may cancel the task: the other functions then need another one, because their waits would fail.
local function work_off(self)
  while self.first <= self.last and not self.worker.cancelled do
    local fn = self[self.first]
    self[self.first] = nil
    self.first = self.first + 1
    call(self, fn)
  end
  self.worker = self.first <= self.last and tasks.spawn(work_off, self)
end

--- Queues a function, which may wait. It runs in a task of its own.
function Fifo:push(fn)
  self[self.last + 1] = fn
  self.last = self.last + 1
  if not self:is_working() then self.worker = tasks.spawn(work_off, self) end
end

--- Calls fn(...), which may wait, in the caller's task; after those that are queued.
function Fifo:run(fn, ...)
  if self:is_working() or self.first <= self.last then
    local a, b, c, d = ...
    return self:push(function() return fn(a, b, c, d) end)
  end
  self.worker = tasks.current()
  call(self, fn, ...)
  work_off(self)
end

--- After an error in `run` that is not of its function.
function Fifo:leave()
  if self.worker == tasks.current() then self.worker = false end
end

--- The number of calls that have not started.
function Fifo:size()
  return self.last - self.first + 1
end

--- Drops the queued functions that have not started.
function Fifo:clear()
  for i = self.first, self.last do self[i] = nil end
  self.first, self.last = 1, 0
end

return M
