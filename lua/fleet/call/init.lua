-- One call from its arguments to its result. Reads, plain and signed commands, pages, downloads and the proxy's requests all take this
-- path. `run` at the end is the whole call, `attempts` sends until it succeeds, `attempt` sends one request.
--
-- The core decides: core.result interprets a reply, core.next chooses the next step after a failure. This file carries out the decisions
-- and waits where needed. Its parts:
--   send, host_http        transport of bytes                     failure    builds the err of a call
--   vehicle_status_cache   the last fleet_status of a vehicle     observers  log, metrics, listeners, audit
--   lifetime               keeps the client's store open         fleet.budget.gate  budgets and rate limits

local billed_calls = require "fleet.budget.billed"
local core = require "fleet.core"
local failure = require "fleet.call.failure"
local lifetime = require "fleet.call.lifetime"
local observers = require "fleet.call.observers"
local on_demand = require "fleet.util.on_demand"
local region = require "fleet.region"
local reply_details = require "fleet.util.reply_details"
local send = require "fleet.call.send"
local status_cache = require "fleet.call.vehicle_status_cache"
local tasks = require "fleet.async"
local tokens = require "fleet.oauth.tokens"
local pcall = require("fleet.util.compat").pcall -- the called functions may yield

local M = {}

-- ---- the state of a call ----

--- A call of a row on a handle. request: of core.plan. The timeout counts from here. Fields that only some calls need are set later:
--- refreshes, regions and repeats (how often each was done), rejected (the token that was answered with 401), expires, pause.
function M.new(row, request, handle)
  local timeout, idempotent, wanted_token, context, id = request:settings(handle)
  return {
    row = row, request = request, handle = handle, context = context, id = id, write = row.write, idempotent = idempotent,
    deadline = tasks.real() + (timeout or context.config.timeout), -- in real seconds
    wanted_token = wanted_token, token_kind = nil, token = nil, -- of the last attempt
    answered = nil, -- when the last reply came
    proxied = false, -- sent to the signing proxy
    outcome_unknown = false, -- an earlier attempt may have been carried out
  }
end

--- The call that carries a signed message of another call. It has that call's deadline and token, and its own outcome. A write is sent
--- once: fleet.signing.command decides about a second message.
function M.envelope(call, row, request, write)
  return {
    row = row, request = request, handle = call.handle, context = call.context, id = call.id, write = write, idempotent = not write,
    deadline = call.deadline, token_kind = call.token_kind, token = nil, answered = nil, proxied = false, outcome_unknown = false,
    envelope = true, outer = call,
  }
end

-- ---- before sending ----

local updated = ", as the last fleet_status says. After an update call fleet_status again; force = true sends it"

-- Returns nil, err, kind when this client cannot make the call or the vehicle cannot take it; nothing otherwise.
local function refusal(call)
  local context, row = call.context, call.row
  local config, flags = context.config, row.flags
  if not tasks.usable(context.generation) then return failure.new(call, "closed", "created before fork: make a new client") end
  if context.closed then return failure.new(call, "closed", failure.closed_text .. ": make a new one") end
  if flags.third_party and config.client_id and not config.client_secret and not config.token then
    return failure.new(call, "unsupported", "an open-source app has no partner token and cannot make this call")
  end
  if flags.needs_protocol and not call.signed then
    return failure.new(call, "unsupported", "this command exists only in signed form: set a key")
  end
  if context.serves_others or call.request:flag("force") then return end -- a proxy leaves the decision to its callers
  if flags.command and row.since then
    local need, is_older = status_cache.firmware_need(context, row, call.id)
    if is_older then return failure.new(call, "unsupported", need .. updated) end
  end
  if flags.deprecated and config.commands ~= "proxy" then
    local objection = status_cache.objection(context, row, call.id)
    if objection then return failure.new(call, "unsupported", objection) end
  end
end

-- Chooses the kind of token: the caller's `auth`, else the first kind of the row that the account has. Returns nil, err, kind when there is
-- none.
local function choose_token_kind(call)
  local context, row, wanted = call.context, call.row, call.wanted_token
  for _, kind in ipairs(row.tokens) do
    if wanted and kind == wanted or not wanted and tokens.holds(context, kind) then return kind end
  end
  if wanted then return failure.new(call, "unsupported", "it cannot be made with the " .. wanted .. " token") end
  if row.tokens[1] == "user" and not row.tokens[2] and tokens.holds(context, "business") then
    return failure.new(call, "unsupported", "a business token has no user and cannot make this call: a person must sign in")
  end
  return row.tokens[1]
end

local ask_limits = on_demand.call("fleet.budget.gate", "ask")
local limits_answer = on_demand.call("fleet.budget.gate", "cleared")
local take_back = on_demand.call("fleet.budget.gate", "unused")
local admit_attempt = on_demand.call("fleet.budget.gate", "admit")
local note_429 = on_demand.call("fleet.budget.gate", "note_429")

--- Waits until the rate limit allows the call, after `admitted` has set call.pause.
M.wait_for_limit = on_demand.call("fleet.budget.gate", "wait")

--- Asks budgets and rate limits. Returns true, and sets call.pause when the call must wait first; or nil, err, kind.
function M.admitted(call)
  if not call.asked then return true end
  local clear, kind, message, facts = limits_answer(call)
  if not clear then return failure.new(call, kind, message, facts) end
  return true
end

-- Runs act(call) once budgets and rate limits allow it. A signed command asks them itself, after it has acquired the vehicle's session: a
-- signed message must not age, and one round trip to the store serves both.
local function within_limits(call, act)
  if not call.context.has_limits then return act(call) end
  ask_limits(call)
  if not call.domain then
    local admitted, err, kind = M.admitted(call)
    if not admitted then return nil, err, kind end
    if call.pause then M.wait_for_limit(call) end
  end
  return act(call)
end

-- Gives back the counts of a call that sent nothing. ran = false: the task was cancelled and must not wait.
local function take_back_unsent(call, ran)
  if ran then return take_back(call) end
  call.context.spawn(function() take_back(call) end)
end

-- ---- one attempt ----

local closed_interface = "; base_url names the closed owner interface: use region, or a base address of the Fleet API"

-- Adds the facts of the reply and of the call to an err.
local function explain(call, reply, err, kind)
  local context = call.context
  if call.id and (kind == "asleep" or kind == "offline") then context.states[call.id] = kind end
  reply_details.add(err, reply)
  failure.annotate(call, err)
  if err.status and region.is_closed(context) and not string.find(err.message, "closed owner interface", 1, true) then
    err.message = err.message .. closed_interface
  end
  call.other_host = err.kind == "region" and region.named(context, reply) or nil
  if err.kind == "unregistered" then err.message = err.message .. " (" .. region.describe(context) .. ")" end
  err.raw = core.redact(reply:body(), failure.secrets(call))
  if kind == "protocol" and call.row.begins and err.raw ~= "" then -- after redaction: part of a secret would not be recognised
    err.message = err.message .. ": '" .. string.gsub(string.sub(err.raw, 1, 32), "[^!-~]", " ") .. "'"
  end
end

-- Whether a record is that of another vehicle than the call's.
local function is_of_another(call, value)
  if call.row.handle ~= "vehicle" or type(value) ~= "table" or type(value.vin) ~= "string" then return false end
  return value.vin ~= call.id and core.is_vin(value.vin) and core.is_vin(call.id)
end

-- The token of the next attempt: the stored one, or a refreshed one after the stored one was rejected.
local function access_token(call)
  if call.context.closed then return failure.new(call, "closed", failure.closed_text .. " before it was sent") end
  local token, err, kind = tokens.access(call.context, call.token_kind, call)
  if err == "stored" and not call.reread then -- another process has refreshed the token; our own refresh is still available
    call.reread, call.refreshes = true, call.refreshes - 1
  end
  if not token then
    if kind == "auth" then observers.sign_in_needed(call, err) end
    return failure.no_token(call, err, kind)
  end
  call.token = token -- for redaction
  return token
end

-- Sends the request once. Returns the value, or nil, err, kind.
local function attempt(call, token, number)
  local context, row = call.context, call.row

  -- Is there enough time?
  if context.closed then return failure.new(call, "closed", failure.closed_text .. " before it was sent") end
  local real, now = tasks.times()
  local left = call.deadline - real
  if left <= 0 then return failure.new(call, "timeout", "no time was left to send it") end
  if call.expires and now >= call.expires then
    call.expired = true
    return failure.new(call, "timeout", "the signed message waited longer than its lifetime and was not sent")
  end

  -- Each attempt counts against the budgets.
  local entry
  if row.billing ~= "free" and context.config.budgets then
    local kind, message, facts
    entry, kind, message, facts = admit_attempt(call)
    if not entry then return failure.new(call, kind, message, facts) end
  end

  local reply, err, kind = send.request(call, call.proxied and context.proxy_url or context.base_url, token, left)
  local wall
  call.answered, wall = tasks.loop.clock()
  if not reply then
    if entry then billed_calls.charge(call, entry, nil, err, nil, wall) end
    return nil, failure.annotate(call, err), kind
  end

  -- Interpret the reply.
  local value, transient, trait
  local known_state = call.id and context.states[call.id]
  value, err, kind, transient, trait = core.result(call.request, reply, wall, known_state, call.proxied)
  local billed = row.billing ~= "free" and billed_calls.charge(call, entry, reply, err, value, wall)
  if not err and call.id and is_of_another(call, value) then
    value, err, kind = failure.new(call, "protocol", "the reply is about another vehicle than the one that was asked for")
    err.outcome = call.write and "unknown" or nil
  end
  if err then
    call.transient, call.trait = transient, trait
    if kind == "rate_limited" and context.pacer then note_429(call, reply, err) end
    explain(call, reply, err, kind)
  end
  if observers.are_there(context) then observers.report(call, reply, err, number, billed) end
  if call.on_reply then call.on_reply(reply) end
  reply:close()
  return value, err, kind
end

-- ---- after a failed attempt ----

--- Wakes a sleeping vehicle once, if the caller asked for it (wake = true); returns true when it is awake. The call is then repeated, so
--- the outcome of a write must be certain (doc/protocol.md#outcomes). An envelope is not sent again: its message would have expired.
function M.wake_first(call, err)
  if call.envelope or call.woken or not call.request:flag("wake") then return false end
  -- "offline or asleep" is interpreted by the last known state, which may be outdated.
  if err.kind ~= "asleep" and not (err.kind == "offline" and call.trait == "by_state") then return false end
  local left = call.deadline - tasks.real()
  if left <= 0 or (err.outcome == "unknown" and not call.idempotent) then return false end
  call.woken = true
  local woken, why = call.context.wake(call.handle, { timeout = left })
  if woken or not why then return woken end
  err.message = call.row.name .. ": " .. string.gsub(why.message, "^wake: ", "the vehicle was asked to wake, and did not: ")
  err.state = why.state
  return false
end

-- Prepares the next attempt as core.next decides: refreshes the token, changes the host, or waits (for the reply's Retry-After, at most 5
-- seconds). Returns false when no further attempt may follow, as after a 429 (see note_429).
local function prepare_next(call, err, token)
  call.left, call.retry_after, call.own_token = call.deadline - tasks.real(), err.retry_after, not call.context.config.token
  local action, seconds = core.next(err.kind, err.outcome, call)
  if action == "refresh" then
    call.refreshes, call.rejected = (call.refreshes or 0) + 1, token
  elseif action == "region" then
    call.regions = (call.regions or 0) + 1
    region.remember(call.context, call.other_host)
  elseif action == "repeat" then
    call.repeats = (call.repeats or 0) + 1
  else
    return M.wake_first(call, err)
  end
  if seconds > 0 then tasks.sleep(seconds) end
  return true
end

--- Sends the request until it succeeds or no further attempt is allowed. Returns the value, or nil, err, kind.
function M.attempts(call)
  local number = 0
  while true do
    number = number + 1
    local token, err, kind = access_token(call)
    if not token then return nil, err, kind end
    local value
    value, err, kind = attempt(call, token, number)
    if not err then
      if call.context.alarmed then observers.signed_in(call.context) end
      return value
    end
    call.outcome_unknown = call.outcome_unknown or err.outcome == "unknown"
    if not prepare_next(call, err, token) then
      if kind == "auth" then observers.sign_in_needed(call, err) end
      return nil, err, kind
    end
  end
end

-- ---- the whole call ----

--- Runs a call from its checks to its result. act(call) sends its requests; by default M.attempts. Returns the value, or nil, err, kind.
function M.run(call, act)
  -- 1. Check the call, and choose the kind of token.
  tasks.refuse_finaliser()
  local context = call.context
  local value, err, kind = refusal(call)
  if err then return value, err, kind end
  call.token_kind, err, kind = choose_token_kind(call)
  if not call.token_kind then return nil, err, kind end

  -- 2. Register the call: drain and close wait for its end. Its deadline also limits how long it waits for a locked store.
  tasks.enter()
  lifetime.hold(context)
  local task = tasks.current()
  local outer_deadline = task and task.call_deadline
  if task then task.call_deadline = call.deadline end

  -- 3. Check limits, then make the attempts.
  local ran
  ran, value, err, kind = pcall(within_limits, call, act or M.attempts)
  if task then task.call_deadline = outer_deadline end

  -- 4. Find the outcome. A later attempt does not undo an earlier one: after an unknown outcome, "already set" may be the result of our own
  -- earlier attempt.
  if not ran then err = failure.interrupted(call, value) end
  if call.outcome_unknown then
    if err and type(err) == "table" then err.outcome = "unknown" end
    if not err and type(value) == "table" and value.changed == false then value.perhaps_changed = true end
  end

  -- 5. Clean up: return unused budget, unregister the call, flush the store, finish the closing of a client.
  local undone, undo_failure = true, nil
  if call.asked or call.admitted then undone, undo_failure = pcall(take_back_unsent, call, ran) end
  tasks.leave(err)
  local kept, keep_failure = pcall(lifetime.after_call, context)
  lifetime.release(context)
  if not ran then error(err, 0) end
  if not undone or not kept then error(undo_failure or keep_failure, 0) end
  return value, err, kind
end

--- Passes the result of a call on, and reports it to the audit.
function M.ended(call, value, err, kind)
  if call.write and call.context.config.audit then observers.audit(call, value, err) end
  return value, err, kind
end

--- Performs a planned request of a row for a handle. Returns the value, or nil, err, kind.
function M.perform(row, handle, request)
  local call = M.new(row, request, handle)
  return M.ended(call, M.run(call))
end

--- The method of a row: function(handle, ...).
function M.method(row)
  return function(handle, ...)
    return M.perform(row, handle, core.plan(row.pointer, handle, ...))
  end
end

return M
