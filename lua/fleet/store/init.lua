-- The contract that every store keeps, and the way to open one by name.
--
-- A store (lua/fleet/store/<name>.lua) is a function that returns closures for what it does; here they
-- become an object whose arguments are checked in one place. What stores promise, and why each promise is
-- needed, is in doc/manual/stores.md; spec/contract/stores_spec.lua tries every promise on every store.

local core = require "fleet.core"
local errors = require "fleet.util.errors"

local M = {}

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
  generation = "number", durable = "boolean", ttl = "number", ticket = "table", lease = "table",
}

local function check_put_options(key, options)
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

local checks = {}

function checks.get(key)
  check_key("get", key)
end

function checks.put(key, value, options)
  check_key("put", key)
  if type(value) ~= "string" then bad("put", 2, "a value (string) expected, got " .. type(value)) end
  if options ~= nil then
    if type(options) ~= "table" then bad("put", 3, "a table of options expected") end
    check_put_options(key, options)
  end
end

function checks.delete(key, generation)
  check_key("delete", key)
  if generation ~= nil then check_count("delete", 2, generation, "a generation") end
end

function checks.reserve(key, bytes)
  check_key("reserve", key)
  check_count("reserve", 2, bytes, "a number of bytes")
end

function checks.lease(key, ttl)
  check_key("lease", key)
  check_count("lease", 2, ttl, "seconds")
end

local function nothing()
end

-- The object may be used with a colon, or its functions alone: get(key).
local function method(object, state, name, act)
  local check = checks[name] or nothing
  local function checked(...)
    check(...)
    if state.closed then return errors.failure("closed", "the store is closed") end
    return act(...)
  end
  return function(first, ...)
    if first == object then return checked(...) end
    return checked(first, ...)
  end
end

--- A store object of the closures get, put, delete, reserve, lease and, where the store writes behind,
--- flush and due. label: what it prints as. close: called once, or nil.
function M.object(label, acts)
  local object, state = {}, { closed = false }
  for _, name in ipairs { "get", "put", "delete", "reserve", "lease" } do
    object[name] = method(object, state, name, acts[name])
  end
  object.flush = acts.flush and method(object, state, "flush", acts.flush) or function() return true end
  object.due = acts.due and method(object, state, "due", acts.due) or nothing
  function object.close()
    if state.closed then return true end
    state.closed = true
    if acts.close then return acts.close() end
    return true
  end
  local function print_label()
    return label .. (state.closed and " (closed)" or "")
  end
  return setmetatable(object, { __name = "fleet.store", __tostring = print_label, __close = object.close })
end

--- What stores measure time by when they are given no clock: () -> mono, wall. A host's loop may set it.
M.clock = core.clock

--- The clock of a store's options, or the common one.
function M.clock_of(options)
  return options and options.clock or function() return M.clock() end
end

local forget_every = 60 -- seconds

--- Sign-ins that nobody finishes must not pile up. Returns passing(key, now, ends), to be called for each key
--- that is put with a ttl; it calls forget(key) for the earlier ones whose time has passed, once a minute.
function M.passing(forget)
  local ends_of, last = {}, nil
  local function ended(now)
    local keys = {}
    for key, ends in pairs(ends_of) do
      if ends <= now then keys[#keys + 1] = key end
    end
    return keys
  end
  return function(key, now, ends)
    ends_of[key] = ends
    if last and now - last < forget_every then return end
    last = now
    for _, old in ipairs(ended(now)) do
      ends_of[old] = nil
      forget(old)
    end
  end
end

--- Raises unless the value can serve as a store: what a caller's own store must have.
function M.check(store)
  if type(store) ~= "table" and type(store) ~= "userdata" then
    errors.usage("bad option 'store': a store expected, got " .. type(store))
  end
  for _, name in ipairs { "get", "put", "delete", "reserve", "lease" } do
    if not store[name] then errors.usage("bad option 'store': it has no function '" .. name .. "'") end
  end
  return store
end

--- Opens by text, as the command line and FLEET_STORE say it: "memory", "file:/path", or a path.
function M.open(text, options)
  if text == "memory" then return M.memory(options) end
  local name, rest = string.match(text, "^(%l+):(.+)$")
  if name then return M[name](rest, options) end
  return M.file(text, options)
end

--- fleet.store.<name>(...) opens the store of lua/fleet/store/<name>.lua.
return setmetatable(M, {
  __index = function(_, name)
    local found, store = pcall(require, "fleet.store." .. tostring(name))
    if not found then errors.usage("there is no store '" .. tostring(name) .. "' (" .. tostring(store) .. ")") end
    M[name] = store
    return store
  end,
})
