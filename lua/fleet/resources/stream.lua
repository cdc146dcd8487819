-- A client's telemetry receiver, and reads that it answers: client:telemetry{ … }, car:vehicle_data{ from = "stream" }.

local check_options = require "fleet.util.check_options"
local compat = require "fleet.util.compat"
local core = require "fleet.core"
local errors = require "fleet.util.errors"
local tables = require "fleet.util.tables"

local M = {}

-- The VINs of the account.
local function vins_of(client)
  local records, err, kind = client:vehicles():collect()
  if not records then return nil, err, kind end
  local vins = {}
  for i, record in ipairs(records) do vins[i] = record.vin end
  return vins
end

-- Makes a receiver with the given options; requesting the VINs may wait.
local function made(client, context, given)
  local options = tables.copy(given, { store = given.store or context.store })
  if options.vehicles == nil then
    local vins, err, kind = vins_of(client)
    if not vins then return nil, err, kind end
    options.vehicles = vins
  end
  local receiver, err, kind = require("fleet.telemetry").new(options)
  if receiver then receiver.count_signals = require("fleet.budget.signals").counter(context) end
  return receiver, err, kind
end

--- Makes the client's receiver: reads with from = "stream", automations and the MQTT bridge use it. Options as for
--- require("fleet.telemetry").new; without `vehicles` those of the account are requested once, without `store` the client's is used.
--- Without options, returns the existing receiver, or nil.
function M.telemetry(client, given)
  local context = core.context(client)
  if given == nil then return context.receiver or nil end
  if type(given) ~= "table" then errors.usage("telemetry: the options must be a table, got a %s", type(given)) end
  if context.receiver and context.receiver.raw then errors.usage("telemetry: the client has a receiver: close it first") end
  if context.makes_receiver then errors.usage("telemetry: another call of client:telemetry for this client is under way") end
  context.makes_receiver = true
  local ran, receiver, err, kind = compat.pcall(made, client, context, given)
  context.makes_receiver = nil
  if not ran then error(receiver, 0) end
  if not receiver then return nil, err, kind end
  context.receiver = receiver
  return receiver
end

local function failed(car, kind, text)
  return errors.failure(kind, "vehicle_data: " .. text .. ". Without from = \"stream\" it is a live look, which is billed",
    { vin = car.vin, outcome = "not_sent" })
end

local function newest(vehicle)
  local at
  for _, one in pairs(vehicle.at) do at = math.max(at or one, one) end
  return at
end

-- A requested section of which the stream has no value, or nil.
local function lacking(data, endpoints)
  for _, name in ipairs(endpoints or {}) do
    local known = data[name] ~= nil
    if name == "location_data" then known = data.drive_state ~= nil and data.drive_state.latitude ~= nil end
    if not known then return tostring(name) end
  end
end

--- vehicle_data from the stream: params.age in seconds (60), endpoints as for the service. Older values are left out. Makes no call:
--- returns nil, err, kind when there are no values; kind is "unsupported" without a receiver, "offline" when all values are too old. With
--- params.fallback it also fails when one of the endpoints is missing, so that the caller makes a live read.
function M.vehicle_data(car, params)
  check_options.names("vehicle_data", "parameter", params, { "from", "age", "endpoints", "fallback" })
  local age = check_options.seconds("vehicle_data", "age", params.age, 60)
  local sections
  if params.endpoints ~= nil then
    if type(params.endpoints) ~= "table" then errors.usage("vehicle_data: 'endpoints' must be a list") end
    sections = tables.set(params.endpoints)
    if sections.location_data then sections.drive_state = true end
  end
  local receiver = core.context(car).receiver
  if not receiver or not receiver.raw then
    return failed(car, "unsupported", "the client has no receiver of telemetry: client:telemetry{ … } makes one")
  end
  if not require("fleet.telemetry.looks").streams(receiver, car.vin) then
    return failed(car, "unsupported", "the vehicle is not among the receiver's 'vehicles'")
  end
  local vehicle = receiver:vehicle(car.vin)
  local data, count = require("fleet.telemetry.view").of(vehicle, { age = age, sections = sections })
  local missing = params.fallback and lacking(data, params.endpoints)
  if missing then return failed(car, "offline", "the vehicle does not stream " .. missing) end
  if count > 0 then return data end
  local at = newest(vehicle)
  if not at then return failed(car, "offline", "the vehicle has streamed nothing yet") end
  return failed(car, "offline", string.format("the vehicle is %s, and what it streamed is older than %g s",
    vehicle.online and "connected" or "not connected", age))
end

return M
