-- The sessions of an account with its vehicles: which task may draw a counter, and which session signs.
--
-- There is one slot per vehicle and domain. Its mutex is fair. In the security domain a task holds it from the counter to the answer,
-- because vehicles take those commands strictly in order; elsewhere only while it signs. The store's lease keeps other processes out
-- while the slot is in use. Counters are reserved in the store before the first of them is used, and the true one is written back when
-- the lease is released (doc/manual/stores.md). When a store of this machine fails, that is logged and the command continues: a stale
-- counter costs one more exchange. When a store that machines share fails, no process signs: each would continue from the same counter.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local tasks = require "fleet.async"
local pcall = require("fleet.util.compat").pcall -- the called functions may yield

local M = {}

-- A lease outlasts the call that takes it, and expires after its holder's death. A lease that expires too early costs one more exchange: no
-- other process uses the counters reserved in the store, and a save without the lease fails.
local shortest_lease, beyond_call = 15, 5 -- seconds
local block = 32 -- counters per reservation: the gap that a vehicle tolerates (doc/protocol.md#counters-and-time)
M.most_at_once = 16 -- messages in flight: a vehicle rejects a counter after 32 higher ones
local longest_use = 2 -- seconds of use after which other processes may take the lease
local lease_gap = 0.15 -- seconds for which the lease is then free: longer than their polling interval
local first_pause, longest_pause = 0.01, 0.1

local function failure(kind, message)
  return errors.failure(kind, message, { outcome = "not_sent" })
end

-- ---- the mutex ----

-- A hold is the slot's owner, queued, or released. Its fields are set before any operation that may raise, so that a hold can be undone
-- even when memory runs out.
local function lock(slot, hold, deadline)
  if not slot.holder then
    slot.holder = hold
    return true
  end
  slot.queue:join(hold)
  if tasks.await_for(hold, deadline - tasks.now()) then return true end
  return failure("timeout", "other commands for this vehicle took all the time")
end

local function unlock(slot, hold)
  if slot.holder ~= hold then return end
  slot.holder = slot.queue:next() or false
  if slot.holder then tasks.wake(slot.holder, true) end
end

-- Only the owner of the mutex waits here, so that there is at most one watcher.
local function wait_for_fewer(slot, most, deadline)
  while slot.users > most do
    local promise = tasks.promise()
    slot.watcher = promise
    if not tasks.await_for(promise, deadline - tasks.now()) then
      return failure("timeout", "commands under way for this vehicle took all the time")
    end
  end
  return true
end

-- ---- the lease ----

-- Whether the client made its store itself, so that no other process uses it.
local function is_private(context)
  return context.config.store == nil
end

-- Replaces a lease when no other process uses the store, or without a store.
local no_lease = { release = function() return true end }

local function report(context, slot, message)
  if slot.reported ~= message then context.report { kind = "store", vin = string.sub(slot.vin, -4), message = message } end
  slot.reported = message
end

-- Releases a lease. One that could not be released (out of memory, cancelled task) would also lock out this process: it is tried again.
local function release(slot, lease)
  slot.unreleased = lease
  if pcall(lease.release, lease) then slot.unreleased = false end
end

local function take_lease(context, slot, deadline, now)
  if is_private(context) then
    slot.lease = no_lease
    return true
  end
  if slot.unreleased then release(slot, slot.unreleased) end
  local left, pauses = deadline - now, nil
  while true do
    local lease, err, kind = context.store:lease(slot.key, math.max(shortest_lease, left + beyond_call))
    if not lease and kind ~= "busy" then report(context, slot, err.message) end
    if not lease and kind ~= "busy" and context.store:shared() then return failure(kind, err.message) end
    if lease or kind ~= "busy" then
      slot.lease = lease or no_lease
      return true
    end
    pauses = pauses or tasks.pauses(left, first_pause, longest_pause)
    if not pauses:again() then return failure("busy", "another process is using this vehicle's session") end
  end
end

-- Gives up the lease from time to time, because a steady load of this process would starve others.
local function let_others_in(context, slot, deadline, now)
  if is_private(context) then return true end
  if not slot.taken_at or (slot.users == 0 and now - (slot.used or -math.huge) >= lease_gap) then slot.taken_at = now end
  if now - slot.taken_at < longest_use then return true end
  local ok, err, kind = wait_for_fewer(slot, 0, deadline)
  if not ok then return nil, err, kind end
  tasks.sleep(math.max(math.min(lease_gap, deadline - tasks.now()), 0))
  slot.taken_at = tasks.now()
  return true
end

-- ---- the session and its state in the store ----

-- behind = true: the write may be deferred. A reservation must be stored before its first counter is used.
local function save(context, slot, state, behind)
  local generation, err, kind = context.store:put(slot.key, state, { lease = slot.lease, behind = behind })
  if generation then slot.generation, slot.reported = generation, nil end
  return generation, err, kind
end

local function use_session(slot, session, which)
  local old = slot.session
  slot.session, slot.which, slot.reserved, slot.invalidated = session, which, 0, nil
  if old and slot.users == 0 then old:close() end -- others still read answers with it
  return true
end

--- Replaces the session by a fresh one with a key of the account; a handshake is due. The caller owns the mutex.
function M.renew(context, slot, which)
  local session, err, kind = core.session { key = context.keys[which], vin = slot.vin, domain = slot.domain, clock = context.clock }
  if not session then return nil, err, kind end
  if slot.generation and slot.lease ~= no_lease then context.store:delete(slot.key) end
  slot.generation = nil
  return use_session(slot, session, which)
end

local function resume(context, slot, state)
  local session, which = core.resume(context.keys, { vin = slot.vin, domain = slot.domain, state = state, clock = context.clock })
  if session then return use_session(slot, session, which) end
  report(context, slot, "the stored session is damaged or another key's and is not used")
  return M.renew(context, slot, 1)
end

-- Reads the stored state: another process may have written a newer one since we last had the lease.
local function refresh(context, slot)
  if slot.session and slot.lease == no_lease then return true end
  local state, generation
  if not is_private(context) then state, generation = context.store:get(slot.key) end
  if type(generation) ~= "number" then generation = slot.generation or 0 end -- the store cannot be read
  if slot.session and (generation == slot.generation or generation == 0 and slot.generation == nil) then return true end
  slot.generation = generation > 0 and generation or nil
  if state then return resume(context, slot, state) end
  return M.renew(context, slot, 1)
end

local function save_last(context, slot, now, wall)
  local state = slot.session:export(0, now, wall)
  if state then save(context, slot, state, true) end
end

-- Returns the lease. A failing store, or a cancelled task that waits for it, must not keep the vehicle locked.
local function give_back(context, slot)
  local lease = slot.lease
  local now, wall = context.clock()
  if slot.session and slot.session ~= slot.invalidated and lease ~= no_lease then pcall(save_last, context, slot, now, wall) end
  slot.lease, slot.reserved, slot.used = false, 0, now
  release(slot, lease)
end

-- ---- use ----

local function slot_for(context, vin, domain)
  local slots = context.sessions[domain] or {}
  context.sessions[domain] = slots
  local slot = slots[vin]
  if not slot then
    local key = "session/" .. context.keys[1]:fingerprint() .. "/" .. vin .. "/" .. domain
    slot = {
      key = key, vin = vin, domain = domain, in_order = domain == "vehicle_security", which = 1, users = 0, reserved = 0,
      queue = tasks.fifo(), unreleased = false, holder = false, lease = false, -- preallocated: storing them later cannot fail
    }
    slots[vin] = slot
  end
  return slot
end

local function take(context, slot, deadline, now)
  if context.sessions_closed then return failure("closed", "the client was closed") end
  local ok, err, kind = let_others_in(context, slot, deadline, now)
  if ok then ok, err, kind = wait_for_fewer(slot, M.most_at_once - 1, deadline) end
  if ok and not slot.lease then
    ok, err, kind = take_lease(context, slot, deadline, now)
    if ok then ok, err, kind = refresh(context, slot) end
  end
  if ok and slot.session == slot.invalidated then ok, err, kind = M.renew(context, slot, 1) end
  return ok, err, kind
end

local function lock_and_take(context, slot, hold, deadline, now)
  local waits = slot.holder
  local ok, err, kind = lock(slot, hold, deadline)
  if ok then ok, err, kind = take(context, slot, deadline, waits and tasks.now() or now) end
  if ok then slot.users = slot.users + 1 end
  return ok, err, kind
end

--- Acquires the slot of a vehicle's domain: the mutex and the lease. Returns the slot and the hold, which M.leave takes; or nil, err,
--- kind.
function M.enter(context, vin, domain, deadline, now)
  local slot, hold = slot_for(context, vin, domain), tasks.promise()
  local ran, ok, err, kind = pcall(lock_and_take, context, slot, hold, deadline, now)
  if ran and ok then return slot, hold end
  hold.done = true -- also when the task was cancelled before it waited
  if slot.holder == hold and slot.lease and slot.users == 0 then give_back(context, slot) end
  unlock(slot, hold)
  if not ran then error(ok, 0) end -- the task was cancelled
  return nil, err, kind
end

-- Stores a reservation before its first counter is used.
local function keep_reserved(context, slot, state, beyond)
  local ok, err, kind = save(context, slot, state)
  if not ok and kind == "conflict" then return nil, err, kind end -- another process has taken the lease
  if not ok and context.store:shared() then return failure(kind, err.message) end
  if not ok then report(context, slot, err.message) end
  slot.reserved = beyond
  return true
end

--- Makes sure that the session can sign. Returns false and "begin" or "confirm" when a handshake must come first; true when the next
--- counter is reserved in the store; or nil, err, kind.
function M.prepare(context, slot, repeatable, now, wall)
  local due, state, beyond, kind
  if slot.lease == no_lease then
    due = slot.session:due(repeatable, now)
  else
    due, state, beyond, kind = slot.session:prepare(repeatable, now, wall, slot.reserved, block)
  end
  if due then return false, due end
  if state then return keep_reserved(context, slot, state, beyond) end
  return beyond == nil or nil, beyond, kind
end

--- The vehicle's session info changed the counter: the reservation does not include the next one.
function M.moved(slot)
  slot.reserved = 0
end

--- A message was signed: outside the security domain, other tasks may sign now.
function M.signed(slot, hold)
  if not slot.in_order then unlock(slot, hold) end
end

--- The vehicle no longer accepts this session: the next task that enters makes a new one.
function M.invalidate(slot, session)
  if slot.session == session then slot.invalidated = session end
end

local function put_down(context, slot)
  if slot.users == 0 and slot.lease then give_back(context, slot) end
  local watcher = slot.watcher
  slot.watcher = nil
  if watcher then tasks.wake(watcher, true) end
end

--- Leaves the slot; the last task in it releases the lease.
function M.leave(context, slot, hold)
  slot.users = slot.users - 1
  local ran, message = pcall(put_down, context, slot)
  unlock(slot, hold)
  if not ran then error(message, 0) end
end

-- ---- clients that share sessions ----

local sharers = setmetatable({}, { __mode = "k" }) -- sessions -> number of further users

-- Whether no other client uses its sessions.
local function used_alone(context)
  local others = sharers[context.sessions]
  if others then sharers[context.sessions] = others > 1 and others - 1 or nil end
  return not others
end

--- Shares the sessions of one client with another; they end with the last of both.
function M.share(first, other)
  if other.sessions == first.sessions then return end
  used_alone(other)
  other.sessions, sharers[first.sessions] = first.sessions, (sharers[first.sessions] or 0) + 1
end

--- Called when the client closes: no further task enters; those inside leave normally.
function M.close(context)
  context.sessions_closed = true
  for _, slots in pairs(used_alone(context) and context.sessions or {}) do
    for _, slot in pairs(slots) do
      if slot.users == 0 and slot.session then slot.session:close() end
      if slot.unreleased then release(slot, slot.unreleased) end
    end
  end
  context.sessions = {}
end

return M
