-- How the command reports a failure, and the exit status.

local core = require "fleet.core"
local usage_error = require "fleet.cli.usage_error"
local scopes = require "fleet.cli.scopes"
local simulator = require "fleet.cli.simulator"
local clean = require("fleet.cli.show").clean

local M = {}

--- The statuses besides those of the error kinds.
M.statuses = {
  { status = 0, name = "done", doc = "Done, also if nothing had to change (changed = false)." },
  { status = 1, name = "internal", doc = "A fault of this program." },
  { status = 2, name = "usage", doc = "A mistake in the command line; nothing was sent." },
  { status = 130, name = "interrupted", doc = "Stopped from the keyboard; a command in flight may have been done." },
}

local exits = {}
for _, kind in ipairs(core.kinds()) do exits[kind.name] = kind.exit end

local outcomes = { not_sent = "It was not sent.", refused = "It was not done." }

local function outcome_of(err, context)
  if err.outcome ~= "unknown" then return outcomes[err.outcome] end
  return require("fleet.cli.reading_back").sentence(context.row, err.vin or err.site)
end

-- What the core writes for programs; it is left out here, where the next line names the command.
local for_programs = {
  ": sign in with authorize_url and authorize, or 'fleet login'", ": set client_id, and sign in",
  ": pass it to business_login{ auth_code =, scopes = }, or to 'fleet business_login'",
}

local function message_of(err)
  local text = tostring(err.message)
  for _, part in ipairs(for_programs) do
    local from, to = string.find(text, part, 1, true)
    if from then text = string.sub(text, 1, from - 1) .. string.sub(text, to + 1) end
  end
  return clean(text)
end

local no_application = "No application is configured: run 'fleet setup'. To try it without an account: eval \"$(fleet sim --env)\""

local of_application = { vehicle_specs = true, vehicle_pricing_info = true }

-- What to type next, by kind. Arguments: err and what is known of the command line.
local hints = {
  auth = function(err, context)
    local given = context.given or {}
    if given.token then
      return "You gave the token (--token, FLEET_TOKEN): give a new one, or omit it and run 'fleet login'."
    end
    if not given.client_id then return no_application end
    if string.find(tostring(err.message), "business token", 1, true) then return "Sign in with 'fleet business_login'." end
    return "Sign in with 'fleet login'."
  end,
  unsupported = function(err, context)
    local given = context.given or {}
    return not given.client_id and string.find(tostring(err.message), "client_secret", 1, true) and no_application or nil
  end,
  asleep = function(_, context)
    if not context.takes_wake then return nil end
    local prices = require "fleet.budget.prices"
    return "With --wake it is woken first: " .. prices.text(prices.of((context.given or {}).prices).wake) .. "."
  end,
  scope = function(err, context)
    local given = context.given or {}
    if of_application[err.scope] then return "This scope is the application's own: add it on Tesla's developer site." end
    if given.token then return "You gave the token: give one with this scope." end
    return "Ask for it: " .. scopes.ask_again(given, err.scope)
  end,
  key_not_paired = function(err)
    return "The owner adds the key at the address that this prints: fleet pair " .. (err.vin or "VIN")
  end,
  unregistered = function() return "Register the application: fleet setup" end,
}

--- The status of an error of this kind.
function M.exit(kind)
  return exits[kind]
end

-- Returns { kind, message, … } and a status. A usage error points to the help of its verb, or to the first page of help when the verb is
-- unknown.
local function describe(raised, verb)
  if usage_error.is(raised) then return { kind = "usage", message = raised.message, help = raised.help or { verb } }, 2 end
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

local function write_text(environment, err, context)
  local out = environment.stderr
  out:write("fleet: ", message_of(err), "\n")
  local lines = {}
  local function add(line) lines[#lines + 1] = line end
  if err.reason and not string.find(err.message, err.reason, 1, true) then add("Reason: " .. clean(err.reason)) end
  add(outcome_of(err, context))
  if err.retry_after then add(seconds(err.retry_after)) end
  local cannot_listen = string.find(err.message or "", "^cannot listen on ") ~= nil
  local unreached = context.unmade or err.kind == "network" and not cannot_listen
  if unreached and environment.getenv and simulator.variable(environment) then
    add("This shell points at a simulator. If that has ended, this leaves it: eval \"$(fleet sim stop --env)\"")
  elseif cannot_listen and string.find(err.message, "in use", 1, true) then
    add("Another program listens there: stop it, or choose another port.")
  elseif context.unmade then
    add("The client cannot be made with these options: 'fleet doctor' looks at each.")
  else
    add(hints[err.kind] and hints[err.kind](err, context))
  end
  if type(err.help) == "table" then
    local words = string.gsub(table.concat(err.help, " "), "%.", " ")
    add(string.gsub("See 'fleet help " .. words, "%s*$", "'."))
  elseif err.help and not context.explains_itself then
    add("More: " .. err.help)
  end
  if #lines > 0 then out:write(table.concat(lines, "\n"), "\n") end
end

--- Reports a failure: the err of a call, or a raised value. Returns the exit status. context: json, name (of the verb, as typed), row (of
--- the verb, if it has one), takes_wake (the verb has --wake), explains_itself (its error kinds differ from those of a call),
--- and given (the options of the client, once it is made).
function M.report(environment, raised, context)
  local err, status = describe(raised, context.name)
  if context.json then write_json(environment.stdout, err) else write_text(environment, err, context) end
  return status
end

return M
