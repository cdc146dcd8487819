-- Whether a car keeps schedules, and where its plug is: what must be known before a plan is written into it.

local battery = require "fleet.automation.charging.battery"
local manual_override = require "fleet.automation.manual_override"
local stays = require "fleet.automation.charging.stays"

local M = {}

local away_pause = 86400 -- seconds between asking for the place, or after a refusal

local function version_parts(text)
  local year, week = string.match(text or "", "^(%d+)%.(%d+)")
  return tonumber(year), tonumber(week)
end

-- Schedules exist from 2024.26 on (doc/protocol.md#schedules).
local function keeps_schedules(version)
  local year, week = version_parts(version)
  return year ~= nil and (year > 2024 or year == 2024 and week >= 26)
end

--- The sections of a look: what is not known of the car yet comes along, at no other price.
function M.sections(config, state, now)
  local m, list = state.memory, { "charge_state" }
  if not config.schedules then return list end
  list[2] = "charge_schedule_data"
  if not m.version or now - (m.version_at or 0) > 30 * away_pause then list[#list + 1] = "vehicle_state" end
  if not config.place and not m.place and now - (m.asked_place or -away_pause) >= away_pause then
    list[#list + 1], list[#list + 2] = "location_data", "drive_state"
  end
  return list
end

--- Takes from the last look what lasts.
function M.learn(config, state)
  local m, seen = state.memory, state.seen
  if seen.vehicle_state and seen.vehicle_state.car_version then
    m.version, m.version_at = seen.vehicle_state.car_version, state.at.vehicle_state
    m.older = version_parts(m.version) ~= nil and not keeps_schedules(m.version)
    seen.vehicle_state, state.at.vehicle_state = nil, nil
  end
  local place = seen.drive_state -- the service adds the place to it
  if config.place then m.place = config.place end
  if not m.place and place and state.at.location_data then
    m.asked_place = state.at.location_data
    local lat, lon = battery.number(place.latitude), battery.number(place.longitude)
    if lat and lon and manual_override.is_plugged(seen.charge_state) then m.place = { lat = lat, lon = lon } end
  end
end

--- Whether the plan can be written into the car, as far as is known; else why not.
function M.possible(config, now, state)
  local m = state.memory
  if not config.schedules then return false, "schedules are switched off" end
  if not m.version then return false, "nothing is known of the car's firmware yet" end
  if not keeps_schedules(m.version) then return false, "the firmware " .. m.version .. " keeps no schedules" end
  if not m.place then return false, "the place of the car is not known" end
  local refused = state.refused.add_charge_schedule
  if refused and refused.ends > now then m.refused = { reason = refused.reason, ends = now + away_pause } end
  if m.refused and m.refused.ends > now then return false, "the car refused a schedule: " .. m.refused.reason end
  if not stays.arrival(m) then return false, "it is not known yet when the car comes home" end
  return state.seen.charge_schedule_data ~= nil
end

return M
