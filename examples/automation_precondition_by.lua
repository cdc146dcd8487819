-- Warm at 07:30 on working days, if the car is plugged in: January 2026, rehearsed. With a file name it draws the days.
local fleet = require "fleet"

local warm = 0
local report = fleet.automation.rehearse {
  from = "2026-01-12", days = 14,
  vehicle = { charge_state = { battery_level = 70, charge_limit_soc = 80 }, climate_state = { outside_temp = -3, inside_temp = -3 } },
  habits = {
    { "07:30", function(world) warm = warm + (world.car.sections.climate_state.inside_temp > 15 and 1 or 0) end, days = "mon-fri" },
    { "07:35", "leave", days = "mon-fri", miles = 30 }, { "18:00", "plug", days = "mon-fri" },
  },
  automation = function(car)
    return fleet.automation.precondition_by { car = car, ready_by = "07:30", days = "mon-fri", zone = "Europe/Berlin", wake = true }
  end,
}

print(report:text() .. string.format("warm        on %d of 10 mornings", warm))
local file = ...
if file then report:save(file, { title = "precondition_by: warm at 07:30, January 2026" }) end
return report
