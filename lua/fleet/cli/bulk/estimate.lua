-- What a call for many vehicles would cost, before any is sent.

local limits = require "fleet.budget.limits"
local prices = require "fleet.budget.prices"

local M = {}

-- The calls of one vehicle, and the most that one may need: a handshake before a signed command, a wake and the call once more.
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

-- The budgets of the account that so many calls would be beyond.
local function beyond(report, given, calls)
  local list = {}
  local of = given and limits.read(given).account or {}
  for i, limit in ipairs(of) do
    local need = limit.class and (calls[limit.class] or 0) or prices.usd(report.prices.usd, calls)
    if need > report.budgets[i].left + 1e-9 then list[#list + 1] = limit.name end
  end
  return list
end

--- { call =, vehicles =, calls =, usd =, usd_at_most =, spent = dollars of this month, beyond = names of budgets }, or nil, err, kind.
function M.of(client, row, count, call_options, given)
  local report, err, kind = client:cost {}
  if not report then return nil, err, kind end
  local one, most = calls_of(row, call_options, row.message ~= nil and given.key ~= nil)
  local calls = times(one, count)
  return {
    call = row.name, vehicles = count, calls = calls, usd = prices.usd(report.prices.usd, calls),
    usd_at_most = prices.usd(report.prices.usd, times(most, count)), spent = report.usd, beyond = beyond(report, given.budgets, calls),
  }
end

--- As a sentence.
function M.text(estimate)
  local text = string.format("%s for %d vehicle%s: %s", estimate.call, estimate.vehicles, estimate.vehicles == 1 and "" or "s",
    prices.text(estimate.usd))
  if estimate.usd_at_most > estimate.usd then text = text .. ", at most " .. prices.text(estimate.usd_at_most) end
  text = text .. "; spent this month: " .. prices.text(estimate.spent)
  if #estimate.beyond > 0 then text = text .. "; beyond the budget " .. table.concat(estimate.beyond, ", ") end
  return text
end

return M
