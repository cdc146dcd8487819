-- nginx's Lua module: light threads of one timer.
-- luacheck: globals ngx
local looking_in = require "spec.hosts.looking_in"
local workload = require "spec.hosts.workload"

return function()
  workload.begin(looking_in(ngx.thread.spawn, ngx.sleep), function(report)
    io.stdout:write(workload.line(report), "\n")
    io.stdout:flush()
    os.exit(0)
  end)
end
