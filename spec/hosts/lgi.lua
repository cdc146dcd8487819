local GLib = require("lgi").GLib
local fleet = require "fleet"
local workload = require "spec.hosts.workload"

local main = GLib.MainLoop()
GLib.io_add_watch(GLib.IOChannel.unix_new(fleet.loop.fd()), GLib.PRIORITY_DEFAULT, GLib.IOCondition.IN, function()
  fleet.loop.step()
  return true
end)
workload.begin({
  every = function(seconds, fn)
    GLib.timeout_add(GLib.PRIORITY_DEFAULT, seconds * 1000, function()
      fn()
      return true
    end)
  end,
  after = function(seconds, fn)
    GLib.timeout_add(GLib.PRIORITY_DEFAULT, seconds * 1000, function()
      fn()
      return false
    end)
  end,
}, function(report)
  print(workload.line(report))
  main:quit()
end)
main:run()
