-- Converts counters between tables and the core's text: lines "name number" (src/store/counters.h).

local core = require "fleet.core"

local M = {}

--- amounts: { name = whole number }.
function M.text(amounts)
  local lines = {}
  for name, amount in pairs(amounts) do lines[#lines + 1] = string.format("%s %.0f\n", name, amount) end
  return table.concat(lines)
end

--- The totals in a text, by name.
function M.totals(text)
  local totals = {}
  for name, total in string.gmatch(text, "([^ \n]+) (%-?%d+)\n") do totals[name] = tonumber(total) end
  return totals
end

--- Adds amounts to the counters in a text. Returns the new text, and the totals of these names (of all names if amounts is empty); or nil,
--- err, kind.
function M.add(text, amounts)
  local added, totals, kind = core.counters_add(text, M.text(amounts))
  if not added then return nil, totals, kind end
  return added, M.totals(totals)
end

return M
