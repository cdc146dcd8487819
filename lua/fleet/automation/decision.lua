-- One decision of an automation: what is known at a moment in, what to do out. Pure.
--
-- What the automation wants is its own (builtin/); what of it may be sent now is decided here, the same for all of them: who gives
-- way to whom, what was refused a moment ago, the cap of a day.

local arbitration = require "fleet.automation.arbitration"
local local_time = require "fleet.automation.local_time"
local rows = require "fleet.call.rows"
local states = require "fleet.automation.state"
local tables = require "fleet.util.tables"

local M = {}

--- What of a car an action decides.
function M.subject(action)
  return action.subject or arbitration.subject(action.call)
end

--- A moment as the user of this automation reads it.
function M.time_text(config, at)
  if config.local_zone then return local_time.text(config.local_zone, at) end
  return os.date("!%H:%M UTC", math.floor(at))
end

--- Whether an action changes something; waking is part of looking.
function M.is_command(action)
  return rows.by_name[action.call].write and action.call ~= "wake_up"
end

-- Why a command may not be sent now, or nil. before: commands of the same decision.
local function objection(self, now, state, action, before)
  local subject = M.subject(action)
  local above = arbitration.above(state.claims or {}, subject, self.me, now)
  if above then
    return string.format("gives way to %s (precedence %g), which holds %s until %s", above.by, above.rank, subject,
      M.time_text(self.config, above.ends))
  end
  local refused = state.refused[action.call]
  if refused and refused.ends > now then
    return string.format("%s was refused (%s); tries again at %s", action.call, refused.reason, M.time_text(self.config, refused.ends))
  end
  if not action.final and state.day.commands + before >= self.config.daily_cap then
    return string.format("the cap of %d commands a day is reached", self.config.daily_cap)
  end
end

-- Splits what was decided into what may be done, and says what may not.
local function permitted(self, now, state, decision)
  local actions, commands = {}, 0
  for _, action in ipairs(decision.actions or {}) do
    local is_command = M.is_command(action)
    local why = is_command and objection(self, now, state, action, commands)
    if is_command then commands = commands + 1 end
    if why then
      decision.why = (decision.why or action.why) .. ", but " .. why
      decision.lost = true
      break -- what follows was meant to come after it
    end
    actions[#actions + 1] = action
  end
  decision.actions = actions
end

local function decide(self, now, state)
  local decision = self.definition.decide(self.config, now, state)
  decision.actions = decision.actions or {}
  permitted(self, now, state, decision)
  return decision
end

--- A decision that keeps what it remembers in this state. Returns { actions = list of { call =, params = }, why = sentence,
--- again_at = UTC seconds, claims =, notices = what a person should know (notices.lua), state = }. It never raises: what it could
--- not decide is `problem`, and it remembers what it did before.
function M.take(self, now, state)
  local memory = tables.deep_copy(state.memory)
  local ok, decision = pcall(decide, self, now, state)
  if not ok then
    state.memory = memory
    decision = { problem = tostring(decision), why = "could not decide: " .. tostring(decision), actions = {} }
  end
  decision.state = state
  decision.again_at = math.max(decision.again_at or now + self.config.look_every, now + 1)
  return decision
end

--- The same with a state of its own: the given one stays as it was.
function M.step(self, now, state)
  return M.take(self, now, states.with_own_memory(state, self.definition.needs))
end

return M
