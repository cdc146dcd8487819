-- A car that is left open twice in a week: May 2026, rehearsed. With a file name it draws the days.
local fleet = require "fleet"

local warned = 0
local report = fleet.automation.rehearse {
  from = "2026-05-04", days = 7, vehicle = { charge_state = { battery_level = 70 }, sleep_after = 3600 },
  habits = {
    { "08:00", "leave", days = "mon-fri", miles = 20 },
    { "18:05", "leave_open", open = { fd_window = 1, locked = false }, date = "2026-05-05" },
    { "18:05", "leave_open", open = { rt = 1 }, date = "2026-05-07" }, { "07:50", "leave_open", open = { rt = 0 }, date = "2026-05-08" },
  },
  automation = function(car)
    return fleet.automation.left_open { car = car, notify = function(event) warned = warned + (event.severity == "warning" and 1 or 0) end }
  end,
}

print(report:text() .. string.format("warned      %d times", warned))
local file = ...
if file then report:save(file, { title = "left_open: a window and a trunk, May 2026" }) end
return report
