-- fleet.store.redis(address): one Redis server for any number of processes on any number of machines.
--
-- redis/scripts.lua runs on the server, redis/link.lua sends the commands. This file saves round trips: a lease also returns its record,
-- and a deferred put is sent together with the release of its lease, without waiting for the reply.

local address = require "fleet.store.redis.address"
local async = require "fleet.async"
local compat = require "fleet.util.compat"
local contract = require "fleet.store"
local core = require "fleet.core"
local errors = require "fleet.util.errors"
local findings = require "fleet.store.redis.findings"
local new_link = require "fleet.store.redis.link"
local scripts = require "fleet.store.redis.scripts"
local tables = require "fleet.util.tables"

local failure, unpack = errors.failure, compat.unpack

local largest = 1048576
local defaults = {
  prefix = "fleet/", replicas = 0,
  settle = 2, -- seconds for owners to take their leases again, after Redis came back without its data
}
local snapshot_seconds = 1 -- for which the value that came with a lease is used as the stored one

local refusals = {
  lease = { "conflict", "another process has the lease now" },
  generation = { "conflict", "another process wrote the key" },
  counters = { "store", "the value under the key is not a set of counters" },
  busy = { "busy", "another process holds the lease" },
}

-- The result of a script, or nil, err, kind when the script returned a word for a failure.
local function answer(value, err, kind)
  local refusal = refusals[value]
  if refusal then return failure(refusal[1], refusal[2]) end
  return value, err, kind
end

local function text_of(number)
  return string.format("%.0f", number)
end

local function milliseconds(seconds)
  return text_of(math.max(math.min(seconds, 1e9), 0) * 1000)
end

-- ---- the store ----

local Redis = {}
Redis.__index = Redis

-- Milliseconds by which the caller's clock has moved since the store was opened: the server's clock moves by itself.
local function moved(self)
  if not self.clock then return "0" end
  return text_of((self.clock() - self.opened_at) * 1000)
end

local function script_key(self, key)
  return self.place.prefix .. key
end

local function run(self, script, key, ...)
  return answer(self.link:call(script, script_key(self, key), moved(self), ...))
end

-- A unique name for a write, lease or reservation.
local function fresh_name(self)
  self.drawn = self.drawn + 1
  return self.client .. ":" .. text_of(self.drawn)
end

-- ---- leases ----

local Lease = {}
Lease.__index = Lease

local function seconds_left(lease)
  return lease.ends - async.real()
end

local function forget(lease)
  local leases = lease.store.leases
  if leases[lease.key] == lease then leases[lease.key] = nil end
end

function Lease.renew(lease)
  if lease.released then return failure("conflict", "the lease was released") end
  local before = async.real()
  local done, err, kind = run(lease.store, scripts.renew, lease.key, lease.owner, milliseconds(lease.ttl))
  if not done then return nil, err, kind end
  lease.ends = before + lease.ttl
  return true
end

-- Sends the deferred put, together with the release of the lease if release is "1".
local function post_behind(lease, release)
  local self, deferred = lease.store, lease.deferred
  lease.deferred = nil
  self.link:post(math.max(seconds_left(lease), 1), scripts.put, script_key(self, lease.key), moved(self), deferred.write, deferred.value,
    "", deferred.ttl, lease.owner, "", text_of(deferred.generation), release)
end

-- Remembers a release. A replica that replaces the server may not have it; the lease would then block others.
local function remember_release(lease)
  local self, now = lease.store, async.real()
  local left = lease.ends - now
  if left <= 0 then return end
  self.released[lease.key] = lease.owner
  self.released_until:note(lease.key, left, now)
end

function Lease.release(lease)
  if lease.released then return true end
  lease.released = true
  forget(lease)
  remember_release(lease)
  if lease.deferred then
    post_behind(lease, "1")
    return true
  end
  local done, err, kind = run(lease.store, scripts.release, lease.key, lease.owner)
  if not done then return nil, err, kind end
  return true
end

-- The commands that restore this process's leases and durable records on a restarted server. forgot = true: the server lost all its data.
local function memories(self, forgot)
  local words, now = {}, async.real()
  for key, kept in pairs(self.kept) do
    local left = kept.ends and kept.ends - now
    if not left or left > 0 then
      words[#words + 1] = {
        "EVALSHA", scripts.restore.sha, "1", script_key(self, key), moved(self), kept.value, text_of(kept.generation), forgot and "1" or "",
        left and milliseconds(left) or "",
      }
    end
  end
  for key, owner in pairs(self.released) do
    words[#words + 1] = { "EVALSHA", scripts.release.sha, "1", script_key(self, key), moved(self), owner }
  end
  for key, lease in pairs(self.leases) do
    local left = seconds_left(lease)
    if left > 0 then
      words[#words + 1] = {
        "EVALSHA", scripts.resume.sha, "1", script_key(self, key), moved(self), lease.owner, text_of(lease.fence), milliseconds(left),
      }
    end
  end
  return words
end

-- Remembers the last put of a key until it expires.
local function keep(self, key, value, generation, ttl)
  local now = async.real()
  self.kept[key] = { value = value, generation = generation, ends = ttl and now + ttl }
  self.ends:note(key, ttl, now)
end

local shared_first_words = { token = true, claims = true }

-- Seconds for which a deletion is remembered: as long as another process may still remember the record.
local function marked_for(key)
  return shared_first_words[string.match(key, "^[^/]*")] and 90 * 86400 or 86400
end

-- Remembers the last seen value of a token or of a vehicle's owner, also when another process wrote it.
local function seen(self, key, value, generation)
  if not value then
    self.kept[key] = nil
  elseif shared_first_words[string.match(key, "^[^/]*")] then
    keep(self, key, value, generation)
  end
end

-- Handles a missing record. One that is missing without a delete was evicted, or expired because the server's clock was set. If this store
-- remembers it, it restores it. deleted, value, generation: the server's. Returns value or false, and generation; or nil, err, kind.
local function given_back(self, key, deleted, value, generation)
  local kept = self.kept[key]
  local left = kept and kept.ends and kept.ends - async.real()
  local is_lost = not value and deleted == 0 and kept and not (left and left <= 0)
  if is_lost then
    local found, err, kind = run(self, scripts.restore, key, kept.value, text_of(kept.generation), "1", left and milliseconds(left) or "")
    if not found then return nil, err, kind end
    value, generation = found[2], found[3]
  end
  if not (is_lost and value == kept.value) then seen(self, key, value, generation) end
  return value, generation
end

-- Rejects new leases while other processes may still own leases that the server has lost.
local function is_quiet(self)
  local ready, err, kind = self.link:ready()
  if not ready then return nil, err, kind end
  if async.real() >= self.link.quiet_until then return true end
  return failure("busy", "Redis has just started without data: the owners of leases take them again first")
end

function Redis.lease(self, key, ttl)
  local ready, err, kind = is_quiet(self)
  if not ready then return nil, err, kind end
  local before, owner = async.real(), fresh_name(self)
  local found
  found, err, kind = run(self, scripts.lease, key, owner, milliseconds(ttl))
  if not found then return nil, err, kind end
  local lease = setmetatable({
    key = key, fence = found[1], ttl = ttl, ends = before + ttl, owner = owner, store = self, released = false,
  }, Lease)
  self.leases[key] = lease
  local value, generation, why = given_back(self, key, found[2], found[3], found[4])
  if value == nil then
    Lease.release(lease)
    return nil, generation, why
  end
  lease.generation, lease.snapshot = generation, { value = value or nil, generation = generation, taken = async.real() }
  return lease
end

-- ---- values ----

-- The value of a key that is known because this process has its lease: its deferred put, or, once, the value that came with the lease.
local function leased_value(self, key)
  local lease = self.leases[key]
  if not lease then return nil end
  if lease.deferred then return lease.deferred end
  local snapshot = lease.snapshot
  lease.snapshot = nil
  return snapshot and async.real() - snapshot.taken < snapshot_seconds and snapshot or nil
end

function Redis.get(self, key)
  local leased = leased_value(self, key)
  if leased then return leased.value, leased.generation end
  local found, err, kind = run(self, scripts.get, key)
  if not found then return nil, err, kind end
  local value, generation, why = given_back(self, key, found[1], found[2], found[3])
  if value == nil then return nil, generation, why end
  return value or nil, generation
end

-- Generations and fences continue from the server's clock: a number above both is above all earlier ones.
local function put_behind(lease, value, ttl)
  lease.snapshot = nil
  lease.generation = math.max(lease.generation, lease.fence) + 1
  lease.deferred = { value = value, ttl = ttl, generation = lease.generation, write = fresh_name(lease.store) }
  return lease.generation
end

-- Writes, and waits until enough replicas have the record.
local function put_replicated(self, words)
  local wait = { false, "WAIT", text_of(self.place.replicas), milliseconds(self.link.timeout / 2) }
  local generation, copies, err, kind = self.link:call_both(words, wait)
  generation, err, kind = answer(generation, err or copies, kind or err)
  if not generation then return nil, err, kind end
  if type(copies) == "number" and copies >= self.place.replicas then return generation end
  local who = type(copies) == "number" and string.format("%d of %d replicas have it", copies, self.place.replicas)
  return failure("store", string.format("%s wrote it, but %s", self.place.label, who or "did not say how many replicas have it"))
end

function Redis.put(self, key, value, put)
  local lease, ticket = put.lease, put.ticket
  local ttl = put.ttl and milliseconds(put.ttl) or ""
  if #value > largest then return failure("store", "the value is too large to be stored") end
  if lease and lease.released then return failure(refusals.lease[1], refusals.lease[2]) end
  if put.behind and lease and not (put.durable or put.generation or ticket) then return put_behind(lease, value, ttl) end
  local current = self.leases[key]
  if current then current.snapshot, current.deferred = nil, current == lease and nil or current.deferred end
  local words = {
    scripts.put, script_key(self, key), moved(self), fresh_name(self), value, put.generation and text_of(put.generation) or "", ttl,
    lease and lease.owner or "", ticket and ticket.name or "", "", "",
  }
  local generation, err, kind
  if put.durable and self.place.replicas > 0 then
    generation, err, kind = put_replicated(self, words)
  else
    generation, err, kind = answer(self.link:call(unpack(words)))
  end
  if not generation then return nil, err, kind end
  if put.durable then keep(self, key, value, generation, put.ttl) else seen(self, key, value, generation) end
  if lease then lease.generation = generation end
  return generation
end

function Redis.delete(self, key, generation)
  local current = self.leases[key]
  if current then current.snapshot, current.deferred = nil, nil end
  self.kept[key] = nil
  local done, err, kind = run(self, scripts.delete, key, generation and text_of(generation) or "", milliseconds(marked_for(key)))
  if not done then return nil, err, kind end
  return true
end

-- ---- reservations ----

local Ticket = {}
Ticket.__index = Ticket

function Ticket.close(ticket)
  if ticket.closed then return true end
  ticket.closed = true
  ticket.store.link:post(60, scripts.unreserve, script_key(ticket.store, ticket.key), moved(ticket.store), ticket.name)
  return true
end

--- Reserves memory on the server, so that a full memory or a read-only server is detected before an exchange.
function Redis.reserve(self, key, bytes)
  if bytes > largest then return failure("store", "the value is too large to be stored") end
  local name = fresh_name(self)
  local done, err, kind = run(self, scripts.reserve, key, name, text_of(bytes))
  if not done then return nil, err, kind end
  return setmetatable({ key = key, name = name, store = self, closed = false }, Ticket)
end

-- ---- counters ----

-- Reads the totals of an answer, which must include the requested names.
local function totals_of(asked)
  return function(list)
    local totals = {}
    for i = 1, #list, 2 do totals[list[i]] = tonumber(list[i + 1]) end
    for name in pairs(asked) do
      if not totals[name] then return failure("store", "Redis does not say the total of '" .. name .. "'") end
    end
    return totals
  end
end

local begins = {}

--- Adds exactly once, also when the answer is lost and the command is sent again.
function begins.add(self, key, amounts, options)
  local words = {
    scripts.add, script_key(self, key), script_key(self, "client/" .. self.client), moved(self), "",
    options.ttl and milliseconds(options.ttl) or "",
  }
  for name, amount in pairs(amounts) do
    words[#words + 1] = name
    words[#words + 1] = text_of(amount)
  end
  return words, totals_of(amounts)
end

-- ---- rate limits ----

local function seconds_of(text)
  return tonumber(text) / 1000
end

--- Uses the server's clock: the clocks of many machines may differ.
function begins.pace(self, key, step)
  local named = step.named and step.named >= 1 and text_of(step.named * 1000) or ""
  return {
    scripts.pace, script_key(self, key), moved(self), text_of(step.most * 1000), step.rest and "" or milliseconds(step.within),
    step.rest and milliseconds(step.rest) or "", named,
  }, seconds_of
end

-- ---- deferred work ----

function Redis.begin(self, method, key, value, options, more)
  local words, read = begins[method](self, key, value, options)
  local wait = self.link:begin(more, unpack(words))
  return function()
    local given, err, kind = answer(wait())
    if not given then return nil, err, kind end
    return read(given)
  end
end

for method in pairs(begins) do
  Redis[method] = function(self, key, value, options) return Redis.begin(self, method, key, value, options)() end
end

-- ---- deferred puts ----

function Redis.flush(self)
  for _, lease in pairs(self.leases) do
    if lease.deferred then post_behind(lease, "") end
  end
  return self.link:drain()
end

function Redis.due(self)
  for _, lease in pairs(self.leases) do
    if lease.deferred then return 1 end
  end
  return self.link:is_stuck() and 0 or nil
end

function Redis.close(self)
  local done, err, kind = Redis.flush(self)
  self.link:close()
  return done, err, kind
end

--- Other machines may use this store: when it fails, no process signs.
function Redis.shared()
  return true
end

--- What an operator must know of the server, see redis/findings.lua.
function Redis.findings(self)
  return findings.look(self.link)
end

local M = {}

--- Opens the store at an address (redis+unix:/path, rediss://host:port/database, redis://127.0.0.1:port/database) with options, or with a
--- table of options that includes the address; see doc/manual/many_machines.md. It connects at first use. Returns a store, or nil, err,
--- kind. Raises for an invalid address, and for plain TCP to another machine.
function M.open(given, options)
  local place = address.read(given, options)
  place = tables.copy(defaults, place)
  place.warn = contract.warner(place.warn)
  local client, err, kind = core.random_text(12)
  if not client then return nil, err, kind end
  local self = setmetatable({
    place = place, client = client, drawn = 0, leases = setmetatable({}, { __mode = "v" }), kept = {}, released = {},
  }, Redis)
  self.ends = contract.new_ends(function(key)
    local kept = self.kept[key]
    if kept and kept.ends and kept.ends <= async.real() then self.kept[key] = nil end
  end)
  self.released_until = contract.new_ends(function(key) self.released[key] = nil end)
  if place.clock then
    self.clock = place.clock
    self.opened_at = (place.clock())
  end
  self.link, err, kind = new_link(place, {
    memories = function(forgot) return memories(self, forgot) end,
    has_memories = function() return next(self.leases) ~= nil or next(self.kept) ~= nil or next(self.released) ~= nil end,
    on_settings = function(settings) findings.warn_of(settings, place) end,
  })
  if not self.link then return nil, err, kind end
  return contract.object("fleet.store.redis (" .. place.label .. ")", self)
end

--- For specs: an empty store at options.address; a function that opens it again.
function M.sample(options)
  local own = tables.copy(options, { prefix = "sample/" .. core.random_text(12) .. "/", settle = 0 })
  local function again()
    return assert(M.open(own))
  end
  return again(), again
end

return M
