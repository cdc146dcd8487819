-- For the hosts in C of examples/hosts: they call tick() every ten milliseconds, and end when `finished` is true.
-- luacheck: globals tick finished
local workload = require "spec.hosts.workload"

local timers, now = {}, 0
workload.begin({
  every = function(_, fn) timers[#timers + 1] = { fn = fn, every = true } end,
  after = function(seconds, fn) timers[#timers + 1] = { fn = fn, at = seconds } end,
}, function(report)
  print(workload.line(report))
  finished = true
end)

function tick()
  now = now + 0.01
  for _, timer in ipairs(timers) do
    if timer.every or (timer.at and timer.at <= now) then
      timer.at = nil
      timer.fn()
    end
  end
end
