-- How the command says that something went wrong, and with which status it ends.

local core = require "fleet.core"
local usage_error = require "fleet.cli.usage_error"
local clean = require("fleet.cli.show").clean

local M = {}

--- Statuses beside those of the error kinds.
M.statuses = {
  { status = 0, name = "done", doc = "Done; also when the wanted state held already (changed = false)." },
  { status = 1, name = "internal", doc = "A fault of this program." },
  { status = 2, name = "usage", doc = "A mistake in the command line; nothing was sent." },
  { status = 130, name = "interrupted", doc = "Stopped from the keyboard; a command under way may have been done." },
}

local exits = {}
for _, kind in ipairs(core.kinds()) do exits[kind.name] = kind.exit end

local outcomes = {
  not_sent = "It was not sent.",
  refused = "It was not done.",
  unknown = "It may have been done: look before you repeat it.",
}

local hints = {
  auth = "Sign in with 'fleet login'.",
  asleep = "With --wake it is woken first, which is priced.",
}

-- What happened as { kind, message, … } and a status.
local function describe(raised)
  if usage_error.is(raised) then return { kind = "usage", message = raised.message, help = raised.help }, 2 end
  if type(raised) == "table" and raised.kind then return raised, exits[raised.kind] or 1 end
  local text = tostring(raised)
  if string.find(text, "interrupted!", 1, true) then return { kind = "interrupted", message = "interrupted" }, 130 end
  return { kind = "internal", message = text }, 1
end

local function write_json(out, err)
  local facts = {}
  for name, value in pairs(err) do
    if name ~= "help" and pcall(core.json_encode, value) then facts[name] = value end
  end
  out:write(core.json_encode(facts, "problems warnings normalisations"), "\n")
end

local function seconds(value)
  return string.format("Try again in %.0f s.", math.ceil(value))
end

local function write_text(out, err, took_wake)
  out:write("fleet: ", clean(tostring(err.message)), "\n")
  local lines = {}
  local function add(line) lines[#lines + 1] = line end
  if err.reason and not string.find(err.message, err.reason, 1, true) then add("Reason: " .. clean(err.reason)) end
  add(outcomes[err.outcome])
  if err.retry_after then add(seconds(err.retry_after)) end
  if err.kind ~= "asleep" or took_wake then add(hints[err.kind]) end
  if err.help then add(string.gsub("See 'fleet help " .. table.concat(err.help, " "), "%s*$", "'.")) end
  if #lines > 0 then out:write(table.concat(lines, "\n"), "\n") end
end

--- Reports a failure: an err of a call, or whatever was raised. Returns the status to end with.
--- options: json, takes_wake (the verb knows --wake).
function M.report(environment, raised, options)
  local err, status = describe(raised)
  if options.json then write_json(environment.stdout, err) else write_text(environment.stderr, err, options.takes_wake) end
  return status
end

return M
