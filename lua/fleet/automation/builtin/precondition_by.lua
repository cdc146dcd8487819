-- precondition_by: warm, or cool, at a time of the day; only if the car is plugged in or its battery has enough.

local errors = require "fleet.util.errors"
local local_time = require "fleet.automation.local_time"
local manual_override = require "fleet.automation.manual_override"
local options = require "fleet.automation.options"
local poll_schedule = require "fleet.automation.poll_schedule"

local M = {
  doc = "Heats or cools the cabin for a local time, if the car is plugged in or has enough charge.",
  precedence = 20,
  handles = { "car" },
  needs = { charge_state = { "charging_state", "battery_level" }, climate_state = { "is_climate_on" } },
  reads = {
    charge_state = { "charging_state", "battery_level" }, climate_state = { "is_climate_on", "driver_temp_setting" },
    drive_state = { "shift_state" },
  },
  options = {
    ready_by = { type = "string", needed = true, doc = "local time such as \"07:30\"" },
    days = { type = "string", default = "all", doc = "\"all\", \"mon-fri\" or \"sat-sun\"" },
    lead = { type = "number", min = 300, max = 3600, default = 1200, doc = "seconds before ready_by at which the climate starts" },
    linger = {
      type = "number", min = 0, max = 3600, default = 900,
      doc = "seconds after ready_by at which the climate stops, unless the car is driven",
    },
    min_level = {
      type = "number", min = 10, max = 100, default = 50,
      doc = "percent of the battery that is enough if the car is not plugged in",
    },
    temp = { type = "number", min = 15, max = 28, doc = "degrees Celsius. By default the car's own setting" },
  },
}

local where = "fleet.automation.precondition_by: "
local sections = { "charge_state", "climate_state", "drive_state" }
local climate_first = { "climate_state", "charge_state", "drive_state" } -- where another automation has looked at the charge alone
local days = { all = "0123456", ["mon-fri"] = "12345", ["sat-sun"] = "06" }

function M.prepare(config)
  config.ready_minutes = local_time.minutes(config.ready_by)
  if not config.ready_minutes then errors.usage(where .. "option 'ready_by' must be a time such as \"07:30\"") end
  if not days[config.days] then errors.unknown_name("fleet.automation.precondition_by", "days", config.days, days) end
  config.local_zone, config.zone = options.zone("precondition_by", config)
end

local function holds_on(config, at)
  local weekday = config.local_zone:localtime(math.floor(at)).wday - 1
  return string.find(days[config.days], tostring(weekday), 1, true) ~= nil
end

-- The wanted time whose conditioning is due or comes next.
local function next_time(config, now)
  local at = local_time.next(config.local_zone, now - config.linger - 60, config.ready_minutes)
  for _ = 1, 8 do
    if holds_on(config, at) then return at end
    at = local_time.next(config.local_zone, at, config.ready_minutes)
  end
end

local function text(config, at) return local_time.text(config.local_zone, at) end

-- ---- before the time ----

local function command(call, why, more)
  local action = { call = call, why = why }
  for name, value in pairs(more or {}) do action[name] = value end
  return action
end

local function start_actions(config, climate, why)
  local list = {}
  if config.temp and math.abs((climate.driver_temp_setting or 0) - config.temp) > 0.05 then
    list[1] = command("set_temps", why, {
      params = { driver_temp = config.temp, passenger_temp = config.temp },
      effect = { climate_state = { driver_temp_setting = config.temp } },
    })
  end
  list[#list + 1] = command("auto_conditioning_start", why, { want = "on", effect = { climate_state = { is_climate_on = true } } })
  return list
end

-- A look for this time, or the reason against it.
local function look(config, now, state, begins)
  local charge_is_known = (state.at.charge_state or -1) >= begins
  if charge_is_known and (state.at.climate_state or -1) >= begins then return nil end
  local looks = poll_schedule.due(config, now, state, charge_is_known and climate_first or sections, begins)
  if #looks > 0 then return { actions = looks } end
  if state.seen.info.state == "asleep" and config.wake and state.memory.woken_for ~= begins then
    state.memory.woken_for = begins
    return { actions = { poll_schedule.live(sections) } }
  end
  local why = string.format("the car is %s%s", state.seen.info.state,
    state.seen.info.state == "asleep" and not config.wake and "; wake = true lets it be woken" or "")
  return { why = why, again_at = now + 300 }
end

local function condition(config, now, state, at)
  local m, charge, climate = state.memory, state.seen.charge_state, state.seen.climate_state
  local looked = look(config, now, state, at - config.lead)
  if looked then return looked end
  local did = state.did.climate
  if did and did.want == "on" and did.at >= at - config.lead then m.done = at end
  if m.done == at then
    return { why = "warming or cooling the cabin until " .. text(config, at + config.linger), again_at = at + config.linger }
  end
  if climate.is_climate_on then return { why = "the climate is already on", again_at = at + config.linger } end
  local plugged = manual_override.is_plugged(charge)
  if not plugged and charge.battery_level < config.min_level then
    local why = string.format("the car is not plugged in, and %g %% is less than %g %%: the cabin is not warmed or cooled",
      charge.battery_level, config.min_level)
    local notice = { key = "cold " .. local_time.date(config.local_zone, at), severity = "info", text = why }
    return { why = why, again_at = at + config.linger, notices = { notice } }
  end
  local why = string.format("warming or cooling the cabin for %s: %s", text(config, at), plugged and "plugged in"
    or string.format("%g %% is enough", charge.battery_level))
  local checked = poll_schedule.before_command(state, now)
  if checked then return { actions = { checked } } end
  return { why = why, actions = start_actions(config, climate, why), again_at = at + config.linger }
end

-- ---- after it ----

-- Ends the conditioning that this automation started when no person came. A car that drives, or whose climate is already off, is left
-- alone.
local function finish(config, now, state, at)
  local m, ends = state.memory, at + config.linger
  m.done = nil
  local climate, drive = state.seen.climate_state, state.seen.drive_state
  local driving = drive and (drive.shift_state == "D" or drive.shift_state == "R" or drive.shift_state == "N")
  local following = next_time(config, ends + 61)
  local left_alone = poll_schedule.away(state, now) and "the car is " .. state.seen.info.state .. ": nothing is left to switch off"
    or driving and "the car is driven: the climate stays on" or not (climate and climate.is_climate_on) and "the climate is already off"
  if left_alone then return { why = left_alone, again_at = following - config.lead } end
  local why = "the car was not used: the climate is switched off"
  return { why = why, again_at = following - config.lead, actions = {
    command("auto_conditioning_stop", why, { want = "off", final = true, effect = { climate_state = { is_climate_on = false } } }),
  } }
end

function M.decide(config, now, state)
  local at = next_time(config, now)
  local begins, ends, m = at - config.lead, at + config.linger, state.memory
  if m.done and now >= m.done + config.linger then
    local looks = poll_schedule.due(config, now, state, sections, m.done + config.linger)
    if #looks > 0 then return { actions = looks } end
    return finish(config, now, state, m.done)
  end
  if now < begins then return { why = "the climate starts at " .. text(config, begins), again_at = begins } end
  if now >= ends then return { why = "the time of this day has passed", again_at = ends + 61 } end
  return condition(config, now, state, at)
end

--- Two live looks, the looks of a wake and two commands a day.
function M.month(config)
  local count = config.days == "all" and 30 or config.days == "mon-fri" and 22 or 8
  return { data = count * 4, command = count * 2, wake = config.wake and count or 0 }
end

return M
