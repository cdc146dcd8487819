-- Waiters for something that one after the other gets, first come, first served. Who has left, or was woken by somebody else, is
-- passed over. Joining takes no memory: a waiter is its own link.

local M = {}
M.__index = M

function M.new()
  return setmetatable({ first = nil, last = nil }, M)
end

function M:is_empty()
  return self.first == nil
end

--- waiter: of loop.lua; who gives up sets its field done, for which there is room.
function M:join(waiter)
  if self.last then self.last.following = waiter else self.first = waiter end
  self.last = waiter
end

--- Takes the first who still waits out of the line; or nil.
function M:next()
  local waiter = self.first
  while waiter and waiter.done do waiter = waiter.following end
  self.first = waiter and waiter.following
  if not self.first then self.last = nil end
  return waiter
end

return M
