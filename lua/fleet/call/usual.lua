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

local plan, value_in = core.plan, core.value
local begin, reply_to, enter, leave = tasks.begin, tasks.reply, tasks.enter, tasks.leave
local bearer = "Authorization: Bearer "

--- Whether calls of the row can be usual ones.
function M.may_be(row)
  return not row.write and not permission.is_questioned(row)
end

--- What usual reads of a client need, known once for many: a part of its context, made anew when the client is closed or listened to.
--- false where its calls are not usual.
function M.way(context)
  if context.closed or context.is_regulated or observers.are_there(context) then return false end
  local config, settings = context.config, send.settings(context)
  if not settings then return false end
  return { settings = settings, seconds = config.timeout, line = config.token and bearer .. config.token or false, token = config.token,
    delays = context.store:delays() }
end

-- What is sent as authorization, and its token; nil where something must be asked or said first.
local function authorization(context, way, token_kind)
  if way.line then return way.line, way.token end
  local token = tokens.at_hand(context, token_kind)
  if token then return bearer .. token, token end
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
    local request, seconds, _, wanted_token, context, id = plan(pointer, handle, ...)
    local way, line, token, waiter, task = context.way, nil, nil, nil, nil
    if way and not wanted_token then line, token = authorization(context, way, token_kind) end
    if line then waiter, task = begin(context.generation, request, context.base_url, line, way.settings, seconds or way.seconds) end
    if not waiter then return perform(row, request, handle) end
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
