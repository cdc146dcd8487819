-- A simulated service without sockets and with a clock that only moves when told to, for the specs of the simulator.
local core = require("fleet.core")
local json = require("fleet.sim.json")
local services = require("fleet.sim.service")
local text = require("fleet.sim.text")
local auth = require("fleet.sim.auth")

local M = {}
M.__index = M

M.START = 1773136800 -- 2026-03-10T10:00:00Z, a Tuesday
M.CAR, M.OLD = "5YJ3FLEE9RF000001", "5YJSFLEE9KF000002"
M.VENDOR = { title = "Vendor", jws_algorithm = "V.SS256", jws_audience = "com.vendor" }

local endpoints, commands = core.endpoints(), core.commands()

local function counted()
  local n = 0
  return function(count)
    n = n + 1
    return ("%0" .. count * 2 .. "d"):format(n):sub(-count * 2):gsub("..", function(pair)
      return string.char(tonumber(pair, 16))
    end)
  end
end

-- new(garage, options) → service with helpers.
function M.new(garage, options)
  options = options or {}
  local self = setmetatable({ mono = 0 }, M)
  self.service = services.new({
    garage = garage, endpoints = endpoints, commands = commands, vendor = options.vendor or M.VENDOR,
    base_url = "http://base", auth_url = "http://auth", token_url = "http://token", random = counted(),
    clock = options.clock or function() return self.mono, M.START end, zone = options.zone, config_limit = options.config_limit,
    jws_verify = options.jws_verify, core = options.core,
  })
  return self
end

function M:advance(seconds)
  self.service:advance(seconds)
end

-- ---- tokens ----

local function decoded(status, headers, body)
  return { status = status, headers = headers, body = body, json = body ~= "" and json.decode(body) or nil }
end

function M:auth(method, host, path, query, form, headers)
  headers = headers or {}
  if form then headers["content-type"] = "application/x-www-form-urlencoded" end
  local pairs_of = {}
  for name, value in pairs(form or {}) do pairs_of[#pairs_of + 1] = { name, value } end
  local asked = {}
  for name, value in pairs(query or {}) do asked[#asked + 1] = { name, value } end
  return decoded(auth.handle(self.service, {
    method = method, path = path, query = text.query(asked), headers = headers, body = text.query(pairs_of), host = host,
  }))
end

M.ALL = "openid offline_access user_data vehicle_device_data vehicle_location vehicle_cmds vehicle_charging_cmds " ..
  "energy_device_data energy_cmds"

-- A code for a third-party client.
function M:code(fields)
  local q = { response_type = "code", client_id = "c1", redirect_uri = "http://app/cb", scope = M.ALL, state = "s1" }
  for name, value in pairs(fields or {}) do q[name] = value end
  local reply = self:auth("GET", "auth", "/oauth2/v3/authorize", q)
  local _, _, query = (reply.headers.Location or ""):find("%?(.*)$")
  return query and text.form(query).code, reply
end

function M:token(form, host)
  return self:auth("POST", host or "token", "/oauth2/v3/token", nil, form)
end

-- Signs in as a third-party app; returns the token reply.
function M:login(fields)
  local code = assert(self:code(fields))
  local client = fields and fields.client_id or "c1"
  local reply = self:token({
    grant_type = "authorization_code", client_id = client, client_secret = fields and fields.client_secret or "x", code = code,
    audience = "http://base", redirect_uri = "http://app/cb",
  })
  assert(reply.status == 200, reply.body)
  return reply.json
end

function M:partner(scope, extra)
  local form = { grant_type = "client_credentials", client_id = "c1", client_secret = "x", audience = "http://base", scope = scope }
  for name, value in pairs(extra or {}) do form[name] = value end
  local reply = self:token(form)
  assert(reply.status == 200, reply.body)
  return reply.json.access_token
end

-- ---- calls ----

-- A token with all scopes, renewed when virtual time has passed it.
function M:own_token()
  if not self.access or self.service:now() >= self.access_until then
    self.access, self.access_until = self:login().access_token, self.service:now() + 8 * 3600
  end
  return self.access
end

function M:call(method, target, body, token, headers)
  token = token or self:own_token()
  local path, query = target:match("^([^?]*)%??(.*)$")
  headers = headers or { ["content-type"] = "application/json" }
  headers.authorization = token ~= "" and "Bearer " .. token or nil
  local status, reply_headers, text_body, manner = self.service:handle({
    method = method, path = path, query = query, headers = headers,
    body = type(body) == "table" and json.encode(body) or body or "",
  })
  local out = { status = status, headers = reply_headers, body = text_body, manner = manner }
  local is_json = (reply_headers["Content-Type"] or ""):find("json", 1, true)
  out.json = is_json and json.decode(text_body) or nil
  out.response = type(out.json) == "table" and out.json.response or nil
  return out
end

function M:get(target, token)
  return self:call("GET", target, nil, token)
end

-- The reason of a command, "" when it was obeyed; or its status when it was not even looked at. vin: default the one that takes
-- plain commands.
function M:command(name, params, vin, token)
  local reply = self:call("POST", ("/api/1/vehicles/%s/command/%s"):format(vin or M.OLD, name), params or {}, token)
  if reply.status ~= 200 then return reply.status, reply end
  return reply.response.reason, reply
end

function M:car(vin)
  return self.service.by_vin[vin or M.OLD]
end

function M:section(name, vin)
  return self:car(vin).sections[name]
end

-- A garage of one vehicle that takes plain commands, with more members.
function M.garage(members)
  local vehicle = { vin = M.OLD, vehicle_command_protocol_required = false }
  for name, value in pairs(members or {}) do vehicle[name] = value end
  return { vehicles = { vehicle } }
end

return M
