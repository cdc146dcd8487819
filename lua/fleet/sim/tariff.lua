-- The tariff in force, as far as a battery cares: which label holds now, and whether its price is the dearest of the season.
-- Structure: service-facts 6. A tariff that cannot be read is no reason to stop: then nothing is dear.
local calendar = require("fleet.sim.calendar")

local M = {}

local function in_season(season, date)
  if not season.fromMonth then return false end
  local day = date.month * 100 + date.day
  local from, to = season.fromMonth * 100 + (season.fromDay or 1), season.toMonth * 100 + (season.toDay or 31)
  if from <= to then return day >= from and day <= to end
  return day >= from or day <= to
end

local function on_day(period, day)
  local from, to = period.fromDayOfWeek or 0, period.toDayOfWeek or 6
  if from <= to then return day >= from and day <= to end
  return day >= from or day <= to
end

-- A period that ends at or before its start runs into the next day and belongs to the day of its start.
local function holds(period, minute, day)
  local from = (period.fromHour or 0) * 60 + (period.fromMinute or 0)
  local to = (period.toHour or 0) * 60 + (period.toMinute or 0)
  if to == 0 then to = 1440 end
  if to > from then return minute >= from and minute < to and on_day(period, day) end
  return (minute >= from and on_day(period, day)) or (minute < to and on_day(period, (day + 6) % 7))
end

local function label_at(season, minute, day)
  for label, entry in pairs(season.tou_periods or {}) do
    local list = type(entry) == "table" and (entry.periods or entry) or {}
    for _, period in ipairs(list) do
      if holds(period, minute, day) then return label end
    end
  end
  return nil
end

-- price(tariff, local seconds) → price of the moment, label, season, prices of the season; nil where it names none.
function M.price(tariff, at)
  local date = calendar.date(at)
  local minute, day = date.hour * 60 + date.minute, (date.weekday + 6) % 7 -- Monday is 0
  for name, season in pairs(tariff.seasons or {}) do
    if type(season) == "table" and in_season(season, date) then
      local label = label_at(season, minute, day)
      local charges = tariff.energy_charges or {}
      local own = charges[name] and charges[name].rates
      local rates = own and next(own) and own or charges.ALL and charges.ALL.rates or {}
      return rates[label] or rates.ALL, label, name, rates
    end
  end
  return nil
end

function M.is_dearest(tariff, at)
  local ok, price, _, _, rates = pcall(M.price, tariff, at)
  if not ok or type(price) ~= "number" then return true end
  for _, other in pairs(rates) do
    if type(other) == "number" and other > price then return false end
  end
  return true
end

return M
