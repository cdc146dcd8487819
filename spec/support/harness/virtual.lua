-- Time that passes only when everybody waits: what sleeps is woken at once, in the right order. Transport deadlines stay
-- on real time, so requests in flight are still waited for.
--
--   local time = virtual.install()      time.now(), time.advance(seconds), time.jump(seconds), time.restore()

local fleet = require "fleet"

local M = {}

function M.install(wall)
  local loop = fleet.loop
  local clock, wait, now = loop.clock, loop.wait, 1000
  local base = wall or 1774746000
  loop.clock = function() return now, base + now - 1000 end
  loop.wait = function(seconds)
    wait(0)
    if not seconds then return wait(0.02) end
    if seconds > 0 then now = now + seconds end
  end
  local time = {}
  function time.now() return now end
  function time.advance(seconds) now = now + seconds end
  function time.jump(seconds) base = base + seconds end -- the wall clock is set
  function time.restore() loop.clock, loop.wait = clock, wait end
  return time
end

return M
