-- The service itself, without a socket: it turns a request and a time into a reply. Routes, checks and billing classes come from the rows;
-- the handlers model each endpoint.
local admission = require("fleet.sim.admission")
local billing = require("fleet.sim.billing")
local clock = require("fleet.sim.clock")
local commands = require("fleet.sim.commands")
local faults = require("fleet.sim.faults")
local garage = require("fleet.sim.garage")
local handlers = require("fleet.sim.handlers")
local limits = require("fleet.sim.limits")
local oauth = require("fleet.sim.oauth")
local physics = require("fleet.sim.physics")
local random = require("fleet.sim.random")
local reply = require("fleet.sim.reply")
local rows = require("fleet.sim.rows")
local sample = require("fleet.sim.sample")
local signed = require("fleet.sim.signed")
local sites = require("fleet.sim.energy")
local text = require("fleet.sim.text")
local vehicles = require("fleet.sim.vehicle")

local M = {}
M.__index = M

local UNAVAILABLE = "vehicle unavailable: vehicle is offline or asleep"

-- ---- making one ----

local function utc_zone() return 0 end

local function add_vehicle(self, entry, index)
  local vehicle = vehicles.new(entry, index, self:now(), self.garage.accounts[1].email)
  self.vehicles[#self.vehicles + 1] = vehicle
  self.by_vin[vehicle.vin], self.by_vin[vehicle.record.id_s] = vehicle, vehicle
  physics.show(vehicle, self:now())
end

local function add_site(self, entry, index)
  local zone = entry.installation_time_zone
  if zone ~= nil and not self.zone(zone, self:now()) then
    error(("energy_sites[%d].installation_time_zone: there is no time zone '%s'"):format(index, tostring(zone)), 0)
  end
  local site = sites.new(entry, index, self:now(), self.garage.accounts[1].email, self.zone)
  self.sites[#self.sites + 1] = site
  self.by_site[site.id] = site
end

-- new {
--   endpoints =, commands =   the rows, as fleet.core gives them
--   garage =                  nil, a path or a table
--   base_url =, auth_url =, token_url =
--   vendor =                  { title =, invitation_url =, jws_algorithm =, jws_audience =, regions = { na = url, … } }
--   clock =, speed =          see clock.lua         config_limit = 5    telemetry configurations per vehicle
--   zone = function(name, utc) → offset in seconds, nil for an unknown name    random = function(n) → bytes
--   core =                    fleet.core, see signed.lua     jws_verify =  see telemetry.lua
-- }
function M.new(options)
  local self = setmetatable({
    garage = garage.load(options.garage), clock = clock.new(options), random = random.new(options.random),
    base_url = options.base_url, auth_url = options.auth_url, token_url = options.token_url, vendor = options.vendor or {},
    config_limit = options.config_limit or 5, zone = options.zone or utc_zone,
    jws_verify = options.jws_verify, core = options.core, vehicles = {}, subjects = {}, by_vin = {}, sites = {}, by_site = {},
    registered = {}, rows = rows.of(options.endpoints, options.commands),
  }, M)
  self.region = self.garage.region or self.garage.accounts[1].region or "na"
  for i, account in ipairs(self.garage.accounts) do
    account.region = account.region or self.region
    account.index = i
  end
  for i, entry in ipairs(self.garage.vehicles or {}) do add_vehicle(self, entry, i) end
  for i, entry in ipairs(self.garage.energy_sites or {}) do add_site(self, entry, i) end
  self.charging = require("fleet.sim.charging").load(self)
  self.oauth, self.faults, self.limits, self.billing = oauth.new(self), faults.new(self.rows.by_name), limits.new(self), billing.new()
  return self
end

-- ---- time ----

function M:now()
  return self.clock:now()
end

-- Advances everything to the current time, a day at a time, so that sites receive in order what their vehicles charge.
function M:catch_up()
  local now = self:now()
  for _, vehicle in ipairs(self.vehicles) do physics.advance(vehicle, now) end
  for _, site in ipairs(self.sites) do self:advance_site(site, now) end
end

function M:advance_site(site, now)
  for _, vehicle in ipairs(self.vehicles) do
    if vehicle.owner == site.owner then
      physics.advance(vehicle, now)
      sites.take_meter(site, vehicle)
    end
  end
  sites.advance(site, now)
end

function M:advance(seconds)
  self.clock:advance(seconds)
  if self.telemetry then self.telemetry:tick() end -- cars that stream need each step
  self:catch_up()
end

-- ---- identities ----

function M:account(email)
  for _, account in ipairs(self.garage.accounts) do
    if account.email == email then return account end
  end
  return nil
end

function M:business_account(auth_code)
  for _, account in ipairs(self.garage.accounts) do
    if account.business and account.auth_code == auth_code then return account end
  end
  return nil
end

local function uuid_of(name)
  local hex = {}
  for i = 1, 16 do
    local v = i * 7
    for c in name:gmatch(".") do v = (v * 31 + c:byte() + i) % 65521 end
    hex[i] = ("%02x"):format(v % 256)
  end
  local all = table.concat(hex)
  return ("%s-%s-4%s-a%s-%s"):format(all:sub(1, 8), all:sub(9, 12), all:sub(14, 16), all:sub(18, 20), all:sub(21, 32))
end

-- A stable id of an account or of an application, in the form of a uuid.
function M:subject(grant)
  local name = grant.account and grant.account.email or grant.client_id
  self.subjects[name] = self.subjects[name] or uuid_of(name)
  return self.subjects[name]
end

function M:is_audience(audience)
  return audience ~= nil and audience:gsub("/$", "") == self.base_url
end

function M:region_url(region)
  local known = self.vendor.regions and self.vendor.regions[region]
  return region == self.region and self.base_url or known or self.base_url
end

-- The public key of the application of a token as hex, or nil when the garage does not have it.
function M:app_key(token)
  local app = self.oauth:app(token.client_id)
  return app and app.key_hex
end

function M:consent_revoked(email, client_id)
  for _, vehicle in ipairs(self.vehicles) do
    if vehicle.owner == email then vehicle.configs[client_id] = nil end
  end
end

-- ---- vehicles ----

local function takes_partner(row)
  return row.tokens.partner == true
end

local function find_vehicle(self, context, id)
  local vehicle = self.by_vin[id]
  if not vehicle then return nil end
  if context.token.kind == "partner" and takes_partner(context.row) then return vehicle, "PARTNER", false end
  local account = context.token.account
  local role, hidden = vehicle:access(account and account.email)
  if not role then return nil end
  return vehicle, role, hidden
end

function M:find_vehicle(context, id)
  return find_vehicle(self, context, id)
end

-- A live call needs a vehicle that is awake, not in service, and has mobile access.
local function check_live(self, context)
  local vehicle = context.vehicle
  if vehicle.record.in_service then reply.fail(405, "vehicle is currently in service") end
  if not vehicle.mobile_enabled then reply.fail(401, "mobile_access_disabled") end
  local fault = self.faults:take(faults.VEHICLE, context)
  if fault or vehicle.record.state ~= "online" then reply.fail(408, UNAVAILABLE) end
  vehicle.used_at = context.now
end

local function bind_vehicle(self, context)
  local id = context.args.vin or context.row.vin_in_query and context.query.vin
  local needs_one = context.row.vin_in_query and context.row.verb == "GET"
  if not id and needs_one then reply.fail(400, "invalid_request", "vin is missing in the query") end
  if not id then return end
  context.vehicle, context.role, context.hidden = find_vehicle(self, context, id)
  if not context.vehicle then
    if context.row.tokens.partner and context.token.kind == "partner" then return end
    reply.fail(404, "not_found", "no such vehicle, or not yours")
  end
  context.shows_place = context.token.scopes.vehicle_location == true and not context.hidden
  physics.advance(context.vehicle, context.now)
end

local function bind_site(self, context)
  local id = context.args.energy_site_id
  if not id then return end
  local site = self.by_site[id]
  if not site or not context.token.account or site.owner ~= context.token.account.email then
    reply.fail(404, "not_found", "no such energy site, or not yours")
  end
  context.site = site
  self:advance_site(site, context.now)
end

-- ---- commands ----

function M:command_context(context)
  return {
    now = context.now, random = self.random, signed = context.signed,
    charging_site = function(vehicle, id) return require("fleet.sim.charging_sites").find(vehicle, id) end,
  }
end

-- Runs a command on a vehicle, plain or signed. Returns nil or the reason for the refusal. Older firmware does not know newer commands; a
-- command that is not modelled succeeds without effect.
function M:obey(vehicle, name, params, context)
  local row = self.rows.by_name[name]
  if row and row.since and not vehicle:firmware(row.since) then return "not_supported" end
  local run = commands[name]
  local reason = run and run(vehicle, params, self:command_context(context))
  physics.show(vehicle, context.now)
  return reason
end

local function needs_protocol(self)
  return ("%s Vehicle Command Protocol required, please refer to the documentation"):format(self.vendor.title or "Vendor")
end

local OWNERS = { owner = true, owners = true }

--- Rejects a command, plain or signed, that its row reserves for owners and fleet managers.
function M.check_role(context, row)
  local who = row.who
  if not who or context.token.kind == "business" or context.role == "OWNER" then return end
  for word in who:lower():gmatch("%a+") do
    if OWNERS[word] then reply.fail(403, "forbidden", "owners or fleet managers only") end
  end
end

local function run_command(self, context)
  M.check_role(context, context.row)
  local must_sign = context.vehicle:requires_protocol() and not context.row.plain_first
  if context.row.needs_protocol or must_sign then reply.fail(403, needs_protocol(self)) end
  local reason = self:obey(context.vehicle, context.row.name, context.body, context)
  local queued = context.row.name == "navigation_request" and reason == nil or nil
  return { result = reason == nil, reason = reason or "", queued = queued }
end

-- ---- the pipeline ----

local function run(self, context)
  local row = context.row
  if row.live or row.command then check_live(self, context) end
  if row.command then return run_command(self, context) end
  return (handlers[row.name] or sample.reply)(context)
end

local function prepare(self, request, row, args)
  local token = admission.token(self, request, row)
  local context = {
    service = self, row = row, token = token, args = args, query = request.query_fields, now = self:now(),
    account = token.account, fail = reply.fail, request = request,
  }
  context.body = admission.body(request, row)
  if row.name == "signed_command" and #self.faults.list > 0 then context.message, context.command = signed.kind_of(context) end
  return context
end

local function serve(self, request, context)
  bind_vehicle(self, context)
  bind_site(self, context)
  self.limits:check(context)
  request.vehicle = context.vehicle
  return reply.of(run(self, context))
end

local function not_found(request, known)
  local name = request.path:match("^/api/1/vehicles/[^/]+/command/([^/]+)$")
  if known == "query" then return reply.error(400, "invalid_request", "the query names nothing that is here, such as its kind") end
  if known then return reply.error(405, "invalid_method", request.method .. " is not possible here") end
  if name and request.method == "POST" then return reply.error(400, "invalid_command", "unknown command " .. name) end
  return reply.error(404, "not_found", "no such path: " .. request.path)
end

local function respond(ok, status, headers, body, manner)
  if ok then return status, headers, body, manner end
  if reply.is_refusal(status) then return reply.of_refusal(status) end
  error(status, 0)
end

local function guarded(fn, ...)
  return respond(pcall(fn, ...))
end

local function serve_with_faults(self, request, context)
  local fault = self.faults:take(faults.BEFORE, context)
  if fault then return faults.reply(self, fault, context) end
  local after = self.faults:take(faults.AFTER, context)
  local status, headers, body = guarded(serve, self, request, context)
  if after then return faults.spoil(self, after, status, headers, body) end
  return status, headers, body
end

local function call(self, request, row, args)
  local context = prepare(self, request, row, args)
  local way = self.faults.list[1] and serve_with_faults or serve
  return way(self, request, context)
end

-- handle { method =, path =, query =, headers =, body = } → status, headers, body, manner. manner is nil, or how a server must send the
-- reply: { drop =, delay =, piece =, every =, cut = }.
function M:handle(request)
  request.query_fields, request.query_lists = text.form(request.query or "")
  local row, args = rows.find(self.rows.tree, request.method, request.path, request.query_fields)
  if not row then return not_found(request, args) end
  request.row = row
  local status, headers, body, manner = guarded(call, self, request, row, args)
  self.billing:add(row, status, body)
  return status, headers, body, manner
end

return M
