-- A FIFO queue of promises. It skips those that are done: their task stopped waiting, or another event woke them. Joining allocates
-- nothing: each promise links to the next.

local M = {}
M.__index = M

function M.new()
  return setmetatable({ first = nil, last = nil }, M)
end

function M:is_empty()
  return self.first == nil
end

--- promise: of loop.lua; a task that stops waiting sets its field done.
function M:join(promise)
  if self.last then self.last.following = promise else self.first = promise end
  self.last = promise
end

--- Removes and returns the first promise that is not done; or nil.
function M:next()
  local promise = self.first
  while promise and promise.done do promise = promise.following end
  self.first = promise and promise.following
  if not self.first then self.last = nil end
  return promise
end

return M
