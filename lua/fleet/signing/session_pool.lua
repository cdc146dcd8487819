-- The sessions of an account with its vehicles: who may draw a counter, and which session signs.
--
-- One slot per vehicle and domain. Its mutex is fair; in the security domain it is held from the counter to the answer,
-- because vehicles want those commands strictly in order, elsewhere only while a message is signed. The store's lease
-- keeps other processes out while the slot is in use; counters are reserved in the store before the first of them is
-- used, and the true one is written back when the lease is given back (doc/manual/stores.md). A store of this machine that
-- fails is told, not obeyed: what a stale counter costs is one more exchange. Where machines share a store that cannot be
-- reached, each would go on from the same counter: nobody signs until it is back.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local tasks = require "fleet.async"
local pcall = require("fleet.util.compat").pcall -- what it calls may wait

local M = {}

-- A lease outlasts the call that takes it. Whose holder died is free no later, and one that ends too early costs an exchange: what was
-- reserved in the store is nobody else's, and a save without the lease fails.
local shortest_lease, beyond_call = 15, 5 -- seconds
local block = 32 -- counters per reservation: what a vehicle tolerates (doc/protocol.md#counters-and-time)
M.most_at_once = 16 -- messages under way: a vehicle refuses a counter that 32 others have overtaken
local longest_turn = 2 -- seconds of use after which other processes get their turn
local lease_gap = 0.15 -- seconds for which the lease then stays free: longer than they pause
local first_pause, longest_pause = 0.01, 0.1

local function failure(kind, message)
  return errors.failure(kind, message, { outcome = "not_sent" })
end

-- ---- the mutex ----

-- A visit holds the slot, waits in its line, or has left. What says so is set before anything that may raise, memory that
-- ends included, so that a visit which raises can always be undone.
local function lock(slot, visit, deadline)
  if not slot.holder then
    slot.holder = visit
    return true
  end
  slot.line:join(visit)
  if tasks.await_for(visit, deadline - tasks.now()) then return true end
  return failure("timeout", "other commands for this vehicle took all the time")
end

local function unlock(slot, visit)
  if slot.holder ~= visit then return end
  slot.holder = slot.line:next() or false
  if slot.holder then tasks.wake(slot.holder, true) end
end

-- Only the holder of the mutex waits here, so that there is one watcher at most.
local function wait_for_fewer(slot, most, deadline)
  while slot.users > most do
    local waiter = tasks.waiter()
    slot.watcher = waiter
    if not tasks.await_for(waiter, deadline - tasks.now()) then
      return failure("timeout", "commands under way for this vehicle took all the time")
    end
  end
  return true
end

-- ---- the lease ----

-- Nobody else can reach a store that the client made for itself.
local function is_private(context)
  return context.config.store == nil
end

-- In place of a lease where there is nobody to keep out, or no way to.
local no_lease = { release = function() return true end }

local function tell(context, slot, message)
  if slot.told ~= message then context.report { kind = "store", vin = string.sub(slot.vin, -4), message = message } end
  slot.told = message
end

-- A lease that could not be given back, for want of memory or because the task was cancelled in there, would keep this process
-- out as well.
local function release(slot, lease)
  slot.kept = lease
  if pcall(lease.release, lease) then slot.kept = false end
end

local function take_lease(context, slot, deadline, now)
  if is_private(context) then
    slot.lease = no_lease
    return true
  end
  if slot.kept then release(slot, slot.kept) end
  local left, pauses = deadline - now, nil
  while true do
    local lease, err, kind = context.store:lease(slot.key, math.max(shortest_lease, left + beyond_call))
    if not lease and kind ~= "busy" then tell(context, slot, err.message) end
    if not lease and kind ~= "busy" and context.store:shared() then return failure(kind, err.message) end
    if lease or kind ~= "busy" then
      slot.lease = lease or no_lease
      return true
    end
    pauses = pauses or tasks.pauses(left, first_pause, longest_pause)
    if not pauses:again() then return failure("busy", "another process is using this vehicle's session") end
  end
end

-- Under steady load from this process the others would wait for ever.
local function let_others_in(context, slot, deadline, now)
  if is_private(context) then return true end
  if not slot.turn or (slot.users == 0 and now - (slot.used or -math.huge) >= lease_gap) then slot.turn = now end
  if now - slot.turn < longest_turn then return true end
  local ok, err, kind = wait_for_fewer(slot, 0, deadline)
  if not ok then return nil, err, kind end
  tasks.sleep(math.max(math.min(lease_gap, deadline - tasks.now()), 0))
  slot.turn = tasks.now()
  return true
end

-- ---- the session and its state in the store ----

-- behind: others may see it later. What was reserved they must see before the first of it is used.
local function save(context, slot, state, behind)
  local generation, err, kind = context.store:put(slot.key, state, { lease = slot.lease, behind = behind })
  if generation then slot.generation, slot.told = generation, nil end
  return generation, err, kind
end

local function use_session(slot, session, which)
  local old = slot.session
  slot.session, slot.which, slot.reserved, slot.unfit = session, which, 0, nil
  if old and slot.users == 0 then old:close() end -- others still read their answers with it
  return true
end

--- Begins anew with a key of the account: nothing is known of the vehicle, a handshake is due. The mutex is held.
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
  tell(context, slot, "the stored session is damaged or another key's and is not used")
  return M.renew(context, slot, 1)
end

-- What another process wrote since we last held the lease is newer than what is in memory.
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

-- What a store does wrong, or a cancelled task that yields in it, must not keep the vehicle locked.
local function give_back(context, slot)
  local lease = slot.lease
  local now, wall = context.clock()
  if slot.session and slot.session ~= slot.unfit and lease ~= no_lease then pcall(save_last, context, slot, now, wall) end
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
      line = tasks.line(), kept = false, holder = false, lease = false, -- there is room for what is held before it is
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
  if ok and slot.session == slot.unfit then ok, err, kind = M.renew(context, slot, 1) end
  return ok, err, kind
end

local function lock_and_take(context, slot, visit, deadline, now)
  local waits = slot.holder
  local ok, err, kind = lock(slot, visit, deadline)
  if ok then ok, err, kind = take(context, slot, deadline, waits and tasks.now() or now) end
  if ok then slot.users = slot.users + 1 end
  return ok, err, kind
end

--- Enters the slot of a vehicle's domain at the time now: the mutex and the lease are held. Returns the slot and the visit,
--- which M.leave takes; or nil, err, kind.
function M.enter(context, vin, domain, deadline, now)
  local slot, visit = slot_for(context, vin, domain), tasks.waiter()
  local ran, ok, err, kind = pcall(lock_and_take, context, slot, visit, deadline, now)
  if ran and ok then return slot, visit end
  visit.done = true -- also when the task was cancelled before it began to wait
  if slot.holder == visit and slot.lease and slot.users == 0 then give_back(context, slot) end
  unlock(slot, visit)
  if not ran then error(ok, 0) end -- the task was cancelled
  return nil, err, kind
end

-- What was reserved is in the store before the first of it is used.
local function keep_reserved(context, slot, state, beyond)
  local ok, err, kind = save(context, slot, state)
  if not ok and kind == "conflict" then return nil, err, kind end -- the lease is somebody else's by now
  if not ok and context.store:shared() then return failure(kind, err.message) end
  if not ok then tell(context, slot, err.message) end
  slot.reserved = beyond
  return true
end

--- Makes sure that the session can sign: false and "begin" or "confirm" where a handshake comes first; true when the next
--- counter is reserved in the store; nil, err, kind.
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

--- The vehicle's session info moved the counter: what was reserved is not what will be used.
function M.moved(slot)
  slot.reserved = 0
end

--- A message was signed: where order does not matter others may sign now.
function M.signed(slot, visit)
  if not slot.in_order then unlock(slot, visit) end
end

--- The vehicle does not speak as this session expects: whoever enters next begins anew, unless that has happened.
function M.unfit(slot, session)
  if slot.session == session then slot.unfit = session end
end

local function put_down(context, slot)
  if slot.users == 0 and slot.lease then give_back(context, slot) end
  local watcher = slot.watcher
  slot.watcher = nil
  if watcher then tasks.wake(watcher, true) end
end

--- Leaves the slot; the last one gives the lease back.
function M.leave(context, slot, visit)
  slot.users = slot.users - 1
  local ran, message = pcall(put_down, context, slot)
  unlock(slot, visit)
  if not ran then error(message, 0) end
end

-- ---- clients with the same sessions ----

local sharers = setmetatable({}, { __mode = "k" }) -- sessions -> how many use them besides the first

-- Whether nobody else uses its sessions.
local function used_alone(context)
  local others = sharers[context.sessions]
  if others then sharers[context.sessions] = others > 1 and others - 1 or nil end
  return not others
end

--- The sessions of one client are those of another, too: they end with the last of both.
function M.share(first, other)
  if other.sessions == first.sessions then return end
  used_alone(other)
  other.sessions, sharers[first.sessions] = first.sessions, (sharers[first.sessions] or 0) + 1
end

--- The client is closed: nobody enters any more; who is inside leaves as usual.
function M.close(context)
  context.sessions_closed = true
  for _, slots in pairs(used_alone(context) and context.sessions or {}) do
    for _, slot in pairs(slots) do
      if slot.users == 0 and slot.session then slot.session:close() end
      if slot.kept then release(slot, slot.kept) end
    end
  end
  context.sessions = {}
end

return M
