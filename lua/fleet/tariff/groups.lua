-- Labels from prices: equal prices share one, and the four that the app shows are used when they are enough.

local errors = require "fleet.util.errors"
local weeks = require "fleet.tariff.weeks"

local M = {}

local app_names = {
  { "ON_PEAK" },
  { "OFF_PEAK", "ON_PEAK" },
  { "OFF_PEAK", "PARTIAL_PEAK", "ON_PEAK" },
  { "SUPER_OFF_PEAK", "OFF_PEAK", "PARTIAL_PEAK", "ON_PEAK" },
}

-- Distinct prices, cheapest first: { { price =, minutes = }, … }
local function distinct_prices(spans)
  local by_price, out = {}, {}
  for _, s in ipairs(spans) do
    if not by_price[s.price] then
      by_price[s.price] = { price = s.price, minutes = 0 }
      out[#out + 1] = by_price[s.price]
    end
    by_price[s.price].minutes = by_price[s.price].minutes + (s.to - s.from)
  end
  table.sort(out, function(a, b) return a.price < b.price end)
  return out
end

local function prefix_sums(prices)
  local weight, sum, square = { [0] = 0 }, { [0] = 0 }, { [0] = 0 }
  for i, p in ipairs(prices) do
    weight[i] = weight[i - 1] + p.minutes
    sum[i] = sum[i - 1] + p.minutes * p.price
    square[i] = square[i - 1] + p.minutes * p.price * p.price
  end
  -- The squared error of giving prices i to j their mean.
  return function(i, j)
    local w, s = weight[j] - weight[i - 1], sum[j] - sum[i - 1]
    return square[j] - square[i - 1] - s * s / w
  end
end

-- Where each of `most` groups ends so that prices move least (least squares, weighted by minutes): exact, by dynamic
-- programming over the sorted prices.
local function group_ends(prices, most)
  local n, err_of = #prices, prefix_sums(prices)
  local cost, cut = {}, {}
  for k = 1, most do
    cost[k], cut[k] = {}, {}
    for j = k, n do
      if k == 1 then
        cost[k][j], cut[k][j] = err_of(1, j), 0
      else
        for i = k - 1, j - 1 do
          local c = cost[k - 1][i] + err_of(i + 1, j)
          if not cost[k][j] or c < cost[k][j] then cost[k][j], cut[k][j] = c, i end
        end
      end
    end
  end
  local ends, j = {}, n
  for k = most, 1, -1 do
    ends[k] = j
    j = cut[k][j]
  end
  return ends
end

local function groups_of(prices, most)
  local groups, first = {}, 1
  if not most or #prices <= most then
    for i, p in ipairs(prices) do groups[i] = { price = p.price, low = p.price, high = p.price, minutes = p.minutes } end
    return groups
  end
  for _, last in ipairs(group_ends(prices, most)) do
    local minutes, sum = 0, 0
    for i = first, last do
      minutes, sum = minutes + prices[i].minutes, sum + prices[i].minutes * prices[i].price
    end
    local mean = math.floor(sum / minutes * 1e5 + 0.5) / 1e5
    groups[#groups + 1] = { price = mean, low = prices[first].price, high = prices[last].price, minutes = minutes }
    first = last + 1
  end
  return groups
end

-- One price for every minute is ALL, as recommended (doc/protocol.md#tariff-meaning); beside labels of the caller no name is taken.
local function name_groups(groups, alone)
  local names = alone and app_names[#groups]
  if #groups == 1 and alone and groups[1].minutes == weeks.WEEK then names = { "ALL" } end
  for i, group in ipairs(groups) do
    group.label = names and names[i] or string.format("PRICE_%0" .. #tostring(#groups) .. "d", i)
  end
end

--- Labels that rows bring along stay; the rest is grouped by price.
--- Gives every stretch without a label one, and returns the groups: { { label =, price =, low =, high =, minutes = }, … }.
--- most: the largest number of labels to make; prices that share one get their mean.
function M.label(spans, most)
  local open, named = {}, {}
  for _, s in ipairs(spans) do
    if not s.label then
      open[#open + 1] = s
    elseif named[s.label] and named[s.label].price ~= s.price then
      local text = "fleet.tariff.from_rows: label '%s' has two prices in one season, %s and %s"
      errors.usage(text, s.label, tostring(named[s.label].price), tostring(s.price))
    else
      named[s.label] = named[s.label] or { label = s.label, price = s.price, low = s.price, high = s.price, minutes = 0 }
      named[s.label].minutes = named[s.label].minutes + (s.to - s.from)
    end
  end
  local groups = groups_of(distinct_prices(open), most)
  name_groups(groups, next(named) == nil)
  for _, s in ipairs(open) do
    for _, group in ipairs(groups) do
      if s.price >= group.low and s.price <= group.high then s.label = group.label end
    end
  end
  for _, group in pairs(named) do groups[#groups + 1] = group end
  table.sort(groups, function(a, b) return a.label < b.label end)
  return groups
end

return M
