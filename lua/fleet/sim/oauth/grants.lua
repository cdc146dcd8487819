-- The token endpoint: the three grants and their refusals.
local core = require("fleet.core")
local random = require("fleet.sim.random")
local reply = require("fleet.sim.reply")
local scopes = require("fleet.sim.oauth.scopes")
local text = require("fleet.sim.text")
local tokens = require("fleet.sim.oauth.tokens")

local is_open_source = scopes.is_open_source

local M = {}

local REUSE_SECONDS = 86400 -- a third-party app may repeat its last used refresh token so long

local function refuse(self, status, problem, description)
  return reply.json(status, {
    error = problem, error_description = description,
    error_uri = self.service.auth_url .. "/error/reference/" .. random.uuid(self.service.random),
  }, { ["Cache-Control"] = "no-store" })
end

M.refuse = refuse

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
    if is_open_source(app) then return "invalid_request", "no code_challenge was sent" end
    return nil
  end
  if not form.code_verifier and not app.client_secret then return "invalid_request", "code_verifier is missing" end
  if form.code_verifier and core.oauth_challenge(form.code_verifier) ~= code.challenge then
    return "invalid_auth_code", "code_verifier does not fit the code_challenge"
  end
end

local grants = {}

function grants.authorization_code(self, app, form, host)
  local open_source = is_open_source(app) or (app.any and not form.client_secret)
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
  if form.scope then family.requested = scopes.both(family.requested, text.set(text.words(form.scope))) end
  self:add_family(family)
  return self:token_reply(family, code)
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
  return self:token_reply(family)
end

-- An open-source app can use a refresh token once. A third-party app can repeat the last used one for a day, but not the one before it.
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
  if is_open_source(app) then
    return refuse(self, 400, "unauthorized_client", "open-source apps cannot have partner tokens")
  end
  local wrong, headers, body = wrong_address(self, false, host)
  if wrong then return wrong, headers, body end
  if not form.client_secret then return refuse(self, 400, "invalid_request", "client_secret is missing") end
  if not self.service:is_audience(form.audience) then return refuse(self, 400, "invalid_request", "Invalid resource") end
  local account
  if form.auth_code then
    account = self.service:business_account(form.auth_code)
    if not account then return refuse(self, 400, "invalid_auth_code", "auth_code is not known, or was used") end
  end
  local wanted = text.set(form.scope and text.words(form.scope) or app.scopes or scopes.ALL)
  for scope in pairs(wanted) do
    if not scopes.allowed(app, scope) then
      return refuse(self, 400, "invalid_scope", "the app may not ask for " .. scope)
    end
  end
  if account then account.auth_code = nil end -- each code gives one token
  local token = self:issue_access({
    kind = account and "business" or "partner", client_id = form.client_id, account = account, scopes = wanted, app = app,
  })
  return reply.json(200, { access_token = token, expires_in = tokens.ACCESS_SECONDS, token_type = "Bearer" },
    { ["Cache-Control"] = "no-store" })
end

-- token(form, host) → a reply. host is the address that was called: "auth" or "token".
function M:token(form, host)
  local app = self:app(form.client_id)
  if not app then return refuse(self, 400, "unauthorized_client", "client_id is not known") end
  local grant = grants[form.grant_type or ""]
  if not grant then return refuse(self, 400, "unsupported_grant_type", "grant_type is not known") end
  if form.client_secret and not is_open_source(app) and not same_secret(app, form.client_secret) then
    return refuse(self, 400, "unauthorized_client", "client_id and client_secret do not match")
  end
  return grant(self, app, form, host)
end

return M
