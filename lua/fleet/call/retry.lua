-- Attempts one after the other: a rejected token is refreshed, another host asked, a sleeping vehicle woken, a transient failure
-- repeated after a pause. core.next decides from facts; here it is done and waited for.

local attempt = require "fleet.call.attempt"
local core = require "fleet.core"
local failure = require "fleet.call.failure"
local observers = require "fleet.call.observers"
local region = require "fleet.region"
local tasks = require "fleet.async"
local tokens = require "fleet.oauth.tokens"

local M = {}

-- Does what a failed attempt asks for (core.next decides); true when the next attempt may start.
local function may_repeat(call, err, token)
  local facts = call.facts
  facts.left, facts.other_host = call.deadline - tasks.real(), call.other_host ~= nil
  facts.retry_after = err.retry_after
  local action, seconds = core.next(err.kind, err.outcome, facts)
  if action == "refresh" then
    facts.refreshes, call.rejected = facts.refreshes + 1, token
  elseif action == "region" then
    facts.regions = facts.regions + 1
    region.remember(call.context, call.other_host)
  elseif action == "repeat" then
    facts.repeats = facts.repeats + 1
  else
    return false
  end
  if seconds > 0 then tasks.sleep(seconds) end
  facts.left = call.deadline - tasks.real()
  return true
end

-- The token that took a rejected one's place was only read, and may be as old: the call's refresh is still to come.
local function keep_refresh(call)
  if call.read_again then return end
  call.read_again, call.facts.refreshes = true, call.facts.refreshes - 1
end

--- Wakes a sleeping vehicle once, where the caller asked for it (wake = true); true when it is awake. The call is repeated then, so
--- that a write must not be in doubt (doc/protocol.md#outcomes). An envelope is not sent again: its message would have expired.
function M.wake_first(call, err)
  if call.envelope or call.woken or not call.request:flag("wake") then return false end
  -- "offline or asleep" is read by the last known state, which may be out of date.
  if err.kind ~= "asleep" and not (err.kind == "offline" and call.facts.trait == "by_state") then return false end
  local left = call.deadline - tasks.real()
  if left <= 0 or (err.outcome == "unknown" and not call.facts.idempotent) then return false end
  call.woken = true
  local woken, why = call.context.wake(call.handle, { timeout = left })
  if woken or not why then return woken end
  err.message = call.row.name .. ": " .. string.gsub(why.message, "^wake: ", "the vehicle was asked to wake, and did not: ")
  err.state = why.state
  return false
end

local function token_for(call)
  if call.context.closed then return failure.new(call, "closed", failure.closed_text .. " before it was sent") end
  local token, err, kind = tokens.access(call.context, call.token_kind, call)
  if err == "stored" then keep_refresh(call) end
  if not token then
    if kind == "auth" then observers.sign_in_needed(call, err) end
    return failure.no_token(call, err, kind)
  end
  call.token = token -- for redact
  return token
end

--- Sends the call's request until it succeeds or nothing more may be tried. reply: that of the first attempt, with call.token, where
--- it has come already. Returns the value, or nil, err, kind.
function M.perform(call, reply)
  local number = 0
  while true do
    number = number + 1
    local token, value, err, kind
    if reply then
      token, value, err, kind = call.token, attempt.understand(call, reply, number)
      reply = nil
    else
      token, err, kind = token_for(call)
      if not token then return nil, err, kind end
      value, err, kind = attempt.perform(call, token, number)
    end
    if not err then
      if call.context.alarmed then observers.signed_in(call.context) end
      return value
    end
    call.outcome_unknown = call.outcome_unknown or err.outcome == "unknown"
    if not may_repeat(call, err, token) and not M.wake_first(call, err) then
      if kind == "auth" then observers.sign_in_needed(call, err) end
      return nil, err, kind
    end
  end
end

return M
