-- Dates of the simulator's clock: UTC seconds with an optional fraction. A zone is a function from a time to its offset in seconds, so that
-- specs can use invented zones.
local core = require("fleet.core")

local M = {}

M.DAY = 86400

-- Days since 1970-01-01.
function M.days(year, month, day)
  return core.date_days(("%04d-%02d-%02d"):format(year, month, day))
end

-- { year, month, day, hour, minute, second, weekday } of UTC seconds; weekday 0 is Sunday.
function M.date(seconds)
  local days = math.floor(seconds / M.DAY)
  local rest = seconds - days * M.DAY
  local year, month, day = core.days_date(days):match("^(%d+)-(%d+)-(%d+)$")
  return {
    year = tonumber(year), month = tonumber(month), day = tonumber(day), hour = math.floor(rest / 3600),
    minute = math.floor(rest / 60) % 60, second = math.floor(rest % 60), weekday = (days + 4) % 7,
  }
end

-- RFC 3339 text; offset in seconds, 0 by default.
function M.text(seconds, offset)
  return core.time_text(math.floor(seconds), offset or 0)
end

-- UTC seconds of RFC 3339 text; nil for other text.
function M.parse(text)
  return (core.time(text))
end

-- UTC seconds of the local midnight that begins the day of `seconds`, moved by `days`. zone(seconds) gives the offset.
function M.midnight(seconds, zone, days)
  local offset = zone(seconds)
  local day = math.floor((seconds + offset) / M.DAY) + (days or 0)
  local guess = day * M.DAY - offset
  return day * M.DAY - zone(day * M.DAY - zone(guess))
end

return M
