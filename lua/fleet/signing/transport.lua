-- Vehicle commands: which way one travels, and what happens when the vehicle wants the other.

local core = require "fleet.core"
local run = require "fleet.call"
local signed = require "fleet.signing.command"

local M = {}

local function plainly(call, way)
  call.proxied, call.signed = way == "proxy", way == "proxy"
  local value, err, kind = run.guarded(call, run.attempts)
  if value and type(value) == "table" then value.via = way end
  return value, err, kind
end

local function key_needed(call, err)
  err.kind = "key_not_paired"
  err.message = call.row.name .. ": the vehicle takes signed commands only: set a key and pair it"
  return nil, err, err.kind
end

local function signedly(call)
  call.signed, call.domain, call.has_plain = true, call.row.domain, not call.row.flags.needs_protocol
  if not signed.is_vin(call.id) then return run.fail(call, "unsupported", "a signed command needs the VIN, not an id") end
  return run.guarded(call, signed.perform)
end

--- Performs a planned command. In the way "auto" a vehicle that does not speak the protocol gets the plain form once, and
--- one that wants it gets the signed form once.
function M.perform(row, request, handle)
  local account, _, id = core.account(handle)
  local call = run.new_call(row, request, account, id, handle)
  local way, why = signed.way(account, row, id)
  if not way then return run.fail(call, "unsupported", why) end
  if way == "signed" then
    local value, err, kind = signedly(call)
    if value or err then return value, err, kind end
    way = "plain"
  end
  local value, err, kind = plainly(call, way)
  if not err or call.facts.trait ~= "sign" or way ~= "plain" then return value, err, kind end
  if not account.keys then return key_needed(call, err) end
  if account.config.commands ~= "auto" or not row.message then return value, err, kind end
  signed.remember(account, id, false)
  call.wants_signed = true
  return signedly(call)
end

--- The method of a command row.
function M.method(row)
  return function(car, ...)
    return M.perform(row, core.plan(row.pointer, car, ...), car)
  end
end

return M
