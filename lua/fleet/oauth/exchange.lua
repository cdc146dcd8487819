-- Exchanges a grant for a new pair of tokens without ever losing one (doc/protocol.md#refresh-tokens): take the lease, read the
-- store, use a newer pair if another process stored one, reserve room for the write, exchange, write, release. A failed exchange
-- writes nothing. A pair that cannot be written stays in memory and is used.

local core = require "fleet.core"
local endpoint = require "fleet.oauth.token_endpoint"
local poll = require "fleet.async.poll"
local pcall = require("fleet.util.compat").pcall -- the called functions may yield

local exchange_seconds = 30 -- the timeout of an exchange; the caller's own may be shorter
local lease_seconds = 2 * exchange_seconds + 30 -- longer than all requests of its holder (doc/manual/token-refresh.md)
local first_pause, longest_pause = 0.02, 0.5
local record_bytes = 16384 -- several times the largest reply seen

-- Whether a stored token makes the exchange unnecessary.
local function serves(slot, grant, stored)
  return stored and core.grant_serves(grant, stored, slot.context.clock())
end

-- Returns the lease; or nil and the token that the lease's holder has just stored; or nil, nil, err, kind.
local function lease_or_newer(slot, grant, seconds)
  local context = slot.context
  local pauses = poll.pauses(seconds, first_pause, longest_pause, context.clock, context.sleep)
  while true do
    local lease, err, kind = context.store:lease(slot.key, lease_seconds)
    if lease then return lease end
    if kind ~= "busy" then return nil, nil, err, kind end
    local token = slot:read()
    if serves(slot, grant, token) then return nil, token end
    if not pauses:again() then return nil, endpoint.failure("busy", "no token: another process is exchanging it; try again") end
  end
end

-- Exchanges once and returns the token. When no answer arrives, sends the same request once more, because the service may have consumed the
-- refresh token. previous = true: sends the refresh token before the newest.
local function exchange(slot, grant, lease, stored, previous)
  local context = slot.context
  local form, err, kind = endpoint.form(context, grant, stored, previous)
  if not form then return nil, err, kind end
  local wanted = slot:expect {
    form = form, nonce = grant.nonce, asked = grant.scope, fence = lease.fence, stored = stored,
    before = grant.kind == "refresh" and stored, third_party = not endpoint.open_source(context),
  }
  local issued, known
  issued, err, kind, known = endpoint.send(context, wanted, exchange_seconds)
  if known == "unanswered" and lease:renew() then
    issued, err, kind, known = endpoint.send(context, wanted, exchange_seconds)
  end
  if issued then return wanted.token end
  slot:forget()
  return nil, err, kind, known
end

-- Exchanges the newest stored token. A refusal is final only for that token, and only after the previous one was tried while the service
-- accepts it. Returns token; or nil, a newer stored one; or nil, nil, err, kind.
local function exchange_newest(slot, grant, lease, stored)
  local token, err, kind, known = exchange(slot, grant, lease, stored)
  if known ~= "refused" or grant.kind ~= "refresh" then return token, nil, err, kind end
  local newer = slot:read()
  if newer and not newer:same_refresh(stored) then return nil, newer end
  token = stored:has_previous(slot.context.clock()) and exchange(slot, grant, lease, stored, true)
  if token then return token end
  slot:refuse(stored)
  return nil, nil, err, kind
end

-- After the lease was lost: if its next owner stored another pair than the one we exchanged, that pair is newer and is returned.
-- Otherwise, or after a sign-in, ours is newer and is stored.
local function take_over(slot, token, replaced)
  local stored, generation = slot:read()
  if stored and replaced and not stored:same_access(replaced) then return stored end
  local done, err = slot:put(token, { generation = stored ~= nil and generation or nil })
  return token, not done and err or nil
end

-- replaced: the token whose refresh token was used, or nil.
local function save(slot, token, replaced, resources)
  local done, err, kind = slot:put(token, { ticket = resources.ticket, lease = resources.lease })
  if not done and kind == "conflict" then token, err = take_over(slot, token, replaced) end
  if done or not err then return slot:saved(token) end
  slot:keep(token, err)
  return token, err
end

-- Returns the token, and an err when it could not be saved; or nil, err, kind.
local function under_lease(slot, grant, resources)
  local stored, err, kind = slot:read()
  if stored == nil then return nil, err, kind end
  if serves(slot, grant, stored) then return slot:learn(stored) end
  resources.ticket, err, kind = slot.context.store:reserve(slot.key, record_bytes)
  if not resources.ticket then return nil, err, kind end
  local token, newer
  token, newer, err, kind = exchange_newest(slot, grant, resources.lease, stored or nil)
  if newer then return slot:learn(newer) end
  if not token then return nil, err, kind end
  return save(slot, token, grant.kind == "refresh" and stored or nil, resources)
end

-- Takes the lease, then does the same. The caller closes `resources`.
local function perform(slot, grant, seconds, resources)
  local newer, err, kind
  resources.lease, newer, err, kind = lease_or_newer(slot, grant, seconds)
  if newer then return slot:learn(newer) end
  if not resources.lease then return nil, err, kind end
  return under_lease(slot, grant, resources)
end

-- A store error during release does not undo the exchange.
local function release(resources)
  if resources.ticket then pcall(resources.ticket.close, resources.ticket) end
  if resources.lease then pcall(resources.lease.release, resources.lease) end
end

--- Exchanges a grant for the token of a slot (token_cache.lua). Returns the token, and an err when the store rejected it; or nil, err,
--- kind. grant: kind and the parameters of src/oauth/grant.c; nonce, which the reply's id_token must contain; and the stored token that
--- makes the exchange unnecessary: with always none, with replaces any token but this one, with rejected any token but the one with this
--- access token. An error raised after the exchange leaves the token in memory: the token is returned, with an err.
return function(slot, grant, seconds)
  local resources = { lease = false, ticket = false } -- preallocated: storing them later cannot fail
  local ok, token, err, kind = pcall(perform, slot, grant, seconds, resources)
  release(resources)
  if ok then return token, err, kind end
  local failure = token
  slot:interrupted()
  token, err = slot:recover(failure)
  if not token then error(failure, 0) end
  return token, err
end
