-- Signed commands: handshake, sign, send, read the answer, and recover at most once (doc/protocol.md#outcomes).
--
-- A message is sent once. It is signed again only in three cases: the vehicle proved, by authenticated session info for this message, that
-- it has not taken a copy (the same counter is then used once more in the same epoch); the message certainly never left; or the command
-- sets a named state and its outcome is unknown.

local calls = require "fleet.call"
local core = require "fleet.core"
local failure = require "fleet.call.failure"
local rows = require "fleet.call.rows"
local session_pool = require "fleet.signing.session_pool"
local tasks = require "fleet.async"
local pcall = require("fleet.util.compat").pcall -- the called functions may yield

local M = {}

local lifetime = 15 -- seconds in which a vehicle accepts a message

local envelope_row = rows.by_name.signed_command

-- ---- the handshake ----

-- The planned command, or the bytes of a message that is not a command: call.wanted then names the member of the answer to read.
local function content(call)
  return call.payload or call.request
end

local function one_handshake(call, slot)
  local request, err, kind = slot.session:handshake_request(content(call), envelope_row.pointer, tasks.now())
  if not request then return nil, err, kind end
  local sub = calls.envelope(call, envelope_row, request, false)
  local reply
  reply, err, kind = calls.attempts(sub)
  call.trait = sub.trait
  if err then return nil, err, kind end
  return slot.session:accept(reply, (tasks.now()))
end

-- A reply with a wrong tag may belong to another request; a second handshake decides.
local function handshake_with(call, slot, which)
  local ok, err, kind
  for try = 1, 2 do
    if try == 2 or slot.which ~= which then
      ok, err, kind = session_pool.renew(call.context, slot, which)
      if not ok then return nil, err, kind end
    end
    ok, err, kind = one_handshake(call, slot)
    if ok or kind ~= "protocol" then break end
  end
  return ok, err, kind
end

-- A session keeps its key while that key is on the vehicle. Otherwise all keys of the account are tried, the new one first (key rotation).
local function handshake(call, slot, due)
  local keys, ok, err, kind = #call.context.keys, nil, nil, "key_not_paired"
  if due == "confirm" then
    ok, err, kind = handshake_with(call, slot, slot.which)
    if keys == 1 then return ok, err, kind end
  end
  for which = 1, keys do
    if kind ~= "key_not_paired" then break end
    ok, err, kind = handshake_with(call, slot, which)
  end
  return ok, err, kind
end

local function fresh_session(call, slot)
  local due = slot.session:due(call.idempotent, tasks.now())
  if due then return handshake(call, slot, due) end
  return true
end

-- ---- one exchange ----

local function not_sent(err, kind)
  err.outcome = "not_sent"
  return nil, err, kind
end

local all_used = "the vehicle says that all counters of this key are used: restart the vehicle's computer, or pair another key"

-- Makes sure that the session can sign and its next counter is reserved in the store, after a handshake if one is due. Returns true; or
-- nil, err, kind.
local function ready_to_sign(call, slot)
  local context, repeatable = call.context, call.idempotent
  local ok, err, kind = session_pool.prepare(context, slot, repeatable, context.clock())
  if ok == false then
    ok, err, kind = handshake(call, slot, err)
    if ok then ok, err, kind = session_pool.prepare(context, slot, repeatable, context.clock()) end
    if ok == false then return failure.new(call, "protocol", all_used) end
  end
  return ok, err, kind
end

-- Draws a counter (session:sign_request does it) and signs the command. place: the id of an earlier message whose counter is reused;
-- returns nothing if the epoch of that message has ended. Returns the call that carries the message, and the message's id; or nil, err,
-- kind.
local function sign(call, session, place)
  local now = tasks.now()
  local request, id, kind = session:sign_request(content(call), envelope_row.pointer, now, place)
  if not request then return nil, id, kind end
  local sub = calls.envelope(call, envelope_row, request, call.write)
  sub.expires = now + lifetime - 1 -- the vehicle counts whole seconds
  return sub, id
end

-- Sends a signed message and reads its answer, which may contain session info.
local function deliver(call, slot, session, sub, id)
  call.envelope_call = sub
  local bytes, err, kind = calls.attempts(sub)
  call.trait, call.expired = sub.trait, sub.expired
  if sub.expired then return not_sent(err, kind) end
  if err then return nil, err, kind end
  local value
  value, err, kind = session:read(bytes, id, sub.answered, call.wanted or call.request)
  if not err then return value end
  if err.resynced then session_pool.moved(slot) end
  call.session_invalid = err.stale or err.kind == "key_not_paired"
  if call.session_invalid then session_pool.invalidate(slot, session) end
  return value, err, kind
end

-- One command in the vehicle's slot: its result, or nil, err, kind. Returns nil alone when the rate limit makes it wait first (call.pause).
local function exchange(call, slot, hold)
  -- 1. May it be sent?
  local admitted, err, kind = calls.admitted(call)
  if not admitted then return not_sent(err, kind) end
  if call.pause then return nil end

  -- 2. Can the session sign?
  local ok
  ok, err, kind = ready_to_sign(call, slot)
  if not ok then return not_sent(err, kind) end

  -- 3. Sign. Outside the security domain, other commands may sign from now on.
  local session = slot.session
  local sub, id, why = sign(call, session)
  if not sub then return not_sent(id, why) end
  session_pool.signed(slot, hold)

  -- 4. Send it, and read the answer.
  local value
  value, err, kind = deliver(call, slot, session, sub, id)
  if not err or not err.resynced or err.outcome ~= "refused" or call.signed_again then return value, err, kind end

  -- 5. The vehicle has not taken a copy so far, but a relay may still deliver the first message. With the same counter, the vehicle takes
  -- at most one of the two; in the security domain only if no higher counter came in between (doc/protocol.md#recovery).
  sub, id = sign(call, session, id)
  if not sub then return value, err, kind end
  call.signed_again = true
  return deliver(call, slot, session, sub, id)
end

-- Runs act(call, slot, hold) while it owns the slot of the vehicle's domain, and always leaves the slot: between entering and the protected
-- call there is no code that may raise.
local function in_slot(call, act)
  call.envelope_call, call.session_invalid, call.expired, call.trait = nil, nil, nil, nil
  local real, now = tasks.times()
  local deadline = now + math.max(call.deadline - real, 0)
  local slot, hold, kind = session_pool.enter(call.context, call.id, call.domain, deadline, now)
  if not slot then return not_sent(hold, kind) end
  local ran, value, err, why = pcall(act, call, slot, hold)
  session_pool.leave(call.context, slot, hold)
  if ran then return value, err, why end
  call.outcome_unknown = call.outcome_unknown or call.envelope_call ~= nil and call.envelope_call.outcome_unknown
  error(value, 0)
end

-- While this command waits for the rate limit, other commands may use the session.
local function exchange_within_limits(call)
  local value, err, kind = in_slot(call, exchange)
  if not call.pause then return value, err, kind end
  calls.wait_for_limit(call)
  return in_slot(call, exchange)
end

-- ---- recovery ----

-- The vehicle rejected the session, as after a repair. A new handshake finds the cause at once instead of after days of failures
-- (doc/protocol.md#session-handshake), and the next command can use its session.
local function add_cause(call, err)
  local trait = call.trait
  local ok, why, kind = in_slot(call, fresh_session)
  call.trait = trait
  if ok then return end
  err.message = err.message .. "; a fresh handshake failed: " .. why.message
  if kind == "key_not_paired" then err.kind = kind end
end

-- Whether the command may be sent in another message after this failure: core.recovery decides; returns true after its pause.
local function again(call, err)
  if calls.wake_first(call, err) then return true end
  local action, seconds = core.recovery(err.kind, err.outcome, {
    fault = err.fault, final = err.final, resynced = err.resynced, stale = err.stale, expired = call.expired,
    signed_again = call.signed_again, idempotent = call.idempotent, other_keys = #call.context.keys > 1, repeats = call.repeats or 0,
    retry_after = err.retry_after, left = call.deadline - tasks.real(),
  })
  if action == "sign" then
    call.signed_again = true
  elseif action == "repeat" then
    call.repeats = (call.repeats or 0) + 1
    tasks.sleep(seconds)
  end
  return action ~= nil
end

-- The caller asked for the command, not for the envelope that carried it: removes the envelope's name.
local function annotate(call, err)
  local name = call.row.name .. ": "
  local message = string.gsub(err.message, "^" .. envelope_row.name .. ": ", "")
  if string.sub(message, 1, #name) ~= name then message = name .. message end
  err.message = message
  return failure.annotate(call, err)
end

--- Performs a command in signed form. Returns its result, or nil, err, kind; call.trait is "plain" when the vehicle
--- does not speak the protocol.
function M.perform(call)
  while true do
    local value, err, kind = exchange_within_limits(call)
    if not err then return value end
    call.outcome_unknown = call.outcome_unknown or err.outcome == "unknown"
    if call.session_invalid and err.fault and err.kind ~= "key_not_paired" then add_cause(call, err) end
    if call.trait == "plain" then
      err.message = err.message .. " (the vehicle does not speak the command protocol)"
      return nil, annotate(call, err), kind
    end
    if not again(call, err) then return nil, annotate(call, err), err.kind end
  end
end

return M
