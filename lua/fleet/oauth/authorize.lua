-- Signs a person in: makes the address to open, and handles the callback (doc/protocol.md#sign-in, RFC 6749, RFC 7636).
--
-- The state is stored, is compared in constant time, and is valid once and for ten minutes. The nonce is compared with the id_token's claim
-- before the token pair is stored. An issuer, if given, must be ours.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local endpoint = require "fleet.oauth.token_endpoint"
local region = require "fleet.region"
local scopes = require "fleet.oauth.scopes"
local tables = require "fleet.util.tables"
local tokens = require "fleet.oauth.tokens"

local M = {}

local state_lives = 600 -- seconds

-- ---- the address to open ----

local function state_key(state)
  return "state/" .. state
end

local option_types = {
  scopes = "string", locale = "string", login_hint = "string", nonce = "string", prompt = "string",
  prompt_missing_scopes = "boolean", require_requested_scopes = "boolean", show_keypair_step = "boolean", -- third-party apps only
}

local function check(name, options, config)
  for option, value in pairs(options) do
    local wanted = option_types[option]
    if not wanted then errors.unknown_name(name, "option", option, option_types) end
    if wanted == "boolean" and config.client_secret == nil then
      errors.usage("%s: '%s' is for third-party apps; an open-source app has none (set client_secret)", name, option)
    end
    if type(value) ~= wanted then
      errors.usage("%s: '%s' must be %s", name, option, wanted == "boolean" and "true or false" or "a string")
    end
  end
  for _, needed in ipairs { "client_id", "redirect_uri" } do
    if config[needed] == nil then errors.usage("%s: set %s in fleet.new", name, needed) end
  end
end

-- wanted: list of scopes.
local function address_for(context, name, options, wanted)
  options = tables.copy(options, { scopes = table.concat(wanted, " ") })
  check(name, options, context.config)
  local page = context.auth_url .. context.vendor.authorize_path
  local address, pending, kind = core.authorize_address(options, context.config, page)
  if not address then return nil, pending, kind end
  local kept, err
  kept, err, kind = context.store:put(state_key(pending.state), "1", { ttl = state_lives, generation = 0 })
  if not kept then return nil, err, kind end
  return address, pending
end

--- Makes the address that a person opens to sign in, and `pending`, the secret data that `authorize` needs afterwards: a table of strings.
--- options: scopes (list or text; default: those of fleet.new, else all of an owner; openid is added to offline_access), locale, prompt,
--- login_hint, nonce (texts; a nonce is made for openid), and for third-party apps prompt_missing_scopes, require_requested_scopes,
--- show_keypair_step (booleans). Returns url, pending, or nil, err, kind when the store cannot keep the state.
function M.authorize_url(context, options)
  return address_for(context, "authorize_url", options, scopes.wanted("authorize_url", options and options.scopes, context.config))
end

-- ---- the callback ----

-- Deletes the state from the store. Only the process whose delete succeeds may use the state, so it is valid once.
local function use_state(context, state)
  local key = state_key(state)
  local found, generation, kind = context.store:get(key)
  if found == nil and kind then return nil, generation, kind end
  local taken = found and context.store:delete(key, generation)
  if taken then return true end
  return endpoint.failure("auth", "the sign-in cannot be accepted: it was used already, or is older than ten minutes: sign in again",
    { reason = "state_used" })
end

-- The code of a valid callback, or nil, err, kind. The callback of another sign-in does not consume the state.
local function code_of(context, callback, pending)
  local code, refused, kind, ours = core.callback(callback, pending, context.auth_url, context.token_url)
  if not code and not ours then return nil, refused, kind end
  local used, err, used_kind = use_state(context, pending.state)
  if not used then return nil, err, used_kind end
  return code, refused, kind
end

--- Finishes a sign-in: exchanges the code and stores the token pair. callback: the address to which the browser was redirected, as text, or
--- the bare code; pending: from authorize_url. Returns true (and an err when the store rejected the pair), or nil, err, kind. `auth` has
--- err.reason state_missing, state_mismatch, state_used, code_missing, issuer, nonce, or the server's own error (access_denied,
--- invalid_auth_code, login_required ...). `protocol` has reason malformed for an address that repeats a field or is badly encoded. After
--- state_missing, state_mismatch and malformed, the sign-in can still be finished.
function M.authorize(context, callback, pending)
  local code, err, kind = code_of(context, callback, pending)
  if not code then return nil, err, kind end
  local done, unsaved
  done, unsaved, kind = tokens.exchange_code(context, {
    code = code, redirect_uri = pending.redirect_uri, code_verifier = pending.code_verifier, nonce = pending.nonce,
  })
  if done then region.follow_hint(context, tokens.info(context).user) end
  return done, unsaved, kind
end

-- ---- other addresses ----

--- The address where the person changes or withdraws the application's permissions. options: back_url, or nothing.
function M.consent_url(context, options)
  return core.consent_address(context.auth_url .. context.vendor.consent_path, context.config.client_id, options and options.back_url)
end

--- An authorize address that asks for further scopes, in addition to those of authorize_url. options: scopes, a list or text, and the other
--- options of authorize_url. Returns url, pending as authorize_url does.
function M.add_scopes_url(context, options)
  local more = scopes.list("add_scopes_url", options and options.scopes)
  if not more or #more == 0 then errors.usage "add_scopes_url: 'scopes' must be a list of scopes to add" end
  return address_for(context, "add_scopes_url", tables.copy(options, { prompt_missing_scopes = true }),
    scopes.wanted("add_scopes_url", nil, context.config, more))
end

--- The address that a person opens on the phone to pair the application's key with a car. options: domain, which hosts the key
--- ("example.com"; default: that of fleet.new); vin, the car (optional).
function M.pairing_url(context, options)
  return core.pairing_address(context.vendor.pairing_url, options and options.domain or context.config.domain, options and options.vin)
end

return M
