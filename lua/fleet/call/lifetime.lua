-- What keeps a client's store open, and what follows its calls. Functions of the context rather than parts of it: thousands of
-- clients are read one after the other, and each part is one more thing to fetch from memory.

local count = require "fleet.budget.count"

local M = {}

local flushed_at_once = 16 -- records that one turn of the loop writes

--- A call or an exchange of tokens begins: the client's store stays open until `release`.
function M.hold(context)
  context.under_way = context.under_way + 1
end

--- Ends what began with hold. The last one of a closed client closes its store.
function M.release(context)
  context.under_way = context.under_way - 1
  if context.closed and context.under_way == 0 then context.finish(context) end
end

--- Sends the counts and writes what the store has deferred, where that is due.
function M.after_call(context)
  local store, meter = rawget(context, "store"), rawget(context, "meter")
  if meter and meter.due then count.send(meter) end
  if store and store:due() == 0 then store:flush(flushed_at_once) end
end

return M
