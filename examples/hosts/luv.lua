-- libuv (luv, or Neovim): the descriptor is watched once; whatever begins later makes it readable.
local uv = require "luv"
local fleet = require "fleet"

local client = fleet.new { base_url = os.getenv "FLEET_BASE_URL", token = os.getenv "FLEET_TOKEN", store = os.getenv "FLEET_STORE" }
local poll = uv.new_poll(fleet.loop.fd())
poll:start("r", function() fleet.loop.step() end)

local ticks, timer = 0, uv.new_timer()
timer:start(10, 10, function() ticks = ticks + 1 end)

uv.new_timer():start(50, 0, function()
  fleet.spawn(function()
    for car, record in client:vehicles() do print(car.vin, record.state) end
    fleet.sleep(0.1)
    timer:close()
    poll:close()
    print("the host went on", ticks > 3)
  end)
end)
uv.run()
client:close()
