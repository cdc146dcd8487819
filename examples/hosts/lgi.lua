-- GLib's main loop through lgi (Lua 5.1 to 5.3): for programs with GTK.
local GLib = require("lgi").GLib
local fleet = require "fleet"

local client = fleet.new { base_url = os.getenv "FLEET_BASE_URL", token = os.getenv "FLEET_TOKEN", store = os.getenv "FLEET_STORE" }
local main = GLib.MainLoop()
GLib.io_add_watch(GLib.IOChannel.unix_new(fleet.loop.fd()), GLib.PRIORITY_DEFAULT, GLib.IOCondition.IN, function()
  fleet.loop.step()
  return true
end)
GLib.timeout_add(GLib.PRIORITY_DEFAULT, 50, function()
  fleet.spawn(function()
    for car, record in client:vehicles() do print(car.vin, record.state) end
    main:quit()
  end)
  return false
end)
main:run()
client:close()
