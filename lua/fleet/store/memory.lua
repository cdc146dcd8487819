-- fleet.store.memory(): all records in one table, lost with the process. The smallest implementation of the store contract.

local counters = require "fleet.store.counters"
local errors = require "fleet.util.errors"
local contract = require "fleet.store"

local M = {}

local function conflict(what)
  return errors.failure("conflict", what)
end

-- ---- leases and tickets ----

local Lease = {}
Lease.__index = Lease

function Lease.renew(lease)
  local leases = lease.store.leases
  if leases[lease.key] ~= lease then return conflict("another process has the lease now") end
  lease.ends = (lease.store.clock()) + lease.ttl
  return true
end

function Lease.release(lease)
  local leases = lease.store.leases
  if leases[lease.key] == lease then leases[lease.key] = nil end
  return true
end

-- ---- the store ----

local Memory = {}
Memory.__index = Memory

local function current(self, key)
  local record = self.records[key]
  if record and record.ends and record.ends <= (self.clock()) then
    self.records[key], record = nil, nil
  end
  return record
end

local function refusal(self, key, generation, lease)
  if lease and self.leases[key] ~= lease then return "another process has the lease now" end
  local record = current(self, key)
  local found = record and record.generation or 0
  if generation and generation ~= found then return "another process wrote the key" end
end

function Memory.get(self, key)
  local record = current(self, key)
  if not record then return nil, 0 end
  return record.value, record.generation
end

local function keep(self, key, value, ttl)
  local generation, now = self.generation + 1, self.clock()
  self.generation = generation
  self.records[key] = { value = value, generation = generation, ends = ttl and now + ttl }
  self.ends:note(key, ttl, now)
  return generation
end

function Memory.put(self, key, value, put)
  local refused = refusal(self, key, put.generation, put.lease)
  if refused then return conflict(refused) end
  return keep(self, key, value, put.ttl)
end

function Memory.add(self, key, amounts, options)
  local text = Memory.get(self, key) or ""
  local totals, kind
  text, totals, kind = counters.add(text, amounts)
  if not text then return nil, totals, kind end
  if next(amounts) ~= nil then keep(self, key, text, options.ttl) end
  return totals
end

function Memory.delete(self, key, generation)
  local refused = refusal(self, key, generation)
  if refused then return conflict(refused) end
  self.records[key] = nil
  return true
end

function Memory.reserve(_, key)
  return { key = key, close = function() return true end }
end

function Memory.lease(self, key, ttl)
  local current_lease, now = self.leases[key], self.clock()
  if current_lease and current_lease.ends > now then return errors.failure("busy", "another process holds the lease") end
  local fence = (self.fences[key] or 0) + 1
  self.fences[key] = fence
  local lease = setmetatable({ key = key, fence = fence, ttl = ttl, ends = now + ttl, store = self }, Lease)
  self.leases[key] = lease
  return lease
end

--- Opens a store. options: clock, function() -> mono, wall (default: fleet.store.clock).
function M.open(options)
  local self = setmetatable({ clock = contract.clock_of(options), records = {}, leases = {}, fences = {}, generation = 0 }, Memory)
  self.ends = contract.new_ends(function(key) current(self, key) end) -- reading an expired record removes it
  return contract.object("fleet.store.memory", self)
end

--- For specs: an empty store of its own.
M.sample = M.open

return M
