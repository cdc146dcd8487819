-- A store of the caller's, made into one whose answers can be relied upon: what it raises is a failure of the store, and
-- what it answers is of the kind that the contract promises.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local object = require "fleet.store.object"
local pcall = require("fleet.util.compat").pcall -- what it calls may wait

local failure = errors.failure

-- ---- calling ----

local function is_cancellation(value)
  return type(value) == "table" and value.kind == "cancelled"
end

-- A raised text may quote what was to be stored.
local function describe(method, raised)
  local text = tostring(raised)
  if method == "put" then text = string.match(text, "^[^\n]-:%d+:") or "" end
  return string.format("the store's '%s' raised an error: %s", method, text)
end

-- nil, err, kind of what a store said with nil.
local function refused(method, err, kind)
  if type(err) ~= "table" or not err.kind then
    return failure(type(kind) == "string" and kind or "store", string.format("the store's '%s' failed: %s", method, tostring(err)))
  end
  return nil, err, kind or err.kind
end

local function call(target, method, ...)
  local ran, value, more, kind = pcall(target[method], target, ...)
  if ran then return value, more, kind end
  if is_cancellation(value) then error(value, 0) end
  return failure("store", describe(method, value))
end

local function wrong(method, value, expected)
  return failure("store", string.format("the store's '%s' returned a %s: %s expected", method, type(value), expected))
end

-- ---- leases and tickets ----

local function lacks(value, names)
  if type(value) ~= "table" and type(value) ~= "userdata" then return "" end
  for _, name in ipairs(names) do
    if type(value[name]) ~= "function" then return " with the function '" .. name .. "'" end
  end
end

local Lease = {}
Lease.__index = Lease

function Lease.renew(lease)
  local done, err, kind = call(lease.own, "renew")
  if done then return true end
  return refused("renew", err, kind)
end

function Lease.release(lease)
  local done, err, kind = call(lease.own, "release")
  if done or err == nil then return true end
  return refused("release", err, kind)
end

local Ticket = {}
Ticket.__index = Ticket

function Ticket.close(ticket)
  call(ticket.own, "close")
  return true
end

-- ---- the store ----

local Adapted = {}
Adapted.__index = Adapted

function Adapted.get(self, key)
  local value, generation, kind = call(self.own, "get", key)
  if value == nil and (generation == nil or generation == 0) then return nil, 0 end
  if value == nil then return refused("get", generation, kind) end
  if type(value) ~= "string" then return wrong("get", value, "a string or nil") end
  if type(generation) ~= "number" then return wrong("get", generation, "a generation (number) after the value") end
  return value, generation
end

local function own_options(put)
  local own = {}
  for name, value in pairs(put) do own[name] = value end
  own.behind = nil
  own.lease, own.ticket = put.lease and put.lease.own, put.ticket and put.ticket.own
  return own
end

function Adapted.put(self, key, value, put)
  local generation, err, kind = call(self.own, "put", key, value, own_options(put))
  if generation == nil then return refused("put", err, kind) end
  if type(generation) ~= "number" then return wrong("put", generation, "a generation (number)") end
  return generation
end

local most_tries = 100

-- A store without 'add' keeps the counters as text and compares: whoever comes second reads again.
local function add_by_comparing(self, key, amounts, options)
  for _ = 1, most_tries do
    local value, generation, kind = Adapted.get(self, key)
    if value == nil and kind then return nil, generation, kind end
    if next(amounts) == nil then return core.counters(value or "") end
    local text, totals, failed = core.counters_add(value or "", amounts)
    if not text then return nil, totals, failed end
    local put, err, why = Adapted.put(self, key, text, { generation = generation, ttl = options.ttl })
    if put then return totals end
    if why ~= "conflict" then return nil, err, why end
  end
  return failure("store", "others have kept changing the counters of '" .. key .. "'")
end

function Adapted.add(self, key, amounts, options)
  if not self.own.add then return add_by_comparing(self, key, amounts, options) end
  local totals, err, kind = call(self.own, "add", key, amounts, options)
  if totals == nil then return refused("add", err, kind) end
  if type(totals) ~= "table" then return wrong("add", totals, "a table of totals") end
  for name in pairs(amounts) do
    if type(totals[name]) ~= "number" then return wrong("add", totals, "the total of '" .. name .. "'") end
  end
  return totals
end

function Adapted.delete(self, key, generation)
  local done, err, kind = call(self.own, "delete", key, generation)
  if done then return true end
  return refused("delete", err, kind)
end

function Adapted.reserve(self, key, bytes)
  local own, err, kind = call(self.own, "reserve", key, bytes)
  if own == nil then return refused("reserve", err, kind) end
  local missing = lacks(own, { "close" })
  if missing then return wrong("reserve", own, "a ticket" .. missing) end
  return setmetatable({ key = key, own = own }, Ticket)
end

function Adapted.lease(self, key, ttl)
  local own, err, kind = call(self.own, "lease", key, ttl)
  if own == nil then return refused("lease", err, kind) end
  local missing = lacks(own, { "renew", "release" })
  if missing then return wrong("lease", own, "a lease" .. missing) end
  if type(own.fence) ~= "number" then return wrong("lease", own, "a lease with the number 'fence'") end
  return setmetatable({ key = key, fence = own.fence, own = own }, Lease)
end

function Adapted.flush(self, most)
  if not self.own.flush then return true end
  local done, err, kind = call(self.own, "flush", most)
  if done then return true end
  return refused("flush", err, kind)
end

function Adapted.due(self)
  local seconds = self.own.due and call(self.own, "due")
  return type(seconds) == "number" and seconds or nil
end

-- The caller's store is the caller's to close.
Adapted.close = Adapted.flush

local function check(store)
  if type(store) ~= "table" and type(store) ~= "userdata" then
    errors.usage("bad option 'store': a store expected, got %s", type(store))
  end
  for _, name in ipairs { "get", "put", "delete", "reserve", "lease" } do
    if type(store[name]) ~= "function" then errors.usage("bad option 'store': it has no function '%s'", name) end
  end
  for _, name in ipairs { "flush", "due", "add" } do
    if store[name] ~= nil and type(store[name]) ~= "function" then errors.usage("bad option 'store': its '%s' is no function", name) end
  end
  return store
end

--- Raises where the value cannot serve as a store.
return function(store)
  return object.new("fleet.store (the caller's)", setmetatable({ own = check(store) }, Adapted))
end
