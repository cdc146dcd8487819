-- Issues, looks up and drops tokens.
local json = require("fleet.sim.json")
local reply = require("fleet.sim.reply")
local scopes = require("fleet.sim.oauth.scopes")
local text = require("fleet.sim.text")

local M = {}

local ACCESS_SECONDS = 8 * 3600
local REFRESH_SECONDS = 90 * 86400 -- "3 months"
M.ACCESS_SECONDS = ACCESS_SECONDS
-- Limits of the access tokens and sign-ins of one app for one account, so that a loop cannot fill the memory. The oldest are dropped.
local MAX_ACCESS = 100
local MAX_FAMILIES = 100

local function segment(value)
  return text.base64url(json.encode(value))
end

-- A token has the form of a JWT so that clients can read its claims; whether it is valid is decided by this table alone.
function M:jwt(claims)
  return segment({ alg = "RS256", typ = "JWT", kid = "simulator" }) .. "." .. segment(claims) .. "." ..
    text.base64url(self.service.random(16))
end

-- Adds to the list of an app and an account; returns the item that was dropped.
local function remember(lists, grant, item, most)
  local name = grant.client_id .. "\n" .. (grant.account and grant.account.email or "")
  local list = lists[name] or {}
  lists[name] = list
  list[#list + 1] = item
  return #list > most and table.remove(list, 1) or nil
end

-- Keeps a new sign-in, and drops the oldest of the app and the account when there are too many.
function M:add_family(family)
  self:forget_family(remember(self.families, family, family, MAX_FAMILIES))
end

local OU = { na = "NA", eu = "EU", cn = "CN" }

-- grant: { kind =, client_id =, app =, account = or nil, scopes = set, at = }
function M:issue_access(grant)
  local service = self.service
  local now = service:now()
  local region = grant.account and grant.account.region or service.region
  local token = self:jwt({
    iss = service.auth_url .. "/oauth2/v3/nts", azp = grant.client_id, sub = service:subject(grant), amr = json.list(),
    aud = json.list({ service.base_url, service.auth_url .. "/oauth2/v3/userinfo" }), scp = scopes.in_order(grant.scopes),
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

-- The token of an Authorization header. "Bearer " is compared first: matching a pattern takes time in proportion to the token's length.
local function token_of(header)
  if header:sub(1, 7) == "Bearer " then return header:sub(8) end
  return header:match("^[Bb]earer%s+(%S+)$") or ""
end

-- find(authorization header) → token entry, or nil and the error.
function M:find(header)
  local entry = header and self.access[token_of(header)]
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

function M:forget_family(family)
  for _, token in ipairs(family and { family.current or "", family.last_used or "" } or {}) do self.refresh[token] = nil end
end

-- The reply of the token endpoint for a sign-in.
function M:token_reply(family, extra)
  local granted = self:consent(family.account.email, family.client_id)
  local allowed = scopes.both(family.requested, granted)
  local body = {
    access_token = self:issue_access({
      kind = "user", client_id = family.client_id, open_source = family.open_source, account = family.account,
      scopes = allowed, at = family.at,
    }),
    expires_in = ACCESS_SECONDS, token_type = "Bearer",
  }
  if allowed.offline_access then body.refresh_token = issue_refresh(self, family) end
  if allowed.openid then
    body.id_token = self:jwt({
      iss = self.service.auth_url .. "/oauth2/v3/nts", aud = family.client_id, sub = self.service:subject(family),
      nonce = extra and extra.nonce, email = family.account.email, iat = math.floor(self.service:now()),
      exp = math.floor(self.service:now()) + ACCESS_SECONDS,
    })
  end
  return reply.json(200, body, { ["Cache-Control"] = "no-store" })
end

return M
