-- Tariffs made from prices: one price, rows of times, a day or a week of spot prices.
--
-- Everything becomes a week of minutes with a price on every stretch, and that becomes labels and periods.

local errors = require "fleet.util.errors"
local weeks = require "fleet.tariff.weeks"
local groups = require "fleet.tariff.groups"
local spot = require "fleet.tariff.spot"

local M = {}

local DAY, WEEK = weeks.DAY, weeks.WEEK

-- ---- one side of a tariff ----

local function add_season(side, name, dates, spans, most)
  local made, rates = groups.label(spans, most), {}
  for _, group in ipairs(made) do rates[group.label] = group.price end
  local flat = rates.ALL and #made == 1 and made[1].minutes == WEEK
  side.seasons[name] = {
    fromMonth = dates[1], fromDay = dates[2], toMonth = dates[3], toDay = dates[4],
    tou_periods = flat and {} or weeks.tou_periods(spans),
  }
  side.energy_charges[name] = { rates = rates }
  side.demand_charges[name] = { rates = {} }
  return made
end

local function new_side(options)
  return {
    utility = options.utility, code = options.code, name = options.name, currency = options.currency,
    daily_charges = { { name = "Charge", amount = options.daily or 0 } },
    demand_charges = { ALL = { rates = { ALL = 0 } } },
    energy_charges = { ALL = { rates = { ALL = 0 } } },
    seasons = {},
  }
end

local function new_sell_side(options)
  local side = new_side(options)
  side.currency, side.code, side.daily_charges = "", "", { { name = "Charge", amount = 0 } }
  return side
end

-- ---- flat ----

M.flat_options = {
  price = true, sell = true, currency = true, name = true, utility = true, code = true, daily = true, time_zone = true,
}

local function flat_side(side, price)
  side.energy_charges.ALL.rates.ALL = price
  side.seasons.AllYear = { fromMonth = 1, fromDay = 1, toMonth = 12, toDay = 31, tou_periods = {} }
  side.energy_charges.AllYear, side.demand_charges.AllYear = { rates = {} }, { rates = {} }
  return side
end

function M.flat(options)
  if type(options.price) ~= "number" then errors.usage("fleet.tariff.flat: 'price' must be a number") end
  local t = flat_side(new_side(options), options.price)
  if options.sell then t.sell_tariff = flat_side(new_sell_side(options), options.sell) end
  return t
end

-- ---- reading rows ----

local day_numbers = { mon = 0, tue = 1, wed = 2, thu = 3, fri = 4, sat = 5, sun = 6 }

local function day_number(text)
  local number = type(text) == "string" and day_numbers[string.lower(string.sub(text, 1, 3))] or text
  if type(number) ~= "number" or number < 0 or number > 6 or number ~= math.floor(number) then
    errors.usage("fleet.tariff.from_rows: '%s' is no day; write mon, tue, wed, thu, fri, sat or sun", tostring(text))
  end
  return number
end

local function add_range(days, from, to)
  local last = day_number(to)
  local day = day_number(from)
  days[day] = true
  while day ~= last do
    day = (day + 1) % 7
    days[day] = true
  end
end

-- "mon-fri", "sat", "mon,wed-fri", { "sat", "sun" } or nothing: every day.
local function days_of(value)
  local days = {}
  if value == nil then value = "mon-sun" end
  if type(value) == "table" then value = table.concat(value, ",") end
  for part in string.gmatch(tostring(value), "[^,%s]+") do
    local from, to = string.match(part, "^([^%-]+)%-([^%-]+)$")
    add_range(days, from or part, to or part)
  end
  return days
end

local function minute_of(value, name)
  local hour, minute = string.match(tostring(value), "^(%d%d?):(%d%d)$")
  hour, minute = tonumber(hour), tonumber(minute)
  if not hour or minute > 59 or hour * 60 + minute > DAY then
    errors.usage("fleet.tariff.from_rows: '%s' is '%s'; write hours and minutes, 16:30", name, tostring(value))
  end
  return hour * 60 + minute
end

local function date_of(value, name)
  local month, day = string.match(tostring(value), "^(%d%d?)%-(%d%d?)$")
  if not month then errors.usage("fleet.tariff.from_rows: '%s' is '%s'; write month and day, 06-01", name, tostring(value)) end
  return tonumber(month), tonumber(day)
end

local row_members = { season = true, days = true, from = true, to = true, price = true, sell = true, label = true }

local function check_row(row, i)
  if type(row) ~= "table" then errors.usage("fleet.tariff.from_rows: row %d is a %s, not a table", i, type(row)) end
  for key in pairs(row) do
    if not row_members[key] then errors.unknown_name("fleet.tariff.from_rows: row " .. i, "member", key, row_members) end
  end
  if type(row.price) ~= "number" then errors.usage("fleet.tariff.from_rows: row %d has no 'price'", i) end
  if row.sell ~= nil and type(row.sell) ~= "number" then errors.usage("fleet.tariff.from_rows: row %d: 'sell' must be a number", i) end
end

-- An end at or before the start lies in the next day, as in the tariff itself.
local function spans_of_row(out, row, price, label)
  local from, to = minute_of(row.from or "00:00", "from"), minute_of(row.to or "00:00", "to")
  if to <= from then to = to + DAY end
  for day in pairs(days_of(row.days)) do
    local start = day * DAY + from
    local stop = start + to - from
    out[#out + 1] = { from = start, to = math.min(stop, WEEK), price = price, label = label }
    if stop > WEEK then out[#out + 1] = { from = 0, to = stop - WEEK, price = price, label = label } end
  end
end

local function sorted_spans(spans, season)
  table.sort(spans, function(a, b) return a.from < b.from end)
  for i = 2, #spans do
    if spans[i].from < spans[i - 1].to then
      local day, minute = math.floor(spans[i].from / DAY), spans[i].from % DAY
      local text = "fleet.tariff.from_rows: two rows of season '%s' cover day %d (0 is Monday) at %02d:%02d"
      errors.usage(text, season, day, math.floor(minute / 60), minute % 60)
    end
  end
  return spans
end

-- ---- from_rows ----

M.row_options = {
  rows = true, prices = true, spot = true, sell_prices = true, step = true, labels = true, seasons = true,
  currency = true, name = true, utility = true, code = true, daily = true, time_zone = true,
}

local whole_year = { 1, 1, 12, 31 }

local function dates_of(options, name)
  local given = options.seasons and options.seasons[name]
  if not given then
    if options.seasons then errors.usage("fleet.tariff.from_rows: season '%s' stands in a row and not in 'seasons'", name) end
    return whole_year
  end
  local from_month, from_day = date_of(given.from, "from")
  local to_month, to_day = date_of(given.to, "to")
  return { from_month, from_day, to_month, to_day }
end

local function only_season(options)
  local name = options.seasons and next(options.seasons) or "AllYear"
  if options.seasons and next(options.seasons, name) then
    errors.usage("fleet.tariff.from_rows: spot prices are for one season; use 'rows' for more")
  end
  return name
end

-- { buy = { season = spans }, sell = the same }
local function weeks_of(options, zone)
  local buy, sell = {}, {}
  for i, row in ipairs(options.rows or {}) do
    check_row(row, i)
    local season = row.season or "AllYear"
    buy[season], sell[season] = buy[season] or {}, sell[season] or {}
    spans_of_row(buy[season], row, row.price, row.label)
    if row.sell then spans_of_row(sell[season], row, row.sell) end
  end
  if options.prices then buy[only_season(options)] = spot.prices(options.prices, options.step) end
  if options.spot then buy[only_season(options)] = spot.spot(options.spot, zone) end
  if options.sell_prices then sell[only_season(options)] = spot.prices(options.sell_prices, options.step) end
  return buy, sell
end

local function fill_side(side, seasons, options, word, told)
  local names = {}
  for name in pairs(seasons) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local made = add_season(side, name, dates_of(options, name), sorted_spans(seasons[name], name), options.labels)
    for _, group in ipairs(made) do
      group.side, group.season = word, name
      told[#told + 1] = group
    end
  end
  return side
end

local function has_spans(seasons)
  for _, spans in pairs(seasons) do
    if #spans > 0 then return true end
  end
  return false
end

--- The content, and how prices were grouped. zone is that of options.time_zone.
function M.from_rows(options, zone)
  local sources = (options.rows and 1 or 0) + (options.prices and 1 or 0) + (options.spot and 1 or 0)
  if sources ~= 1 then errors.usage("fleet.tariff.from_rows: give one of 'rows', 'prices' and 'spot'") end
  local most = options.labels
  if most ~= nil and (type(most) ~= "number" or most < 1 or most ~= math.floor(most)) then
    errors.usage("fleet.tariff.from_rows: 'labels' must be a whole number above 0")
  end
  local buy, sell = weeks_of(options, zone)
  if not has_spans(buy) then errors.usage("fleet.tariff.from_rows: there is no price in it") end
  local told = {}
  local t = fill_side(new_side(options), buy, options, "buy", told)
  if has_spans(sell) then t.sell_tariff = fill_side(new_sell_side(options), sell, options, "sell", told) end
  return t, told
end

return M
