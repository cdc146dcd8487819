-- The pair of tokens of one slot: as it stands in the store, as this process knows it, and as it may be used.
--
-- Within a process a token's age is measured by the monotonic clock; the wall clock counts only across a
-- restart, and one that stands before the time of saving says nothing: then the token is tried (doc/protocol.md#token-errors).
-- A pair that the store refused stays here, is used, and is offered to the store again (rule R2).

local core = require "fleet.core"

local M = {}

local look_again = 60 -- seconds after which another process's newer pair is noticed
local save_again = 1 -- seconds between attempts to save what the store refused
local previous_lives = 86400 -- third-party apps (doc/protocol.md#refresh-tokens): the refresh token used last stays good
local lives = 90 * 86400 -- three months: doc/protocol.md#refresh-tokens

--- What this process knows, per slot: known, unsaved, refused.
function M.state(account)
  local state = account.tokens
  if not state then
    state = { known = {}, unsaved = {}, tried = {}, refused = {}, flights = {} }
    account.tokens = state
  end
  return state
end

--- The store's key of a slot; its lease is the right to exchange.
function M.key(account, slot)
  return "token/" .. account.config.account .. "/" .. slot
end

function M.tell(account, name, slot, err)
  account.report {
    name = name, account = account.config.account, slot = slot, kind = err and err.kind, message = err and err.message,
  }
end

--- Takes a record as the newest; ends: mono seconds at which its access token expires, where this process
--- saw it issued.
function M.learn(account, slot, record, ends)
  local known = M.state(account).known
  local before = known[slot]
  if not ends and before and before.record.access_token == record.access_token then ends = before.ends end
  known[slot] = { record = record, ends = ends, read_at = (account.clock()) }
  return record
end

local function read_stored(account, slot)
  local text, generation, kind = account.store:get(M.key(account, slot))
  if text == nil and kind then return nil, generation, kind end
  if text == nil then return false, generation end
  local record = core.json_decode(text)
  if type(record) == "table" and type(record.access_token) == "string" then return record, generation end
  M.tell(account, "token_unreadable", slot)
  return false, generation
end

--- The newest record, from the store unless it refused a newer one: record, generation in the store; false,
--- generation where there is none; nil, err, kind.
function M.read(account, slot)
  local stored, generation, kind = read_stored(account, slot)
  local unsaved = M.state(account).unsaved[slot]
  local overtaken = unsaved and stored and stored.refreshed_at > unsaved.refreshed_at
  if not unsaved or overtaken then return stored, generation, kind end
  return unsaved, stored ~= nil and generation or 0
end

local function save_unsaved(account, slot)
  local state, mono = M.state(account), account.clock()
  if state.tried[slot] and mono - state.tried[slot] < save_again then return end
  state.tried[slot] = mono
  local record = state.unsaved[slot]
  local stored, generation = read_stored(account, slot)
  if stored == nil then return end
  if stored and stored.refreshed_at > record.refreshed_at then -- somebody signed in meanwhile
    state.unsaved[slot] = nil
    M.learn(account, slot, stored)
    return
  end
  if M.put(account, slot, record, { generation = generation }) then
    state.unsaved[slot] = nil
    M.tell(account, "token_saved", slot)
  end
end

--- The newest record that this process can know of: record, false where there is none, or nil, err, kind.
--- fresh: ask the store even if it was asked a moment ago.
function M.newest(account, slot, fresh)
  local state = M.state(account)
  if state.unsaved[slot] then save_unsaved(account, slot) end
  if state.unsaved[slot] then return state.unsaved[slot] end
  local known = state.known[slot]
  if known and not fresh and (account.clock()) - known.read_at < look_again then return known.record end
  local record, err, kind = M.read(account, slot)
  if record == nil and known then return known.record end -- the store fails; what was read is still good
  if record == nil then return nil, err, kind end
  return record and M.learn(account, slot, record)
end

--- "use", "refresh" or "login", and the seconds that the access token has left (nil: not known).
--- rejected: the access token that the service just answered with 401, or nil.
function M.choose(account, slot, record, rejected)
  if not record then return "login" end
  local mono, wall = account.clock()
  local known = M.state(account).known[slot]
  local ends, saved_at = record.expires_at, record.saved_at
  if known and known.ends and known.record.access_token == record.access_token then
    ends, saved_at = wall + known.ends - mono, 0
  end
  local choice = core.oauth_choose {
    access = true, refresh = record.refresh_token ~= nil, rejected = rejected == record.access_token,
    expires_at = ends or 0, saved_at = saved_at or 0, wall = wall,
  }
  return choice, ends and (saved_at or 0) <= wall and ends - wall or nil
end

-- ---- new records ----

local function text_or_nil(value)
  return type(value) == "string" and value ~= "" and value or nil
end

--- The record that a token reply makes. before: the record whose refresh token was used, or nil; asked:
--- scopes asked for. A reply without refresh_token keeps the old one.
function M.of_reply(account, slot, reply, before, asked)
  local mono, wall = account.clock()
  local lifetime, fresh = tonumber(reply.expires_in), text_or_nil(reply.refresh_token)
  local record = {
    access_token = reply.access_token, refresh_token = fresh or before and before.refresh_token,
    expires_at = lifetime and wall + lifetime, saved_at = wall,
    refreshed_at = not fresh and before and before.refreshed_at or wall,
    scope = text_or_nil(reply.scope), asked = asked or before and before.asked,
  }
  local third_party = account.config.client_secret ~= nil
  if third_party and fresh and before and before.refresh_token and before.refresh_token ~= fresh then
    record.previous = { refresh_token = before.refresh_token, ends = wall + previous_lives }
  end
  M.learn(account, slot, record, lifetime and mono + lifetime)
  M.state(account).refused[slot] = nil
  return record
end

--- The refresh token before the newest one while the service still takes it, or nil.
function M.previous(account, record)
  local _, wall = account.clock()
  return record and record.previous and wall < record.previous.ends and record.previous.refresh_token or nil
end

--- Writes the record so that it lasts. options: those of store:put. Returns its generation, or nil, err,
--- kind.
function M.put(account, slot, record, options)
  options.durable = true
  return account.store:put(M.key(account, slot), core.json_encode(record), options)
end

--- Notes that the service refused a refresh token, so that it is not offered again at every call.
function M.refused(account, slot, token)
  M.state(account).refused[slot] = { token = token, at = (account.clock()) }
end

--- Keeps a pair that the store refused: it is used, and saved when the store can again.
function M.keep(account, slot, record, err)
  local state = M.state(account)
  state.unsaved[slot], state.tried[slot] = record, (account.clock())
  M.tell(account, "token_unsaved", slot, err)
end

--- UTC seconds by which the refresh token must have been used, or nil.
function M.refresh_by(record)
  return record.refresh_token and record.refreshed_at and record.refreshed_at + lives or nil
end

return M
