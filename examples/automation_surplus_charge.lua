-- What the roof gives and the house does not take: April 2026 in Berlin, rehearsed. With a file name it draws the month.
local fleet = require "fleet"

local function weather(world) -- clear, hazy and dull days in turn
  local day = math.floor((world.measured - world.from) / 86400)
  world.site.peak = ({ 7000, 5200, 2600, 6400, 1500, 7000, 4300 })[day % 7 + 1]
end

local month = fleet.automation.rehearse {
  from = "2026-04-01", days = 30, zone = "Europe/Berlin",
  tariff = assert(fleet.tariff.flat { price = 0.33, currency = "EUR", time_zone = "Europe/Berlin" }),
  vehicle = { charge_state = { battery_level = 35, charge_limit_soc = 90, charge_current_request_max = 16 } },
  habits = {
    { "00:00", weather }, { "07:30", "leave", days = "mon-fri", miles = 30 }, { "13:30", "plug", days = "mon-fri" },
    { "18:00", "leave", days = "sun", miles = 90 }, { "21:00", "plug", days = "sun" },
  },
  automation = function(car, site)
    return fleet.automation.surplus_charge {
      car = car, site = site, zone = "Europe/Berlin", volts = 240, sample_every = 300, wake = true,
    }
  end,
}

print(month:text())
local file = ...
if file then month:save(file, { title = "surplus_charge: sun into the car, April 2026" }) end
return month
