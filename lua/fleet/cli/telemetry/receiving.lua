-- The receiver of `fleet telemetry serve`, `watch` and `setup`: which vehicles it admits, and how it prints records.

local argv = require "fleet.cli.argv"
local core = require "fleet.core"
local error_meanings = require "fleet.cli.telemetry.error_meanings"
local files = require "fleet.cli.telemetry.files"
local show = require "fleet.cli.show"
local usage_error = require "fleet.cli.usage_error"
local vehicles = require "fleet.cli.vehicles"

local M = {}

M.options = {
  { name = "listen", type = "string", placeholder = "ADDRESS", doc = "the address to listen on; by default 0.0.0.0" },
  { name = "reuse_port", type = "boolean", doc = "share the port with other receivers of this user on this machine" },
  { name = "proxy_protocol", type = "string", placeholder = "ADDRESSES",
    doc = "load balancers that send the PROXY protocol: addresses and networks, by commas" },
  { name = "any_vehicle", type = "boolean", doc = "admit every vehicle with a valid certificate, not only the account's" },
}

--- The VINs that the words name; without words, all vehicles of the account, whose list is free. Returns nil, err, kind on failure.
function M.vins(context, words)
  if words[1] then return vehicles.find_all(context, words, { vin_only = true }) end
  local list, err, kind = context:client():products()
  if not list then return nil, err, kind end
  local vins = {}
  for _, record in ipairs(list) do
    if type(record) == "table" and core.is_vin(record.vin) then vins[#vins + 1] = record.vin end
  end
  if vins[1] then return vins end
  err = core.err { kind = "not_found", message = "the account has no vehicle: name VINs, or give --any-vehicle" }
  return nil, err, "not_found"
end

-- The context of the account's client, which counts the signals; nil where the command has no account.
local function account(context)
  local made, client = pcall(context.client, context)
  return made and core.context(client) or nil
end

-- The parts of a text between commas; nil for nil.
local function listed(text)
  if not text then return nil end
  local list = {}
  for part in string.gmatch(text, "[^,%s]+") do list[#list + 1] = part end
  return list
end

--- A listening receiver, or nil, err, kind. given: options of the command line; found: of files.read; vins: nil admits all; handlers:
--- on_record, on_connection, outputs, ack.
function M.open(context, given, found, vins, handlers)
  local stderr = context.environment.stderr
  local receiver, err, kind = context:check(require("fleet.telemetry").new, {
    host = given.listen or files.simulated(context.environment) and "127.0.0.1" or "0.0.0.0", port = found.port,
    reuse_port = given.reuse_port, proxy_protocol = listed(given.proxy_protocol),
    certificate = "@" .. found.paths.certificate, certificate_key = "@" .. found.paths.certificate_key,
    client_ca = files.simulated(context.environment) and found.client_ca or "@" .. found.paths.client_ca,
    vehicles = vins or function() return true end, on_record = handlers.on_record, on_connection = handlers.on_connection,
    outputs = handlers.outputs, ack = handlers.ack,
    on_notice = function(text)
      if files.simulated(context.environment) and string.find(text, "^client_ca: not Tesla's") then return end
      stderr:write("fleet: ", show.clean(text), "\n")
    end,
  })
  local counted_for = receiver and account(context)
  if counted_for then receiver.count_signals = require("fleet.budget.signals").counter(counted_for) end
  return receiver, err, kind
end

-- ---- where records go ----

M.output_options = {
  { name = "output", type = "string", placeholder = "HOW", doc = "one or more, by commas. lines (the default): a JSON object per record "
    .. "and per connection; text: for a person; redis, mqtt, teslamate" },
  { name = "redis", type = "string", placeholder = "ADDRESS",
    doc = "of the output redis: redis+unix:/path, redis://host:port or rediss://host:port" },
  { name = "broker", type = "string", placeholder = "URL", environment = "FLEET_MQTT_BROKER",
    doc = "of the output mqtt: mqtt://host[:port], mqtts://… or mqtt+unix:/path" },
  { name = "user", type = "string", environment = "FLEET_MQTT_USER", doc = "the name at the broker" },
  { name = "password", type = "string", secret = true, environment = "FLEET_MQTT_PASSWORD", doc = "its password" },
  { name = "broker_ca_file", type = "string", placeholder = "FILE",
    doc = "authority of the broker's certificate; by default those of the system" },
  { name = "teslamate", type = "string", placeholder = "ADDRESS",
    doc = "of the output teslamate: where TeslaMate connects to, by default 127.0.0.1:8444; other addresses than loopback have TLS with "
      .. "the receiver's certificate" },
  { name = "teslamate_token", type = "string", secret = true, environment = "FLEET_TESLAMATE_TOKEN",
    doc = "of the output teslamate: rejects programs that send another token; TeslaMate's variable TOKEN has the same" },
}

local function from_environment(environment, given)
  for _, option in ipairs(M.output_options) do
    local text = option.environment and environment.getenv(option.environment)
    if given[option.name] == nil and text and text ~= "" then given[option.name] = text end
  end
end

local makers = {}

function makers.redis(outputs, given)
  if not given.redis then usage_error.raise("the output redis needs --redis=ADDRESS", { "telemetry serve" }) end
  return outputs.redis { address = given.redis }
end

function makers.mqtt(outputs, given)
  if not given.broker then usage_error.raise("the output mqtt needs --broker=mqtt://HOST, or FLEET_MQTT_BROKER", { "telemetry serve" }) end
  return outputs.mqtt { broker = given.broker, user = given.user, password = given.password,
    broker_ca_file = given.broker_ca_file }
end

-- Plain TCP on loopback; TLS with the receiver's certificate elsewhere.
function makers.teslamate(outputs, given, context)
  local host, port = string.match(given.teslamate or "127.0.0.1:8444", "^%[?([^%[%]]-)%]?:(%d+)$")
  if not host or tonumber(port) > 65535 then
    usage_error.raise("--teslamate is an address and a port, such as 127.0.0.1:8444", { "telemetry serve" })
  end
  local paths = files.read(context.environment, given, {}).paths
  local tls = host ~= "::1" and not string.find(host, "^127%.")
  return outputs.teslamate {
    host = host, port = tonumber(port), certificate = tls and "@" .. paths.certificate or nil,
    certificate_key = tls and "@" .. paths.certificate_key or nil, token = given.teslamate_token,
    on_notice = function(text) context.environment.stderr:write("fleet: ", show.clean(text), "\n") end,
  }
end

--- Writes records as lines of JSON. It is an output, so that a full disk loses no record.
function M.lines_output(out)
  local write = io.type(out) and out or function(text)
    out:write(text)
    out:flush()
    return true
  end
  return require("fleet.telemetry.outputs").lines { write = write }
end

-- The output of each option that belongs to one.
local output_of = {
  redis = "redis", broker = "mqtt", user = "mqtt", password = "mqtt", broker_ca_file = "mqtt", teslamate = "teslamate",
  teslamate_token = "teslamate",
}

local function refuse_unused(given)
  local chosen = "," .. (given.output or "lines") .. ","
  for _, option in ipairs(M.output_options) do
    local output = output_of[option.name]
    if output and given[option.name] ~= nil and not string.find(chosen, "," .. output .. ",", 1, true) then
      usage_error.raise(string.format("%s is an option of the output %s: add --output %s", argv.written(option.name), output, output),
        { "telemetry serve" })
    end
  end
end

--- The outputs that the options choose: { printed = "lines", "text" or nil, outputs = list, ack = }, or nil, err, kind. The
--- receiver acknowledges a record once lines, Redis and broker have it.
function M.outputs(context, given)
  refuse_unused(given)
  from_environment(context.environment, given)
  local found, outputs = { outputs = {}, ack = "at_once" }, require "fleet.telemetry.outputs"
  for name in string.gmatch(given.output or "lines", "[^,]+") do
    if name == "lines" then
      found.printed, found.ack = name, "when_stored"
      table.insert(found.outputs, M.lines_output(context.out))
    elseif name == "text" then
      found.printed = name
    elseif makers[name] then
      local output, err, kind = context:check(makers[name], outputs, given, context)
      if not output then return nil, err, kind end
      table.insert(found.outputs, output)
      if name ~= "teslamate" then found.ack = "when_stored" end
    else
      usage_error.raise("--output is lines, text, redis, mqtt or teslamate, not '" .. name .. "'", { "telemetry serve" })
    end
  end
  return found
end

-- ---- as JSON lines ----

function M.connection_line(event)
  return core.json_encode {
    topic = "connectivity", vin = event.vin, type = event.type, at = event.at, address = event.address, interface = event.interface,
    reason = event.reason, online = event.online,
  }
end

-- ---- for a person ----

local units = core.telemetry_fields()

local function value_text(name, value)
  if type(value) == "table" and value.latitude then return string.format("%.5f, %.5f", value.latitude, value.longitude) end
  if type(value) == "table" then
    local open = {}
    for member, is in pairs(value) do
      if is then open[#open + 1] = member end
    end
    table.sort(open)
    return open[1] and table.concat(open, " ") or "none"
  end
  if type(value) == "boolean" then return value and "yes" or "no" end
  if type(value) == "number" then value = string.format("%.6g", value) end
  local unit = units[name] and units[name].unit
  return show.clean(tostring(value)) .. (unit and " " .. unit or "")
end

local function clock(at) return os.date("%H:%M:%S", math.floor(at)) end

local function short(vin) return vin and string.sub(vin, -6) or "?" end

--- One line for a record: the time, the end of the VIN, and the changed fields, at most `most` of them.
function M.record_text(record, most)
  local parts = {}
  for name, value in pairs(record.values or {}) do parts[#parts + 1] = name .. " " .. value_text(name, value) end
  for _, name in ipairs(record.invalid or {}) do parts[#parts + 1] = name .. " not known now" end
  for name, text in pairs(record.texts or {}) do parts[#parts + 1] = name .. " " .. show.clean(text) end
  for _, alert in ipairs(record.alerts or {}) do parts[#parts + 1] = "alert " .. show.clean(tostring(alert.name)) end
  for _, one in ipairs(record.errors or {}) do
    parts[#parts + 1] = "error " .. show.clean(tostring(one.name) .. " " .. tostring(one.body or ""))
  end
  table.sort(parts)
  local more = most and #parts - most or 0
  if more > 0 then parts = { table.concat(parts, "   ", 1, most), string.format("and %d more", more) } end
  return string.format("%s %s  %s", clock(record.at), short(record.vin), table.concat(parts, "   "))
end

function M.connection_text(event)
  local reason = event.reason and ": " .. show.clean(event.reason) or ""
  local from = event.address and " from " .. show.clean(event.address) or ""
  local meaning = event.type == "refused" and event.reason and error_meanings.of_refusal(event.reason)
  return string.format("%s %s  %s%s%s%s", clock(event.at), short(event.vin), event.type, from, reason, meaning and ": " .. meaning or "")
end

-- ---- until a signal ----

--- Runs the loop until SIGTERM or an interrupt arrives.
function M.until_ended()
  local loop, signals, ended = require("fleet").loop, assert(core.signals()), false
  local watch = loop.watch(signals:fd(), "r", function()
    local name = signals:take()
    ended = ended or name ~= nil and name ~= "hangup"
  end)
  local tick = require("fleet.async.loop").wait_and_tick
  while not ended do tick() end
  watch:close()
  signals:close()
end

return M
