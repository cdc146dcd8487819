-- How many may work at once, and who stands aside: a task of fleet.map that only waits for a vehicle to wake gives its place
-- to another and takes one again when it goes on.

local task = require "fleet.async.task"
local turns = require "fleet.async.loop"
local pcall = require("fleet.util.compat").pcall -- what it calls may wait

local M = {}

local width = {}
local width_mt = { __index = width }

--- places: how many; on_free(): called when a place is free and nobody waits for one.
function M.new(places, on_free)
  return setmetatable({ free = places, on_free = on_free, first = nil, last = nil }, width_mt)
end

--- Waits for a place and takes it for the task that runs.
function width:take()
  local runner = task.current()
  if self.free > 0 and not self.first then
    self.free = self.free - 1
  else
    local waiter = turns.waiter()
    if self.last then self.last.following = waiter else self.first = waiter end
    self.last = waiter
    local ran, failure = pcall(task.await, waiter)
    if not ran then
      if waiter.value then self:give_back() end -- the place came together with the end
      waiter.left = true
      error(failure, 0)
    end
  end
  runner.width = self
end

local function next_waiter(self)
  local waiter = self.first
  while waiter and (waiter.left or waiter.done) do waiter = waiter.following end
  self.first = waiter and waiter.following
  if not self.first then self.last = nil end
  return waiter
end

function width:give_back()
  local waiter = next_waiter(self)
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
