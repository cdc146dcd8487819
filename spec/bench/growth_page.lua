-- The table of growth in doc/performance.md: written from what was measured, and read again by whoever draws it, so that the picture
-- says what the table says.

local picture = require "spec.bench.growth_picture"

local M = {}

local titles = {
  vehicles = "vehicles known", clients = "clients", tasks = "tasks asleep", accounts = "accounts in the file store",
  sessions = "sessions in the file store", pages = "pages of a history", periods = "periods of a tariff",
}
local columns = { 1, 100, 10000, 100000 }
local head = "| Beside | one | 1 | 100 | 10,000 | 100,000 | figure, at most 1 |\n|---|---|---|---|---|---|---|\n"

local function cell(one, i)
  if not one.costs[i] then return "" end
  local other = one.counts[i] ~= columns[i] and string.format(" (%d)", one.counts[i]) or ""
  return string.format("%.1f µs%s", one.costs[i] * 1e6, other)
end

--- rows: { name, unit, counts, costs, figure }. Returns the lines of the table.
function M.table(rows)
  local out = {}
  for _, one in ipairs(rows) do
    local cells = {}
    for i = 1, #columns do cells[i] = cell(one, i) end
    out[#out + 1] = string.format("| %s | %s | %s | %.2f |\n", titles[one.name], one.unit, table.concat(cells, " | "), one.figure)
  end
  return head .. table.concat(out)
end

-- Where the table stands in the page.
local function place(page)
  local from, past = string.find(page, head, 1, true)
  assert(from, "doc/performance.md has no table of growth")
  while string.sub(page, past + 1, past + 1) == "|" do past = string.find(page, "\n", past + 1, true) end
  return from, past
end

local function read_row(line)
  local cells = {}
  for text in string.gmatch(string.sub(line, 2), " ?([^|]*)|") do cells[#cells + 1] = text end
  local one = { name = string.match(cells[1], "^%a+"), counts = {}, costs = {} }
  for i = 1, #columns do
    local cost = string.match(cells[i + 2], "^([%d.]+) µs")
    if cost then
      one.costs[i], one.counts[i] = tonumber(cost) / 1e6, tonumber(string.match(cells[i + 2], "%((%d+)%)")) or columns[i]
    end
  end
  return one
end

--- What the page's table says, as rows.
function M.read(page)
  local from, past = place(page)
  local rows = {}
  for line in string.gmatch(string.sub(page, from + #head, past), "[^\n]+") do rows[#rows + 1] = read_row(line) end
  return rows
end

--- The picture of the page's table.
function M.draw(page)
  return picture.draw(M.read(page))
end

--- The page with these rows in its table.
function M.replace(page, rows)
  local from, past = place(page)
  return string.sub(page, 1, from - 1) .. M.table(rows) .. string.sub(page, past + 1)
end

return M
