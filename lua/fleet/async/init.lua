-- Waiting, and many things at once: what the other rooms see of it. See task.lua, loop.lua, poll.lua, map.lua.

local ages = require "fleet.util.ages"
local calls = require "fleet.async.calls"
local line = require "fleet.async.line"
local poll = require "fleet.async.poll"
local task = require "fleet.async.task"
local turns = require "fleet.async.loop"
local width = require "fleet.async.width"

local M = {
  loop = turns.loop, now = turns.now, real = turns.real, times = turns.times, waiter = turns.waiter, wake = turns.wake,
  await = task.await, await_for = task.await_for, sleep = task.sleep, exchange = task.exchange,
  refuse_finaliser = turns.refuse_finaliser,
  current = task.current, spawn = task.spawn, iterate = task.iterate, ended_within = task.ended_within,
  within = task.within, run = task.run,
  pauses = poll.pauses, line = line.new, map = require "fleet.async.map", aside = width.aside, inside = width.inside, width = width.current,
  enter = calls.enter, leave = calls.leave, drain = calls.drain,
}

local known_clock, known_ages

-- A host may give the loop another clock.
local function ages_of_loop()
  local clock = turns.loop.clock
  if known_clock ~= clock then known_clock, known_ages = clock, ages.new(clock) end
  return known_ages
end
ages_of_loop()

--- Seconds since a time that was noted by the wall clock (select(2, loop.clock())), counted by the monotonic clock where the
--- process has lived since: see util/ages.lua. For ages of records that are also stored.
function M.age(noted)
  return ages_of_loop():age(noted)
end

--- UTC seconds that never jump while the process lives. For ages and ends that are compared only with each other.
function M.steady()
  return ages_of_loop():steady()
end

--- Which engine clients of today use: after a fork the child must not touch the parent's connections.
function M.generation()
  return turns.generation
end

--- Whether clients of this generation can still be used.
function M.usable(generation)
  return generation == turns.generation and not turns.forked()
end

--- In a forked child, a new engine; what the parent waits for is forgotten.
function M.reopen_after_fork()
  if not turns.forked() then return end
  task.reopen()
  calls.forget_all()
end

return M
