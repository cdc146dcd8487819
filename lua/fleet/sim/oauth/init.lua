-- The authorization server: applications, consents, and what users do on Tesla's site. doc/protocol.md#tokens
-- Its steps are in authorize.lua (consent and codes), tokens.lua and grants.lua (the token endpoint).
local scopes = require("fleet.sim.oauth.scopes")
local text = require("fleet.sim.text")

local M = { SCOPES = scopes.ALL, OWNER_SCOPES = scopes.OWNER }
M.__index = M

for _, part in ipairs({ "authorize", "tokens", "grants" }) do
  for name, method in pairs(require("fleet.sim.oauth." .. part)) do M[name] = method end
end

-- new(service) → the authorization server of a simulated service.
function M.new(service)
  return setmetatable({
    service = service, access = {}, issued = {}, refresh = {}, families = {}, consents = {}, codes = {}, code_order = {},
    tickets = {}, ticket_order = {},
  }, M)
end

-- Without apps in the garage every client id is accepted, and the request shows which kind of app it is.
function M:app(client_id)
  local apps = self.service.garage.apps
  if not apps then return client_id and client_id ~= "" and { client_id = client_id, any = true } or nil end
  for _, app in ipairs(apps) do
    if app.client_id == client_id then return app end
  end
  return nil
end

-- Consents: account and client → set of granted scopes.
function M:consent(email, client_id)
  local name = email .. "\n" .. client_id
  self.consents[name] = self.consents[name] or {}
  return self.consents[name]
end

-- ---- what a user does on Tesla's site ----

-- Replaces the scopes of an app; an empty set revokes the app and all its tokens.
function M:set_consent(email, client_id, list)
  self.consents[email .. "\n" .. client_id] = text.set(list)
  if #list > 0 then return end
  for token, entry in pairs(self.access) do
    if entry.client_id == client_id and entry.account and entry.account.email == email then self.access[token] = nil end
  end
  for token, entry in pairs(self.refresh) do
    if entry.family.client_id == client_id and entry.family.account.email == email then self.refresh[token] = nil end
  end
  self.service:consent_revoked(email, client_id)
end

return M
