-- Many things at once: every vehicle in a task of its own, at most eight calls in flight.
local fleet = require "fleet"

local client = assert(fleet.from_config()) -- the variables FLEET_…, else ~/.config/fleet/config.json

fleet.run(function()
  local cars = {}
  for car in client:vehicles() do cars[#cars + 1] = car end
  local results = fleet.map(cars, function(car) return car:info() end, { concurrency = 8 })
  for _, result in ipairs(results) do
    print(tostring(result.item), result.ok and result.value.state or tostring(result.err))
  end
end)
client:close()
