-- The budgets `growth-…`: what one call costs beside 1, 100, 10,000 of what there may be many of, and 100,000 tasks; a page and a
-- period of a tariff among as many. Each may cost as much more as the logarithm grows, which makes the whole n log n: a figure of
-- 1 is that exactly, from 100 to the largest.
-- `store-open` is the time to open a store with 10,000 accounts, in milliseconds.
--
--   lua5.4 spec/bench/growth.lua [write]     write: the table of doc/performance.md and its picture

local growth_rows = require "spec.bench.growth_rows"

local rows, passes = growth_rows.rows, 3

-- Each row is measured in passes that the others lie between: a machine that is slow for a while is not slow in all of them.
local function measure(one)
  one.costs = one.costs or {}
  for i, seconds in ipairs(growth_rows.measured(one.name)) do one.costs[i] = math.min(one.costs[i] or math.huge, seconds) end
end

local function judge(one)
  local last = #one.counts
  one.figure = (one.costs[last] / one.costs[2]) / (math.log(one.counts[last]) / math.log(one.counts[2]))
end

local function verdict(figure, budget)
  return figure <= budget and "ok" or "over"
end

for _ = 1, passes do
  for _, one in ipairs(rows) do measure(one) end
end
for _, one in ipairs(rows) do
  judge(one)
  local columns = {}
  for i, n in ipairs(one.counts) do columns[i] = string.format("%d: %.1f us", n, one.costs[i] * 1e6) end
  print(string.format("%-9s | %-14s | %s", one.name, one.unit, table.concat(columns, " | ")))
  print(string.format("growth-%s %.2f 1 %s", one.name, one.figure, verdict(one.figure, 1)))
end
local milliseconds = growth_rows.measured("opening")[1] * 1e3
print(string.format("store-open %.2f 2 %s", milliseconds, verdict(milliseconds, 2)))

if arg[1] == "write" then
  local files, pages = require "spec.support.harness.files", require "spec.bench.growth_page"
  local text = pages.replace(files.read "doc/performance.md", rows)
  files.write("doc/performance.md", text)
  files.write("doc/performance.svg", pages.draw(text))
end
