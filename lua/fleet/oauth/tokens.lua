-- The tokens of an account: three slots (user, partner, business), each with the one way in which it is
-- renewed.
--
-- Rule R2, a token is never lost: lua/fleet/oauth/refresh.lua has the sequence. Here stands what each kind of token
-- is renewed with, and what a caller who needs a token gets when that fails.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local exchange = require "fleet.oauth.token_endpoint"
local region = require "fleet.region"
local records = require "fleet.oauth.token"
local renew = require "fleet.oauth.refresh"

local M = {}

local stale_after = 30 * 86400 -- keep_alive renews a pair that is older
local refused_for = 60 -- seconds in which a refused token is not offered again
local failure = exchange.failure

local function scope_text(scopes, name)
  if scopes == nil then return nil end
  if type(scopes) == "string" then return scopes end
  if type(scopes) ~= "table" then errors.usage("bad option '" .. name .. "': a list of scopes expected") end
  return #scopes > 0 and table.concat(scopes, " ") or nil
end
M.scope_text = scope_text

-- ---- what the exchanges send: doc/protocol.md#token-requests ----

local function audience(account)
  return account.audience or account.base_url
end

local function refresh_grant(account, serves)
  return {
    serves = serves, refreshes = true,
    fields = function(token)
      if not token then return failure("auth", "no token: there is nothing to refresh: sign in again") end
      return {
        { "grant_type", "refresh_token" }, { "client_id", account.config.client_id }, { "refresh_token", token },
      }
    end,
  }
end

local function credentials_grant(account, asked, auth_code, serves)
  return {
    asked = asked, serves = serves,
    fields = function()
      return {
        { "grant_type", "client_credentials" }, { "client_id", account.config.client_id },
        { "client_secret", account.config.client_secret }, { "audience", audience(account) },
        { "scope", asked }, { "auth_code", auth_code },
      }
    end,
  }
end

local function code_grant(account, given)
  local open_source = exchange.open_source(account)
  return {
    check = given.check, serves = function() return false end,
    fields = function()
      return {
        { "grant_type", "authorization_code" }, { "client_id", account.config.client_id },
        { "client_secret", not open_source and account.config.client_secret or nil }, { "code", given.code },
        { "audience", audience(account) }, { "code_verifier", open_source and given.code_verifier or nil },
        { "redirect_uri", given.redirect_uri },
      }
    end,
  }
end

-- ---- renewing ----

local function ready(account)
  if account.config.token then
    return failure("unsupported", "the token was given to fleet.new: whoever gave it renews it")
  end
  if not account.config.client_id then return failure("auth", "no token: set client_id, and sign in") end
  return true
end

local function perform(account, slot, grant, seconds)
  local record, err, kind = renew(account, slot, grant, seconds)
  if record then records.learn(account, slot, record) end
  return record, err, kind
end

-- The result of an exchange, for at most so many seconds: whoever stops waiting does not stop it.
local function await(account, flight, seconds)
  if account.ended_within and not account.ended_within(flight, seconds) then
    return failure("timeout", "no token yet: the exchange goes on, and what it brings is kept")
  end
  return flight:wait()
end

-- In a task of its own where there are tasks: a caller who gives up must not take an exchange with it. Those who
-- bring the same key wait for one exchange.
local function apart(account, key, slot, grant, seconds)
  seconds = seconds or account.config.timeout or 30
  if not account.spawn then return perform(account, slot, grant, seconds) end
  local flights = records.state(account).flights
  if flights[key] then return await(account, flights[key], seconds) end
  local ended = false
  local flight = account.spawn(function()
    local ok, record, err, kind = pcall(perform, account, slot, grant, seconds)
    ended, flights[key] = true, nil
    if not ok then error(record, 0) end
    return record, err, kind
  end)
  if not ended then flights[key] = flight end
  return await(account, flight, seconds)
end

local function renewed(account, slot, grant)
  local able, err, kind = ready(account)
  if not able then return nil, err, kind end
  return apart(account, grant, slot, grant)
end

local function secret_needed(account, what)
  if not exchange.open_source(account) then return true end
  return failure("unsupported", "an open-source app has no " .. what .. " token: it needs a client_secret")
end

-- ---- a token for a call ----

local sign_in = {
  user = "sign in with authorize_url and authorize, or 'fleet login'",
  business = "call business_login with the code of the business's consent",
}

local function nothing_to_use(account, slot, record, rejected)
  local why = "is absent"
  if record then why = (rejected and "was refused" or "has expired") .. " and cannot be refreshed" end
  return failure("auth", string.format("no token: the %s token of account '%s' %s: %s", slot, account.config.account, why,
    sign_in[slot]))
end

local function given_token(account, rejected)
  if rejected ~= account.config.token then return account.config.token end
  return failure("auth", "the token given to fleet.new was refused: it has expired, or is of another region")
end

-- A refresh token that was refused a moment ago is not worth another call; a minute later the server may
-- know better.
local function recently_refused(account, slot, record)
  local refused = records.state(account).refused[slot]
  if not refused or not record or refused.token ~= record.refresh_token then return false end
  return (account.clock()) - refused.at < refused_for
end

local function grant_for(account, slot, record, rejected)
  local function serves(stored)
    return records.choose(account, slot, stored, rejected) == "use"
  end
  if slot == "partner" then return credentials_grant(account, record and record.asked or nil, nil, serves) end
  return refresh_grant(account, serves)
end

local function obtain(account, slot, record, choice, options)
  if slot == "partner" then
    local able, err, kind = secret_needed(account, "partner")
    if not able then return nil, err, kind end
  elseif choice == "login" then
    return nothing_to_use(account, slot, record, options.rejected)
  elseif recently_refused(account, slot, record) then
    local reason = { reason = "login_required" }
    return failure("auth", "no token: the refresh token was refused: sign in again", reason)
  end
  local able, ready_err, ready_kind = ready(account)
  if not able then return nil, ready_err, ready_kind end
  return apart(account, slot, slot, grant_for(account, slot, record, options.rejected), options.seconds)
end

--- An access token for a call: the stored one, or a newly exchanged one. slot: "user", "partner" or
--- "business". options: rejected, the access token that was just answered with 401; seconds, how long to
--- wait for another process that is exchanging. Returns the token, or nil, err, kind (outcome not_sent):
--- `auth` only when there is no token or the newest refresh token was refused.
function M.access(account, slot, options)
  options = options or {}
  local rejected = options.rejected
  if account.config.token then return given_token(account, rejected) end
  local record, err, kind = records.newest(account, slot, rejected ~= nil)
  if record == nil then return nil, err, kind end
  local choice, left = records.choose(account, slot, record, rejected)
  if choice == "use" then return record.access_token end
  local fresh, why, why_kind = obtain(account, slot, record, choice, options)
  if fresh then return fresh.access_token end
  local still_good = record and left and left > 0 and rejected ~= record.access_token
  if why_kind == "auth" or not still_good then return nil, why, why_kind end
  records.tell(account, "token_not_renewed", slot, why)
  return record.access_token
end

--- Whether the slot holds a token, usable or not.
function M.holds(account, slot)
  if account.config.token then return true end
  return records.newest(account, slot) and true or false
end

-- ---- what a caller asks for ----

local function outcome(record, err, kind)
  if not record then return nil, err, kind end
  return true, err -- err beside true: the pair is in use and not yet saved
end

--- Exchanges the refresh token now, unless another process just did. slot: default "user".
--- Returns true (with an err beside it when the store refused the new pair), or nil, err, kind.
function M.refresh(account, options)
  local slot = options and options.slot or "user"
  local able, able_err, able_kind = ready(account)
  if not able then return nil, able_err, able_kind end
  local record, err, kind = records.newest(account, slot, true)
  if record == nil then return nil, err, kind end
  if not record or not record.refresh_token then return nothing_to_use(account, slot, record, true) end
  local function serves(stored)
    return stored.refresh_token ~= record.refresh_token and records.choose(account, slot, stored) == "use"
  end
  return outcome(renewed(account, slot, refresh_grant(account, serves)))
end

local function never()
  return false
end

--- A partner token by client credentials. options: scopes, a list (default: what the application has).
function M.partner_login(account, options)
  local able, err, kind = secret_needed(account, "partner")
  if not able then return nil, err, kind end
  local asked = scope_text(options and options.scopes, "scopes")
  return outcome(renewed(account, "partner", credentials_grant(account, asked, nil, never)))
end

--- A business token. options: auth_code, from the vendor's business consent; scopes, a list (default:
--- config.scopes).
function M.business_login(account, options)
  options = options or {}
  if type(options.auth_code) ~= "string" or options.auth_code == "" then
    errors.usage("bad option 'auth_code': the code of the business's consent expected")
  end
  local asked = scope_text(options.scopes or account.config.scopes, "scopes")
  if not asked then errors.usage("bad option 'scopes': a business token needs them") end
  local able, err, kind = secret_needed(account, "business")
  if not able then return nil, err, kind end
  return outcome(renewed(account, "business", credentials_grant(account, asked, options.auth_code, never)))
end

--- A user's pair for the code of a callback: lua/fleet/oauth/authorize.lua. given: code, redirect_uri, code_verifier,
--- check(reply).
function M.exchange_code(account, given)
  return outcome(renewed(account, "user", code_grant(account, given)))
end

--- Renews pairs that are older than 30 days, so that none dies of disuse after three months. Returns true
--- when one was renewed, false when none needed it, or nil, err, kind.
function M.keep_alive(account)
  local _, wall = account.clock()
  local done = false
  for _, slot in ipairs { "user", "business" } do
    local record, err, kind = records.newest(account, slot, true)
    if record == nil then return nil, err, kind end
    if record and record.refresh_token and wall - record.refreshed_at > stale_after then
      local renewed_one, renew_err, renew_kind = M.refresh(account, { slot = slot })
      if not renewed_one then return nil, renew_err, renew_kind end
      done = true
    end
  end
  return done
end

--- Waits for the exchanges that are under way, whoever began them: before a process ends.
function M.finish(account)
  local flights = {}
  for _, flight in pairs(records.state(account).flights) do flights[#flights + 1] = flight end
  for _, flight in ipairs(flights) do pcall(flight.wait, flight) end
end

-- ---- what a token says ----

local function words(text)
  local list = {}
  for word in string.gmatch(text or "", "%S+") do list[#list + 1] = word end
  return list
end

-- Claims are hints: read where they can be read, never relied on (doc/protocol.md#region-of-a-token).
local function claims_of(token)
  local text = core.oauth_claims(token)
  local claims = text and core.json_decode(text)
  return type(claims) == "table" and claims or {}
end
M.claims_of = claims_of

local function scopes_of(record, claims)
  if record.scope then return words(record.scope) end
  return type(claims.scp) == "table" and claims.scp or words(record.asked)
end

local function describe(account, slot, record)
  local _, left = records.choose(account, slot, record)
  local claims = claims_of(record.access_token)
  return {
    expires_at = record.expires_at or tonumber(claims.exp), expires_in = left,
    refreshed_at = record.refreshed_at, refresh_by = records.refresh_by(record),
    unsaved = records.state(account).unsaved[slot] ~= nil, scopes = scopes_of(record, claims),
    subject = claims.sub, audience = claims.aud, region = region.hint(account.vendor, claims, record.refresh_token),
  }
end

--- What is known of the account's tokens, without the tokens: { user = { expires_at, expires_in,
--- refreshed_at, refresh_by, scopes, unsaved, subject, audience, region }, partner =, business = }; times
--- in UTC seconds, expires_in in seconds. A slot without token is absent. nil, err, kind when the store
--- cannot be read.
function M.info(account)
  local found = {}
  if account.config.token then
    found.user = describe(account, "user", { access_token = account.config.token })
    return found
  end
  for _, slot in ipairs { "user", "partner", "business" } do
    local record, err, kind = records.newest(account, slot, true)
    if record == nil then return nil, err, kind end
    if record then found[slot] = describe(account, slot, record) end
  end
  return found
end

return M
