-- fleet.store.memory(): everything in one table, gone with the process. The smallest reading of the store
-- contract.

local contract = require "fleet.store"
local errors = require "fleet.util.errors"

--- Opens a store. options: clock, function() -> mono, wall (default: fleet.store.clock).
return function(options)
  local clock = contract.clock_of(options)
  local records, leases, fences = {}, {}, {}
  local last_generation = 0
  local acts = {}

  local function current(key)
    local record = records[key]
    if record and record.ends and record.ends <= (clock()) then
      records[key], record = nil, nil
    end
    return record
  end

  local passing = contract.passing(current) -- looking at a record whose time has passed removes it

  local function conflict(what)
    return errors.failure("conflict", what)
  end

  function acts.get(key)
    local record = current(key)
    if not record then return nil, 0 end
    return record.value, record.generation
  end

  local function refusal(key, generation, lease)
    if lease and leases[key] ~= lease then return "the lease was lost to somebody else" end
    local record = current(key)
    local found = record and record.generation or 0
    if generation and generation ~= found then return "somebody else wrote the key" end
  end

  function acts.put(key, value, put)
    put = put or {}
    local refused = refusal(key, put.generation, put.lease)
    if refused then return conflict(refused) end
    if put.ttl then passing(key, (clock()), (clock()) + put.ttl) end
    last_generation = last_generation + 1
    records[key] = { value = value, generation = last_generation, ends = put.ttl and (clock()) + put.ttl }
    return last_generation
  end

  function acts.delete(key, generation)
    local refused = refusal(key, generation)
    if refused then return conflict(refused) end
    records[key] = nil
    return true
  end

  function acts.reserve(key)
    return { key = key, close = function() end }
  end

  local function held(key)
    local lease = leases[key]
    return lease and lease.ends > (clock())
  end

  function acts.lease(key, ttl)
    if held(key) then return errors.failure("busy", "the lease is held by somebody else") end
    fences[key] = (fences[key] or 0) + 1
    local lease = { key = key, fence = fences[key], ends = (clock()) + ttl }
    leases[key] = lease
    function lease.renew()
      if leases[key] ~= lease then return conflict("the lease was lost to somebody else") end
      lease.ends = (clock()) + ttl
      return true
    end
    function lease.release()
      if leases[key] == lease then leases[key] = nil end
      return true
    end
    return lease
  end

  return contract.object("fleet.store.memory", acts)
end
