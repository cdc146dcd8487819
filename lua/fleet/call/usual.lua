-- The usual read: nobody is asked before it or told of it, its token is at hand, and its reply is a good one. It is sent and taken
-- in as few steps as there are. Whatever is not so is decided elsewhere: a read that cannot begin here has done nothing and goes
-- the long way (fleet.call), and so does one whose reply is anything but a value, from that reply on.

local core = require "fleet.core"
local metering = require "fleet.call.metering"
local observers = require "fleet.call.observers"
local permission = require "fleet.call.permission"
local send = require "fleet.call.send"
local tasks = require "fleet.async"
local tokens = require "fleet.oauth.tokens"

local M = {}

--- Whether calls of the row can be usual ones.
function M.may_be(row)
  return not row.write and not permission.is_questioned(row)
end

-- The waiter of the request that was sent, the task that waits for it, and the token; or nil.
local function begin(context, request, token_kind, seconds)
  if context.closed or context.is_regulated then return nil end
  local token = tokens.at_hand(context, token_kind)
  if not token then return nil end
  local waiter, task = send.begin(context, request, token, seconds or context.config.timeout)
  return waiter, task, token
end

-- true, value of a good reply of which nobody is told; or false. What takes memory comes when the call has been left.
local function value_of(context, row, request, reply, id)
  if context.closed or observers.are_there(context) then return false end
  tasks.leave()
  context.under_way = context.under_way - 1
  local good, value = core.value(request, reply)
  if good then
    metering.count(context, row, id, value)
    if context.alarmed then metering.signed_in(context) end
    context.after_call()
    return true, value
  end
  tasks.enter()
  context.under_way = context.under_way + 1
  return false
end

--- The method of a row: function(handle, ...). perform, answered: of fleet.call, for what turns out not to be usual.
function M.method(row, perform, answered)
  local pointer, token_kind, plan = row.pointer, row.tokens[1], core.plan
  return function(handle, ...)
    local request, seconds, _, wanted_token, context, id = plan(pointer, handle, ...)
    local waiter, task, token
    if not wanted_token then waiter, task, token = begin(context, request, token_kind, seconds) end
    if not waiter then return perform(row, request, handle) end
    tasks.enter()
    context.under_way = context.under_way + 1
    local ran, reply = tasks.reply(waiter, task)
    if ran then
      local good, value = value_of(context, row, request, reply, id)
      if good then return value end
    end
    return answered(row, request, handle, token, ran, reply)
  end
end

return M
