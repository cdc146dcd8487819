-- Chooses how a vehicle command is sent (signed, plain, through the proxy), and handles a vehicle that requires another form.

local core = require "fleet.core"
local calls = require "fleet.call"
local errors = require "fleet.util.errors"
local failure = require "fleet.call.failure"
local command = require "fleet.signing.command"
local status_cache = require "fleet.call.vehicle_status_cache"

local M = {}

local remembered = 7 * 86400 -- seconds
local store_key = "plain/" -- followed by the VIN

-- ---- what is known about a vehicle ----

-- context.accepts_signed has the vehicles that accepted a signed command of this client: the store need not be read again.

local function remember(context, vin, plain)
  if plain then context.accepts_signed[vin] = nil end
  context.store:put(store_key .. vin, plain and "1" or "0", { ttl = remembered })
end

-- The form that the vehicle takes, "signed" or "plain", or nil when it is unknown. A recent answer of the vehicle itself has priority over
-- fleet_status.
local function known_form(context, vin)
  if context.accepts_signed[vin] then return "signed" end
  local answered = context.store:get(store_key .. vin)
  if answered then return answered == "1" and "plain" or "signed" end
  local info = status_cache.recall(context, vin)
  local required = info and info.vehicle_command_protocol_required
  return required == false and "plain" or required == true and "signed" or nil
end

-- ---- sending ----

local function perform_plain(call, transport)
  call.proxied, call.signed = transport == "proxy", transport == "proxy"
  local value, err, kind = calls.run(call)
  if value and type(value) == "table" then value.via = transport end
  return value, err, kind
end

local function perform_signed(call)
  call.signed, call.domain = true, call.row.domain
  if not call.context.accepts_signed[call.id] and not core.is_vin(call.id) then
    return failure.new(call, "unsupported", "a signed command needs the VIN, not an id")
  end
  local value, err, kind = calls.run(call, command.perform)
  if not err then call.context.accepts_signed[call.id] = true end
  return value, err, kind
end

-- ---- after a refusal ----

-- refused: the failures before this one, by transport.
local function after_refusal(call, sent, err, refused)
  local context = call.context
  return core.other_transport(call.request, {
    sent = sent, plain_refused = refused.plain ~= nil, signed_refused = refused.signed ~= nil, commands = context.config.commands,
    has_key = context.keys ~= nil, trait = call.trait, kind = err.kind, outcome = err.outcome, fault = err.fault,
    outcome_unknown = call.outcome_unknown, idempotent = call.idempotent,
  })
end

local no_protocol = "%s: this vehicle takes plain commands only, and the command has %s"

-- The vehicle does not know the protocol, and the plain form is not allowed: the command is not possible.
local function cannot_take(call, err)
  local why = call.row.flags.needs_protocol and "no plain form" or "only its signed form allowed: commands = \"signed\""
  err.kind, err.message = "unsupported", no_protocol:format(call.row.name, why)
  return nil, err, "unsupported"
end

local neither_form = "%s: the vehicle takes it in neither form. Plain: %s. Signed: %s"
local proxy_declines = "%s: the vehicle takes signed commands only, and the proxy does not sign this one (%s); "
  .. "with a key and commands = \"auto\" it is signed here"
local must_be_signed = "%s: the vehicle takes signed commands only: %s"

local function refusal(call, err, kind, text, ...)
  err.kind, err.message = kind, text:format(call.row.name, ...)
  return nil, err, kind
end

-- Adds the firmware that a refused command needs: the vehicle's may be too old.
local function name_firmware(call, value, err, kind)
  if not err or not call.row.since or err.outcome ~= "refused" then return value, err, kind end
  if kind ~= "unsupported" and err.reason ~= "not_supported" then return value, err, kind end
  local need = status_cache.firmware_need(call.context, call.row, call.id)
  if need then err.message = string.gsub(err.message, "%.$", "") .. ". " .. string.gsub(need, "^it", call.row.name) end
  return value, err, kind
end

-- Sends the command in one form. After a definite refusal that the other form can avoid, sends it once in the other form.
local function travel(call, transport)
  local refused
  while true do
    local value, err, kind = (transport == "signed" and perform_signed or perform_plain)(call, transport)
    if not err then return value end
    refused = refused or {}
    local follows, new_kind, advice, shown = after_refusal(call, transport, err, refused)
    if shown then remember(call.context, call.id, shown == "plain") end
    if not follows and transport == "signed" and call.trait == "plain" and err.outcome ~= "unknown" then
      return cannot_take(call, err)
    end
    if not follows then return nil, err, kind end
    if follows == "advice" then return refusal(call, err, new_kind, must_be_signed, advice) end
    refused[transport] = err
    if follows == "neither" and transport == "proxy" then
      return refusal(call, err, "unsupported", proxy_declines, err.message)
    elseif follows == "neither" then
      local plain, signed = refused.plain, refused.signed
      return refusal(call, plain, "unsupported", neither_form, plain.message, signed.message)
    end
    transport = follows
  end
end

-- ---- the choice ----

-- The row's rule, by the option `commands` and whether there is a key. rules: of the row.
local function rule_of(row, rules, context)
  local commands, has_key = context.config.commands, context.keys ~= nil
  local known = rules[has_key]
  if not known[commands] then known[commands] = core.transport_rule(row.pointer, commands, has_key) end
  return known[commands]
end

-- Whether a value can be sent in the plain form only: that form is tried first when the vehicle may accept it.
local function too_wide(call, rule, known)
  local fits, err, kind = core.check_signed_form(call.request)
  if fits then return nil end
  if rule.recall and known ~= "signed" then return "plain" end
  return nil, string.gsub(err.message, "^[%w_]+: ", ""), kind
end

-- narrowed = true: a parameter has a smaller range in the signed form.
local function choose(call, rule, narrowed)
  if rule.by_value and not core.check_signed_form(call.request) then return "plain" end
  local asked = rule.recall or call.row.flags.needs_protocol and rule.transport == "signed"
  local known = asked and known_form(call.context, call.id)
  if narrowed and rule.transport == "signed" and known ~= "plain" then
    local transport, why, kind = too_wide(call, rule, known)
    if transport or why then return transport, why, kind end
  end
  if known ~= "plain" then return rule.transport, rule.why end
  if rule.recall then return "plain" end
  return nil, "this vehicle takes plain commands only, and the command has no plain form"
end

local function signs(row, config, keys)
  return row.message and keys and (config.commands == "auto" or config.commands == "signed")
end

local function perform(row, rules, narrowed, handle, request)
  local call = calls.new(row, request, handle)
  if request:flag("raw") and signs(row, call.context.config, call.context.keys) then
    errors.usage(row.name .. ": option 'raw' is not for commands that this client signs: their reply is a message of the vehicle")
  end
  local transport, why, failed_as = choose(call, rule_of(row, rules, call.context), narrowed)
  if not transport then return calls.ended(call, failure.new(call, failed_as or "unsupported", why)) end
  local id = row.flags.idempotent_with_id and request:params().id -- random unless the caller gave one
  local value, err, kind = calls.ended(call, name_firmware(call, travel(call, transport)))
  if value and id then value.id = tonumber(id) end
  return value, err, kind
end

--- The method of a command row.
function M.method(row)
  local rules, narrowed = { [true] = {}, [false] = {} }, false
  for _, param in ipairs(row.params) do narrowed = narrowed or param.signed_max ~= nil or param.word ~= nil end
  return function(car, ...)
    return perform(row, rules, narrowed, car, core.plan(row.pointer, car, ...))
  end
end

return M
