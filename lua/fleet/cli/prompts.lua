-- The answers that `fleet setup` needs: from an option, the environment or the configuration file, else from a question at the terminal.
-- Without a terminal, or with --yes, the default is the answer. A question without a default then raises a usage error that names the
-- option.

local usage_error = require "fleet.cli.usage_error"
local secrets = require "fleet.cli.secrets"
local argv = require "fleet.cli.argv"

local M = {}

local function shown(question)
  local fallback = question.fallback
  if type(fallback) == "table" then fallback = table.concat(fallback, ",") end
  local note = question.choices and table.concat(question.choices, " or ") or nil
  return question.label .. (note and " (" .. note .. ")" or "") .. (fallback and " [" .. fallback .. "]" or "")
end

-- Returns the answer, or nil and what is wrong with it.
local function read(question, text)
  text = string.match(text, "^%s*(.-)%s*$")
  if text == "" then return question.fallback, question.fallback == nil and not question.optional and "an answer is needed" or nil end
  if question.check then
    local problem = question.check(text)
    if problem then return nil, problem end
  end
  if not question.choices then return text end
  for _, choice in ipairs(question.choices) do
    if choice == text then return text end
  end
  return nil, "one of " .. table.concat(question.choices, ", ") .. " is needed"
end

local function missing(question)
  local variable = question.environment and " or " .. question.environment or ""
  usage_error.raise(string.format("'setup' needs %s%s: %s", argv.written(question.name), variable, question.label), { "setup" })
end

local function ask(environment, question)
  for _ = 1, 5 do
    local line = environment.line(shown(question))
    if line == nil then missing(question) end
    local answer, problem = read(question, line)
    if not problem then return answer end
    environment.stderr:write("fleet: ", problem, "\n")
  end
  missing(question)
end

--- Returns the answer to a question: { name =, label =, environment =, fallback =, choices =, check = function(text) → a problem or nil,
--- secret =, optional = }. known: a value that is known already, or nil. asking: whether a person may be asked.
function M.answer(environment, question, known, asking)
  if known ~= nil then
    local problem = question.check and type(known) == "string" and question.check(known)
    if problem then usage_error.raise(problem, { "setup" }) end
    return known
  end
  if question.secret then return secrets.find(environment, question, question.name) end
  if asking then return ask(environment, question) end
  if question.fallback == nil and not question.optional then missing(question) end
  return question.fallback
end

return M
