-- Tomorrow's spot prices as a tariff of four labels, and whether it is worth sending again.
local fleet = require "fleet"

local midnight, spot = assert(fleet.time "2026-11-20T00:00:00+01:00"), {}
for i = 0, 47 do
  spot[i + 1] = { start = midnight + i * 1800, price = 0.20 + 0.09 * math.sin(i / 48 * 4 * math.pi) }
end

local tariff, groups = fleet.tariff.from_rows {
  currency = "EUR", name = "Spot", time_zone = "Europe/Berlin", spot = spot, labels = 4,
}
assert(tariff, groups)
for _, g in ipairs(groups) do
  print(string.format("%-15s %.5f replaces %.5f to %.5f, %g hours a week", g.label, g.price, g.low, g.high, g.minutes / 60))
end

local yesterday = assert(fleet.tariff.flat { price = 0.2, currency = "EUR", name = "Spot" })
print(#tariff:diff(yesterday) .. " differences from what the site has")
print(#tariff:encode() .. " bytes to send")
