-- Automations: what people install a client for. fleet.automation.<name>{ car = | site =, ... } -> an object.
--
-- An automation is data and small functions (lua/fleet/automation/builtin/<name>.lua): what it takes, and one pure decision from
-- what is known to what to do. What calls, waits, counts and remembers is here, once for all of them: decision, look, command,
-- runner. doc/manual/automations.md.

local core = require "fleet.core"
local cost = require "fleet.automation.cost"
local decisions = require "fleet.automation.decision"
local errors = require "fleet.util.errors"
local options = require "fleet.automation.options"
local runner = require "fleet.automation.runner"
local states = require "fleet.automation.state"
local unpack = require("fleet.util.compat").unpack

-- A list, and a function that returns a list of its own.
local names = setmetatable({}, { __call = function(list) return { unpack(list) } end })
for i, name in ipairs(require "fleet.automation.builtin") do names[i] = name end

local M = { names = names }

local Automation = {}
local automation_mt = { __index = Automation, __name = "fleet.automation" }

function automation_mt.__tostring(self)
  return string.format("fleet.automation %s (...%s)", self.config.name, string.sub(self.id, -4))
end

local function make(name, definition, given)
  local config = options.read(name, definition, given)
  local handle = given[string.match(definition.handles[1], "^%a+")] or config.car or config.site
  local context, _, id = core.context(handle)
  if definition.prepare then definition.prepare(config) end
  if config.zone and not config.local_zone then config.local_zone = options.zone(name, config) end
  return setmetatable({
    kind = name, definition = definition, config = config, context = context, handle = handle, id = id,
    me = { name = config.name, rank = config.precedence }, key = states.key(context, id, config.name),
  }, automation_mt)
end

function Automation:wall()
  local _, now = self.context.clock()
  return now
end

--- Makes one decision from the state known at a time (UTC seconds). Pure: changes nothing and makes no call.
--- Returns { actions = list of { call =, params = }, why = sentence, again_at = UTC seconds, claims =, state = }.
--- state: see lua/fleet/automation/state.lua; nil is the state of an automation that knows nothing yet.
function Automation:step(now, state)
  return decisions.step(self, now, state)
end

Automation.run, Automation.dry_run, Automation.stop = runner.run, runner.dry_run, runner.stop
Automation.close, automation_mt.__close = runner.stop, runner.stop

--- Why it did or did not act, as a sentence.
function Automation:explain()
  if not self.why then return self.config.name .. " has not decided anything yet" end
  return string.format("%s, %s: %s", self.config.name, decisions.time_text(self.config, self.why_at), self.why)
end

--- What it thinks, as data: { name, kind, subject, running, why, why_at, next_look, cost, commands_today, daily_cap, trouble =
--- { message, ends }, plan }; moments are UTC seconds. plan: see lua/fleet/automation/charging/night.lua. Or nil, err, kind where the
--- store fails.
function Automation:status()
  local state, err, kind = self.state, nil, nil
  if not state then state, err, kind = states.load(self.context, self.key, self.definition.needs) end
  if not state then return nil, err, kind end
  return require("fleet.automation.status").of(self, self:wall(), state)
end

--- What it has cost: { calls = billed calls by class, usd =, text = }, or nil, err, kind where the store fails.
function Automation:cost()
  local state, err, kind = self.state, nil, nil
  if not state then state, err, kind = states.load(self.context, self.key, self.definition.needs) end
  if not state then return nil, err, kind end
  return cost.of(state.calls)
end

-- ---- the constructors ----

local function definition_of(name)
  for _, known in ipairs(M.names) do
    if known == name then return require("fleet.automation.builtin." .. name) end
  end
end

--- Whether value is an automation.
function M.is(value)
  return getmetatable(value) == automation_mt
end

M.prices = cost.per_dollar

--- Makes the schedules of a car as wanted, see lua/fleet/automation/sync_schedules.lua.
function M.sync_schedules(car, list, given)
  return require "fleet.automation.sync_schedules"(car, list, given)
end

return setmetatable(M, {
  __index = function(_, name)
    local definition = definition_of(name)
    if not definition then errors.unknown_name("fleet.automation", "automation", name, M.names) end
    local function new(given)
      return make(name, definition, given)
    end
    M[name] = new
    return new
  end,
})
