-- The tables of doc/manual/mqtt.md and mqtt-topics.md, made from the rows of the bridge. Written by `make doc`.

local entities = require "fleet.mqtt.entities"
local options = require "fleet.mqtt.options"
local schedule = require "fleet.mqtt.schedule"
local values = require "fleet.mqtt.values"

local M = {}

-- ---- entities ----

local function sorted_keys(map)
  local list = {}
  for name in pairs(map) do list[#list + 1] = name end
  table.sort(list)
  return list
end

local function calls_of(row)
  if row.call then return "`" .. row.call .. "`" end
  local list, seen = {}, {}
  for _, payload in ipairs(sorted_keys(row.calls or {})) do
    local name = row.calls[payload][1]
    if not seen[name] then list[#list + 1] = "`" .. name .. "`" end
    seen[name] = true
  end
  return table.concat(list, ", ")
end

local function takes(row)
  if row.call and row.least then return string.format("%g to %g, step %g", row.least, row.most, row.step) end
  if row.calls then return table.concat(sorted_keys(row.calls), ", ") end
  if row.options and row.call then return table.concat(row.options, ", ") end
  return ""
end

local function says(row)
  local parts = {}
  for _, text in ipairs { row.unit or "", row.class or "", row.state or "" } do
    if text ~= "" then parts[#parts + 1] = text end
  end
  return table.concat(parts, ", ")
end

local function entity_line(row)
  local note = row.doc and "; " .. row.doc or ""
  return string.format("| `%s` | %s | %s | %s | %s | %s |", values.topic(row), row.component, row.from and "`" .. row.from .. "`" or "",
    says(row), takes(row), calls_of(row) .. (note ~= "" and calls_of(row) == "" and string.sub(note, 3) or note))
end

local function entity_table(list)
  local lines = { "| Topic | Entity | From | Unit, class | Takes | Calls |", "|---|---|---|---|---|---|" }
  for _, row in ipairs(list) do lines[#lines + 1] = entity_line(row) end
  return table.concat(lines, "\n")
end

-- ---- options ----

local function default_of(option)
  local value = option.default
  if value == nil and option.name == "commands" then return "entities" end
  if value == nil or type(value) == "table" then return "" end
  return tostring(value)
end

local function option_table()
  local lines = { "| Option | Default | Meaning |", "|---|---|---|" }
  for _, option in ipairs(options.list) do
    lines[#lines + 1] = string.format("| %s | %s | %s |", option.name, default_of(option), option.doc)
  end
  return table.concat(lines, "\n")
end

-- ---- what it costs ----

local schedules = {
  { "default", {} }, { "live_every = 60", { live_every = 60 } }, { "live_every = 900", { live_every = 900 } },
  { "idle_every = 7200", { idle_every = 7200 } }, { "live_every = 900, idle_every = 7200", { live_every = 900, idle_every = 7200 } },
}

local function cost_table()
  local lines = { "| Schedule | Live reads a month | USD a month | At most |", "|---|---|---|---|" }
  for _, one in ipairs(schedules) do
    local given = { client = true, broker = "mqtt://host" }
    for name, value in pairs(one[2]) do given[name] = value end
    local month = schedule.month(options.read(given), 1)
    lines[#lines + 1] = string.format("| %s | %d | %.2f | %.2f |", one[1], month.looks, month.usd, month.most)
  end
  return table.concat(lines, "\n")
end

-- ---- the pages ----

local function tables_of()
  return {
    ["doc/manual/mqtt.md"] = { options = option_table(), costs = cost_table() },
    ["doc/manual/mqtt-topics.md"] = {
      cars = entity_table(entities.car), sites = entity_table(entities.site), account = entity_table(entities.account),
    },
  }
end

local function replaced(path, text, made)
  for name, content in pairs(made) do
    local first, last = "<!-- " .. name .. " -->\n", "<!-- end -->"
    local from = assert(select(2, string.find(text, first, 1, true)), path .. " has no " .. first)
    local to = assert(string.find(text, last, from, true))
    text = string.sub(text, 1, from) .. content .. "\n" .. string.sub(text, to)
  end
  return text
end

--- Writes the tables as they are now into the pages.
function M.write()
  for path, made in pairs(tables_of()) do
    local file = assert(io.open(path, "rb"))
    local text = replaced(path, file:read("*a"), made)
    file:close()
    file = assert(io.open(path, "wb"))
    file:write(text)
    file:close()
  end
end

return M
