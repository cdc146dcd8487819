-- Entries that a task works off one after another, in their order; the task lives while there are some.

local compat = require "fleet.util.compat"
local tasks = require "fleet.async"

local Fifo = {}
Fifo.__index = Fifo

local M = {}

--- perform(entry) may wait; on_failure(failure) gets what it raises.
function M.new(perform, on_failure)
  return setmetatable({ first = 1, last = 0, running = false, perform = perform, on_failure = on_failure }, Fifo)
end

local function run(self)
  while self.first <= self.last do
    local entry = self[self.first]
    self[self.first] = nil
    self.first = self.first + 1
    local ok, failure = compat.pcall(self.perform, entry)
    if not ok then self.on_failure(failure) end
  end
  self.running = false
end

function Fifo:push(entry)
  self.last = self.last + 1
  self[self.last] = entry
  if self.running then return end
  self.running = true
  tasks.spawn(run, self)
end

function Fifo:size()
  return self.last - self.first + 1
end

--- Drops the queued entries that have not started.
function Fifo:clear()
  for i = self.first, self.last do self[i] = nil end
  self.first, self.last = 1, 0
end

return M
