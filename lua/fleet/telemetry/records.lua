-- Readers of records for tasks that loop over them. A slow reader loses the oldest records, which are counted, so that memory is bounded.
-- When several tasks share a reader, each gets the next record, in the order in which they began to wait.

local compat = require "fleet.util.compat"
local tasks = require "fleet.async"

local Reader = {}
Reader.__index = Reader
Reader.__name = "fleet.telemetry.records"

local M = {}

-- The number of tasks that wait for each reader: the receiver refers to readers weakly, and this table keeps a reader alive while tasks
-- wait.
M.awaited = {}

--- most: records that wait for the reader.
function M.new(vin, most)
  return setmetatable({ vin = vin, most = most, first = 1, last = 0, lost = 0, closed = false, waiting = {} }, Reader)
end

local function wake_one(self)
  if self.waiting[1] then tasks.wake(table.remove(self.waiting, 1)) end
end

function Reader:push(record)
  self.last = self.last + 1
  self[self.last] = record
  if self.last - self.first >= self.most then
    self[self.first] = nil
    self.first = self.first + 1
    self.lost = self.lost + 1
  end
  wake_one(self)
end

local function stop_waiting(self, promise)
  M.awaited[self] = M.awaited[self] > 1 and M.awaited[self] - 1 or nil
  for i, one in ipairs(self.waiting) do
    if one == promise then return table.remove(self.waiting, i) end
  end
end

local function next_record(self)
  while self.first > self.last and not self.closed do
    local promise = tasks.promise()
    self.waiting[#self.waiting + 1] = promise
    M.awaited[self] = (M.awaited[self] or 0) + 1
    local ran, raised = compat.pcall(tasks.await, promise)
    stop_waiting(self, promise)
    if not ran then -- cancelled, perhaps just after it was woken: the record goes to another task
      if self.first <= self.last then wake_one(self) end
      error(raised, 0)
    end
  end
  local record = self[self.first]
  if record == nil then return nil end
  self[self.first] = nil
  self.first = self.first + 1
  return record
end

--- The next record; waits for it. nil after the reader was closed.
function Reader:__call()
  return tasks.iterate(next_record, self)
end

--- Accepts no further records; the buffered ones can still be read.
function Reader:close()
  self.closed = true
  while self.waiting[1] do wake_one(self) end
end

Reader.__close = Reader.close

return M
