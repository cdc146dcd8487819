-- The newest values in the form of vehicle_data. src/tables/telemetry.c has the place of each field; this file converts values that differ.
-- Unknown values are absent.

local fields = require "fleet.telemetry.fields"
local tasks = require "fleet.async"

local M = {}

local function whole(value) return type(value) == "number" and math.floor(value + 0.5) or nil end

local function times(factor)
  return function(value) return type(value) == "number" and value * factor or nil end
end

local function one_of(words)
  return function(value) return words[value] end
end

local function window(value) return ({ Closed = 0, PartiallyOpen = 1, Opened = 1 })[value] end

local function number(value) return type(value) == "number" and value or nil end

local function boolean(value)
  if type(value) == "boolean" then return value end
end

local function text(value) return type(value) == "string" and value or nil end

-- Converts a value with parts; a vehicle may send a single value instead.
local function parts(fn)
  return function(value)
    if type(value) == "table" then return fn(value) end
  end
end

local function place(value) return value.latitude, value.longitude end

local function same(value)
  if value == "Unknown" then return nil end
  return value
end

local function name_of(value) return text(same(value)) end

-- A number that vehicles send as text.
local function digits(value)
  if type(value) == "string" and string.find(value, "^%d+$") then return tonumber(value) end
  return number(value)
end

-- UTC seconds. A time of day is not a time of vehicle_data.
local function instant(value)
  local seconds = digits(value)
  return seconds and seconds >= 1e9 and seconds or nil
end

local function flag(value)
  if type(value) ~= "boolean" then return nil end
  return value and 1 or 0
end

local function doors(value)
  return flag(value.DriverFront), flag(value.DriverRear), flag(value.PassengerFront), flag(value.PassengerRear), flag(value.TrunkFront),
    flag(value.TrunkRear)
end

local function tyres(value) return value.front_left, value.front_right, value.rear_left, value.rear_right end

local not_off = { Off = false, Idle = true, Armed = true, Aware = true, Panic = true, Quiet = true }
local climate = { Off = false, On = true, Precondition = true, OverheatProtect = true }
local display = { Off = 0, Dim = 1, Accessory = 2, On = 3, Driving = 4, Charging = 5, Lock = 6, Sentry = 7, Dog = 8, Entertainment = 9 }

-- By field: a function from its value to the values of its places, in their order.
local conversions = {
  BatteryLevel = whole, Soc = whole, ChargeAmps = whole, ChargerVoltage = whole, DoorState = parts(doors), Location = parts(place),
  DestinationLocation = parts(place), TpmsHardWarnings = parts(tyres), TpmsSoftWarnings = parts(tyres),
  FdWindow = window, FpWindow = window, RdWindow = window,
  RpWindow = window, SentryMode = one_of(not_off), CenterDisplay = one_of(display),
  TimeToFullCharge = function(value) return number(value), type(value) == "number" and whole(value * 60) or nil end,
  EstimatedHoursToChargeTermination = function(value) return type(value) == "number" and whole(value * 60) or nil end,
  ChargingCableType = function(value) return (value == "SNA" or value == "Unknown") and "<invalid>" or text(value) end,
  FastChargerType = function(value) return value == "SNA" and "<invalid>" or name_of(value) end,
  ScheduledDepartureTime = instant, RearSeatHeaters = digits,
  Gear = one_of { P = "P", R = "R", N = "N", D = "D" },
  SpeedLimitMode = boolean,
  SoftwareUpdateExpectedDurationMinutes = times(60), SoftwareUpdateScheduledStartTime = times(1000),
  HvacPower = function(value)
    if climate[value] == nil then return nil end
    return climate[value], value == "Precondition"
  end,
  HvacAutoMode = one_of { On = true, Override = false }, DefrostMode = one_of { Off = 0, Normal = 1, Max = 2 },
  DefrostForPreconditioning = one_of { [true] = 2 }, -- false: a person in the car may still have switched a defroster on
  ClimateKeeperMode = one_of { Off = "off", On = "on", Dog = "dog", Party = "camp" },
  CarType = function(value)
    local name = name_of(value)
    return name and string.lower(name)
  end,
  SunroofInstalled = one_of { NotInstalled = 0, Gen1Installed = 1, Gen2Installed = 2 },
  SettingDistanceUnit = one_of { Miles = "mi/hr", Kilometers = "km/hr" },
  SettingTemperatureUnit = one_of { Fahrenheit = "F", Celsius = "C" },
}

-- By kind of field: a value of another type is ignored.
local of_kind = { number = number, integer = number, time = number, boolean = boolean, enum = name_of, text = name_of }

local function conversion_of(name) return conversions[name] or of_kind[fields.rows[name].kind] or same end

-- Of two fields with one place, the first one is used when the condition is true.
local function takes_part(name, values)
  local ac, dc = number(values.ACChargingPower), number(values.DCChargingPower)
  local fast = values.FastChargerPresent == true or dc ~= nil and dc > 0
  if name == "ACChargingPower" then return not dc or ac ~= nil and ac >= dc end
  if name == "DCChargingPower" then return dc ~= nil and (not ac or dc > ac) end
  if name == "ACChargingEnergyIn" then return not fast end
  if name == "DCChargingEnergyIn" then return fast or values.ACChargingEnergyIn == nil end
  if name == "EstimatedHoursToChargeTermination" then return values.TimeToFullCharge == nil end
  if name == "DefrostForPreconditioning" then return values.DefrostMode == nil end
  return true
end

local places = {} -- by field: a list of paths, each a list of names
for name, row in pairs(fields.rows) do
  if row.counterpart then
    local list = {}
    for path in string.gmatch(row.counterpart, "%S+") do
      local names = {}
      for word in string.gmatch(path, "[^.]+") do names[#names + 1] = word end
      list[#list + 1] = names
    end
    places[name] = list
  end
end

--- Whether a field of a section can come from the stream.
function M.has(section, field)
  for _, list in pairs(places) do
    for _, path in ipairs(list) do
      if path[1] == section and path[2] == field then return true end
    end
  end
  return false
end

local function set(data, path, value)
  for i = 1, #path - 1 do
    data[path[i]] = data[path[i]] or {}
    data = data[path[i]]
  end
  data[path[#path]] = value
end

--- When a value was last known to be valid. A vehicle that has been connected without interruption since would have sent a change.
function M.known_at(vehicle, name)
  if vehicle.online and vehicle.current[name] then return (select(2, tasks.loop.clock())) end
  return vehicle.at[name]
end

local unplugged = { "<invalid>" }

--- Calls fn(path, value, name) for each place with a value in the stream, in the order of field names. value nil: the vehicle reported the
--- field as invalid, or its value has no counterpart.
function M.each(vehicle, fn)
  local function put(name, converted)
    if not places[name] or not takes_part(name, vehicle.values) then return end
    for i, path in ipairs(places[name]) do fn(path, converted[i], name) end
  end
  for name in pairs(vehicle.ended) do put(name, name == "ChargingCableType" and unplugged or {}) end
  for name, value in pairs(vehicle.values) do put(name, { conversion_of(name)(value) }) end -- last: two fields may share a place
end

--- The view of a vehicle. given.age: seconds; older values are left out. given.sections: a set of names; by default all. Each section has a
--- timestamp in ms, that of its oldest value; `at` has the time of each field in the same form.
function M.of(vehicle, given)
  local data = { vin = vehicle.vin, state = vehicle.online and "online" or nil, at = {} }
  local oldest, count = {}, 0
  local sections, age = given and given.sections, given and given.age
  M.each(vehicle, function(path, value, name)
    local section, at = path[1], M.known_at(vehicle, name) or vehicle.ended[name]
    if value == nil or sections and not sections[section] or age and tasks.age(at) > age then return end
    set(data, path, value)
    set(data.at, path, at)
    oldest[section] = math.min(oldest[section] or at, at)
    count = count + 1
  end)
  for section, at in pairs(oldest) do data[section].timestamp = math.floor(at * 1000) end
  return data, count
end

return M
