-- The tables of doc/manual/telemetry.md and telemetry-receiver.md, made from the rows of the receiver. Written by `make doc`.

local cost = require "fleet.telemetry.cost"
local options = require "fleet.telemetry.options"
local templates = require "fleet.telemetry.templates"

local M = {}

local function table_of(word, list)
  local lines = { "| " .. word .. " | Default | |", "|---|---|---|" }
  for _, row in ipairs(list) do
    lines[#lines + 1] = string.format("| %s | %s | %s |", row.name, row.default ~= nil and tostring(row.default) or "", row.doc)
  end
  return table.concat(lines, "\n")
end

local function template_table()
  local lines = { "| Template | For | Fields | Signals an hour awake, at most | USD a month, at most |", "|---|---|---|---|---|" }
  for _, name in ipairs(templates.names) do
    local ceiling = cost.ceiling(templates.config(name))
    lines[#lines + 1] = string.format("| %s | %s | %d | %.0f | %.2f |", name, templates.doc(name), #ceiling.fields, ceiling.an_hour,
      ceiling.usd_a_month)
  end
  return table.concat(lines, "\n")
end

local function replace_tables(path, tables)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  for name, content in pairs(tables) do
    local first, last = "<!-- " .. name .. " -->\n", "<!-- end -->"
    local from = assert(select(2, string.find(text, first, 1, true)), path .. " has no " .. first)
    local to = assert(string.find(text, last, from, true))
    text = string.sub(text, 1, from) .. content .. "\n" .. string.sub(text, to)
  end
  file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

--- Replaces the tables of both pages by those of the rows.
function M.write()
  replace_tables("doc/manual/telemetry.md", { templates = template_table() })
  replace_tables("doc/manual/telemetry-receiver.md",
    { options = table_of("Option", options.list), limits = table_of("Limit", options.limits) })
end

return M
