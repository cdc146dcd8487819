-- Energy history by local dates: the ranges to request, and one reply joined from several.
--
-- Clients that sent UTC or a fixed offset across a clock change lost hours, and a range that ended at 00:00 lost a day
-- (doc/protocol.md#energy-history). So dates are local, and a range does not include its end. Each end of a request has the offset valid at
-- that time. A request ends with the last second of its last day, so that it includes nothing of the next day, whether the service includes
-- the end or not. No code here makes requests or waits.

local core = require "fleet.core"
local errors = require "fleet.util.errors"

local M = {}

local date_form = "^%d%d%d%d%-%d%d%-%d%d$"

local function is_date(value)
  return type(value) == "string" and string.find(value, date_form) ~= nil
end

local function days_of(params, name)
  local days, err = core.date_days(params[name])
  if not days then errors.usage("bad argument '%s': %s", name, err.message) end
  return days
end

local function after_days(count)
  return function(day) return day + count end
end

local function next_month(day)
  local year, month = string.match(core.days_date(day), "^(%d+)%-(%d+)")
  year, month = tonumber(year), tonumber(month) + 1
  if month > 12 then year, month = year + 1, 1 end
  return core.date_days(string.format("%04d-%02d-01", year, month))
end

local function next_year(day)
  return core.date_days(string.format("%04d-01-01", tonumber(string.sub(core.days_date(day), 1, 4)) + 1))
end

-- The longest range of one request: a reply covers one period, and longer ones than a month may be incomplete.
local reach = {
  day = after_days(1), week = after_days(7), month = next_month, year = next_year,
  lifetime = function() return math.huge end,
}
local reach_without_period = after_days(31)

local function text(zone, instant)
  return core.time_text(instant, zone:offset(instant))
end

local function range_of(zone, first, after)
  local begins, ends = zone:day(core.days_date(first)), zone:day(core.days_date(after))
  if begins == ends then return nil end -- the zone skipped this day
  return { start_date = text(zone, begins), end_date = text(zone, ends - 1) }
end

local function ranges_between(zone, first, after, next_day)
  local list = {}
  while first < after do
    local stop = math.min(next_day(first), after)
    list[#list + 1] = range_of(zone, first, stop)
    first = stop
  end
  return list
end

-- The first day and the day after the last; nil without local dates, or with only one of the two.
local function dates(params)
  if params.day ~= nil then
    if params.start_date ~= nil or params.end_date ~= nil then
      errors.usage("bad argument 'day': it takes the place of start_date and end_date")
    end
    local day = days_of(params, "day")
    return day, day + 1
  end
  if not is_date(params.start_date) or not is_date(params.end_date) then return nil end
  local first, after = days_of(params, "start_date"), days_of(params, "end_date")
  if after <= first then
    errors.usage("bad argument 'end_date': it must be later than start_date, because the end is not part of the " ..
      "range; one day is day = \"%s\"", params.start_date)
  end
  return first, after
end

--- Raises for invalid local dates, or a wrong order: before the zone is requested.
function M.check(params)
  dates(params)
end

-- One end is a date, the other a time or absent: one request, each end as the caller gave it.
local function single(params, zone)
  local range = { start_date = params.start_date, end_date = params.end_date }
  if is_date(range.start_date) then
    days_of(params, "start_date")
    range.start_date = text(zone, (zone:day(range.start_date)))
  end
  if is_date(range.end_date) then
    days_of(params, "end_date")
    range.end_date = text(zone, zone:day(range.end_date) - 1)
  end
  return { range }
end

--- Whether the parameters name local dates, so that ranges needs a zone.
function M.local_dates(params)
  return params.day ~= nil or is_date(params.start_date) or is_date(params.end_date)
end

--- The requests of a history call. params: { day = "2026-03-29" } or { start_date =, end_date = } with dates (local; the end is not
--- included) or RFC 3339 times (sent as given), besides period and split (days per request, by default what suits the period). zone: of
--- core.zone(params.time_zone). Returns a list of { start_date =, end_date = } in RFC 3339; raises for dates that do not exist and for an
--- end that is not after the start.
function M.ranges(params, zone)
  if not M.local_dates(params) then
    return { { start_date = params.start_date, end_date = params.end_date } }
  end
  local first, after = dates(params)
  if not first then return single(params, zone) end
  local next_day = params.split and after_days(params.split) or reach[params.period] or reach_without_period
  return ranges_between(zone, first, after, next_day)
end

-- ---- joining ----

-- The lists of the three kinds of history, with the key that identifies an entry.
local lists = {
  time_series = function(entry) return entry.timestamp end,
  events = function(entry) return entry.timestamp end,
  charge_history = function(entry)
    local start, duration = entry.charge_start_time or {}, entry.charge_duration or {}
    return string.format("%s %s %s", tostring(start.seconds), tostring(duration.seconds), tostring(entry.energy_added_wh))
  end,
}

-- Appends entries, except those of an earlier reply. Two equal entries within one reply are both kept, because the service sent them.
local function append(list, more, key_of, seen)
  local fresh = {}
  for _, entry in ipairs(more) do
    local key = type(entry) == "table" and key_of(entry)
    if not key or not seen[key] then list[#list + 1] = entry end
    if key then fresh[#fresh + 1] = key end
  end
  for _, key in ipairs(fresh) do seen[key] = true end
end

--- Joins the replies of several ranges, in their order. A reply that is nil or null (no data) adds nothing. count: the number of replies.
--- Other members are those of the first reply that has them.
function M.join(replies, count)
  local joined, seen = {}, {}
  for i = 1, count or #replies do
    for name, value in pairs(type(replies[i]) == "table" and replies[i] or {}) do
      if lists[name] and type(value) == "table" then
        joined[name], seen[name] = joined[name] or {}, seen[name] or {}
        append(joined[name], value, lists[name], seen[name])
      elseif joined[name] == nil then
        joined[name] = value
      end
    end
  end
  if joined.events and joined.total_events then joined.total_events = #joined.events end
  return joined
end

return M
