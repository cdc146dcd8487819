-- Results for a person: aligned names and values, tables for lists of records, one line for a command.
--
-- Everything here came from outside: control characters are shown, never sent to the terminal (rule R3).

local core = require "fleet.core"

local M = {}

local widest_table, widest_cell = 110, 40

-- ---- single values ----

--- Text that is safe on a terminal: control characters, C1 ones in UTF-8 included, become \xNN.
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

-- Columns on the terminal: the bytes that begin a character.
local function width(text)
  return select(2, string.gsub(text, "[^\128-\191]", ""))
end

local function pad(text, columns)
  return text .. string.rep(" ", columns - width(text))
end

-- ---- units: what a row sets has the unit of the parameter that sets it ----

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

-- Names of a table in the order of reading: single values, then what has an inside.
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

local function cell(value)
  local text = value == nil and "" or type(value) == "table" and not is_plain(value) and "…" or plain(value)
  if width(text) <= widest_cell then return text end
  local count = 0
  return string.gsub(text, "[^\128-\191][\128-\191]*", function(char)
    count = count + 1
    return count < widest_cell and char or count == widest_cell and "…" or ""
  end)
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

-- The columns that fit, with their widths, and how many do not.
local function fitting(list, names, room)
  local chosen, left_out = {}, 0
  for _, name in ipairs(names) do
    local columns = width(M.clean(name))
    for _, record in ipairs(list) do columns = math.max(columns, width((cell(record[name])))) end
    if columns + 2 <= room then
      chosen[#chosen + 1] = { name = name, width = columns }
      room = room - columns - 2
    else
      left_out = left_out + 1
    end
  end
  return chosen, left_out
end

local function write_line(out, indent, columns, text_of)
  local cells = {}
  for i, column in ipairs(columns) do cells[i] = pad((text_of(column.name)), column.width) end
  out:write(indent, (string.gsub(table.concat(cells, "  "), " +$", "")), "\n")
end

--- Writes a list of records as a table. names: the columns; left out, all members, as many as fit.
function M.table(out, list, names, indent)
  indent = indent or ""
  local columns, left_out = fitting(list, names or columns_of(list), names and math.huge or widest_table - #indent)
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

--- Writes what the call of a row returned.
function M.result(out, row, value)
  if type(value) == "string" and (row.value.bytes or row.value.base64) then
    out:write(value)
  elseif row.flags.command and type(value) == "table" then
    write_command(out, value)
  elseif value == core.null then
    out:write("done\n")
  else
    M.value(out, value)
  end
end

return M
