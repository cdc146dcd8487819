-- fleet wake VIN: wakes a vehicle and waits.

local prices = require "fleet.budget.prices"
local options = require "fleet.cli.options"
local usage_error = require "fleet.cli.usage_error"
local vehicles = require "fleet.cli.vehicles"

local timeout = { name = "timeout", type = "number", doc = "seconds to wait, by default 90" }

local function run(context, line)
  local given = options.given(context.environment, { timeout }, line.options)
  local extra = line.words[2] or line.pairs[1] and line.pairs[1].name .. "="
  if extra then usage_error.raise(string.format("'wake' takes no '%s'", extra), { "wake" }) end
  local vin, unfound, why = vehicles.find(context, line.words[1])
  if not vin then return nil, unfound, why end
  local car = context:check(function() return context:client():vehicle(vin) end)
  context.progress("waking the vehicle, up to " .. (given.timeout or 90) .. " s")
  local awake, err, kind = context:check(car.wake, car, given)
  context.progress()
  if not awake then return nil, err, kind end
  return { state = "online" }
end

return {
  {
    name = "wake", usage = "wake [VIN]", takes = { timeout }, run = run,
    doc = "Wakes a vehicle and waits until it is online, for " .. prices.text(prices.published.wake)
      .. ". wake_up asks and returns at once.",
  },
}
