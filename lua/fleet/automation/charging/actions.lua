-- The commands of an automation that charges, each with what the car then shows.

local battery = require "fleet.automation.charging.battery"
local local_time = require "fleet.automation.local_time"
local manual_override = require "fleet.automation.manual_override"
local poll_schedule = require "fleet.automation.poll_schedule"
local tables = require "fleet.util.tables"

local M = {}

local function command(call, why, more)
  return tables.add({ call = call, why = why }, more)
end

--- A moment as local text.
function M.at_text(config, at)
  return local_time.text(config.local_zone, at)
end

--- The limit that is too low, and the amps that were asked for: what must be so before it charges.
function M.settings(config, charge, why)
  local list = {}
  local most = battery.number(charge.charge_current_request_max) or config.amps
  local amps = config.amps and math.min(config.amps, most)
  if amps and charge.charge_current_request ~= amps then
    list[#list + 1] = command("set_charging_amps", why, {
      params = { charging_amps = amps }, effect = { charge_state = { charge_current_request = amps } },
    })
  end
  if battery.limit(charge) < config.level then
    list[#list + 1] = command("set_charge_limit", string.format("the charge limit is below %g %%", config.level), {
      params = { percent = config.level }, effect = { charge_state = { charge_limit_soc = config.level } },
    })
  end
  return list
end

--- The start, where it does not charge already.
function M.begin(charge, why)
  if manual_override.is_charging(charge) then return {} end
  return { command("charge_start", why, { want = "on", effect = { charge_state = { charging_state = "Charging" } } }) }
end

function M.start(config, charge, why)
  local list = M.settings(config, charge, why)
  list[#list + 1] = M.begin(charge, why)[1]
  return list
end

function M.stop(why)
  return command("charge_stop", why, { want = "off", final = true, effect = { charge_state = { charging_state = "Stopped" } } })
end

M.command = command

--- What is decided, with the look at the record before a command where the car's state is not known now.
function M.decision(config, now, state, why, actions, again_at, claims)
  if #actions > 0 then
    local look = poll_schedule.before_command(state, now)
    if look then return { actions = { look }, again_at = again_at, claims = claims } end
    if poll_schedule.away(state, now) then
      why = why .. string.format(", but the car is %s", state.seen.info.state)
      if config.wake and state.seen.info.state == "asleep" then
        why = why .. " and is woken"
      else
        actions, why = {}, why .. "; wake = true lets it be woken"
        again_at = math.min(again_at, now + config.look_every)
      end
    end
  end
  return { why = why, actions = actions, again_at = again_at, claims = claims }
end

--- Claims of an automation that charges until then.
function M.hold(now, to)
  local ends = math.max(to, now + 60)
  return { charging = { ends = ends }, amps = { ends = ends } }
end

--- The notice that a plan comes too late.
function M.short_notice(config, f)
  return {
    key = "short " .. local_time.date(config.local_zone, f.deadline), severity = "warning",
    text = string.format("the time until %s is too short for %g %%: the car has %g %%", M.at_text(config, f.deadline), config.level,
      math.floor(f.level)),
  }
end

function M.next_look(config, now, state)
  return math.max((state.at.info or now) + poll_schedule.record_every(config, state), now + 1)
end

function M.idle(config, now, state, why)
  return { why = why, actions = {}, again_at = M.next_look(config, now, state), claims = {} }
end

return M
