-- Dates without the C library: its functions know one zone per process and its locale. Everything is UTC seconds; a zone is
-- a function that gives the offset in seconds at a moment.
local core = require("fleet.core")

local M = {}

M.DAY = 86400

-- Days since 1970-01-01 of a date in the proleptic Gregorian calendar, with years that begin in March.
function M.days(year, month, day)
  if month <= 2 then year = year - 1 end
  local era = math.floor(year / 400)
  local of_era = year - era * 400
  local of_year = math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1
  return era * 146097 + of_era * 365 + math.floor(of_era / 4) - math.floor(of_era / 100) + of_year - 719468
end

-- { year, month, day, hour, minute, second, weekday } of UTC seconds; weekday 0 is Sunday.
function M.date(seconds)
  local day = math.floor(seconds / M.DAY)
  local rest = seconds - day * M.DAY
  local z = day + 719468
  local era = math.floor(z / 146097)
  local of_era = z - era * 146097
  local year = math.floor((of_era - math.floor(of_era / 1460) + math.floor(of_era / 36524) - math.floor(of_era / 146096)) / 365)
  local of_year = of_era - (365 * year + math.floor(year / 4) - math.floor(year / 100))
  local m = math.floor((5 * of_year + 2) / 153)
  local month = m < 10 and m + 3 or m - 9
  return {
    year = year + era * 400 + (month <= 2 and 1 or 0),
    month = month,
    day = of_year - math.floor((153 * m + 2) / 5) + 1,
    hour = math.floor(rest / 3600),
    minute = math.floor(rest / 60) % 60,
    second = math.floor(rest % 60),
    weekday = (day + 4) % 7,
  }
end

-- RFC 3339 text; offset in seconds, 0 when left out.
function M.text(seconds, offset)
  return core.time_text(math.floor(seconds), offset or 0)
end

-- UTC seconds of RFC 3339 text; nil when it is something else.
function M.parse(text)
  return (core.time(text))
end

-- UTC seconds of local midnight of the day that holds `seconds`, moved by so many days. zone(seconds) gives the offset.
function M.midnight(seconds, zone, days)
  local offset = zone(seconds)
  local day = math.floor((seconds + offset) / M.DAY) + (days or 0)
  local guess = day * M.DAY - offset
  return day * M.DAY - zone(day * M.DAY - zone(guess))
end

return M
