-- HAProxy's own Lua. Its loop watches no descriptor of others, so that a task of its own looks in every two milliseconds. WORKLOAD:
-- carries it out, and ends.
-- luacheck: globals core
local fleet = require "fleet"
local many = require "spec.hosts.many"
local workload = require "spec.hosts.workload"

core.register_task(function()
  while true do
    core.msleep(2)
    fleet.loop.step()
  end
end)

fleet.loop.wait = function(seconds) core.msleep(math.max(1, math.floor(math.min(seconds, 0.01) * 1000))) end
core.register_service("many", "http", function(applet)
  local text = many()
  applet:set_status(200)
  applet:add_header("content-length", #text)
  applet:start_response()
  applet:send(text)
end)

if not os.getenv "WORKLOAD" then return end
workload.begin({
  every = function(seconds, fn)
    core.register_task(function()
      while true do
        core.msleep(seconds * 1000)
        fn()
      end
    end)
  end,
  after = function(seconds, fn)
    core.register_task(function()
      core.msleep(seconds * 1000)
      fn()
    end)
  end,
}, function(report)
  io.stdout:write(workload.line(report), "\n")
  os.exit(0)
end)
