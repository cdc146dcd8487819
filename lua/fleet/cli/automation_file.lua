-- Loads the file of `fleet run`: Lua code that returns function(client) -> an automation or a list of them. The code runs with the user's
-- own rights. Its errors are reported as usage errors, with the line in the file.

local usage_error = require "fleet.cli.usage_error"

local M = {}

local function refuse(text)
  usage_error.raise("'run': " .. text, { "run" })
end

-- The line of the file that is running, or nil.
local function line_of(source)
  for level = 2, 60 do
    local info = debug.getinfo(level, "Sl")
    if not info then return nil end
    if info.source == source then return info.currentline end
  end
end

-- The line where the function was defined. Needed when the code that raised has left the stack, as after a tail call.
local function first_line(fn)
  local line = debug.getinfo(fn, "S").linedefined
  return line > 0 and line or nil
end

-- Calls code of the file. The err of a failed call is raised as it is; a text gets the line of the file.
local function call(path, fn, client)
  local function place(raised)
    if type(raised) ~= "string" or string.find(raised, "interrupted!", 1, true) then return { raised = raised } end
    return { text = raised, line = line_of("@" .. path) or first_line(fn) }
  end
  local ok, value = xpcall(function() return fn(client) end, place)
  if ok then return value end
  if value.raised ~= nil then error(value.raised, 0) end
  local text = string.gsub(value.text, "^[^\n]-:%d+: ", "")
  refuse(string.format("%s%s: %s", path, value.line and ":" .. value.line or "", text))
end

--- Loads the automations of a file as a list. client: the argument of the file's function. Raises a usage error.
function M.load(path, client)
  local chunk, why = loadfile(path)
  if not chunk then refuse(tostring(why)) end
  local make = call(path, chunk)
  if type(make) ~= "function" then refuse(path .. " must return a function(client)") end
  local made = call(path, make, client)
  local automation = require("fleet").automation
  local list = automation.is(made) and { made } or made
  for _, one in ipairs(type(list) == "table" and list or {}) do
    if not automation.is(one) then list = nil break end
  end
  if type(list) ~= "table" or #list == 0 then
    refuse("the function of " .. path .. " must return an automation or a list of them")
  end
  return list
end

return M
