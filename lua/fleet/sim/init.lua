-- fleet.sim: the whole service on loopback, in any event loop. This file connects the service to its servers; service.lua is the service
-- and needs no socket.
local errors = require "fleet.util.errors"
local auth = require("fleet.sim.auth")
local control = require("fleet.sim.control")
local compat = require "fleet.util.compat"
local core = require("fleet.core")
local json = require("fleet.sim.json")
local log = require("fleet.sim.log")
local garage_page = require("fleet.sim.garage_page")
local tables = require("fleet.util.tables")
local overview = require("fleet.sim.overview")
local reply = require("fleet.sim.reply")
local services = require("fleet.sim.service")

local M = {}

local Sim = {}
Sim.__index = Sim
Sim.__name = "fleet.sim"

local MAX_BODY = 1048576 -- bytes: a tariff with a price for every half hour exceeds the server's default
local CONTROL_PATH = "/control"
local SILENT = { [CONTROL_PATH] = true, ["/"] = true, ["/garage.json"] = true, ["/favicon.ico"] = true } -- omitted from the log

-- ---- options ----

local OPTIONS = {
  loop = "table", port = "number", garage = "any", faults = "any", speed = "number", config_limit = "number", log = "string",
  clock = "function", zone = "function", random = "function", max_connections = "number", vendor = "table",
  endpoints = "table", commands = "table", on_stop = "function", telemetry = "boolean",
}

local function check_options(options)
  for name, value in pairs(options) do
    local kind = OPTIONS[name]
    if not kind then errors.unknown_name("fleet.sim.new", "option", name, OPTIONS) end
    if kind ~= "any" and type(value) ~= kind and not (name == "loop" and type(value) == "userdata") then
      errors.usage("fleet.sim.new: option '%s' is a %s, not a %s", name, kind, type(value))
    end
  end
  local speed, limit = options.speed or 1, options.config_limit or 5
  if speed < 0 or speed ~= speed or speed == math.huge then errors.usage("fleet.sim.new: option 'speed' is a number from 0") end
  if limit < 0 or limit % 1 ~= 0 then errors.usage("fleet.sim.new: option 'config_limit' is a whole number from 0") end
end

-- "rate_limit:3" → name, times. Lists of such words, or of { name =, times =, … }.
function M.fault(word)
  local name, times = word:match("^([%w_]+):(%d+)$")
  return name or word, times and tonumber(times) or 1
end

local function add_faults(service, faults)
  for _, fault in ipairs(faults or {}) do
    if type(fault) == "string" then
      control.fault(service, M.fault(fault))
    else
      local options = tables.copy(fault)
      options.name, options.fault, options.times = nil, nil, nil
      control.fault(service, fault.name or fault.fault, fault.times, options)
    end
  end
end

-- ---- values of the rows and the core ----

local function title_of(name)
  return name:sub(1, 1):upper() .. name:sub(2)
end

local function vendor_of()
  local row = core.vendors()[1]
  local regions = {}
  for _, region in ipairs(row.regions) do regions[region.name] = region.base_url end
  return {
    title = title_of(row.name), invitation_url = row.invitation_url, jws_algorithm = row.jws_algorithm,
    jws_audience = row.jws_audience, regions = regions,
  }
end

-- Offsets from the system's zone files; nil for an unknown name. A system without zone files has UTC only.
local function zones_of()
  if not core.zone("Etc/UTC") then return nil end
  local known = {}
  return function(name, at)
    if type(name) ~= "string" then return nil end
    if known[name] == nil then known[name] = core.zone(name) or false end
    return known[name] and known[name]:offset(at) or nil
  end
end

local function clock_of(options)
  local loop = options.loop
  if options.clock then return options.clock end
  if type(loop) == "table" and loop.clock then return function() return loop.clock(loop) end end
  return core.clock
end

-- ---- requests ----

local function bearer(request)
  return request.headers.authorization and request.headers.authorization:match("^[Bb]earer%s+(%S+)$")
end

-- Only a simulator that runs as a process of its own can be ended by request.
local function stop(self)
  if not self.on_stop then return reply.error(400, "invalid_request", "this simulator ends with the program that made it") end
  self.on_stop()
  return reply.json(200, { ok = true, now = self.service:now() })
end

local function serve_control(self, request)
  if bearer(request) ~= self.control_token then return reply.error(401, "the control address needs the token printed at start") end
  if request.method == "GET" then return reply.json(200, control.state(self.service)) end
  if request.method ~= "POST" then return reply.error(405, "invalid_method", "GET or POST") end
  local body, problem = json.decode(request.body)
  if type(body) ~= "table" or json.is_list(body) or body == json.null then
    return reply.error(400, "invalid_request", problem or "an object is expected")
  end
  if body.stop then return stop(self) end
  local ok, message = pcall(control.run, self.service, body)
  if not ok then return reply.error(400, "invalid_request", tostring(message)) end
  return reply.json(200, { ok = true, now = self.service:now(), billing = self.service.billing:state() })
end

local function serve_base(self, request)
  if request.path == CONTROL_PATH then return serve_control(self, request) end
  if request.path == "/status" and request.method == "GET" then return reply.text(200, "ok") end
  if request.method == "GET" and request.path == "/" then return reply.html(200, garage_page.page()) end
  if request.method == "GET" and request.path == "/garage.json" then return reply.json(200, overview.make(self.service)) end
  return self.service:handle(request)
end

-- Requests must name this machine as their host: a web page in a browser can send requests here (DNS rebinding).
local function is_local(self, request)
  local written = request.headers.host or ""
  if written == self.last_host then return true end
  local host = written:gsub(":%d+$", "")
  local fits = host == "127.0.0.1" or host == "localhost" or host == "[::1]" or host == ""
  if fits then self.last_host = written end
  return fits
end

local function route(self, request)
  if not is_local(self, request) then return reply.error(403, "forbidden", "the simulator serves 127.0.0.1 only") end
  if request.host == "base" then return serve_base(self, request) end
  return auth.handle(self.service, request)
end

-- asked: the table that receives what is known of the request.
local function answer(self, request, asked, host)
  asked.host = host
  self.called_at = core.clock()
  local ok, status, headers, body, manner = pcall(route, self, asked)
  if not ok then
    self.failure = self.failure or tostring(status)
    status, headers, body, manner = reply.error(500, "the simulator failed", tostring(status))
  end
  if not SILENT[asked.path] then self.log:add(self.service:now(), asked, status) end
  if manner and manner.drop then return request:drop() end
  request:respond(status, headers, body, manner)
end

local function listen(self, options, host, port)
  local server, err = require("fleet.util.optional_module").need("server").new({
    loop = options.loop, host = "127.0.0.1", port = port, max_body = MAX_BODY,
    max_connections = options.max_connections or 2000,
    on_request = function(request, asked) answer(self, request, asked, host) end,
  })
  if not server then
    self:close()
    return nil, err, err.kind
  end
  self.servers[#self.servers + 1] = server
  return ("http://127.0.0.1:%d"):format(server:port())
end

-- ---- the object ----

local function service_options(self, options)
  return {
    garage = options.garage, speed = options.speed, config_limit = options.config_limit, random = options.random,
    clock = clock_of(options), endpoints = options.endpoints or core.endpoints(), commands = options.commands or core.commands(),
    vendor = options.vendor or vendor_of(), zone = options.zone or zones_of(), base_url = self.base_url,
    auth_url = self.auth_url, token_url = self.token_url, jws_verify = core.jws_verify, core = core,
  }
end

-- With port n the service, the authorization server and the token address use n, n + 1 and n + 2; with 0 any free ports.
local function open_servers(self, options)
  local port = options.port or 0
  for i, name in ipairs({ "base", "auth", "token" }) do
    local url, err, kind = listen(self, options, name, port == 0 and 0 or port + i - 1)
    if not url then return nil, err, kind end
    self[name .. "_url"] = url
  end
  return true
end

-- A timer advances the cars that stream, so that any loop that can watch descriptors serves.
local function stream_cars(self, loop)
  local stream = require("fleet.util.optional_module").need "stream"
  local cars = require("fleet.sim.telemetry").new(self.service, loop, stream, core.telemetry_fields())
  self.cars, self.timer = cars, assert(stream.timer())
  self.timer_watch = loop.watch(self.timer:fd(), "r", function()
    self.timer:set(cars:pause())
    cars:tick()
  end)
  self.timer:set(0)
end

local function fill(self, options)
  self.service = services.new(service_options(self, options))
  self.service.log = self.log
  self.control_url = self.base_url .. CONTROL_PATH
  self.control_token = self.service.random(24)
  add_faults(self.service, options.faults)
  if options.telemetry then stream_cars(self, options.loop) end
end

--- A simulated service on loopback. options: loop (watch(fd, mode, fn); default fleet's own), port (0), garage (nil, path
--- or table), faults (list), speed (1), config_limit (5), log (path), clock (function → mono, wall),
--- telemetry (true: its cars stream to receivers on this machine).
--- Returns a sim with base_url, auth_url, token_url, control_url, control_token, or nil, err, kind when it cannot listen.
--- Raises for a wrong option or garage.
---@return fleet.simulator?
function M.new(options)
  options = options or {}
  check_options(options)
  if not options.loop then
    options = tables.copy(options, { loop = require("fleet.async").loop })
  end
  local self = compat.finalised({ servers = {}, on_stop = options.on_stop, called_at = core.clock() }, Sim)
  self.log = log.open(options.log)
  local ok, err, kind = open_servers(self, options)
  if not ok then return nil, err, kind end
  local filled, message = pcall(fill, self, options)
  if filled then return self end
  self:close()
  error(message, 0)
end

--- The certificates of the authorities of its cars, PEM: what a receiver of these cars is given as client_ca. nil where none streams.
function Sim:vehicle_ca()
  return self.cars and self.cars.authority.pem
end

--- The line that the command prints first: addresses and the control token, as JSON.
function Sim:first_line()
  return json.encode({
    base_url = self.base_url, auth_url = self.auth_url, token_url = self.token_url, control_url = self.control_url,
    control_token = self.control_token, telemetry_hostname = self.cars and self.cars:state().hostname,
    telemetry_ca = self.telemetry_ca,
  })
end

--- Advances virtual time at once. seconds: number, 0 or more.
function Sim:advance(seconds)
  control.run(self.service, { advance = seconds })
end

--- Injects a named fault into the next calls. times: 1 by default. options: row, vin, and those of the fault
--- (doc/manual/simulator-faults.md).
function Sim:fault(name, times, options)
  control.fault(self.service, name, times, options)
end

--- Triggers an event that no call causes: "unplug", "drive", "key_card", "password_reset" … Raises for an unknown or impossible one.
function Sim:event(name, vin, options)
  control.event(self.service, name, vin, options)
end

--- A client of this simulator: signed in, its key paired with every vehicle that its account may use. options: those of fleet.new, which
--- override the simulator's; account: the email of an account of the garage, by default the first; key = false: no key. Close it as any
--- other client. Returns nil, err, kind when signing in fails.
function Sim:client(options)
  return require("fleet.sim.client").new(self, options)
end

--- Sets fields of a vehicle: { charge_state = { battery_level = 20 }, state = "asleep" }.
function Sim:set(vin, changes)
  control.set(self.service, vin, changes)
end

--- The whole state of the simulator, as a table.
function Sim:state()
  return control.state(self.service)
end

--- Stops listening; may be called twice.
function Sim:close()
  if self.cars then
    self.timer_watch:close()
    self.timer:close()
    self.cars:close()
    self.cars = nil
  end
  for _, server in ipairs(self.servers) do server:close() end
  self.servers = {}
  if self.log then self.log:close() end
end

Sim.__close, Sim.__gc = Sim.close, Sim.close

function Sim:__tostring()
  return #self.servers > 0 and "fleet.sim: " .. self.base_url or "fleet.sim (closed)"
end

return M
