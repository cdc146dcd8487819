-- What a read must show if a write was done, from the settle column of the row; see "Settling" in src/tables/rows.h.
--
-- Pure: rows, parameters and data in, verdict out.

local core = require "fleet.core"

local M = {}

-- ---- the column, parsed once per row ----

local function conditions_of(text)
  local list = {}
  for name, value in string.gmatch(text or "", "%$([%w_]+)=(%S+)") do list[#list + 1] = { name = name, value = value } end
  return list
end

local function part_of(text)
  local expected, when = string.match(text, "^(.-) when (.+)$")
  local path, op, value = string.match(expected or text, "^(%S+) (%S+) (.+)$")
  return { path = path, op = op, value = value, conditions = conditions_of(when) }
end

local parts_by_row = setmetatable({}, { __mode = "k" })

local function parts_of(row)
  local parts = parts_by_row[row]
  if parts then return parts end
  parts = {}
  for text in string.gmatch(row.settle and row.settle .. "; " or "", "(.-); ") do parts[#parts + 1] = part_of(text) end
  parts_by_row[row] = parts
  return parts
end

-- ---- values ----

local function parameter(row, name)
  for _, param in ipairs(row.params) do
    if param.name == name then return param end
  end
end

-- The documented value of the choice with this name or value.
local function chosen_value(choices, value)
  for _, choice in ipairs(choices) do
    if choice.name == value or choice.value == value then return choice.value end
  end
end

-- Every value that a parameter may be read back as: itself, and all names and values of its choice.
local function forms(row, name, value)
  local param = parameter(row, name)
  if param and param.type == "days" then return { core.days(value) } end
  local found, choices = { value }, param and param.choices or {}
  local chosen = chosen_value(choices, value)
  for _, choice in ipairs(choices) do
    if chosen ~= nil and choice.value == chosen then
      found[#found + 1] = choice.name
      found[#found + 1] = choice.value
    end
  end
  return found
end

local function text_of(value)
  if value == nil or value == core.null then return "false" end
  if type(value) == "number" and value == math.floor(value) and math.abs(value) < 2 ^ 63 then return string.format("%d", value) end
  return string.lower(tostring(value))
end

local function same_text(a, b)
  return text_of(a) == text_of(b)
end

local function close(a, b)
  a, b = tonumber(a), tonumber(b)
  return a ~= nil and b ~= nil and math.abs(a - b) <= 0.05
end

local function same_tariff(stored, wanted)
  return require("fleet.tariff").stored_as(stored, wanted)
end

local comparisons = { ["="] = same_text, ["in"] = same_text, ["~"] = close, same = same_tariff }

local function any(compare, actual, wanted)
  for _, value in ipairs(wanted) do
    if compare(actual, value) then return true end
  end
  return false
end

-- ---- reading at a path ----

-- The element of a list whose member equals the parameter: "charge_schedules[id=$id]".
local function element(row, list, selector, params)
  local member, name = string.match(selector, "^([%w_]+)=%$([%w_]+)$")
  for _, item in ipairs(type(list) == "table" and list or {}) do
    if type(item) == "table" and any(same_text, item[member], forms(row, name, params[name])) then return item end
  end
end

local function at(row, data, path, params)
  for step in string.gmatch(path, "[^.]+") do
    if type(data) ~= "table" then return nil end
    local name, selector = string.match(step, "^(.-)%[(.+)%]$")
    data = data[name or step]
    if selector then data = element(row, data, selector, params) end
  end
  return data
end

-- ---- parts ----

local function applies(row, part, params)
  for _, condition in ipairs(part.conditions) do
    local value = params[condition.name]
    if value == nil or not any(same_text, condition.value, forms(row, condition.name, value)) then return false end
  end
  for name in string.gmatch(part.path .. part.value, "%$([%w_]+)") do
    if params[name] == nil then return false end
  end
  return true
end

local function literals(text)
  local found = {}
  for word in string.gmatch(text, "[^|]+") do found[#found + 1] = word end
  return found
end

-- The values that would match; nil when the data lacks a value at a path.
local function wanted_values(row, part, params, data)
  local mark, rest = string.match(part.value, "^([$@]?)(.+)$")
  if mark == "$" then return forms(row, rest, params[rest]) end
  if mark == "" then return literals(part.value) end
  local value = at(row, data, rest, params)
  return value ~= nil and { value } or nil
end

--- The sections to read for confirming a row, or nil when its row names none.
function M.sections(row)
  if not row.settle then return nil end
  local list, seen = {}, {}
  for _, part in ipairs(parts_of(row)) do
    local section = string.match(part.path, "^[^.]+")
    if not seen[section] then list[#list + 1] = section end
    seen[section] = true
  end
  return list
end

--- Why the reply of vehicle_data cannot confirm a command: the kind of failure and a text; nil when it can. A 200 may return data from
--- before the vehicle fell asleep, and a section may be withheld (doc/protocol.md#vehicle-data).
function M.inconclusive(row, data)
  if data.state == "asleep" or data.state == "offline" then
    return data.state, "what can be read is old: the vehicle is " .. data.state
  end
  for _, section in ipairs(M.sections(row)) do
    if type(data[section]) ~= "table" then return "protocol", "the reply holds no " .. section end
  end
end

--- Whether a read can confirm the row with these parameters: at least one part must compare a value.
function M.can_tell(row, params)
  for _, part in ipairs(parts_of(row)) do
    if applies(row, part, params or {}) then return true end
  end
  return false
end

--- The present values in data (a table of sections) of the parameters that the row names: { parameter = value }.
function M.current(row, data)
  local found = {}
  for _, part in ipairs(parts_of(row)) do
    local name = string.match(part.value, "^%$(.+)$")
    if name and applies(row, part, { [name] = true }) then found[name] = at(row, data, part.path, {}) end
  end
  return found
end

--- Whether data (a table of sections) shows the state that the row with these parameters wanted: true, false, or nil and what is missing in
--- data.
function M.holds(row, params, data)
  params = params or {}
  for _, part in ipairs(parts_of(row)) do
    if applies(row, part, params) then
      local wanted = wanted_values(row, part, params, data)
      if not wanted then return nil, string.match(part.value, "[^.]+$") end
      local actual = at(row, data, part.path, params)
      if actual == "unknown" then return nil, "known " .. string.match(part.path, "[^.]+$") end -- the vehicle itself reports "unknown"
      if not any(comparisons[part.op], actual, wanted) then return false end
    end
  end
  return true
end

return M
