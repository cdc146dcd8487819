-- What the service makes of a tariff: negative prices become 0, and where buying is below selling it is raised to it.

local core = require "fleet.core"
local members = require "fleet.util.tables"
local weeks = require "fleet.tariff.weeks"

local M = {}

local function raise_negative(t)
  for _, charges in ipairs { "energy_charges", "demand_charges" } do
    for _, block in pairs(t[charges]) do
      for label, price in pairs(block.rates) do
        if price < 0 then block.rates[label] = 0 end
      end
    end
  end
end

-- The buy week with every price raised to what selling pays at that minute.
local function raised_week(buy, sell)
  local out, i, j = {}, 1, 1
  while buy[i] and sell[j] do
    local b, s = buy[i], sell[j]
    local from, to = math.max(b.from, s.from), math.min(b.to, s.to)
    local own = math.max(b.price, 0)
    if from < to then
      out[#out + 1] = { from = from, to = to, base = b.label, own = own, price = math.max(own, s.price), demand = b.demand }
    end
    if b.to < s.to then i = i + 1 else j = j + 1 end
  end
  return out
end

local function week_key(week)
  local parts = {}
  for i, s in ipairs(week) do parts[i] = string.format("%d %d %s %.17g", s.from, s.to, s.base, s.price) end
  return table.concat(parts, "\0")
end

-- Runs of days on which one buy season meets one sell season, in the order of the year.
local function date_runs(plan)
  local runs, last = {}, nil
  for day = 0, 365 do -- of 2024, a leap year; it began on day 19723
    local date = core.days_date(19723 + day)
    local month, dom = tonumber(string.sub(date, 6, 7)), tonumber(string.sub(date, 9, 10))
    local _, buy = plan:price("buy", month, dom, 0, 0)
    local _, sell = plan:price("sell", month, dom, 0, 0)
    if last and last.buy == buy and last.sell == sell then
      last.to = { month, dom }
    else
      last = { buy = buy, sell = sell, from = { month, dom }, to = { month, dom } }
      runs[#runs + 1] = last
    end
  end
  local first = runs[1]
  if #runs > 1 and first.buy == last.buy and first.sell == last.sell then
    last.to = first.to
    table.remove(runs, 1)
  end
  return runs
end

local function free_name(taken, base)
  local n = 2
  while taken[base .. "_" .. n] do n = n + 1 end
  taken[base .. "_" .. n] = true
  return base .. "_" .. n
end

-- A label keeps its name for its own price, or for the one price that it has now; other prices get names beside it.
local function name_raised(week)
  local kept, names, taken = {}, {}, {}
  for _, s in ipairs(week) do
    if s.base == "ALL" then s.base = "BASE" end
    taken[s.base] = true
    if kept[s.base] == nil or s.price == s.own then kept[s.base] = s.price end
  end
  for _, s in ipairs(week) do
    local key = string.format("%s\0%.17g", s.base, s.price)
    if not names[key] then names[key] = s.price == kept[s.base] and s.base or free_name(taken, s.base) end
    s.label = names[key]
  end
end

local function write_season(t, name, week, run)
  name_raised(week)
  local energy, demand, any_demand = {}, {}, false
  for _, s in ipairs(week) do
    energy[s.label], demand[s.label] = s.price, math.max(s.demand, 0)
    any_demand = any_demand or s.demand ~= 0
  end
  t.energy_charges[name] = { rates = energy }
  t.demand_charges[name] = { rates = any_demand and demand or {} }
  t.seasons[name] = {
    fromMonth = run.from[1], fromDay = run.from[2], toMonth = run.to[1], toDay = run.to[2],
    tou_periods = weeks.tou_periods(week),
  }
end

local function is_raised(week)
  for _, s in ipairs(week) do
    if s.price > s.own then return true end
  end
  return false
end

local function by_name(list)
  local out = {}
  for _, week in ipairs(list) do out[week.name] = week end
  return out
end

-- Each season's runs with their weeks; a season whose runs all give one week is not split.
local function runs_by_season(plan)
  local buy, sell, out = by_name(plan:weeks("buy")), by_name(plan:weeks("sell")), {}
  for _, run in ipairs(date_runs(plan)) do
    run.week = raised_week(buy[run.buy], sell[run.sell])
    run.key = week_key(run.week)
    out[run.buy] = out[run.buy] or { dates = buy[run.buy] }
    local runs = out[run.buy]
    runs[#runs + 1] = run
    runs.several = runs.several or run.key ~= runs[1].key
    runs.raised = runs.raised or is_raised(run.week)
  end
  return out
end

local function raise_to_sell(t, plan)
  for name, runs in pairs(runs_by_season(plan)) do
    if runs.raised and not runs.several then
      local d = runs.dates
      write_season(t, name, runs[1].week, { from = { d.fromMonth, d.fromDay }, to = { d.toMonth, d.toDay } })
    elseif runs.raised then
      for i, run in ipairs(runs) do write_season(t, i == 1 and name or free_name(t.seasons, name), run.week, run) end
    end
  end
end

--- The content of the tariff that the service keeps: doc/protocol.md#tariff-checks.
function M.content(content, plan, report)
  local t = members.deep_copy(content)
  raise_negative(t)
  if t.sell_tariff then raise_negative(t.sell_tariff) end
  for _, change in ipairs(report.normalisations) do
    if change.kind == "buy_below_sell" then
      raise_to_sell(t, plan)
      break
    end
  end
  return t
end

return M
