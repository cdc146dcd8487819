-- Keeps a client's store open during its calls, and flushes it after them. Functions of the context replace objects, which saves memory in
-- a program with thousands of clients.

local count = require "fleet.budget.count"

local M = {}

local flushed_at_once = 16 -- records that one iteration of the loop writes

--- Called at the start of a call or a token exchange: the client's store stays open until `release`.
function M.hold(context)
  context.under_way = context.under_way + 1
end

--- Undoes `hold`. The last call of a closed client closes its store.
function M.release(context)
  context.under_way = context.under_way - 1
  if context.closed and context.under_way == 0 then context.finish(context) end
end

--- Sends the counts and writes deferred records of the store, if they are due.
function M.after_call(context)
  local store, meter = rawget(context, "store"), rawget(context, "meter")
  if meter and meter.due then count.send(meter) end
  if store and store:due() == 0 then store:flush(flushed_at_once) end
end

return M
