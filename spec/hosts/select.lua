-- LuaSocket's select in a loop of the host, as openLuup has it.
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

local function run_due(now)
  for i = #timers, 1, -1 do
    local timer = timers[i]
    if timer.at <= now then
      if timer.again then timer.at = now + timer.again else table.remove(timers, i) end
      timer.fn()
    end
  end
end

while running do
  local next_at = socket.gettime() + 1
  for _, timer in ipairs(timers) do next_at = math.min(next_at, timer.at) end
  local ready = socket.select({ fleet.loop }, nil, math.max(0, next_at - socket.gettime()))
  if ready[1] then fleet.loop.step() end
  run_due(socket.gettime())
end
