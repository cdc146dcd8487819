-- The event loop, tasks, promises, semaphores and queues: the interface for other rooms.

local ages = require "fleet.util.ages"
local calls = require "fleet.async.calls"
local fifo = require "fleet.async.fifo"
local poll = require "fleet.async.poll"
local task = require "fleet.async.task"
local scheduler = require "fleet.async.loop"
local semaphore = require "fleet.async.semaphore"

local M = {
  loop = scheduler.loop, now = scheduler.now, real = scheduler.real, times = scheduler.times,
  promise = scheduler.promise, wake = scheduler.wake,
  await = task.await, await_for = task.await_for, await_work = task.await_work, sleep = task.sleep, exchange = task.exchange,
  refuse_finaliser = scheduler.refuse_finaliser,
  current = task.current, spawn = task.spawn, start = task.start, continue = task.continue,
  iterate = task.iterate, ended_within = task.ended_within, within = task.within, run = task.run,
  pauses = poll.pauses, fifo = fifo.new, map = require "fleet.async.map",
  semaphore = semaphore.current, with_permit = semaphore.with_permit, without_permit = semaphore.without_permit,
  enter = calls.enter, leave = calls.leave, drain = calls.drain,
}

local known_clock, known_ages

-- A host may replace the loop's clock.
local function ages_of_loop()
  local clock = scheduler.loop.clock
  if known_clock ~= clock then known_clock, known_ages = clock, ages.new(clock) end
  return known_ages
end
ages_of_loop()

--- Seconds since a time noted by the wall clock (select(2, loop.clock())), counted by the monotonic clock for the lifetime of the process:
--- see util/ages.lua. For ages of records that are also stored.
function M.age(noted)
  return ages_of_loop():age(noted)
end

--- UTC seconds that never jump during the lifetime of the process. For ages and deadlines that are compared only with each other.
function M.steady()
  return ages_of_loop():steady()
end

--- The generation of the engine. New clients use it; after a fork the child gets another one, because it must not touch the parent's
--- connections.
function M.generation()
  return scheduler.generation
end

--- Whether clients of this generation can still be used.
function M.usable(generation)
  return generation == scheduler.generation and not scheduler.forked()
end

--- In a forked child: makes a new engine and forgets what the parent waits for.
function M.reopen_after_fork()
  if not scheduler.forked() then return end
  task.reopen()
  calls.forget_all()
end

return M
