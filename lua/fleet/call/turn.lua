-- What a call asks the rate limits and the budgets before anything is sent, and when it waits for the answers.

local failure = require "fleet.call.failure"
local on_demand = require "fleet.util.on_demand"

local M = {}

local ask = on_demand.call("fleet.budget.gate", "ask")
local cleared = on_demand.call("fleet.budget.gate", "cleared")
local unused = on_demand.call("fleet.budget.gate", "unused")

M.admit = on_demand.call("fleet.budget.gate", "admit")
M.rest = on_demand.call("fleet.budget.gate", "rest")
M.wait = on_demand.call("fleet.budget.gate", "wait")

--- The answers to what was asked: true, with call.pause where the turn is later; or nil, err, kind.
function M.cleared(call)
  if not call.asked then return true end
  local clear, kind, message, facts = cleared(call)
  if not clear then return failure.new(call, kind, message, facts) end
  return true
end

--- act(call) in its turn. A signed command looks at the answers when it has the vehicle's session, which is asked of the store with
--- them, and before its message is signed, which must not grow old.
function M.act(call, act)
  ask(call)
  if call.domain then return act(call) end
  local clear, err, kind = M.cleared(call)
  if not clear then return nil, err, kind end
  if call.pause then M.wait(call) end
  return act(call)
end

--- Takes back what was counted for a call that has sent nothing. ran: false where it was cancelled, and must not wait.
function M.give_back(call, ran)
  if not call.asked and not call.admitted then return end
  if ran then return unused(call) end
  call.context.spawn(function() unused(call) end)
end

return M
