-- The virtual clock of a rehearsal: it stops while a task runs and advances when all tasks wait.

local tasks = require "fleet.async"

local M = {}

local passed = 0

--- Installs it from this moment on. Returns a function that restores the real clock.
function M.install(start)
  local loop = tasks.loop
  local clock, wait = loop.clock, loop.wait
  passed = 0
  loop.clock = function() return 1000 + passed, start + passed end
  loop.wait = function(seconds)
    if not seconds then return wait(0.02) end
    if seconds > 0 then passed = passed + seconds end
  end
  return function() loop.clock, loop.wait = clock, wait end
end

local sleeper -- wakes the task of the habits

--- Sleeps in a task, at most so long. When no other task has work, time advances at once, without another iteration of the loop.
function M.sleep(seconds)
  local until_others = tasks.loop.timeout()
  if until_others and until_others <= seconds then
    sleeper = tasks.promise()
    tasks.await_for(sleeper, seconds)
    sleeper = nil
  else
    passed = passed + seconds
  end
end

--- Interrupts the sleep.
function M.disturb()
  if sleeper then tasks.wake(sleeper) end
end

--- Wall seconds.
function M.now()
  local _, wall = tasks.loop.clock()
  return wall
end

return M
