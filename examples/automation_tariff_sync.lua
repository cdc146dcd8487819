-- Prices of the day to an energy site, when they differ: October 2026 in Berlin, rehearsed. With a file name it draws the month.
local fleet = require "fleet"

local zone = assert(require("fleet.automation.local_time").zone "Europe/Berlin")

local function spot(now) -- what a power exchange would say of today; on Sundays it repeats Saturday
  local t = zone:localtime(math.floor(now))
  local midnight, following = zone:day(string.format("%04d-%02d-%02d", t.year, t.month, t.day))
  local size, prices = 0.05 + (t.wday == 1 and t.day - 1 or t.day) % 7 * 0.02, {}
  for start = midnight, following - 3600, 3600 do
    local hour = zone:localtime(start).hour
    local price = 0.20 + size * (math.exp(-(hour - 8) ^ 2 / 6) + math.exp(-(hour - 19) ^ 2 / 8))
    prices[#prices + 1] = { start = start, price = math.floor(price * 1000) / 1000 }
  end
  return { currency = "EUR", name = "Spot", time_zone = "Europe/Berlin", spot = prices, labels = 4 }
end

local month = fleet.automation.rehearse {
  from = "2026-10-01", days = 31, zone = "Europe/Berlin",
  automation = function(_, site)
    return fleet.automation.tariff_sync { site = site, zone = "Europe/Berlin", prices = spot }
  end,
}

print(month:text() .. "sent        " .. month:sent("time_of_use_settings") .. " tariffs")
local file = ...
if file then month:save(file, { title = "tariff_sync: prices in force at the site, October 2026" }) end
return month
