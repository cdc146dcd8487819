-- Times and zones: nothing here needs a network.
local fleet = require "fleet"
local core = require "fleet.core"

print(fleet.time "2026-03-29T07:30:00+02:00", fleet.time(1774762200000)) -- text, milliseconds

local berlin = assert(core.zone "Europe/Berlin")
local first, after = berlin:day "2026-03-29"
print((after - first) / 3600 .. " hours", core.time_text(first, berlin:offset(first)))

local utc, kind = berlin:utc { year = 2026, month = 10, day = 25, hour = 2, min = 30 }
print(core.time_text(utc, berlin:offset(utc)), kind)
