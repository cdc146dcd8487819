-- The endpoints of the authorization server: authorize, token, consent. The rules are in oauth/, the pages in pages.lua.
local oauth = require("fleet.sim.oauth")
local pages = require("fleet.sim.pages")
local reply = require("fleet.sim.reply")
local text = require("fleet.sim.text")

local M = {}

local function wants_page(request)
  return (request.headers.accept or ""):find("text/html", 1, true) ~= nil
end

local function refuse(service, request, problem, description)
  if wants_page(request) then return reply.html(400, pages.problem("Sign-in is not possible", description)) end
  return oauth.refuse(service.oauth, 400, problem, description)
end

local routes = {}

routes["GET /oauth2/v3/authorize"] = function(service, request)
  local q = text.form(request.query)
  local ticket, headers, body = service.oauth:authorize(q, wants_page(request))
  if not ticket then return refuse(service, request, headers, body) end
  if type(ticket) == "number" then return ticket, headers, body end
  return reply.html(200, pages.consent(ticket, service.oauth.tickets[ticket], "/oauth2/v3/authorize"))
end

local function chosen(lists, entry)
  local asked, out = text.set(entry.ask), {}
  for _, scope in ipairs(lists.scopes or {}) do
    if asked[scope] then out[#out + 1] = scope end
  end
  return out
end

routes["POST /oauth2/v3/authorize"] = function(service, request)
  local form, lists = text.form(request.body)
  local entry = service.oauth.tickets[form.ticket or ""]
  if not entry or entry.expires_at <= service:now() then
    return refuse(service, request, "invalid_request", "this form is too old: start again")
  end
  service.oauth.tickets[form.ticket] = nil
  if form.action == "deny" then return service.oauth:deny(entry.q, "access_denied", "the user refused") end
  return service.oauth:allow(entry.account, entry.q, chosen(lists, entry))
end

local function token(service, request)
  local kind = (request.headers["content-type"] or ""):lower()
  if not kind:find("^application/x%-www%-form%-urlencoded") then
    return oauth.refuse(service.oauth, 400, "invalid_request", "send application/x-www-form-urlencoded")
  end
  return service.oauth:token((text.form(request.body)), request.host)
end

routes["POST /oauth2/v3/token"] = function(service, request)
  local status, headers, body, manner = service.faults:at_token(service)
  if type(status) == "number" then return status, headers, body, manner end
  local spoil = headers
  status, headers, body = token(service, request)
  if spoil then return service.faults.spoil(service, spoil, status, headers, body) end
  return status, headers, body
end

-- ---- the consent page (doc/protocol.md#sign-in) ----

local function consent(service, request)
  local q = text.form(request.query)
  local client_id = q.revoke_client_id
  if not client_id or not service.oauth:app(client_id) then return nil end
  local account = service:account(q.login_hint) or service.garage.accounts[1]
  local back = q.back_url and q.back_url:match("^https?://") and q.back_url or nil
  return client_id, account, back
end

routes["GET /user/revoke/consent"] = function(service, request)
  local client_id, account, back = consent(service, request)
  if not client_id then return refuse(service, request, "invalid_request", "revoke_client_id is not known") end
  return reply.html(200, pages.scopes(client_id, account, service.oauth:consent(account.email, client_id), oauth.SCOPES,
    request.path .. "?" .. request.query, back))
end

routes["POST /user/revoke/consent"] = function(service, request)
  local client_id, account, back = consent(service, request)
  if not client_id then return refuse(service, request, "invalid_request", "revoke_client_id is not known") end
  local form, lists = text.form(request.body)
  local granted, scopes = service.oauth:consent(account.email, client_id), {}
  for _, scope in ipairs(form.action == "revoke" and {} or lists.scopes or {}) do
    if granted[scope] then scopes[#scopes + 1] = scope end
  end
  service.oauth:set_consent(account.email, client_id, scopes)
  if back then return 302, { Location = back }, "" end
  return reply.html(200, pages.problem("Saved", #scopes > 0 and "The application keeps what you left ticked."
    or "The application may do nothing any more."))
end

local paths = {}
for route in pairs(routes) do paths[route:match(" (.+)$")] = true end

-- handle(service, request) → a reply. request.host is the address that was called: "auth" or "token".
function M.handle(service, request)
  local route = routes[request.method .. " " .. request.path]
  local only_token = request.host == "token" and request.path ~= "/oauth2/v3/token"
  if route and not only_token then return route(service, request) end
  if paths[request.path] and not only_token then return reply.error(405, "invalid_method", request.method) end
  return reply.error(404, "not_found", "no such path: " .. request.path)
end

return M
