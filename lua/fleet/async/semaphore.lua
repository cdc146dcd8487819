-- A semaphore with a queue, which limits how many tasks work at once. A task of fleet.map that only waits for a vehicle to wake releases
-- its permit and acquires it again afterwards.

local fifo = require "fleet.async.fifo"
local scheduler = require "fleet.async.loop"
local task = require "fleet.async.task"
local pcall = require("fleet.util.compat").pcall -- the called functions may yield

local M = {}

local semaphore = {}
local semaphore_mt = { __index = semaphore }

--- permits: how many; on_free(): called when a permit is free and no task waits for one.
function M.new(permits, on_free)
  return setmetatable({ free = permits, on_free = on_free, queue = fifo.new() }, semaphore_mt)
end

--- Waits for a permit and acquires it for the running task.
function semaphore:acquire()
  if self.free > 0 and self.queue:is_empty() then
    self.free = self.free - 1
  else
    local promise = scheduler.promise()
    self.queue:join(promise)
    local ran, failure = pcall(task.await, promise)
    if not ran then
      if promise.value then self:pass_on() end -- the permit came at the same time as the end of the task
      promise.done = true
      error(failure, 0)
    end
  end
  task.current().semaphore = self
end

function semaphore:pass_on()
  local promise = self.queue:next()
  if promise then return scheduler.wake(promise, true) end
  self.free = self.free + 1
  self.on_free()
end

--- Releases the permit of the running task, if it has one.
function semaphore:release()
  local runner = task.current()
  if runner.semaphore ~= self then return end
  runner.semaphore = nil
  self:pass_on()
end

--- The semaphore of which the caller has a permit, or nil.
function M.current()
  local runner = task.current()
  return runner and runner.semaphore
end

--- Calls fn(...), which only waits, while another task may use the caller's permit.
function M.without_permit(fn, ...)
  local own = M.current()
  if not own then return fn(...) end
  own:release()
  local ran, a, b, c = pcall(fn, ...)
  if not ran then error(a, 0) end
  own:acquire()
  return a, b, c
end

--- Calls fn(...) with a permit of the semaphore, which may be nil.
function M.with_permit(own, fn, ...)
  if not own then return fn(...) end
  own:acquire()
  local ran, a, b, c = pcall(fn, ...)
  own:release()
  if not ran then error(a, 0) end
  return a, b, c
end

return M
