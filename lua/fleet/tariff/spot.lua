-- Weeks from lists of prices: a day or a week of equal steps, or prices with the instants at which they begin.

local errors = require "fleet.util.errors"
local weeks = require "fleet.tariff.weeks"

local M = {}

local DAY, WEEK = weeks.DAY, weeks.WEEK

--- A list of numbers covers a day, taken for every day, or a week from Monday on.
function M.prices(prices, step)
  local n = #prices
  step = step or (n % 7 == 0 and n > 100 and WEEK / n or DAY / n)
  local total = n * step
  if step ~= math.floor(step) or step < 1 or (total ~= DAY and total ~= WEEK) then
    errors.usage("fleet.tariff.from_rows: %d prices cover neither a day nor a week; give 'step' in minutes, or all prices", n)
  end
  local out = {}
  for day = 0, total == DAY and 6 or 0 do
    for i, price in ipairs(prices) do
      if type(price) ~= "number" then errors.usage("fleet.tariff.from_rows: price %d is not a number", i) end
      local from = day * DAY + (i - 1) * step
      out[#out + 1] = { from = from, to = from + step, price = price }
    end
  end
  return out
end

-- Minute by minute, by the wall clock of the zone. What a clock change shows twice has the mean of both; what it skips
-- has the price before it.
local function minutes_of_spot(spot, zone, period)
  local sums, counts, first = {}, {}, spot[1].start
  for i, one in ipairs(spot) do
    local stop = spot[i + 1] and spot[i + 1].start or one.start + (one.minutes or 60) * 60
    for utc = one.start, stop - 60, 60 do
      local t = zone:localtime(utc)
      local minute = (((t.wday + 5) % 7) * DAY + t.hour * 60 + t.min) % period
      if utc - first >= period * 60 + 3600 then
        errors.usage("fleet.tariff.from_rows: the spot prices cover more than %d hours", period / 60)
      end
      sums[minute], counts[minute] = (sums[minute] or 0) + one.price, (counts[minute] or 0) + 1
    end
  end
  for minute, count in pairs(counts) do sums[minute] = sums[minute] / count end
  return sums
end

local function fill_skipped(prices, period)
  local missing = 0
  for minute = 0, period - 1 do
    if not prices[minute] then
      prices[minute] = prices[(minute - 1) % period]
      missing = missing + 1
      if missing > 60 or not prices[minute] then
        errors.usage("fleet.tariff.from_rows: the spot prices leave a gap of more than an hour; give all of a day or of a week")
      end
    end
  end
end

local function spans_of_minutes(prices, period)
  local out = {}
  for start = 0, WEEK - 1, period do
    for minute = 0, period - 1 do
      local last, at = out[#out], start + minute
      if last and last.price == prices[minute] and at % DAY ~= 0 then
        last.to = at + 1
      else
        out[#out + 1] = { from = at, to = at + 1, price = prices[minute] }
      end
    end
  end
  return out
end

local function check_spot(spot)
  for i, one in ipairs(spot) do
    if type(one) ~= "table" or type(one.start) ~= "number" or one.start % 60 ~= 0 or type(one.price) ~= "number" then
      errors.usage("fleet.tariff.from_rows: spot price %d must be { start = UTC seconds of a whole minute, price = number }", i)
    end
    if i > 1 and one.start <= spot[i - 1].start then
      errors.usage("fleet.tariff.from_rows: spot price %d does not begin after the one before it", i)
    end
  end
  if #spot < 2 then errors.usage("fleet.tariff.from_rows: 'spot' must hold at least two prices") end
end

--- A list of { start = UTC seconds, price =, minutes = (of the last) }, by the wall clock of the zone: a day's prices are
--- taken for every day, a week's for their weekdays.
function M.spot(spot, zone)
  check_spot(spot)
  if not zone then errors.usage("fleet.tariff.from_rows: 'spot' needs 'time_zone', the zone of the site") end
  local n, given = #spot, spot
  spot = {}
  for i, one in ipairs(given) do spot[i] = one end
  local last = spot[n]
  spot[n] = { start = last.start, price = last.price, minutes = last.minutes or (last.start - spot[n - 1].start) / 60 }
  local length = spot[n].start - spot[1].start + spot[n].minutes * 60
  local period = length <= 25 * 3600 and DAY or WEEK
  local prices = minutes_of_spot(spot, zone, period)
  fill_skipped(prices, period)
  return spans_of_minutes(prices, period)
end

return M
