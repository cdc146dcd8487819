-- The battery of the house, filled every night from 01:00 to 05:00: November 2026, rehearsed. With a file name it draws the days.
local fleet = require "fleet"

local tariff = assert(fleet.tariff.from_rows { currency = "EUR", name = "Two prices", time_zone = "Europe/Berlin", rows = {
  { from = "22:00", to = "06:00", price = 0.21 }, { from = "06:00", to = "22:00", price = 0.36 } } })

local report = fleet.automation.rehearse {
  from = "2026-11-02", days = 7, habits = {},
  energy_site = { components = { battery = true }, battery_count = 1, backup_reserve_percent = 20, tariff_content_v2 = tariff },
  automation = function(_, site)
    return fleet.automation.charge_home_battery { site = site, from = "01:00", to = "05:00", zone = "Europe/Berlin" }
  end,
}

local reserve, prices = report:sent("backup"), report:sent("time_of_use_settings")
print(report:text() .. string.format("sent        reserve %d times, tariff %d times", reserve, prices))
local file = ...
if file then report:save(file, { title = "charge_home_battery: 01:00 to 05:00, November 2026" }) end
return report
