-- Days and months of the counts. They are in UTC, like those of the service's bill.

local M = {}

local day_length = 86400

-- Days since 1970-01-01 of the first of a month (proleptic Gregorian).
local function month_start(year, month)
  local y = month <= 2 and year - 1 or year
  local era = math.floor(y / 400)
  local of_era = y - era * 400
  local of_year = math.floor((153 * (month + (month > 2 and -3 or 9)) + 2) / 5)
  return era * 146097 + of_era * 365 + math.floor(of_era / 4) - math.floor(of_era / 100) + of_year - 719468
end

--- { month = "2026-11", suffix = "/22", day_ends =, month_ends = } of a time; ends are UTC seconds.
function M.at(wall)
  local date = os.date("!*t", math.floor(wall))
  local year, month = date.year, date.month
  return {
    month = string.format("%04d-%02d", year, month), suffix = string.format("/%02d", date.day),
    day_ends = (math.floor(wall / day_length) + 1) * day_length,
    month_ends = month_start(month == 12 and year + 1 or year, month == 12 and 1 or month + 1) * day_length,
  }
end

return M
