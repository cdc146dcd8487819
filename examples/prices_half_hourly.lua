-- Half-hourly rates as a retailer publishes them, each with its own beginning: a tariff for `charge_by`. The figures are made up.
local fleet = require "fleet"

local body = { results = {} } -- as decoded from JSON, the latest first
for i = 47, 0, -1 do
  local minutes = (i * 30 + 23 * 60) % 1440
  table.insert(body.results, { value_inc_vat = 12 + (i * 5) % 17,
    valid_from = string.format("2026-11-%02dT%02d:%02d:00+00:00", i < 2 and 10 or 11, math.floor(minutes / 60), minutes % 60) })
end

--- The rates of the 24 hours after a moment as one day of a tariff; nil, err where some are missing.
local function tariff(now, rates)
  local rows = {}
  for _, rate in ipairs(rates) do
    local at = fleet.time(rate.valid_from)
    if at + 1800 > now and at < now + 86400 then
      local hour, minute = string.match(rate.valid_from, "T(%d%d):(%d%d)")
      local ends = hour * 60 + minute + 30
      local to = string.format("%02d:%02d", math.floor(ends / 60), ends % 60)
      rows[#rows + 1] = { from = hour .. ":" .. minute, to = to, price = rate.value_inc_vat / 100 }
    end
  end
  table.sort(rows, function(a, b) return a.from < b.from end)
  return fleet.tariff.from_rows { currency = "GBP", name = "Half-hourly", time_zone = "Europe/London", rows = rows }
end

local now = fleet.time("2026-11-10T23:00:00Z")
local found = assert(tariff(now, body.results))
print(string.format("%d rates, %.2f at 00:00", #body.results, found:price(now + 3600).buy.price))
print((select(2, tariff(now + 3600, body.results))) ~= nil and "an hour later some are missing")
return tariff
