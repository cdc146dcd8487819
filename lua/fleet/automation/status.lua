-- The status of an automation as data: for a page, a bridge or a log. Reads the stored state; makes no call and changes nothing.

local core = require "fleet.core"
local cost = require "fleet.automation.cost"
local decisions = require "fleet.automation.decision"
local states = require "fleet.automation.state"

local M = {}

local shown_of_id = 6 -- characters of a VIN, enough for a person to distinguish cars

local function subject_of(self)
  local _, _, id = core.context(self.handle)
  id = tostring(id)
  if self.config.car then return "vehicle ..." .. string.sub(id, -shown_of_id) end
  return "site " .. id
end

local function trouble_of(state)
  local trouble = state.trouble
  return trouble and { message = trouble.message, ends = trouble.ends } or nil
end

-- The plan from now on, if the definition has one.
local function plan_of(self, now, state)
  local plan_at = self.definition.plan
  if not plan_at then return nil end
  local ok, plan = pcall(plan_at, self.config, now, states.with_own_memory(state, self.definition.needs))
  return ok and plan or nil -- what cannot be decided has no plan, and its trouble says why
end

--- The state of an automation at a moment (UTC seconds), see Automation:status.
function M.of(self, now, state)
  local spent, why, why_at = cost.of(state.calls), state.why, state.why_at
  return {
    name = self.config.name, kind = self.kind, subject = subject_of(self), zone = self.config.local_zone, running = self.running == true,
    why = why, why_at = why_at, next_look = why and state.again_at or nil,
    next_text = why and state.again_at and decisions.time_text(self.config, state.again_at) or nil,
    why_text = why and decisions.time_text(self.config, why_at) or nil, cost = spent,
    commands_today = state.day.commands, daily_cap = self.config.daily_cap, trouble = trouble_of(state), plan = plan_of(self, now, state),
  }
end

return M
