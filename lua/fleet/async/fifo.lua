-- A queue of promises, first in, first out. It skips those that are done: their task gave up, or something else woke them. Joining
-- takes no memory: each promise links to the next.

local M = {}
M.__index = M

function M.new()
  return setmetatable({ first = nil, last = nil }, M)
end

function M:is_empty()
  return self.first == nil
end

--- promise: of loop.lua; a task that gives up sets its field done.
function M:join(promise)
  if self.last then self.last.following = promise else self.first = promise end
  self.last = promise
end

--- Takes the first promise that is not done out of the queue; or nil.
function M:next()
  local promise = self.first
  while promise and promise.done do promise = promise.following end
  self.first = promise and promise.following
  if not self.first then self.last = nil end
  return promise
end

return M
