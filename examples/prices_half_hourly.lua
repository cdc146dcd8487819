-- Half-hourly rates as a retailer publishes them, each with its own beginning in UTC: a tariff for `charge_by`. The figures are made up.
-- On the days on which the clock changes the hour that it skips costs what the one before it does, and the one that it repeats the dearer.
-- It needs lua-cjson, which the module itself does not.
local fleet = require "fleet"
local zone = assert(require("fleet.automation.local_time").zone "Europe/London")

local file = assert(io.open "examples/prices_half_hourly.json") -- a recorded sample, the latest first
local body = require("cjson").decode(file:read "*a")
file:close()

local function clock(half) return string.format("%02d:%02d", math.floor(half / 2), half % 2 * 30) end

--- The rates from a moment to the same time tomorrow as one day of a tariff; nil, err where some are missing.
local function tariff(now, rates)
  local found, rows, ends = {}, {}, now + 86400 + zone:offset(now) - zone:offset(now + 86400)
  for _, rate in ipairs(rates) do
    local at = assert(fleet.time(rate.valid_from))
    if at + 1800 > now and at < ends then
      local t = zone:localtime(at)
      local half = t.hour * 2 + math.floor(t.min / 30)
      found[half] = math.max(rate.value_inc_vat, found[half] or rate.value_inc_vat)
    end
  end
  local skips = zone:offset(now) < zone:offset(now + 86400)
  for half = 0, 47 do
    found[half] = found[half] or skips and found[half - 2] or nil
    if found[half] then rows[#rows + 1] = { from = clock(half), to = clock(half + 1), price = found[half] / 100 } end
  end
  return fleet.tariff.from_rows { currency = "GBP", name = "Half-hourly", time_zone = "Europe/London", rows = rows }
end

local now = assert(fleet.time "2026-11-10T23:00:00Z")
local found = assert(tariff(now, body.results))
print(string.format("%d rates, %.2f at 00:00", #body.results, found:price(now + 3600).buy.price))
print((select(2, tariff(now + 3600, body.results))) ~= nil and "an hour later some are missing")
return tariff
