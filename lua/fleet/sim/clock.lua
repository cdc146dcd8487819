-- Virtual time of the simulator. It runs `speed` times as fast as real time and can be advanced, so that a month of tokens, schedules and
-- charging passes in seconds.
local M = {}
M.__index = M

local function system()
  return os.time(), os.time()
end

-- new { clock = function() return mono, wall end, speed = 1 }
function M.new(options)
  local source = options.clock or system
  local mono, wall = source()
  return setmetatable({ source = source, speed = options.speed or 1, mono = mono, wall = wall }, M)
end

-- UTC seconds, with fractions.
function M:now()
  return self.wall + (self.source() - self.mono) * self.speed
end

function M:advance(seconds)
  self.wall = self.wall + seconds
end

return M
