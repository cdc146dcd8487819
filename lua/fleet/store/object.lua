-- What every store is from outside: an object whose arguments are checked in one place, before what it does.

local arguments = require "fleet.store.arguments"
local bucket = require "fleet.util.bucket"
local errors = require "fleet.util.errors"

local M = {}

local failure = errors.failure

-- ---- the object ----

local Store = { __name = "fleet.store" }
Store.__index = Store

local function is_store(value)
  return type(value) == "table" and getmetatable(value) == Store
end
M.is_store = is_store

-- What the store does; nil, err, kind when it is closed.
local function acts_of(store, method)
  if not is_store(store) then errors.usage("call it with a colon: store:%s(...)", method) end
  if not store.closed then return store.acts end
  return failure("closed", "the store is closed")
end

-- ---- what is done under a key ----
--
-- add(key, amounts, options) adds to counters that stand under one key, in one step that everybody sees at once. amounts: { name =
-- whole number }; at most 256 of them. options.ttl: seconds that the key lives on, from now. Returns the totals of these names; those
-- of all names where amounts is empty, which changes nothing. Or nil, err, kind.
--
-- turn(key, step) takes a turn of the token bucket under a key, of which everybody sees the same. step.most: calls a minute; now: UTC
-- seconds, of which a store with a clock of its own takes no notice; within: seconds. Returns the seconds until the turn, which is not
-- taken where they are more. With step.rest nothing goes for so many seconds; named: the limit that the service said, or nil. Or nil,
-- err, kind.

local no_options = {}

-- What a store need not do itself.
local stand_in = { turn = bucket.step }

for method, check in pairs(arguments) do
  Store[method] = function(store, key, value, options)
    local acts, err, kind = acts_of(store, method)
    check(key, value, options)
    if not acts then return nil, err, kind end
    return (acts[method] or stand_in[method])(acts, key, value, options or no_options)
  end
end

local function known(...)
  local value, err, kind = ...
  return function() return value, err, kind end
end

--- Begins `add` or `turn` and returns a function that waits for what it gives; it is done also where nobody calls that. more: another
--- call of this store follows at once, with which it may leave.
function Store.begin(store, method, key, value, options, more)
  local acts, err, kind = acts_of(store, "begin")
  if not acts then return known(nil, err, kind) end
  if not acts.begin then return known(Store[method](store, key, value, options)) end
  arguments[method](key, value, options)
  return acts:begin(method, key, value, options or no_options, more)
end

-- ---- what is done to the whole, or under a lease ----

-- Each method, and what it gives where the store has none.
local others = {
  flush = function() return true end, -- (most): writes what is held back: all of it, or at most so many records
  due = function() end, -- seconds until something is due to be written, or nil
  shared = function() return false end, -- whether machines rely on it that know nothing of each other
  findings = function() return {} end, -- what an operator must know of it: a list of { name =, ok =, message =, fix = }
}

for method, absent in pairs(others) do
  Store[method] = function(store, ...)
    local acts, err, kind = acts_of(store, method)
    if not acts then return nil, err, kind end
    return (acts[method] or absent)(acts, ...)
  end
end

--- Whether it ever holds back what it is given.
function Store.delays(store)
  return store.acts.due ~= nil
end

function Store.close(store)
  if store.closed then return true end
  local acts = acts_of(store, "close")
  store.closed = true
  if acts.close then return acts:close() end
  return true
end
Store.__close = Store.close

function Store.__tostring(store)
  return store.label .. (store.closed and " (closed)" or "")
end

--- A store of an object with the methods get, put, add, delete, reserve, lease and, where it writes behind, flush and
--- due; close is called once. label: what the store prints as.
function M.new(label, acts)
  return setmetatable({ label = label, acts = acts, closed = false }, Store)
end

return M
