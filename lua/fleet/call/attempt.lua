-- One attempt of a call: counted, sent, understood, reported. What an answer means is said by core.result; whether another
-- attempt follows is decided elsewhere (fleet.call.retry).

local billed_calls = require "fleet.budget.billed"
local core = require "fleet.core"
local failure = require "fleet.call.failure"
local observers = require "fleet.call.observers"
local region = require "fleet.region"
local reply_details = require "fleet.util.reply_details"
local send = require "fleet.call.send"
local tasks = require "fleet.async"
local turn = require "fleet.call.turn"

local M = {}

local closed_interface = "; base_url names the closed owner interface: use region, or a base address of the Fleet API"

local function explain(call, reply, err, kind)
  if call.id and (kind == "asleep" or kind == "offline") then call.context.states[call.id] = kind end
  reply_details.add(err, reply)
  failure.annotate(call, err)
  if err.status and region.is_closed(call.context) and not string.find(err.message, "closed owner interface", 1, true) then
    err.message = err.message .. closed_interface
  end
  call.other_host = err.kind == "region" and region.named(call.context, reply) or nil
  if err.kind == "unregistered" then err.message = err.message .. " (" .. region.describe(call.context) .. ")" end
  err.raw = core.redact(reply:body(), core.call_secrets(call))
  if kind == "protocol" and call.row.begins and err.raw ~= "" then -- not before secrets are out: a part of one is not recognised
    err.message = err.message .. ": '" .. string.gsub(string.sub(err.raw, 1, 32), "[^!-~]", " ") .. "'"
  end
end

-- Whether a record names a vehicle, and not that of the call.
local function is_of_another(call, value)
  if call.row.handle ~= "vehicle" or type(value) ~= "table" or type(value.vin) ~= "string" then return false end
  return value.vin ~= call.id and core.is_vin(value.vin) and core.is_vin(call.id)
end

-- What the reply means, what it costs, and who is told. ending: of a good reply.
local function understand(call, reply, number, entry, wall, ending)
  local ends = not observers.are_there(call.context) and not call.on_reply and ending
  local state = call.id and call.context.states[call.id]
  local value, err, kind, transient, trait = core.result(call.request, reply, wall, state, call.proxied, ends)
  local billed = call.row.billing ~= "free" and billed_calls.settle(call, entry, reply, err, value, wall)
  if not err and call.id and is_of_another(call, value) then
    value, err, kind = failure.new(call, "protocol", "the reply is about another vehicle than the one that was asked for")
    err.outcome = call.write and "unknown" or nil
    if ends then return value, err, kind end -- the reply was closed with its result
  end
  if err then
    call.facts.transient, call.facts.trait = transient, trait
    if kind == "rate_limited" and call.context.pacer then turn.rest(call, reply, err) end
    explain(call, reply, err, kind)
  end
  if not err and ends then return value end -- and the reply was closed with its result
  observers.report(call, reply, err, number, billed)
  if call.on_reply then call.on_reply(reply) end
  reply:close()
  return value, err, kind
end

--- An attempt whose reply has come before its call was looked at.
function M.understand(call, reply, number)
  call.answered, call.answered_wall = tasks.loop.clock()
  return understand(call, reply, number, nil, call.answered_wall, "close")
end

-- The request and its reply.
local function exchange(call, token, number, left)
  local entry, billable = nil, call.row.billing ~= "free"
  if billable and call.context.config.budgets then
    local kind, message, facts
    entry, kind, message, facts = turn.admit(call)
    if not entry then return failure.new(call, kind, message, facts) end
  end
  local reply, err, kind = send.request(call, call.proxied and call.context.proxy_url or call.context.base_url, token, left)
  local now, wall = tasks.loop.clock()
  call.answered, call.answered_wall = now, wall
  if not reply then
    if entry then billed_calls.settle(call, entry, nil, err, nil, wall) end
    return nil, failure.annotate(call, err), kind
  end
  return understand(call, reply, number, entry, wall, call.envelope and "give back both" or "give back")
end

--- Sends the call's request once with this token. Returns the value, or nil, err, kind.
function M.perform(call, token, number)
  if call.context.closed then return failure.new(call, "closed", failure.closed_text .. " before it was sent") end
  local real, now = tasks.times()
  local left = call.deadline - real
  if left <= 0 then return failure.new(call, "timeout", "no time was left to send it") end
  if call.expires and now >= call.expires then
    call.expired = true
    return failure.new(call, "timeout", "the signed message waited longer than its lifetime and was not sent")
  end
  return exchange(call, token, number, left)
end

return M
