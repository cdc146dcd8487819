-- A storm of a day and a half: the reserve and the car's limit go up, and back: July 2026, rehearsed. With a file name it draws the days.
local fleet = require "fleet"

local from, to = fleet.time("2026-07-14T15:00:00+02:00"), fleet.time("2026-07-16T03:00:00+02:00")
local function warning(now)
  if now >= from and now < to then return { text = "gale-force winds", ends = to } end
end

local report = fleet.automation.rehearse {
  from = "2026-07-13", days = 5,
  vehicle = { charge_state = { battery_level = 70, charge_limit_soc = 80 } },
  energy_site = { components = { battery = true }, battery_count = 1, backup_reserve_percent = 20 },
  habits = { { "18:00", "plug", date = "2026-07-13" } },
  automation = function(car, site)
    return fleet.automation.storm_ready { site = site, car = car, warning = warning, wake = true }
  end,
}

print(report:text())
for _, command in ipairs(report.commands) do print(os.date("!%d %H:%M", command.at), command.name) end
local file = ...
if file then report:save(file, { title = "storm_ready: two days in July 2026" }) end
return report
