-- A store of the caller's, made into one whose answers can be relied upon: what it raises is a failure of the store, and
-- what it answers is of the kind that the contract promises (src/bind/store/answers.c).

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local object = require "fleet.store.object"
local pcall = require("fleet.util.compat").pcall -- what it calls may wait
local tables = require "fleet.util.tables"

local function ask(target, method, ...)
  return core.store_answer(method, (select(2, ...)), pcall(target[method], target, ...))
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

-- The caller's store is the caller's to close.
Adapted.close = Adapted.flush

--- A store for a client: one of ours as it is, one of the caller's with its answers checked. Raises where the value cannot
--- serve as a store.
return function(store)
  if object.is_store(store) then return store end
  core.store_check(store)
  return object.new("fleet.store (the caller's)", setmetatable({ own = store }, Adapted))
end
