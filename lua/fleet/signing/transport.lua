-- Which way a vehicle command travels (signed, plain, through the proxy), and what happens when the vehicle wants the other.

local core = require "fleet.core"
local calls = require "fleet.call"
local failure = require "fleet.call.failure"
local retry = require "fleet.call.retry"
local state = require "fleet.call.state"
local command = require "fleet.signing.command"
local status_cache = require "fleet.call.vehicle_status_cache"

local M = {}

local remembered = 7 * 86400 -- seconds

-- ---- what is known of a vehicle ----

local function store_key(vin)
  return "plain/" .. vin
end

-- context -> { vin = true }: it obeyed a signed command of this client, so that the store need not be asked again.
local obedient = setmetatable({}, { __mode = "k" })

local function note_signed(context, vin, obeyed)
  obedient[context] = obedient[context] or {}
  obedient[context][vin] = obeyed
end

local function has_obeyed(context, vin)
  return obedient[context] ~= nil and obedient[context][vin] == true
end

local function remember(context, vin, plain)
  if plain then note_signed(context, vin, nil) end
  context.store:put(store_key(vin), plain and "1" or "0", { ttl = remembered })
end

-- What the vehicle itself answered lately counts more than what fleet_status said.
local function known_as_plain(context, vin)
  if has_obeyed(context, vin) then return false end
  local answered = context.store:get(store_key(vin))
  if answered then return answered == "1" end
  local info = status_cache.recall(context, vin)
  return info ~= nil and info.vehicle_command_protocol_required == false
end

-- ---- the choice ----

-- nil, err: these values have no place in the message, or the command has none.
local function signed_form(row, request)
  if not row.message then return nil end
  if not row.flags.either_form then return true end
  return core.check_signed_form(request)
end

-- "signed", "plain" or "proxy"; nil, text when nothing can carry it. The proxy knows the published forms only
-- (doc/protocol.md#plain-or-signed).
local function choose(context, row, request, vin)
  local wanted = context.config.commands
  if wanted == "proxy" then return row.message and not row.flags.either_form and "proxy" or "plain" end
  if not context.keys then
    if wanted == "signed" then return nil, "commands = \"signed\" needs a key" end
    return "plain"
  end
  if wanted == "plain" or row.flags.plain_first or not signed_form(row, request) then return "plain" end
  if wanted == "auto" and not row.flags.needs_protocol and known_as_plain(context, vin) then return "plain" end
  return "signed"
end

-- ---- the ways ----

local function perform_plain(call, transport)
  call.proxied, call.signed = transport == "proxy", transport == "proxy"
  local value, err, kind = calls.guarded(call, retry.perform)
  if value and type(value) == "table" then value.via = transport end
  return value, err, kind
end

local function perform_signed(call)
  call.signed, call.domain = true, call.row.domain
  if not has_obeyed(call.context, call.id) and not core.is_vin(call.id) then
    return failure.new(call, "unsupported", "a signed command needs the VIN, not an id")
  end
  return calls.guarded(call, command.perform)
end

-- ---- when one way is refused ----

local unknown_command = { [8] = true, [9] = true }

-- Whether the plain form may follow: the signed one certainly did nothing, and the vehicle may take the other.
local function plain_may_follow(call, err)
  local config, row = call.context.config, call.row
  if call.outcome_unknown and not call.facts.idempotent then return false end
  if call.facts.trait == "plain" then
    return (config.commands == "auto" or row.flags.either_form) and not row.flags.needs_protocol
  end
  return row.flags.either_form and unknown_command[err.fault] and err.outcome ~= "unknown"
end

local function signed_may_follow(call)
  local commands = call.context.config.commands
  if not call.context.keys or not signed_form(call.row, call.request) then return false end
  return commands == "auto" or commands == "signed" and call.row.flags.either_form
end

-- What would help, where the plain form was refused and the signed one does not follow.
local function advice(call)
  local context, row = call.context, call.row
  local form, why = signed_form(row, call.request)
  if not form then return "unsupported", why and why.message or "this command has no signed form" end
  if context.config.commands == "proxy" then
    return "unsupported", "the proxy does not know this command; with a key and commands = \"auto\" it is signed here"
  end
  if not context.keys then return "key_not_paired", "set a key, which the owner adds at the address of client:pairing_url" end
  return "key_not_paired", "commands = \"plain\" forbids that; use \"auto\""
end

local function neither_form(call, refused, err)
  err.kind = "unsupported"
  err.message = ("%s: the vehicle takes it in neither form. Plain: %s. Signed: %s"):format(call.row.name, err.message, refused.message)
  return nil, err, err.kind
end

local function must_be_signed(call, err)
  local kind, what = advice(call)
  err.kind, err.message = kind, ("%s: the vehicle takes signed commands only: %s"):format(call.row.name, what)
  return nil, err, kind
end

local function plain_then_signed(call, transport, refused)
  local value, err, kind = perform_plain(call, transport)
  if not err or call.facts.trait ~= "sign" or transport ~= "plain" then return value, err, kind end
  if refused then return neither_form(call, refused, err) end
  if not signed_may_follow(call) then return must_be_signed(call, err) end
  if not call.row.flags.plain_first then remember(call.context, call.id, false) end
  local plain_err = err
  value, err, kind = perform_signed(call)
  if err and plain_may_follow(call, err) then return neither_form(call, err, plain_err) end
  return value, err, kind
end

local function signed_then_plain(call)
  local value, err, kind = perform_signed(call)
  if not err then
    note_signed(call.context, call.id, true)
    return value
  end
  if call.facts.trait == "plain" and call.context.config.commands == "auto" then remember(call.context, call.id, true) end
  if not plain_may_follow(call, err) then return nil, err, kind end
  local last = call.row.flags.either_form or call.facts.trait ~= "plain"
  return plain_then_signed(call, "plain", last and err or nil)
end

-- A planned command. One certain refusal that the other way may mend is followed by the other way, once.
local function perform(row, handle, request, ...)
  local call = state.new(row, request, handle, ...)
  local transport, why = choose(call.context, row, request, call.id)
  if not transport then return calls.ended(call, failure.new(call, "unsupported", why)) end
  if transport == "signed" then return calls.ended(call, signed_then_plain(call)) end
  return calls.ended(call, plain_then_signed(call, transport))
end

--- The method of a command row.
function M.method(row)
  return function(car, ...)
    return perform(row, car, core.plan(row.pointer, car, ...))
  end
end

return M
