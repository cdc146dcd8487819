local cqueues = require "cqueues"
local fleet = require "fleet"
local workload = require "spec.hosts.workload"

local queue, running = cqueues.new(), true
queue:wrap(function()
  while running do
    cqueues.poll(fleet.loop)
    fleet.loop.step()
  end
end)
workload.begin({
  every = function(seconds, fn)
    queue:wrap(function()
      while running do
        cqueues.sleep(seconds)
        fn()
      end
    end)
  end,
  after = function(seconds, fn)
    queue:wrap(function()
      cqueues.sleep(seconds)
      fn()
    end)
  end,
}, function(report)
  running = false
  print(workload.line(report))
end)
assert(queue:loop())
