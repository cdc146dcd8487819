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

local order = { "data", "command", "wake", "specs", "signal", "free" }

--- "12 data, 3 command: 0.03 USD", "none".
function M.text(calls)
  local parts = {}
  for _, class in ipairs(order) do
    if (calls[class] or 0) > 0 then parts[#parts + 1] = string.format("%d %s", calls[class], class) end
  end
  if #parts == 0 then return "none" end
  local cents = math.floor(M.usd(calls) * 1000 + 0.5)
  local sum = string.format("%d.%03d USD", math.floor(cents / 1000), cents % 1000)
  return table.concat(parts, ", ") .. ": " .. sum
end

--- { calls =, usd =, text = } of { class = number of calls }.
function M.of(calls)
  return { calls = calls, usd = M.usd(calls), text = M.text(calls) }
end

return M
