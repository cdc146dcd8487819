-- How many may work at once, and who stands aside: a task of fleet.map that only waits for a vehicle to wake gives its place
-- to another and takes one again when it goes on.

local lines = require "fleet.async.line"
local task = require "fleet.async.task"
local turns = require "fleet.async.loop"
local pcall = require("fleet.util.compat").pcall -- what it calls may wait

local M = {}

local width = {}
local width_mt = { __index = width }

--- places: how many; on_free(): called when a place is free and nobody waits for one.
function M.new(places, on_free)
  return setmetatable({ free = places, on_free = on_free, line = lines.new() }, width_mt)
end

local function is_open(self)
  return self.free > 0 and self.line:is_empty()
end

--- Waits for a place and takes it for the task that runs.
function width:take()
  local runner = task.current()
  if is_open(self) then
    self.free = self.free - 1
  else
    local waiter = turns.waiter()
    self.line:join(waiter)
    local ran, failure = pcall(task.await, waiter)
    if not ran then
      if waiter.value then self:give_back() end -- the place came together with the end
      waiter.done = true
      error(failure, 0)
    end
  end
  runner.width = self
end

function width:give_back()
  local waiter = self.line:next()
  if waiter then return turns.wake(waiter, true) end
  self.free = self.free + 1
  self.on_free()
end

--- Leaves the place for good.
function width:leave()
  local runner = task.current()
  if runner.width ~= self then return end
  runner.width = nil
  self:give_back()
end

--- The width in which the caller has a place, or nil.
function M.current()
  local runner = task.current()
  return runner and runner.width
end

--- Calls fn(...), in which the caller only waits, without its place.
function M.aside(fn, ...)
  local held = M.current()
  if not held then return fn(...) end
  held:leave()
  local ran, a, b, c = pcall(fn, ...)
  if not ran then error(a, 0) end
  held:take()
  return a, b, c
end

--- Runs fn(...) in a place of the width, or just so where there is none.
function M.inside(held, fn, ...)
  if not held then return fn(...) end
  held:take()
  local ran, a, b, c = pcall(fn, ...)
  held:leave()
  if not ran then error(a, 0) end
  return a, b, c
end

return M
