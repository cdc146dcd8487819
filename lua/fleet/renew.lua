-- Renewing a pair of tokens: performs the actions that core.refresh_next names, one after the other (rule R2).

local core = require "fleet.core"
local exchange = require "fleet.exchange"
local records = require "fleet.token_record"

local exchange_seconds = 30 -- an exchange that has begun is given this long, whatever the caller's time: R2
local lease_seconds = 2 * exchange_seconds + 30
local first_pause, longest_pause = 0.02, 0.5
local record_bytes = 16384

-- Each action works on the state s and says what came of it.
local acts = {}

local function failed(s, err, kind)
  s.err, s.kind = err, kind
  return "failed"
end

function acts.lease(s)
  local lease, err, kind = s.account.store:lease(s.key, lease_seconds)
  s.lease = lease
  if lease then return "ok" end
  failed(s, err, kind)
  return kind == "busy" and "busy" or "failed"
end

function acts.read(s)
  local record, generation, kind = records.read(s.account, s.slot)
  if record == nil then return failed(s, generation, kind) end
  if not s.stored then s.stored, s.generation = record, generation end
  if record and s.grant.serves(record) then
    s.record = record
    return "newer"
  end
  s.stored, s.generation = record, generation
  return "ok"
end
acts.peek = acts.read

function acts.wait(s)
  if (s.account.clock()) + s.pause > s.deadline then
    s.err = core.err { kind = "busy", outcome = "not_sent", message = "no token: another process is exchanging it; try again" }
    s.kind = "busy"
    return "late"
  end
  s.account.sleep(s.pause)
  s.pause = math.min(s.pause * 2, longest_pause)
  return "ok"
end

function acts.reserve(s)
  local ticket, err, kind = s.account.store:reserve(s.key, record_bytes)
  s.ticket = ticket
  return ticket and "ok" or failed(s, err, kind)
end

local function exchange_with(s, token)
  local fields, fields_err, fields_kind = s.grant.fields(token)
  if not fields then return failed(s, fields_err, fields_kind) end
  local reply, err, kind, verdict = exchange.send(s.account, s.slot, fields, exchange_seconds)
  if reply and s.grant.check then
    local good, check_err, check_kind = s.grant.check(reply)
    if not good then return failed(s, check_err, check_kind) end
  end
  if reply then
    s.record = records.of_reply(s.account, s.slot, reply, s.grant.refreshes and s.stored or nil, s.grant.asked)
    return "ok"
  end
  failed(s, err, kind)
  return verdict == "kept" and "failed" or verdict
end

function acts.exchange(s)
  return exchange_with(s, s.stored and s.stored.refresh_token)
end
acts["repeat"] = acts.exchange

function acts.renew(s)
  return s.lease:renew() and "ok" or "failed"
end

function acts.look_again(s)
  local used = s.stored
  local err, kind = s.err, s.kind
  local record = records.read(s.account, s.slot)
  s.err, s.kind = err, kind
  if record and used and record.refresh_token ~= used.refresh_token then
    s.record = record
    return "newer"
  end
  return "ok"
end

function acts.previous(s)
  local err, kind = s.err, s.kind
  local token = s.grant.refreshes and records.previous(s.account, s.stored)
  local event = token and exchange_with(s, token) or "failed"
  if event ~= "ok" then
    s.err, s.kind = err, kind
    if s.grant.refreshes and s.stored then records.refused(s.account, s.slot, s.stored.refresh_token) end
  end
  return event
end

local function put(s, options)
  local done, err, kind = records.put(s.account, s.slot, s.record, options)
  if done then return "ok" end
  failed(s, err, kind)
  return kind == "conflict" and "conflict" or "failed"
end

function acts.save(s)
  return put(s, { ticket = s.ticket, lease = s.lease })
end

-- The lease was lost: whoever had it next may have stored a pair. If not, ours is the newest.
function acts.take_over(s)
  local record, generation = records.read(s.account, s.slot)
  if record and s.stored and record.access_token ~= s.stored.access_token then
    s.record = record
    return "newer"
  end
  return put(s, { generation = record ~= nil and generation or nil })
end

function acts.keep(s)
  records.keep(s.account, s.slot, s.record, s.err)
  s.unsaved = s.err
  return "ok"
end

local function perform(s)
  local action = core.refresh_next("begin", "ok")
  while action ~= "done" and action ~= "fail" do
    action = core.refresh_next(action, acts[action](s))
  end
  if action == "fail" then return nil, s.err, s.kind end
  return s.record, s.unsaved
end

local function release(s)
  if s.ticket then s.ticket.close() end
  if s.lease then s.lease:release() end
end

--- Renews the pair of a slot and returns its record, with an err beside it when the store refused it; or nil, err, kind.
--- grant: fields(refresh token) gives the form, serves(record) says whether a stored pair makes the exchange needless,
--- refreshes: the refresh token is what is exchanged; check(reply) may refuse a reply.
return function(account, slot, grant, seconds)
  local s = {
    account = account, slot = slot, grant = grant, key = records.key(account, slot), pause = first_pause,
    deadline = (account.clock()) + seconds,
  }
  local ok, record, err, kind = pcall(perform, s)
  release(s)
  if not ok then error(record, 0) end
  return record, err, kind
end
