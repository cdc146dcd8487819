-- Prices of a day-ahead market for `charge_by { tariff = function(now) … }`: by hour or quarter hour, each day dated in the market's zone.
-- The figures are made up. From now to the same time tomorrow each time of day occurs once, so that it is one day of a tariff. On the two
-- days on which the clock changes (23 and 25 hours) the hour that it skips costs what the one before it does, and the one that it repeats
-- the dearer of the two.
local fleet = require "fleet"
local zone = assert(require("fleet.automation.local_time").zone "Europe/Berlin")

-- A recorded sample: cent per kWh of a day by hours and of one by quarters of an hour, each after its date and the market's zone.
local function read(path)
  local days = {}
  for date, market, prices in string.gmatch(assert(io.open(path)):read "*a", "(%d+%-%d+%-%d+) (%S+)([%d%s.-]+)\n") do
    days[#days + 1] = { begins = assert(require("fleet.automation.local_time").zone(market)):day(date), prices = {} }
    for price in string.gmatch(prices, "%S+") do table.insert(days[#days].prices, tonumber(price)) end
  end
  return days
end

local function clock(quarter) return string.format("%02d:%02d", math.floor(quarter / 4), quarter % 4 * 15) end

-- The prices until the same time tomorrow by quarter hours of the local clock, 0 to 95. As many of them are in a day as its date says.
---@return table<integer, number?>
local function by_quarters(now, days)
  local found, ends = {}, now + 86400 + zone:offset(now) - zone:offset(now + 86400)
  for _, day in ipairs(days) do
    local begins, step = day.begins or fleet.time(day.date), #day.prices > 25 and 900 or 3600
    for i = 0, #day.prices * step / 900 - 1 do
      local at, price = begins + i * 900, day.prices[math.floor(i * 900 / step) + 1]
      local t = zone:localtime(at)
      local quarter = t.hour * 4 + math.floor(t.min / 15)
      if at + 900 > now and at + 900 <= ends then found[quarter] = math.max(price, found[quarter] or price) end
    end
  end
  return found
end

-- A gap is the hour that the clock skips, or what has not been published yet; only the first is filled.
local function tariff(now, days, surcharge)
  local found, rows = by_quarters(now, days), {}
  local skips = zone:offset(now) < zone:offset(now + 86400)
  for quarter = 0, 95 do
    local price = found[quarter] or skips and found[quarter - 4]
    if price then rows[#rows + 1] = { from = clock(quarter), to = clock(quarter + 1), price = price / 100 + surcharge } end
    found[quarter] = price
  end
  return fleet.tariff.from_rows { currency = "EUR", name = "Day ahead", time_zone = "Europe/Berlin", rows = rows }
end

local now = assert(fleet.time "2026-05-11T18:00:00+02:00")
local found = assert(tariff(now, read "examples/prices_spot.txt", 0.15))
print(string.format("%.2f now, %.2f at 00:15", found:price(now).buy.price, found:price(now + 22500).buy.price))
return tariff
