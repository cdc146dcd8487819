-- Secrets on the command line. They are never plain arguments: other users can list those, and shells keep them in their history.

local core = require "fleet.core"
local usage_error = require "fleet.cli.usage_error"
local input = require "fleet.cli.input"

local M = {}

local of_options = {}
for _, option in ipairs(core.options()) do
  if option.environment then of_options[option.environment] = true end
end

--- The environment variable of a secret: the option's own, FLEET_PIN for every PIN, else made from the parameter's name. nil when that
--- variable has another meaning.
function M.variable(param)
  if param.environment then return param.environment end
  if param.pin then return "FLEET_PIN" end
  local name = "FLEET_" .. string.upper(param.name)
  return not of_options[name] and name or nil
end

local function ways(param, label)
  local variable = M.variable(param)
  return string.format("give '%s' as @FILE or - (standard input)%s, or leave its value empty to be asked", label,
    variable and ", in the environment as " .. variable or "")
end

--- A secret that was left empty or out: from the environment, else asked for at the terminal. Raises when neither gives one.
function M.find(environment, param, label)
  local variable = M.variable(param)
  local value = variable and environment.getenv(variable)
  if value and value ~= "" then return value end
  value = environment.ask(label)
  if not value or value == "" then usage_error.raise(string.format("'%s' is missing and is a secret: %s", label, ways(param, label))) end
  return value
end

--- Reads a secret from where text says. A secret in plain text is rejected, and the message does not repeat it.
function M.read(environment, param, text, label)
  if text == "" then return M.find(environment, param, label) end
  local value = input.read(environment, label, text)
  if not value then usage_error.raise(string.format("'%s' is a secret and is not taken as plain text: %s", label, ways(param, label))) end
  return value
end

return M
