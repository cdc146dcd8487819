-- The usual read: nobody is asked before it or told of it, its token is at hand, and its reply is a good one. It is sent and taken
-- in as few steps as there are. Whatever is not so is decided elsewhere: a read that cannot begin here has done nothing and goes
-- the long way (fleet.call), and so does one whose reply is anything but a value, from that reply on.

local billed = require "fleet.budget.billed"
local core = require "fleet.core"
local observers = require "fleet.call.observers"
local permission = require "fleet.call.permission"
local send = require "fleet.call.send"
local tasks = require "fleet.async"
local tokens = require "fleet.oauth.tokens"

local M = {}

local value_in = core.value
local read, read_on, reply_to, enter, leave = tasks.read, tasks.read_on, tasks.reply, tasks.enter, tasks.leave
local bearer = "Authorization: Bearer "

--- Whether calls of the row can be usual ones.
function M.may_be(row)
  return not row.write and not permission.is_questioned(row)
end

--- What usual reads of a client need, known once for many: a part of its context, made anew when the client is closed or listened to.
--- false where its calls are not usual. What stands without a name is what the engine reads (src/bind/http/submit.c).
function M.way(context)
  if context.closed or context.is_regulated or observers.are_there(context) then return false end
  local config, settings = context.config, send.settings(context)
  if not settings then return false end
  return { settings, config.timeout, config.token and bearer .. config.token or false, token = config.token,
    delays = context.store:delays() }
end

-- Starts a read whose token the engine did not know. Returns the token, or nil where something must be asked or said first.
local function start(waiter, request, context, token_kind, seconds)
  local way = waiter and context.way
  local token = way and tokens.at_hand(context, token_kind)
  local seconds_left = way and (seconds > 0 and seconds or way[2])
  return token and read_on(waiter, request, context.base_url, bearer .. token, way[1], seconds_left) and token
end

-- true, value of a good reply; or false. What takes memory comes when the call has been left.
local function value_of(context, way, row, request, reply, id)
  leave()
  context.under_way = context.under_way - 1
  local good, value = value_in(request, reply)
  if good then
    if row.billing ~= "free" then billed.count(context, row, id, value) end
    if context.alarmed then observers.signed_in(context) end
    if way.delays or row.billing ~= "free" then context.after_call() end
    return true, value
  end
  enter()
  context.under_way = context.under_way + 1
  return false
end

--- The method of a row: function(handle, ...). perform, answered: of fleet.call, for what turns out not to be usual.
function M.method(row, perform, answered)
  local pointer, token_kind = row.pointer, row.tokens[1]
  return function(handle, ...)
    local task, waiter, request, sent, context, id, wanted_token, seconds = read(pointer, handle, ...)
    local token
    if sent then
      token = context.way.token
    else
      token = sent == false and not wanted_token and start(waiter, request, context, token_kind, seconds)
      if not token then return perform(row, request, handle) end
    end
    local way = context.way
    enter()
    context.under_way = context.under_way + 1
    local ran, reply = reply_to(waiter, task)
    if ran and context.way == way then
      local good, value = value_of(context, way, row, request, reply, id)
      if good then return value end
    end
    return answered(row, request, handle, token, ran, reply)
  end
end

return M
