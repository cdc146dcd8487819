-- Who is told of every attempt: listeners (recordings, automations), config.metrics and config.log. What they raise is theirs;
-- what they are told has no secrets.

local metering = require "fleet.call.metering"
local redact = require "fleet.util.redact"
local tasks = require "fleet.async"
local pcall = require("fleet.util.compat").pcall -- what it calls may wait

local M = {}

--- Calls fn(row, id, status) after every attempt of the calls of a context, repeated ones too: what counts is what was sent.
--- status is nil where no answer came. Returns a function that ends it.
function M.listen(context, fn)
  local list = context.listeners or {} -- not in a weak table: the functions know the context
  context.listeners, list[fn] = list, true
  context.way = nil
  return function() list[fn] = nil end
end

local function notify(call, reply)
  local list = call.context.listeners
  if not list then return end
  local status = reply and reply:status() ~= 0 and reply:status() or nil
  for fn in pairs(list) do fn(call.row, call.id, status) end
end

--- Whether anybody wants to know of attempts that went well.
function M.are_there(context)
  local config = context.config
  return context.listeners or config.log or config.metrics
end

--- Tells listeners, metrics and log of an attempt.
function M.report(call, reply, err, attempt, billed)
  notify(call, reply)
  metering.measure(call, reply, err, billed, attempt)
  local log = call.context.config.log
  if not log then return end
  local _, wall = tasks.loop.clock()
  local request_id = reply and (reply:header("x-txid") or reply:header("x-request-id")) or nil
  local event = {
    time = wall, method = call.row.verb, path = call.row.path, vin = call.id and string.sub(call.id, -4) or nil,
    status = reply and reply:status() ~= 0 and reply:status() or nil, ms = reply and reply:seconds() * 1000 or 0,
    request_id = request_id and redact.text(request_id, call) or nil,
    attempt = attempt, billing = call.row.billing, kind = err and err.kind or nil, message = err and err.message or nil,
  }
  pcall(log, event)
end

return M
