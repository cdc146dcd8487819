-- The newest token of each kind (user, partner, business) that this process knows: read from the store, from an exchange, or one that the
-- store rejected.
--
-- The result of an exchange is never lost (doc/protocol.md#refresh-tokens). The objects for its reply and its token are kept here before
-- the request is sent. When an error is raised afterwards, the next call finds the token pair, uses it and saves it.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local pcall = require("fleet.util.compat").pcall -- the called functions may yield
local tasks = require "fleet.async"

local M = {}

local look_again = 60 -- seconds after which the store is read again, because another process may have refreshed
local out_of_memory = "not enough memory" -- Lua's own message
local save_again = 1 -- seconds between attempts to save a token that the store rejected

M.kinds = { "user", "partner", "business" }

local Slot = {}
Slot.__index = Slot

--- The state of one kind of token in this process. known: the token read at read_at; unsaved: the token that the store rejected, last
--- offered at tried; refused: a token whose refresh token the service rejected at refused_at; the exchange in flight. All members exist
--- from the start: keeping the result of an exchange allocates nothing. key: of the store; its lease is the right to exchange.
function M.slot(context, token_kind)
  local slots = context.tokens.slots
  if not slots[token_kind] then
    slots[token_kind] = setmetatable({
      context = context, kind = token_kind, key = "token/" .. context.config.account .. "/" .. token_kind,
      known = false, read_at = 0, unsaved = false, tried = false, refused = false, refused_at = 0, exchange = false,
    }, Slot)
  end
  return slots[token_kind]
end

function Slot.report(slot, name, err)
  local context = slot.context
  context.report {
    name = name, account = context.config.account, token = slot.kind, kind = err and err.kind, message = err and err.message,
  }
end

-- ---- the store ----

-- An error raised by the caller's store is a failure like any other. A cancelled task ends.
local function ask_store(slot, method, ...)
  local store = slot.context.store
  local ok, value, more, kind = pcall(store[method], store, slot.key, ...)
  if ok then return value, more, kind end
  if type(value) == "table" and value.kind == "cancelled" then error(value, 0) end
  return errors.failure("store", "the store raised: " .. tostring(value))
end

local function read_stored(slot)
  local text, generation, kind = ask_store(slot, "get")
  if text == nil and kind then return nil, generation, kind end
  local token = text and core.token_record(text) or false
  if text and not token then slot:report "token_unreadable" end
  if token and slot.known then token:age_of(slot.known) end
  if token then token:begin(slot.context.clock()) end
  return token, generation
end

--- Writes a token durably. options: those of store:put. Returns its generation, or nil, err, kind.
function Slot.put(slot, token, options)
  options.durable = true
  local generation, err, kind = ask_store(slot, "put", token:json(), options)
  if generation or err then return generation, err, kind end
  return errors.failure("store", "the store does not say whether it has the new tokens")
end

--- The newest token: from the store, unless the store rejected a newer one. Returns token, generation in the store; false, generation when
--- there is none; nil, err, kind.
function Slot.read(slot)
  local stored, generation, kind = read_stored(slot)
  local unsaved = slot.unsaved
  if not unsaved or stored and not unsaved:newer(stored) then return stored, generation, kind end
  return unsaved, stored ~= nil and generation or 0
end

-- ---- an exchange ----

--- Prepares an exchange: allocates everything that keeps its result. facts: see token:take of the core.
function Slot.expect(slot, facts)
  facts.token, facts.request, facts.reply, facts.issued, facts.running = core.token(), false, false, false, true
  facts.mono, facts.wall = slot.context.clock()
  slot.exchange = facts
  return facts
end

--- Forgets the exchange: it brought nothing, or its result is saved.
function Slot.forget(slot)
  local exchange = slot.exchange
  slot.exchange = false
  if exchange and exchange.reply then exchange.reply:close() end
end

--- Keeps a token that the store rejected: it is used, and saved once the store accepts it.
function Slot.keep(slot, token, err)
  slot.unsaved, slot.tried, slot.refused = token, (slot.context.clock()), false
  slot:forget()
  pcall(slot.report, slot, "token_unsaved", err)
end

--- Takes a token as the newest stored one.
function Slot.learn(slot, token)
  if slot.known then token:age_of(slot.known) end
  slot.known, slot.read_at = token, (slot.context.clock())
  return token
end

--- Records that the token is stored. The exchange is forgotten last: until then an error leaves the token recoverable.
function Slot.saved(slot, token)
  slot:learn(token)
  slot.unsaved, slot.refused = false, false
  slot:forget()
  return token
end

--- Records that the service rejected a refresh token, so that later calls do not send it again.
function Slot.refuse(slot, token)
  slot.refused, slot.refused_at = token, (slot.context.clock())
end

--- Handles an error that was raised during the exchange of this kind, if there is one.
function Slot.interrupted(slot)
  if slot.exchange then slot.exchange.running = false end
end

-- The reply of a request whose promise was abandoned, now or later; nil when it was never sent.
local function reply_on_the_wire(promise)
  if not promise or not promise.token then return nil end
  return tasks.await(promise)
end

-- A host's own HTTP may have delivered an answer that was not read as a reply before the interruption.
local function reply_of_host(request)
  if not request.answer then return nil end
  local read, reply = pcall(core.reply, request.answer)
  if not read and reply == out_of_memory then error(reply, 0) end -- it can be read later
  request.answer = false
  return read and reply
end

-- The reply of an interrupted exchange, if one came.
local function reply_of(exchange)
  local request = exchange.request
  if not exchange.reply and request then
    exchange.reply = reply_on_the_wire(request.promise) or reply_of_host(request) or false
  end
  return exchange.reply
end

--- After an error was raised during an exchange: returns the token that the exchange brought, which stays in memory, or nil.
--- failure: the raised error, if it is known.
function Slot.recover(slot, failure)
  local exchange = slot.exchange
  if not exchange or exchange.running then return nil end
  if not exchange.issued and not (reply_of(exchange) and exchange.token:take(exchange)) then return slot:forget() end
  local made, err = pcall(errors.new, "store", "the new tokens are not saved: " .. tostring(failure or "interrupted"))
  slot:keep(exchange.token, made and err or nil)
  if not failure then slot.tried = false end -- the store has not been asked yet
  return exchange.token, made and err or nil
end

-- ---- the newest token ----

local function save_unsaved(slot)
  local token, mono = slot.unsaved, slot.context.clock()
  if slot.tried and mono - slot.tried < save_again then return end
  slot.tried = mono
  local stored, generation = read_stored(slot)
  if stored == nil then return end
  if stored and not token:newer(stored) then -- another process has exchanged or signed in
    slot:saved(stored)
  elseif slot:put(token, { generation = generation }) then
    slot:saved(token)
    slot:report "token_saved"
  end
end

-- Recovers the token of an interrupted exchange, and offers the store again the token that it rejected.
local function save_pending(slot)
  if slot.exchange then slot:recover() end
  if slot.unsaved then save_unsaved(slot) end
  return slot.unsaved
end

--- The token that was read recently, if no other one is pending; else nil.
function Slot.at_hand(slot)
  if slot.exchange or slot.unsaved or not slot.known then return nil end
  return (slot.context.clock()) - slot.read_at < look_again and slot.known or nil
end

--- The newest token that this process can know: token, false when there is none, or nil, err, kind. fresh = true: reads the store even if
--- it was read recently.
function Slot.newest(slot, fresh)
  local found = save_pending(slot) or not fresh and slot:at_hand()
  if found then return found end
  local known = slot.known
  local token, err, kind = slot:read()
  if token == nil and known then return known end -- the store fails; the token read before is still good
  if token == nil then return nil, err, kind end
  return token and slot:learn(token)
end

--- Removes the token from the store and from memory. Returns true, or nil, err, kind.
function Slot.remove(slot)
  local done, err, kind = ask_store(slot, "delete")
  if not done and kind and kind ~= "not_found" then return nil, err, kind end
  slot:forget()
  slot.known, slot.unsaved, slot.refused, slot.tried = false, false, false, false
  return true
end

--- Offers the store again the tokens that it rejected. Returns true when all are saved, else nil, err, kind.
function M.save(context)
  local left
  for _, token_kind in ipairs(M.kinds) do
    local slot = M.slot(context, token_kind)
    slot.tried = false
    left = save_pending(slot) and (left or slot) or left
  end
  if not left then return true end
  return errors.failure("store", string.format("the %s token of account '%s' could not be saved", left.kind, context.config.account))
end

--- Called when the client closes: offers the store the tokens that it rejected, and wipes the tokens once all are saved.
function M.close(context)
  if not M.save(context) then return end
  for _, token_kind in ipairs(M.kinds) do
    local slot = M.slot(context, token_kind)
    if slot.known then slot.known:close() end
    if slot.refused then slot.refused:close() end
  end
  context.tokens = nil
end

return M
