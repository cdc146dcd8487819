-- Writes doc/api.md from lua/fleet/types.lua: every public function and object that is no row of the service, with its
-- signature, parameters, results and units. The editor types and this page have one source. `make doc` runs it.

local core = require "fleet.core"

local M = {}

-- Methods that are rows are in the reference.
local function row_methods()
  local names = {}
  for _, list in ipairs { core.endpoints(), core.commands() } do
    for _, row in ipairs(list) do names[row.handle .. ":" .. string.match(row.name, "[^.]+$")] = true end
  end
  return names
end

-- The annotated blocks: lists of "---" lines, each with the line that follows them.
local function blocks(text)
  local list, lines = {}, {}
  for line in string.gmatch(text, "(.-)\n") do
    local note = string.match(line, "^%-%-%-(.*)$")
    if note then
      lines[#lines + 1] = note
    else
      if #lines > 0 or string.find(line, "^function ") then list[#list + 1] = { notes = lines, line = line } end
      lines = {}
    end
  end
  return list
end

local function cell(text)
  return (string.gsub(text, "|", "\\|"))
end

-- A type, which may hold spaces inside of brackets, and the text behind it.
local function type_and_text(rest)
  local depth, at = 0, #rest + 1
  for i = 1, #rest do
    local c = string.sub(rest, i, i)
    if string.find(c, "[%(%{<]") then depth = depth + 1 end
    if string.find(c, "[%)%}>]") then depth = depth - 1 end
    local before = string.sub(rest, i - 1, i - 1)
    if c == " " and depth == 0 and before ~= ":" and before ~= "," then
      at = i
      break
    end
  end
  return string.sub(rest, 1, at - 1), string.sub(rest, at + 1)
end

local function parsed(block)
  local found = { doc = {}, params = {}, returns = {}, fields = {} }
  for _, note in ipairs(block.notes) do
    local tag, rest = string.match(note, "^@(%w+) ?(.*)$")
    if not tag then
      found.doc[#found.doc + 1] = (string.gsub(note, "^ ", ""))
    elseif tag == "param" or tag == "field" then
      local name, behind = string.match(rest, "^(%S+) (.*)$")
      local kind, text = type_and_text(behind or "")
      table.insert(tag == "param" and found.params or found.fields, { name or rest, kind, text })
    elseif tag == "return" then
      local kind, text = type_and_text(rest)
      table.insert(found.returns, { kind, text })
    elseif tag == "class" then
      found.class = rest
    end
  end
  return found
end

local function table_of(heads, rows)
  local lines = { "| " .. table.concat(heads, " | ") .. " |", "|" .. string.rep("---|", #heads) }
  for _, row in ipairs(rows) do
    local kind = row[2] ~= "" and "`" .. cell(row[2]) .. "`" or ""
    lines[#lines + 1] = string.format("| `%s` | %s | %s |", cell(row[1]), kind, cell(row[3] or ""))
  end
  return table.concat(lines, "\n")
end

-- Editors are given err and kind as always there, so that they do not warn behind every check of the result.
local with_failure = { ["fleet.err"] = "fleet.err?", ["fleet.kind"] = "fleet.kind?" }

local function results(returns)
  local parts = {}
  for i, result in ipairs(returns) do
    local kind = i > 1 and with_failure[result[1]] or result[1]
    parts[i] = "`" .. kind .. "`" .. (result[2] ~= "" and " " .. result[2] or "")
  end
  return "Returns " .. table.concat(parts, ", ") .. "."
end

local function function_section(signature, found)
  local parts = { "### " .. signature }
  if #found.doc > 0 then parts[#parts + 1] = table.concat(found.doc, " ") end
  if #found.params > 0 then parts[#parts + 1] = table_of({ "Parameter", "Type", "" }, found.params) end
  if #found.returns > 0 then parts[#parts + 1] = results(found.returns) end
  return table.concat(parts, "\n\n")
end

local function class_section(found)
  local parts = { "### " .. found.class }
  if #found.doc > 0 then parts[#parts + 1] = table.concat(found.doc, " ") end
  parts[#parts + 1] = table_of({ "Member", "Type", "" }, found.fields)
  return table.concat(parts, "\n\n")
end

local function has_fields(found) return found.class and #found.fields > 0 and not string.find(found.class, "^fleet%.params%.") end

local function read(path)
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  return text
end

--- The page as Markdown.
function M.markdown()
  local rows, functions, classes = row_methods(), {}, {}
  for _, block in ipairs(blocks(read "lua/fleet/types.lua")) do
    local found = parsed(block)
    local signature = string.match(block.line, "^function (.*) end$")
    if has_fields(found) then classes[#classes + 1] = class_section(found) end
    if signature and not rows[string.match(signature, "^[%w_.]+:?[%w_]*")] then
      functions[#functions + 1] = function_section(signature, found)
    end
  end
  return table.concat({ "# The Lua interface", [[
Every public function and object except the calls of the service, which are in [the reference](reference.md). Made from the
editor types (`lua/fleet/types.lua`) by `make doc`. Unless a line says otherwise, prices are per kWh, times are in UTC seconds,
and durations are in seconds. A call that fails returns `nil, err, kind`. A wrong argument raises a Lua error.]],
    "## Functions and methods", table.concat(functions, "\n\n"), "## Objects and tables", table.concat(classes, "\n\n") }, "\n\n") .. "\n"
end

return M
