-- Estimates what a call for many vehicles costs, before any request is sent.

local limits = require "fleet.budget.limits"
local prices = require "fleet.budget.prices"

local M = {}

-- Returns the calls for one vehicle, and the most that it may need: a handshake before a signed command, and a wake with one more attempt.
local function calls_of(row, call_options, signs)
  local one, most = { [row.billing] = 1 }, { [row.billing] = 1 }
  if signs then most.command = (most.command or 0) + 1 end
  if call_options.wake then
    most.wake = 1
    most[row.billing] = most[row.billing] + 1
  end
  return one, most
end

local function times(calls, count)
  local sum = {}
  for class, n in pairs(calls) do
    if class ~= "free" then sum[class] = n * count end
  end
  return sum
end

local enough = 1e-9 -- tolerance: sums of prices are not exact

local function need_of(limit, calls, price_list)
  return limit.class and (calls[limit.class] or 0) or prices.usd(price_list, calls)
end

-- Adds to beyond and perhaps the budgets that the calls, or at most their maximum, exceed. left: what remains of each, by name.
local function compare(found, list, left, calls, most, price_list)
  for _, limit in ipairs(list or {}) do
    local rest = left[limit.name]
    if rest and need_of(limit, calls, price_list) > rest + enough then
      found.beyond[limit.name] = rest
    elseif rest and need_of(limit, most, price_list) > rest + enough then
      found.perhaps[limit.name] = rest
    end
  end
end

local function left_of(report)
  local left = {}
  for _, one in ipairs(report.budgets) do left[one.name] = one.left end
  return left
end

-- Compares with the budgets per vehicle, for each vehicle. Returns true, or nil, err, kind.
local function compare_vehicles(client, found, list, vins, one, most, price_list)
  if not list then return true end
  for _, vin in ipairs(vins) do
    local report, err, kind = client:cost { vehicle = vin }
    if not report then return nil, err, kind end
    compare(found, list, left_of(report), one, most, price_list)
  end
  return true
end

local function sorted_names(by_name)
  local names = {}
  for name in pairs(by_name) do names[#names + 1] = name end
  table.sort(names)
  return names
end

--- Returns { call =, vehicles =, calls =, usd =, usd_at_most =, spent = dollars of this month, beyond = names of budgets that these calls
--- exceed, may_go_beyond = names of those that handshakes and wakes may exceed, left = what remains of each, by name }, or nil, err, kind.
--- vins: the vehicles; given: the options of the client.
function M.of(client, row, vins, call_options, given)
  local report, err, kind = client:cost {}
  if not report then return nil, err, kind end
  local price_list = report.prices.usd
  local one, most_of_one = calls_of(row, call_options, row.message ~= nil and given.key ~= nil)
  local calls, most = times(one, #vins), times(most_of_one, #vins)
  local found = { beyond = {}, perhaps = {} }
  local by_scope, left = given.budgets and limits.read(given.budgets) or {}, left_of(report)
  for _, scope in ipairs { "account", "key", "application" } do compare(found, by_scope[scope], left, calls, most, price_list) end
  local compared
  compared, err, kind = compare_vehicles(client, found, by_scope.vehicle, vins, times(one, 1), times(most_of_one, 1), price_list)
  if not compared then return nil, err, kind end
  local rest = {}
  for _, list in ipairs { found.perhaps, found.beyond } do
    for name, value in pairs(list) do rest[name] = value end
  end
  for name in pairs(found.beyond) do found.perhaps[name] = nil end
  return {
    call = row.name, vehicles = #vins, calls = calls, usd = prices.usd(price_list, calls), usd_at_most = prices.usd(price_list, most),
    spent = report.usd, beyond = sorted_names(found.beyond), may_go_beyond = sorted_names(found.perhaps), left = rest,
  }
end

local function with_rest(names, left)
  local texts = {}
  for i, name in ipairs(names) do
    local rest = string.find(name, "^usd_") and prices.text(left[name]) or string.format("%.0f calls", left[name])
    texts[i] = string.format("%s (%s left)", name, rest)
  end
  return table.concat(texts, ", ")
end

--- The estimate as a sentence.
function M.text(estimate)
  local text = string.format("%s for %d vehicle%s: %s", estimate.call, estimate.vehicles, estimate.vehicles == 1 and "" or "s",
    prices.text(estimate.usd))
  if estimate.usd_at_most > estimate.usd then text = text .. ", with handshakes and wakes at most " .. prices.text(estimate.usd_at_most) end
  text = text .. "; spent this month: " .. prices.text(estimate.spent)
  if #estimate.beyond > 0 then text = text .. "; beyond the budget " .. with_rest(estimate.beyond, estimate.left) end
  if #estimate.may_go_beyond > 0 then
    text = text .. "; handshakes and wakes may go beyond the budget " .. with_rest(estimate.may_go_beyond, estimate.left)
  end
  return text
end

return M
