-- The receiver's state of one vehicle: its connections and the newest value of each field with its time.

local core = require "fleet.core"
local fields = require "fleet.telemetry.fields"
local tasks = require "fleet.async"

local M = {}

local grace = 5 -- seconds without a connection in which the vehicle still counts as online: it reconnects within a second

local methods, computed = {}, {}

--- Whether it is connected.
function computed.online(self)
  return self.sockets > 0 or self.left ~= nil and tasks.steady() - self.left < grace
end

--- UTC seconds of the last change between connected and disconnected; nil if it was never connected.
function computed.since(self)
  if computed.online(self) then return self.connected_at end
  return self.left_at
end

--- Seconds since the vehicle sent the field's newest value; nil when the value is unknown.
function methods.age(self, name)
  local at = self.at[name]
  return at and tasks.age(at) or nil
end

--- The newest values in the form of vehicle_data: see view.lua.
function methods.vehicle_data(self, given)
  return (require("fleet.telemetry.view").of(self, given))
end

--- Methods also work with a dot: vehicle.age "Soc".
local function bound(self, name)
  return function(first, ...)
    if first == self then return methods[name](self, ...) end
    return methods[name](self, first, ...)
  end
end

local vehicle_mt = { __name = "fleet.telemetry.vehicle" }
function vehicle_mt.__index(self, name)
  if methods[name] then return bound(self, name) end
  if computed[name] then return computed[name](self) end
  return nil
end
function vehicle_mt.__tostring(self)
  return "fleet.telemetry.vehicle …" .. string.sub(self.vin, -4) .. (self.online and " (online)" or "")
end

function M.new(vin)
  return setmetatable({
    vin = vin, values = {}, at = {}, ended = {}, -- ended: since when a field's value is unknown
    current = {}, -- fields sent since it connected
    signals = 0, sockets = 0, connections = {}, source = false, delayed = false, dirty = false,
  }, vehicle_mt)
end

-- ---- connections ----

--- Records a new connection. handle: with which it can be ended.
function M.joins(self, record, handle)
  if not computed.online(self) then self.connected_at, self.current = record.arrived, {} end
  self.sockets = self.sockets + 1
  self.connections[record.connection] = handle
  self.interface, self.client_version = record.network_interface or self.interface, record.client_version or self.client_version
end

function M.leaves(self, record)
  if not self.connections[record.connection] then return end
  self.connections[record.connection] = nil
  self.sockets = self.sockets - 1
  if self.sockets == 0 then self.left, self.left_at = tasks.steady(), record.arrived end
end

--- Forgets the oldest connection and returns its handle: it no longer counts, even before its end is noticed.
function M.drop_oldest(self, now)
  local number = math.huge
  for one in pairs(self.connections) do number = math.min(number, one) end
  local handle = self.connections[number]
  M.leaves(self, { connection = number, arrived = now })
  return handle
end

-- ---- values ----

local function has_all(a, b)
  for name, value in pairs(b) do
    if a[name] ~= value then return false end
  end
  return true
end

local function is_same(a, b)
  if a == b then return true end
  return type(a) == "table" and type(b) == "table" and has_all(a, b) and has_all(b, a)
end

-- Takes a value of a record if it is newer; value nil: it is unknown, and an older value that arrives later must not restore it. Within a
-- connection the order of arrival counts, because a vehicle's clock may be minutes ahead after waking. Resent values and those of another
-- connection count by the vehicle's time: after the receiver's clock was set back, `at` would be before all that is known.
local function set(self, record, name, value, at, changed)
  local values, times, ended = self.values, self.at, self.ended
  local known = times[name] or ended[name]
  if not known and not fields.is_kept(name) then return end
  local by_time = known and at < known and (record.resend or self.source ~= record.connection)
  if by_time and (record.at or record.arrived) < known then return end
  if changed and not is_same(values[name], value) then changed[name] = true end
  values[name], self.dirty = value, true
  if value == nil then
    times[name], ended[name], self.current[name] = nil, at, nil
  else
    times[name], self.current[name] = at, true
    if ended[name] then ended[name] = nil end
  end
end

--- Takes the newest values of a record. The time of a value is the vehicle's, but never later than its arrival. Returns a set of the fields
--- whose value has changed, if `wants_changed`.
function M.learn(self, record, wants_changed)
  local at, changed = math.min(record.at or record.arrived, record.arrived), wants_changed and {} or nil
  for name, value in pairs(record.values) do set(self, record, name, value, at, changed) end
  for _, name in ipairs(record.invalid) do set(self, record, name, nil, at, changed) end
  if record.texts then
    for name in pairs(record.texts) do set(self, record, name, nil, at, changed) end
  end
  self.source = record.connection
  return changed
end

--- Takes a newer value that another process received; value nil: it is unknown.
function M.take(self, name, value, at)
  local known = self.at[name] or self.ended[name]
  if not at or known and at <= known then return end
  self.current[name] = nil
  self.values[name], self.at[name], self.ended[name] = value, value ~= nil and at or nil, value == nil and at or nil
end

-- ---- in a store ----

--- As JSON; M.restore reads it.
function M.text(self)
  return core.json_encode { values = self.values, at = self.at, interface = self.interface, client_version = self.client_version }
end

--- Takes the values of an earlier process, except fields that have arrived since.
function M.restore(self, text)
  local kept = text and core.json_decode(text)
  if type(kept) ~= "table" or type(kept.values) ~= "table" or type(kept.at) ~= "table" then return end
  for name, value in pairs(kept.values) do
    local is_known = self.at[name] or self.ended[name]
    if not is_known and type(kept.at[name]) == "number" then
      self.values[name], self.at[name] = value, kept.at[name]
    end
  end
  self.interface, self.client_version = self.interface or kept.interface, self.client_version or kept.client_version
end

return M
