-- The tokens of an account: three kinds (user, partner, business), each with one grant that refreshes it.
--
-- No failure loses a token: lua/fleet/oauth/exchange.lua has the sequence. This file chooses the grant of each kind, and the result of a
-- call whose refresh fails.

local check_options = require "fleet.util.check_options"
local core = require "fleet.core"
local errors = require "fleet.util.errors"
local cache = require "fleet.oauth.token_cache"
local endpoint = require "fleet.oauth.token_endpoint"
local need = core.token_need
local scopes = require "fleet.oauth.scopes"
local tables = require "fleet.util.tables"
local tasks = require "fleet.async"
local exchange_under_lease = require "fleet.oauth.exchange"
local pcall = require("fleet.util.compat").pcall -- the called functions may yield

local M = {}

local failure = endpoint.failure
local serves_for = 5 -- seconds: a token that expires sooner is refreshed first

-- ---- exchanging ----

-- Waits for the result of an exchange. A timeout ends the wait; the exchange continues.
local function await(context, flight, seconds)
  if context.ended_within and not context.ended_within(flight, seconds) then
    return failure("timeout", "no token yet: the exchange goes on, and what it brings is kept")
  end
  return flight:wait()
end

-- Exchanges in a separate task if tasks are available, so that a caller's timeout does not cancel the exchange. Callers with the same key
-- share one exchange. patience: seconds to wait for another process's exchange; by default `seconds`.
local function in_background(slot, key, grant, seconds, patience)
  local context = slot.context
  seconds = seconds or context.config.timeout or 30
  patience = patience or seconds
  if not context.spawn then return exchange_under_lease(slot, grant, patience) end
  local flights = context.tokens.flights
  if flights[key] and flights[key].state ~= "failed" then return await(context, flights[key], seconds) end
  local ended = false
  local flight = context.spawn(function()
    local ok, token, err, kind = pcall(exchange_under_lease, slot, grant, patience)
    ended, flights[key] = true, nil
    if not ok then error(token, 0) end
    return token, err, kind
  end)
  if not ended then flights[key] = flight end
  return await(context, flight, seconds)
end

-- Exchanges on request. Returns true, and an err when the token pair is in use but not saved; or nil, err, kind.
local function exchanged(slot, grant)
  local token, err, kind = in_background(slot, grant, grant)
  if not token then return nil, err, kind end
  return true, err
end

-- The same for a grant that needs no refresh token; a stored token does not make it unnecessary.
local function signed_in(context, token_kind, grant)
  local able, err, kind = need.exchangeable(context.config, token_kind)
  if not able then return nil, err, kind end
  grant.always = true
  return exchanged(cache.slot(context, token_kind), grant)
end

-- ---- a token for a call ----

-- The grant that gives a new token, unless a stored one is usable. A partner token has no refresh token.
local function grant_for(slot, token, rejected)
  if slot.kind ~= "partner" then return { kind = "refresh", rejected = rejected } end
  return { kind = "partner", scope = token and token:facts().asked or nil, rejected = rejected }
end

-- While the token is still valid, a call waits only for an exchange of this process: another process may have crashed during its own.
local function renew(slot, token, serves, options)
  local seconds = options.deadline and options.deadline - tasks.real()
  local grant = grant_for(slot, token, options.rejected)
  if not serves or slot.context.tokens.flights[slot.kind] then return in_background(slot, slot.kind, grant, seconds) end
  return in_background(slot, slot.kind .. "/early", grant, seconds, 0)
end

--- The access token if M.access would return it at once without waiting or reporting; else nil.
function M.at_hand(context, token_kind)
  if context.config.token then return context.config.token end
  local token = cache.slot(context, token_kind):at_hand()
  return token and token:choose(context.clock()) == "use" and token:access() or nil
end

local function given_token(token, rejected)
  if not rejected or not core.same_secret(token, rejected) then return token end
  local refused = "the token given to fleet.new was refused: it has expired, or is of another region"
  return errors.failure("auth", refused, { outcome = "not_sent" })
end

--- An access token for a call: the stored one, or a new one. token_kind: "user", "partner" or "business". options: rejected, the access
--- token that was just answered with 401; deadline, in real seconds, until when to wait for another process's exchange. Returns the token,
--- or nil, err, kind (err.outcome: of the exchange); kind is `auth` only when there is no token or the newest refresh token was rejected.
--- Returns "stored" as a second value when another process had already refreshed the rejected token.
function M.access(context, token_kind, options)
  options = options or {}
  local config, rejected = context.config, options.rejected
  if config.token then return given_token(config.token, rejected) end
  local slot = cache.slot(context, token_kind)
  local token, err, kind = slot:newest(rejected ~= nil)
  if token == nil then return nil, err, kind end
  local mono, wall = context.clock()
  local plan, left, why = need.plan(config, slot, token, mono, wall, rejected)
  if not plan then return nil, left, why end
  if plan == "use" then return token:access(), rejected and "stored" or nil end
  local serves = left and left > serves_for and not rejected
  local fresh
  fresh, err, kind = renew(slot, token, serves, options)
  if fresh then return fresh:access() end
  local still_good = token and left and left > 0 and rejected ~= token:access()
  if kind == "auth" or not still_good then return nil, err, kind end
  if kind ~= "busy" or not serves then slot:report("token_not_renewed", err) end
  return token:access()
end

--- Whether there is a token of this kind, usable or not.
function M.holds(context, token_kind)
  if context.config.token then return true end
  return cache.slot(context, token_kind):newest() and true or false
end

-- ---- exchanges on request ----

local refreshable = { "user", "business" }

local function refreshed_kind(options)
  check_options.names("refresh", "option", options, { "auth" })
  local kind = options and options.auth or "user"
  if kind ~= "user" and kind ~= "business" then errors.unknown_choice("refresh", "auth", kind, refreshable) end
  return kind
end

--- Exchanges the refresh token now, unless another process just did. options: auth, "user" (default) or "business". Returns true (and an
--- err when the store rejected the new pair), or nil, err, kind.
function M.refresh(context, options)
  local slot = cache.slot(context, refreshed_kind(options))
  local token, err, kind = slot:newest(true)
  if token == nil then return nil, err, kind end
  local able
  able, err, kind = need.refreshable(context.config, slot, token)
  if not able then return nil, err, kind end
  return exchanged(slot, { kind = "refresh", replaces = token })
end

--- A partner token by client credentials. options: scopes, a list (default: what the application has).
function M.partner_login(context, options)
  local list = scopes.list("partner_login", options and options.scopes)
  return signed_in(context, "partner", { kind = "partner", scope = list and #list > 0 and table.concat(list, " ") or nil })
end

--- A business token. options: auth_code, from the vendor's business consent; scopes, a list (default: config.scopes). The code is not
--- stored: when the token expires after some hours, the business must issue another code.
function M.business_login(context, options)
  options = options or {}
  if type(options.auth_code) ~= "string" or options.auth_code == "" then
    errors.usage "business_login: bad option 'auth_code': the code of the business's consent is needed"
  end
  local list = scopes.list("business_login", options.scopes) or context.config.scopes or {}
  if #list == 0 then errors.usage "business_login: bad option 'scopes': a business token needs them" end
  return signed_in(context, "business", { kind = "business", auth_code = options.auth_code, scope = table.concat(list, " ") })
end

--- A user's token pair for the code of a callback: lua/fleet/oauth/authorize.lua. given: code, redirect_uri, code_verifier, nonce.
function M.exchange_code(context, given)
  return signed_in(context, "user", tables.copy(given, { kind = "code" }))
end

--- Refreshes token pairs that are older than 30 days, because an unused pair expires after three months. Returns true when one was
--- refreshed, false when none needed it, or nil, err, kind.
function M.keep_alive(context)
  local done = false
  for _, token_kind in ipairs(refreshable) do
    local token, err, kind = cache.slot(context, token_kind):newest(true)
    if token == nil then return nil, err, kind end
    if token and token:stale(context.clock()) then
      local refreshed, refresh_err, refresh_kind = M.refresh(context, { auth = token_kind })
      if not refreshed then return nil, refresh_err, refresh_kind end
      done = true
    end
  end
  return done
end

local function logout_kinds(options)
  check_options.names("logout", "option", options, { "auth" })
  local kind = options and options.auth
  if kind == nil then return cache.kinds end
  for _, known in ipairs(cache.kinds) do
    if kind == known then return { kind } end
  end
  errors.unknown_choice("logout", "auth", kind, cache.kinds)
end

--- Removes the account's tokens from the store and from memory. options: auth, "user", "partner" or "business", by default all. The
--- person's consent at the vendor remains: consent_url withdraws it. Returns true, or nil, err, kind.
function M.logout(context, options)
  for _, token_kind in ipairs(logout_kinds(options)) do
    local flight = context.tokens.flights[token_kind]
    if flight then pcall(flight.wait, flight) end -- otherwise it would store a new pair afterwards
    local done, err, kind = cache.slot(context, token_kind):remove()
    if not done then return nil, err, kind end
  end
  return true
end

--- The scopes that authorize_url asks for by default, and those that were granted: { asked = list, granted = list, missing = list }.
--- granted and missing are absent when there is no token, or it does not name them. Returns nil, err, kind when the store cannot be read.
function M.scopes(context)
  local info, err, kind = M.info(context)
  if not info then return nil, err, kind end
  local asked, granted = scopes.wanted("scopes", nil, context.config), info.user and info.user.scopes
  if granted and #granted == 0 then granted = nil end
  return { asked = asked, granted = granted, missing = granted and scopes.missing(asked, granted) }
end

--- For the end of a process: waits for all running exchanges and offers the store again the tokens that it rejected. Returns true, or nil,
--- err, kind when a token is still not saved.
function M.finish(context)
  local flights = {}
  for _, flight in pairs(context.tokens.flights) do flights[#flights + 1] = flight end
  for _, flight in ipairs(flights) do pcall(flight.wait, flight) end
  return cache.save(context)
end

-- ---- facts of a token ----

-- The claims of the access token. They are not verified and serve as hints only. {} when there are none.
local function claims_of(facts)
  local claims = facts.claims and core.json_decode(facts.claims)
  return type(claims) == "table" and claims or {}
end

-- The granted scopes as the server or the access token names them, else those that were requested.
local function scopes_of(facts, claims)
  if not facts.scope and type(claims.scp) == "table" then return claims.scp end
  local list = {}
  for scope in string.gmatch(facts.scope or facts.asked or "", "%S+") do list[#list + 1] = scope end
  return list
end

local function describe(context, token, unsaved)
  local facts, _, left = token:facts(), token:choose(context.clock())
  local claims = claims_of(facts)
  local ends = facts.expires_at or tonumber(claims.exp)
  return {
    expires_at = ends and ends > 0 and ends or nil, expires_in = left, refreshed_at = facts.refreshed_at, refresh_by = facts.refresh_by,
    scopes = scopes_of(facts, claims), subject = claims.sub, audience = claims.aud, unsaved = unsaved and true or false,
    region = core.region_hint(context.vendor.name, claims, facts.prefix),
  }
end

--- What is known of the account's tokens, without the tokens: { user = { expires_at, expires_in, refreshed_at, refresh_by, scopes, unsaved,
--- subject, audience, region }, partner =, business = }; times in UTC seconds, expires_in in seconds. A kind without a token is absent.
--- Returns nil, err, kind when the store cannot be read.
function M.info(context)
  local found = {}
  if context.config.token then
    found.user = describe(context, core.token_given(context.config.token))
    return found
  end
  for _, token_kind in ipairs(cache.kinds) do
    local slot = cache.slot(context, token_kind)
    local token, err, kind = slot:newest(true)
    if token == nil then return nil, err, kind end
    if token then found[token_kind] = describe(context, token, slot.unsaved) end
  end
  return found
end

return M
