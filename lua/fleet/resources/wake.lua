-- Wakes a vehicle: ends when its state is online, or with an error that has the last state (doc/protocol.md#sleep-and-wake).

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local check_options = require "fleet.util.check_options"
local records = require "fleet.resources.record"
local tasks = require "fleet.async"
local pcall = require("fleet.util.compat").pcall -- the called functions may yield

local M = {}

-- seconds: a vehicle needs 10 to 60, and polling its state is not a live call (doc/protocol.md#sleep-and-wake)
local first_look, longest_pause = 2, 8
local list_age = 1 -- seconds: many cars that wake together are found in one list
local default_timeout = 90

local function timed_out(id, state, seconds)
  local text = string.format("wake: the vehicle is still %s after %g s", state or "in an unknown state", seconds)
  local facts = { vin = id, state = state, request = "POST /api/1/vehicles/{vin}/wake_up" }
  return errors.failure((state == "offline") and "offline" or "asleep", text, facts)
end

local function look(car, left)
  local record, err = records.of(car, { timeout = left, age = list_age })
  if not record then return nil, err, err.kind end
  return record.state
end

local transient_at_start = { asleep = true, offline = true, timeout = true, service = true } -- the vehicle may have been woken
local transient = { timeout = true, network = true, service = true }

-- Calls wake_up once, then polls. A caller that joins and waits longer extends the deadline. In fleet.map only the requests take a permit,
-- not the pauses.
local function wake(car, shared)
  local record, err, kind = tasks.with_permit(shared.semaphore, car.wake_up, car, { timeout = shared.pauses:left(), idempotent = true })
  if err and not transient_at_start[kind] then return nil, err, kind end
  shared.state = record and record.state
  while shared.state ~= "online" do
    if not shared.pauses:again() or shared.pauses:left() <= 0 then return false end -- a poll may be billed: none after the deadline
    local seen
    seen, err, kind = tasks.with_permit(shared.semaphore, look, car, shared.pauses:left())
    if err and not transient[kind] then return nil, err, kind end
    shared.state = seen or shared.state
  end
  return true
end

-- Joins the wake of this vehicle that is in flight, or starts one.
local function join(context, car, id, deadline)
  local shared = context.wakes[id]
  if shared then
    shared.pauses.deadline = math.max(shared.pauses.deadline, deadline)
    return shared
  end
  shared = {
    pauses = tasks.pauses(deadline - tasks.now(), first_look, longest_pause), waiting = 0, semaphore = tasks.semaphore(),
    asked_by = tasks.current(), -- per-task counts of calls include these
  }
  context.wakes[id] = shared
  shared.task = tasks.spawn(function()
    local ran, woken, err, kind = pcall(wake, car, shared)
    context.wakes[id] = nil -- later callers start a new wake
    if not ran and shared.waiting > 0 then error(woken, 0) end -- otherwise the client was closed after all callers had stopped waiting
    return ran and woken, err, kind
  end)
  return shared
end

--- Wakes the vehicle and waits. Concurrent calls for one vehicle share one wake. options.timeout: seconds, 90; options.force: call wake_up
--- even if the vehicle is known to be online. Returns true, or nil, err, kind with err.state, the last state seen.
function M.wake(car, options)
  check_options.names("wake", "option", options, { "timeout", "force" })
  local timeout = check_options.seconds("wake", "timeout", options and options.timeout, default_timeout)
  local context, _, id = core.context(car)
  local deadline = tasks.now() + timeout
  if context.states[id] == "online" and not (options and options.force) and look(car, timeout) == "online" then return true end
  local shared = join(context, car, id, deadline)
  shared.waiting = shared.waiting + 1
  local ended = tasks.without_permit(tasks.ended_within, shared.task, deadline - tasks.now())
  shared.waiting = shared.waiting - 1
  if not ended then return timed_out(id, shared.state, timeout) end
  local woken, err, kind = shared.task:wait()
  if woken == false then return timed_out(id, shared.state, timeout) end
  return woken, err, kind
end

return M
