-- Renewing a pair of tokens, so that none is ever lost (rule R2): lease, read, use a newer pair if there is
-- one, reserve the write, exchange, write, release. A failure writes nothing; a pair that cannot be written
-- is kept and used.

local exchange = require "fleet.oauth.token_endpoint"
local records = require "fleet.oauth.token"

local exchange_seconds = 30 -- an exchange that has begun is given this long, whatever the caller's time
local lease_seconds = 2 * exchange_seconds + 30
local first_pause, longest_pause = 0.02, 0.5
local record_bytes = 16384 -- more than any reply seen, several times

-- The lease; or the record that its holder has just stored; or nil, nil, err, kind.
local function lease_or_newer(account, slot, grant, seconds)
  local key, pause, deadline = records.key(account, slot), first_pause, (account.clock()) + seconds
  while true do
    local lease, err, kind = account.store:lease(key, lease_seconds)
    if lease then return lease end
    if kind ~= "busy" then return nil, nil, err, kind end
    local record = records.read(account, slot)
    if record and grant.serves(record) then return nil, record end
    if (account.clock()) + pause > deadline then
      return nil, exchange.failure("busy", "no token: another process is exchanging it; try again")
    end
    account.sleep(pause)
    pause = math.min(pause * 2, longest_pause)
  end
end

-- The reply to one refresh token or code. Without an answer the same is sent once more: it may have been
-- used.
local function ask(account, slot, grant, lease, token)
  local fields, fields_err, fields_kind = grant.fields(token)
  if not fields then return nil, fields_err, fields_kind end
  local reply, err, kind, verdict = exchange.send(account, slot, fields, exchange_seconds)
  if verdict == "unanswered" and lease:renew() then
    reply, err, kind, verdict = exchange.send(account, slot, fields, exchange_seconds)
  end
  if reply and grant.check then
    local good, check_err, check_kind = grant.check(reply)
    if not good then return nil, check_err, check_kind end
  end
  return reply, err, kind, verdict
end

-- A refusal counts only for the newest token, and after the one before it was tried where the service still
-- takes that.
local function ask_with_newest(account, slot, grant, lease, record)
  local token = record and record.refresh_token
  local reply, err, kind, verdict = ask(account, slot, grant, lease, token)
  if verdict ~= "refused" or not grant.refreshes then return reply, nil, err, kind end
  local newer = records.read(account, slot)
  if newer and newer.refresh_token ~= token then return nil, newer end
  local previous = records.previous(account, record)
  reply = previous and ask(account, slot, grant, lease, previous)
  if not reply then records.refused(account, slot, token) end
  return reply, nil, err, kind
end

-- A lease that was lost: whoever had it next may have stored a pair in place of the one we used, and theirs is
-- newer. If not, or after a sign-in, ours is.
local function take_over(account, slot, record, replaced)
  local stored, generation = records.read(account, slot)
  if stored and replaced and stored.access_token ~= replaced.access_token then return stored end
  local known = stored ~= nil and generation or nil
  local done, err, kind = records.put(account, slot, record, { generation = known })
  return record, not done and err or nil, kind
end

-- replaced: the record whose refresh token was used, or nil.
local function save(account, slot, record, replaced, held)
  local done, err, kind = records.put(account, slot, record, { ticket = held.ticket, lease = held.lease })
  if done then return record end
  if kind == "conflict" then record, err = take_over(account, slot, record, replaced) end
  if err then records.keep(account, slot, record, err) end
  return record, err
end

-- The record, with an err beside it when it could not be saved; or nil, err, kind. held.ticket is closed by
-- the caller.
local function under_lease(account, slot, grant, held)
  local before, generation, read_kind = records.read(account, slot)
  if before == nil then return nil, generation, read_kind end
  if before and grant.serves(before) then return before end
  local ticket_err, ticket_kind
  held.ticket, ticket_err, ticket_kind = account.store:reserve(records.key(account, slot), record_bytes)
  if not held.ticket then return nil, ticket_err, ticket_kind end
  local reply, newer, err, kind = ask_with_newest(account, slot, grant, held.lease, before)
  if newer then return newer end
  if not reply then return nil, err, kind end
  local replaced = grant.refreshes and before or nil
  local record = records.of_reply(account, slot, reply, replaced, grant.asked)
  return save(account, slot, record, replaced, held)
end

--- Renews the pair of a slot and returns its record, with an err beside it when the store refused it; or
--- nil, err, kind. grant: fields(refresh token) gives the form; serves(record) says whether a stored pair
--- makes the exchange needless; refreshes: the refresh token is what is exchanged; check(reply) may refuse
--- a reply; asked: the scopes asked for.
return function(account, slot, grant, seconds)
  local held = {}
  local newer, err, kind
  held.lease, newer, err, kind = lease_or_newer(account, slot, grant, seconds)
  if newer then return newer end
  if not held.lease then return nil, err, kind end
  local ok, record, record_err, record_kind = pcall(under_lease, account, slot, grant, held)
  if held.ticket then held.ticket.close() end
  held.lease:release()
  if not ok then error(record, 0) end
  return record, record_err, record_kind
end
