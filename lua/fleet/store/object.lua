-- The interface of every store: an object that checks arguments in one place before the store's own functions run.

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

-- The store's own functions; nil, err, kind when it is closed.
local function acts_of(store, method)
  if not is_store(store) then errors.usage("call it with a colon: store:%s(...)", method) end
  if not store.closed then return store.acts end
  return failure("closed", "the store is closed")
end

-- ---- operations on a key ----
--
-- add(key, amounts, options) adds to the counters of a key atomically. amounts: { name = whole number }, at most 256. options.ttl: seconds
-- until the key expires, from now. Returns the totals of these names, or nil, err, kind. Empty amounts change nothing and return the totals
-- of all names.
--
-- pace(key, step) takes a token from the token bucket of a key, which all processes share. step.most: calls a minute; now: UTC seconds,
-- ignored by a store with its own clock; within: seconds. Returns the seconds until the call may start, or nil, err, kind. When they
-- exceed within, no token is taken. step.rest blocks the bucket for so many seconds; named: the limit that the service named, or nil.

local no_options = {}

-- Methods that a store may lack.
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

--- Starts `add` or `pace` and returns a function that waits for its result. The operation runs even if that function is never called. more
--- = true: another call of this store follows at once, so that both can be sent in one write.
function Store.begin(store, method, key, value, options, more)
  local acts, err, kind = acts_of(store, "begin")
  if not acts then return known(nil, err, kind) end
  if not acts.begin then return known(Store[method](store, key, value, options)) end
  arguments[method](key, value, options)
  return acts:begin(method, key, value, options or no_options, more)
end

-- ---- operations on the whole store, or under a lease ----

-- Each method, with the default for a store without it.
local others = {
  flush = function() return true end, -- (most): writes the deferred records: all, or at most so many
  due = function() end, -- seconds until a deferred record is due, or nil
  shared = function() return false end, -- whether independent machines may use it
  findings = function() return {} end, -- what an operator must know: a list of { name =, ok =, message =, fix = }
}

for method, absent in pairs(others) do
  Store[method] = function(store, ...)
    local acts, err, kind = acts_of(store, method)
    if not acts then return nil, err, kind end
    return (acts[method] or absent)(acts, ...)
  end
end

--- Whether the store may defer writes.
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

--- A store from an object with the methods get, put, add, delete, reserve, lease and, if it defers writes, flush and due. close is called
--- once. label: the printed name of the store.
function M.new(label, acts)
  return setmetatable({ label = label, acts = acts, closed = false }, Store)
end

return M
