-- fleet wake VIN: wakes a vehicle and waits.

local options = require "fleet.cli.options"

local timeout = { name = "timeout", type = "number", doc = "seconds to wait, 90 when left out" }

local function run(context, line)
  local given = options.given(context.environment, { timeout }, line.options)
  local car = context:check(function() return context:client():vehicle(line.words[1]) end)
  context.progress("waking the vehicle, up to " .. (given.timeout or 90) .. " s")
  local awake, err, kind = context:check(car.wake, car, given)
  context.progress()
  if not awake then return nil, err, kind end
  return { state = "online" }
end

return {
  {
    name = "wake", words = { "VIN" }, takes = { timeout }, run = run,
    doc = "Wakes a vehicle and waits until it is online; a wake is priced. wake_up asks and returns at once.",
  },
}
