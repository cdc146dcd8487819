-- LuaSocket's select, as in the loop of openLuup: fleet.loop is one of the sockets. Runs on Lua 5.1 and later.
local socket = require "socket"
local fleet = require "fleet"

local client = fleet.new { base_url = os.getenv "FLEET_BASE_URL", token = os.getenv "FLEET_TOKEN", store = os.getenv "FLEET_STORE" }
local task = fleet.spawn(function()
  for car, record in client:vehicles() do print(car.vin, record.state) end
  return "done"
end)

local sockets = { fleet.loop } -- and those of the host
local finished = false
fleet.spawn(function() finished = task:wait() end)
while not finished do
  local ready = socket.select(sockets, nil, 1)
  if ready[fleet.loop] then fleet.loop.step() end
end
print(finished)
client:close()
