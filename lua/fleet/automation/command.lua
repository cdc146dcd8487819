-- Sending a command on behalf of an automation: noted before it leaves, so that a crash repeats nothing.

local decisions = require "fleet.automation.decision"
local look = require "fleet.automation.look"
local rows = require "fleet.call.rows"
local states = require "fleet.automation.state"

local M = {}

local refused_pause = 1800 -- a command that was refused is not tried again before

local function apply_effect(state, effect)
  for section, fields in pairs(effect or {}) do
    state.seen[section] = state.seen[section] or {}
    for name, value in pairs(fields) do state.seen[section][name] = value end
  end
end

--- Keeps the state in the store, where it differs from what was kept.
function M.save(self, state, durable)
  if self.dry then return end
  local text = states.encode(state)
  if text == self.saved and not durable then return end
  local done, err = states.store(self.context):put(self.key, text, { durable = true, lease = self.lease })
  if not done then states.raise(err) end
  self.saved = text
end

--- Tells the user's progress function.
function M.report(self, text, event)
  if self.progress then self.progress(text, event) end
end

local function done(self, state, action, result)
  local now = self:wall()
  state.did[decisions.subject(action)] = { want = action.want, at = now, sure = not self.dry }
  state.refused[action.call] = nil
  apply_effect(state, action.effect)
  local how = self.dry and "would send " or result.changed == false and "already so: " or "sent "
  M.report(self, how .. action.call .. ": " .. action.why, { call = action.call, params = action.params, at = now, dry = self.dry })
end

local function refused(self, state, action, err)
  local now = self:wall()
  if err.outcome == "unknown" then
    state.did[decisions.subject(action)] = { want = action.want, at = now, sure = false }
  else
    state.refused[action.call] = { reason = err.reason or err.message or err.kind, ends = now + refused_pause }
  end
  states.stale(state)
  M.report(self, action.call .. ": " .. tostring(err))
end

local function forward(self, state, action)
  if rows.by_name[action.call].handle == "vehicle" then
    local ready, err = look.ready_for_live_call(self, state)
    if not ready then return ready, err end
  end
  state.day.commands = state.day.commands + 1
  state.pending = { call = action.call, subject = decisions.subject(action), want = action.want, at = self:wall() }
  M.save(self, state, true)
  local result, err = look.call(self, action)
  state.pending = nil
  if result then return true, nil, result end
  return nil, err
end

-- What the world refuses a command for is about the command; everything else is trouble of the whole.
local about_the_command = { refused = true, invalid = true, unsupported = true, conflict = true, key_not_paired = true }

--- Sends a command, noted in the store before it leaves. Returns true, or nil or false, err.
function M.send(self, state, action)
  if self.dry then
    self.would[#self.would + 1] = action
    local class = rows.by_name[action.call].billing
    self.would_cost[class] = (self.would_cost[class] or 0) + 1
    done(self, state, action, {})
    return true
  end
  local sent, err, result = forward(self, state, action)
  if sent then
    done(self, state, action, result)
  elseif err and (about_the_command[err.kind] or err.outcome == "unknown") then
    refused(self, state, action, err)
    if err.outcome ~= "unknown" then return true end
  end
  return sent, err
end

return M
