-- Prints the results of many vehicles: each at once as a line of JSON or CSV, or all as a table at the end.

local core = require "fleet.core"
local show = require "fleet.cli.show"

local M = {}

local columns = { "vin", "name", "outcome", "changed", "reason", "kind", "message" }

local function csv_cell(value)
  if value == nil then return "" end
  local text = tostring(value)
  -- a spreadsheet would run it as a formula
  if string.find(text, "^[=+%-@\t\r]") then text = "'" .. text end
  if string.find(text, '[",\r\n]') then text = '"' .. string.gsub(text, '"', '""') .. '"' end
  return text
end

local function csv_line(cells)
  local parts = {}
  for i, name in ipairs(columns) do parts[i] = csv_cell(cells[name]) end
  return table.concat(parts, ",") .. "\r\n"
end

--- Prints what comes before the first result. form: "json", "csv" or "table".
function M.begin(out, form)
  if form ~= "csv" then return end
  local head = {}
  for _, name in ipairs(columns) do head[name] = name end
  out:write(csv_line(head))
end

--- Prints one result.
function M.add(out, form, entry)
  if form == "json" then
    out:write(core.json_encode(entry), "\n")
  elseif form == "csv" then
    out:write(csv_line(entry))
  else
    return
  end
  out:flush()
end

local function named(list)
  for _, entry in ipairs(list) do
    if entry.name then return true end
  end
  return false
end

--- Prints what comes after the last result; the table, when form is "table".
function M.finish(out, form, list)
  if form ~= "table" then return end
  local records = {}
  for i, entry in ipairs(list) do
    local detail = entry.reason or entry.message
    if entry.outcome == "done" and entry.changed == false then detail = "was so already" end
    records[i] = { vin = entry.vin, name = entry.name, outcome = entry.outcome, detail = detail }
  end
  show.table(out, records, named(list) and { "vin", "name", "outcome", "detail" } or { "vin", "outcome", "detail" })
end

return M
