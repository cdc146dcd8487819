-- The spending in the store: by class, day and vehicle, compared with the limits.

local count = require "fleet.budget.count"
local limits = require "fleet.budget.limits"
local periods = require "fleet.budget.period"
local prices = require "fleet.budget.prices"

local M = {}

-- { calls = by class, usd = } of the counters with this suffix.
local function sum_of(meter, totals, suffix)
  local calls = {}
  for _, class in ipairs(prices.classes) do
    local n = totals[class .. (suffix or "")]
    if n and n ~= 0 then calls[class] = n end
  end
  return { calls = calls, usd = prices.usd(meter.prices, calls) }
end

local function days_of(meter, totals, month)
  local list = {}
  for day = 1, 31 do
    local sum = sum_of(meter, totals, string.format("/%02d", day))
    if next(sum.calls) then
      sum.date = string.format("%s-%02d", month, day)
      list[#list + 1] = sum
    end
  end
  return list
end

local function limits_of(meter, scope, totals, suffix)
  local list = {}
  for _, limit in ipairs(meter.limits and meter.limits[scope] or {}) do
    local spent = limits.spent(limit, totals, suffix, meter.prices)
    list[#list + 1] = { name = limit.name, most = limit.most, spent = spent, left = prices.rounded(math.max(limit.most - spent, 0)) }
  end
  return list
end

local function vehicles_of(meter, month)
  local vins = {}
  for shard = 0, count.shards - 1 do
    local names, err, kind = meter.store():add(count.vehicles_key(meter.account, month, shard), {})
    if not names then return nil, err, kind end
    for vin in pairs(names) do vins[#vins + 1] = vin end
  end
  table.sort(vins)
  return vins
end

local function by_vehicle(meter, month)
  local vins, err, kind = vehicles_of(meter, month)
  if not vins then return nil, err, kind end
  local list = {}
  for _, vin in ipairs(vins) do
    local totals
    totals, err, kind = meter.store():add(count.vehicle_key(meter.account, month, vin), {})
    if not totals then return nil, err, kind end
    local sum = sum_of(meter, totals)
    sum.vin = vin
    list[#list + 1] = sum
  end
  table.sort(list, function(a, b)
    if a.usd ~= b.usd then return a.usd > b.usd end
    return a.vin < b.vin
  end)
  return list
end

-- Adds limits over several accounts, which have keys of their own.
local function add_caps(meter, list, period)
  for _, one in ipairs(count.limited_keys(meter, nil, period.month)) do
    if one.scope == "key" or one.scope == "application" then
      local totals, err, kind = meter.store():add(one.key, {})
      if not totals then return nil, err, kind end
      for _, limit in ipairs(limits_of(meter, one.scope, totals, period.suffix)) do list[#list + 1] = limit end
    end
  end
  return true
end

local function complete(meter, report, totals, scope, suffix)
  local sum = sum_of(meter, totals)
  report.calls, report.usd = sum.calls, sum.usd
  report.days = days_of(meter, totals, report.month)
  report.budgets = suffix and limits_of(meter, scope, totals, suffix) or {}
  report.prices = { date = prices.date, source = prices.source, usd = {}, own = meter.config.prices }
  for _, class in ipairs(prices.classes) do report.prices.usd[class] = meter.prices[class] end
  return report
end

--- { month =, account =, vin =, calls = { class = n }, usd =, days = { { date =, calls =, usd = } }, vehicles = { { vin =, calls =, usd
--- = } }, budgets = { { name =, most =, spent =, left = } }, prices = { date =, source =, usd =, own = } }; or nil, err, kind.
--- month: "2026-11"; vin: of one vehicle only, or nil. now: UTC seconds; budgets are compared for the present month.
function M.of(meter, month, vin, now)
  local period = periods.at(now)
  local flushed, err, kind = count.flush(meter)
  if not flushed then return nil, err, kind end
  month = month or period.month
  local key = vin and count.vehicle_key(meter.account, month, vin) or count.account_key(meter.account, month)
  local totals
  totals, err, kind = meter.store():add(key, {})
  if not totals then return nil, err, kind end
  local report = { month = month, account = meter.account, vin = vin }
  if not vin then
    report.vehicles, err, kind = by_vehicle(meter, month)
    if not report.vehicles then return nil, err, kind end
  end
  local is_present = month == period.month
  complete(meter, report, totals, vin and "vehicle" or "account", is_present and period.suffix or nil)
  if vin or not is_present then return report end
  local added
  added, err, kind = add_caps(meter, report.budgets, period)
  if not added then return nil, err, kind end
  return report
end

return M
