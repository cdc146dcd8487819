-- Ages and ends that a living process counts, whether or not its wall clock is set.
--
-- A wall clock may be set by years while a process runs: a small computer starts in the past, and jumps when the network comes.
-- What is noted by the wall clock is still aged by the monotonic clock, because each setting of the wall clock is remembered as
-- another difference between the two. Only what was noted before the process began is aged by the wall clock.

local M = {}

local drift = 2 -- seconds: a smaller change of the difference is no setting of the clock
local most = 100 -- differences that are remembered

local Ages = {}
Ages.__index = Ages

-- The monotonic clock; the difference of this moment is the last of the list.
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

--- Seconds since a time that was noted by the wall clock, by this process or another: the smallest age that any setting of the
--- wall clock gives; 0 for a time to come.
function Ages.age(self, noted)
  local mono, age = read(self), nil
  for _, offset in ipairs(self.offsets) do
    local seconds = mono + offset - noted
    if seconds >= 0 and (not age or seconds < age) then age = seconds end
  end
  return age or 0
end

--- UTC seconds as the wall clock had them when it was first read, counted on by the monotonic clock: they never jump.
function Ages.steady(self)
  return read(self) + self.offsets[1]
end

--- Ages by a clock, function() -> mono, wall. It is read once now.
function M.new(clock)
  local self = setmetatable({ clock = clock, offsets = {} }, Ages)
  read(self)
  return self
end

return M
