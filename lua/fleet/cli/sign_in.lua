-- Signs a person in at a terminal, for `fleet login` and `fleet setup`: prints the address, receives the callback by listener or pasted
-- text, exchanges the code.

local callback = require "fleet.cli.callback"
local core = require "fleet.core"
local errors = require "fleet.util.errors"
local scopes = require "fleet.cli.scopes"
local usage_error = require "fleet.cli.usage_error"
local argv = require "fleet.cli.argv"

local function check(given, verb)
  for _, name in ipairs { "client_id", "redirect_uri" } do
    if not given[name] then
      usage_error.raise(string.format("'%s' needs %s: 'fleet setup' asks for it and keeps it", verb, argv.written(name)), { verb })
    end
  end
end

local function invite(context, url, listener, wanted)
  local out = context.json and context.environment.stderr or context.out
  if wanted and not listener then
    context.environment.stderr:write("fleet: nothing can listen at the redirect address: another program may use its port\n")
  end
  out:write(listener and "Waiting for the browser on this machine. With a browser elsewhere, paste here the address at which it ends.\n"
    or "Paste here the address at which the browser ends, or the code in it.\n")
  out:write("Open this address to sign in: ", url, "\n")
  out:flush()
end

local foreign_reasons = { state_mismatch = true, state_missing = true, malformed = true }

-- A callback with another state is ignored and the sign-in continues: any program that knows the port can send one.
local function taker(client, pending, result)
  return function(address)
    local done, err, kind = client:authorize(address, pending)
    local foreign = not done and foreign_reasons[err.reason]
    result.done, result.err, result.kind = done, err, kind
    if foreign then return nil end
    return done == true and err == nil
  end
end

local function no_answer(verb)
  return errors.failure("timeout", verb .. ": no callback address came; run it again and paste the address")
end

-- The result of token_info, with the scopes that were requested and not granted.
local function result_of(client, wanted)
  local slots, err, kind = client:token_info()
  if err then return nil, err, kind end
  if slots.user then slots.user.not_granted = scopes.missing(wanted, slots.user.scopes or {}) end
  return slots
end

--- Signs in. given: options of client:authorize_url, by default the configured scopes or all scopes of an owner; pasted = true: no listener
--- on this machine. Returns the result of token_info, with user.not_granted, or nil, err, kind.
return function(context, client, given, pasted)
  local loop, config = require("fleet").loop, core.context(client).config
  check(config, context.name)
  given.scopes = config.scopes or scopes.owner
  local url, pending, kind = context:check(client.authorize_url, client, given)
  if not url then return nil, pending, kind end
  local result = {}
  local take = taker(client, pending, result)
  local listener = not pasted and callback.listen(loop, config.redirect_uri, take) or nil
  invite(context, url, listener, not pasted and callback.parts(config.redirect_uri) ~= nil)
  local came = callback.wait(context.environment, loop, listener, take)
  if result.err then return nil, result.err, result.kind or result.err.kind end
  if not came then return no_answer(context.name) end
  return result_of(client, given.scopes)
end
