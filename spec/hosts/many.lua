-- A request of a server that runs Lua (HAProxy, nginx): a signed command, and ten reads at once in tasks, while other requests do
-- the same. A task is begun in one request, and goes on in whichever turns the loop. Returns the answer's text.
local fleet = require "fleet"

local client

return function()
  client = client or fleet.new {
    base_url = os.getenv "FLEET_BASE_URL", token = os.getenv "FLEET_TOKEN", key = os.getenv "FLEET_KEY", timeout = 30,
  }
  local car = client:vehicle(os.getenv "FLEET_VIN")
  local done, err = car:flash_lights()
  local good, list = 0, { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }
  local results = fleet.map(list, function()
    fleet.sleep(0.02)
    return car:info()
  end)
  for _, result in ipairs(results) do
    if result.ok then good = good + 1 else err = result.err end
  end
  return string.format("%s, %d reads, %s\n", done and done.via, good, tostring(err))
end
