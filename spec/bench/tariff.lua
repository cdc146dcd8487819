-- What checking a tariff costs, against lua-cjson decoding the same tariff in the same run (design 5).
--
-- A module: `budgets` is a list of { name =, budget =, measure = function() → figure, remark }. As a program it prints
-- one line per budget: name figure budget ok|over.

local cjson = require "cjson"
local tariff = require "fleet.tariff"

local M = {}

local ROUNDS = 9

-- Seconds for one call, the best of several rounds of about `spell` seconds: what else the machine does only adds.
local function seconds(call, spell)
  local count, best = 1, nil
  while true do
    local start = os.clock()
    for _ = 1, count do call() end
    local spent = os.clock() - start
    if spent > (spell or 0.02) then break end
    count = count * 2
  end
  for _ = 1, ROUNDS do
    collectgarbage()
    local start = os.clock()
    for _ = 1, count do call() end
    local one = (os.clock() - start) / count
    if not best or one < best then best = one end
  end
  return best
end

local function period(from, to)
  local day = math.floor(from / 1440)
  return {
    fromDayOfWeek = day, toDayOfWeek = day, fromHour = math.floor(from % 1440 / 60), fromMinute = from % 60,
    toHour = math.floor(to % 1440 / 60), toMinute = to % 60,
  }
end

local function empty_tariff()
  return {
    version = 1, utility = "Bench", code = "B", name = "Bench", currency = "EUR", daily_charges = { { name = "Charge", amount = 0 } },
    demand_charges = { ALL = { rates = { ALL = 0 } } }, energy_charges = { ALL = { rates = { ALL = 0 } } }, seasons = {},
  }
end

-- The week cut into count equal rows, dealt out to so many labels.
local function add_season(t, name, dates, count, labels)
  local season = { fromMonth = dates[1], fromDay = dates[2], toMonth = dates[3], toDay = dates[4], tou_periods = {} }
  local rates = {}
  for i = 0, count - 1 do
    local label = "PERIOD_" .. i % labels
    season.tou_periods[label] = season.tou_periods[label] or { periods = {} }
    rates[label] = (i % labels + 1) / 1000
    table.insert(season.tou_periods[label].periods,
      period(math.floor(i * 10080 / count), math.floor((i + 1) * 10080 / count)))
  end
  t.seasons[name], t.energy_charges[name], t.demand_charges[name] = season, { rates = rates }, { rates = {} }
end

local function two_seasons()
  local file = assert(io.open("spec/vectors/tariffs/02-two-season-tou.json", "rb"))
  local text = file:read("a")
  file:close()
  return text
end

local function four_seasons(labels)
  local t = empty_tariff()
  add_season(t, "Winter", { 12, 1, 2, 29 }, 336, labels)
  add_season(t, "Spring", { 3, 1, 5, 31 }, 336, labels)
  add_season(t, "Summer", { 6, 1, 8, 31 }, 336, labels)
  add_season(t, "Autumn", { 9, 1, 11, 30 }, 336, labels)
  return cjson.encode(t)
end

-- Check over decode of the same text; a valid tariff, as nearly all are.
local function ratio(text)
  local t = cjson.decode(text)
  assert(tariff.check(t).valid)
  return seconds(function() tariff.check(t) end) / seconds(function() cjson.decode(text) end)
end

local function rows_ratio()
  local worst, remarks = 0, {}
  for i, labels in ipairs { 4, 48, 336 } do
    local one = ratio(four_seasons(labels))
    worst = math.max(worst, one)
    remarks[i] = string.format("%d labels %.2f", labels, one)
  end
  return worst, table.concat(remarks, ", ")
end

--- A tariff of one season with so many periods.
function M.one_season(count)
  local t = empty_tariff()
  add_season(t, "AllYear", { 1, 1, 12, 31 }, count, math.min(count, 100))
  return t
end

-- How much dearer a period is among 10,000 than among 10, beyond what n log n grants. 1 is n log n exactly.
local function growth()
  local remarks, first, figure = {}, nil, nil
  for i, count in ipairs { 10, 100, 1000, 10000 } do
    local t = M.one_season(count)
    assert(tariff.check(t).valid)
    local one = seconds(function() tariff.check(t) end)
    remarks[i] = string.format("%d periods %.1f us", count, one * 1e6)
    local per_unit = one / (count * math.log(count))
    first = first or per_unit
    figure = per_unit / first
  end
  return figure, table.concat(remarks, ", ")
end

M.budgets = {
  { name = "tariff", budget = 1, measure = function() return ratio(two_seasons()) end },
  { name = "tariff-rows", budget = 1, measure = rows_ratio },
  { name = "tariff-growth", budget = 1, measure = growth },
}

if arg and arg[0] and string.find(arg[0], "tariff%.lua$") then
  for _, one in ipairs(M.budgets) do
    local figure, remark = one.measure()
    print(string.format("%s %.2f %g %s%s", one.name, figure, one.budget, figure <= one.budget and "ok" or "over",
      remark and "  # " .. remark or ""))
  end
end

return M
