-- Cars that stream in virtual time, without a network, to a receiver of this process. Payloads are encoded and decoded as between a vehicle
-- and a receiver; only TLS and the envelope are left out.

local core = require "fleet.core"
local physics = require "fleet.sim.physics"
local sim_telemetry = require "fleet.sim.telemetry"
local streams = require "fleet.sim.telemetry.stream"
local tasks = require "fleet.async"
local telemetry = require "fleet.telemetry"

local M = {}

local Source = {}
Source.__index = Source

local longest_step = 60 -- seconds

-- ---- the source of a receiver ----

local Raw = {}
Raw.__index = Raw

function Raw:take()
  local arrival = table.remove(self.queue, 1)
  if arrival then return arrival.what, arrival.record, arrival.handle end
end

function Raw:stats() return { connections = 0, messages = self.messages, acknowledged = self.acknowledged } end
function Raw:close() self.queue = {} end

-- ---- cars ----

local function handle_of(source, car, id)
  local handle = {}
  function handle.admit(_, admitted)
    car.admitted = admitted
    return true
  end
  function handle.acknowledge()
    source.raw.acknowledged = source.raw.acknowledged + 1
    car.stream:acknowledged(id)
  end
  function handle.leave() end
  function handle.end_connection() car.connected = false end
  return handle
end

local function push(source, car, what, record, id)
  record.id, record.kind, record.connection, record.arrived = car.vehicle.vin, "vehicle_device", car.connection, source.now()
  record.address, record.network_interface = "127.0.0.1", "wifi"
  source.raw.queue[#source.raw.queue + 1] = { what = what, record = record, handle = handle_of(source, car, id) }
end

local function transmit(source, car, signals, resend)
  local list, at = {}, source.now()
  for i, signal in ipairs(signals) do list[i] = sim_telemetry.signal(signal) end
  local bytes = source.library.data_payload { vin = car.vehicle.vin, at = at, resend = resend, signals = list }
  local record = assert(source.library.payload("V", bytes))
  source.count = source.count + 1
  record.vin, record.topic, record.txid, record.raw = car.vehicle.vin, "V", tostring(source.count), bytes
  source.signals, source.raw.messages = source.signals + #list, source.raw.messages + 1
  push(source, car, "message", record, record.txid)
  car.stream:sent(record.txid, signals, at)
end

local function connect(source, car)
  source.connections = source.connections + 1
  car.connection, car.connected, car.admitted = source.connections, true, nil
  push(source, car, "connected", {})
end

local function disconnect(source, car)
  car.connected = false
  car.stream:disconnected()
  push(source, car, "disconnected", { reason = "closed" })
end

local function step(source, car)
  local is_online = car.vehicle.record.state == "online" and not source.is_cut
  if car.connected and not is_online then return disconnect(source, car) end
  if not car.connected and is_online then return connect(source, car) end -- messages follow once it is admitted
  if not car.connected or not car.admitted then return nil end
  local now = source.now()
  local again, signals = car.stream:again(now), car.stream:step(now)
  if again then transmit(source, car, again, true) end
  if signals and not source.is_silent then transmit(source, car, signals) end
end

--- Advances the cars to the current time; the receiver takes what they send at once.
function Source:tick()
  for _, car in ipairs(self.cars) do physics.advance(car.vehicle, self.now()) end
  for _ = 1, 2 do -- the first iteration connects
    for _, car in ipairs(self.cars) do step(self, car) end
    if self.receiver.raw then self.receiver:arrived() end
    tasks.sleep(0)
  end
end

--- Runs until close(), in a task.
function Source:run()
  while self.receiver.raw do
    self:tick()
    tasks.sleep(self.step)
  end
end

--- Ends the receiver.
function Source:close()
  self.receiver:close()
end

--- Cars of a service that stream by a configuration. given: options of the receiver. source.is_cut = true: the cars cannot connect;
--- source.is_silent = true: they send nothing.
function M.new(service, config, given)
  local library, why = require("fleet.util.optional_module").find "stream"
  if not library then error(why, 0) end
  local source = setmetatable({
    library = library, cars = {}, count = 0, signals = 0, connections = 0, step = longest_step,
    now = function() return (select(2, tasks.loop.clock())) end,
    raw = setmetatable({ queue = {}, messages = 0, acknowledged = 0 }, Raw),
  }, Source)
  for i, vehicle in ipairs(service.vehicles) do
    local stream = streams.new(vehicle, config, core.telemetry_fields(), function(_, field)
      error("the simulated car does not stream " .. field, 0)
    end)
    source.cars[i] = { vehicle = vehicle, stream = stream }
    source.step = math.min(source.step, stream.smallest)
  end
  local vins = {}
  for i, vehicle in ipairs(service.vehicles) do vins[i] = vehicle.vin end
  local options = { certificate = "", certificate_key = "", client_ca = "", vehicles = vins, on_notice = function(text) error(text, 0) end }
  for name, value in pairs(given or {}) do options[name] = value end
  source.receiver = telemetry.over(source.raw, options)
  return source
end

--- The same, with a receiver that belongs to a client, as client:telemetry makes it.
function M.of_client(service, client, config, given)
  local context = core.context(client)
  local source = M.new(service, config, given)
  source.receiver.count_signals = require("fleet.budget.signals").counter(context)
  context.receiver = source.receiver
  return source
end

return M
