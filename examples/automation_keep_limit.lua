-- The limit of every day, with a trip for which the owner raises it: June 2026, rehearsed. With a file name it draws the days.
local fleet = require "fleet"

local report = fleet.automation.rehearse {
  from = "2026-06-01", days = 14,
  vehicle = { charge_state = { battery_level = 80, charge_limit_soc = 80, charge_current_request_max = 16 } },
  habits = {
    { "07:30", "leave", days = "mon-fri", miles = 40 }, { "18:00", "plug", days = "mon-fri" },
    { "20:00", "limit", percent = 95, date = "2026-06-05" },
    { "09:00", "leave", date = "2026-06-06", miles = 150 }, { "20:00", "plug", date = "2026-06-07" },
  },
  automation = function(car) return fleet.automation.keep_limit { car = car, level = 80 } end,
}

print(report:text() .. string.format("set back    %d times", report:sent("set_charge_limit")))
local file = ...
if file then report:save(file, { title = "keep_limit: 80 % again after a trip, June 2026" }) end
return report
