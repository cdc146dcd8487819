-- The newest token of each kind (user, partner, business) that this process can know of: as the store has it, as an
-- exchange has just brought it, or as the store refused it.
--
-- What an exchange brings is never lost (doc/protocol.md#refresh-tokens): its reply and an empty token to take it are kept
-- here before it is sent, so that an error raised afterwards leaves a pair that the next call finds, uses and saves.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local pcall = require("fleet.util.compat").pcall -- what it calls may wait
local tasks = require "fleet.async"

local M = {}

local look_again = 60 -- seconds after which another process's newer pair is noticed
local out_of_memory = "not enough memory" -- the words of Lua
local save_again = 1 -- seconds between attempts to save what the store refused

M.kinds = { "user", "partner", "business" }

local Slot = {}
Slot.__index = Slot

--- What this process knows of the token of a kind: known, read at read_at; unsaved, which the store refused and was offered at
--- tried; refused at refused_at, whose refresh token is no longer good; the exchange under way. Each is a member from the
--- beginning: to keep what an exchange brings takes no memory. key: of the store; its lease is the right to exchange.
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

-- A store of the caller's may raise: that is a failure like any other. A cancelled task ends.
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

--- Writes a token so that it lasts. options: those of store:put. Returns its generation, or nil, err, kind.
function Slot.put(slot, token, options)
  options.durable = true
  local generation, err, kind = ask_store(slot, "put", token:json(), options)
  if generation or err then return generation, err, kind end
  return errors.failure("store", "the store does not say whether it has the new tokens")
end

--- The newest token, from the store unless it refused a newer one: token, generation in the store; false, generation where
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

--- The exchange brought nothing, or what it brought is safe.
function Slot.forget(slot)
  local exchange = slot.exchange
  slot.exchange = false
  if exchange and exchange.reply then exchange.reply:close() end
end

--- Keeps a token that the store refused: it is used, and saved when the store can again.
function Slot.keep(slot, token, err)
  slot.unsaved, slot.tried, slot.refused = token, (slot.context.clock()), false
  slot:forget()
  pcall(slot.report, slot, "token_unsaved", err)
end

--- Takes a token as the newest that is stored.
function Slot.learn(slot, token)
  if slot.known then token:age_of(slot.known) end
  slot.known, slot.read_at = token, (slot.context.clock())
  return token
end

--- The token is in the store. The exchange is forgotten last: until then what raises leaves it to be recovered.
function Slot.saved(slot, token)
  slot:learn(token)
  slot.unsaved, slot.refused = false, false
  slot:forget()
  return token
end

--- Notes that the service refused a refresh token, so that it is not offered again at every call.
function Slot.refuse(slot, token)
  slot.refused, slot.refused_at = token, (slot.context.clock())
end

--- Something raised out of the exchange of this kind, if there is one.
function Slot.interrupted(slot)
  if slot.exchange then slot.exchange.running = false end
end

-- The reply of a request whose promise was abandoned, now or later; nil where it was never sent.
local function reply_on_the_wire(promise)
  if not promise or not promise.token then return nil end
  return tasks.await(promise)
end

-- A host's own HTTP may have delivered an answer that was not read as a reply before the interruption.
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
  if not failure then slot.tried = false end -- the store was not asked yet
  return exchange.token, made and err or nil
end

-- ---- the newest ----

local function save_unsaved(slot)
  local token, mono = slot.unsaved, slot.context.clock()
  if slot.tried and mono - slot.tried < save_again then return end
  slot.tried = mono
  local stored, generation = read_stored(slot)
  if stored == nil then return end
  if stored and not token:newer(stored) then -- another process exchanged or signed in meanwhile
    slot:saved(stored)
  elseif slot:put(token, { generation = generation }) then
    slot:saved(token)
    slot:report "token_saved"
  end
end

-- What an exchange left behind is taken, and what the store refused is offered to it again.
local function save_pending(slot)
  if slot.exchange then slot:recover() end
  if slot.unsaved then save_unsaved(slot) end
  return slot.unsaved
end

--- The token that was read a moment ago, where no other is under way; else nil.
function Slot.at_hand(slot)
  if slot.exchange or slot.unsaved or not slot.known then return nil end
  return (slot.context.clock()) - slot.read_at < look_again and slot.known or nil
end

--- The newest token that this process can know of: token, false where there is none, or nil, err, kind. fresh: ask the
--- store even if it was asked a moment ago.
function Slot.newest(slot, fresh)
  local found = save_pending(slot) or not fresh and slot:at_hand()
  if found then return found end
  local known = slot.known
  local token, err, kind = slot:read()
  if token == nil and known then return known end -- the store fails; what was read is still good
  if token == nil then return nil, err, kind end
  return token and slot:learn(token)
end

--- Removes the token from the store and forgets it. Returns true, or nil, err, kind.
function Slot.remove(slot)
  local done, err, kind = ask_store(slot, "delete")
  if not done and kind and kind ~= "not_found" then return nil, err, kind end
  slot:forget()
  slot.known, slot.unsaved, slot.refused, slot.tried = false, false, false, false
  return true
end

--- Offers the store once more what it refused. Returns true when nothing is left unsaved, else nil, err, kind.
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

--- The client is closed: offers the store what it refused, and wipes the tokens once all of them are safe there.
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
