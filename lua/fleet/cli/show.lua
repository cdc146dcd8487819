-- Prints results for a person: aligned names and values, tables for lists of records, one line for a command.
--
-- All text comes from the service: control characters are shown as \xNN and never sent to the terminal (rule R3).

local core = require "fleet.core"

local M = {}

local widest_table, widest_cell, narrowest_cell = 110, 40, 12

--- The columns of the terminal, nil when the output is not a terminal. A function that the environment replaces.
function M.columns() return nil end

-- ---- single values ----

--- Makes text safe for a terminal: control characters, including C1 ones in UTF-8, become \xNN.
function M.clean(text)
  text = string.gsub(text, "[%z\1-\31\127]", function(c) return string.format("\\x%02x", string.byte(c)) end)
  return (string.gsub(text, "\194([\128-\159])", function(c) return string.format("\\x%02x", string.byte(c)) end))
end

local function number(value)
  if value == math.floor(value) and math.abs(value) < 1e15 then return string.format("%.0f", value) end
  return string.format("%.10g", value)
end

local function scalar(value)
  if value == core.null or value == nil then return "null" end
  if type(value) == "number" then return number(value) end
  return M.clean(tostring(value))
end

local function is_list(value)
  return type(value) == "table" and (#value > 0 or next(value) == nil)
end

local function has_tables(list)
  for _, item in pairs(list) do
    if type(item) == "table" then return true end
  end
  return false
end

local function is_plain(value)
  return type(value) ~= "table" or is_list(value) and not has_tables(value)
end

-- A scalar, or a list of them.
local function plain(value)
  if type(value) ~= "table" then return scalar(value) end
  if #value == 0 then return "none" end
  local words = {}
  for i = 1, #value do words[i] = scalar(value[i]) end
  return table.concat(words, ", ")
end

--- The width in columns: the number of bytes that begin a character.
function M.width(text)
  return (select(2, string.gsub(text, "[^\128-\191]", "")))
end

local width = M.width

local function pad(text, columns)
  return text .. string.rep(" ", columns - width(text))
end

-- ---- units: a value that a row sets has the unit of the row's parameter ----

local units

local function read_units()
  units = {}
  for _, row in ipairs(require("fleet.call.rows").all()) do
    local of = {}
    for _, param in ipairs(row.params) do of[param.name] = param.unit end
    for field, param in string.gmatch(row.settle or "", "([%w_]+) [=~] %$([%w_]+)") do units[field] = of[param] end
  end
end

local function with_unit(name, value)
  if type(value) ~= "number" then return plain(value) end
  if not units then read_units() end
  if not units[name] then return plain(value) end
  return plain(value) .. " " .. units[name]
end

-- ---- the order of names ----

local leading = {}
for i, name in ipairs {
  "vin", "energy_site_id", "display_name", "site_name", "vehicle_name", "name", "state", "id", "type", "resource_type", "timestamp",
  "period", "start_date",
} do
  leading[name] = i
end

local function before(a, b)
  local x, y = leading[a] or math.huge, leading[b] or math.huge
  if x ~= y then return x < y end
  return a < b
end

-- The names of a table in the order of reading: single values first, then tables.
local function names_of(object)
  local single, nested = {}, {}
  for name, value in pairs(object) do
    local list = is_plain(value) and single or nested
    list[#list + 1] = name
  end
  table.sort(single, before)
  table.sort(nested, before)
  return single, nested
end

-- ---- records and tables ----

local write_value

local function write_object(out, object, indent)
  local single, nested = names_of(object)
  local columns = 0
  for _, name in ipairs(single) do columns = math.max(columns, width(M.clean(name))) end
  for _, name in ipairs(single) do
    out:write(indent, pad(M.clean(name), columns), "  ", with_unit(name, object[name]), "\n")
  end
  for _, name in ipairs(nested) do
    out:write(indent, M.clean(name), "\n")
    write_value(out, object[name], indent .. "  ")
  end
end

-- Shortens text to the given columns; a cut is shown as "…".
local function cut(text, columns)
  if width(text) <= columns then return text end
  local count = 0
  return (string.gsub(text, "[^\128-\191][\128-\191]*", function(char)
    count = count + 1
    return count < columns and char or count == columns and "…" or ""
  end))
end

local function cell(value)
  return value == nil and "" or type(value) == "table" and not is_plain(value) and "…" or plain(value)
end

local function columns_of(list)
  local seen, names = {}, {}
  for _, record in ipairs(list) do
    for name in pairs(record) do
      if not seen[name] then names[#names + 1] = name end
      seen[name] = true
    end
  end
  table.sort(names, before)
  return names
end

local function columns_with_widths(list, names)
  local columns = {}
  for i, name in ipairs(names) do
    local widest = width(M.clean(name))
    for _, record in ipairs(list) do widest = math.max(widest, width(cell(record[name]))) end
    columns[i] = { name = name, width = widest }
  end
  return columns
end

-- Returns the columns that fit into room, with cells cut, and how many columns do not fit.
local function those_that_fit(columns, room)
  local chosen = {}
  for _, column in ipairs(columns) do
    column.width = math.min(column.width, widest_cell)
    if column.width + 2 <= room then
      chosen[#chosen + 1] = column
      room = room - column.width - 2
    end
  end
  return chosen, #columns - #chosen
end

-- Returns all columns, the widest ones cut until they fit into room.
local function squeezed(columns, room)
  local total = -2
  for _, column in ipairs(columns) do total = total + column.width + 2 end
  while total > room do
    local widest = columns[1]
    for _, column in ipairs(columns) do
      if column.width >= widest.width then widest = column end
    end
    if widest.width <= narrowest_cell then break end
    local less = math.min(total - room, widest.width - narrowest_cell)
    widest.width, total = widest.width - less, total - less
  end
  return columns
end

local function write_line(out, indent, columns, text_of)
  local cells = {}
  for i, column in ipairs(columns) do cells[i] = pad(cut(text_of(column.name), column.width), column.width) end
  out:write(indent, (string.gsub(table.concat(cells, "  "), " +$", "")), "\n")
end

--- Writes a list of records as a table. names: the columns, which are cut on a narrow terminal; without names, as many members as fit. wide
--- = true: nothing is cut.
function M.table(out, list, names, indent, wide)
  indent = indent or ""
  local terminal = not wide and M.columns()
  local columns, left_out = columns_with_widths(list, names or columns_of(list)), 0
  if not names then
    columns, left_out = those_that_fit(columns, (terminal or widest_table) - #indent)
  elseif terminal then
    columns = squeezed(columns, terminal - #indent)
  end
  write_line(out, indent, columns, M.clean)
  for _, record in ipairs(list) do
    write_line(out, indent, columns, function(name) return cell(record[name]) end)
  end
  if left_out > 0 then out:write(indent, string.format("(%d more members: --json shows all)\n", left_out)) end
end

local function all_objects(list)
  for _, item in ipairs(list) do
    if type(item) ~= "table" or is_list(item) then return false end
  end
  return true
end

local function write_items(out, list, indent)
  for i, item in ipairs(list) do
    if is_plain(item) then
      out:write(indent, plain(item), "\n")
    else
      if i > 1 then out:write("\n") end
      write_value(out, item, indent)
    end
  end
end

function write_value(out, value, indent)
  if type(value) ~= "table" then
    out:write(indent, scalar(value), "\n")
  elseif #value > 1 and all_objects(value) then
    M.table(out, value, nil, indent)
  elseif is_list(value) then
    if #value == 0 then out:write(indent, "none\n") end
    write_items(out, value, indent)
  else
    write_object(out, value, indent)
  end
end

--- Writes any value.
function M.value(out, value)
  if value == true then out:write("done\n") else write_value(out, value, "") end
end

-- ---- results of rows ----

local function write_command(out, value)
  local how = value.via and " (" .. value.via .. ")" or ""
  if value.perhaps_changed then
    out:write("it is so; an attempt of this call that got no answer may have done it", how, "\n")
  elseif value.changed == false then
    out:write("nothing to do", value.reason and value.reason ~= "" and ": " .. M.clean(value.reason) or "", how, "\n")
  else
    out:write("done", how, "\n")
  end
end

-- The columns that a person needs most, by row; --wide shows all members.
local columns_of_row = {
  vehicles = { "display_name", "state", "vin", "access_type" },
  products = { "display_name", "site_name", "state", "vin", "energy_site_id" },
}

-- The columns of the row that occur in the list.
local function first_columns(row, list)
  local names = {}
  for _, name in ipairs(columns_of_row[row.name] or {}) do
    for _, record in ipairs(list) do
      if record[name] ~= nil then
        names[#names + 1] = name
        break
      end
    end
  end
  return names[1] and names
end

--- Writes the result of a row's call. wide = true: all members of records.
function M.result(out, row, value, wide)
  if type(value) == "string" and (row.value.bytes or row.value.base64) then
    out:write(value)
  elseif row.flags.command and type(value) == "table" then
    write_command(out, value)
  elseif value == core.null then
    out:write("done\n")
  elseif type(value) == "table" and #value > 1 and all_objects(value) and (wide or first_columns(row, value)) then
    M.table(out, value, wide and columns_of(value) or first_columns(row, value), nil, wide)
  else
    M.value(out, value)
  end
end

return M
