-- A second opinion on tariffs, minute by minute and day by day: slow, and written without looking at the core. It reads
-- tables whose members are all there.

local M = {}

local month_days = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 }

--- Every day of a leap year in order: { { month, day }, … }
function M.days()
  local out = {}
  for month, days in ipairs(month_days) do
    for day = 1, days do out[#out + 1] = { month, day } end
  end
  return out
end

local function covers(season, month, day)
  local at, from, to = month * 100 + day, season.fromMonth * 100 + season.fromDay, season.toMonth * 100 + season.toDay
  if from <= to then return from <= at and at <= to end
  return at >= from or at <= to
end

--- Names of the seasons of one day, sorted.
function M.seasons_of(side, month, day)
  local out = {}
  for name, season in pairs(side.seasons) do
    if covers(season, month, day) then out[#out + 1] = name end
  end
  table.sort(out)
  return out
end

local function mark(week, label, period)
  local day = period.fromDayOfWeek
  while true do
    local from = period.fromHour * 60 + period.fromMinute
    local to = period.toHour * 60 + period.toMinute
    local length = to - from
    if length <= 0 then length = length + 1440 end
    for minute = day * 1440 + from, day * 1440 + from + length - 1 do
      local one = week[minute % 10080]
      one[#one + 1] = label
    end
    if day == period.toDayOfWeek then return end
    day = (day + 1) % 7
  end
end

--- week[minute of the week] = sorted labels of the periods that hold it
function M.week(season)
  local week = {}
  for minute = 0, 10079 do week[minute] = {} end
  for label, one in pairs(season.tou_periods) do
    for _, period in ipairs(one.periods) do mark(week, label, period) end
  end
  for minute = 0, 10079 do table.sort(week[minute]) end
  return week
end

--- facts 6.2, "price of a moment", for tables that price every label in its season.
function M.price(side, season, label)
  local rates = (side.energy_charges[season] or { rates = {} }).rates
  if next(rates) then return rates[label] or rates.ALL end
  return side.energy_charges.ALL.rates[label] or side.energy_charges.ALL.rates.ALL
end

local names = { "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun" }

--- Calls each(minute of the week) for every minute of "Mon 14:00-15:00".
function M.minutes(span, each)
  local day, h1, m1, h2, m2 = string.match(span, "^(%a+) (%d+):(%d+)%-(%d+):(%d+)$")
  local start
  for i, name in ipairs(names) do
    if name == day then start = (i - 1) * 1440 end
  end
  for minute = start + h1 * 60 + m1, start + h2 * 60 + m2 - 1 do each(math.floor(minute)) end
end

-- ---- random tariffs, the same for the same seed ----

--- random(n) -> 1 to n
function M.random(seed)
  local state = seed * 2654435761 % 4294967296
  return function(n)
    state = (state * 1664525 + 1013904223) % 4294967296
    return math.floor(state / 65536) % n + 1
  end
end

local labels = { "ON_PEAK", "OFF_PEAK", "PARTIAL_PEAK", "SUPER_OFF_PEAK" }

local function add_period(season, label, from_day, to_day, from, to)
  season.tou_periods[label] = season.tou_periods[label] or { periods = {} }
  table.insert(season.tou_periods[label].periods, {
    fromDayOfWeek = from_day, toDayOfWeek = to_day, fromHour = math.floor(from / 60) % 24, fromMinute = from % 60,
    toHour = math.floor(to / 60) % 24, toMinute = to % 60,
  })
end

-- Cuts a day at random minutes; the last piece runs over midnight up to the first cut. Where days differ, that meets
-- other cuts, unless the first is midnight.
local function add_days(random, season, from_day, to_day, tidy)
  local cuts = {}
  for i = 1, random(5) do cuts[i] = random(1440) - 1 end
  if tidy and (to_day - from_day) % 7 ~= 6 then cuts[1] = 0 end
  table.sort(cuts)
  for i, from in ipairs(cuts) do
    local to = cuts[i + 1] or cuts[1]
    if from ~= to or #cuts == 1 then add_period(season, labels[random(4)], from_day, to_day, from, to) end
  end
end

local ranges = { { { 0, 6 } }, { { 0, 4 }, { 5, 6 } }, { { 5, 0 }, { 1, 4 } }, { { 2, 2 }, { 3, 1 } } }

local function add_seasons(random, side, tidy)
  local days, cuts = M.days(), {}
  for i = 1, random(4) do cuts[i] = random(366) end
  table.sort(cuts)
  for i = #cuts, 2, -1 do
    if cuts[i] == cuts[i - 1] then table.remove(cuts, i) end
  end
  for i, first in ipairs(cuts) do
    local last = days[((cuts[i + 1] or cuts[1]) + 364) % 366 + 1]
    local season = { fromMonth = days[first][1], fromDay = days[first][2], toMonth = last[1], toDay = last[2], tou_periods = {} }
    for _, range in ipairs(ranges[random(4)]) do add_days(random, season, range[1], range[2], tidy) end
    side.seasons["S" .. i] = season
  end
end

local function add_prices(random, side)
  for name, season in pairs(side.seasons) do
    side.energy_charges[name], side.demand_charges[name] = { rates = {} }, { rates = {} }
    local order = {}
    for label in pairs(season.tou_periods) do order[#order + 1] = label end
    table.sort(order)
    for _, label in ipairs(order) do side.energy_charges[name].rates[label] = random(60) / 100 end
  end
end

local function new_side(random, tidy)
  local side = { energy_charges = { ALL = { rates = { ALL = 0 } } }, demand_charges = { ALL = { rates = { ALL = 0 } } }, seasons = {} }
  add_seasons(random, side, tidy)
  add_prices(random, side)
  return side
end

--- A tariff with seasons and periods cut at random; a tidy one has neither gaps nor overlaps, others may.
function M.tariff(seed, tidy)
  local random = M.random(seed)
  local t = new_side(random, tidy)
  t.currency, t.version = "EUR", 1
  t.sell_tariff = new_side(random, tidy)
  return t
end

--- The same with one number moved.
function M.damaged(seed)
  local t, random = M.tariff(seed), M.random(seed + 1000)
  local season = t.seasons.S1
  if random(2) == 1 then
    season.toDay = math.max(1, math.min(28, season.toDay + random(9) - 5))
  else
    for _, label in ipairs(labels) do
      local one = season.tou_periods[label]
      if one then
        one.periods[1].toMinute = random(60) - 1
        break
      end
    end
  end
  return t
end

return M
