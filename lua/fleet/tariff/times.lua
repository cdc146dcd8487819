-- Prices over time: a moment, the stretches of a window, its cheapest hours.
--
-- A tariff speaks local wall time. An axis turns a position into a place in the tariff and back: UTC seconds through a
-- zone, or minutes of a local calendar that knows no clock change. Nobody has said what the service does on the two days
-- of a change (doc/protocol.md#tariff-meaning); here an hour that comes twice has its price twice and a skipped one never comes.

local core = require "fleet.core"
local errors = require "fleet.util.errors"

local M = {}

local LONGEST = 10 * 366 -- days; a window of more is a mistake, not a plan

-- ---- UTC seconds through a zone ----

local function utc_axis(zone)
  local axis = { per_hour = 3600 }
  function axis.position(value)
    if type(value) ~= "number" then errors.usage("fleet.tariff: UTC seconds expected, got a %s", type(value)) end
    return math.floor(value)
  end
  function axis.place(x)
    local t = zone:localtime(x)
    return t.month, t.day, (t.wday + 5) % 7, t.hour * 60 + t.min, t.sec
  end
  function axis.after(x, minutes, seconds)
    local reached, change = x + minutes * 60 - seconds, zone:next(x)
    return change and change < reached and change or reached
  end
  function axis.value(x)
    return x
  end
  return axis
end

-- ---- minutes of the local calendar ----

local function whole(when, name, low, high, fallback)
  local value = when[name]
  if value == nil then value = fallback end
  if type(value) ~= "number" or value ~= math.floor(value) or value < low or value > high then
    errors.usage("fleet.tariff: the time's '%s' must be a whole number from %d to %d, got %s", name, low, high, tostring(value))
  end
  return value
end

local local_axis = { per_hour = 60 }

function local_axis.position(when)
  if type(when) ~= "table" then
    errors.usage("fleet.tariff: a local time { year =, month =, day =, hour =, min = } expected, got a %s", type(when))
  end
  local year, month, day = whole(when, "year", 0, 9999), whole(when, "month", 1, 12), whole(when, "day", 1, 31)
  local date = string.format("%04d-%02d-%02d", year, month, day)
  local days = core.date_days(date)
  if not days then errors.usage("fleet.tariff: there is no %s", date) end
  return days * 1440 + whole(when, "hour", 0, 24, 0) * 60 + whole(when, "min", 0, 59, 0)
end

function local_axis.place(x)
  local days = math.floor(x / 1440)
  local month, day = string.match(core.days_date(days), "-(%d+)-(%d+)$")
  return tonumber(month), tonumber(day), (days + 3) % 7, x % 1440, 0 -- 1970-01-01 was a Thursday
end

function local_axis.after(x, minutes)
  return x + minutes
end

function local_axis.value(x)
  local days = math.floor(x / 1440)
  local year, month, day = string.match(core.days_date(days), "^(%d+)-(%d+)-(%d+)$")
  local minute = x % 1440
  return {
    year = tonumber(year), month = tonumber(month), day = tonumber(day), hour = math.floor(minute / 60), min = minute % 60,
  }
end

local function axis_for(own, when)
  if type(when) ~= "number" then return local_axis end
  if not own.zone then errors.usage("fleet.tariff: UTC seconds need a zone: fleet.tariff.new(t, { time_zone = \"Europe/Berlin\" })") end
  own.axis = own.axis or utc_axis(own.zone)
  return own.axis
end

-- ---- questions ----

local function side_at(plan, side, month, day, weekday, minute)
  local price, season, label, till = plan:price(side, month, day, weekday, minute)
  return price and { price = price, season = season, label = label } or nil, till
end

-- Also how long the answer stands: minutes to the next change of either side.
local function at(own, axis, x)
  local month, day, weekday, minute, second = axis.place(x)
  local buy, buy_until = side_at(own.plan, "buy", month, day, weekday, minute)
  local sell, sell_until = side_at(own.plan, "sell", month, day, weekday, minute)
  return { buy = buy, sell = sell }, math.min(buy_until, sell_until) - minute, second
end

function M.price(own, when)
  local axis = axis_for(own, when)
  return (at(own, axis, axis.position(when)))
end

local function same(a, b)
  if not a or not b then return a == b end
  return a.price == b.price and a.season == b.season and a.label == b.label
end

local function window(own, from, to)
  local axis = axis_for(own, from)
  local first, last = axis.position(from), axis.position(to)
  if last <= first then errors.usage("fleet.tariff: 'to' must be after 'from'") end
  if (last - first) / axis.per_hour > LONGEST * 24 then errors.usage("fleet.tariff: the window is longer than ten years") end
  return axis, first, last
end

local function walk(own, axis, first, last)
  local out, x = {}, first
  while x < last do
    local found, minutes, second = at(own, axis, x)
    local reached = math.min(axis.after(x, minutes, second), last)
    local previous = out[#out]
    if previous and same(previous.buy, found.buy) and same(previous.sell, found.sell) then
      previous.to = reached
    else
      out[#out + 1] = { from = x, to = reached, buy = found.buy, sell = found.sell }
    end
    x = reached
  end
  return out
end

function M.segments(own, from, to)
  local axis, first, last = window(own, from, to)
  local out = walk(own, axis, first, last)
  for _, s in ipairs(out) do s.from, s.to = axis.value(s.from), axis.value(s.to) end
  return out
end

-- ---- the cheapest hours ----

-- Dear ones last; of equal ones the earlier first.
local function cheapest_parts(segments, wanted)
  local order, chosen = {}, {}
  for i, s in ipairs(segments) do order[i] = s end
  table.sort(order, function(a, b)
    if a.buy.price ~= b.buy.price then return a.buy.price < b.buy.price end
    return a.from < b.from
  end)
  for _, s in ipairs(order) do
    local length = math.min(s.to - s.from, wanted)
    if length <= 0 then break end
    chosen[#chosen + 1] = { from = s.from, to = s.from + length, buy = s.buy }
    wanted = wanted - length
  end
  table.sort(chosen, function(a, b) return a.from < b.from end)
  return chosen
end

local function parts_between(segments, from, to)
  local out = {}
  for _, s in ipairs(segments) do
    local first, last = math.max(s.from, from), math.min(s.to, to)
    if first < last then out[#out + 1] = { from = first, to = last, buy = s.buy } end
  end
  return out
end

-- What everything from the start of the window to x costs.
local function cost_function(segments)
  local sums = { 0 }
  for i, s in ipairs(segments) do sums[i + 1] = sums[i] + (s.to - s.from) * s.buy.price end
  return function(x)
    local low, high = 1, #segments
    while low < high do
      local middle = math.floor((low + high) / 2)
      if segments[middle].to < x then low = middle + 1 else high = middle end
    end
    return sums[low] + (x - segments[low].from) * segments[low].buy.price
  end
end

-- The cost of a sliding stretch is piecewise linear: its least value lies where it begins or ends with a segment.
-- A sum's rounding must not prefer a later stretch, so "cheaper" means by more than that.
local function cheapest_stretch(segments, wanted)
  local first, last, cost_to = segments[1].from, segments[#segments].to, cost_function(segments)
  wanted = math.min(wanted, last - first)
  local starts, best, best_cost = {}, nil, nil
  for _, s in ipairs(segments) do
    starts[#starts + 1] = s.from
    starts[#starts + 1] = s.to - wanted
  end
  table.sort(starts)
  for _, start in ipairs(starts) do
    if start >= first and start + wanted <= last then
      local cost = cost_to(start + wanted) - cost_to(start)
      if not best or cost < best_cost - 1e-9 * math.abs(best_cost) then best, best_cost = start, cost end
    end
  end
  return parts_between(segments, best, best + wanted)
end

local function summed(parts, axis)
  local length, cost = 0, 0
  for i, p in ipairs(parts) do
    length = length + (p.to - p.from)
    cost = cost + (p.to - p.from) * p.buy.price
    parts[i] = {
      from = axis.value(p.from), to = axis.value(p.to), price = p.buy.price, season = p.buy.season, label = p.buy.label,
    }
  end
  parts.hours, parts.mean = length / axis.per_hour, cost / length
  return parts
end

function M.cheapest(own, options)
  local hours = options.hours
  if type(hours) ~= "number" or not (hours > 0 and hours <= LONGEST * 24) then errors.usage("fleet.tariff: 'hours' must be above 0") end
  local axis, first, last = window(own, options.from, options.to)
  local segments, wanted = walk(own, axis, first, last), math.floor(hours * axis.per_hour + 0.5)
  if wanted < 1 then errors.usage("fleet.tariff: 'hours' must be at least a minute") end
  return summed((options.contiguous and cheapest_stretch or cheapest_parts)(segments, wanted), axis)
end

return M
