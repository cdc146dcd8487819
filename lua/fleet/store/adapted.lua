-- Wraps the caller's store so that its answers can be relied on: an error that it raises is a failure of the store, and each result has the
-- type that the contract promises.

local core = require "fleet.core"
local counters = require "fleet.store.counters"
local errors = require "fleet.util.errors"
local object = require "fleet.store.object"
local pcall_waiting = require("fleet.util.compat").pcall -- the called functions may yield
local tables = require "fleet.util.tables"

-- ---- failures ----

local function failed(method, kind, text)
  return errors.failure(kind, "the store's '" .. method .. "' " .. text)
end

-- Turns a raised error into a failure; a cancelled task ends. The text raised by put may quote the value, so only its place is shown.
local function raised(method, value)
  if type(value) == "table" and value.kind == "cancelled" then error(value, 0) end
  local text = tostring(value)
  if method == "put" then text = string.match(text, "^[^\n]-:%d+:") or "" end
  return failed(method, "store", "raised an error: " .. text)
end

local function is_kind(name)
  for _, kind in ipairs(core.kinds()) do
    if kind.name == name then return true end
  end
  return false
end

-- Returns nil, err, kind for a store that returned nil; an err table of its own is passed on.
local function refused(method, err, kind)
  if type(err) == "table" and err.kind then return nil, err, kind or err.kind end
  return failed(method, is_kind(kind) and kind or "store", "failed: " .. tostring(err))
end

local function wrong(method, value, expected)
  return failed(method, "store", string.format("returned a %s: %s expected", type(value), expected))
end

-- ---- answers ----

local function is_finite(value)
  return type(value) == "number" and value > -math.huge and value < math.huge
end

-- Whether the value has members. Some JSON decoders return a light userdata for null, which has none.
local function is_object(value, member)
  return type(value) == "table" or type(value) == "userdata" and pcall(function() return value[member] end)
end

local function done(method, value, err, kind)
  if not value then return refused(method, err, kind) end
  return true
end

-- Checks that the value is an object with these functions.
local function object_with(method, what, names, value, err, kind)
  if value == nil then return refused(method, err, kind) end
  if not is_object(value, names[1]) then return wrong(method, value, what) end
  for _, name in ipairs(names) do
    if type(value[name]) ~= "function" then return wrong(method, value, what .. " with the function '" .. name .. "'") end
  end
  return value
end

-- The valid results of each method: function(second argument of the call, its results) -> value, or nil, err, kind.
local answers = {}

function answers.get(_, value, generation, kind)
  if value == nil and (generation == nil or generation == 0) then return nil, 0 end
  if value == nil then return refused("get", generation, kind) end
  if type(value) ~= "string" then return wrong("get", value, "a string or nil") end
  if not is_finite(generation) then return wrong("get", generation, "a generation (number) after the value") end
  return value, generation
end

function answers.put(_, generation, err, kind)
  if generation == nil then return refused("put", err, kind) end
  if not is_finite(generation) then return wrong("put", generation, "a generation (number)") end
  return generation
end

function answers.add(amounts, totals, err, kind)
  if totals == nil then return refused("add", err, kind) end
  if type(totals) ~= "table" then return wrong("add", totals, "a table of totals") end
  for name in pairs(amounts) do
    if not is_finite(totals[name]) then return wrong("add", totals, "the total of '" .. name .. "'") end
  end
  return totals
end

function answers.delete(_, ...) return done("delete", ...) end

function answers.flush(_, ...) return done("flush", ...) end

function answers.renew(_, ...) return done("renew", ...) end

function answers.release(_, value, err, kind)
  if not value and err ~= nil then return refused("release", err, kind) end
  return true
end

function answers.close() return true end

function answers.due(_, seconds)
  return type(seconds) == "number" and seconds or nil
end

function answers.reserve(_, ...)
  return object_with("reserve", "a ticket", { "close" }, ...)
end

function answers.lease(_, ...)
  local lease, err, kind = object_with("lease", "a lease", { "renew", "release" }, ...)
  if lease and not is_finite(lease.fence) then return wrong("lease", lease, "a lease with the number 'fence'") end
  return lease, err, kind
end

local unimportant = { close = true, due = true } -- their errors are not reported

local function answered(method, given, ran, ...)
  if ran then return answers[method](given, ...) end
  local _, err, kind = raised(method, ...)
  if unimportant[method] then return answers[method](given) end
  return nil, err, kind
end

local function ask(target, method, ...)
  return answered(method, (select(2, ...)), pcall_waiting(target[method], target, ...))
end

-- ---- leases and tickets ----

local function asking(...)
  local methods = {}
  for _, name in ipairs { ... } do
    methods[name] = function(self) return ask(self.own, name) end
  end
  return { __index = methods }
end

local Lease, Ticket = asking("renew", "release"), asking "close"

-- ---- the store ----

local Adapted = {}
Adapted.__index = Adapted

for _, name in ipairs { "get", "delete" } do
  Adapted[name] = function(self, ...) return ask(self.own, name, ...) end
end

function Adapted.put(self, key, value, put)
  local own = tables.copy(put, { lease = put.lease and put.lease.own, ticket = put.ticket and put.ticket.own })
  own.behind = nil
  return ask(self.own, "put", key, value, own)
end

local most_tries = 100

-- Implements add for a store without it: counters are text, written by compare-and-swap. After a conflict it reads and tries again.
local function add_by_comparing(self, key, amounts, options)
  for _ = 1, most_tries do
    local value, generation, kind = Adapted.get(self, key)
    if value == nil and kind then return nil, generation, kind end
    local text, totals, problem = counters.add(value or "", amounts)
    if not text then return nil, totals, problem end
    if next(amounts) == nil then return totals end
    local put, err, why = Adapted.put(self, key, text, { generation = generation, ttl = options.ttl })
    if put then return totals end
    if why ~= "conflict" then return nil, err, why end
  end
  return errors.failure("store", "others have kept changing the counters of '" .. key .. "'")
end

function Adapted.add(self, key, amounts, options)
  if not self.own.add then return add_by_comparing(self, key, amounts, options) end
  return ask(self.own, "add", key, amounts, options)
end

function Adapted.reserve(self, key, bytes)
  local own, err, kind = ask(self.own, "reserve", key, bytes)
  if not own then return nil, err, kind end
  return setmetatable({ key = key, own = own }, Ticket)
end

function Adapted.lease(self, key, ttl)
  local own, err, kind = ask(self.own, "lease", key, ttl)
  if not own then return nil, err, kind end
  return setmetatable({ key = key, fence = own.fence, own = own }, Lease)
end

function Adapted.flush(self, most)
  if not self.own.flush then return true end
  return ask(self.own, "flush", most)
end

function Adapted.due(self)
  if self.own.due then return ask(self.own, "due") end
end

-- The caller closes the caller's store.
Adapted.close = Adapted.flush

-- Raises when the value cannot serve as a store.
local function check(store)
  if not is_object(store, "get") then errors.usage("bad option 'store': a store expected, got %s", type(store)) end
  for _, name in ipairs { "get", "put", "delete", "reserve", "lease" } do
    if type(store[name]) ~= "function" then errors.usage("bad option 'store': it has no function '%s'", name) end
  end
  for _, name in ipairs { "flush", "due", "add" } do
    if store[name] ~= nil and type(store[name]) ~= "function" then errors.usage("bad option 'store': its '%s' is no function", name) end
  end
end

--- Returns the store for a client: ours as it is, the caller's with its answers checked. Raises when the value cannot serve as a store.
return function(store)
  if object.is_store(store) then return store end
  check(store)
  return object.new("fleet.store (the caller's)", setmetatable({ own = store }, Adapted))
end
