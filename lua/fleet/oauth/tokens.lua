-- The tokens of an account: three kinds (user, partner, business), each with the one grant by which it is refreshed.
--
-- A token is never lost: lua/fleet/oauth/refresh.lua has the sequence. Here stands what each kind is refreshed with, and
-- what a caller who needs a token gets when that fails.

local check_options = require "fleet.util.check_options"
local core = require "fleet.core"
local errors = require "fleet.util.errors"
local cache = require "fleet.oauth.token_cache"
local endpoint = require "fleet.oauth.token_endpoint"
local region = require "fleet.region"
local tasks = require "fleet.async"
local refresh_under_lease = require "fleet.oauth.refresh"
local pcall = require("fleet.util.compat").pcall -- what it calls may wait

local M = {}

local refused_for = 60 -- seconds in which a refused token is not offered again
local failure = endpoint.failure

local function scope_text(scopes, name)
  if scopes == nil then return nil end
  if type(scopes) == "string" then return scopes end
  if type(scopes) ~= "table" then errors.usage("bad option '" .. name .. "': a list of scopes expected") end
  return #scopes > 0 and table.concat(scopes, " ") or nil
end
M.scope_text = scope_text

-- ---- the grants (doc/protocol.md#token-requests) ----

-- What a token is for: the service itself, also where a socket leads to it.
local function audience(context)
  return context.audience or context.base_url
end

local function refresh_grant(context, serves)
  return {
    serves = serves, refreshes = true,
    form = function(token, previous)
      if not token or not token:refreshable() then
        return failure("auth", "no token: there is nothing to refresh: sign in again")
      end
      return core.grant("refresh", { client_id = context.config.client_id, token = token, previous = previous })
    end,
  }
end

local function credentials_grant(context, token_kind, asked, auth_code, serves)
  return {
    asked = asked, serves = serves,
    form = function()
      return core.grant(token_kind, {
        client_id = context.config.client_id, client_secret = context.config.client_secret, audience = audience(context),
        scope = asked, auth_code = auth_code,
      })
    end,
  }
end

local function code_grant(context, given)
  return {
    nonce = given.nonce, serves = function() return false end,
    form = function()
      return core.grant("code", {
        client_id = context.config.client_id, client_secret = context.config.client_secret, code = given.code,
        audience = audience(context), code_verifier = given.code_verifier, redirect_uri = given.redirect_uri,
      })
    end,
  }
end

-- ---- exchanging ----

local function ready(context)
  if context.config.token then
    return failure("unsupported", "the token was given to fleet.new: whoever gave it refreshes it")
  end
  if not context.config.client_id then return failure("auth", "no token: set client_id, and sign in") end
  return true
end

-- The result of an exchange, for at most so many seconds: whoever stops waiting does not stop it.
local function await(context, flight, seconds)
  if context.ended_within and not context.ended_within(flight, seconds) then
    return failure("timeout", "no token yet: the exchange goes on, and what it brings is kept")
  end
  return flight:wait()
end

-- In a task of its own where there are tasks: a caller who gives up must not take an exchange with it. Those who
-- bring the same key wait for one exchange.
local function apart(context, key, token_kind, grant, seconds)
  seconds = seconds or context.config.timeout or 30
  if not context.spawn then return refresh_under_lease(context, token_kind, grant, seconds) end
  local flights = cache.state(context).flights
  if flights[key] and flights[key].state ~= "failed" then return await(context, flights[key], seconds) end
  local ended = false
  local flight = context.spawn(function()
    local ok, token, err, kind = pcall(refresh_under_lease, context, token_kind, grant, seconds)
    ended, flights[key] = true, nil
    if not ok then error(token, 0) end
    return token, err, kind
  end)
  if not ended then flights[key] = flight end
  return await(context, flight, seconds)
end

local function exchanged(context, token_kind, grant)
  local able, err, kind = ready(context)
  if not able then return nil, err, kind end
  return apart(context, grant, token_kind, grant)
end

local function secret_needed(context, what)
  if not endpoint.open_source(context) then return true end
  return failure("unsupported", "an open-source app has no " .. what .. " token: it needs a client_secret")
end

-- ---- a token for a call ----

-- The code of a business's consent is used up by its exchange and not kept: the next token needs another.
local what_to_do = {
  user = "sign in with authorize_url and authorize, or 'fleet login'",
  business = "a new auth_code is needed, from the vendor's page on which the business consents: pass it to "
    .. "business_login{ auth_code =, scopes = }, or to 'fleet business_login'",
}

local function nothing_to_use(context, token_kind, token, rejected)
  local why = "is absent"
  if token then why = (rejected and "was refused" or "has expired") .. " and cannot be refreshed" end
  return failure("auth", string.format("no token: the %s token of account '%s' %s: %s", token_kind, context.config.account,
    why, what_to_do[token_kind]))
end

local function given_token(context, rejected)
  if rejected ~= context.config.token then return context.config.token end
  return failure("auth", "the token given to fleet.new was refused: it has expired, or is of another region")
end

-- A refresh token that was refused a moment ago is not worth another call; a minute later the server may
-- know better.
local function recently_refused(context, token_kind, token)
  local refused = cache.state(context).refused[token_kind]
  if not refused or not token or not refused.token:same_refresh(token) then return false end
  return (context.clock()) - refused.at < refused_for
end

local function grant_for(context, token_kind, token, rejected)
  local function serves(stored)
    return cache.choose(context, stored, rejected) == "use"
  end
  if token_kind ~= "partner" then return refresh_grant(context, serves) end
  return credentials_grant(context, "partner", token and token:facts().asked or nil, nil, serves)
end

local function obtain(context, token_kind, token, choice, options)
  if token_kind == "partner" then
    local able, err, kind = secret_needed(context, "partner")
    if not able then return nil, err, kind end
  elseif choice == "login" then
    return nothing_to_use(context, token_kind, token, options.rejected)
  elseif recently_refused(context, token_kind, token) then
    local reason = { reason = "login_required" }
    return failure("auth", "no token: the refresh token was refused: sign in again", reason)
  end
  local able, ready_err, ready_kind = ready(context)
  if not able then return nil, ready_err, ready_kind end
  return apart(context, token_kind, token_kind, grant_for(context, token_kind, token, options.rejected),
    options.deadline and options.deadline - tasks.real())
end

--- The access token that M.access would return at once, or nil where something must be asked or said first.
function M.at_hand(context, token_kind)
  if context.config.token then return context.config.token end
  local token = cache.at_hand(context, token_kind)
  return token and cache.choose(context, token) == "use" and token:access() or nil
end

--- An access token for a call: the stored one, or a newly exchanged one. token_kind: "user", "partner" or "business".
--- options: rejected, the access token that was just answered with 401; deadline, in real seconds, until when to wait for
--- another process that is exchanging. Returns the token, or nil, err, kind (outcome not_sent): `auth` only when there is no
--- token or the newest refresh token was refused. Beside a token it returns "stored" where another process had exchanged the
--- rejected one already.
function M.access(context, token_kind, options)
  options = options or {}
  local rejected = options.rejected
  if context.config.token then return given_token(context, rejected) end
  local token, err, kind = cache.newest(context, token_kind, rejected ~= nil)
  if token == nil then return nil, err, kind end
  local choice, left = cache.choose(context, token, rejected)
  if choice == "use" then return token:access(), rejected and "stored" or nil end
  local fresh, why, why_kind = obtain(context, token_kind, token, choice, options)
  if fresh then return fresh:access() end
  local still_good = token and left and left > 0 and rejected ~= token:access()
  if why_kind == "auth" or not still_good then return nil, why, why_kind end
  cache.tell(context, "token_not_renewed", token_kind, why)
  return token:access()
end

--- Whether there is a token of this kind, usable or not.
function M.holds(context, token_kind)
  if context.config.token then return true end
  return cache.newest(context, token_kind) and true or false
end

-- ---- what a caller asks for ----

local function outcome(token, err, kind)
  if not token then return nil, err, kind end
  return true, err -- err beside true: the pair is in use and not yet saved
end

-- A partner token has nothing to refresh it with.
local refreshable = { "user", "business" }

local function refreshed_kind(options)
  check_options.names("refresh", "option", options, { "auth" })
  local kind = options and options.auth or "user"
  if kind ~= "user" and kind ~= "business" then errors.unknown_choice("refresh", "auth", kind, refreshable) end
  return kind
end

--- Exchanges the refresh token now, unless another process just did. options: auth, "user" or "business", default
--- "user". Returns true (with an err beside it when the store refused the new pair), or nil, err, kind.
function M.refresh(context, options)
  local token_kind = refreshed_kind(options)
  local able, able_err, able_kind = ready(context)
  if not able then return nil, able_err, able_kind end
  local token, err, kind = cache.newest(context, token_kind, true)
  if token == nil then return nil, err, kind end
  if not token or not token:refreshable() then return nothing_to_use(context, token_kind, token, true) end
  local function serves(stored)
    return not stored:same_refresh(token) and cache.choose(context, stored) == "use"
  end
  return outcome(exchanged(context, token_kind, refresh_grant(context, serves)))
end

local function never()
  return false
end

--- A partner token by client credentials. options: scopes, a list (default: what the application has).
function M.partner_login(context, options)
  local able, err, kind = secret_needed(context, "partner")
  if not able then return nil, err, kind end
  local asked = scope_text(options and options.scopes, "scopes")
  return outcome(exchanged(context, "partner", credentials_grant(context, "partner", asked, nil, never)))
end

--- A business token. options: auth_code, from the vendor's business consent; scopes, a list (default:
--- config.scopes). The code is not kept: when the token has ended, after hours, the business hands out another.
function M.business_login(context, options)
  options = options or {}
  if type(options.auth_code) ~= "string" or options.auth_code == "" then
    errors.usage("bad option 'auth_code': the code of the business's consent expected")
  end
  local asked = scope_text(options.scopes or context.config.scopes, "scopes")
  if not asked then errors.usage("bad option 'scopes': a business token needs them") end
  local able, err, kind = secret_needed(context, "business")
  if not able then return nil, err, kind end
  return outcome(exchanged(context, "business", credentials_grant(context, "business", asked, options.auth_code, never)))
end

--- A user's pair for the code of a callback: lua/fleet/oauth/authorize.lua. given: code, redirect_uri, code_verifier, nonce.
function M.exchange_code(context, given)
  return outcome(exchanged(context, "user", code_grant(context, given)))
end

--- Refreshes pairs that are older than 30 days, so that none dies of disuse after three months. Returns true when one was
--- refreshed, false when none needed it, or nil, err, kind.
function M.keep_alive(context)
  local done = false
  for _, token_kind in ipairs(refreshable) do
    local token, err, kind = cache.newest(context, token_kind, true)
    if token == nil then return nil, err, kind end
    if token and token:stale(context.clock()) then
      local refreshed, refresh_err, refresh_kind = M.refresh(context, { auth = token_kind })
      if not refreshed then return nil, refresh_err, refresh_kind end
      done = true
    end
  end
  return done
end

--- Waits for the exchanges that are under way, whoever began them, and offers the store what it refused: before a process
--- ends. Returns true, or nil, err, kind when a token remains that is not saved.
function M.finish(context)
  local flights = {}
  for _, flight in pairs(cache.state(context).flights) do flights[#flights + 1] = flight end
  for _, flight in ipairs(flights) do pcall(flight.wait, flight) end
  return cache.save(context)
end

-- ---- what a token says ----

-- Claims are hints: read where they can be read, never relied on.
local function describe(context, token_kind, token)
  local _, left = cache.choose(context, token)
  local facts, claims = token:facts(), token:claims()
  return {
    expires_at = facts.expires_at or tonumber(claims.exp), expires_in = left,
    refreshed_at = facts.refreshed_at, refresh_by = facts.refresh_by,
    unsaved = cache.state(context).unsaved[token_kind] and true or false, scopes = token:scopes(claims),
    subject = claims.sub, audience = claims.aud, region = region.hint(context.vendor, claims, facts.prefix),
  }
end

--- What is known of the account's tokens, without the tokens: { user = { expires_at, expires_in, refreshed_at, refresh_by,
--- scopes, unsaved, subject, audience, region }, partner =, business = }; times in UTC seconds, expires_in in seconds. A
--- kind without token is absent. nil, err, kind when the store cannot be read.
function M.info(context)
  local found = {}
  if context.config.token then
    found.user = describe(context, "user", core.token_given(context.config.token))
    return found
  end
  for _, token_kind in ipairs(cache.kinds) do
    local token, err, kind = cache.newest(context, token_kind, true)
    if token == nil then return nil, err, kind end
    if token then found[token_kind] = describe(context, token_kind, token) end
  end
  return found
end

return M
