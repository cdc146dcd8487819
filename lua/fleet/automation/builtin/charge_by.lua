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
    level = { type = "number", min = 20, max = 100, default = 80, doc = "percent to reach" },
    tariff = {
      type = "table|function",
      doc = "a tariff, or a function(now) that returns one, or nil and a reason. Without prices: the last hours before ready_by",
    },
    recheck = {
      type = "number", min = 300, max = 14400, default = 14400,
      doc = "seconds between live reads while the car charges by command",
    },
    go_on = { type = "boolean", default = true, doc = "continue to the level after ready_by if the car arrived too late" },
    schedules = { type = "boolean", default = true, doc = "write the plan into the car as schedules, if its firmware keeps them" },
    place = { type = "table", doc = "{ lat =, lon = } of the plug. By default the place where the car is first seen plugged in" },
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

-- The tariff that a function of the user gives, or nil and why there is none.
local function asked(config, now)
  local ok, found, why = pcall(config.tariff, now)
  if not ok then return nil, tostring(found) end
  if found == nil then return nil, why and tostring(why) or "it gave none" end
  if not tariffs.is(found) then return nil, "it gave a " .. type(found) .. ", not a tariff object" end
  if not found:time_zone() then return nil, "its tariff has no time_zone" end
  return found
end

--- Prices may come from anywhere: a function of the user is asked at every decision, and must be quick. Where it gives none, the last
--- ones hold until the day ends on which it gave them.
function M.observe(config, now)
  if type(config.tariff) ~= "function" then return { tariff = config.tariff } end
  local found, why = asked(config, now)
  local date = local_time.date(config.local_zone, now)
  if found then config.last = { tariff = found, date = date } end
  if found or not config.last or config.last.date ~= date then return { tariff = found, problem = why } end
  return { tariff = config.last.tariff, problem = why .. "; the last ones hold until midnight" }
end

-- Adds to the decision that prices are missing or old. A problem of the feed is notified once a day.
local function with_prices(config, now, state, decision)
  local inputs = state.inputs or {}
  if inputs.problem and decision.why then
    local text = "no new prices: " .. inputs.problem
    decision.why = decision.why .. "; " .. text
    decision.notices = decision.notices or {}
    table.insert(decision.notices, {
      key = "prices " .. local_time.date(config.local_zone, now), severity = "warning", text = text,
    })
  elseif not inputs.tariff and decision.why and config.tariff == nil then
    decision.why = decision.why .. "; there are no prices"
  end
  return decision
end

-- Whether the car was looked at a moment ago, so that something can be written into it.
local function is_at_hand(state, now)
  return poll_schedule.awake(state, now) and now - (state.at.charge_state or -math.huge) < 120
end

local function decide(config, now, state)
  local deadline = local_time.next(config.local_zone, now, config.ready_minutes)
  config.sections = capability.sections(config, state, now)
  capability.learn(config, state)
  local function by_schedules() return capability.possible(config, now, state) and (entries.any(state) or is_at_hand(state, now)) end
  if by_schedules() then return by_schedule.decide(config, now, state, deadline) end
  local decision = by_command.decide(config, now, state, deadline)
  if #decision.actions == 0 and by_schedules() then return by_schedule.decide(config, now, state, deadline) end
  return decision
end

function M.decide(config, now, state)
  return with_prices(config, now, state, decide(config, now, state))
end

M.plan = night.of

--- Two live looks and three commands a night, by command four looks; the looks by the clock are free.
function M.month(config)
  if config.schedules then return { data = 30 * 2, command = 90, wake = config.wake and 2 or 0 } end
  return { data = 30 * 4, command = 90, wake = config.wake and 30 or 0 }
end

return M
