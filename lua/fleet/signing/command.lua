-- Signed commands: handshake, sign, send, read the answer, and recover at most once (rule R1).
--
-- A message is sent once. It is signed again only when the vehicle proved, by authenticated session info for this very
-- message, that no copy of it was carried out; when it certainly never left; or, for a command that sets a named state, after
-- an unknown outcome.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local rows = require "fleet.call.rows"
local run = require "fleet.call"
local sessions = require "fleet.signing.session_pool"
local tasks = require "fleet.async.task"

local M = {}

local lifetime = 15 -- seconds in which a vehicle takes a command
local signing = { expires_in = lifetime }
local most_repeats = 2
local longest_pause = 5 -- no long silent waits: rule R8
local trusted = 10 -- seconds in which others are assumed to have left a vehicle alone

local carrier_row = rows.by_name.signed_command

-- ---- one exchange ----

-- The message as a signed_command request of its own. What may change something is never sent twice as it is: whether it
-- may be repeated is decided here, not by its status.
local function carrier(call, bytes, harmless)
  local request = core.plan(carrier_row.pointer, call.handle, bytes or "")
  local sub = run.new_call(carrier_row, request, call.account, call.id, call.handle)
  sub.deadline, sub.slot, sub.write, sub.carrier = call.deadline, call.slot, not harmless, true
  sub.facts.write, sub.facts.idempotent = not harmless, harmless
  return sub
end

local function one_handshake(call, slot)
  local bytes, err, kind = slot.session:handshake()
  if not bytes then return nil, err, kind end
  local sub = carrier(call, bytes, true)
  local reply
  reply, err, kind = run.attempts(sub)
  call.facts.trait = sub.facts.trait
  if err then return nil, err, kind end
  return slot.session:accept(reply)
end

-- A reply whose tag is wrong may be a stray one; a second handshake settles it.
local function handshake_with(call, slot, which)
  local ok, err, kind
  for try = 1, 2 do
    if try == 2 or slot.which ~= which then
      ok, err, kind = sessions.renew(call.account, slot, which)
      if not ok then return nil, err, kind end
    end
    ok, err, kind = one_handshake(call, slot)
    if ok or kind ~= "protocol" then break end
  end
  return ok, err, kind
end

-- Every key of the account is tried, the new one first (key rotation).
local function handshake(call, slot)
  local ok, err, kind
  for which = 1, #call.account.keys do
    ok, err, kind = handshake_with(call, slot, which)
    if ok or kind ~= "key_not_paired" then break end
  end
  return ok, err, kind
end

-- A counter that somebody else with this key has used meanwhile looks like a copy of our own message, and what must not run
-- twice then ends in doubt. Where others were seen, one more exchange beforehand costs less.
local function may_trust(call, session)
  return call.facts.idempotent or not session:shared() or session:age() < trusted
end

-- A session goes on with the key it was made with, as long as that is on the vehicle.
local function confirm(call, slot)
  local ok, err, kind = handshake_with(call, slot, slot.which)
  if kind ~= "key_not_paired" or #call.account.keys == 1 then return ok, err, kind end
  return handshake(call, slot)
end

local function fresh_session(call, slot)
  if not slot.session:ready() then return handshake(call, slot) end
  if may_trust(call, slot.session) then return true end
  return confirm(call, slot)
end

local function write_message(call, session)
  if not call.payload then
    local sub = carrier(call)
    return sub, session:sign_request(sub.request, call.request, signing)
  end
  local bytes, id, kind = session:sign(call.payload, signing)
  if not bytes then return nil, nil, id, kind end
  return carrier(call, bytes, not call.write), id
end

-- Returns the carrier, the message's id and the session that signed it; or nil, err, kind and nothing was sent.
local function sign(call, slot)
  local ok, err, kind = fresh_session(call, slot)
  if ok then ok, err, kind = sessions.reserve(call.account, slot) end
  if not ok then return nil, err, kind end
  local session, now = slot.session, tasks.now()
  local sub, id
  sub, id, err, kind = write_message(call, session)
  if not id then return nil, err, kind end
  sub.expires = now + lifetime - 1 -- the vehicle counts whole seconds
  return sub, id, session
end

-- The security domain says GENERICERROR_ALREADY_ON, and its errors carry that without the prefix.
local function known_reason(text)
  local known, doc = core.reason(text)
  if known == nil then known, doc = core.reason("GENERICERROR_" .. text) end
  return known, doc
end

local function refused_or_already(call, err, kind, authenticated)
  local known, doc = known_reason(err.reason or "")
  if known == false and not call.request:flag("strict") then
    return { changed = false, reason = err.reason, via = "signed", authenticated = authenticated }
  end
  if doc then err.message = err.message .. ". " .. doc end
  if known then err.kind, kind = known, known end
  return nil, err, kind
end

local function not_the_answer(resynced)
  return errors.failure("protocol", "the answer belongs to another message", { outcome = "unknown", resynced = resynced })
end

-- What the answer's bytes say about the message with this id. A late answer to an earlier message says nothing, also where
-- it is a refusal.
local function read(call, session, bytes, id)
  local payload, answered, authenticated, word = session:open(bytes)
  if not payload then
    local err, kind = answered, authenticated
    if err.id and err.id ~= id then return not_the_answer(err.resynced) end
    err.outcome = err.outcome or "unknown"
    return nil, err, kind
  end
  if answered ~= id then return not_the_answer() end
  if call.take then return call.take(payload, authenticated, word) end
  local ok, err, kind = core.read_answer(call.domain, payload, authenticated, word)
  if ok then return { changed = true, reason = "", via = "signed", authenticated = authenticated } end
  return refused_or_already(call, err, kind, authenticated)
end

-- What a failed answer says about the session itself.
local function judge_session(call, slot, session, err)
  if err.resynced then sessions.moved(slot) end
  call.unfit = err.stale or err.kind == "key_not_paired"
  if call.unfit then sessions.unfit(slot, session) end
end

local function not_sent(err, kind)
  err.outcome = "not_sent"
  return nil, err, kind
end

local function exchange(call, slot)
  local sub, id, session = sign(call, slot)
  if not sub then return not_sent(id, session) end
  sessions.signed(slot)
  call.drawn, call.carrier_call = true, sub
  local bytes, err, kind = run.attempts(sub)
  call.facts.trait, call.expired = sub.facts.trait, sub.expired
  if sub.expired then return not_sent(err, kind) end
  if err then return nil, err, kind end
  local value
  value, err, kind = read(call, session, bytes, id)
  if err then judge_session(call, slot, session, err) end
  return value, err, kind
end

-- act(call, slot) inside the slot of the vehicle's domain, which is left whatever happens in there.
local function visit(call, act)
  call.drawn, call.carrier_call, call.unfit, call.expired, call.facts.trait = false, nil, nil, nil, nil
  local deadline = tasks.now() + math.max(call.deadline - tasks.real(), 0)
  local slot, err, kind = sessions.enter(call.account, call.id, call.domain, deadline)
  if not slot then return not_sent(err, kind) end
  local ran, value
  ran, value, err, kind = pcall(act, call, slot)
  sessions.leave(call.account, slot, call.drawn)
  if ran then return value, err, kind end
  call.doubt = call.doubt or call.carrier_call and call.carrier_call.doubt
  error(value, 0)
end

-- ---- recovery ----

-- The session was no good, as after a repair of the vehicle: one fresh handshake tells why, at once and not after days of
-- failures (doc/protocol.md#session-handshake), and the next command finds it done.
local function tell_why(call, err)
  local trait = call.facts.trait
  local ok, why, kind = visit(call, fresh_session)
  call.facts.trait = trait
  if ok then return end
  err.message = err.message .. "; a fresh handshake failed: " .. why.message
  if kind == "key_not_paired" then err.kind = kind end
end

local function may_sign_again(call, err)
  return err.resynced and err.outcome == "refused" and not call.signed_again
end

local passing = { busy = true, timeout = true, service = true }

-- Nothing was sent, and asking once more may help: the message grew too old, the lease was lost, the vehicle was starting.
local function may_start_again(call, err)
  if err.outcome ~= "not_sent" then return false end
  return call.expired or err.kind == "conflict" or err.fault ~= nil and passing[err.kind]
end

local function may_repeat(call, err)
  if call.facts.repeats >= most_repeats then return false end
  if may_start_again(call, err) then return true end
  if not call.facts.idempotent or err.final then return false end
  if err.kind == "key_not_paired" then return err.fault ~= nil and #call.account.keys > 1 end
  return err.outcome == "unknown" or err.kind == "busy"
end

local function pause(call, seconds)
  if seconds > longest_pause or call.deadline - tasks.real() <= seconds then return false end
  tasks.sleep(seconds)
  return true
end

-- Whether another message for the same command may be made after this failure.
local function again(call, err)
  if may_sign_again(call, err) then
    call.signed_again = true
    return true
  end
  if run.wake_first(call, err) then return true end
  if not may_repeat(call, err) then return false end
  call.facts.repeats = call.facts.repeats + 1
  local mended = call.expired or err.stale or err.resynced
  return pause(call, math.max(err.retry_after or 0, mended and 0 or 1))
end

-- What carried the command is no concern of the caller.
local function annotate(call, err)
  local name = call.row.name .. ": "
  local message = string.gsub(err.message, "^" .. carrier_row.name .. ": ", "")
  if string.sub(message, 1, #name) ~= name then message = name .. message end
  err.message = message
  return run.dress(call, err)
end

--- Performs a command in signed form. Returns its result, or nil, err, kind; call.facts.trait is "plain" when the vehicle
--- does not speak the protocol.
function M.perform(call)
  while true do
    local value, err, kind = visit(call, exchange)
    if not err then return value end
    call.doubt = call.doubt or err.outcome == "unknown"
    if call.unfit and err.kind ~= "key_not_paired" then tell_why(call, err) end
    if call.facts.trait == "plain" then
      err.message = err.message .. " (the vehicle does not speak the command protocol)"
      return nil, annotate(call, err), kind
    end
    if not again(call, err) then return nil, annotate(call, err), err.kind end
  end
end

return M
