-- The loop's clock while a rehearsal runs: it stands still while somebody works and passes when everybody waits.

local tasks = require "fleet.async"

local M = {}

--- Installs it, from this moment on. Returns what takes it back.
function M.install(start)
  local loop = tasks.loop
  local clock, wait, passed = loop.clock, loop.wait, 0
  loop.clock = function() return 1000 + passed, start + passed end
  loop.wait = function(seconds)
    if not seconds then return wait(0.02) end
    if seconds > 0 then passed = passed + seconds end
  end
  return function() loop.clock, loop.wait = clock, wait end
end

--- Wall seconds.
function M.now()
  local _, wall = tasks.loop.clock()
  return wall
end

return M
