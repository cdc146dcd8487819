-- Calls under way in this process: what drain waits for, and what has stayed in doubt.

local task = require "fleet.async.task"
local turns = require "fleet.async.loop"

local M = {}

local under_way, unknown, idle = 0, {}, nil
local most_reported = 1000 -- a program that never drains must not grow

--- A call begins; fork and drain are told.
function M.enter()
  under_way = under_way + 1
end

--- A call has ended, with err or without.
function M.leave(err)
  if under_way > 0 then under_way = under_way - 1 end -- a call in which the process forked counts in the parent
  if under_way == 0 and idle then turns.wake(idle) end
  if err and err.outcome == "unknown" and #unknown < most_reported then unknown[#unknown + 1] = err end
end

--- Writes what stores hold back; whoever makes clients sets it. Returns true, or nil, err, kind.
function M.save()
  return true
end

--- Finishes what is in flight, saves, and reports: returns the list of errs with outcome unknown since the last drain, or
--- nil, err, kind when a store could not save.
function M.drain()
  while under_way > 0 do
    idle = idle and not idle.done and idle or turns.waiter()
    task.await(idle)
  end
  local ok, err, kind = M.save()
  if not ok then return nil, err, kind end
  local reported = unknown
  unknown = {}
  return reported
end

function M.forget_all()
  under_way, idle = 0, nil
end

return M
