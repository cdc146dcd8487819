-- The highest cost of a configuration: each field at its interval whenever the car is awake. The real cost is far lower, because a field is
-- sent only when it has changed.

local M = {
  SIGNALS_A_DOLLAR = 150000, -- doc/protocol.md#prices
  DISCOUNT = 10, -- dollars per month and account
  HOURS = 3, -- awake per day, by default
}

local SHORTEST = 0.5 -- seconds between two messages
local DAYS = 365.25 / 12

--- The highest cost of a configuration. hours: how long the car is awake per day (3). cars: 1. Returns { fields = list of { name =,
--- interval =, an_hour = signals }, an_hour =, a_month = signals, usd_an_hour =, usd_a_month =, hours =, cars =, covered = by the discount
--- }.
function M.ceiling(config, hours, cars)
  local list, sum = {}, 0
  hours, cars = hours or M.HOURS, cars or 1
  for name, options in pairs(config.fields) do
    local interval = type(options) == "table" and tonumber(options.interval_seconds) or 1
    local included = type(options) == "table" and type(options.include_fields) == "table" and #options.include_fields or 0
    local signals = 3600 / math.max(interval, SHORTEST) * (1 + included)
    list[#list + 1] = { name = name, interval = interval, an_hour = signals }
    sum = sum + signals
  end
  table.sort(list, function(a, b)
    if a.an_hour ~= b.an_hour then return a.an_hour > b.an_hour end
    return a.name < b.name
  end)
  local month = sum * hours * DAYS * cars
  return {
    fields = list, an_hour = sum, a_month = month, usd_an_hour = sum / M.SIGNALS_A_DOLLAR, usd_a_month = month / M.SIGNALS_A_DOLLAR,
    hours = hours, cars = cars, covered = month / M.SIGNALS_A_DOLLAR <= M.DISCOUNT,
  }
end

return M
