-- A two-season plan with a mistake in it: what the check says, and the mended plan as a picture in the terminal.
local fleet = require "fleet"

local everyday = function(from, to) return { fromDayOfWeek = 0, toDayOfWeek = 6, fromHour = from, toHour = to } end

local plan = {
  name = "Two seasons", utility = "Harbor Electric", currency = "USD",
  seasons = {
    Summer = { fromMonth = 6, fromDay = 1, toMonth = 9, toDay = 30, tou_periods = {
      ON_PEAK = { periods = { everyday(16, 21) } },
      OFF_PEAK = { periods = { everyday(0, 15), everyday(21, 0) } }, -- 15:00 to 16:00 is forgotten
    } },
    Winter = { fromMonth = 10, fromDay = 1, toMonth = 5, toDay = 31, tou_periods = {
      ON_PEAK = { periods = { everyday(16, 21) } },
      OFF_PEAK = { periods = { everyday(21, 16) } }, -- over midnight
    } },
  },
  energy_charges = {
    Summer = { rates = { ON_PEAK = 0.512, OFF_PEAK = 0.268 } },
    Winter = { rates = { ON_PEAK = 0.387, OFF_PEAK = 0.259 } },
  },
}

print(fleet.tariff.explain(fleet.tariff.check(plan)))

plan.seasons.Summer.tou_periods.OFF_PEAK.periods[1].toHour = 16
local tariff = assert(fleet.tariff.new(plan))
print(tariff:text())
