-- A store whose tokens and sessions are sealed (src/store/seal), around any store. A plain record is read as it is and sealed
-- at its next write; one that the key does not open is never written over.

local core = require "fleet.core"
local object = require "fleet.store.object"

local Sealed = {}
Sealed.__index = Sealed

local mark = core.seal_mark

-- Remembers that what stands under the key is ours to write over.
function Sealed.get(self, key)
  local value, generation, kind = self.inner:get(key)
  self.proved[key] = nil
  if value == nil and kind then return nil, generation, kind end
  if value and (self.key or string.sub(value, 1, #mark) == mark) then -- without a key, only what a sealed record is
    local plain, err, failed = core.unseal_record(self.key, key, value)
    if not plain then return nil, err, failed end
    value = plain
  end
  self.proved[key] = true
  return value, generation
end

local function prove(self, key)
  if self.proved[key] or not core.is_secret_record(key) then return true end
  local _, err, kind = Sealed.get(self, key)
  if self.proved[key] then return true end
  return nil, err, kind
end

function Sealed.put(self, key, value, options)
  local proved, err, kind = prove(self, key)
  if not proved then return nil, err, kind end
  if self.key then value, err, kind = core.seal_record(self.key, key, value) end
  if not value then return nil, err, kind end
  return self.inner:put(key, value, options)
end

function Sealed.delete(self, key, generation)
  local proved, err, kind = prove(self, key)
  if not proved then return nil, err, kind end
  return self.inner:delete(key, generation)
end

local overhead = 128 -- bytes that sealing adds, and more

function Sealed.reserve(self, key, bytes)
  return self.inner:reserve(key, bytes + overhead)
end

-- Between two leases somebody else may have written.
function Sealed.lease(self, key, ttl)
  self.proved[key] = nil
  return self.inner:lease(key, ttl)
end

-- What sealing has no part in. Counts and rate limits are no secrets.
for _, method in ipairs { "add", "turn", "begin", "flush", "due", "shared", "findings", "close" } do
  Sealed[method] = function(self, ...) return self.inner[method](self.inner, ...) end
end

--- A store around inner, which it closes. key: of core.store_key, or nil: then nothing is sealed, and a sealed
--- record is a failure.
return function(inner, key)
  return object.new(tostring(inner), setmetatable({ inner = inner, key = key, proved = {} }, Sealed))
end
