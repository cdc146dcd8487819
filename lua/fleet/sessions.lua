-- The sessions of an account with its vehicles: who may draw a counter, and when a handshake is due.
--
-- One slot per vehicle and domain. Its mutex is fair; in the security domain it is held from the counter to the answer,
-- because vehicles want those commands strictly in order, elsewhere only while a message is signed. The store's lease
-- keeps other processes out while the slot is in use; counters are reserved in the store before the first of them is
-- used, and the true one is written back on release (the store contract).

local core = require "fleet.core"
local tasks = require "fleet.tasks"

local M = {}

local lease_seconds = 60
local block = 32 -- counters per reservation: what a vehicle tolerates (wire protocol 15)
local longest_hold = 2 -- seconds of use after which other processes get their turn
local first_pause, longest_pause = 0.01, 0.25

local function failure(kind, message)
  local err = core.err { kind = kind, message = message, outcome = "not_sent" }
  return nil, err, kind
end

-- ---- the mutex ----

local function lock(slot, deadline)
  if not slot.locked then
    slot.locked = true
    return true
  end
  local waiter = {}
  slot.queue[#slot.queue + 1] = waiter
  if tasks.await_for(waiter, deadline - tasks.now()) then return true end
  waiter.gone = true
  return failure("timeout", "other commands for this vehicle took all the time")
end

local function unlock(slot)
  while #slot.queue > 0 do
    local waiter = table.remove(slot.queue, 1)
    if not waiter.gone and not waiter.done then return tasks.wake(waiter, true) end
  end
  slot.locked = false
end

-- ---- the lease ----

local function take_lease(account, slot, deadline)
  local pause = first_pause
  while true do
    local lease, err, kind = account.store:lease(slot.key, lease_seconds)
    if lease then
      slot.lease, slot.since = lease, tasks.now()
      return true
    end
    if kind ~= "busy" then return nil, err, kind end
    if tasks.now() + pause > deadline then
      return failure("busy", "another process is using this vehicle's session")
    end
    tasks.sleep(pause)
    pause = math.min(pause * 2, longest_pause)
  end
end

local function save(account, slot, ahead)
  local state = slot.session:export(ahead)
  if not state then return true end
  local generation, err, kind = account.store:put(slot.key, state, { lease = slot.lease })
  if generation then slot.generation = generation end
  return generation, err, kind
end

local function give_back(account, slot)
  if slot.session and slot.session:ready() then save(account, slot, 0) end
  slot.left = 0
  slot.lease:release()
  slot.lease = nil
  for _, waiter in ipairs(slot.emptied) do tasks.wake(waiter, true) end
  slot.emptied = {}
end

-- Under steady load from this process the others would wait for ever.
local function let_others_in(slot, deadline)
  if not slot.lease or slot.users == 0 or tasks.now() - slot.since < longest_hold then return true end
  local waiter = {}
  slot.emptied[#slot.emptied + 1] = waiter
  if tasks.await_for(waiter, deadline - tasks.now()) then return true end
  return failure("timeout", "commands under way for this vehicle took all the time")
end

-- ---- the session ----

local function open_session(account, slot, state)
  if slot.session and slot.users == 0 then slot.session:close() end -- others still read their answers with it
  local err, kind
  slot.session, err, kind = core.session {
    key = account.keys[slot.which], vin = slot.vin, domain = slot.domain, state = state, clock = account.clock,
  }
  slot.left = 0
  if not slot.session then return nil, err, kind end
  return true
end

-- What another process wrote since we last held the lease is newer than what is in memory.
local function refresh(account, slot)
  local state, generation = account.store:get(slot.key)
  if slot.session and generation == slot.generation then return true end
  slot.generation = generation or 0
  return open_session(account, slot, state or nil)
end

--- Forgets the session: the next use starts with a handshake.
function M.forget(account, slot)
  if slot.lease then account.store:delete(slot.key) end
  slot.generation = 0
  return open_session(account, slot, nil)
end

local function slot_for(account, vin, domain)
  local key = string.format("session/%s/%s/%s", account.keys[1]:fingerprint(), vin, domain)
  local slot = account.sessions[key]
  if not slot then
    slot = {
      key = key, vin = vin, domain = domain, in_order = domain == "vehicle_security", which = 1, users = 0, left = 0,
      queue = {}, emptied = {},
    }
    account.sessions[key] = slot
  end
  return slot
end

-- ---- use ----

local function take(account, slot, deadline)
  local ok, err, kind = let_others_in(slot, deadline)
  if ok and not slot.lease then
    ok, err, kind = take_lease(account, slot, deadline)
    if ok then ok, err, kind = refresh(account, slot) end
  end
  return ok, err, kind
end

--- Enters the slot of a vehicle's domain: the mutex and the lease are held. Returns the slot, or nil, err, kind.
function M.enter(account, vin, domain, deadline)
  local slot = slot_for(account, vin, domain)
  local ok, err, kind = lock(slot, deadline)
  if not ok then return nil, err, kind end
  local ran
  ran, ok, err, kind = pcall(take, account, slot, deadline)
  if ran and ok then
    slot.users = slot.users + 1
    return slot
  end
  if slot.lease and slot.users == 0 then give_back(account, slot) end
  unlock(slot)
  if not ran then error(ok, 0) end -- the task was cancelled
  return nil, err, kind
end

--- Makes sure that the next counter was reserved in the store. A store that cannot write is told, not obeyed: a stale
--- counter after a restart costs one exchange and nothing else.
function M.reserve(account, slot)
  if slot.left == 0 then
    local ok, err, kind = save(account, slot, block)
    if not ok and kind ~= "store" then return nil, err, kind end
    if not ok then account.report { kind = "store", message = err.message } end
    slot.left = block
  end
  slot.left = slot.left - 1
  return true
end

--- A message was signed: where order does not matter others may sign now.
function M.signed(slot)
  if not slot.in_order then unlock(slot) end
end

--- Leaves the slot; the last one gives the lease back. signed: whether M.signed was called.
function M.leave(account, slot, signed)
  slot.users = slot.users - 1
  if slot.users == 0 and slot.lease then give_back(account, slot) end
  if slot.in_order or not signed then unlock(slot) end
end

--- Gives back what is held, when the client is closed.
function M.close(account)
  for _, slot in pairs(account.sessions) do
    if slot.lease then give_back(account, slot) end
    if slot.session then slot.session:close() end
  end
  account.sessions = {}
end

return M
