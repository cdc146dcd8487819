-- The usual read: nobody is asked before it or told of it, its token is at hand, and its reply is a good one. It is sent and taken
-- in as few steps as there are. Whatever is not so is decided elsewhere: a read that cannot begin here has done nothing and goes
-- the long way (fleet.call), and so does one whose reply is anything but a value, from that reply on.

local billed = require "fleet.budget.billed"
local lifetime = require "fleet.call.lifetime"
local observers = require "fleet.call.observers"
local permission = require "fleet.call.permission"
local send = require "fleet.call.send"
local tasks = require "fleet.async"
local tokens = require "fleet.oauth.tokens"

local M = {}

local value_in = require("fleet.core").value
local engine, tasks_of, spare_waiter, read_on = tasks.engine, tasks.tasks, tasks.spare_waiter, tasks.read_on
local reply_to, enter, leave = tasks.reply, tasks.enter, tasks.leave
local bearer = "Authorization: Bearer "

--- Whether calls of the row can be usual ones.
function M.may_be(row)
  return not row.write and not permission.is_questioned(row)
end

--- What usual reads of a client need, known once for many: a part of its context, made anew when the client is closed or listened to.
--- false where its calls are not usual. What stands without a name is what the engine reads (src/bind/http/submit.c).
function M.way(context)
  if context.closed or context.is_regulated or observers.are_there(context) then return false end
  local config, settings, store = context.config, send.settings(context), rawget(context, "store")
  if not settings then return false end
  return { settings, config.timeout, config.token and bearer .. config.token or false, token = config.token,
    delays = store and store:delays() } -- one that is not made yet will be in memory: nothing of it is delayed
end

-- Starts a read whose token the engine did not know. Returns the token, or nil where something must be asked or said first.
local function start(waiter, request, context, token_kind, seconds)
  local way = context.way
  local token = way and tokens.at_hand(context, token_kind)
  local seconds_left = way and (seconds > 0 and seconds or way[2])
  return token and read_on(waiter, request, context.base_url, bearer .. token, way[1], seconds_left) and token
end

-- What follows a good reply. count: of a billed call.
local function told(context, way, row, id, value, count)
  if count then count(context, row, id, value) end
  if context.alarmed then observers.signed_in(context) end
  if way.delays or count then lifetime.after_call(context) end
end

--- The method of a row: function(handle, ...). perform, answered: of fleet.call, for what turns out not to be usual.
function M.method(row, perform, answered)
  local pointer, token_kind, count = row.pointer, row.tokens[1], row.billing ~= "free" and billed.count or nil
  return function(handle, ...)
    local waiter = spare_waiter()
    local request, sent, context, id, task, wanted_token, seconds = engine():read(tasks_of, waiter, pointer, handle, ...)
    local token
    if not sent then
      token = sent == false and not wanted_token and start(waiter, request, context, token_kind, seconds)
      if not token then return perform(row, handle, nil, request) end
    end
    local way = context.way
    enter()
    context.under_way = context.under_way + 1
    local ran, reply = reply_to(waiter, task)
    if ran and context.way == way then
      leave() -- before what takes memory
      context.under_way = context.under_way - 1
      local good, value = value_in(request, reply)
      if good then
        if count or way.delays or context.alarmed then told(context, way, row, id, value, count) end
        return value
      end
      enter()
      context.under_way = context.under_way + 1
    end
    return answered(row, request, handle, token or way.token, ran, reply)
  end
end

return M
