-- No loop of its own: fleet's tasks are all there is.
local fleet = require "fleet"
local workload = require "spec.hosts.workload"

fleet.run(function()
  local running = true
  local host = {
    every = function(seconds, fn)
      fleet.spawn(function()
        while running do
          fleet.sleep(seconds)
          fn()
        end
      end)
    end,
    after = function(seconds, fn)
      fleet.spawn(function()
        fleet.sleep(seconds)
        fn()
      end)
    end,
  }
  workload.begin(host, function(report)
    running = false
    print(workload.line(report))
  end)
end)
