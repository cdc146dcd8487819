-- Exchanging what is held for a new pair, so that none is ever lost (doc/protocol.md#refresh-tokens): lease, read, use a
-- newer pair if there is one, reserve the write, exchange, write, release. A failure writes nothing; a pair that cannot be
-- written is kept and used.

local cache = require "fleet.oauth.token_cache"
local endpoint = require "fleet.oauth.token_endpoint"
local poll = require "fleet.async.poll"
local pcall = require("fleet.util.compat").pcall -- what it calls may wait

local exchange_seconds = 30 -- an exchange that has begun is given this long, whatever the caller's time
local lease_seconds = 2 * exchange_seconds + 30
local first_pause, longest_pause = 0.02, 0.5
local record_bytes = 16384 -- more than any reply seen, several times

-- The lease; or the token that its holder has just stored; or nil, nil, err, kind.
local function lease_or_newer(context, token_kind, grant, seconds)
  local key = cache.key(context, token_kind)
  local pauses = poll.pauses(seconds, first_pause, longest_pause, context.clock, context.sleep)
  while true do
    local lease, err, kind = context.store:lease(key, lease_seconds)
    if lease then return lease end
    if kind ~= "busy" then return nil, nil, err, kind end
    local token = cache.read(context, token_kind)
    if token and grant.serves(token) then return nil, token end
    if not pauses:again() then return nil, endpoint.failure("busy", "no token: another process is exchanging it; try again") end
  end
end

-- The token of one exchange. Without an answer the same is sent once more: it may have been used. previous: with the
-- refresh token before the newest.
local function exchange(context, token_kind, grant, lease, stored, previous)
  local form, err, kind = grant.form(stored, previous)
  if not form then return nil, err, kind end
  local wanted = cache.expect(context, token_kind, {
    form = form, nonce = grant.nonce, asked = grant.asked, fence = lease.fence, stored = stored,
    before = grant.refreshes and stored, third_party = not endpoint.open_source(context),
  })
  local issued, known
  issued, err, kind, known = endpoint.send(context, wanted, exchange_seconds)
  if known == "unanswered" and lease:renew() then
    issued, err, kind, known = endpoint.send(context, wanted, exchange_seconds)
  end
  if issued then return wanted.token end
  cache.forget(context, token_kind)
  return nil, err, kind, known
end

-- A refusal counts only for the newest token, and after the one before it was tried where the service still takes that.
-- Returns token; or nil, a newer stored one; or nil, nil, err, kind.
local function exchange_newest(context, token_kind, grant, lease, stored)
  local token, err, kind, known = exchange(context, token_kind, grant, lease, stored)
  if known ~= "refused" or not grant.refreshes then return token, nil, err, kind end
  local newer = cache.read(context, token_kind)
  if newer and not newer:same_refresh(stored) then return nil, newer end
  token = stored:has_previous(context.clock()) and exchange(context, token_kind, grant, lease, stored, true)
  if token then return token end
  cache.refused(context, token_kind, stored)
  return nil, nil, err, kind
end

-- A lease that was lost: whoever had it next may have stored a pair in place of the one we used, and theirs is newer. If
-- not, or after a sign-in, ours is.
local function take_over(context, token_kind, token, replaced)
  local stored, generation = cache.read(context, token_kind)
  if stored and replaced and not stored:same_access(replaced) then return stored end
  local done, err = cache.put(context, token_kind, token, { generation = stored ~= nil and generation or nil })
  return token, not done and err or nil
end

-- replaced: the token whose refresh token was used, or nil.
local function save(context, token_kind, token, replaced, held)
  local done, err, kind = cache.put(context, token_kind, token, { ticket = held.ticket, lease = held.lease })
  if not done and kind == "conflict" then token, err = take_over(context, token_kind, token, replaced) end
  if done or not err then return cache.saved(context, token_kind, token) end
  cache.keep(context, token_kind, token, err)
  return token, err
end

-- The token, with an err beside it when it could not be saved; or nil, err, kind.
local function under_lease(context, token_kind, grant, held)
  local stored, err, kind = cache.read(context, token_kind)
  if stored == nil then return nil, err, kind end
  if stored and grant.serves(stored) then return cache.learn(context, token_kind, stored) end
  held.ticket, err, kind = context.store:reserve(cache.key(context, token_kind), record_bytes)
  if not held.ticket then return nil, err, kind end
  local token, newer
  token, newer, err, kind = exchange_newest(context, token_kind, grant, held.lease, stored or nil)
  if newer then return cache.learn(context, token_kind, newer) end
  if not token then return nil, err, kind end
  return save(context, token_kind, token, grant.refreshes and stored or nil, held)
end

-- The same, from the lease on. What is held is closed by the caller.
local function perform(context, token_kind, grant, seconds, held)
  local newer, err, kind
  held.lease, newer, err, kind = lease_or_newer(context, token_kind, grant, seconds)
  if newer then return cache.learn(context, token_kind, newer) end
  if not held.lease then return nil, err, kind end
  return under_lease(context, token_kind, grant, held)
end

-- What the store raises here undoes nothing.
local function let_go(held)
  if held.ticket then pcall(held.ticket.close, held.ticket) end
  if held.lease then pcall(held.lease.release, held.lease) end
end

--- Exchanges for the token of a kind and returns it, with an err beside it when the store refused it; or nil, err, kind.
--- grant: form(token, previous) gives what is sent; serves(token) says whether a stored one makes the exchange needless;
--- refreshes: the refresh token is what is exchanged; nonce: that the reply's id_token must carry; asked: the scopes asked
--- for. What raises after the exchange leaves the token in memory: it is returned, with an err.
return function(context, token_kind, grant, seconds)
  local held = { lease = false, ticket = false } -- no memory is needed to note what is held
  local ok, token, err, kind = pcall(perform, context, token_kind, grant, seconds, held)
  let_go(held)
  if ok then return token, err, kind end
  local failure = token
  cache.interrupted(context, token_kind)
  token, err = cache.recover(context, token_kind, failure)
  if not token then error(failure, 0) end
  return token, err
end
