-- Waking a vehicle: ends when the state is online, or with an error that carries the last state (field-problems 33).

local core = require "fleet.core"
local tasks = require "fleet.tasks"

local M = {}

-- A vehicle needs 10 to 60 s; looking is not a live call and costs little (service-facts 9).
local first_look, longest_pause = 2, 8
local default_timeout = 90

local function timed_out(car, id, state, seconds)
  local err = core.err {
    kind = (state == "offline") and "offline" or "asleep", vin = id, state = state,
    message = string.format("wake: the vehicle is still %s after %d s", state or "in an unknown state", seconds),
    request = "POST /api/1/vehicles/{vin}/wake_up",
  }
  return nil, err, err.kind, car
end

local function look(car, left)
  local record, err, kind = car:info { timeout = left }
  if err then return nil, err, kind end
  return record.state
end

local function wake(car, id, timeout)
  local deadline = tasks.now() + timeout
  local record, err, kind = car:wake_up { timeout = timeout, idempotent = true }
  if err and kind ~= "asleep" and kind ~= "offline" and kind ~= "timeout" then return nil, err, kind end
  local state, pause = record and record.state, first_look
  while state ~= "online" do
    local left = deadline - tasks.now()
    if left <= pause then return timed_out(car, id, state, timeout) end
    tasks.sleep(pause)
    pause = math.min(pause * 2, longest_pause)
    local seen
    seen, err, kind = look(car, math.max(deadline - tasks.now(), 1))
    if err and kind ~= "timeout" and kind ~= "network" then return nil, err, kind end
    state = seen or state
  end
  return true
end

--- Wakes the vehicle and waits. All waiters of one vehicle share one wake. options.timeout: seconds, 90. Returns true, or
--- nil, err, kind with err.state, the last state seen.
function M.wake(car, options)
  local account, _, id = core.account(car)
  local timeout = options and options.timeout or default_timeout
  if account.states[id] == "online" and not (options and options.force) then
    local state = look(car, timeout)
    if state == "online" then return true end
  end
  local shared = account.waking[id]
  if not shared then
    shared = tasks.spawn(wake, car, id, timeout)
    account.waking[id] = shared
  end
  local function done(...)
    if account.waking[id] == shared then account.waking[id] = nil end
    return ...
  end
  return done(shared:wait())
end

return M
