-- Prices of a day-ahead market for `charge_by { tariff = function(now) … }`: by hour or quarter hour, each day dated in the market's zone.
-- The figures are made up. Of the coming 24 hours each time of day occurs once, so that they are one day of a tariff;
-- on the two days of the year on which the clock changes take out the hour that is doubled, or double the one before the gap.
local fleet = require "fleet"

local quarters = {}
for i = 1, 96 do quarters[i] = 8 + (i * 7) % 12 end
local published = { -- cent per kWh
  { date = "2026-05-11T00:00:00+02:00", prices = { 9, 8, 8, 7, 8, 10, 14, 17, 16, 12, 9, 6, 4, 3, 4, 7, 11, 16, 21, 24, 20, 16, 13, 11 } },
  { date = "2026-05-12T00:00:00+02:00", prices = quarters },
}

local function clock(minutes) return string.format("%02d:%02d", math.floor(minutes / 60), minutes % 60) end

local function tariff(now, days, surcharge)
  local rows = {}
  for _, day in ipairs(days) do
    local begins, step = fleet.time(day.date), 1440 / #day.prices
    for i, price in ipairs(day.prices) do
      local minutes = (i - 1) * step
      local hour = begins + math.floor(minutes / 60) * 3600 -- whole hours: where one ends, another format may begin
      if hour + 3600 > now and hour + 3600 <= now + 86400 then
        rows[#rows + 1] = { from = clock(minutes), to = clock(minutes + step), price = price / 100 + surcharge }
      end
    end
  end
  table.sort(rows, function(a, b) return a.from < b.from end)
  return fleet.tariff.from_rows { currency = "EUR", name = "Day ahead", time_zone = "Europe/Berlin", rows = rows }
end

local now = fleet.time("2026-05-11T18:00:00+02:00")
local found = assert(tariff(now, published, 0.15))
print(string.format("%.2f now, %.2f at 00:15", found:price(now).buy.price, found:price(now + 22500).buy.price))
return tariff
