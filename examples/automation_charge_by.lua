-- 80 % by 07:00 from the cheapest hours: March 2026 in Berlin, rehearsed. With a file name it draws the month.
local fleet = require "fleet"

local tariff = assert(fleet.tariff.from_rows {
  currency = "EUR", name = "Three prices", time_zone = "Europe/Berlin",
  rows = {
    { from = "00:00", to = "05:00", price = 0.19 }, { from = "05:00", to = "17:00", price = 0.31 },
    { from = "17:00", to = "21:00", price = 0.42 }, { from = "21:00", to = "24:00", price = 0.26 },
  },
})

local month = fleet.automation.rehearse {
  from = "2026-03-01", days = 31, zone = "Europe/Berlin", tariff = tariff, ready_by = "07:00",
  vehicle = { charge_state = { battery_level = 80, charge_limit_soc = 80, charge_current_request_max = 16 } },
  habits = {
    { "07:30", "leave", days = "mon-fri", miles = 70 }, { "17:45", "plug", days = "mon-fri" },
    { "10:00", "leave", days = "sat", miles = 110 }, { "19:00", "plug", days = "sat" },
  },
  automation = function(car)
    return fleet.automation.charge_by { car = car, ready_by = "07:00", level = 80, tariff = tariff, wake = true }
  end,
}

print(month:text() .. string.format("ready       on %d of %d days", month:ready_days(80)))
local file = ...
if file then month:save(file, { title = "charge_by: 80 % by 07:00, March 2026" }) end
return month
