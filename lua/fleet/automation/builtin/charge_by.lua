-- charge_by: charged to a level by a time of the day, in the cheapest hours of a tariff.
--
-- Where the car keeps schedules the plan is written into it, so that it waits and begins by itself; elsewhere it is started and
-- stopped (lua/fleet/automation/charging/by_schedule.lua, by_command.lua).

local battery = require "fleet.automation.charging.battery"
local by_command = require "fleet.automation.charging.by_command"
local by_schedule = require "fleet.automation.charging.by_schedule"
local capability = require "fleet.automation.charging.capability"
local entries = require "fleet.automation.charging.entries"
local errors = require "fleet.util.errors"
local local_time = require "fleet.automation.local_time"
local night = require "fleet.automation.charging.night"
local options = require "fleet.automation.options"
local poll_schedule = require "fleet.automation.poll_schedule"
local tables = require "fleet.util.tables"
local tariffs = require "fleet.tariff"
local pcall = require("fleet.util.compat").pcall -- what it calls may wait

local M = {
  doc = "Charges a car to a level by a local time, in the cheapest hours.",
  precedence = 30,
  handles = { "car" },
  needs = { charge_state = { "battery_level", "charging_state", "charge_limit_soc" } },
  options = tables.add({
    ready_by = { type = "string", needed = true, doc = "local time such as \"07:00\"" },
    level = { type = "number", min = 20, max = 100, default = 80, doc = "percent" },
    tariff = { type = "table|function", doc = "a tariff object, or a function(now) that returns one; without it the last hours" },
    recheck = { type = "number", min = 300, max = 14400, default = 14400, doc = "seconds between live looks while it charges by command" },
    schedules = { type = "boolean", default = true, doc = "write the plan into a car that keeps schedules" },
    place = { type = "table", doc = "{ lat =, lon = } of the plug; without it where the car stands when it is first seen there" },
  }, battery.options),
}

local where = "fleet.automation.charge_by: "

function M.prepare(config)
  config.ready_minutes = local_time.minutes(config.ready_by)
  if not config.ready_minutes then errors.usage(where .. "option 'ready_by' must be a time such as \"07:00\"") end
  local fixed = type(config.tariff) == "table"
  if fixed and not tariffs.is(config.tariff) then errors.usage(where .. "option 'tariff' must be a tariff object") end
  config.local_zone, config.zone = options.zone("charge_by", config, fixed and config.tariff:time_zone())
  if fixed and not config.tariff:time_zone() then errors.usage(where .. "the tariff needs a time_zone") end
  local place = config.place
  if place and not (type(place.lat) == "number" and type(place.lon) == "number") then
    errors.usage(where .. "option 'place' must be { lat =, lon = } in degrees")
  end
end

--- Prices may come from anywhere: a function of the user is asked at every decision, and must be quick.
function M.observe(config, now)
  if type(config.tariff) ~= "function" then return { tariff = config.tariff } end
  local ok, found = pcall(config.tariff, now)
  return { tariff = ok and tariffs.is(found) and found:time_zone() and found or nil }
end

-- Whether the car was looked at a moment ago, so that something can be written into it.
local function is_at_hand(state, now)
  return poll_schedule.awake(state, now) and now - (state.at.charge_state or -math.huge) < 120
end

function M.decide(config, now, state)
  local deadline = local_time.next(config.local_zone, now, config.ready_minutes)
  config.sections = capability.sections(config, state, now)
  capability.learn(config, state)
  local function by_schedules() return capability.possible(config, now, state) and (entries.any(state) or is_at_hand(state, now)) end
  if by_schedules() then return by_schedule.decide(config, now, state, deadline) end
  local decision = by_command.decide(config, now, state, deadline)
  if #decision.actions == 0 and by_schedules() then return by_schedule.decide(config, now, state, deadline) end
  return decision
end

M.plan = night.of

--- Two live looks and three commands a night, by command four looks; the looks by the clock are free.
function M.month(config)
  if config.schedules then return { data = 30 * 2, command = 90, wake = config.wake and 2 or 0 } end
  return { data = 30 * 4, command = 90, wake = config.wake and 30 or 0 }
end

return M
