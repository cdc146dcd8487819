-- fleet.proxy: takes the service's own requests from programs that cannot sign, signs commands and telemetry configurations, and forwards
-- the rest. This file connects the proxy to its listening socket; service.lua handles the requests.

local admission = require "fleet.proxy.admission"
local callers = require "fleet.proxy.callers"
local clients = require "fleet.proxy.clients"
local core = require "fleet.core"
local errors = require "fleet.util.errors"
local listening = require "fleet.proxy.listening"
local replies = require "fleet.proxy.replies"
local services = require "fleet.proxy.service"
local tables = require "fleet.util.tables"
local tasks = require "fleet.async"
local pcall = require("fleet.util.compat").pcall -- the called functions may yield

local M = {}

local Proxy = { __name = "fleet.proxy" }
Proxy.__index = Proxy

local largest_body = 1048576 -- bytes: a tariff with a price for every half hour
local all_bodies = 8388608 -- bytes of large bodies that arrive or are served at the same time
local arrival = 15 -- seconds in which a request has to arrive
local grace = 5 -- seconds that an answer may take longer than the call's timeout

-- ---- options ----

local types = {
  client = "any", accounts = "table", listen = "string", secret = "string", secret_file = "string", certificate = "string",
  certificate_key = "string", client_ca = "string", names = "table", pass_through = "boolean", callers = "table",
  per_minute = "number", audit = "function",
  log = "function", max_connections = "number", timeout = "number",
  secret_file_given = "boolean", getenv = "function",
}

local function check_options(options)
  if type(options) ~= "table" then errors.usage("fleet.proxy.new: a table of options is needed, got %s", type(options)) end
  for name, value in pairs(options) do
    local wanted = types[name]
    if not wanted then errors.unknown_name("fleet.proxy.new", "option", tostring(name), types) end
    if wanted ~= "any" and type(value) ~= wanted then
      errors.usage("fleet.proxy.new: option '%s' is a %s, not a %s", name, wanted, type(value))
    end
  end
  if not options.client then errors.usage("fleet.proxy.new: option 'client' is missing: a client with a key") end
  if not options.listen then errors.usage("fleet.proxy.new: option 'listen' is missing: unix:/path or 127.0.0.1:port") end
end

-- ---- requests ----

local function note(self, message)
  if self.options.log then pcall(self.options.log, { kind = "proxy", message = message }) end
end

local function respond(self, request, status, headers, body)
  self.service.metrics:answered(status)
  request:respond(status, headers, body)
end

local function failed(self, request, raised)
  note(self, "a request failed: " .. tostring(raised))
  respond(self, request, replies.error(500, "internal_error", "the proxy failed", { ["x-fleet-outcome"] = "unknown" }))
end

local admit

-- Serves a request. decided: the admission that accepted it. After a reload in between, the request is checked again, because other callers
-- may be allowed now. Every request gets an answer, also after an error.
local function serve(self, decided, request, asked, caller, token, digest)
  if self.admission ~= decided then return admit(self, request, asked) end
  local service = self.service
  service.clients:enter()
  service.metrics.in_flight, self.in_flight = service.metrics.in_flight + 1, self.in_flight + 1
  local ran, status, headers, body = pcall(service.handle, service, caller, asked, token, digest, request)
  service.metrics.in_flight, self.in_flight = service.metrics.in_flight - 1, self.in_flight - 1
  service.clients:leave()
  if not ran then return failed(self, request, status) end
  respond(self, request, status, headers, body)
end

local health_texts = { ["/health"] = "OK", ["/status"] = "ok" } -- the second is the service's own path

local function health(self, path)
  if self.draining then return replies.text(503, "draining") end
  local text = health_texts[path]
  if self.service.metrics.audit_problem then text = text .. ", but the audit cannot be written" end
  return replies.text(200, text)
end

local function metrics_text(self)
  local _, wall = tasks.loop.clock()
  local service = self.service
  local text = service.metrics:text {
    waiting = service.queue.waiting, connections = self.server:connections(), tokens = service.clients:tokens_known(wall),
  }
  local collector = core.context(service.clients.first).config.metrics -- calls, billed calls and budgets
  if type(collector) == "table" and collector.text then text = text .. collector:text() end
  return 200, { ["Content-Type"] = "text/plain; version=0.0.4" }, text
end

local function show_metrics(self, request)
  local ran, status, headers, body = pcall(metrics_text, self)
  if not ran then return failed(self, request, status) end
  respond(self, request, status, headers, body)
end

-- A large body is read only when the headers identify the caller.
local function admit_head(self, request, asked)
  local status, headers, body = self.admission:objection(asked)
  if status then return respond(self, request, status, headers, body) end
  local caller, refusal, more, text = self.admission:caller(request, asked)
  if not caller then return respond(self, request, refusal, more, text) end
end

function admit(self, request, asked)
  local status, headers, body = self.admission:objection(asked)
  if status then return respond(self, request, status, headers, body) end
  if health_texts[asked.path] and asked.method == "GET" then return respond(self, request, health(self, asked.path)) end
  local caller, token, digest, text = self.admission:caller(request, asked)
  if not caller then return respond(self, request, token, digest, text) end
  if asked.path == "/api/proxy/1/version" and asked.method == "GET" then return respond(self, request, replies.version()) end
  if asked.path == "/metrics" and asked.method == "GET" then
    if self.admission:shows_figures(asked) then return tasks.spawn(show_metrics, self, request) end
    return respond(self, request, replies.error(403, "forbidden", "the figures need the proxy's own secret"))
  end
  tasks.spawn(serve, self, self.admission, request, asked, caller, token, digest)
end

-- ---- opening ----

local function client_timeout(options)
  return options.timeout or core.context(options.client).config.timeout
end

local function open_server(self, options, place, before)
  return require("fleet.server").new {
    loop = tasks.loop, unix = not before and place.unix or nil, host = place.host, port = not before and place.port or nil,
    fd = not before and place.fd or nil, takes_over = before, certificate = place.certificate,
    certificate_key = place.certificate_key, client_ca = place.client_ca, max_body = largest_body,
    max_bodies = all_bodies, on_head = function(request, asked) admit_head(self, request, asked) end,
    max_connections = options.max_connections or 512, arrival = arrival, timeout = client_timeout(options) + grace,
    on_request = function(request, asked) admit(self, request, asked) end,
  }
end

local function set_of_names(list)
  local names = {}
  for _, name in ipairs(list or {}) do names[string.lower(name)] = true end
  return names
end

-- The admission of callers, made once the listening address is known.
local function admission_of(options, place)
  local known = callers.new { callers = options.callers, secret = place.secret, per_minute = options.per_minute }
  local names = set_of_names(options.names)
  if place.host then names[string.find(place.host, ":", 1, true) and "[" .. place.host .. "]" or place.host] = true end
  return admission.new {
    socket = place.socket, loopback = place.loopback, names = names, pass_through = options.pass_through,
    asks_certificates = place.client_ca ~= nil, callers = known,
  }
end

local function serving(self, options, metrics)
  local made = services.new {
    clients = clients.new(options.client, options.accounts), timeout = client_timeout(options), audit = options.audit,
  }
  made.metrics = metrics or made.metrics
  made.note = function(message) note(self, message) end
  return made
end

local function completed(options, place, server)
  local ran, done, err, kind = pcall(listening.complete, place, server:address(), server:port(), options)
  if ran and done then return server end
  server:close()
  if not ran then error(done, 0) end
  return nil, err, kind
end

-- Opens the server with its admission. Options are checked before anything listens.
local function open(self, options, place, before)
  if not place.systemd then
    local admitting = admission_of(options, place)
    local server, err, kind = open_server(self, options, place, before)
    return server, server and admitting or err, kind
  end
  callers.new { callers = options.callers, per_minute = options.per_minute }
  local server, err, kind = open_server(self, options, place, before)
  if server then server, err, kind = completed(options, place, server) end
  return server, server and admission_of(options, place) or err, kind
end

local function take_over(self, options, service, place, server, admitting)
  self.options, self.service, self.place, self.server, self.admission = options, service, place, server, admitting
  self.secret_file, self.url = place.secret_file, listening.url(place, server:port())
end

--- A proxy. options: client (with a key; the proxy uses its account's tokens), accounts (further clients by name), listen ("unix:/path",
--- "127.0.0.1:port", "[::1]:port", "systemd"), secret or secret_file, certificate, certificate_key, client_ca (files), names (further host
--- names of TCP), pass_through, callers, per_minute, audit (function), log (function), max_connections (512), timeout (the client's). See
--- doc/manual/proxy.md. Returns a proxy with url and secret_file, or nil, err, kind when it cannot listen. Raises for a wrong option, and
--- for an unsafe address.
function M.new(options)
  check_options(options)
  local self = setmetatable({ in_flight = 0 }, Proxy)
  local service = serving(self, options)
  local place, err, kind = listening.read(options)
  if not place then return nil, err, kind end
  local server, admitting
  server, admitting, kind = open(self, options, place)
  if not server then return nil, admitting, kind end
  take_over(self, options, service, place, server, admitting)
  return self
end

--- The line that the command prints first: the address as JSON.
function Proxy:first_line()
  return core.json_encode {
    url = self.url, unix = self.place.unix, host = self.place.host, port = self.server:port(), secret_file = self.secret_file,
    pass_through = self.options.pass_through or false,
  }
end

-- ---- reloading and closing ----

-- Closes a server that was replaced, once its last connection ends.
local function end_quietly(server)
  tasks.spawn(function()
    while server:connections() > 0 do tasks.sleep(0.1) end
    server:close()
  end)
end

--- Replaces all options except 'listen': clients, accounts, callers, secrets, certificates. Requests in flight finish with the old clients,
--- which are then closed. Returns true; or nil, err, kind, and nothing has changed.
function Proxy:reload(options)
  options = tables.copy(options, { listen = self.options.listen })
  check_options(options)
  local service = serving(self, options, self.service.metrics)
  local place, err, kind = listening.read(options)
  if not place then return nil, err, kind end
  local server, admitting
  server, admitting, kind = open(self, options, place, self.server)
  if not server then return nil, admitting, kind end
  local before, old = self.service.clients, self.server
  take_over(self, options, service, place, server, admitting)
  end_quietly(old)
  before:retire(service.clients)
  return true
end

--- Accepts no further connections and waits, at most so many seconds, until the requests in flight are answered. Works inside and outside a
--- task. Returns whether all have ended.
function Proxy:drain(seconds)
  self.draining = true
  self.server:quiet()
  local pauses = tasks.pauses(seconds or 60, 0.01, 0.1)
  while self.in_flight > 0 do
    if not pauses:again() then return false end
  end
  return true
end

--- The clients of the proxy, which the caller closes at the end: close().
function Proxy:clients()
  return self.service.clients
end

--- Stops listening; requests in flight are answered with 503. May be called twice. The clients remain open.
function Proxy:close()
  if self.server then self.server:close() end
  self.server = nil
end

Proxy.__close, Proxy.__gc = Proxy.close, Proxy.close

function Proxy:__tostring()
  return self.server and "fleet.proxy: " .. tostring(self.url) or "fleet.proxy (closed)"
end

return M
