-- Prices of a plain CSV, `start;price` with local times: a tariff for `charge_by` or `tariff_sync`. Made-up figures.
local fleet = require "fleet"

local text = [[
start;price
00:00;0,19
05:00;0,31
17:00;0,42
21:00;0,26
]]

local function tariff(csv, zone, currency)
  local rows = {}
  for from, price in string.gmatch(csv, "(%d%d:%d%d)[;,]%s*([%d.,]+)") do
    if rows[#rows] then rows[#rows].to = from end
    rows[#rows + 1] = { from = from, to = "24:00", price = tonumber((string.gsub(price, ",", "."))) }
  end
  return fleet.tariff.from_rows { currency = currency, name = "From a file", time_zone = zone, rows = rows }
end

local found = assert(tariff(text, "Europe/Berlin", "EUR"))
print(found:price(fleet.time("2026-06-01T18:00:00+02:00")).buy.price)
return tariff
