-- Polling with pauses that double.

local task = require "fleet.async.task"
local scheduler = require "fleet.async.loop"

local M = {}

local pauses = {}
local pauses_mt = { __index = pauses }

--- Pauses for at most so many seconds from now on: the first, then twice as long each time, up to the longest. clock and sleep default to
--- the loop's. `deadline` may be moved later.
function M.pauses(seconds, first, longest, clock, sleep)
  clock = clock or scheduler.now
  return setmetatable({
    deadline = clock() + seconds, following = first, longest = longest, clock = clock, sleep = sleep or task.sleep,
  }, pauses_mt)
end

--- The remaining seconds.
function pauses:left()
  return self.deadline - (self.clock())
end

--- Sleeps, not beyond the deadline, and returns whether to poll again: false when no time is left.
function pauses:again()
  local left = self:left()
  if left <= 0 then return false end
  local pause = math.min(self.following, left)
  self.following = math.min(self.following * 2, self.longest)
  self.sleep(pause)
  return true
end

return M
