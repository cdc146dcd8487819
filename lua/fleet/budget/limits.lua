-- The option `budgets`: parses it into limits, and decides whether one more call keeps them. Pure: counts in, verdict out.

local errors = require "fleet.util.errors"
local prices = require "fleet.budget.prices"

local M = {}

local warned_at = 0.8 -- share of a limit

-- The names in the option: the class, scope and period of each limit. Dollars are those of all classes together.
local names = {
  usd_per_month = { "account", "month" }, usd_per_day = { "account", "day" },
  per_month = { "account", "month" }, per_day = { "account", "day" },
  usd_per_vehicle_month = { "vehicle", "month" }, usd_per_vehicle_day = { "vehicle", "day" },
  per_vehicle_month = { "vehicle", "month" }, per_vehicle_day = { "vehicle", "day" },
  usd_per_key_month = { "key", "month" }, usd_per_key_day = { "key", "day" },
  usd_per_application_month = { "application", "month" }, usd_per_application_day = { "application", "day" },
}

-- ---- parsing ----

local function add(limits, name, class, most)
  local scope, period = names[name][1], names[name][2]
  local list = limits[scope] or {}
  limits[scope] = list
  list[#list + 1] = { name = class and name .. "." .. class or name, period = period, class = class, most = most }
end

local function check_dollars(name, value)
  if type(value) == "number" and value >= 0 and value < math.huge then return end
  errors.usage("fleet.new: option 'budgets': '%s' must be dollars from 0 on, got %s", name, tostring(value))
end

local function read_one(limits, name, value)
  if not names[name] then errors.unknown_name("fleet.new", "member of 'budgets'", name, names) end
  if string.find(name, "^usd_") then
    check_dollars(name, value)
    return add(limits, name, nil, value)
  end
  prices.check("budgets." .. name, value, 0)
  for _, class in ipairs(prices.classes) do
    if value[class] then add(limits, name, class, value[class]) end
  end
end

--- Parses the option: { account = { limits }, vehicle =, key =, application = }. Raises for a wrong one. A limit is { name =, period =
--- "day" | "month", class = nil or its name, most = dollars or calls }.
function M.read(budgets)
  local limits, sorted = {}, {}
  for name in pairs(budgets) do sorted[#sorted + 1] = tostring(name) end
  table.sort(sorted)
  for _, name in ipairs(sorted) do read_one(limits, name, budgets[name]) end
  return limits
end

-- ---- deciding ----

--- What has been spent of a limit: dollars or calls. totals: by class for the month, by class and suffix for the day.
function M.spent(limit, totals, suffix, price_list)
  local of = limit.period == "day" and suffix or ""
  if limit.class then return totals[limit.class .. of] or 0 end
  return prices.usd(price_list, totals, of)
end

local enough = 1e-9 -- tolerance: sums of prices are not exact

-- Whether the newest amount of a class brought a limit to its warning level. price: of one.
local function crosses(limit, spent, amount, price)
  local edge = limit.most * warned_at - enough
  return spent >= edge and spent - (limit.class and amount or amount * price) < edge
end

--- The limits that the newest amount of a class, included in the totals, brought to their warning level.
function M.crossed(limits, totals, suffix, price_list, class, amount)
  local list = {}
  for _, limit in ipairs(limits) do
    local counts = not limit.class or limit.class == class
    local spent = M.spent(limit, totals, suffix, price_list)
    if counts and crosses(limit, spent, amount, price_list[class]) then list[#list + 1] = limit end
  end
  return list
end

--- The first limit that the totals, which include this call, exceed; or nil. Second result: the limits that this call brought to their
--- warning level.
function M.judge(limits, totals, suffix, price_list, class)
  local warned = {}
  for _, limit in ipairs(limits) do
    local counts = not limit.class or limit.class == class
    local spent = M.spent(limit, totals, suffix, price_list)
    local is_number = spent == spent -- the caller's store may return a NaN
    if counts and (not is_number or spent > limit.most + enough) then return limit, warned end
    if counts and crosses(limit, spent, 1, price_list[class]) then warned[#warned + 1] = limit end
  end
  return nil, warned
end

return M
