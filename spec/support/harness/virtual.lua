-- Time that passes only when every task waits: the next sleeper is woken at once, in the right order. While a request is in flight the
-- loop first waits a moment for its reply. Transport deadlines stay on real time.
--
--   local time = virtual.install()      time.now(), time.advance(seconds), time.jump(seconds), time.restore()

local core = require "fleet.core"
local fleet = require "fleet"
local tasks = require "fleet.async"

local M = {}

local MOMENT = 0.002 -- real seconds

function M.install(wall)
  local loop = fleet.loop
  local clock, wait, exchange, now = loop.clock, loop.wait, tasks.exchange, 1000
  local base, in_flight = wall or 1774746000, 0
  loop.clock = function() return now, base + now - 1000 end
  local function ended(...)
    in_flight = in_flight - 1
    return ...
  end
  function tasks.exchange(...)
    in_flight = in_flight + 1
    return ended(exchange(...))
  end
  loop.wait = function(seconds)
    if not seconds then return wait(0.02) end
    local began, moment = core.clock(), in_flight > 0 and math.min(seconds, MOMENT) or 0
    wait(moment)
    if seconds > 0 and core.clock() - began >= moment then now = now + seconds end
  end
  local time = {}
  function time.now() return now end
  function time.advance(seconds) now = now + seconds end
  function time.jump(seconds) base = base + seconds end -- the wall clock is set
  function time.restore() loop.clock, loop.wait, tasks.exchange = clock, wait, exchange end
  return time
end

return M
