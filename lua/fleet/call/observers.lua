-- Reports every attempt to listeners (recordings, automations), config.metrics and config.log. Their errors do not reach the call, and
-- secrets are taken out.

local core = require "fleet.core"
local failure = require "fleet.call.failure"
local on_demand = require "fleet.util.on_demand"
local tasks = require "fleet.async"
local pcall = require("fleet.util.compat").pcall -- the called functions may yield

local M = {}

M.audit = on_demand.call("fleet.metrics.audit", "notify")
M.sign_in_needed = on_demand.call("fleet.metrics.alarm", "sign_in_needed")
M.signed_in = on_demand.call("fleet.metrics.alarm", "signed_in") -- called only when context.alarmed is set

--- Calls fn(row, id, status) after every attempt of the context's calls, including retries. status is nil when no answer came. Returns a
--- function that removes the listener.
function M.listen(context, fn)
  local list = context.listeners or {} -- not a weak table: the functions refer to the context
  context.listeners, list[fn] = list, true
  return function() list[fn] = nil end
end

local function notify(call, status)
  local list = call.context.listeners
  if not list then return end
  for fn in pairs(list) do fn(call.row, call.id, status) end
end

--- Whether attempts are reported to anything.
function M.are_there(context)
  local config = context.config
  return context.listeners or config.metrics or config.log and context.logs_attempts
end

local function measure(call, status, seconds, err, attempt, billed)
  local class = call.row.billing
  call.context.measure {
    name = "attempt", row = call.row.name, class = class, status = status, kind = err and err.kind or nil, seconds = seconds,
    billed = billed or false, attempt = attempt, usd = billed and call.context.meter.prices[class] or 0,
  }
end

local function log(call, status, seconds, err, attempt, reply)
  local _, wall = tasks.loop.clock()
  local request_id = err and err.request_id or reply:header("x-txid") or reply:header("x-request-id")
  pcall(call.context.config.log, {
    time = wall, method = call.row.verb, path = call.row.path, vin = call.id and string.sub(call.id, -4) or nil,
    status = status, ms = seconds * 1000, request_id = request_id and core.redact(request_id, failure.secrets(call)) or nil,
    attempt = attempt, billing = call.row.billing, kind = err and err.kind or nil, message = err and err.message or nil,
  })
end

--- Reports an attempt to listeners, metrics and log. status is nil when no answer came.
function M.report(call, reply, err, attempt, billed)
  local config = call.context.config
  local status, seconds = reply:status(), reply:seconds()
  if status == 0 then status = nil end
  notify(call, status)
  if config.metrics then measure(call, status, seconds, err, attempt, billed) end
  if config.log and call.context.logs_attempts then log(call, status, seconds, err, attempt, reply) end
end

return M
