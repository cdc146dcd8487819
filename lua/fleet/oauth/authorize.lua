-- Signing a person in: the address to send them to, and what comes back. doc/protocol.md#sign-in, RFC
-- 6749, RFC 7636.
--
-- The state is compared in constant time, works once and for ten minutes (it waits in the store); a nonce
-- is compared with the claim of the id_token before the pair is kept; an issuer, where one is named, must
-- be ours.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local domains = require "fleet.util.hostname"
local exchange = require "fleet.oauth.token_endpoint"
local region = require "fleet.region"
local tokens = require "fleet.oauth.tokens"

local M = {}

local state_lives = 600 -- seconds
local default_scopes = { "openid", "offline_access", "vehicle_device_data" }
local failure = exchange.failure

-- ---- the address to open ----

-- option -> whether only third-party apps have it (doc/protocol.md#sign-in)
local options_of = {
  scopes = false, locale = false, prompt = false, login_hint = false, nonce = false,
  prompt_missing_scopes = true, require_requested_scopes = true, show_keypair_step = true,
}

local function check_options(account, options)
  for name, value in pairs(options) do
    local third_party = options_of[name]
    if third_party == nil then errors.unknown_name("authorize_url", "option", name, options_of) end
    if third_party and exchange.open_source(account) then
      errors.usage("authorize_url: '%s' is for third-party apps; an open-source app has none (set client_secret)", name)
    end
    if third_party and type(value) ~= "boolean" then errors.usage("authorize_url: '%s' must be true or false", name) end
    if not third_party and name ~= "scopes" and type(value) ~= "string" then errors.usage("authorize_url: '%s' must be a string", name) end
  end
  for _, name in ipairs { "client_id", "redirect_uri" } do
    if not account.config[name] then errors.usage("authorize_url: set %s in fleet.new", name) end
  end
end

local function has_word(text, word)
  return string.find(" " .. text .. " ", " " .. word .. " ", 1, true) ~= nil
end

-- What must come back, and the secrets of the exchange.
local function new_pending(account, scope, nonce)
  local state, err, kind = core.random_text(32)
  if not state then return nil, err, kind end
  local pending = { state = state, redirect_uri = account.config.redirect_uri }
  if exchange.open_source(account) then pending.code_verifier = core.random_text(32) end
  pending.nonce = nonce or has_word(scope, "openid") and core.random_text(16) or nil
  return pending
end

local function choice(value)
  if value == nil then return nil end
  return value and "true" or "false"
end

local function query(account, scope, pending, options)
  return core.oauth_form {
    { "response_type", "code" }, { "client_id", account.config.client_id },
    { "redirect_uri", pending.redirect_uri }, { "scope", scope }, { "state", pending.state },
    { "nonce", pending.nonce },
    { "code_challenge", pending.code_verifier and core.oauth_challenge(pending.code_verifier) },
    { "code_challenge_method", pending.code_verifier and "S256" },
    { "prompt_missing_scopes", choice(options.prompt_missing_scopes) },
    { "require_requested_scopes", choice(options.require_requested_scopes) },
    { "show_keypair_step", choice(options.show_keypair_step) },
    { "locale", options.locale }, { "prompt", options.prompt }, { "login_hint", options.login_hint },
  }
end

local function state_key(state)
  return "state/" .. state
end

--- The address that a person opens to sign in, and what `authorize` needs when they come back: a table of
--- strings, secret. options: scopes (list; default: those of fleet.new), locale, prompt, login_hint, nonce
--- (texts; a nonce is made for openid), and for third-party apps prompt_missing_scopes,
--- require_requested_scopes, show_keypair_step (booleans). Returns url, pending, or nil, err, kind when the
--- store cannot keep the state.
function M.authorize_url(account, options)
  options = options or {}
  check_options(account, options)
  local scope = tokens.scope_text(options.scopes or account.config.scopes or default_scopes, "scopes")
  if not scope then errors.usage("authorize_url: 'scopes' is an empty list") end
  local pending, err, kind = new_pending(account, scope, options.nonce)
  if not pending then return nil, err, kind end
  local kept
  kept, err, kind = account.store:put(state_key(pending.state), "1", { ttl = state_lives, generation = 0 })
  if not kept then return nil, err, kind end
  local page = account.auth_url .. account.vendor.authorize_path
  return page .. "?" .. query(account, scope, pending, options), pending
end

-- ---- what comes back ----

local function refuse(reason, message)
  return failure("auth", "the sign-in cannot be accepted: " .. message, { reason = reason })
end

-- A whole address, its query, or the bare code: { query = } or { code = }.
local function parse(callback)
  local text = string.match(callback, "^%s*(.-)%s*$")
  if string.find(text, "^[%w%-%._~]+$") then return { code = text } end
  text = string.gsub(text, "#.*$", "")
  return { query = string.match(text, "%?(.*)$") or text }
end

local function origin(address)
  local found = string.match(address, "^%a+://[^/?#]+")
  return found and string.lower(found)
end

local function issuer_is_ours(account, issuer)
  local found = origin(issuer)
  return found ~= nil and (found == origin(account.auth_url) or found == origin(account.token_url))
end

-- The fields of the callback that matter, or nil, err, kind: a name given twice is refused.
local function fields_of(text)
  local fields = {}
  for _, name in ipairs { "code", "state", "error", "error_description", "issuer", "iss" } do
    local value, err, kind = core.oauth_field(text, name)
    if err then return nil, err, kind end
    fields[name] = value
  end
  return fields
end

local function check_state(fields, pending)
  if not fields.state then
    return refuse("state_missing", "the address carries no state; paste the whole address, or the code alone")
  end
  if not core.same_secret(fields.state, pending.state) then
    return refuse("state_mismatch", "it belongs to another sign-in: open the newest authorize address")
  end
  return true
end

-- Takes the state out of the store: whoever deletes it is the one who may use it.
local function use_state(account, state)
  local key = state_key(state)
  local found, generation, kind = account.store:get(key)
  if found == nil and kind then return nil, generation, kind end
  local taken = found and account.store:delete(key, generation)
  if taken then return true end
  return refuse("state_used", "it was used already, or is older than ten minutes: sign in again")
end

local function refused_by_server(fields)
  local kind, advice = core.reason(fields.error)
  local text = "the sign-in was refused: " .. string.gsub(string.sub(fields.error, 1, 100), "%c", " ")
  if fields.error_description and fields.error_description ~= "" then
    text = text .. ": " .. string.gsub(string.sub(fields.error_description, 1, 200), "%c", " ")
  end
  if advice then text = text .. ". " .. advice end
  return failure(kind or "auth", text, { reason = fields.error })
end

-- The code of a callback that may be trusted, or nil, err, kind.
local function code_of(account, callback, pending)
  local parsed = parse(callback)
  if parsed.code then
    local used, err, kind = use_state(account, pending.state)
    if not used then return nil, err, kind end
    return parsed.code
  end
  local fields, err, kind = fields_of(parsed.query)
  if not fields then return nil, err, kind end
  local good
  good, err, kind = check_state(fields, pending)
  if good then good, err, kind = use_state(account, pending.state) end
  if not good then return nil, err, kind end
  for _, issuer in ipairs { fields.issuer or fields.iss, fields.iss } do
    if not issuer_is_ours(account, issuer) then return refuse("issuer", "it was issued by another server") end
  end
  if fields.error then return refused_by_server(fields) end
  if fields.code and fields.code ~= "" then return fields.code end
  return refuse("code_missing", "the address carries no code")
end

-- A code of somebody else's sign-in, slipped in, brings an id_token with their nonce, or with none.
local function nonce_check(pending)
  if not pending.nonce then return nil end
  return function(reply)
    if reply.id_token == nil then return true end
    local nonce = type(reply.id_token) == "string" and tokens.claims_of(reply.id_token).nonce
    if type(nonce) == "string" and core.same_secret(nonce, pending.nonce) then return true end
    return refuse("nonce", "its id_token belongs to another sign-in")
  end
end

local function check_pending(pending)
  local whole = type(pending) == "table" and type(pending.state) == "string" and type(pending.redirect_uri) == "string"
  if not whole then errors.usage("bad argument #2 to 'authorize': the second result of authorize_url expected") end
end

--- Finishes a sign-in: exchanges the code and keeps the pair. callback: the address that the browser was
--- sent to, as text, or the bare code; pending: from authorize_url. Returns true (with an err beside it
--- when the store refused the pair), or nil, err, kind: `auth` with err.reason state_missing,
--- state_mismatch, state_used, code_missing, issuer, nonce, or the server's own word (access_denied,
--- invalid_auth_code, login_required ...).
function M.authorize(account, callback, pending)
  if type(callback) ~= "string" then errors.usage("bad argument #1 to 'authorize': the callback address expected") end
  check_pending(pending)
  local code, err, kind = code_of(account, callback, pending)
  if not code then return nil, err, kind end
  local done, unsaved
  done, unsaved, kind = tokens.exchange_code(account, {
    code = code, redirect_uri = pending.redirect_uri, code_verifier = pending.code_verifier,
    check = nonce_check(pending),
  })
  if done then region.follow_hint(account, tokens.info(account).user) end
  return done, unsaved, kind
end

-- ---- other addresses ----

--- Where the person changes or withdraws what the application may do (doc/protocol.md#sign-in). options: back_url, or
--- nothing.
function M.consent_url(account, options)
  return account.auth_url .. account.vendor.consent_path .. "?" .. core.oauth_form {
    { "revoke_client_id", account.config.client_id }, { "back_url", options and options.back_url },
  }
end

local function joined(...)
  local list, seen = {}, {}
  for _, scopes in ipairs { ... } do
    for _, scope in ipairs(scopes) do
      if not seen[scope] then list[#list + 1] = scope end
      seen[scope] = true
    end
  end
  return list
end

--- An authorize address that asks for further scopes, besides those of fleet.new. options: scopes, a list.
--- Returns url, pending as authorize_url does.
function M.add_scopes_url(account, options)
  if type(options) ~= "table" or type(options.scopes) ~= "table" or #options.scopes == 0 then
    errors.usage("add_scopes_url: 'scopes' must be a list of scopes")
  end
  local all = joined(account.config.scopes or default_scopes, options.scopes)
  return M.authorize_url(account, { scopes = all, prompt_missing_scopes = true })
end

--- The address that a person opens on the phone to pair the application's key with a car.
--- options: domain, where the key is hosted ("example.com"; default: that of fleet.new); vin, to choose the
--- car (may be left out).
function M.pairing_url(account, options)
  local domain, vin = options and options.domain or account.config.domain, options and options.vin
  domains.check("pairing_url", domain)
  if vin ~= nil and not (type(vin) == "string" and #vin == 17 and string.find(vin, "^[A-HJ-NPR-Z%d]+$")) then
    errors.usage("pairing_url: 'vin' must be a vehicle identification number")
  end
  return account.vendor.pairing_url .. domain .. (vin and "?vin=" .. vin or "")
end

return M
