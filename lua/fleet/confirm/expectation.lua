-- Was it done? Reads what a write should have changed and compares, as the row says (rule R1).
--
-- A part of the row's settle column is "section.path op value", see src/tables/rows.h. The read is a billed live call; it
-- never wakes the vehicle.

local core = require "fleet.core"

local M = {}

local function parts_of(text)
  local parts = {}
  for part in string.gmatch(text .. "; ", "(.-); ") do
    local path, op, value = string.match(part, "^(%S+) (%S+) (.+)$")
    parts[#parts + 1] = { path = path, op = op, value = value }
  end
  return parts
end

local function parameter(row, name)
  for _, param in ipairs(row.params) do
    if param.name == name then return param end
  end
end

-- Every text that a value may be read back as: itself, and all names and values of the choice it is.
local function forms(row, name, value)
  local found, param = { value }, parameter(row, name)
  local function same(choice)
    return choice.name == value or choice.value == value
  end
  local chosen
  for _, choice in ipairs(param and param.choices or {}) do
    if same(choice) then chosen = choice.value end
  end
  for _, choice in ipairs(param and param.choices or {}) do
    if chosen ~= nil and choice.value == chosen then
      found[#found + 1] = choice.name
      found[#found + 1] = choice.value
    end
  end
  return found
end

local function literals(text)
  local found = {}
  for word in string.gmatch(text, "[^|]+") do found[#found + 1] = word end
  return found
end

local function text_of(value)
  if value == nil or value == core.null then return "false" end
  if type(value) == "number" and value == math.floor(value) then return string.format("%d", value) end
  return string.lower(tostring(value))
end

local function close(a, b)
  a, b = tonumber(a), tonumber(b)
  return a ~= nil and b ~= nil and math.abs(a - b) <= 0.05
end

local function holds(actual, op, wanted)
  for _, value in ipairs(wanted) do
    if op == "~" and close(actual, value) then return true end
    if op ~= "~" and text_of(actual) == text_of(value) then return true end
  end
  return false
end

local function at(data, path)
  for name in string.gmatch(path, "[^.]+") do
    if type(data) ~= "table" then return nil end
    data = data[name]
  end
  return data
end

local function wanted_values(row, part, params)
  local name = string.match(part.value, "^%$(.+)$")
  if not name then return literals(part.value) end
  if params == nil or params[name] == nil then return nil end
  return forms(row, name, params[name])
end

--- The sections that must be read to settle a row, or nil when its row names none.
function M.sections(row)
  if not row.settle then return nil end
  local list, seen = {}, {}
  for _, part in ipairs(parts_of(row.settle)) do
    local section = string.match(part.path, "^[^.]+")
    if not seen[section] then list[#list + 1] = section end
    seen[section] = true
  end
  return list
end

--- Whether a read can tell what became of the row with these parameters: at least one part must compare something.
function M.can_tell(row, params)
  for _, part in ipairs(row.settle and parts_of(row.settle) or {}) do
    if wanted_values(row, part, params) then return true end
  end
  return false
end

--- What data (a table of sections) says of the parameters that the row names: { parameter = value }.
function M.current(row, data)
  local found = {}
  for _, part in ipairs(parts_of(row.settle)) do
    local name = string.match(part.value, "^%$(.+)$")
    if name then found[name] = at(data, part.path) end
  end
  return found
end

--- Whether data (a table of sections) shows what the row with these parameters wanted.
function M.holds(row, params, data)
  for _, part in ipairs(parts_of(row.settle)) do
    local wanted = wanted_values(row, part, params)
    if wanted and not holds(at(data, part.path), part.op, wanted) then return false end
  end
  return true
end

return M
