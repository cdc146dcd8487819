-- fleet.store.file(directory): one file per key, for several processes of one machine.
--
-- A record is replaced by renaming a finished file over it, so that a reader sees the old or the new one
-- and a crash leaves one of them. Changes are ordered by a lock on one file that is never renamed or
-- removed and holds the last generation; it is held for the length of one write. A lease is a lock on a
-- file of its own, with its fence in it: it ends with the process, whatever happens to it, and its ttl is
-- ignored. flock is mapped to byte ranges by network file systems: share a store between machines through a
-- server, not through a network file system.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local contract = require "fleet.store"

local version = "fleet-store 1"
local record_limit = 1048576
local behind = 1 -- seconds between writes that nobody waits for
local lock_tries, lock_pause = 2000, 0.0025
local reserved = ".reserved" -- ending of a draft whose space is proved

local failure = errors.failure

-- ---- one record as text ----

-- version, checksum of what follows, "generation fence ends" (wall milliseconds, 0: never), key, value: a
-- line each. Whole numbers, because a host's locale may write a comma.
local function encode(key, record)
  local numbers = string.format("%.0f %.0f %.0f", record.generation, record.fence, (record.ends or 0) * 1000)
  local rest = numbers .. "\n" .. key .. "\n" .. record.value
  return version .. "\n" .. core.sha256(rest) .. "\n" .. rest
end

local function decode(text)
  local checksum, rest = string.match(text, "^" .. string.gsub(version, "%-", "%%-") .. "\n(%x+)\n(.*)$")
  if not checksum or checksum ~= core.sha256(rest) then return nil end
  local generation, fence, ends, key, value = string.match(rest, "^(%d+) (%d+) (%d+)\n([^\n]*)\n(.*)$")
  if not generation then return nil end
  return {
    generation = tonumber(generation), fence = tonumber(fence), ends = tonumber(ends) / 1000,
    key = key, value = value,
  }
end

-- ---- the directory ----

-- 0 to 63 are the bits of group and others.
local function open_to_others(facts)
  return facts.mode % 64 ~= 0
end

local function open_directory(directory, warn)
  local made, err, kind = core.directory_make(directory)
  if not made then return nil, err, kind end
  local path
  path, err, kind = core.real_path(directory)
  if not path then return nil, err, kind end
  local facts
  facts, err, kind = core.directory_facts(path)
  if not facts then return nil, err, kind end
  if not facts.mine then
    return failure("store", "the store directory belongs to another user: choose one of your own")
  end
  if open_to_others(facts) then
    warn(string.format("the store directory %s is open to others (mode %o): chmod 700 it", path, facts.mode))
  end
  return path
end

local function sweep(directory)
  for _, name in ipairs(core.directory_list(directory) or {}) do
    if string.match(name, "^%x+%.%w%w%w%w%w%w$") then core.file_sweep(directory .. "/" .. name) end
  end
end

-- ---- the store ----

local function open(directory, options)
  options = options or {}
  local clock, sleep = contract.clock_of(options), options.sleep or core.pause
  local warned = {}
  local function warn(text)
    if options.warn and not warned[text] then options.warn(text) end
    warned[text] = true
  end

  local path, path_err, path_kind = open_directory(directory, warn)
  if not path then return nil, path_err, path_kind end
  sweep(path)

  local pending = {} -- key -> record that nobody waits for
  local last_written -- mono seconds of the last such write
  local acts = {}

  local function file_of(key)
    return core.sha256(key)
  end

  local function wall()
    local _, now = clock()
    return now
  end

  -- ---- reading ----

  local function damaged(name, key)
    local what = string.match(key, "^[^/]*")
    warn(string.format("the stored file %s is damaged and is ignored (%s)", name, what))
  end

  -- The record, or nil; nil, err, kind when the file cannot be read.
  local function read(key)
    local name = file_of(key)
    local text, facts, kind = core.file_read(path .. "/" .. name, record_limit + 2048)
    if not text and kind == "not_found" then return nil end
    if not text then return nil, facts, kind end
    if not facts.mine then return failure("store", "the stored file " .. name .. " belongs to another user") end
    if open_to_others(facts) then warn("the stored file " .. name .. " is open to others: chmod 600 it") end
    if string.match(text, "^fleet%-store %d+\n") and string.sub(text, 1, #version + 1) ~= version .. "\n" then
      return failure("store", "the stored file " .. name .. " was written by a newer version of fleet")
    end
    local record = decode(text)
    if not record or record.key ~= key then
      damaged(name, key)
      return nil
    end
    return record
  end

  local function alive(record)
    return record and (record.ends == 0 or wall() < record.ends)
  end

  function acts.get(key)
    local record, err, kind = pending[key], nil, nil
    if not record then record, err, kind = read(key) end
    if err then return nil, err, kind end
    if not alive(record) then return nil, 0 end
    return record.value, record.generation
  end

  -- ---- changing ----

  -- Runs act(lock) while no other process or state changes anything.
  local function exclusively(act)
    local lock, err, kind
    for _ = 1, lock_tries do
      lock, err, kind = core.file_lock(path .. "/lock")
      if lock or kind ~= "busy" then break end
      sleep(lock_pause)
    end
    if not lock then return nil, err, kind end
    local value
    value, err, kind = act(lock)
    lock:close()
    return value, err, kind
  end

  local function next_generation(lock, record)
    local drawn, err, kind = lock:number()
    if not drawn then return nil, err, kind end
    return lock:number(math.max(drawn, record and record.generation or 0) + 1)
  end

  local function refusal(record, generation, lease)
    if lease and (lease.released or record and record.fence > lease.fence) then
      return "the lease was lost to somebody else"
    end
    local found = alive(record) and record.generation or 0
    if generation and generation ~= found then return "somebody else wrote the key" end
  end

  local function save(key, record, durable, ticket)
    local draft, err, kind = ticket and ticket.draft, nil, nil
    if not draft then draft, err, kind = core.file_draft(path, file_of(key)) end
    if not draft then return nil, err, kind end
    local done
    done, err, kind = draft:write(encode(key, record), durable)
    if done then done, err, kind = draft:keep(durable) end
    draft:close()
    if not done then return nil, err, kind end
    return record.generation
  end

  local function ends_of(put)
    return put.ttl and wall() + put.ttl or 0
  end

  local function write(key, value, put)
    return exclusively(function(lock)
      local record, err, kind = read(key)
      if err then return nil, err, kind end
      local refused = refusal(record, put.generation, put.lease)
      if refused then return failure("conflict", refused) end
      local generation
      generation, err, kind = next_generation(lock, record)
      if not generation then return nil, err, kind end
      local fence = math.max(put.lease and put.lease.fence or 0, record and record.fence or 0)
      local fresh = { value = value, generation = generation, fence = fence, ends = ends_of(put) }
      return save(key, fresh, put.durable, put.ticket)
    end)
  end

  -- ---- writing behind ----

  -- The generation was drawn when the caller put; what somebody else wrote since then is newer and stays.
  local function flush_key(key)
    local waiting = pending[key]
    if not waiting then return true end
    local done, err, kind = exclusively(function()
      local record, read_err, read_kind = read(key)
      if read_err then return nil, read_err, read_kind end
      if record and record.generation >= waiting.generation then return true end
      waiting.fence = record and record.fence or 0
      return save(key, waiting, false)
    end)
    if not done then
      warn("the store cannot be written, what is not a token stays in memory: " .. err.message)
      return nil, err, kind
    end
    if pending[key] == waiting then pending[key] = nil end
    return true
  end

  function acts.flush()
    local failed
    last_written = clock()
    local keys = {}
    for key in pairs(pending) do keys[#keys + 1] = key end
    for _, key in ipairs(keys) do
      local done, err, kind = flush_key(key)
      if not done then failed = failed or { err, kind } end
    end
    if failed then return nil, failed[1], failed[2] end
    return true
  end

  function acts.due()
    if next(pending) == nil then return nil end
    return math.max((last_written or 0) + behind - (clock()), 0)
  end

  local function put_behind(key, value, put)
    local known = pending[key] or read(key)
    local generation = exclusively(function(lock) return next_generation(lock, known) end)
    generation = generation or (known and known.generation or 0) + 1
    pending[key] = { value = value, generation = generation, ends = ends_of(put) }
    if not last_written or (clock()) - last_written >= behind then acts.flush() end
    return generation
  end

  local passing = contract.passing(function(key)
    exclusively(function()
      local record = read(key)
      return record and not alive(record) and core.file_remove(path .. "/" .. file_of(key))
    end)
  end)

  function acts.put(key, value, put)
    put = put or {}
    if put.ttl then passing(key, wall(), ends_of(put)) end
    if #value > record_limit then return failure("store", "the value is too large to be stored") end
    -- What others decide by (a compare, a lease) they must see at once.
    local nobody_waits = not (put.durable or put.generation or put.lease or put.ticket)
    if nobody_waits then return put_behind(key, value, put) end
    local flushed, err, kind = flush_key(key)
    if not flushed then return nil, err, kind end
    return write(key, value, put)
  end

  function acts.delete(key, generation)
    local flushed, flush_err, flush_kind = flush_key(key)
    if not flushed then return nil, flush_err, flush_kind end
    return exclusively(function()
      local record, err, kind = read(key)
      if err then return nil, err, kind end
      local refused = refusal(record, generation)
      if refused then return failure("conflict", refused) end
      return core.file_remove(path .. "/" .. file_of(key))
    end)
  end

  -- ---- tickets and leases ----

  local function reserved_draft(key)
    local draft, err, kind = core.file_draft(path, file_of(key), reserved)
    if draft or kind ~= "busy" then return draft, err, kind end
    return core.file_draft(path, file_of(key))
  end

  -- A process that was killed between writing and renaming may have left the only copy of a pair of tokens.
  local function recover(key)
    local left = path .. "/" .. file_of(key) .. reserved
    local text = core.file_read(left, record_limit + 2048)
    local record = text and decode(text)
    if not record or record.key ~= key then return end
    exclusively(function()
      local current = read(key)
      if current and current.generation >= record.generation then return true end
      return save(key, record, true)
    end)
  end

  function acts.reserve(key, bytes)
    local reached, lock_err, lock_kind = exclusively(function(lock) return lock:number() end)
    if not reached then return nil, lock_err, lock_kind end
    local draft, err, kind = reserved_draft(key)
    if not draft then return nil, err, kind end
    local done
    done, err, kind = draft:reserve(math.floor(bytes) + #key + 256)
    if not done then
      draft:close()
      return nil, err, kind
    end
    return { key = key, draft = draft, close = function() draft:close() end }
  end

  local function next_fence(lock, key)
    local fence, err, kind = lock:number()
    if not fence then return nil, err, kind end
    local record = read(key)
    return lock:number(math.max(fence, record and record.fence or 0) + 1)
  end

  function acts.lease(key)
    local lock, err, kind = core.file_lock(path .. "/" .. file_of(key) .. ".lease")
    if not lock then return nil, err, kind end
    recover(key)
    local fence
    fence, err, kind = next_fence(lock, key)
    if not fence then
      lock:close()
      return nil, err, kind
    end
    local lease = { key = key, fence = fence, released = false }
    function lease.renew()
      if lease.released then return failure("conflict", "the lease was released") end
      local same, renew_err, renew_kind = lock:number()
      if not same then return nil, renew_err, renew_kind end
      return true
    end
    function lease.release()
      if lease.released then return true end
      lease.released = true
      flush_key(key)
      lock:close()
      return true
    end
    return lease
  end

  acts.close = acts.flush
  return contract.object("fleet.store.file (" .. path .. ")", acts)
end

--- Opens the store in a directory, which is made with mode 0700 when it is not there. options: clock,
--- function() -> mono, wall (default: fleet.store.clock); sleep, function(seconds), for the moments in
--- which another process writes; warn, function(text), told of damaged files and open permissions. Returns
--- a store, or nil, err, kind.
return function(directory, options)
  if type(directory) ~= "string" or directory == "" or string.find(directory, "%z") then
    errors.usage("fleet.store.file: a directory expected")
  end
  return open(directory, options)
end
