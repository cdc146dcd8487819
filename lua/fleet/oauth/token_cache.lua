-- The newest token of each kind (user, partner, business) that this process can know of: as the store has it, as an
-- exchange has just brought it, or as the store refused it.
--
-- What an exchange brings is never lost (doc/protocol.md#refresh-tokens): its reply and an empty token to take it are kept
-- here before it is sent, so that whatever raises afterwards leaves a pair that the next call finds, uses and saves.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local pcall = require("fleet.util.compat").pcall -- what it calls may wait
local tasks = require "fleet.async"

local M = {}

local look_again = 60 -- seconds after which another process's newer pair is noticed
local out_of_memory = "not enough memory" -- the words of Lua
local save_again = 1 -- seconds between attempts to save what the store refused

M.kinds = { "user", "partner", "business" }

--- What this process knows, per kind of token: known, unsaved, refused; and the exchanges under way.
function M.state(context)
  local state = context.tokens
  if not state then
    state = { known = {}, unsaved = {}, tried = {}, refused = {}, exchanges = {}, flights = {} }
    context.tokens = state
  end
  return state
end

--- The store's key of a token; its lease is the right to exchange.
function M.key(context, token_kind)
  return "token/" .. context.config.account .. "/" .. token_kind
end

function M.tell(context, name, token_kind, err)
  context.report {
    name = name, account = context.config.account, token = token_kind, kind = err and err.kind, message = err and err.message,
  }
end

-- ---- the store ----

-- A store of the caller's may raise: that is a failure like any other. A cancelled task ends.
local function ask_store(context, method, ...)
  local store = context.store
  local ok, value, more, kind = pcall(store[method], store, ...)
  if ok then return value, more, kind end
  if type(value) == "table" and value.kind == "cancelled" then error(value, 0) end
  return errors.failure("store", "the store raised: " .. tostring(value))
end

local function read_stored(context, token_kind)
  local text, generation, kind = ask_store(context, "get", M.key(context, token_kind))
  if text == nil and kind then return nil, generation, kind end
  if text == nil then return false, generation end
  local token = core.token_record(text)
  if not token then
    M.tell(context, "token_unreadable", token_kind)
    return false, generation
  end
  local known = M.state(context).known[token_kind]
  if known then token:age_of(known.token) end
  return token, generation
end

--- Writes a token so that it lasts. options: those of store:put. Returns its generation, or nil, err, kind.
function M.put(context, token_kind, token, options)
  options.durable = true
  return ask_store(context, "put", M.key(context, token_kind), token:json(), options)
end

--- The newest token, from the store unless it refused a newer one: token, generation in the store; false, generation where
--- there is none; nil, err, kind.
function M.read(context, token_kind)
  local stored, generation, kind = read_stored(context, token_kind)
  local unsaved = M.state(context).unsaved[token_kind]
  if not unsaved or stored and not unsaved:newer(stored) then return stored, generation, kind end
  return unsaved, stored ~= nil and generation or 0
end

-- ---- an exchange ----

--- Makes ready for an exchange: whatever is needed to keep what it brings. facts: see token:take of the core.
function M.expect(context, token_kind, facts)
  local state = M.state(context)
  facts.token, facts.request, facts.reply, facts.issued, facts.running = core.token(), false, false, false, true
  facts.mono, facts.wall = context.clock()
  for _, name in ipairs { "unsaved", "tried", "refused" } do state[name][token_kind] = state[name][token_kind] or false end
  state.exchanges[token_kind] = facts
  return facts
end

--- The exchange brought nothing, or what it brought is safe.
function M.forget(context, token_kind)
  local exchanges = M.state(context).exchanges
  local exchange = exchanges[token_kind]
  exchanges[token_kind] = false
  if exchange and exchange.reply then exchange.reply:close() end
end

--- Keeps a token that the store refused: it is used, and saved when the store can again.
function M.keep(context, token_kind, token, err)
  local state = M.state(context)
  state.unsaved[token_kind], state.tried[token_kind] = token, (context.clock())
  state.refused[token_kind] = false
  M.forget(context, token_kind)
  pcall(M.tell, context, "token_unsaved", token_kind, err)
end

--- Takes a token as the newest that is stored.
function M.learn(context, token_kind, token)
  local known = M.state(context).known
  local before = known[token_kind]
  if before then token:age_of(before.token) end
  known[token_kind] = { token = token, read_at = (context.clock()) }
  return token
end

--- The token is in the store. The exchange is forgotten last: until then what raises leaves it to be recovered.
function M.saved(context, token_kind, token)
  local state = M.state(context)
  M.learn(context, token_kind, token)
  state.unsaved[token_kind], state.refused[token_kind] = false, false
  M.forget(context, token_kind)
  return token
end

--- Something raised out of the exchange of this kind, if there is one.
function M.interrupted(context, token_kind)
  local exchange = M.state(context).exchanges[token_kind]
  if exchange then exchange.running = false end
end

-- What came, or still comes, of a request whose waiter was left; nil where it never was on its way.
local function reply_on_the_wire(waiter)
  if not waiter or not waiter.token then return nil end
  return tasks.await(waiter)
end

-- A host's own HTTP may have given an answer that nobody made a reply of.
local function reply_of_host(request)
  if not request.answer then return nil end
  local read, reply = pcall(core.reply, request.answer)
  if not read and reply == out_of_memory then error(reply, 0) end -- at another time it can be read
  request.answer = false
  return read and reply
end

-- The reply of an interrupted exchange, if one came.
local function reply_of(exchange)
  local request = exchange.request
  if not exchange.reply and request then
    exchange.reply = reply_on_the_wire(request.waiter) or reply_of_host(request) or false
  end
  return exchange.reply
end

--- After something raised out of an exchange: the token that it had brought, kept in memory; or nil. failure: what was
--- raised, if it is still at hand.
function M.recover(context, token_kind, failure)
  local exchange = M.state(context).exchanges[token_kind]
  if not exchange or exchange.running then return nil end
  local issued = exchange.issued or reply_of(exchange) and exchange.token:take(exchange)
  if not issued then
    M.forget(context, token_kind)
    return nil
  end
  local told, err = pcall(errors.new, "store", "the new tokens are not saved: " .. tostring(failure or "interrupted"))
  M.keep(context, token_kind, exchange.token, told and err or nil)
  if not failure then M.state(context).tried[token_kind] = false end -- the store was not asked yet
  return exchange.token, told and err or nil
end

-- ---- the newest ----

local function save_unsaved(context, token_kind)
  local state, mono = M.state(context), context.clock()
  if state.tried[token_kind] and mono - state.tried[token_kind] < save_again then return end
  state.tried[token_kind] = mono
  local token = state.unsaved[token_kind]
  local stored, generation = read_stored(context, token_kind)
  if stored == nil then return end
  if stored and not token:newer(stored) then -- somebody exchanged or signed in meanwhile
    M.saved(context, token_kind, stored)
  elseif M.put(context, token_kind, token, { generation = generation }) then
    M.saved(context, token_kind, token)
    M.tell(context, "token_saved", token_kind)
  end
end

--- The token that was read a moment ago, where no other is under way; else nil.
function M.at_hand(context, token_kind)
  local state = M.state(context)
  if state.exchanges[token_kind] or state.unsaved[token_kind] then return nil end
  local known = state.known[token_kind]
  return known and (context.clock()) - known.read_at < look_again and known.token or nil
end

--- The newest token that this process can know of: token, false where there is none, or nil, err, kind. fresh: ask the
--- store even if it was asked a moment ago.
function M.newest(context, token_kind, fresh)
  local state = M.state(context)
  if state.exchanges[token_kind] then M.recover(context, token_kind) end
  if state.unsaved[token_kind] then save_unsaved(context, token_kind) end
  if state.unsaved[token_kind] then return state.unsaved[token_kind] end
  local found = not fresh and M.at_hand(context, token_kind)
  if found then return found end
  local known = state.known[token_kind]
  local token, err, kind = M.read(context, token_kind)
  if token == nil and known then return known.token end -- the store fails; what was read is still good
  if token == nil then return nil, err, kind end
  return token and M.learn(context, token_kind, token)
end

--- Offers the store once more what it refused. Returns true when nothing is left unsaved, else nil, err, kind.
function M.save(context)
  local state, left = M.state(context), nil
  for _, token_kind in ipairs(M.kinds) do
    state.tried[token_kind] = false
    if state.exchanges[token_kind] then M.recover(context, token_kind) end
    if state.unsaved[token_kind] then save_unsaved(context, token_kind) end
    left = left or state.unsaved[token_kind] and token_kind
  end
  if not left then return true end
  return errors.failure("store", string.format("the %s token of account '%s' could not be saved", left, context.config.account))
end

--- The client is closed: offers the store what it refused, and wipes the tokens once all of them are safe there.
function M.close(context)
  if not M.save(context) then return end
  local state = M.state(context)
  for _, known in pairs(state.known) do known.token:close() end
  for _, refused in pairs(state.refused) do
    if refused then refused.token:close() end
  end
  context.tokens = nil
end

--- "use", "refresh" or "login", and the seconds that the access token has left (nil: not known). rejected: the access token
--- that the service just answered with 401, or nil.
function M.choose(context, token, rejected)
  if not token then return "login" end
  local mono, wall = context.clock()
  return token:choose(mono, wall, rejected)
end

--- Notes that the service refused a refresh token, so that it is not offered again at every call.
function M.refused(context, token_kind, token)
  M.state(context).refused[token_kind] = { token = token, at = (context.clock()) }
end

return M
