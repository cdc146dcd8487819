-- What power costs now and until tomorrow evening, and when a car should charge for four hours.
local fleet = require "fleet"

local tariff = assert(fleet.tariff.from_rows {
  currency = "EUR", name = "Day and night", time_zone = "Europe/Berlin",
  rows = {
    { days = "mon-fri", from = "06:00", to = "22:00", price = 0.34 },
    { days = "mon-fri", from = "00:00", to = "06:00", price = 0.22 },
    { days = "mon-fri", from = "22:00", to = "00:00", price = 0.22 },
    { days = "sat-sun", price = 0.22 },
  },
})

local from = assert(fleet.time "2026-11-20T18:00:00+01:00")
local to = from + 86400
local now = tariff:price(from).buy
print(string.format("now %.2f EUR per kWh (%s)", now.price, now.label))

for _, s in ipairs(tariff:segments(from, to)) do
  print(string.format("%5.1f h at %.2f", (s.to - s.from) / 3600, s.buy.price))
end

local best = tariff:cheapest { hours = 4, from = from, to = to, contiguous = true }
print(string.format("charge from %.1f h on, for %.2f EUR per kWh", (best[1].from - from) / 3600, best.mean))
