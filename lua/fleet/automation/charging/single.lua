-- The one schedule of firmware before 2024.26: a time of day at which the car begins by itself, every day (doc/protocol.md#schedules).
-- It is set for the next stretch of a plan, so that the car waits and begins without being woken; its end is a command. One that the
-- owner set is left alone.

local actions = require "fleet.automation.charging.actions"
local local_time = require "fleet.automation.local_time"
local manual_override = require "fleet.automation.manual_override"
local poll_schedule = require "fleet.automation.poll_schedule"
local stays = require "fleet.automation.charging.stays"

local M = {}

local begins_within = 60 -- seconds after its time
local begun_for = 600 -- seconds in which it is looked for
local waits_after = 360 -- minutes after its time in which a car that is plugged in begins at once

local function minutes_of(config, at)
  local t = config.local_zone:localtime(math.floor(at))
  return t.hour * 60 + t.min
end

-- The car's scheduled time if it is ours. It may be any of the last two, because a command without a reply may have arrived.
local function scheduled_minutes(state)
  local charge = state.seen.charge_state or {}
  if charge.scheduled_charging_mode ~= "StartAt" then return nil end
  for _, minutes in ipairs(state.memory.single or {}) do
    if charge.scheduled_charging_start_time_app == minutes then return minutes end
  end
end

local function may_be_set(config, state)
  local mode = state.seen.charge_state.scheduled_charging_mode
  return config.schedules and state.memory.older and (mode == "Off" or scheduled_minutes(state) ~= nil)
end

--- The command that has the car begin by itself at a moment, in a list, where it is awake now and has another time.
function M.set(config, now, state, at, why)
  if not may_be_set(config, state) or not poll_schedule.awake(state, now) or now - (state.at.charge_state or 0) > 120 then return {} end
  local minutes, had = minutes_of(config, at + 59), scheduled_minutes(state)
  if had == minutes then return {} end
  state.memory.single = { minutes, had }
  return { actions.command("set_scheduled_charging", why, {
    params = { enable = true, time = minutes }, options = { force = true }, -- the firmware was looked at
    effect = { charge_state = { scheduled_charging_mode = "StartAt", scheduled_charging_start_time_app = minutes } },
  }) }
end

--- The time, within the last few minutes, at which the car should have started by itself; or nil.
function M.began_at(config, now, state)
  local minutes = scheduled_minutes(state)
  local at = minutes and local_time.last(config.local_zone, now + 60, minutes)
  return at and now - at <= begun_for and at or nil
end

--- Until when it is given time to begin.
function M.begins_until(at) return at + begins_within end

--- The next moment at which the car begins by itself; or nil.
function M.next(config, now, state)
  local minutes = scheduled_minutes(state)
  return minutes and local_time.next(config.local_zone, now, minutes)
end

--- Whether the car begins by itself at a moment.
function M.is_set(config, state, at)
  return scheduled_minutes(state) == minutes_of(config, at + 59)
end

--- Whether a car that is plugged in at a moment waits for a time of ours.
function M.waits(config, state, now)
  local minutes = scheduled_minutes(state)
  return minutes ~= nil and (minutes_of(config, now) - minutes) % 1440 > waits_after
end

--- Whether a car that charges began by this schedule, or may have when it was plugged in after its time.
function M.explains(config, state)
  local minutes, charge, at = scheduled_minutes(state), state.seen.charge_state, state.at.charge_state
  if not minutes or not manual_override.is_charging(charge) then return false end
  local since = (minutes_of(config, stays.began(charge, at) + 300) - minutes) % 1440
  return since <= waits_after
end

--- Whether a person started charging although the car would have waited.
function M.begun_by_hand(config, state)
  return scheduled_minutes(state) ~= nil and manual_override.is_charging(state.seen.charge_state) and not M.explains(config, state)
end

return M
