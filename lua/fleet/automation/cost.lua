-- What calls cost: a dollar buys so many of a class (doc/protocol.md#prices). Energy and account calls are free; what the
-- service answers with 500 or more is not billed.

local prices = require "fleet.budget.prices"

local M = { per_dollar = prices.per_dollar }

--- Dollars of { class = number of calls }.
function M.usd(calls)
  local sum = 0
  for class, count in pairs(calls) do
    if M.per_dollar[class] then sum = sum + count / M.per_dollar[class] end
  end
  return sum
end

--- Whether an attempt of this row with this status is billed.
function M.billed(status)
  return status ~= nil and status < 500
end

--- "12 reads, 2 commands (0.026 USD)"; "no billed calls".
function M.text(calls)
  local usd = M.usd(calls)
  return prices.calls_text(calls) .. (usd > 0 and " (" .. prices.text(usd) .. ")" or "")
end

--- { calls =, usd =, text = } of { class = number of calls }.
function M.of(calls)
  return { calls = calls, usd = M.usd(calls), text = M.text(calls) }
end

return M
