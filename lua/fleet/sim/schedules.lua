-- Charging and preconditioning at local times: the schedules of firmware 2024.26 and later, and the older single settings for scheduled
-- charging and departure.
local vehicles = require("fleet.sim.vehicle")

local M = {}

local DAY = 86400
local MINUTE = 60
local LEAD = 15 * MINUTE -- preconditioning starts so long before the departure
local EVERY_DAY = 127

local function offset(vehicle)
  return vehicles.value(vehicle.sections.vehicle_config.utc_offset) or 0
end

-- Whether the time `minutes` after local midnight of one of the days lies in (from, to]. Sunday is bit 1
-- (doc/protocol.md#days-of-the-week). later: days between the day of the schedule and that midnight.
local function passes(vehicle, minutes, days, from, to, later)
  local shift = offset(vehicle)
  for day = math.floor((from + shift) / DAY), math.floor((to + shift) / DAY) do
    local moment = day * DAY + minutes * MINUTE - shift
    local bit = 2 ^ ((day - (later or 0) + 4) % 7)
    if moment > from and moment <= to and math.floor((days or EVERY_DAY) / bit) % 2 == 1 then return true end
  end
  return false
end

local function done_once(list, schedule)
  if not schedule.one_time then return end
  for i, other in ipairs(list) do
    if other == schedule then return table.remove(list, i) end
  end
end

-- An end that is not after its start is on the following day.
local function end_day(s)
  return s.start_enabled and s.end_time <= s.start_time and 1 or 0
end

local function run_charging(vehicle, from, to, physics)
  local list = vehicle.sections.charge_schedule_data.charge_schedules
  for i = #list, 1, -1 do
    local s = list[i]
    if s.enabled and s.start_enabled and passes(vehicle, s.start_time, s.days_of_week, from, to) then
      physics.start_charging(vehicle)
      if not s.end_enabled then done_once(list, s) end
    end
    if s.enabled and s.end_enabled and passes(vehicle, s.end_time, s.days_of_week, from, to, end_day(s)) then
      physics.stop_charging(vehicle)
      done_once(list, s)
    end
  end
end

local function run_preconditioning(vehicle, from, to, physics)
  local list = vehicle.sections.preconditioning_schedule_data.precondition_schedules
  for i = #list, 1, -1 do
    local s = list[i]
    if s.enabled and passes(vehicle, s.precondition_time, s.days_of_week, from + LEAD, to + LEAD) then
      physics.set_climate(vehicle, true)
    end
    if s.enabled and passes(vehicle, s.precondition_time, s.days_of_week, from, to) then
      physics.set_climate(vehicle, false)
      done_once(list, s)
    end
  end
end

-- Runs the older single settings, which are part of charge_state.
local function run_older(vehicle, from, to, physics)
  local charge = vehicle.sections.charge_state
  if charge.scheduled_charging_mode == "StartAt" and
    passes(vehicle, charge.scheduled_charging_start_time_app, EVERY_DAY, from, to) then
    physics.start_charging(vehicle)
  end
  if charge.scheduled_charging_mode ~= "DepartBy" then return end
  local departure = charge.scheduled_departure_time_minutes
  if charge.preconditioning_enabled and passes(vehicle, departure, EVERY_DAY, from + LEAD, to + LEAD) then
    physics.set_climate(vehicle, true)
  end
  if passes(vehicle, departure, EVERY_DAY, from, to) then physics.set_climate(vehicle, false) end
end

function M.run(vehicle, from, to, physics)
  run_charging(vehicle, from, to, physics)
  run_preconditioning(vehicle, from, to, physics)
  run_older(vehicle, from, to, physics)
end

-- Whether now is between the start and the end of a schedule.
local function in_schedule(vehicle, s, now)
  local length = (s.end_time - s.start_time) % 1440 * MINUTE
  return s.enabled and s.start_enabled and s.end_enabled and passes(vehicle, s.start_time, s.days_of_week, now - length, now)
end

-- The older setting has no end: a car that is plugged in up to six hours after the set time charges at once (doc/protocol.md#schedules).
local LATE = 6 * 3600

local function in_older(vehicle, now)
  local charge = vehicle.sections.charge_state
  return charge.scheduled_charging_mode == "StartAt"
    and passes(vehicle, charge.scheduled_charging_start_time_app, EVERY_DAY, now - LATE, now)
end

--- Whether one of its charge schedules is active: a vehicle that is plugged in now charges.
function M.under_way(vehicle, now)
  if in_older(vehicle, now) then return true end
  for _, s in ipairs(vehicle.sections.charge_schedule_data.charge_schedules) do
    if in_schedule(vehicle, s, now) then return true end
  end
  return false
end

--- Whether a vehicle that is plugged in now waits: a schedule starts within a day, and none is active.
function M.waits(vehicle, now)
  if M.under_way(vehicle, now) then return false end
  local waits = vehicle.sections.charge_state.scheduled_charging_mode ~= "Off"
  for _, s in ipairs(vehicle.sections.charge_schedule_data.charge_schedules) do
    if s.enabled and s.start_enabled then waits = waits or passes(vehicle, s.start_time, s.days_of_week, now, now + DAY) end
  end
  return waits
end

-- ---- the next time a schedule acts ----

local function next_moment(shift, minutes, from)
  local moment = math.floor((from + shift) / DAY) * DAY - shift + minutes * MINUTE
  while moment <= from do moment = moment + DAY end
  return moment
end

-- Of the older single settings.
local function older_at(charge, shift, from)
  if charge.scheduled_charging_mode == "StartAt" then return next_moment(shift, charge.scheduled_charging_start_time_app, from) end
  if charge.scheduled_charging_mode ~= "DepartBy" then return math.huge end
  local departure = charge.scheduled_departure_time_minutes
  return math.min(next_moment(shift, departure, from), next_moment(shift, departure, from + LEAD) - LEAD)
end

--- The next time at which a schedule of the vehicle may act; math.huge when it has none.
function M.next_at(vehicle, from)
  local shift = offset(vehicle)
  local earliest = older_at(vehicle.sections.charge_state, shift, from)
  for _, s in ipairs(vehicle.sections.charge_schedule_data.charge_schedules) do
    earliest = math.min(earliest, next_moment(shift, s.start_time, from), next_moment(shift, s.end_time, from))
  end
  for _, s in ipairs(vehicle.sections.preconditioning_schedule_data.precondition_schedules) do
    local over = next_moment(shift, s.precondition_time, from)
    earliest = math.min(earliest, over, next_moment(shift, s.precondition_time, from + LEAD) - LEAD)
  end
  return earliest
end

-- UTC seconds of the next time that is so many minutes after local midnight, for scheduled_charging_start_time.
function M.next_time(vehicle, minutes, now)
  local shift = offset(vehicle)
  local today = math.floor((now + shift) / DAY) * DAY - shift + minutes * MINUTE
  return today > now and today or today + DAY
end

-- ---- days of the week as text ----

local BITS = {
  sun = 1, sunday = 1, mon = 2, monday = 2, tues = 4, tuesday = 4, wed = 8, wednesday = 8, thurs = 16, thursday = 16,
  fri = 32, friday = 32, sat = 64, saturday = 64, all = 127, weekdays = 62,
}

-- mask("Mon,Tues") → 6; nil for an unknown word or no word.
function M.mask(text)
  local seen, mask = {}, 0
  for word in (text .. ","):gmatch("([^,]*),") do
    local bits = BITS[word:match("^%s*(.-)%s*$"):lower()]
    if not bits then return nil end
    for place = 0, 6 do
      local bit = 2 ^ place
      if math.floor(bits / bit) % 2 == 1 and not seen[bit] then
        seen[bit] = true
        mask = mask + bit
      end
    end
  end
  return math.floor(mask)
end

return M
