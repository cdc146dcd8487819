-- fleet setup: from nothing to a first read, in steps that can be run again.

local usage_error = require "fleet.cli.usage_error"
local options = require "fleet.cli.options"
local setup = require "fleet.cli.setup"
local show = require "fleet.cli.show"
local simulator = require "fleet.cli.simulator"

local kinds = { { name = "third_party" }, { name = "open_source" } }

local takes = {
  { name = "app", type = "string", placeholder = "KIND", choices = kinds, environment = "FLEET_APP",
    doc = "third_party (with a client secret) or open_source" },
  { name = "regions", type = "strings", placeholder = "NAMES", environment = "FLEET_REGIONS", doc = "where to register: na, eu, cn" },
  { name = "key_url", type = "string", placeholder = "URL", environment = "FLEET_KEY_URL",
    doc = "where this machine reaches the hosted key, in place of its domain" },
  { name = "wait", type = "number", placeholder = "SECONDS", environment = "FLEET_WAIT", doc = "wait so long for each pairing" },
  { name = "paste", type = "boolean", doc = "the address will be pasted: do not listen on this machine" },
  { name = "yes", type = "boolean", doc = "ask nothing: every question that has a default takes it" },
}

-- The answers to the verb's own questions: from options, then from the environment.
local function own_answers(context, line)
  local texts = {}
  for _, option in ipairs(takes) do
    local variable = option.environment and context.environment.getenv(option.environment)
    texts[option.name] = line.options[option.name] or variable ~= "" and variable or nil
  end
  local given = options.given(context.environment, takes, texts)
  for _, kind in ipairs(kinds) do
    if given.app == nil or given.app == kind.name then return given end
  end
  usage_error.raise("'--app' must be third_party or open_source", { "setup" })
end

-- setup configures an account; the address and the key of a simulator do not last.
local function refuse_simulator(environment, texts)
  local variable = simulator.variable(environment)
  if variable then
    usage_error.raise("this shell points at a simulator (" .. variable .. " is set), whose addresses and key setup would keep. Leave it "
      .. "first: eval \"$(fleet sim stop --env)\"", { "setup" })
  end
  local path = texts.config or options.config_path(environment)
  local kept = simulator.kept_address(environment, texts, path)
  if not kept then return end
  usage_error.raise(string.format("the configuration %s holds a simulator's address (%s): remove it, and run 'fleet setup' again", path,
    kept), { "setup" })
end

local words_of = { done = "done: ", skipped = "nothing to do: ", todo = "to do: " }

local function session(context, line)
  local out = context.json and context.environment.stderr or context.out
  local function say(text)
    out:write("      ", show.clean(text), "\n")
    out:flush()
  end
  local given = own_answers(context, line)
  return {
    context = context, environment = context.environment, given = given, say = say,
    options = setup.known(context.environment, line.options),
    path = line.options.config or options.config_path(context.environment),
    asking = not given.yes and context.environment.terminal(0),
    begin = function(i, name, doc)
      out:write(string.format("[%d/%d] %s: %s\n", i, #setup.steps, name, doc))
      out:flush()
    end,
    finish = function(step)
      say(words_of[step.state] .. step.message)
      if step.fix then say("-> " .. step.fix) end
    end,
  }
end

local function run(context, line)
  refuse_simulator(context.environment, line.options)
  local s = session(context, line)
  if not s.path then usage_error.raise("'setup' needs --config: there is no home directory", { "setup" }) end
  local steps, err, kind = setup.run(s)
  if not steps then return nil, err, kind end
  local left = {}
  for _, step in ipairs(steps) do
    if step.state == "todo" then left[#left + 1] = step.name end
  end
  return { steps = steps, todo = left, config = s.path }
end

local function print_result(out, value)
  if not value.todo[1] then return out:write("ready: every step is done\n") end
  out:write("ready to read; still to do: ", table.concat(value.todo, ", "), ". Run 'fleet setup' again afterwards.\n")
end

return {
  {
    name = "setup", words = {}, takes = takes, run = run, show = print_result,
    doc = "Leads from nothing to a first read: application, key, configuration, hosting, registration, sign-in, region, vehicles, "
      .. "pairing. Run it again at any time: it skips finished steps.",
    details = "Every answer may also come from an option or the environment; with all of them it runs unattended.",
  },
}
