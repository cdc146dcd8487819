-- Ages and deadlines that stay correct when the wall clock is set.
--
-- A wall clock may be set by years while a process runs: a small computer starts in the past, and its clock jumps when the network comes.
-- Each setting is recorded as a new difference between the wall clock and the monotonic one, so that times noted by the wall clock are
-- still aged by the monotonic clock. Only times from before the process started are aged by the wall clock.

local M = {}

local drift = 2 -- seconds: a smaller change of the difference does not count as setting the clock
local most = 100 -- recorded differences

local Ages = {}
Ages.__index = Ages

-- Reads the monotonic clock, and records the present difference as the last of the list.
local function read(self)
  local mono, wall = self.clock()
  local offsets, offset = self.offsets, wall - mono
  local last = offsets[#offsets]
  if not last or math.abs(offset - last) > drift then
    if #offsets == most then table.remove(offsets, 2) end
    offsets[#offsets + 1] = offset
  end
  return mono
end

--- Seconds since a time noted by the wall clock, by this process or another: the smallest age that any setting of the wall clock gives; 0
--- for a future time.
function Ages.age(self, noted)
  local mono, age = read(self), nil
  for _, offset in ipairs(self.offsets) do
    local seconds = mono + offset - noted
    if seconds >= 0 and (not age or seconds < age) then age = seconds end
  end
  return age or 0
end

--- UTC seconds from the first reading of the wall clock, advanced by the monotonic clock: they never jump.
function Ages.steady(self)
  return read(self) + self.offsets[1]
end

--- Ages by a clock, function() -> mono, wall. It is read once at once.
function M.new(clock)
  local self = setmetatable({ clock = clock, offsets = {} }, Ages)
  read(self)
  return self
end

return M
