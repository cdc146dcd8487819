-- What a host in C (poll.c, glib.c) runs: reads the cars while tick() goes on.
-- luacheck: globals tick finished
local fleet = require "fleet"

local ticks = 0
function tick() ticks = ticks + 1 end

local client = fleet.new { base_url = os.getenv "FLEET_BASE_URL", token = os.getenv "FLEET_TOKEN", store = os.getenv "FLEET_STORE" }
fleet.spawn(function()
  for car, record in client:vehicles() do print(car.vin, record.state) end
  fleet.sleep(0.1)
  print("the host went on", ticks > 3)
  client:close()
  finished = true
end)
