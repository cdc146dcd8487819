-- Records for a task that reads them in a loop. A slow reader loses the oldest records, which are counted: memory does not grow.

local compat = require "fleet.util.compat"
local tasks = require "fleet.async"

local Reader = {}
Reader.__index = Reader
Reader.__name = "fleet.telemetry.records"

local M = {}

-- Readers that a task waits for: the receiver holds readers weakly, and such a task is held by its reader alone.
M.awaited = {}

--- most: records that wait for the reader.
function M.new(vin, most)
  return setmetatable({ vin = vin, most = most, first = 1, last = 0, lost = 0, closed = false }, Reader)
end

function Reader:push(record)
  self.last = self.last + 1
  self[self.last] = record
  if self.last - self.first >= self.most then
    self[self.first] = nil
    self.first = self.first + 1
    self.lost = self.lost + 1
  end
  if self.promise then tasks.wake(self.promise) end
end

local function next_record(self)
  while self.first > self.last and not self.closed do
    self.promise = tasks.promise()
    M.awaited[self] = true
    local ran, raised = compat.pcall(tasks.await, self.promise)
    M.awaited[self], self.promise = nil, nil
    if not ran then error(raised, 0) end
  end
  local record = self[self.first]
  if record == nil then return nil end
  self[self.first] = nil
  self.first = self.first + 1
  return record
end

--- The next record; waits for it. nil once it was closed.
function Reader:__call()
  return tasks.iterate(next_record, self)
end

--- No further records; those that wait can still be read.
function Reader:close()
  self.closed = true
  if self.promise then tasks.wake(self.promise) end
end

Reader.__close = Reader.close

return M
