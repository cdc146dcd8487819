-- Publishes records on an MQTT broker in the topics of Tesla's fleet-telemetry server: <base>/<VIN>/v/<Field> with the value as JSON, and
-- alerts, errors and connectivity, so that its consumers work unchanged. QoS 1: a record is stored once the broker has confirmed all its
-- messages.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local fields = require "fleet.telemetry.fields"
local links = require "fleet.mqtt.link"
local mqtt_options = require "fleet.mqtt.options"
local optional_module = require "fleet.util.optional_module"
local tasks = require "fleet.async"

local M = {}

local stream, no_stream = optional_module.find "stream"

local confirm_seconds, check_seconds = 20, 10
local most_unconfirmed = 100 -- messages of one record: the link's queue is 1000 for all records

local Mqtt = { name = "mqtt" }
Mqtt.__index = Mqtt

--- given: broker, user, password, broker_ca_file, cert_file, key_file, mqtt_id as of the bridge; base: the first part of the topics
--- ("telemetry"); retain (false). Returns the output, or nil, err, kind when the library is missing.
function M.new(given)
  local base = given.base or "telemetry"
  if type(base) ~= "string" or base == "" or string.find(base, "[+#%c]") then
    errors.usage "fleet.telemetry: 'base' of the output mqtt must be the beginning of a topic, without + and #"
  end
  if type(given.broker) ~= "string" then errors.usage "fleet.telemetry: the output mqtt needs 'broker'" end
  local address = mqtt_options.address(given.broker)
  if not stream then return errors.failure("unsupported", no_stream) end
  local library, err, kind = links.library()
  if not library then return nil, err, kind end
  local self = setmetatable({ base = base, retain = given.retain == true, broker = given.broker }, Mqtt)
  self.link = links.new {
    library = library,
    broker = {
      host = address.host, port = address.port, tls = address.tls, keepalive = 60, user = given.user, password = given.password,
      ca_file = given.broker_ca_file, cert_file = given.cert_file, key_file = given.key_file, client_id = given.mqtt_id,
      will_topic = base .. "/receiver", will = "offline",
    },
    on_message = function() end, on_state = function(state, problem)
      if state == "lost" then self.problem = problem elseif state == "connected" then self.problem = nil end
      if self.checked then tasks.wake(self.checked) end
    end,
  }
  self.task = tasks.spawn(function() self.link:run() end)
  return self
end

-- A level of a topic, with characters replaced that would add levels or wildcards.
local function level(text) return (string.gsub(text, "[/+#%c]", "_")) end

local function time(seconds) return seconds and os.date("!%Y-%m-%dT%H:%M:%SZ", math.floor(seconds)) or nil end

-- null for an absent list, like the fleet-telemetry server.
local function or_null(list)
  if list and next(list) ~= nil then return list end
  return core.null
end

local function alert(one)
  return { Audiences = or_null(one.audiences), StartedAt = time(one.started_at), EndedAt = time(one.ended_at) }
end

-- For each name: its history, and the alert that started last; an alert without a start is not a current one.
local function add_alerts(add, alerts)
  local names, history, current = {}, {}, {}
  for _, one in ipairs(alerts) do
    if not history[one.name] then
      history[one.name] = {}
      names[#names + 1] = one.name
    end
    table.insert(history[one.name], core.json_encode(alert(one), "Audiences"))
    local known = current[one.name]
    if one.started_at and (not known or one.started_at > known.started_at) then current[one.name] = one end
  end
  for _, name in ipairs(names) do
    if current[name] then add("/alerts/" .. level(name) .. "/current", core.json_encode(alert(current[name]), "Audiences")) end
    add("/alerts/" .. level(name) .. "/history", "[" .. table.concat(history[name], ",") .. "]")
  end
end

-- Topic and payload of each message of a record. Values are as the vehicle sent them, with the prefixes of enums; of a repeated field the
-- last one counts.
local function messages_of(self, record)
  local list, place, seen = {}, self.base .. "/" .. record.vin, {}
  local function add(topic, payload)
    local at = seen[topic] or #list + 1
    seen[topic], list[at] = at, { topic = place .. topic, payload = payload }
  end
  for _, signal in ipairs(record.topic == "V" and stream.published(record.raw) or {}) do
    if fields.is_kept(signal.name) then add("/v/" .. level(signal.name), signal.json) end
  end
  add_alerts(add, record.alerts or {})
  for _, one in ipairs(record.errors or {}) do
    list[#list + 1] = { topic = place .. "/errors/" .. level(one.name),
      payload = core.json_encode { Body = one.body, Tags = or_null(one.tags), CreatedAt = time(one.at) } }
  end
  return list
end
M.messages_of = messages_of

-- What to do about an error of the connection, by its kind.
local cures = {
  auth = "correct the options user and password",
  tls = "the certificate must be for the host of the address, and its authority in the option broker_ca_file, or known to the system",
}

local function cure_of(err)
  if cures[err.kind] then return cures[err.kind] end
  if string.find(err.message, "ended", 1, true) then return "mqtt:// is without TLS, mqtts:// with TLS: correct the address" end
  return "start the broker, or correct the address"
end

--- Waits until the link has tried to connect. Returns true when it is connected, or nil, err, kind with what to do.
function Mqtt:check()
  if not self.link.connected then
    self.checked = tasks.promise()
    tasks.await_for(self.checked, check_seconds)
    self.checked = nil
  end
  if self.link.connected then return true end
  local err = self.problem or errors.new("timeout", "the broker at " .. self.broker .. " does not answer")
  return errors.failure(err.kind, err.message .. ": " .. cure_of(err))
end

-- Publishes the messages first to last of a list. Returns true once the broker has confirmed them, or nil, err, kind.
local function publish_confirmed(self, messages, first, last)
  local entries = {}
  for i = first, last do
    entries[#entries + 1] = self.link:publish(messages[i].topic, messages[i].payload, self.retain)
  end
  for _, entry in ipairs(entries) do
    if not entry.promise.done then tasks.await_for(entry.promise, confirm_seconds) end
    if not entry.confirmed then
      for _, one in ipairs(entries) do self.link:forget(one) end
      return errors.failure("network", "the broker has not confirmed within " .. confirm_seconds .. " seconds"
        .. (self.problem and ": " .. self.problem.message or ""))
    end
  end
  return true
end

--- Publishes a record. Returns true once the broker has confirmed all its messages, or nil, err, kind.
function Mqtt:store(record)
  local messages = messages_of(self, record)
  for first = 1, #messages, most_unconfirmed do
    local done, err, kind = publish_confirmed(self, messages, first, math.min(first + most_unconfirmed - 1, #messages))
    if not done then return nil, err, kind end
  end
  return true
end

--- Publishes the start or end of a connection.
function Mqtt:connection(event)
  local words = { connected = "CONNECTED", disconnected = "DISCONNECTED" }
  if not event.vin or not words[event.type] then return end
  self.link:publish(self.base .. "/" .. event.vin .. "/connectivity", core.json_encode {
    ConnectionId = tostring(event.connection), Status = words[event.type], CreatedAt = time(event.at), NetworkInterface = event.interface,
  }, self.retain)
end

function Mqtt:close()
  self.link:stop()
  if self.checked then tasks.wake(self.checked) end
end

return M
