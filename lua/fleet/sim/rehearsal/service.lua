-- The simulator's service in this process, and a client that reaches it through its `http` option, without a network: all code between them
-- is the code that talks to the real service.

local core = require "fleet.core"
local calendar = require "fleet.automation.local_time"
local clock = require "fleet.sim.rehearsal.clock"
local cost = require "fleet.automation.cost"
local measure = require "fleet.sim.rehearsal.measure"
local tables = require "fleet.util.tables"
local tasks = require "fleet.async"

local M = {}

local base, auth_host, token_host = "http://127.0.0.1:1", "http://127.0.0.1:2", "http://127.0.0.1:3"
local vin = "5YJSFLEE9KF000002"
M.vin, M.site = vin, "1000001"

local function zone_offsets()
  return function(name, at)
    return assert(calendar.zone(name)):offset(at)
  end
end

local function garage_of(given)
  local car = {
    vin = vin, vehicle_command_protocol_required = false, sleep_after = 900, display_name = "Rehearsal",
    charge_state = { battery_level = 60, charge_limit_soc = 80, charge_current_request = 16, charge_current_request_max = 16 },
  }
  tables.add(car, given.vehicle)
  local site = { energy_site_id = 1000001, installation_time_zone = given.zone, components = { battery = false } }
  tables.add(site, given.energy_site)
  return { vehicles = { car }, energy_sites = { site } }
end

--- Makes the service of a rehearsal from these options.
function M.new(given)
  return require("fleet.sim.service").new {
    garage = garage_of(given), endpoints = core.endpoints(), commands = core.commands(), base_url = base, auth_url = auth_host,
    token_url = token_host, clock = function() return tasks.loop.clock() end, zone = zone_offsets(), core = core,
  }
end

local hosts = { [base] = "base", [auth_host] = "auth", [token_host] = "token" }

-- Whether a request changes what the car or the site does.
local function is_command(stage, row, request)
  return row.command or request.method == "POST" and stage.site and string.find(request.path, "energy_sites", 1, true)
end

local function record(stage, request, status, body)
  local row = request.row
  if not row or status == 401 then return end
  local at, billing = clock.now(), row.billing or "free"
  if at >= stage.to then return end
  if cost.billed(status) and billing ~= "free" then stage.calls[billing] = (stage.calls[billing] or 0) + 1 end
  if stage.looks and billing == "data" and status < 400 then stage.looks[#stage.looks + 1] = { at = at, name = row.name } end
  if status >= 400 then stage.refused[#stage.refused + 1] = { at = at, name = row.name, status = status } end
  if not is_command(stage, row, request) then return end
  local reply = core.json_decode(body or "")
  local response = type(reply) == "table" and type(reply.response) == "table" and reply.response or {}
  stage.commands[#stage.commands + 1] = {
    at = at, name = row.name, params = core.json_decode(request.body or "") or {}, status = status,
    result = response.result, reason = response.reason,
  }
end

--- Serves a request { method, url, headers, body } of a client. This is its `http` option, with the results of that option.
function M.serve(stage, request)
  if stage.down then return nil, "the service is down", false end
  local host, path = string.match(request.url, "^(http://[^/]+)(.*)$")
  local plain, query = string.match(path, "^([^?]*)%??(.*)$")
  local asked = {
    method = request.method, path = plain, query = query, headers = request.headers, body = request.body or "", host = hosts[host],
  }
  local status, headers, body, manner
  if asked.host == "base" then
    local changes = request.method == "POST" and clock.now() < stage.to
    if changes and stage.samples then measure.energy(stage) end -- a request that only reads needs no measurement
    status, headers, body, manner = stage.service:handle(asked)
    if changes then clock.disturb() end
    record(stage, asked, status, body)
  else
    status, headers, body, manner = require("fleet.sim.auth").handle(stage.service, asked)
  end
  if manner and manner.drop then return nil, "the connection was dropped", true end
  local lower = {}
  for name, value in pairs(headers or {}) do lower[string.lower(name)] = value end
  return { status = status, headers = lower, body = body or "" }
end

-- Signs in like a browser: requests the page, consents, and follows the redirect.
local function sign_in(client, http)
  local address, pending = client:authorize_url()
  local answer = assert(http { method = "GET", url = address, headers = {} })
  assert(answer.headers.location, "the authorize call gave no way back")
  assert(client:authorize(answer.headers.location, pending))
end

--- A client that is signed in to the service. given: http, store, options of fleet.new.
function M.client(stage, given)
  local http = given.http or function(request) return M.serve(stage, request) end
  local options = {
    base_url = base, auth_url = auth_host, token_url = token_host, client_id = "rehearsal", client_secret = "rehearsal",
    redirect_uri = "http://localhost:1/callback", store = given.store,
    scopes = {
      "openid", "offline_access", "vehicle_device_data", "vehicle_cmds", "vehicle_charging_cmds", "vehicle_location",
      "energy_device_data", "energy_cmds",
    },
    http = http,
  }
  tables.add(options, given.options)
  local client = assert(require("fleet.client").new(options))
  if not client:token_info().user then sign_in(client, http) end
  return client
end

return M
