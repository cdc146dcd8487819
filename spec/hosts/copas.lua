-- Copas turns in steps; between them the host turns fleet's loop and its own timers.
local copas = require "copas"
local socket = require "socket"
local fleet = require "fleet"
local workload = require "spec.hosts.workload"

local timers, running = {}, true
local function add(seconds, fn, again) timers[#timers + 1] = { at = socket.gettime() + seconds, fn = fn, again = again } end
workload.begin({
  every = function(seconds, fn) add(seconds, fn, seconds) end,
  after = function(seconds, fn) add(seconds, fn) end,
}, function(report)
  running = false
  print(workload.line(report))
end)

-- A server of Copas beside it, so that it has something to wait for.
copas.addserver(assert(socket.bind("127.0.0.1", 0)), function() end)

while running do
  copas.step(fleet.loop.dirty() and 0 or math.min(fleet.loop.timeout() or 0.005, 0.005))
  fleet.loop.step()
  for i = #timers, 1, -1 do
    local timer, now = timers[i], socket.gettime()
    if timer.at <= now then
      if timer.again then timer.at = now + timer.again else table.remove(timers, i) end
      timer.fn()
    end
  end
end
