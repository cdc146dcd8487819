-- Calls in flight in this process, for which drain waits, and the errs of calls with an unknown outcome.

local task = require "fleet.async.task"
local scheduler = require "fleet.async.loop"

local M = {}

local in_flight, unknown, idle = 0, {}, nil
local most_reported = 1000 -- bounded for programs that never drain

--- Counts a call.
function M.enter()
  in_flight = in_flight + 1
end

--- Counts the end of a call, with or without err.
function M.leave(err)
  if in_flight > 0 then in_flight = in_flight - 1 end -- a call during which the process forked counts in the parent
  if in_flight == 0 and idle then scheduler.wake(idle) end
  if err and err.outcome == "unknown" and #unknown < most_reported then unknown[#unknown + 1] = err end
end

--- Writes deferred records of stores; fleet.client.closing sets it. Returns true, or nil, err, kind.
function M.save()
  return true
end

--- Waits for calls in flight and saves. Returns the list of errs with an unknown outcome since the last drain, or nil, err, kind when a
--- store could not save.
function M.drain()
  while in_flight > 0 do
    idle = idle and not idle.done and idle or scheduler.promise()
    task.await(idle)
  end
  local ok, err, kind = M.save()
  if not ok then return nil, err, kind end
  local reported = unknown
  unknown = {}
  return reported
end

function M.forget_all()
  in_flight, idle = 0, nil
end

return M
