-- HAProxy's own Lua. Its loop watches no descriptor of others, so that a task of its own looks in every two milliseconds. WORKLOAD:
-- carries it out, and ends.
-- luacheck: globals core
local fleet = require "fleet"
local many = require "spec.hosts.many"
local workload = require "spec.hosts.workload"

local later = {} -- a task of fleet may call nothing of HAProxy

local function run_due()
  for i = #later, 1, -1 do
    if later[i].at <= fleet.loop.clock() then table.remove(later, i).fn() end
  end
end

core.register_task(function()
  while true do
    core.msleep(2)
    fleet.loop.step()
    run_due()
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
  after = function(seconds, fn) later[#later + 1] = { at = fleet.loop.clock() + seconds, fn = fn } end,
}, function(report)
  io.stdout:write(workload.line(report), "\n")
  os.exit(0)
end)
