-- One vehicle: the defaults with the garage's values over them, and the questions that other modules ask about it.
local defaults = require("fleet.sim.defaults")
local json = require("fleet.sim.json")
local keys = require("fleet.sim.keys")
local tables = require("fleet.util.tables")

local M = { MOST_KEYS = 20 } -- doc/protocol.md#pairing
M.__index = M

local MODELS = { ["3"] = "m3", Y = "my", S = "ms", X = "mx", C = "cybertruck", T = "semi", R = "roadster", A = "cybercab" }
local CAR_TYPES = {
  m3 = "model3", my = "modely", ms = "models2", mx = "modelx", cybertruck = "cybertruck", semi = "semitruck", roadster = "roadster",
  cybercab = "cybercab",
}
local YEAR_LETTERS = "ABCDEFGHJKLMNPRSTVWXY" -- from 2010 on, without I, O, Q, U and Z; digits are 2031 to 2039 or 2001 to 2009

-- The value of a field; JSON null, a missing field and "<invalid>" are nil.
function M.value(x)
  if x == json.null or x == defaults.INVALID then return nil end
  return x
end

local value = M.value

local function overlay(target, source)
  for name, new in pairs(source or {}) do
    local old = target[name]
    local both = type(old) == "table" and type(new) == "table" and old ~= json.null and new ~= json.null
    if both and not json.is_list(new) and not json.is_list(old) then overlay(old, new) else target[name] = new end
  end
  return target
end

M.overlay = overlay

local function take(target, source)
  for name in pairs(target) do
    if source[name] ~= nil then target[name] = source[name] end
  end
  return target
end

local function year_of(vin)
  local letter = vin:sub(10, 10)
  local at = YEAR_LETTERS:find(letter, 1, true)
  if at then return 2009 + at end
  return 2000 + (tonumber(letter) or 0)
end

local function key_of(entry)
  if type(entry) == "string" then return { public_key = keys.hex(entry), role = "OWNER" } end
  return { public_key = keys.hex(entry.public_key), role = entry.role or "OWNER" }
end

local function make_record(garage, index)
  local record = take(defaults.record(), garage)
  record.vin = garage.vin
  record.id = garage.id or 1492931520123456 + index
  record.id_s = garage.id_s or ("%.0f"):format(record.id)
  record.vehicle_id = garage.vehicle_id or 1500000000 + index
  record.display_name = garage.display_name or "Vehicle " .. index
  return record
end

-- new(garage entry, its index, now, account) → vehicle. account is the email of the owner.
function M.new(garage, index, now, account)
  local self = setmetatable({
    vin = garage.vin, record = make_record(garage, index), status = take(defaults.status(), garage), sections = {},
    keys = {}, owner = garage.owner or account, user_id = garage.user_id or 800000 + index, drivers = garage.drivers or {},
    model = garage.model or MODELS[garage.vin:sub(4, 4)] or "m3", model_year = garage.model_year or year_of(garage.vin),
    foreign_configs = garage.telemetry_configs or 0, configs = {}, car_wash = garage.car_wash or false,
    protocol = garage.protocol, mobile_enabled = garage.mobile_enabled ~= false, sleep_after = garage.sleep_after,
    wake_seconds = garage.wake_seconds or 12, intel_atom = garage.intel_atom or false, pins = garage.pins or {},
    specs = garage.specs, service_data = garage.service_data, recent_alerts = garage.recent_alerts,
    telemetry_errors = garage.fleet_telemetry_errors or {}, invitations = {}, updated = now, used_at = now, calls = {},
    shown_keys = value(garage.total_number_of_keys),
    shown = 0, -- counts changes, see physics.show
  }, M)
  for _, entry in ipairs(garage.keys or {}) do self:add_key(key_of(entry)) end
  for name, make in pairs(defaults.sections) do self.sections[name] = overlay(make(), garage[name]) end
  self:settle_defaults(garage)
  return self
end

-- Derives the fields that the garage leaves out from the others.
function M:settle_defaults(garage)
  local state, config = self.sections.vehicle_state, self.sections.vehicle_config
  if not (garage.vehicle_state and garage.vehicle_state.vehicle_name) then state.vehicle_name = self.record.display_name end
  if not (garage.vehicle_state and garage.vehicle_state.car_version) then
    state.car_version = self.status.firmware_version .. " 0123456789ab"
  end
  if not (garage.vehicle_config and garage.vehicle_config.car_type) then config.car_type = CAR_TYPES[self.model] end
  state.valet_pin_needed = not self.pins.valet
  state.speed_limit_mode.pin_code_set = self.pins.speed_limit ~= nil
  state.parental_controls.pin_code_set = self.pins.parental ~= nil
  self:changed("charge_state", (garage.charge_state or {}))
end

-- After fields of a section were set from outside, sets the fields that depend on them.
function M:changed(section, fields)
  if section ~= "charge_state" then return end
  local charge = self.sections.charge_state
  if fields.battery_level ~= nil or not self.energy_percent then
    self.energy_percent = charge.battery_level
    if fields.usable_battery_level == nil then charge.usable_battery_level = charge.battery_level end
    self.range_percent = fields.battery_range ~= nil and self.energy_percent or nil
  end
  if fields.conn_charge_cable ~= nil and fields.charging_state == nil then
    if not self:cable() then charge.charging_state = "Disconnected" end
    if self:cable() and charge.charging_state == "Disconnected" then charge.charging_state = "Stopped" end
  elseif fields.charging_state ~= nil and fields.conn_charge_cable == nil then
    local connected = charge.charging_state ~= "Disconnected"
    if connected and not self:cable() then charge.conn_charge_cable = "IEC" end
    if not connected then charge.conn_charge_cable = defaults.INVALID end
  end
  if charge.charging_state == "Starting" then self.starting_at = self.updated end
  if self:cable() and fields.charge_port_door_open == nil then charge.charge_port_door_open = true end
end

-- ---- questions ----

function M:cable()
  return value(self.sections.charge_state.conn_charge_cable)
end

function M:state()
  return self.record.state
end

function M:parked()
  local shift = value(self.sections.drive_state.shift_state)
  return shift == nil or shift == "P"
end

-- Compares dotted versions: firmware "2024.26.1" is at least "2024.26".
function M.at_least(version, wanted)
  local mine = version:gmatch("%d+")
  for number in wanted:gmatch("%d+") do
    local own = tonumber(mine() or 0)
    if own ~= tonumber(number) then return own > tonumber(number) end
  end
  return true
end

function M:firmware(wanted)
  return M.at_least(self.status.firmware_version, wanted)
end

-- Model S and X before 2021 accept plain commands and do not know the protocol (doc/protocol.md#plain-or-signed).
function M:requires_protocol()
  return self.status.vehicle_command_protocol_required == true
end

function M:speaks_protocol()
  return self:requires_protocol() or self.protocol == true
end

-- The access of an account to the vehicle: "OWNER", "DRIVER" or nil, and whether the position is hidden from it.
function M:access(email)
  if email == nil then return nil end
  if self.owner == email then
    local granular = value(self.record.granular_access)
    return self.record.access_type, granular and granular.hide_private == true or false
  end
  for _, driver in ipairs(self.drivers) do
    if driver.email == email then return "DRIVER", driver.hide_private == true end
  end
  if self.guest == email then return "DRIVER", false end
  return nil
end

--- The driving state, without the position unless it may be shown. The caller does not change it.
function M:drive_state(shows_place)
  local state = self.sections.drive_state
  if shows_place then return state end
  local rest = tables.copy(state)
  for _, name in ipairs(defaults.location_fields) do rest[name] = nil end
  return rest
end

function M:has_key(public_key)
  for _, key in ipairs(self.keys) do
    if key.public_key == public_key then return key end
  end
  return nil
end

-- A key takes the lowest free slot and stays in it.
function M:add_key(key)
  local taken = {}
  for _, other in ipairs(self.keys) do taken[other.slot] = true end
  key.slot = 0
  while taken[key.slot] do key.slot = key.slot + 1 end
  self.keys[#self.keys + 1] = key
end

function M:remove_key(key)
  for i, other in ipairs(self.keys) do
    if other == key then return table.remove(self.keys, i) end
  end
end

function M:key_count()
  return self.shown_keys or #self.keys
end

return M
