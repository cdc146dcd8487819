-- Options of fleet.new from the variables FLEET_…, for fleet.from_config and the command line.

local core = require "fleet.core"

local M = {}

--- The options whose variables are set. getenv: function(name); read(option, text): converts the text, or returns nil, message. Returns a
--- table, or nil, message. Secrets are accepted: only the owner can see the variables of a process.
function M.read(getenv, read)
  local found = {}
  for _, option in ipairs(core.options()) do
    local text = option.environment and getenv(option.environment)
    if text and text ~= "" then
      local value, message = text, nil
      if not option.secret then value, message = read(option, text) end
      if value == nil then return nil, message end
      found[option.name] = value
    end
  end
  return found
end

--- Converts the text of a variable, for a program.
function M.value(option, text)
  if option.type ~= "number" and option.type ~= "integer" then return text end
  local value = tonumber(text)
  if not value then return nil, option.environment .. " must be a number, got '" .. text .. "'" end
  return value
end

return M
