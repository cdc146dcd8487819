-- The authorize endpoint: the user's answer gives a code, or an error.
local scopes = require("fleet.sim.oauth.scopes")
local text = require("fleet.sim.text")

local is_open_source = scopes.is_open_source

local M = {}

local CODE_SECONDS = 600
local MAX_PENDING = 100 -- pending codes and forms; the oldest are dropped

local function contains(list, item)
  for _, each in ipairs(list or {}) do
    if each == item then return true end
  end
  return false
end

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
  if is_open_source(app) and not q.code_challenge then
    return "invalid_request", "an open-source app must send code_challenge"
  end
  if q.code_challenge and (q.code_challenge_method or "S256") ~= "S256" then
    return "invalid_request", "code_challenge_method must be S256"
  end
  for _, scope in ipairs(text.words(q.scope)) do
    if not scopes.known[scope] then return "invalid_scope", "unknown scope " .. scope end
    if not scopes.allowed(app, scope) then return "invalid_scope", "the app may not ask for " .. scope end
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

-- Keeps an entry under a name, and drops the oldest when there are too many.
local function keep(entries, order, name, entry)
  entries[name] = entry
  order[#order + 1] = name
  if #order > MAX_PENDING then entries[table.remove(order, 1)] = nil end
end

-- The scopes that the user is asked to grant: those requested and not granted yet. Once the app has been allowed, only
-- prompt_missing_scopes asks again (doc/protocol.md#sign-in).
function M:to_ask(account, q)
  local granted = self:consent(account.email, q.client_id)
  local app, list = self:app(q.client_id), {}
  local ask = next(granted) == nil or is_open_source(app) or q.prompt_missing_scopes == "true"
  for _, scope in ipairs(text.words(q.scope)) do
    if not granted[scope] and ask then list[#list + 1] = scope end
  end
  return list
end

-- With require_requested_scopes, all requested scopes must be granted, now or before.
local function lacks_scopes(q, granted, now)
  local allowed = text.set(now)
  for _, scope in ipairs(q.require_requested_scopes == "true" and text.words(q.scope) or {}) do
    if not granted[scope] and not allowed[scope] then return true end
  end
  return false
end

-- Records the user's consent to these scopes. Returns the redirect with a code.
function M:allow(account, q, chosen)
  local granted = self:consent(account.email, q.client_id)
  if lacks_scopes(q, granted, chosen) then return self:deny(q, "access_denied", "all requested scopes are needed") end
  for _, scope in ipairs(chosen) do granted[scope] = true end
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

-- Redirects a program at once; a browser gets the form (pages.lua).
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

return M
