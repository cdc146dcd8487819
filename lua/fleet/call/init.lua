-- One call from its arguments to its result. What is decided (what a status means, whether a repeat is allowed, which token to
-- use) is decided by C functions of facts; the files of this folder perform it in sequence and wait where waiting is needed:
--   state       what the call knows about itself        permission  what can be refused before anything is sent
--   turn        what rate limits and budgets are asked before
--   usual       reads of which nobody is asked or told, and that go well
--   retry       attempts one after the other            attempt     one of them: counted, sent, understood, reported
--   send        how bytes leave (host_http: the host's own HTTP)
--   failure     what a failed call says of itself       observers, vehicle_status_cache: who is told, what is remembered
--   lifetime    what keeps the client's store open, and what follows a call

local core = require "fleet.core"
local failure = require "fleet.call.failure"
local lifetime = require "fleet.call.lifetime"
local observers = require "fleet.call.observers"
local permission = require "fleet.call.permission"
local retry = require "fleet.call.retry"
local state = require "fleet.call.state"
local tasks = require "fleet.async"
local turn = require "fleet.call.turn"
local usual = require "fleet.call.usual"
local pcall = require("fleet.util.compat").pcall -- what it calls may wait

local M = {}

-- What a later attempt says does not undo what an earlier one may have done.
local function keep_unknown(call, err)
  if call.outcome_unknown and type(err) == "table" then err.outcome = "unknown" end
end

-- A repeat that finds the wanted state may find what an attempt without an answer did.
local function mark_uncertain(call, value)
  if call.outcome_unknown and type(value) == "table" and value.changed == false then value.perhaps_changed = true end
end

local function restored(task, before, ...)
  task.call_deadline = before
  return ...
end

-- A store of files that another process keeps locked is waited for no longer than the call has time.
local function within_its_time(call, act, ...)
  local task = tasks.current()
  if not task then return pcall(act, call, ...) end
  local before = task.call_deadline
  task.call_deadline = call.deadline
  return restored(task, before, pcall(act, call, ...))
end

-- What follows a call that was entered, whatever became of it.
local function concluded(call, ran, value, err, kind)
  if not ran then err = failure.interrupted(call, value) end
  if err then keep_unknown(call, err) else mark_uncertain(call, value) end
  tasks.leave(err)
  local kept, raised = pcall(lifetime.after_call, call.context)
  lifetime.let_go(call.context)
  if not (ran and kept) then error(ran and raised or err, 0) end
  return value, err, kind
end

local function given_back(call, ran, ...)
  turn.give_back(call, ran)
  return ran, ...
end

--- Runs act(call) with what every call needs before it: a usable client, permission, a token.
function M.guarded(call, act)
  if not tasks.usable(call.context.generation) then return failure.new(call, "closed", "created before fork: make a new client") end
  if call.context.closed then return failure.new(call, "closed", failure.closed_text .. ": make a new one") end
  local refused, err, kind = permission.refusal(call)
  if err then return refused, err, kind end
  call.token_kind, err, kind = permission.token_kind(call)
  if not call.token_kind then return nil, err, kind end
  tasks.enter()
  lifetime.hold(call.context)
  if call.context.is_regulated then return concluded(call, given_back(call, within_its_time(call, turn.act, act))) end
  return concluded(call, within_its_time(call, act))
end

--- Performs a planned request of a row for a handle. sink: a descriptor that takes the body of a good reply, or nil. What follows
--- the request is what core.plan gives beside it, if that is at hand. Returns the value or nil, err, kind.
function M.perform(row, handle, sink, request, ...)
  local call = state.new(row, request, handle, ...)
  call.sink = sink
  return M.ended(call, M.guarded(call, retry.perform))
end

--- Goes on with a call that was entered and sent before it was looked at (fleet.call.usual). ran, reply: what came of it.
function M.answered(row, request, handle, token, ran, reply)
  local call = state.new(row, request, handle)
  call.token_kind, call.token = row.tokens[1], token
  if not ran then return concluded(call, false, reply) end
  call.deadline = call.deadline - reply:seconds()
  return concluded(call, pcall(retry.perform, call, reply))
end

--- Passes on the result of a whole call, of which the audit is told.
function M.ended(call, value, err, kind)
  if call.write and call.context.config.audit then observers.audit(call, value, err) end
  return value, err, kind
end

--- The method of a row: function(handle, ...).
function M.method(row)
  if usual.may_be(row) then return usual.method(row, M.perform, M.answered) end
  return function(handle, ...)
    return M.perform(row, handle, nil, core.plan(row.pointer, handle, ...))
  end
end

return M
