-- nginx's Lua module: light threads of one timer; its loop watches no descriptor of others. A task may call nothing of nginx, so that
-- what it wants to happen later stands in a list of the threads.
-- luacheck: globals ngx
local fleet = require "fleet"
local workload = require "spec.hosts.workload"

local later = {}

local function run_due()
  for i = #later, 1, -1 do
    if later[i].at <= fleet.loop.clock() then table.remove(later, i).fn() end
  end
end

return function()
  ngx.thread.spawn(function()
    while true do
      ngx.sleep(0.002)
      fleet.loop.step()
      run_due()
    end
  end)
  workload.begin({
    every = function(seconds, fn)
      ngx.thread.spawn(function()
        while true do
          ngx.sleep(seconds)
          fn()
        end
      end)
    end,
    after = function(seconds, fn) later[#later + 1] = { at = fleet.loop.clock() + seconds, fn = fn } end,
  }, function(report)
    io.stdout:write(workload.line(report), "\n")
    io.stdout:flush()
    os.exit(0)
  end)
end
