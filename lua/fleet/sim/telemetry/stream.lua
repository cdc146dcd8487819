-- Decides which signals a car sends by a configuration, and when. Pure: it maps times to signals and has no connection.
--
-- A field is sent at most every interval_seconds, when it has changed (by minimum_delta, if given), and again after
-- resend_interval_seconds. All fields are sent once at the start. Changes while the car is not connected are lost, unless delivery_policy
-- is "latest": then signals that were not acknowledged are sent once more, merged, as a resend.

local fields = require "fleet.sim.telemetry.fields"
local physics = require "fleet.sim.physics"

local M = {}
M.__index = M

local DELTA = { ChargerVoltage = 0.3 } -- the vehicle's own minimum_delta
local METRES_A_DEGREE = 111194.9
local UNACKNOWLEDGED = 30 -- seconds after which a message counts as lost

M.INVALID = {} -- marks a value that the car cannot report

-- Why a car does not stream a field, or nil. row: of fleet.core.telemetry_fields.
local function refused(vehicle, row)
  if not row or not row.number then return true end
  return row.since ~= nil and not vehicle:firmware(row.since)
end

--- The stream of a car by a configuration. rows: fleet.core.telemetry_fields(). on_error(name, field) is called for each field that the car
--- does not stream.
function M.new(vehicle, config, rows, on_error)
  local self = setmetatable({
    vehicle = vehicle, latest = config.delivery_policy == "latest", fields = {}, unacknowledged = {}, pool = {}, smallest = 3600,
  }, M)
  for name, options in pairs(config.fields) do
    if refused(vehicle, rows[name]) then
      on_error("unsupported_field", name)
    elseif fields.streams(name) then
      local field = {
        name = name, number = rows[name].number, interval = options.interval_seconds, delta = options.minimum_delta or DELTA[name],
        resend = options.resend_interval_seconds, include = options.include_fields,
      }
      if field.resend == 0 then field.resend = nil end
      self.fields[#self.fields + 1] = field
      self.smallest = math.min(self.smallest, field.interval)
    end
  end
  table.sort(self.fields, function(a, b) return a.number < b.number end)
  return self
end

-- ---- changes ----

local function distance(a, b)
  local north = (a.latitude - b.latitude) * METRES_A_DEGREE
  local east = (a.longitude - b.longitude) * METRES_A_DEGREE * math.cos(math.rad(a.latitude))
  return math.sqrt(north * north + east * east)
end

local function same_members(a, b)
  for name, one in pairs(a) do
    if b[name] ~= one then return false end
  end
  return true
end

local function differs(field, now, sent)
  if now == M.INVALID or sent == M.INVALID then return now ~= sent end
  if type(now) ~= type(sent) then return true end
  if type(now) == "table" then
    if now.latitude and field.delta then return distance(now, sent) >= field.delta end
    return not same_members(now, sent)
  end
  if type(now) == "number" and field.delta then return math.abs(now - sent) >= field.delta - 1e-9 end
  return now ~= sent
end

local function is_due(field, value, now)
  if not field.sent_at then return true end
  local age = now - field.sent_at + 1e-3
  if age < field.interval then return false end
  return differs(field, value, field.sent) or field.resend ~= nil and age >= field.resend
end

--- The signals that are due at this time: a list of { field =, value = }, or nil. They then count as sent.
function M:step(now)
  local vehicle, list, there, kw = self.vehicle, {}, {}, physics.charging_kw(self.vehicle)
  local function value_of(name)
    local value = fields.value(vehicle, name, kw)
    if value == nil then return M.INVALID end
    return value
  end
  local function add(name, value)
    if there[name] then return end
    there[name] = true
    list[#list + 1] = { field = name, value = value }
  end
  for _, field in ipairs(self.fields) do
    local value = value_of(field.name)
    if is_due(field, value, now) then
      field.sent, field.sent_at = value, now
      add(field.name, value)
      for _, name in ipairs(field.include or {}) do
        if fields.streams(name) then add(name, value_of(name)) end
      end
    end
  end
  return list[1] and list or nil
end

-- ---- acknowledgements ----

local function lose(self, signals)
  for _, signal in ipairs(signals) do self.pool[signal.field] = true end
end

--- Records signals that were sent as a message with this id, or could not be sent (id nil).
function M:sent(id, signals, now)
  if not self.latest then return end
  if id then self.unacknowledged[id] = { signals = signals, at = now } else lose(self, signals) end
end

function M:acknowledged(id) self.unacknowledged[id] = nil end

--- Records that the connection ended: none of its messages will be acknowledged.
function M:disconnected()
  for id, message in pairs(self.unacknowledged) do
    self.unacknowledged[id] = nil
    lose(self, message.signals)
  end
end

--- The newest values of signals that were not acknowledged, to be sent once more; or nil.
function M:again(now)
  for id, message in pairs(self.unacknowledged) do
    if now - message.at > UNACKNOWLEDGED then
      self.unacknowledged[id] = nil
      lose(self, message.signals)
    end
  end
  local list = {}
  for _, field in ipairs(self.fields) do
    if self.pool[field.name] then list[#list + 1] = { field = field.name, value = field.sent } end
  end
  self.pool = {}
  return list[1] and list or nil
end

return M
