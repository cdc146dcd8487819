-- Charging and preconditioning by the clock of the vehicle: the schedules of firmware 2024.26 and later, and the single
-- scheduled charging and departure before it.
local vehicles = require("fleet.sim.vehicle")

local M = {}

local DAY = 86400
local MINUTE = 60
local LEAD = 15 * MINUTE -- preconditioning begins so long before the wanted time
local EVERY_DAY = 127

local function offset(vehicle)
  return vehicles.value(vehicle.sections.vehicle_config.utc_offset) or 0
end

-- Whether so many minutes after local midnight, on one of the days, lie in (from, to]. Sunday is bit 1 (doc/protocol.md#days-of-the-week).
local function passes(vehicle, minutes, days, from, to)
  local shift = offset(vehicle)
  for day = math.floor((from + shift) / DAY), math.floor((to + shift) / DAY) do
    local moment = day * DAY + minutes * MINUTE - shift
    local bit = 2 ^ ((day + 4) % 7)
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

local function run_charging(vehicle, from, to, physics)
  local list = vehicle.sections.charge_schedule_data.charge_schedules
  for i = #list, 1, -1 do
    local s = list[i]
    if s.enabled and s.start_enabled and passes(vehicle, s.start_time, s.days_of_week, from, to) then
      physics.start_charging(vehicle)
      if not s.end_enabled then done_once(list, s) end
    end
    if s.enabled and s.end_enabled and passes(vehicle, s.end_time, s.days_of_week, from, to) then
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

-- The older single settings; they live in charge_state.
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

function M.any(vehicle)
  return #vehicle.sections.charge_schedule_data.charge_schedules > 0 or
    #vehicle.sections.preconditioning_schedule_data.precondition_schedules > 0 or
    vehicle.sections.charge_state.scheduled_charging_mode ~= "Off"
end

-- UTC seconds of the next time that so many minutes after local midnight come, for scheduled_charging_start_time.
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

-- mask("Mon,Tues") → 6; nil for a word that is not known or an empty one.
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
