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

-- ---- operations on a key ----
--
-- add(key, amounts, options) adds to the counters of a key atomically. amounts: { name = whole number }, at most 256. options.ttl:
-- seconds until the key expires, from now. Returns the totals of these names, or nil, err, kind. Empty amounts change nothing and
-- return the totals of all names.
--
-- pace(key, step) takes a token from the token bucket of a key, which all processes share. step.most: calls a minute; now: UTC seconds,
-- ignored by a store with its own clock; within: seconds. Returns the seconds until the call may start, or nil, err, kind. When they
-- exceed within, no token is taken. step.rest blocks the bucket for so many seconds; named: the limit that the service named, or nil.

local no_options = {}

-- Methods that a store may leave out.
local fallbacks = { pace = bucket.step }

for method, check in pairs(arguments) do
  Store[method] = function(store, key, value, options)
    local acts, err, kind = acts_of(store, method)
    check(key, value, options)
    if not acts then return nil, err, kind end
    return (acts[method] or fallbacks[method])(acts, key, value, options or no_options)
  end
end

local function known(...)
  local value, err, kind = ...
  return function() return value, err, kind end
end

--- Starts `add` or `pace` and returns a function that waits for its result. The operation runs even if that function is never called.
--- more: another call of this store follows at once, so that both can leave in one write.
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
  flush = function() return true end, -- (most): writes the deferred records: all, or at most so many
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
