-- What a call asks the rate limits and the budgets before anything is sent, and when it waits for the answers.

local failure = require "fleet.call.failure"
local metering = require "fleet.call.metering"

local M = {}

M.wait = metering.wait

--- The answers to what was asked: true, with call.pause where the turn is later; or nil, err, kind.
function M.cleared(call)
  local clear, kind, message, facts = metering.cleared(call)
  if not clear then return failure.new(call, kind, message, facts) end
  return true
end

--- act(call) in its turn. A signed command looks at the answers when it has the vehicle's session, which is asked of the store with
--- them, and before its message is signed, which must not grow old.
function M.act(call, act)
  metering.ask(call)
  if call.domain then return act(call) end
  local clear, err, kind = M.cleared(call)
  if not clear then return nil, err, kind end
  if call.pause then M.wait(call) end
  return act(call)
end

--- Takes back what was counted for a call that has sent nothing. ran: false where it was cancelled, and must not wait.
function M.give_back(call, ran)
  if not call.asked and not call.admitted then return end
  if ran then return metering.unused(call) end
  call.context.spawn(function() metering.unused(call) end)
end

return M
