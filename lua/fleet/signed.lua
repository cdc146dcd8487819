-- Signed commands: handshake, sign, send, read the answer, and recover at most once (rule R1).
--
-- A message is sent once. It is signed again only when the vehicle proved, by authenticated session info for this very
-- message, that it was not carried out; or, for a command that sets a named state, after an unknown outcome.

local core = require "fleet.core"
local firmware = require "fleet.firmware"
local rows = require "fleet.rows"
local run = require "fleet.run"
local sessions = require "fleet.sessions"
local tasks = require "fleet.tasks"

local M = {}

local lifetime = 15 -- seconds in which a vehicle takes a command
local most_repeats = 2
local plain_days = 7

local carrier_row = rows.by_name.signed_command

-- ---- how a command travels ----

local function plain_key(vin)
  return "plain/" .. vin
end

local function known_as_plain(account, vin)
  if account.store:get(plain_key(vin)) then return true end
  local info = firmware.recall(account, vin)
  return info ~= nil and info.vehicle_command_protocol_required == false
end

--- The vehicle wants signed commands after all.
function M.forget_plain(account, vin)
  account.store:delete(plain_key(vin))
end

--- "signed", "plain" or "proxy" for this command and vehicle; nil, text when nothing can carry it.
function M.way(account, row, vin)
  local wanted = account.config.commands
  if wanted == "proxy" then return "proxy" end
  if not account.keys then
    if wanted == "signed" then return nil, "commands = \"signed\" needs a key" end
    return "plain"
  end
  if wanted == "plain" or not row.message then return "plain" end
  if wanted == "auto" and not row.flags.needs_protocol and known_as_plain(account, vin) then return "plain" end
  return "signed"
end

-- ---- one exchange ----

-- The message as a signed_command request of its own; its repeats are decided here, not by its status alone.
local function carrier(call, bytes, harmless)
  local request = core.plan(carrier_row.pointer, call.handle, bytes or "")
  local sub = run.new_call(carrier_row, request, call.account, call.id, call.handle)
  sub.deadline, sub.slot, sub.write, sub.carrier = call.deadline, call.slot, not harmless, true
  sub.facts.write, sub.facts.idempotent = not harmless, harmless
  return sub
end

local function dressed(call, err, kind, not_sent)
  if not_sent then err.outcome = "not_sent" end
  return nil, run.dress(call, err), kind
end

local function one_handshake(call, slot)
  local bytes, err, kind = slot.session:handshake()
  if not bytes then return nil, err, kind end
  local sub = carrier(call, bytes, true)
  local reply
  reply, err, kind = run.attempts(sub)
  call.trait = sub.facts.trait
  if err then return nil, err, kind end
  return slot.session:accept(reply)
end

-- A reply whose tag is wrong may be a stray one; a second handshake settles it. A key that is not on the vehicle is
-- tried once more with the other key of the account, if it has one (key rotation).
local function handshake(call, slot)
  local ok, err, kind
  for _ = 1, 2 * #call.account.keys do
    ok, err, kind = one_handshake(call, slot)
    if ok then return true end
    if kind == "key_not_paired" and slot.which < #call.account.keys then
      slot.which = slot.which + 1
    elseif kind ~= "protocol" then
      break
    end
    local opened, open_err, open_kind = sessions.forget(call.account, slot)
    if not opened then return nil, open_err, open_kind end
  end
  return nil, err, kind
end

local function write_message(call, session)
  if not call.payload then
    local sub = carrier(call)
    return sub, session:sign_request(sub.request, call.request, { expires_in = lifetime })
  end
  local bytes, id, kind = session:sign(call.payload, { expires_in = lifetime })
  if not bytes then return nil, nil, id, kind end
  return carrier(call, bytes, not call.write), id
end

-- Returns the carrier, the message's id and the session that signed it; or nil, err, kind and nothing was sent.
local function sign(call, slot)
  local ok, err, kind = true, nil, nil
  if not slot.session:ready() then ok, err, kind = handshake(call, slot) end
  if ok then ok, err, kind = sessions.reserve(call.account, slot) end
  if not ok then return nil, err, kind end
  local sub, id
  sub, id, err, kind = write_message(call, slot.session)
  if not id then return nil, err, kind end
  return sub, id, slot.session
end

local function refused_or_already(call, err, kind, authenticated)
  local known, doc = core.reason(err.reason or "")
  if known == false and not call.request:flag("strict") then
    return { changed = false, reason = err.reason, via = "signed", authenticated = authenticated }
  end
  if doc then err.message = err.message .. ". " .. doc end
  if known then err.kind, kind = known, known end
  return nil, err, kind
end

-- What the answer's bytes say about the message with this id.
local function read(call, session, bytes, id)
  local payload, answered, authenticated, word = session:open(bytes)
  if not payload then
    local err, kind = answered, authenticated
    err.outcome = err.outcome or "unknown"
    return nil, err, kind
  end
  if answered ~= id then
    local err = core.err { kind = "protocol", outcome = "unknown", message = "the answer belongs to another message" }
    return nil, err, "protocol"
  end
  if call.take then return call.take(payload, authenticated) end
  local ok, err, kind = core.read_answer(call.domain, payload, authenticated, word)
  if ok then return { changed = true, reason = "", via = "signed", authenticated = authenticated } end
  return refused_or_already(call, err, kind, authenticated)
end

local function exchange(call, slot)
  local sub, id, session = sign(call, slot)
  if not sub then return dressed(call, id, session, true) end
  sessions.signed(slot)
  call.drawn = true
  local bytes, err, kind = run.attempts(sub)
  call.trait = sub.facts.trait
  if err then return dressed(call, err, kind) end
  local value
  value, err, kind = read(call, session, bytes, id)
  if err then return dressed(call, err, kind) end
  return value
end

-- One message from the lease to the answer. The slot is left whatever happens in between.
local function once(call)
  call.drawn, call.trait = false, nil
  local deadline = tasks.now() + math.max(call.deadline - tasks.real(), 0)
  local slot, err, kind = sessions.enter(call.account, call.id, call.domain, deadline)
  if not slot then return dressed(call, err, kind, true) end
  local function left(ok, ...)
    if ok and select(2, ...) and select(2, ...).reason == "vehicle_key_changed" then sessions.forget(call.account, slot) end
    sessions.leave(call.account, slot, call.drawn)
    if not ok then error((...), 0) end
    return ...
  end
  return left(pcall(exchange, call, slot))
end

-- ---- recovery ----

local function remember_plain(call)
  call.account.store:put(plain_key(call.id), "1", { ttl = plain_days * 86400 })
end

local function may_sign_again(call, err)
  return err.resynced and err.outcome == "refused" and not call.signed_again and not call.doubt
end

local function may_repeat(call, err)
  if not call.facts.idempotent or call.facts.repeats >= most_repeats then return false end
  return err.outcome == "unknown" or err.kind == "busy"
end

local function pause(call, seconds)
  if call.deadline - tasks.real() <= seconds then return false end
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
  call.doubt = call.doubt or err.outcome == "unknown"
  return pause(call, err.retry_after or 1)
end

--- Performs a command in signed form. Returns its result, or nil, err, kind; nil, nil when the vehicle does not speak the
--- protocol and the plain form may carry it.
function M.perform(call)
  while true do
    local value, err, kind = once(call)
    if not err then return value end
    if call.trait == "plain" and call.account.config.commands == "auto" and not call.row.flags.needs_protocol then
      remember_plain(call)
      return nil, nil
    end
    if not again(call, err) then return nil, err, kind end
  end
end

return M
