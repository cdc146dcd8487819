-- HAProxy's own Lua. WORKLOAD: carries it out, and ends.
-- luacheck: globals core
local fleet = require "fleet"
local many = require "spec.hosts.many"
local looking_in = require "spec.hosts.looking_in"
local workload = require "spec.hosts.workload"

local host = looking_in(core.register_task, function(seconds) core.msleep(seconds * 1000) end)

fleet.loop.wait = function(seconds) core.msleep(math.max(1, math.floor(math.min(seconds, 0.01) * 1000))) end
core.register_service("many", "http", function(applet)
  local text = many()
  applet:set_status(200)
  applet:add_header("content-length", #text)
  applet:start_response()
  applet:send(text)
end)

if not os.getenv "WORKLOAD" then return end
workload.begin(host, function(report)
  io.stdout:write(workload.line(report), "\n")
  os.exit(0)
end)
