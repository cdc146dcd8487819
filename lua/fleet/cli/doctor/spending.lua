-- What `fleet doctor` reports on costs: this month's cost and the state of the budgets.

local prices = require "fleet.budget.prices"
local lines = require "fleet.cli.doctor.lines"

local M = {}

local function amount(limit, value)
  return string.find(limit.name, "^usd_") and prices.text(value) or string.format("%.0f calls", value)
end

local function add_limit(report, limit)
  local text = string.format("%s of %s used", amount(limit, limit.spent), amount(limit, limit.most))
  if limit.left > 0 then return lines.add(report, "budget " .. limit.name, true, text) end
  lines.add(report, "budget " .. limit.name, false, text .. ": such calls are refused",
    "raise it in 'budgets' of the configuration, or send single calls with --force")
end

--- Reports the budgets of the account; `fleet cost` shows those of vehicles.
function M.budgets(report, context)
  local client = context:client()
  local cost, err = client:cost {}
  if not cost then return lines.failed(report, "budget", err, "the store must be readable to count what is spent") end
  local spent = string.format("%s spent in %s", prices.text(cost.usd), cost.month)
  if not report.given.budgets then
    return lines.add(report, "budget", true, spent .. "; no limit: 'budgets' in the configuration sets one")
  end
  lines.add(report, "budget", true, spent)
  for _, limit in ipairs(cost.budgets) do add_limit(report, limit) end
end

return M
