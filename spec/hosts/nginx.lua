-- nginx's Lua module: light threads of one timer; its loop watches no descriptor of others.
-- luacheck: globals ngx
local fleet = require "fleet"
local workload = require "spec.hosts.workload"

return function()
  ngx.thread.spawn(function()
    while true do
      ngx.sleep(0.002)
      fleet.loop.step()
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
    after = function(seconds, fn)
      ngx.thread.spawn(function()
        ngx.sleep(seconds)
        fn()
      end)
    end,
  }, function(report)
    io.stdout:write(workload.line(report), "\n")
    io.stdout:flush()
    os.exit(0)
  end)
end
