-- Moves a car on a drive without a given distance: along a figure of eight of 10 miles, which ends where it began. The speed is the given
-- one, or varies between 12 and 48 mph. Each mile uses a mile's share of the battery.

local M = {}

local RADIUS = 0.8 -- miles, of each loop
local METRES = 1609.344 -- a mile
local DEGREE = 111194.9 -- metres in a degree of latitude
local MEAN, SWING, PERIOD = 30, 18, 150 -- mph, mph, s
local KWH_A_MILE, KILOGRAMS = 0.25, 1900
local EMPTY = 2 -- percent: the car stops

-- Miles after so many seconds, speed in mph, and acceleration in mph per second.
local function motion(trip, seconds)
  if trip.speed then return trip.speed * seconds / 3600, trip.speed, 0 end
  local turn = 2 * math.pi / PERIOD
  local miles = (MEAN * seconds + SWING / turn * (1 - math.cos(turn * seconds))) / 3600
  return miles, MEAN + SWING * math.sin(turn * seconds), SWING * turn * math.cos(turn * seconds)
end

-- Kilowatts; negative during regenerative braking.
local function power(speed, acceleration)
  local metres_a_second = speed * METRES / 3600
  return KWH_A_MILE * speed + KILOGRAMS * metres_a_second * (acceleration * METRES / 3600) / 1000
end

local function round(x, step) return math.floor(x / step + 0.5) * step end

local function place(drive, trip, miles)
  local loop = 2 * math.pi * RADIUS
  local side = miles % (2 * loop) < loop and 1 or -1
  local angle, ahead = miles % loop / RADIUS, math.rad(trip.heading)
  local forward, right = RADIUS * math.sin(angle), side * RADIUS * (1 - math.cos(angle))
  local north = forward * math.cos(ahead) - right * math.sin(ahead)
  local east = forward * math.sin(ahead) + right * math.cos(ahead)
  drive.latitude = round(trip.latitude + north * METRES / DEGREE, 1e-6)
  drive.longitude = round(trip.longitude + east * METRES / (DEGREE * math.cos(math.rad(trip.latitude))), 1e-6)
  drive.native_latitude, drive.native_longitude = drive.latitude, drive.longitude
  drive.heading = math.floor((trip.heading + side * math.deg(angle)) % 360)
end

--- Starts a drive. speed: mph, or nil for a varying speed.
function M.begin(vehicle, now, speed)
  local drive = vehicle.sections.drive_state
  vehicle.trip = {
    from = now, speed = speed, miles = 0, latitude = drive.latitude, longitude = drive.longitude, heading = drive.heading,
  }
end

--- Moves a driving car to the current time. pack_miles: range with a full battery.
function M.advance(vehicle, now, pack_miles)
  local trip, drive = vehicle.trip, vehicle.sections.drive_state
  if not trip then return end
  if vehicle:parked() then
    vehicle.trip, drive.power = nil, 0
    return
  end
  local miles, speed, acceleration = motion(trip, now - trip.from)
  local driven = miles - trip.miles
  trip.miles = miles
  vehicle.sections.vehicle_state.odometer = round(vehicle.sections.vehicle_state.odometer + driven, 1e-6)
  vehicle.energy_percent = math.max(0, vehicle.energy_percent - driven / pack_miles * 100)
  place(drive, trip, miles)
  drive.speed, drive.power = math.floor(speed + 0.5), math.floor(power(speed, acceleration) + 0.5)
  if vehicle.energy_percent <= EMPTY then trip.speed, trip.from, trip.miles, drive.speed, drive.power = 0, now, 0, 0, 0 end
end

return M
