-- The cars of a simulator that stream: each awake car with an adopted configuration connects to its receiver on this machine and sends its
-- fields, in the simulator's time.

local authority = require "fleet.sim.telemetry.authority"
local connections = require "fleet.sim.telemetry.connection"
local physics = require "fleet.sim.physics"
local streams = require "fleet.sim.telemetry.stream"
local api = require "fleet.sim.api.telemetry"

local M = {}
M.__index = M

M.ADDRESS = "localhost" -- the hostname in the configurations of these cars

local SYNC_SECONDS = 5 -- until an awake car adopts a configuration
local GRID = 0.5 -- seconds of virtual time between messages
local MOST_STEPS = 5000 -- in one advance of time
local FIRST_PAUSE, LONGEST_PAUSE = 2, 60 -- virtual seconds until a car reconnects
local FAULTS = { row = { name = "telemetry" } }

--- service: of the simulator. loop: watches the connections. stream: fleet.stream. rows: fleet.core.telemetry_fields().
function M.new(service, loop, stream, rows)
  local self = setmetatable({
    service = service, loop = loop, stream = stream, rows = rows, authority = authority.new(stream), links = {}, at = service:now(),
    index = {},
  }, M)
  for i, vehicle in ipairs(service.vehicles) do
    self.index[vehicle], vehicle.sync_seconds = i, SYNC_SECONDS
  end
  service.telemetry = self
  return self
end

-- ---- where a car connects ----

-- The address of a host name that is this machine; nil for any other name.
local function loopback(hostname)
  local name = string.lower(hostname)
  if name == "localhost" or string.find(name, "%.localhost$") then return "127.0.0.1" end
  if string.find(name, "^127%.%d+%.%d+%.%d+$") or name == "::1" then return name end
  return nil
end

-- ---- one configuration of one car ----

local Link = {}
Link.__index = Link

local function fault(self, names)
  if not self.owner.service.faults.list[1] then return nil end
  FAULTS.vehicle = self.vehicle
  local found = self.owner.service.faults:take(names, FAULTS)
  return found and found.name, found and found.options
end

-- Lists an error once, until another error follows.
local function report(self, error_name, text)
  if self.reported == text then return end
  self.reported = text
  api.report(self.owner.service, self.vehicle, { client_id = self.client_id, error_name = error_name, error = text },
    self.owner.service:now())
end

local function new_link(owner, vehicle, client_id, entry)
  local self = setmetatable({
    owner = owner, vehicle = vehicle, client_id = client_id, entry = entry, count = 0, pause = FIRST_PAUSE, next_at = 0, waiting = {},
    late = {},
  }, Link)
  self.stream = streams.new(vehicle, entry.config, owner.rows, function(name, field)
    report(self, name, "field " .. field .. " is not supported")
  end)
  self.run = owner.service.random(11)
  return self
end

function Link:is_open() return self.connection ~= nil and self.connection.state == "open" end

function Link:close()
  for _, connection in ipairs(self.late) do connection:close() end
  self.late = {}
  if self.connection then self.connection:close() end
  self.connection = nil
  self.stream:disconnected()
end

local ENDINGS = { "wrong_authority", "slow_reader", "two_sockets", "late_disconnect" }

-- The error that the car reports for a failed connection, in the words of real cars if they are known.
local function error_text(reason)
  if string.find(reason, "self%-signed") or string.find(reason, "unable to get") or string.find(reason, "certificate verify failed") then
    return "certificate signed by unknown authority: the receiver's chain does not lead to a root in ca"
  end
  if string.find(reason, "[Hh]ostname mismatch") then return "the receiver's certificate is not for this hostname" end
  return reason
end

function Link:connect(now)
  local owner, config = self.owner, self.entry.config
  local address = loopback(config.hostname)
  if not address then
    self.next_at = math.huge
    return report(self, "config_manager_error", "simulated cars connect to this machine only: hostname " .. M.ADDRESS .. ", not "
      .. config.hostname)
  end
  local way = fault(self, ENDINGS)
  local mine = owner.authority:car(self.vehicle.vin, owner.index[self.vehicle], way == "wrong_authority")
  local connection, err = connections.open {
    stream = owner.stream, loop = owner.loop, address = address, hostname = config.hostname, port = config.port or 443, ca = config.ca,
    certificate = mine.certificate, key = mine.key, version = self.vehicle.status.fleet_telemetry_version or "1.3.0",
    interface = "wifi", random_key = "AQIDBAUGBwgJCgsMDQ4PEA==",
    on_open = function(one) self:opened(one) end,
    on_acknowledged = function(_, id) self.stream:acknowledged(id) end,
    on_refused = function(_, _, text) report(self, "config_manager_error", "the receiver refused a message: " .. text) end,
    on_end = function(one, reason) self:ended(one, reason) end,
  }
  if not connection then return self:ended(nil, err.message) end
  connection.deaf = way == "slow_reader"
  if way == "late_disconnect" then connection.leaves_late = true end
  if way == "two_sockets" then connection.second = true end
  if self.connection then self.late[#self.late + 1] = self.connection end
  self.connection, self.tried_at = connection, now
end

function Link:opened(connection)
  self.pause, self.reported, connection.upgraded = FIRST_PAUSE, nil, true
  local now = self.owner.service:now()
  for _, message in ipairs(self.waiting) do self:transmit(message, now) end
  self.waiting, self.began = {}, true
  if connection == self.connection then self:step(now) end
  if connection.second or connection.leaves_late then -- a second socket beside the first, which closes later or stays open
    connection.ends_at = connection.leaves_late and now + 5 or nil
    connection.second, connection.leaves_late = nil, nil
    self:connect(now)
  end
end

function Link:ended(connection, reason)
  for i, one in ipairs(self.late) do
    if one == connection then return table.remove(self.late, i) end
  end
  local now = self.owner.service:now()
  local was_open = self.connection and self.connection.upgraded
  self.connection = nil
  self.stream:disconnected()
  self.next_at, self.pause = now + self.pause, math.min(self.pause * 2, LONGEST_PAUSE)
  if not was_open then report(self, "config_manager_error", error_text(reason)) end
end

-- ---- messages ----

local MESSAGES = {
  "future_clock", "text_values", "invalid_fields", "lost_last_value", "unknown_fields", "no_ack_wait", "flood", "garbage", "huge",
  "drop_connection",
}

local function text_of(value)
  if type(value) ~= "table" then return tostring(value) end
  if not value.latitude then return "true" end
  return string.format("(%.6f %s, %.6f %s)", math.abs(value.latitude), value.latitude < 0 and "S" or "N", math.abs(value.longitude),
    value.longitude < 0 and "W" or "E")
end

-- Members of values that have parts.
local OF_PARTS = { DoorState = "door_value", TpmsHardWarnings = "tire_location_value", TpmsSoftWarnings = "tire_location_value" }

-- A signal as fleet.stream.data_payload takes it.
local function written(signal, as_text)
  if signal.value == streams.INVALID then return { field = signal.field, member = "invalid", value = true } end
  local of_parts = OF_PARTS[signal.field]
  if of_parts and not as_text then return { field = signal.field, member = of_parts, value = signal.value } end
  if as_text then return { field = signal.field, member = "string_value", value = text_of(signal.value) } end
  return signal
end

--- The same for a stream that needs no connection (lua/fleet/sim/rehearsal/stream.lua).
M.signal = written

local function envelope(self, payload, now)
  self.count = self.count + 1
  local id = string.format("%s-%09d", self.run, self.count)
  return self.owner.stream.stream_message {
    topic = "V", txid = id, created_at = math.floor(now), sender_id = "vehicle_device." .. self.vehicle.vin,
    device_type = "vehicle_device", device_id = self.vehicle.vin, payload = payload,
  }, id
end

-- While the car is not connected, the signals are lost.
function Link:transmit(signals, now, resend)
  local connection = self.connection
  if not self:is_open() then return self.stream:sent(nil, signals, now) end
  local way, options = fault(self, MESSAGES)
  local list, at = {}, now
  for i, signal in ipairs(signals) do
    local one = way == "invalid_fields" and { field = signal.field, value = streams.INVALID } or signal
    list[i] = written(one, way == "text_values")
  end
  if way == "unknown_fields" then list[#list + 1] = { field = 9001, member = "string_value", value = "new" } end
  if way == "future_clock" then at = now + (options.seconds or 300) end
  if way == "lost_last_value" then
    self.waiting[#self.waiting + 1] = signals
    return
  end
  local bytes, id = envelope(self, self.owner.stream.data_payload { vin = self.vehicle.vin, at = at, resend = resend, signals = list }, at)
  if way == "garbage" then return connection:send(string.rep("\255\0", 40)) end
  if way == "huge" then return connection:send((envelope(self, string.rep("x", 1000001), now))) end
  if way ~= "no_ack_wait" then self.stream:sent(id, signals, now) end -- first: sending may read the acknowledgement
  for _ = 1, way == "flood" and 500 or 1 do connection:send(bytes) end
  if way == "drop_connection" and self.connection == connection then
    connection:close()
    self:ended(connection, "dropped")
  end
end

-- Sends what is due at this time of the car.
function Link:step(now)
  local again = self:is_open() and self.stream:again(now)
  if again then self:transmit(again, now, true) end
  local signals = self.stream:step(now)
  if signals then self:transmit(signals, now) end
end

function Link:keep_connected(now)
  for i = #self.late, 1, -1 do
    local one = self.late[i]
    if one.ends_at and one.ends_at <= now then table.remove(self.late, i):close() end
  end
  if not self.connection and now >= self.next_at then self:connect(now) end
end

-- ---- all of them ----

local function is_streaming(vehicle, entry, now)
  if vehicle.record.state ~= "online" or not api.synced(vehicle, entry, now) then return false end
  return type(entry.config.exp) ~= "number" or entry.config.exp > now
end

local function tick_link(self, vehicle, client_id, entry, now, connecting)
  local link = self.links[entry]
  if not is_streaming(vehicle, entry, now) then
    if link then link:close() end
    return
  end
  if not link then
    link = new_link(self, vehicle, client_id, entry)
    self.links[entry] = link
  end
  if connecting then link:keep_connected(now) end
  if link.began then link:step(now) end -- the first values wait for the first connection
end

local function forget(self)
  local current = {}
  for _, vehicle in ipairs(self.service.vehicles) do
    for _, entry in pairs(vehicle.configs) do current[entry] = true end
  end
  for entry, link in pairs(self.links) do
    if not current[entry] then
      link:close()
      self.links[entry] = nil
    end
  end
end

local function step_of(self, span)
  local smallest = math.huge
  for _, link in pairs(self.links) do smallest = math.min(smallest, link.stream.smallest) end
  return math.max(GRID, math.min(smallest, 3600), span / MOST_STEPS)
end

--- Advances all cars that stream to the service's time, in steps at which their values change.
function M:tick()
  local now = self.service:now()
  local step = step_of(self, now - self.at)
  forget(self)
  while now - self.at >= GRID do
    self.at = math.min(now, self.at + step)
    local last = now - self.at < GRID
    for _, vehicle in ipairs(self.service.vehicles) do
      if next(vehicle.configs) then
        physics.advance(vehicle, self.at)
        for client_id, entry in pairs(vehicle.configs) do tick_link(self, vehicle, client_id, entry, self.at, last) end
      end
    end
  end
end

--- Seconds of real time until the next tick.
function M:pause()
  local speed = self.service.clock.speed
  return speed > 0 and math.min(GRID, math.max(0.05, GRID / speed)) or GRID
end

--- What a person needs to know: { hostname =, connected = }.
function M:state()
  local connected = 0
  for _, link in pairs(self.links) do
    if link:is_open() then connected = connected + 1 end
  end
  return { hostname = M.ADDRESS, connected = connected }
end

function M:close()
  for _, link in pairs(self.links) do link:close() end
  self.links = {}
end

return M
