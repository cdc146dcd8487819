-- The sample call of a row as a command line. The row states it as Lua; here it is written the way a person types it.

local core = require "fleet.core"
local row_verb = require "fleet.cli.row_verb"

local M = {}

M.vin, M.site = "5YJ3E1EA7KF000001", "1234567890"

-- The example's arguments: the text is ours, from the row.
local function arguments_of(row)
  return { assert(load("return " .. row.example, "=" .. row.name, "t", {}))() }
end

local function text_of(param, value)
  if param.secret then return "@" .. param.name .. ".txt" end
  if param.type == "bytes" then return "@message.bin" end
  if type(value) ~= "table" then return tostring(value) end
  if param.type == "object" or param.type == "tariff" then return core.json_encode(value, table.concat(param.lists or {}, " ")) end
  local words = {}
  for i, item in ipairs(value) do words[i] = tostring(item) end
  return table.concat(words, ",")
end

-- The values of the example by parameter name.
local function values_of(row, bare)
  local arguments, values = arguments_of(row), {}
  local i = 1
  for _, param in ipairs(bare) do
    if param.implied then
      values[param.name] = row.handle == "vehicle" and M.vin or M.site
    else
      values[param.name] = arguments[i]
      i = i + 1
    end
  end
  for name, value in pairs(type(arguments[i]) == "table" and arguments[i] or {}) do values[name] = value end
  return values
end

--- The words of the sample command line, "fleet" left out.
function M.words(row)
  local bare, named = row_verb.parameters(row)
  local values, words = values_of(row, bare), {}
  for word in string.gmatch(row.name, "[^.]+") do words[#words + 1] = word end
  local function take(param)
    local value = values[param.name]
    values[param.name] = nil
    return value ~= nil and text_of(param, value) or nil
  end
  for _, param in ipairs(bare) do words[#words + 1] = take(param) end
  for _, param in ipairs(named) do
    local text = take(param)
    if text then words[#words + 1] = param.name .. "=" .. text end
  end
  if row.flags.body_as_given then
    local names = {}
    for name in pairs(values) do names[#names + 1] = name end
    table.sort(names)
    for _, name in ipairs(names) do words[#words + 1] = name .. "=" .. tostring(values[name]) end
  end
  return words
end

-- A word as a shell takes it.
local function quoted(word)
  if string.match(word, "^[%w_@%%+=:,./-]+$") then return word end
  return "'" .. string.gsub(word, "'", "'\\''") .. "'"
end

--- The sample command line as text.
function M.text(row)
  local words = M.words(row)
  for i, word in ipairs(words) do words[i] = quoted(word) end
  return "fleet " .. table.concat(words, " ")
end

return M
