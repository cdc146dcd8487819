-- HAProxy with its own Lua 5.3: a service that answers /car/VIN with the car's state, while the proxy goes on with everything else.
-- luacheck: globals core
local fleet = require "fleet"

fleet.loop.wait = function(seconds) core.msleep(math.max(1, math.floor(math.min(seconds, 0.01) * 1000))) end

local client = fleet.new { base_url = os.getenv "FLEET_BASE_URL", token = os.getenv "FLEET_TOKEN", store = os.getenv "FLEET_STORE" }

core.register_service("car", "http", function(applet)
  local vin = string.match(applet.path, "^/car/(%w+)$")
  local status, text = 404, "a car is /car/VIN\n"
  if vin then
    local record, err = client:vehicle(vin):info()
    status, text = record and 200 or 502, record and record.state .. "\n" or tostring(err) .. "\n"
  end
  applet:set_status(status)
  applet:add_header("content-length", #text)
  applet:add_header("content-type", "text/plain")
  applet:start_response()
  applet:send(text)
end)
