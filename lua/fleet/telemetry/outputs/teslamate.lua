-- Serves the newest values to TeslaMate, by the WebSocket protocol of Tesla's former streaming API. A client subscribes to a vehicle's
-- columns with data:subscribe_oauth, gets control:hello, and then a data:update after each change. TeslaMate reconnects after 30 seconds of
-- silence; each new subscription gets the present values.

local certificates = require "fleet.telemetry.certificates"
local check_options = require "fleet.util.check_options"
local core = require "fleet.core"
local errors = require "fleet.util.errors"
local optional_module = require "fleet.util.optional_module"
local tables = require "fleet.util.tables"
local tasks = require "fleet.async"
local vehicles = require "fleet.telemetry.vehicle"

local M = {}

local where = "fleet.telemetry: the output teslamate"
local options = { "host", "port", "certificate", "certificate_key", "token", "on_notice" }
local pem_names = { "certificate", "certificate_key" }
local longest_text, most_connections, most_tags = 16384, 64, 32
local most_idle = 48 -- connections; beyond it, one without a subscription is closed
local holds_for = 600 -- seconds without the vehicle after which its values no longer count
local certificates_every = 60 -- seconds between checks of the files, when a program connects

-- ---- columns ----

-- TeslaMate reads whole numbers only; it takes other text as unknown.
local function whole(value)
  return type(value) == "number" and string.format("%.0f", math.floor(value + 0.5)) or ""
end

local function field(name)
  return function(values) return whole(values[name]) end
end

local function part_of_place(part)
  return function(values)
    local place = values.Location
    return type(place) == "table" and type(place[part]) == "number" and string.format("%.6f", place[part]) or ""
  end
end

-- Parked is left empty: TeslaMate takes a car that is online for charging only where it has no gear.
local gears = { R = "R", N = "N", D = "D" }

-- A car sends its gear when it changes. After a restart in the middle of a drive the gear is unknown; a speed shows that the car drives.
local function gear_of(known)
  local values = known.values
  local is_unknown = values.Gear == nil and not known.ended.Gear
  if is_unknown and type(values.VehicleSpeed) == "number" and values.VehicleSpeed > 0 then return "D" end
  return gears[values.Gear]
end

-- kW, negative while the car charges, when the current of the pack is positive. Without the pack's values it is the charging power. A car
-- in gear without them has 0: TeslaMate interprets an empty power as a car that only checks itself, and would record no drive.
local function power(values, gear)
  local volts, amperes = values.PackVoltage, values.PackCurrent
  if type(volts) == "number" and type(amperes) == "number" then return whole(-volts * amperes / 1000) end
  local ac, dc = values.ACChargingPower, values.DCChargingPower
  if gear then return "0" end
  if type(ac) ~= "number" and type(dc) ~= "number" then return "" end
  return whole(-math.max(type(ac) == "number" and ac or 0, type(dc) == "number" and dc or 0))
end

local columns = {
  speed = field "VehicleSpeed", est_heading = field "GpsHeading", heading = field "GpsHeading", range = field "RatedRange",
  est_range = field "EstBatteryRange", est_lat = part_of_place "latitude", est_lng = part_of_place "longitude", power = power,
  odometer = function(values) return type(values.Odometer) == "number" and string.format("%.3f", values.Odometer) or "" end,
  soc = function(values) return whole(values.BatteryLevel or values.Soc) end,
  shift_state = function(_, gear) return gear or "" end,
} -- elevation is not streamed

-- TeslaMate records a position for each update in gear. Without a place its process of the car fails; without an odometer the drive has no
-- distance. Until both are known TeslaMate reads vehicle_data.
local function is_ready(known)
  return not gear_of(known) or columns.est_lat(known.values) ~= "" and columns.odometer(known.values) ~= ""
end

local function value_of(names, known, at)
  local parts, gear = { string.format("%.0f", at * 1000) }, gear_of(known)
  for _, name in ipairs(names) do parts[#parts + 1] = columns[name] and columns[name](known.values, gear) or "" end
  return table.concat(parts, ",")
end

local shown = tables.set { "VehicleSpeed", "Odometer", "BatteryLevel", "Soc", "GpsHeading", "Location", "PackVoltage", "PackCurrent",
  "ACChargingPower", "DCChargingPower", "Gear", "RatedRange", "EstBatteryRange" }

-- ---- one connected program ----

local function send(handle, message) return handle:send(core.json_encode(message)) end

-- One notice for each address: TeslaMate subscribes again every 30 seconds.
local function refuse_token(self, address)
  self.counts.tokens_refused = self.counts.tokens_refused + 1
  if self.refused_from == address then return end
  self.refused_from = address
  self.on_notice("TeslaMate at " .. address .. " sends another token than the one of this output: set TeslaMate's variable TOKEN to it "
    .. "(tokens_refused in stats)")
end

local function failure(handle, tag, kind, value) send(handle, { msg_type = "data:error", tag = tag, error_type = kind, value = value }) end

-- TeslaMate logs an error of a type that it does not know, and subscribes again after 30 seconds. After a client_error it would do so at
-- once, without end, some hundred times a second.
local function reject(handle, tag, why) failure(handle, tag, "subscription_rejected", why) end

local function update(viewer, tag, vehicle, at)
  if not is_ready(vehicle.known) then return end
  send(viewer.handle, { msg_type = "data:update", tag = tag, value = value_of(viewer.tags[tag], vehicle.known, at) })
end

local function count(list)
  local sum = 0
  for _ in pairs(list) do sum = sum + 1 end
  return sum
end

local requests = {}

requests["data:subscribe_oauth"] = function(self, viewer, request, address)
  local tag, names = request.tag, {}
  if self.token and not (type(request.token) == "string" and core.same_secret(self.token, request.token)) then
    refuse_token(self, address)
    return reject(viewer.handle, tag, "the token is not that of fleet's output: set TeslaMate's variable TOKEN to it")
  end
  if not core.is_vin(tag) then
    return reject(viewer.handle, tag, "fleet names vehicles by their VIN: set TESLA_WSS_USE_VIN=true")
  end
  if not viewer.tags[tag] and count(viewer.tags) >= most_tags then
    return reject(viewer.handle, tag, "too many vehicles on one connection")
  end
  for name in string.gmatch(type(request.value) == "string" and request.value or "", "[^,]+") do names[#names + 1] = name end
  if #names > 64 then return reject(viewer.handle, tag, "too many columns") end
  viewer.tags[tag] = names
  send(viewer.handle, { msg_type = "control:hello", connection_timeout = 0 })
  local vehicle = self.vehicles[tag]
  if not vehicle or not next(vehicle.connections) then return failure(viewer.handle, tag, "vehicle_disconnected", "") end
  -- The vehicle would have sent a change, so its values are current.
  if next(vehicle.known.values) ~= nil then update(viewer, tag, vehicle, (select(2, tasks.loop.clock()))) end
end

requests["data:unsubscribe"] = function(_, viewer, request)
  viewer.tags[request.tag] = nil
end

-- ---- incoming messages ----

local Teslamate = { name = "teslamate" }
Teslamate.__index = Teslamate

local arrivals = {}

-- Connections without a subscription, including those without the token, must not block others.
local function drop_idle(self)
  local oldest, all = nil, 0
  for number, viewer in pairs(self.viewers) do
    all = all + 1
    if not viewer.ended and next(viewer.tags) == nil and number < (oldest or math.huge) then oldest = number end
  end
  if all < most_idle or not oldest then return end
  self.viewers[oldest].ended = true
  self.viewers[oldest].handle:end_connection(0, "it has no subscription, and others connect") -- a close frame makes TeslaMate's client fail
end

function arrivals.connected(self, record, handle)
  drop_idle(self)
  if handle:admit(true) then self.viewers[record.connection] = { handle = handle, tags = {} } end
end

function arrivals.disconnected(self, record)
  self.viewers[record.connection] = nil
  if record.reason == "it does not read its answers" then
    self.on_notice("TeslaMate at " .. record.address .. " does not read what it is sent: its connection was ended")
  end
end

function arrivals.refused() end

function arrivals.text(self, record)
  local viewer = self.viewers[record.connection]
  local request = core.json_decode(record.text)
  if not viewer or type(request) ~= "table" then return end
  local take = requests[request.msg_type]
  if take and type(request.tag) == "string" then take(self, viewer, request, record.address) end
end

local function keep_certificate(self)
  if not self.pem or tasks.now() - self.read_at < certificates_every then return end
  self.read_at = tasks.now()
  local pem, err = certificates.read(where, self.given, pem_names)
  if pem and pem.certificate == self.pem.certificate and pem.certificate_key == self.pem.certificate_key then return end
  local done = pem and true
  if pem then done, err = self.raw:renew(pem) end
  if done then self.pem = pem else self.on_notice("the certificate for TeslaMate stays as it is: " .. tostring(err)) end
end

local function handle_events(self)
  if not self.raw then return end
  keep_certificate(self)
  self.raw:step()
  while self.raw do
    local what, record, handle = self.raw:take()
    if not what then return end
    arrivals[what](self, record, handle)
  end
end

-- ---- the output ----

local function is_loopback(host) return host == "::1" or string.find(host, "^127%.%d+%.%d+%.%d+$") ~= nil end

local function check(given)
  check_options.names(where, "option", given, options)
  local host, port = given.host or "127.0.0.1", given.port or 8444
  if type(host) ~= "string" then errors.usage("%s: 'host' must be an address", where) end
  if type(port) ~= "number" or port % 1 ~= 0 or port < 0 or port > 65535 then errors.usage("%s: 'port' must be 0 to 65535", where) end
  if given.token ~= nil and (type(given.token) ~= "string" or given.token == "") then errors.usage("%s: 'token' must be a text", where) end
  if (given.certificate == nil) ~= (given.certificate_key == nil) then
    errors.usage("%s: 'certificate' and 'certificate_key' go together", where)
  end
  if not given.certificate and not is_loopback(host) then
    errors.usage("%s: without 'certificate' and 'certificate_key' it listens on 127.0.0.1 or ::1 only: programs send a token, and are "
      .. "sent where the car is", where)
  end
  return host, port
end

--- given.host ("127.0.0.1"), given.port (8444; 0: any free one), given.certificate and given.certificate_key: PEM texts or "@file", for
--- TLS; given.token: required of programs; given.on_notice(text). Returns the output, or nil, err, kind.
function M.new(given)
  local host, port = check(given)
  local stream, why = optional_module.find "stream"
  if not stream then return errors.failure("unsupported", why) end
  local pem, raw, err, kind
  if given.certificate then
    pem, err, kind = certificates.read(where, given, pem_names)
    if not pem then return nil, err, kind end
  end
  raw, err, kind = stream.receiver {
    viewers = true, host = host, port = port, certificate = pem and pem.certificate, certificate_key = pem and pem.certificate_key,
    message = longest_text, connections = most_connections,
  }
  if not raw then return nil, err, kind end
  local self = setmetatable({
    raw = raw, port = raw:port(), given = given, pem = pem, read_at = tasks.now(), token = given.token, viewers = {}, vehicles = {},
    counts = { tokens_refused = 0 },
    on_notice = given.on_notice or function(text) io.stderr:write("fleet: telemetry: ", text, "\n") end,
  }, Teslamate)
  self.watch = tasks.loop.watch(raw:fd(), "r", function() handle_events(self) end)
  return self
end

local function vehicle_of(self, vin)
  local vehicle = self.vehicles[vin] or { known = vehicles.new(vin), connections = {} }
  self.vehicles[vin] = vehicle
  return vehicle
end

-- The part of a record that has columns.
local function shown_of(record)
  local part = tables.copy(record, { values = {}, invalid = {} })
  for name, value in pairs(record.values or {}) do
    if shown[name] then part.values[name] = value end
  end
  for _, name in ipairs(record.invalid or {}) do
    if shown[name] then part.invalid[#part.invalid + 1] = name end
  end
  for name in pairs(record.texts or {}) do
    if shown[name] then part.invalid[#part.invalid + 1] = name end
  end
  part.texts = nil
  return part
end

--- Sends changes to the programs that show the vehicle. Always returns true: this output stores nothing.
function Teslamate:store(record)
  if record.topic ~= "V" then return true end
  local vehicle, of_columns = vehicle_of(self, record.vin), shown_of(record)
  vehicle.known.dirty = false
  vehicles.learn(vehicle.known, of_columns)
  for _, viewer in pairs(vehicle.known.dirty and self.viewers or {}) do
    if viewer.tags[record.vin] then update(viewer, record.vin, vehicle, math.min(record.at, record.arrived)) end
  end
  return true
end

--- Records which vehicles are connected.
function Teslamate:connection(event)
  if not event.vin then return end
  local vehicle = vehicle_of(self, event.vin)
  if event.type == "connected" then
    if vehicle.left and tasks.now() - vehicle.left > holds_for then vehicle.known = vehicles.new(event.vin) end
    vehicle.connections[event.connection], vehicle.left = true, nil
  elseif event.type == "disconnected" then
    vehicle.connections[event.connection] = nil
    if next(vehicle.connections) == nil then vehicle.left = tasks.now() end
  end
end

function Teslamate:close()
  if not self.raw then return end
  self.watch:close()
  self.raw:close()
  self.raw, self.viewers = nil, {}
end

return M
