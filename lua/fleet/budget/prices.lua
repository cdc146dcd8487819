-- Prices of calls: dollars per call by price class (doc/protocol.md#prices). The rows have a date and a source; the caller may give other
-- prices.

local core = require "fleet.core"
local errors = require "fleet.util.errors"

local M = { published = {}, per_dollar = {}, per_minute = {}, classes = {}, order = {} }

local billing = core.billing()
M.date, M.source = billing.date, billing.source

local found_only = {}
for _, row in ipairs(billing.classes) do
  found_only[row.name] = row.found_only
  M.per_minute[row.name] = row.per_minute
  if row.per_dollar then
    M.published[row.name], M.per_dollar[row.name] = 1 / row.per_dollar, row.per_dollar
    M.classes[#M.classes + 1] = row.name
  end
  M.order[#M.order + 1] = row.name
end

--- Raises unless given is { class = number }. least: the minimum of the numbers.
function M.check(option, given, least)
  if type(given) ~= "table" then errors.usage("fleet.new: option '%s' must be a table, got %s", option, type(given)) end
  for class, value in pairs(given) do
    if not M.published[class] then errors.unknown_name("fleet.new", "class of '" .. option .. "'", class, M.classes) end
    if type(value) ~= "number" or not (value >= least and value < math.huge) then
      errors.usage("fleet.new: option '%s': '%s' must be a number from %g on, got %s", option, class, least, tostring(value))
    end
  end
end

--- Dollars per call by class: the caller's prices override the default.
function M.of(given)
  if not given then return M.published end
  return setmetatable({}, { __index = function(_, class) return given[class] or M.published[class] end })
end

--- Rounds dollars to 12 decimals, because sums of prices end in meaningless digits: 0.32299999999999995.
function M.rounded(usd)
  return math.floor(usd * 1e12 + 0.5) / 1e12
end

--- Dollars of { class = calls }. suffix: of the names in the table.
function M.usd(prices, calls, suffix)
  local sum = 0
  for _, class in ipairs(M.classes) do
    local count = calls[suffix and class .. suffix or class]
    if count then sum = sum + count * prices[class] end
  end
  return M.rounded(sum)
end

--- Whether an attempt with this status is billed. brought: whether the reply had a result.
function M.billed(class, status, brought)
  if not M.published[class] or status == nil or status >= 500 then return false end
  return not found_only[class] or status == 200 and brought
end

-- One call of a class, as a person says it.
local words = { data = "read", command = "command", wake = "wake", specs = "specification", signal = "signal", free = "free call" }

--- A number of calls of a class: "12 reads".
function M.count_text(class, count)
  return string.format("%.0f %s%s", count, words[class], count == 1 and "" or "s")
end

--- { class = calls } as "12 reads, 2 commands", or "no billed calls".
function M.calls_text(calls)
  local parts = {}
  local function add(class)
    if (calls[class] or 0) > 0 then parts[#parts + 1] = M.count_text(class, calls[class]) end
  end
  for _, class in ipairs(M.classes) do add(class) end
  add "free"
  return #parts > 0 and table.concat(parts, ", ") or "no billed calls"
end

--- 0.0126 as "0.013 USD".
function M.text(usd)
  local thousandths = math.floor(usd * 1000 + 0.5)
  return string.format("%d.%03d USD", math.floor(thousandths / 1000), thousandths % 1000)
end

return M
