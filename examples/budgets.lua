-- Budgets: a call beyond them is not sent, and the report says what was spent.
local fleet = require "fleet"

local numbers = fleet.metrics.prometheus()
local client = fleet.new {
  base_url = os.getenv "FLEET_BASE_URL", token = os.getenv "FLEET_TOKEN", store = os.getenv "FLEET_STORE", key = os.getenv "FLEET_KEY",
  budgets = { usd_per_month = 10, per_vehicle_day = { command = 2 } },
  pacing = {}, -- the published rate limits
  metrics = numbers,
  log = function(event)
    if event.name == "budget_warning" then print("warning", event.message) end
  end,
}
local car = client:vehicle(os.getenv "FLEET_VIN" or "5YJ3FLEE9RF000001") -- Blue of the simulator

for _ = 1, 3 do
  local _, err = car:flash_lights()
  if err and err.budget then
    print(err.budget.limit, err.budget.spent .. " of " .. err.budget.most, err.outcome)
  end
end
assert(car:flash_lights { force = true }) -- the owner may

local cost = assert(client:cost {})
print(string.format("%.3f USD", cost.usd), cost.calls.command .. " commands")
print(numbers:text():match 'fleet_billed_total{class="command"} %d+')
client:close()
