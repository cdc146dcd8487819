-- Admits or rejects a request by token, region, registration, kind of token, scope and body. Each check raises its refusal.
local json = require("fleet.sim.json")
local reply = require("fleet.sim.reply")
local rows = require("fleet.sim.rows")

local M = {}

local function check_token(self, request)
  local token, problem = self.oauth:find(request.headers.authorization)
  if not token then reply.fail(401, problem) end
  return token
end

-- The service of another region rejects the account's token and names the address of the account's own region.
local function check_region(self, token, row)
  local account = token.account
  if account and account.region ~= self.region and row.name ~= "user.region" then
    reply.fail(421, ("user out of region, use base URL: %s, see %s/regions"):format(
      self:region_url(account.region), self.auth_url))
  end
end

local function check_registered(self, token, row)
  local app = self.garage.apps and self.oauth:app(token.client_id)
  local missing = app and app.registered == false and not self.registered[app.client_id]
  if missing and not row.path:find("/partner_accounts", 1, true) then
    reply.fail(412, ("Account %s must be registered in the current region %s"):format(
      self:subject({ client_id = token.client_id }), self.base_url))
  end
end

local function check_kind(row, token)
  if row.third_party and token.open_source then reply.fail(403, "forbidden", "not available to open-source apps") end
  if row.no_business and token.kind == "business" then reply.fail(403, "forbidden", "a business token has no user context") end
  if not row.tokens[token.kind] then
    local kinds = {}
    for kind in pairs(row.tokens) do kinds[#kinds + 1] = kind end
    table.sort(kinds)
    reply.fail(403, "forbidden", ("this call needs a %s token"):format(table.concat(kinds, " or ")))
  end
end

local OR_SCOPE = { products = "vehicle_device_data" } -- the list has both kinds, each for its own scope

--- Raises the missing scopes when the token lacks those of the row.
function M.scope(row, token)
  if not row.scope or token.scopes[row.scope] or token.scopes[OR_SCOPE[row.name] or ""] then return end
  if row.charging_scope and token.scopes.vehicle_charging_cmds then return end
  reply.fail(403, "Unauthorized missing scopes", "the token lacks " .. row.scope)
end

local function read_body(request)
  local body = request.body
  if body == "" then return {} end
  local kind = (request.headers["content-type"] or ""):lower()
  if not kind:find("^application/json") then
    reply.fail(406, "not_acceptable", "send Content-Type: application/json")
  end
  local value, problem = json.decode(body)
  if value == nil then reply.fail(400, "invalid_request", problem) end
  if value == json.null then return {} end
  if json.is_list(value) or type(value) ~= "table" then reply.fail(400, "invalid_request", "the body must be a JSON object") end
  return value
end

local function drop_nulls(body)
  for name, value in pairs(body) do
    if value == json.null then body[name] = nil end
  end
  return body
end

local function check_body(row, body)
  local inner = row.wrap and body[row.wrap] or body
  if row.wrap and type(inner) ~= "table" then
    reply.fail(400, "invalid_request", ("missing %s param"):format(row.wrap))
  end
  if row.body_as_given then return inner end
  drop_nulls(inner)
  for _, param in ipairs(row.body_params) do
    if param.former and inner[param.name] == nil then inner[param.name], inner[param.former] = inner[param.former], nil end
  end
  local problem, name = rows.problem(row, inner)
  if problem then reply.fail(400, "invalid_request", problem, { [name] = json.list({ problem }) }) end
  return inner
end

--- Returns the token of the request; raises the reason when the token may not call the row.
function M.token(self, request, row)
  local token = check_token(self, request)
  check_region(self, token, row)
  check_registered(self, token, row)
  check_kind(row, token)
  M.scope(row, token)
  return token
end

--- Returns the parameters of the body; raises what is wrong with it.
function M.body(request, row)
  return check_body(row, read_body(request))
end

return M
