-- Where automations are listed: the names that the module loads, the table of their page, the links of the manual; and the options
-- on each page. Made from the files in lua/fleet/automation/builtin, so that adding one is its file and its page, and that no page
-- names another default than the code.

local common = require("fleet.automation.options").common
local read = require("spec.support.harness.files").read

local M = {}

local folder = "lua/fleet/automation/builtin"

local function definitions()
  local list = {}
  local pipe = assert(io.popen("ls " .. folder))
  for line in pipe:lines() do
    local name = string.match(line, "^(.*)%.lua$")
    if name and name ~= "init" then list[#list + 1] = { name = name, is = require("fleet.automation.builtin." .. name) } end
  end
  pipe:close()
  table.sort(list, function(a, b)
    if a.is.precedence ~= b.is.precedence then return a.is.precedence > b.is.precedence end
    return a.name < b.name
  end)
  return list
end

local function each(text)
  local out = {}
  for i, one in ipairs(definitions()) do out[i] = text(one.name, one.is) end
  return out
end

-- Replaces the text between two marks, which must both be there.
local function replaced(text, before, after, middle)
  local _, from = string.find(text, before, 1, true)
  local to = assert(string.find(text, after, assert(from, before), true), after)
  return string.sub(text, 1, from) .. middle .. string.sub(text, to)
end

-- ---- the options of one ----

local function default_of(option)
  if option.needed then return "needed" end
  if option.default == nil then return "" end
  return type(option.default) == "number" and string.format("%.14g", option.default) or tostring(option.default)
end

local function options_table(options)
  local names, lines = {}, {}
  for name in pairs(options) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do
    lines[i] = string.format("| `%s` | %s | %s |", name, default_of(options[name]), (string.gsub(options[name].doc, "|", "\\|")))
  end
  return table.concat(lines, "\n")
end

-- ---- the files ----

--- file name -> its wanted content.
function M.files()
  local found = {}
  local function put(path, before, after, middle)
    found[path] = replaced(found[path] or assert(read(path)), before, after, middle)
  end
  put(folder .. "/init.lua", "\nreturn {\n", "}", table.concat(each(function(name) return '  "' .. name .. '",\n' end)))
  put("doc/manual/automations.md", "|---|---|---|\n", "\n\n", table.concat(each(function(name, is)
    return string.format("| [%s](automation-%s.md) | %s | %d |", name, name, is.doc, is.precedence)
  end), "\n"))
  put("doc/manual.md", ": describe what should be true; `fleet run` does it\n", "- [Schedules of a car]",
    table.concat(each(function(name, is) return string.format("- [%s](manual/automation-%s.md): %s\n", name, name, is.doc) end)))
  local heads = "| Option | Default | Meaning |\n|---|---|---|\n"
  put("doc/manual/automations.md", heads, "\n\n", options_table(common))
  for _, one in ipairs(definitions()) do
    put("doc/manual/automation-" .. one.name .. ".md", heads, "\n\n", options_table(one.is.options))
  end
  return found
end

function M.write()
  for path, text in pairs(M.files()) do
    local file = assert(io.open(path, "w"))
    file:write(text)
    file:close()
  end
end

return M
