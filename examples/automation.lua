-- For `fleet run examples/automation.lua`: a car that is ready by 07:00 and keeps its settings.
local fleet = require "fleet"

local tariff = assert(fleet.tariff.from_rows {
  currency = "EUR", name = "Day and night", time_zone = "Europe/Berlin",
  rows = { { from = "22:00", to = "06:00", price = 0.21 }, { from = "06:00", to = "22:00", price = 0.34 } },
})

return function(client)
  local car = client:vehicle("5YJSFLEE9KF000002")
  return {
    fleet.automation.charge_by { car = car, ready_by = "07:00", level = 80, tariff = tariff },
    fleet.automation.ensure { car = car, settings = { set_sentry_mode = { on = false } } },
  }
end
