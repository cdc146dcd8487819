-- The authorization server: consent, codes, tokens and all their rules. doc/protocol.md#tokens
local core = require("fleet.core")
local json = require("fleet.sim.json")
local random = require("fleet.sim.random")
local reply = require("fleet.sim.reply")
local text = require("fleet.sim.text")

local M = {}
M.__index = M

M.SCOPES = {
  "openid", "offline_access", "user_data", "vehicle_device_data", "vehicle_location", "vehicle_cmds", "vehicle_charging_cmds",
  "vehicle_specs", "vehicle_pricing_info", "energy_device_data", "energy_cmds", "enterprise_management", "email", "profile",
  "metadata",
}

local KNOWN = text.set(M.SCOPES)

-- What the owner of a vehicle and an energy site may grant.
M.OWNER_SCOPES = {
  "openid", "offline_access", "user_data", "vehicle_device_data", "vehicle_location", "vehicle_cmds", "vehicle_charging_cmds",
  "energy_device_data", "energy_cmds",
}

local ACCESS_SECONDS = 8 * 3600
local CODE_SECONDS = 600
local DAY = 86400
local REFRESH_SECONDS = 90 * DAY -- "3 months"
local REUSE_SECONDS = DAY        -- third-party: the last used one
-- What one may leave lying about, so that no loop fills the memory: codes and forms in all; access tokens and sign-ins of one
-- app for one account. The oldest give way.
local MAX_PENDING = 100
local MAX_ACCESS = 100
local MAX_FAMILIES = 100

-- new(service) → the authorization server of a simulated service.
function M.new(service)
  return setmetatable({
    service = service, access = {}, issued = {}, refresh = {}, families = {}, consents = {}, codes = {}, code_order = {},
    tickets = {}, ticket_order = {},
  }, M)
end

-- ---- applications and accounts ----

-- Without apps in the garage every client is accepted; its kind shows in what it sends.
function M:app(client_id)
  local apps = self.service.garage.apps
  if not apps then return client_id and client_id ~= "" and { client_id = client_id, any = true } or nil end
  for _, app in ipairs(apps) do
    if app.client_id == client_id then return app end
  end
  return nil
end

function M.is_open_source(app)
  return not app.any and not app.client_secret
end

local function contains(list, item)
  for _, each in ipairs(list or {}) do
    if each == item then return true end
  end
  return false
end

-- Consents: account and client → set of granted scopes.
function M:consent(email, client_id)
  local name = email .. "\n" .. client_id
  self.consents[name] = self.consents[name] or {}
  return self.consents[name]
end

local function in_order(set)
  local list = json.list()
  for _, scope in ipairs(M.SCOPES) do
    if set[scope] then list[#list + 1] = scope end
  end
  return list
end

local function both(a, b)
  local set = {}
  for scope in pairs(a) do
    if b[scope] then set[scope] = true end
  end
  return set
end

-- ---- step 1: authorize ----

local function authorize_problem(self, q)
  local app = self:app(q.client_id)
  if not app then return "unauthorized_client", "client_id is not known" end
  if not q.redirect_uri or q.redirect_uri == "" then return "invalid_redirect_url", "redirect_uri is missing" end
  if app.redirect_uris and not contains(app.redirect_uris, q.redirect_uri) then
    return "invalid_redirect_url", "redirect_uri is not registered: " .. q.redirect_uri
  end
  if q.response_type ~= "code" then return "invalid_request", "response_type must be code" end
  if not q.state or q.state == "" then return "invalid_request", "state is missing" end
  if not q.scope or not q.scope:find("%S") then return "invalid_scope", "scope is missing" end
  if M.is_open_source(app) and not q.code_challenge then
    return "invalid_request", "an open-source app must send code_challenge"
  end
  if q.code_challenge and (q.code_challenge_method or "S256") ~= "S256" then
    return "invalid_request", "code_challenge_method must be S256"
  end
  for _, scope in ipairs(text.words(q.scope)) do
    if not KNOWN[scope] then return "invalid_scope", "unknown scope " .. scope end
    if app.scopes and not contains(app.scopes, scope) then return "invalid_scope", "the app may not ask for " .. scope end
  end
  return nil
end

M.authorize_problem = authorize_problem

function M:redirect(q, fields)
  local joint = q.redirect_uri:find("?", 1, true) and "&" or "?"
  fields[#fields + 1] = { "state", q.state }
  fields[#fields + 1] = { "issuer", self.service.auth_url .. "/oauth2/v3" }
  return 302, { Location = q.redirect_uri .. joint .. text.query(fields), ["Cache-Control"] = "no-store" }, ""
end

-- Keeps an entry under a name among the newest; the oldest gives way.
local function keep(entries, order, name, entry)
  entries[name] = entry
  order[#order + 1] = name
  if #order > MAX_PENDING then entries[table.remove(order, 1)] = nil end
end

-- What a sign-in may ask the user for: scopes of the request that are not granted yet. Only prompt_missing_scopes asks
-- again once the app has been allowed (doc/protocol.md#sign-in).
function M:to_ask(account, q)
  local granted = self:consent(account.email, q.client_id)
  local app, list = self:app(q.client_id), {}
  local ask = next(granted) == nil or M.is_open_source(app) or q.prompt_missing_scopes == "true"
  for _, scope in ipairs(text.words(q.scope)) do
    if not granted[scope] and ask then list[#list + 1] = scope end
  end
  return list
end

-- require_requested_scopes: what is granted now, or before, must be all that was asked for.
local function lacks_scopes(q, granted, scopes)
  local allowed = text.set(scopes)
  for _, scope in ipairs(q.require_requested_scopes == "true" and text.words(q.scope) or {}) do
    if not granted[scope] and not allowed[scope] then return true end
  end
  return false
end

-- The user allowed these scopes: a code.
function M:allow(account, q, scopes)
  local granted = self:consent(account.email, q.client_id)
  if lacks_scopes(q, granted, scopes) then return self:deny(q, "access_denied", "all requested scopes are needed") end
  for _, scope in ipairs(scopes) do granted[scope] = true end
  local now = self.service:now()
  local code = account.region:upper() .. "_" .. self.service.random(20)
  keep(self.codes, self.code_order, code, {
    client_id = q.client_id, redirect_uri = q.redirect_uri, account = account, requested = text.set(text.words(q.scope)),
    challenge = q.code_challenge, nonce = q.nonce, expires_at = now + CODE_SECONDS, at = now,
  })
  return self:redirect(q, { { "code", code } })
end

function M:deny(q, problem, description)
  return self:redirect(q, { { "error", problem or "access_denied" }, { "error_description", description } })
end

-- A program is redirected at once; a browser gets the form (consent.lua).
function M:authorize(q, wants_page)
  local problem, description = authorize_problem(self, q)
  if problem then return nil, problem, description end
  local account = self.service:account(q.login_hint) or self.service.garage.accounts[1]
  local ask = self:to_ask(account, q)
  if not wants_page then return self:allow(account, q, ask) end
  local ticket = self.service.random(16)
  keep(self.tickets, self.ticket_order, ticket,
    { q = q, account = account, ask = ask, expires_at = self.service:now() + CODE_SECONDS })
  return ticket
end

-- ---- tokens ----

local function segment(value)
  return text.base64url(json.encode(value))
end

-- A token has the shape of a JWT so that clients may read its claims; only this table says whether it is good.
function M:jwt(claims)
  return segment({ alg = "RS256", typ = "JWT", kid = "simulator" }) .. "." .. segment(claims) .. "." ..
    text.base64url(self.service.random(16))
end

-- Adds to the list of an app and an account; returns what gives way.
local function remember(lists, grant, item, most)
  local name = grant.client_id .. "\n" .. (grant.account and grant.account.email or "")
  local list = lists[name] or {}
  lists[name] = list
  list[#list + 1] = item
  return #list > most and table.remove(list, 1) or nil
end

local OU = { na = "NA", eu = "EU", cn = "CN" }

-- grant: { kind =, client_id =, app =, account = or nil, scopes = set, at = }
function M:issue_access(grant)
  local service = self.service
  local now = service:now()
  local region = grant.account and grant.account.region or service.region
  local token = self:jwt({
    iss = service.auth_url .. "/oauth2/v3/nts", azp = grant.client_id, sub = service:subject(grant), amr = json.list(),
    aud = json.list({ service.base_url, service.auth_url .. "/oauth2/v3/userinfo" }), scp = in_order(grant.scopes),
    iat = math.floor(now), exp = math.floor(now) + ACCESS_SECONDS, auth_time = math.floor(grant.at or now),
    ou_code = OU[region], locale = "en-US",
  })
  self.access[token] = {
    kind = grant.kind, client_id = grant.client_id, open_source = grant.open_source, account = grant.account,
    scopes = grant.scopes, expires_at = now + ACCESS_SECONDS, domain = grant.app and grant.app.domain,
  }
  local oldest = remember(self.issued, grant, token, MAX_ACCESS)
  if oldest then self.access[oldest] = nil end
  return token
end

-- find(authorization header) → token entry, or nil and what to say.
function M:find(header)
  local token = header and header:match("^[Bb]earer%s+(%S+)$")
  if not token then return nil, "invalid bearer token" end
  local entry = self.access[token]
  if not entry then return nil, "invalid bearer token" end
  if entry.expires_at <= self.service:now() then return nil, "token expired (401)" end
  return entry
end

local function issue_refresh(self, family)
  local now = self.service:now()
  local token = family.account.region:upper() .. "_" .. self.service.random(24)
  if family.current then self.refresh[family.current] = nil end
  family.current = token
  self.refresh[token] = { family = family, issued_at = now, expires_at = now + REFRESH_SECONDS }
  return token
end

local function forget_family(self, family)
  for _, token in ipairs(family and { family.current or "", family.last_used or "" } or {}) do self.refresh[token] = nil end
end

local function token_reply(self, family, extra)
  local granted = self:consent(family.account.email, family.client_id)
  local scopes = both(family.requested, granted)
  local body = {
    access_token = self:issue_access({
      kind = "user", client_id = family.client_id, open_source = family.open_source, account = family.account,
      scopes = scopes, at = family.at,
    }),
    expires_in = ACCESS_SECONDS, token_type = "Bearer",
  }
  if scopes.offline_access then body.refresh_token = issue_refresh(self, family) end
  if scopes.openid then
    body.id_token = self:jwt({
      iss = self.service.auth_url .. "/oauth2/v3/nts", aud = family.client_id, sub = self.service:subject(family),
      nonce = extra and extra.nonce, email = family.account.email, iat = math.floor(self.service:now()),
      exp = math.floor(self.service:now()) + ACCESS_SECONDS,
    })
  end
  return reply.json(200, body, { ["Cache-Control"] = "no-store" })
end

local function refuse(self, status, problem, description)
  return reply.json(status, {
    error = problem, error_description = description,
    error_uri = self.service.auth_url .. "/error/reference/" .. random.uuid(self.service.random),
  }, { ["Cache-Control"] = "no-store" })
end

M.refuse = refuse

-- ---- the token endpoint ----

local function same_secret(app, given)
  return app.any or app.client_secret == given
end

-- Third-party apps must use the token address, open-source apps the authorization address (doc/protocol.md#addresses).
local function wrong_address(self, open_source, host)
  if open_source and host == "token" then
    return refuse(self, 400, "unauthorized_client", "open-source apps use " .. self.service.auth_url .. "/oauth2/v3/token")
  elseif not open_source and host ~= "token" then
    return refuse(self, 400, "unauthorized_client", "third-party apps use " .. self.service.token_url .. "/oauth2/v3/token")
  end
end

local function code_problem(code, app, form, now)
  if not code or code.client_id ~= form.client_id or code.expires_at <= now then
    return "invalid_auth_code", "the code is wrong, used or expired"
  end
  if code.redirect_uri ~= form.redirect_uri then return "invalid_redirect_url", "redirect_uri differs from the authorize call" end
  if not code.challenge then
    if M.is_open_source(app) then return "invalid_request", "no code_challenge was sent" end
    return nil
  end
  if not form.code_verifier and not app.client_secret then return "invalid_request", "code_verifier is missing" end
  if form.code_verifier and core.oauth_challenge(form.code_verifier) ~= code.challenge then
    return "invalid_auth_code", "code_verifier does not fit the code_challenge"
  end
end

local grants = {}

function grants.authorization_code(self, app, form, host)
  local open_source = M.is_open_source(app) or (app.any and not form.client_secret)
  local wrong, headers, body = wrong_address(self, open_source, host)
  if wrong then return wrong, headers, body end
  if not open_source and not form.client_secret then return refuse(self, 400, "invalid_request", "client_secret is missing") end
  if open_source and not form.code_verifier then return refuse(self, 400, "invalid_request", "code_verifier is missing") end
  if not self.service:is_audience(form.audience) then return refuse(self, 400, "invalid_request", "Invalid resource") end
  local code = form.code and self.codes[form.code]
  local problem, description = code_problem(code, app, form, self.service:now())
  if problem then return refuse(self, 400, problem, description) end
  self.codes[form.code] = nil
  local family = {
    client_id = form.client_id, open_source = open_source, account = code.account, requested = code.requested, at = code.at,
  }
  if form.scope then family.requested = both(family.requested, text.set(text.words(form.scope))) end
  forget_family(self, remember(self.families, family, family, MAX_FAMILIES))
  return token_reply(self, family, code)
end

local function refresh_problem(self, entry, form, now)
  if not entry or entry.family.client_id ~= form.client_id then return "the refresh token is not valid" end
  if entry.expires_at <= now then return "the refresh token has expired" end
  local account = entry.family.account
  if account.password_reset_at and entry.issued_at <= account.password_reset_at then return "the password was reset" end
  if entry.used_at and now - entry.used_at > REUSE_SECONDS then return "the refresh token has been used" end
  if next(self:consent(account.email, form.client_id)) == nil then return "the user revoked the consent" end
end

function grants.refresh_token(self, app, form, host)
  local now = self.service:now()
  if not form.refresh_token then return refuse(self, 400, "invalid_request", "refresh_token is missing") end
  local entry = self.refresh[form.refresh_token]
  local problem = refresh_problem(self, entry, form, now)
  if problem then return refuse(self, 401, "login_required", problem) end
  local family = entry.family
  local wrong, headers, body = wrong_address(self, family.open_source, host)
  if wrong then return wrong, headers, body end
  if form.client_secret and not same_secret(app, form.client_secret) then
    return refuse(self, 400, "unauthorized_client", "client_secret is wrong")
  end
  self:use_refresh(family, form.refresh_token, entry, now)
  return token_reply(self, family)
end

-- Open-source: gone once used. Third-party: the most recently used one works on for a day, the one before does not.
function M:use_refresh(family, token, entry, now)
  if family.current == token then family.current = nil end
  if family.last_used and family.last_used ~= token then self.refresh[family.last_used] = nil end
  if family.open_source then
    self.refresh[token] = nil
    return
  end
  family.last_used, entry.used_at = token, entry.used_at or now
end

function grants.client_credentials(self, app, form, host)
  if M.is_open_source(app) then
    return refuse(self, 400, "unauthorized_client", "open-source apps cannot have partner tokens")
  end
  local wrong, headers, body = wrong_address(self, false, host)
  if wrong then return wrong, headers, body end
  if not form.client_secret then return refuse(self, 400, "invalid_request", "client_secret is missing") end
  if not self.service:is_audience(form.audience) then return refuse(self, 400, "invalid_request", "Invalid resource") end
  local account
  if form.auth_code then
    account = self.service:business_account(form.auth_code)
    if not account then return refuse(self, 400, "invalid_auth_code", "auth_code is not known") end
  end
  local scopes = text.set(form.scope and text.words(form.scope) or app.scopes or M.SCOPES)
  for scope in pairs(scopes) do
    if not KNOWN[scope] or (app.scopes and not contains(app.scopes, scope)) then
      return refuse(self, 400, "invalid_scope", "the app may not ask for " .. scope)
    end
  end
  local token = self:issue_access({
    kind = account and "business" or "partner", client_id = form.client_id, account = account, scopes = scopes, app = app,
  })
  return reply.json(200, { access_token = token, expires_in = ACCESS_SECONDS, token_type = "Bearer" },
    { ["Cache-Control"] = "no-store" })
end

-- token(form, host) → a reply. host is "auth" or "token": the address that was called.
function M:token(form, host)
  local app = self:app(form.client_id)
  if not app then return refuse(self, 400, "unauthorized_client", "client_id is not known") end
  local grant = grants[form.grant_type or ""]
  if not grant then return refuse(self, 400, "unsupported_grant_type", "grant_type is not known") end
  if form.client_secret and not M.is_open_source(app) and not same_secret(app, form.client_secret) then
    return refuse(self, 400, "unauthorized_client", "client_id and client_secret do not match")
  end
  return grant(self, app, form, host)
end

-- ---- what a user does elsewhere ----

-- Changes what an app may do; an empty set revokes it, with everything that it has.
function M:set_consent(email, client_id, scopes)
  self.consents[email .. "\n" .. client_id] = text.set(scopes)
  if #scopes > 0 then return end
  for token, entry in pairs(self.access) do
    if entry.client_id == client_id and entry.account and entry.account.email == email then self.access[token] = nil end
  end
  for token, entry in pairs(self.refresh) do
    if entry.family.client_id == client_id and entry.family.account.email == email then self.refresh[token] = nil end
  end
  self.service:consent_revoked(email, client_id)
end

return M
