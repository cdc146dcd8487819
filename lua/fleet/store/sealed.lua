-- Seals the tokens, sessions and proxy answers of any store (src/store/seal). A plain record is read as it is and sealed at its next write.
-- A record that the key cannot open is never overwritten.
--
-- Once one token of an account is sealed, all are, and the record sealed/<account> says so. A plain token that is found later was written
-- by another program and is rejected.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local object = require "fleet.store.object"

local Sealed = {}
Sealed.__index = Sealed

local mark = core.seal_mark

local token_kinds = { "user", "partner", "business" }

local function is_sealed(value)
  return string.sub(value, 1, #mark) == mark
end

-- The first part of a record's key. Tokens, sessions and the answers that a proxy stores (an invitation's code is one) are secret; counters
-- and settings are not.
local secret_words = { token = true, session = true, proxy = true }

local function is_secret(key)
  return secret_words[string.match(key, "^[^/]*")] or false
end

-- The value as it is stored; or nil, err, kind when it cannot be sealed.
local function seal(self, key, value)
  if not self.key or not is_secret(key) then return value end
  return self.key:seal(key, value)
end

local function unseal(self, key, value)
  if not is_secret(key) or not is_sealed(value) then return value end
  if self.key then return self.key:unseal(key, value) end
  return errors.failure("store", "a stored record is sealed: give the store_key that it was sealed with")
end

local function account_of(key)
  return string.match(key, "^token/(.+)/[^/]+$")
end

-- Whether all tokens of the account are known to be sealed.
local function is_sealed_account(self, account)
  if not self.accounts[account] and self.inner:get("sealed/" .. account) then self.accounts[account] = true end
  return self.accounts[account] or false
end

-- Seals a stored plain record. Returns whether the record is now sealed, or absent.
local function seal_in_place(self, key)
  local value, generation, kind = self.inner:get(key)
  if value == nil then return kind == nil end
  if is_sealed(value) then return true end
  local sealed = seal(self, key, value)
  return sealed ~= nil and self.inner:put(key, sealed, { generation = generation, durable = true }) ~= nil
end

-- Seals the other tokens of an account after one was sealed.
local function seal_account(self, account)
  if is_sealed_account(self, account) then return end
  for _, kind in ipairs(token_kinds) do
    if not seal_in_place(self, "token/" .. account .. "/" .. kind) then return end -- tried again with the next token that is written
  end
  if self.inner:put("sealed/" .. account, "1", { durable = true }) then self.accounts[account] = true end
end

-- A plain token is rejected when all were sealed; it may be overwritten and deleted.
local function refused(self, key)
  local account = account_of(key)
  if not (self.key and account and is_sealed_account(self, account)) then return nil end
  self.proved[key] = true
  local text = "the stored tokens of account '%s' are not sealed, though they were: another program may have put them there. "
    .. "Remove them with client:logout(), and sign in again"
  return select(2, errors.failure("store", text:format(account)))
end

-- Notes that the stored value was sealed with our key, so that it may be overwritten.
function Sealed.get(self, key)
  local value, generation, kind = self.inner:get(key)
  self.proved[key] = nil
  if value == nil and kind then return nil, generation, kind end
  if value and not is_sealed(value) then
    local err = refused(self, key)
    if err then return nil, err, err.kind end
  end
  if value and (self.key or is_sealed(value)) then -- without a key, only sealed records
    local plain, err, failed = unseal(self, key, value)
    if not plain then return nil, err, failed end
    value = plain
  end
  self.proved[key] = true
  return value, generation
end

local function prove(self, key)
  if self.proved[key] or not is_secret(key) then return true end
  local _, err, kind = Sealed.get(self, key)
  if self.proved[key] then return true end
  return nil, err, kind
end

function Sealed.put(self, key, value, options)
  local proved, err, kind = prove(self, key)
  if not proved then return nil, err, kind end
  value, err, kind = seal(self, key, value)
  if not value then return nil, err, kind end
  local generation
  generation, err, kind = self.inner:put(key, value, options)
  local account = generation and self.key and account_of(key)
  if account then seal_account(self, account) end
  return generation, err, kind
end

function Sealed.delete(self, key, generation)
  local proved, err, kind = prove(self, key)
  if not proved then return nil, err, kind end
  return self.inner:delete(key, generation)
end

local overhead = 128 -- bytes: more than sealing adds

function Sealed.reserve(self, key, bytes)
  return self.inner:reserve(key, bytes + overhead)
end

-- Forgets what is known of the record: another process may have written before this lease.
function Sealed.lease(self, key, ttl)
  self.proved[key] = nil
  return self.inner:lease(key, ttl)
end

-- Methods that need no sealing: counters and rate limits are not secret.
for _, method in ipairs { "add", "pace", "begin", "flush", "due", "shared", "findings", "close" } do
  Sealed[method] = function(self, ...) return self.inner[method](self.inner, ...) end
end

--- A store around inner, which it closes. key: of core.store_key, or nil: then nothing is sealed, and reading a sealed record fails.
return function(inner, key)
  return object.new(tostring(inner), setmetatable({ inner = inner, key = key, proved = {}, accounts = {} }, Sealed))
end
