-- Local times of day for automations: the next 07:00, the day's name, what a clock on the wall shows.

local core = require "fleet.core"

local M = {}

local zones = setmetatable({}, { __mode = "v" }) -- a zone is read once while it is in use

--- The zone of an IANA name, or nil, err, kind.
function M.zone(name)
  if zones[name] then return zones[name] end
  local zone, err, kind = core.zone(name)
  zones[name] = zone
  return zone, err, kind
end

--- Minutes after local midnight of "07:00", or nil.
function M.minutes(text)
  local hour, minute = string.match(text, "^(%d%d?):(%d%d)$")
  hour, minute = tonumber(hour), tonumber(minute)
  if not hour or hour > 23 or minute > 59 then return nil end
  return hour * 60 + minute
end

local function date_of(zone, utc)
  local t = zone:localtime(utc)
  return core.date_days(string.format("%04d-%02d-%02d", t.year, t.month, t.day))
end

local function at(zone, days, minutes)
  local year, month, day = string.match(core.days_date(days), "^(%d+)-(%d+)-(%d+)$")
  return (zone:utc {
    year = tonumber(year), month = tonumber(month), day = tonumber(day),
    hour = math.floor(minutes / 60), min = minutes % 60,
  })
end

local function next_moment(zone, utc, minutes)
  local day = date_of(zone, utc)
  for later = 0, 2 do
    local moment = at(zone, day + later, minutes)
    if moment > utc then return moment end
  end
end

-- zone -> minutes -> the spans { from =, moment = } that were asked for last: decisions ask for the same ones until they have passed.
local spans = setmetatable({}, { __mode = "k" })
local most_spans = 4

local function spans_of(zone, minutes)
  local of_zone = spans[zone] or {}
  spans[zone] = of_zone
  of_zone[minutes] = of_zone[minutes] or {}
  return of_zone[minutes]
end

--- UTC seconds of the next moment after utc at which so many minutes after midnight are on the clock. A time that the
--- clock skips is the one that it then shows.
function M.next(zone, utc, minutes)
  local list = spans_of(zone, minutes)
  for i = 1, #list do
    if list[i].from <= utc and utc < list[i].moment then return list[i].moment end
  end
  local moment = next_moment(zone, utc, minutes)
  table.insert(list, 1, { from = utc, moment = moment })
  list[most_spans + 1] = nil
  return moment
end

--- UTC seconds of the last moment that is not after utc at which so many minutes after midnight were on the clock.
function M.last(zone, utc, minutes)
  local found = M.next(zone, utc - 25 * 3600 - 1, minutes)
  local later = M.next(zone, found, minutes)
  return later <= utc and later or found
end

local quarter = 900 -- seconds; no zone begins its day between two of them
local dates = setmetatable({}, { __mode = "k" }) -- zone -> { quarter =, date = } of the last moment that was asked for

--- The local date of a moment as text.
function M.date(zone, utc)
  local last, number = dates[zone], math.floor(utc / quarter)
  if last and last.quarter == number then return last.date end
  dates[zone] = { quarter = number, date = core.days_date(date_of(zone, utc)) }
  return dates[zone].date
end

--- Seconds as "4 hours": of the largest unit that they are a whole number of.
function M.duration(seconds)
  for _, unit in ipairs { { 86400, "day" }, { 3600, "hour" }, { 60, "minute" }, { 1, "second" } } do
    local count = math.floor(seconds / unit[1] + 0.5)
    if count * unit[1] == math.floor(seconds + 0.5) and count > 0 then
      return string.format("%d %s%s", count, unit[2], count == 1 and "" or "s")
    end
  end
  return "0 seconds"
end

--- "Tue 07:00".
function M.text(zone, utc)
  local t = zone:localtime(math.floor(utc + 0.5))
  local days = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" }
  return string.format("%s %02d:%02d", days[t.wday], t.hour, t.min)
end

return M
