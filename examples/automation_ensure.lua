-- A charge limit and a sentry that stay as declared: June 2026, rehearsed. With a file name it draws the month.
local fleet = require "fleet"

local function raise_limit(world) -- a person raises the limit for a trip, and forgets it
  world.event("user_present")
  require("fleet.sim.control").set(world.service, world.car.vin, { charge_state = { charge_limit_soc = 100 } })
  world.event("user_present", { present = false })
end

local month = fleet.automation.rehearse {
  from = "2026-06-01", days = 30, zone = "Europe/Berlin",
  vehicle = { vehicle_state = { sentry_mode = false }, charge_state = { charge_limit_soc = 90, battery_level = 55 } },
  habits = {
    { "07:30", "leave", days = "mon-fri", miles = 40 }, { "17:45", "plug", days = "mon-fri" }, { "18:00", raise_limit, days = "fri" },
  },
  automation = function(car)
    return fleet.automation.ensure { car = car, zone = "Europe/Berlin", settings = { set_charge_limit = { percent = 80 } } }
  end,
}

print(month:text() .. "set         " .. month:sent("set_charge_limit") .. " times")
local file = ...
if file then month:save(file, { title = "ensure: a charge limit of 80 %, June 2026" }) end
return month
