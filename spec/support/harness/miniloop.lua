-- The least that a loop is: watch(fd, mode, fn), and for specs a way to run coroutines that wait on sockets beside it.
-- fleet.server and fleet.sim must need no more than this.
local cqueues = require("cqueues")

local M = {}
M.__index = M

local handle = {}
handle.__index = handle

function handle:close()
  if not self.open then return end
  self.open = false
  cqueues.cancel(self.pollfd)
end

function M.new()
  return setmetatable({ controller = cqueues.new() }, M)
end

function M:watch(fd, mode, fn)
  local h = setmetatable({ pollfd = fd, events = mode, open = true }, handle)
  self.controller:wrap(function()
    while h.open do
      cqueues.poll(h)
      if h.open then fn() end
    end
  end)
  return h
end

-- Runs fn as a coroutine until it ends; raises what it raised. Never longer than `seconds`.
function M:run(fn, seconds)
  local done, ok, result = false, nil, nil
  self.controller:wrap(function()
    ok, result = pcall(fn)
    done = true
  end)
  local stop = cqueues.monotime() + (seconds or 60)
  while not done do
    local _, err = self.controller:step(stop - cqueues.monotime())
    if err then error(err, 0) end
    assert(done or cqueues.monotime() < stop, "the loop ran out of time")
  end
  if not ok then error(result, 0) end
  return result
end

-- Runs all functions at once.
function M:all(list, seconds)
  self:run(function()
    local waiting, signal, failure = #list, require("cqueues.condition").new(), nil
    for _, fn in ipairs(list) do
      self.controller:wrap(function()
        local ok, err = pcall(fn)
        if not ok then failure = failure or err end
        waiting = waiting - 1
        signal:signal()
      end)
    end
    while waiting > 0 do signal:wait() end
    if failure then error(failure, 0) end
  end, seconds)
end

return M
