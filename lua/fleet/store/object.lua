-- What every store is from outside: an object whose arguments are checked in one place, before what it does.

local bucket = require "fleet.util.bucket"
local errors = require "fleet.util.errors"

local M = {}

local failure = errors.failure

-- ---- arguments ----

local function bad(method, position, text)
  errors.usage("bad argument #%d to '%s': %s", position, method, text)
end

local function check_key(method, key)
  if type(key) ~= "string" then bad(method, 1, "a key (string) expected, got " .. type(key)) end
  if #key == 0 or #key > 512 or string.find(key, "%c") then
    bad(method, 1, "a key is 1 to 512 bytes without control characters")
  end
end

local function check_count(method, position, value, what)
  if type(value) == "number" and value >= 0 and value < math.huge then return end
  bad(method, position, what .. " expected")
end

local put_options = {
  generation = "number", durable = "boolean", behind = "boolean", ttl = "number", ticket = "table", lease = "table",
}

local function check_put_options(key, options)
  if type(options) ~= "table" then bad("put", 3, "a table of options expected") end
  for name, value in pairs(options) do
    local wanted = put_options[name]
    if not wanted then bad("put", 3, "unknown option '" .. tostring(name) .. "'") end
    if type(value) ~= wanted then bad("put", 3, string.format("option '%s' must be a %s", name, wanted)) end
  end
  for _, name in ipairs { "lease", "ticket" } do
    local given = options[name]
    if given and given.key ~= key then bad("put", 3, "the " .. name .. " is of another key") end
  end
end

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

local function check_amounts(amounts)
  if type(amounts) ~= "table" then bad("add", 2, "a table of amounts expected, got " .. type(amounts)) end
  for name, amount in pairs(amounts) do
    if type(name) ~= "string" or #name > 128 or not string.find(name, "^[^%c%s]+$") then
      bad("add", 2, "a counter's name is 1 to 128 bytes without spaces")
    end
    if type(amount) ~= "number" or amount % 1 ~= 0 or math.abs(amount) > 9e15 then
      bad("add", 2, "the amount of '" .. name .. "' must be a whole number")
    end
  end
end

local function check_add_options(options)
  if type(options) ~= "table" then bad("add", 3, "a table of options expected") end
  for name, value in pairs(options) do
    if name ~= "ttl" then bad("add", 3, "unknown option '" .. tostring(name) .. "'") end
    check_count("add", 3, value, "option 'ttl': seconds")
  end
end

-- What each method takes after its key: the store itself sees only what is right.
local takes = {}

function takes.get()
end

function takes.put(key, value, options)
  if type(value) ~= "string" then bad("put", 2, "a value (string) expected, got " .. type(value)) end
  if options ~= nil then check_put_options(key, options) end
end

--- Adds to counters that stand under one key, in one step that everybody sees at once. amounts: { name = whole number }; at most
--- 256 of them. options.ttl: seconds that the key lives on, from now. Returns the totals of these names; those of all names where
--- amounts is empty, which changes nothing. Or nil, err, kind.
function takes.add(_, amounts, options)
  check_amounts(amounts)
  if options ~= nil then check_add_options(options) end
end

local turn_options = { most = true, now = true, within = true, rest = true, named = true }

--- Takes a turn of the token bucket under a key, of which everybody sees the same. step.most: calls a minute; now: UTC seconds, of which a
--- store with a clock of its own takes no notice; within: seconds. Returns the seconds until the turn, which is not taken where they
--- are more. With step.rest nothing goes for so many seconds; named: the limit that the service said, or nil. Or nil, err, kind.
function takes.turn(_, step)
  if type(step) ~= "table" then bad("turn", 2, "a table expected, got " .. type(step)) end
  for name, value in pairs(step) do
    if not turn_options[name] then bad("turn", 2, "unknown member '" .. tostring(name) .. "'") end
    check_count("turn", 2, value, "member '" .. name .. "': a number from 0 on")
  end
  if step.now and (step.most or 0) > 0 and (step.within or step.rest) then return end
  bad("turn", 2, "most above 0, now, and within or rest expected")
end

function takes.delete(_, generation)
  if generation ~= nil then check_count("delete", 2, generation, "a generation") end
end

function takes.reserve(_, bytes) check_count("reserve", 2, bytes, "a number of bytes") end

function takes.lease(_, ttl) check_count("lease", 2, ttl, "seconds") end

local no_options = {}

-- What a store need not do itself.
local stand_in = { turn = bucket.step }

for method, check in pairs(takes) do
  Store[method] = function(store, key, value, options)
    local acts, err, kind = acts_of(store, method)
    check_key(method, key)
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
  check_key(method, key)
  takes[method](key, value, options)
  return acts:begin(method, key, value, options or no_options, more)
end

-- ---- what is done to the whole ----

--- Writes what is held back: all of it, or at most so many records.
function Store.flush(store, most)
  local acts, err, kind = acts_of(store, "flush")
  if not acts then return nil, err, kind end
  if not acts.flush then return true end
  return acts:flush(most)
end

--- Seconds until something is due to be written, or nil.
function Store.due(store)
  local acts, err, kind = acts_of(store, "due")
  if not acts then return nil, err, kind end
  return acts.due and acts:due()
end

--- Whether machines rely on it that know nothing of each other.
function Store.shared(store)
  local acts = acts_of(store, "shared")
  return acts ~= nil and acts.shared ~= nil and acts:shared()
end

--- What an operator must know of a store that others run: a list of { name =, ok =, message =, fix = }, or nil, err, kind.
function Store.findings(store)
  local acts, err, kind = acts_of(store, "findings")
  if not acts then return nil, err, kind end
  if not acts.findings then return {} end
  return acts:findings()
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
