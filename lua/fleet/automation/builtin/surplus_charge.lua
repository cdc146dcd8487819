-- surplus_charge: what the roof gives and the house does not take goes into the car.
--
-- The site is looked at often, because that is free; the car only when it must be known, and commanded only when the
-- surplus has moved out of the dead band: each costs.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local arbitration = require "fleet.automation.arbitration"
local manual_override = require "fleet.automation.manual_override"
local local_time = require "fleet.automation.local_time"
local tables = require "fleet.util.tables"
local options = require "fleet.automation.options"
local on_solar = require "fleet.automation.charging.on_solar"
local poll_schedule = require "fleet.automation.poll_schedule"

local M = {
  doc = "Charges a car with solar power that the house does not use.",
  precedence = 20,
  handles = { "car", "site" },
  needs = { charge_state = { "charging_state" } },
  reads = {
    charge_state = {
      "charging_state", "battery_level", "charge_limit_soc", "charge_current_request", "charge_current_request_max",
      "managed_charging_state",
    },
  },
  options = {
    min_amps = { type = "number", min = 1, max = 48, default = 5, doc = "amps; below this the car does not charge" },
    max_amps = { type = "number", min = 1, max = 80, default = 16, doc = "amps that the cable allows" },
    volts = { type = "number", min = 100, max = 480, default = 230, doc = "volts of a phase" },
    phases = { type = "number", min = 1, max = 3, default = 1, doc = "phases of the cable" },
    dead_band = {
      type = "number", min = 0, max = 5000, default = 300,
      doc = "watts by which the surplus may change before the amps change",
    },
    grid_allowance = { type = "number", min = 0, max = 20000, default = 0, doc = "watts that may be bought from the grid" },
    min_on = { type = "number", min = 0, max = 7200, default = 900, doc = "seconds that charging lasts at least" },
    min_off = { type = "number", min = 0, max = 7200, default = 900, doc = "seconds between a stop and the next start" },
    steady = {
      type = "number", min = 0, max = 3600, default = 300,
      doc = "seconds that a surplus must last before a start, or be missing before a stop",
    },
    adjust_every = { type = "number", min = 60, max = 7200, default = 600, doc = "seconds between two changes of amps" },
    sample_every = { type = "number", min = 30, max = 1800, default = 120, doc = "seconds between reads of the site by day" },
    battery_first = { type = "number", min = 0, max = 100, doc = "percent up to which the home battery is charged first" },
  },
}

local sections = { "charge_state" }
local dark_pause = 900 -- seconds between looks at a site without sun
local idle_pause = 300 -- while the obstacle does not depend on the sun
local fact_age = 6 * 3600 -- after which the car's level and cable are looked at again before a start

function M.prepare(config)
  config.local_zone, config.zone = options.zone("surplus_charge", config)
  if config.min_amps > config.max_amps then errors.usage("fleet.automation.surplus_charge: 'min_amps' is above 'max_amps'") end
end

-- ---- the site ----

local function watts(config, amps)
  return amps * config.volts * config.phases
end

-- The car at a wall connector that names it: plugged and its power for nothing. nil where no connector does.
local function connector(live, vin)
  for _, entry in ipairs(live.wall_connectors or {}) do
    if entry.vin == vin then return entry end
  end
end

-- Whether this site names the cars at its wall connectors: then one that it does not name is not plugged in.
local function names_cars(state, live)
  return state.memory.names_cars or live.wall_connectors ~= nil and #live.wall_connectors > 0
end

local function vin_of(config)
  local _, _, id = core.context(config.car)
  return id
end

-- Watts that the car takes now, or nil when neither the connector nor the car reports them.
local function car_power(config, state, live)
  local entry = connector(live, vin_of(config))
  if entry and entry.wall_connector_power then return entry.wall_connector_power end
  local charge = state.seen.charge_state
  if not manual_override.is_charging(charge) then return 0 end
  return charge.charge_current_request and watts(config, charge.charge_current_request)
end

local function battery_goes_first(config, live)
  return config.battery_first ~= nil and live.percentage_charged ~= nil and live.percentage_charged < config.battery_first
end

-- ---- what is not known ----

local oldest = 900 -- seconds after which a reading says nothing of now

-- When a reading was taken: its own time counts, because a gateway without a connection repeats its last one.
local function taken_at(state, live)
  local at = live.timestamp and core.time(live.timestamp) or state.at.live_status
  return math.min(at, state.at.live_status)
end

-- What a reading lacks of that by which the surplus is reckoned, or nil.
local function lacks(config, state, live)
  local m = state.memory
  if live.battery_power then m.has_battery = true end
  local battery = m.has_battery or live.percentage_charged ~= nil
  if not live.grid_power then return "no reading of the grid power" end
  if battery and not live.battery_power then return "no reading of the home battery's power" end
  if battery and config.battery_first and not live.percentage_charged then return "no reading of the home battery's level" end
  if names_cars(state, live) and not live.wall_connectors then return "no reading of the wall connectors" end
  if not car_power(config, state, live) then return "no reading of the car's charging power" end
end

-- Why nothing can be decided by the last reading, or nil.
local function unread(config, now, state, live)
  local m, at, missing = state.memory, taken_at(state, live), lacks(config, state, live)
  local what = missing or now - at > oldest and "no reading of the site"
  if not what then
    m.unread, m.read_at = nil, at
    return nil
  end
  m.unread = m.unread or now
  return what .. " since " .. local_time.text(config.local_zone, missing and (m.read_at or m.unread) or at)
end

-- Watts that the car could take: what is exported, and what it takes now, less what is bought for it. What the battery of
-- the house takes counts as well, unless it goes first.
local function available(config, state, live)
  local battery = live.battery_power or 0 -- absent for a house without one
  if battery_goes_first(config, live) then battery = math.max(0, battery) end
  return car_power(config, state, live) - live.grid_power - battery + config.grid_allowance
end

-- ---- the decision ----

-- Watts as people read them: a sentence that changes with every cloud says nothing.
local function round(power)
  return math.max(0, math.floor(power / 500 + 0.5) * 500)
end

local function action(call, why, more)
  return tables.add({ call = call, why = why }, more)
end

local function set_amps(amps, why)
  return action("set_charging_amps", why, {
    params = { charging_amps = amps }, want = amps, effect = { charge_state = { charge_current_request = amps } },
  })
end

local function start_actions(charge, amps, why)
  local list = {}
  if charge.charge_current_request ~= amps then list[1] = set_amps(amps, why) end
  list[#list + 1] = action("charge_start", why, { want = "on", effect = { charge_state = { charging_state = "Charging" } } })
  return list
end

local function stop_actions(why)
  return { action("charge_stop", why, { want = "off", final = true, effect = { charge_state = { charging_state = "Stopped" } } }) }
end

-- Since when something has been so; nil while it is not.
local function since(m, name, holds, now)
  if not holds then m[name] = nil elseif not m[name] then m[name] = now end
  return m[name] and now - m[name] or -1
end

local function amps_for(config, power)
  return math.max(config.min_amps, math.min(config.max_amps, math.floor(power / (config.volts * config.phases) + 1e-6)))
end

local function others_hold(config, now, state)
  local claim = (state.claims or {}).charging
  return claim ~= nil and claim.by ~= config.name and claim.ends > now
end

-- An automation with precedence charges: amps and stop are its own.
local function above(config, now, state)
  local claim = arbitration.above(state.claims or {}, "charging", { name = config.name, rank = config.precedence }, now)
  return claim and string.format("gives way to %s (precedence %g), which holds charging until %s", claim.by, claim.rank,
    local_time.text(config.local_zone, claim.ends))
end

local function since_did(state, want, now)
  local did = state.did.charging
  return did and did.want == want and now - did.at or math.huge
end

-- Whether the car slept at the last look at its record and may not be woken. The record is billed, so that looks follow the clock.
local function asleep_for_now(config, now, state)
  local info = state.seen.info
  local sleeps = info ~= nil and info.state ~= "online" and not (config.wake and info.state == "asleep")
  return sleeps and now - state.at.info < config.look_every
end

-- The car is known well enough, or the looks that are missing.
local function looks_for_start(config, now, state)
  if asleep_for_now(config, now, state) then return {} end
  local look = poll_schedule.before_command(state, now)
  if look then return { look } end
  if poll_schedule.away(state, now) and not (config.wake and state.seen.info.state == "asleep") then return {} end
  local at = state.at.charge_state
  if not at or now - at > fact_age or at < (state.awake_since or 0) then return { poll_schedule.live(sections) } end
  return nil
end

local function rest(config, live, now, pause)
  if live.solar_power and live.solar_power <= 0 then return now + dark_pause end
  return now + math.max(config.sample_every, pause or 0)
end

local function claim(now, config)
  local ends = now + math.max(config.sample_every * 3, 900)
  ends = math.ceil(ends / 900) * 900
  return { charging = { ends = ends }, amps = { ends = ends } }
end

-- Whether the car was full when last seen. It stays full while it is plugged in, unless a person raises the limit.
local function is_full(state, now)
  local charge, at = state.seen.charge_state, state.at.charge_state
  if not charge or not at or now - at > fact_age then return false end
  return charge.charging_state == "Complete" or (charge.battery_level or 0) >= (charge.charge_limit_soc or math.huge)
end

local function while_off(config, now, state, f)
  local m, charge = state.memory, state.seen.charge_state
  local lasting = since(m, "above", f.power >= watts(config, config.min_amps) + config.dead_band, now)
  f.why = string.format("waiting for more sun: it leaves %d W over, and charging needs %.0f W", round(f.power),
    watts(config, config.min_amps) + config.dead_band)
  if lasting < config.steady or since_did(state, "off", now) < config.min_off then return {} end
  if is_full(state, now) then
    f.why = "the car is full" .. (charge.battery_level and string.format(": %g %%", charge.battery_level) or "")
    return {}
  end
  local looks = looks_for_start(config, now, state)
  if looks and #looks == 0 then
    f.why = string.format("the sun leaves %d W over, but the car is %s%s", round(f.power), state.seen.info.state,
      state.seen.info.state == "asleep" and "; wake = true lets it be woken" or "")
    return {}
  end
  if looks then return looks, true end
  local amps = amps_for(config, f.power)
  f.why = string.format("charging with %g A: the sun leaves %d W over", amps, round(f.power))
  return start_actions(charge, amps, f.why)
end

local function adjusted(config, now, state, f)
  local amps, have = amps_for(config, f.power), state.seen.charge_state.charge_current_request or 0
  local did = state.did.amps
  local moved = math.abs(f.power - watts(config, have)) > config.dead_band
  f.why = string.format("charging with %g A: the sun leaves %d W over", have, round(f.power))
  if amps == have or not moved or (did and now - did.at < config.adjust_every) then return {} end
  f.why = string.format("charging with %g A: the sun leaves %d W over", amps, round(f.power))
  return { set_amps(amps, f.why) }
end

local function while_on(config, now, state, f)
  local m = state.memory
  local lacking = since(m, "below", f.power < watts(config, config.min_amps) - config.dead_band, now)
  if lacking >= config.steady and since_did(state, "on", now) >= config.min_on then
    f.why = string.format("charging stops: the sun leaves %d W over, and charging needs %.0f W", round(f.power),
      watts(config, config.min_amps))
    return stop_actions(f.why)
  end
  local soon = m.below ~= nil and since_did(state, "on", now) >= config.min_on -- it stops before new amps would matter
  if soon then f.why = string.format("charging stops soon: the sun leaves %d W over", round(f.power)) end
  return soon and {} or adjusted(config, now, state, f)
end

local words = { start = "started", stop = "stopped" }

local function obstacle(config, state, m, live)
  local at_connector = names_cars(state, live)
  local charge = state.seen.charge_state
  if on_solar.at_work(charge) then return "the car itself charges with solar power (charge on solar)" end
  if at_connector and live.wall_connectors and not connector(live, vin_of(config)) then return "the car is not plugged in" end
  if not at_connector and charge and not m.plugged then return "the car is not plugged in" end
  if m.manual then
    return string.format("the owner %s charging by hand at %s; that is left alone until the car is unplugged, or until %s",
      words[m.manual.what], local_time.text(config.local_zone, m.manual.at), local_time.text(config.local_zone, m.manual.ends))
  end
  if charge and charge.charging_state == "NoPower" then return "the cable has no power" end
end

-- Whether the wall connector shows behaviour that no automation asked for: a look at the car must explain it.
local function surprising(state, entry)
  local charge, did = state.seen.charge_state, state.did.charging
  if not entry or not charge or did and did.at >= state.at.live_status then return false end
  local flows = (entry.wall_connector_power or 0) > 100
  return flows ~= manual_override.is_charging(charge)
end

local function read_session(config, now, state)
  local m = state.memory.session or {}
  state.memory.session = m
  if m.manual and m.manual.ends and now >= m.manual.ends then manual_override.forget(m) end
  manual_override.read(m, state, others_hold(config, now, state))
  if m.manual and not m.manual.ends then m.manual.ends = local_time.next(config.local_zone, now, 0) end
  return m
end

-- Looks at the car: by the clock when no wall connector reports its cable; now when the connector contradicts the known state.
local function car_looks(config, now, state, live)
  local entry, at = connector(live, vin_of(config)), state.at.charge_state
  local known = names_cars(state, live)
  if known and not entry then return {} end
  if entry then state.memory.names_cars = true end
  local new = entry and not state.memory.was_plugged
  if new then state.memory.was_plugged, at = true, nil end
  if not new and asleep_for_now(config, now, state) then return {} end
  if surprising(state, entry) and now - (at or 0) > 300 or (entry and not at) then
    return poll_schedule.due(config, now, state, sections, now)
  end
  if known or available(config, state, live) < watts(config, config.min_amps) then return {} end
  return poll_schedule.due(config, now, state, sections)
end

-- The site says that the stay is over; the next one begins anew.
local function unplugged(m)
  m.was_plugged = nil
  if m.session then m.session.plugged, m.session.manual = false, nil end
end

-- Without a reading nothing begins, and what charges by our doing is stopped after a while.
local function without_reading(config, now, state, problem)
  local m = state.memory
  m.above, m.below = nil, nil
  local charging, lasting = manual_override.is_charging(state.seen.charge_state), now - m.unread >= config.steady
  local notice = { key = "unread " .. local_time.date(config.local_zone, now) .. " " .. string.gsub(problem, " since.*", ""),
    severity = "warning", text = problem .. ": charging with solar power is suspended" }
  local decision = { why = "waits: " .. problem, again_at = now + config.sample_every, notices = lasting and { notice } or nil }
  if not charging then return decision end
  decision.claims = claim(now, config)
  if not lasting or since_did(state, "on", now) < config.min_on then
    decision.why = problem .. "; charging stops if that lasts"
    return decision
  end
  decision.why = "charging stops: " .. problem
  local look = poll_schedule.before_command(state, now)
  decision.actions = look and { look } or stop_actions(decision.why)
  return decision
end

-- A look that is due. While the site cannot be read and the car charges, every other attempt is left to the stop.
local function is_look_due(config, now, state, live)
  if not live or not state.at.live_status then return true end -- a failed command makes all that was seen too old
  if now - state.at.live_status < config.sample_every * 0.9 then return false end
  local failing = state.trouble and state.trouble.count % 2 == 1 and now - state.at.live_status > oldest
  return not (failing and manual_override.is_charging(state.seen.charge_state))
end

function M.decide(config, now, state)
  local live = state.seen.live_status
  if is_look_due(config, now, state, live) then return { actions = { { call = "live_status" } } } end
  if state.memory.was_plugged and live.wall_connectors and not connector(live, vin_of(config)) then unplugged(state.memory) end
  local problem = unread(config, now, state, live)
  if problem then
    local m = read_session(config, now, state)
    local why = obstacle(config, state, m, live) or above(config, now, state)
    if why then return { why = why, again_at = rest(config, live, now, idle_pause) } end
    return without_reading(config, now, state, problem)
  end
  local looks = car_looks(config, now, state, live)
  local again = rest(config, live, now)
  if #looks > 0 then return { actions = looks, again_at = again } end
  local m = read_session(config, now, state)
  local why = obstacle(config, state, m, live) or above(config, now, state)
  local unknown = not state.seen.charge_state and (poll_schedule.away(state, now) or asleep_for_now(config, now, state))
  if why or unknown and not config.wake then
    local sentence = why or "nothing is known of the car yet: it is " .. state.seen.info.state
    return { why = sentence, again_at = rest(config, live, now, idle_pause) }
  end
  local f = { power = available(config, state, live) }
  local on = manual_override.is_charging(state.seen.charge_state)
  local actions, only_looks
  if on then actions = while_on(config, now, state, f) else actions, only_looks = while_off(config, now, state, f) end
  local held = (on or #actions > 0) and claim(now, config) or nil
  if only_looks then return { actions = actions, again_at = again, claims = held } end
  if #actions > 0 and actions[1].call ~= "info" then
    local look = poll_schedule.before_command(state, now)
    if look then return { actions = { look }, again_at = again, claims = held } end
  end
  return { why = f.why, actions = actions, again_at = again, claims = held }
end

--- Looks at the site are free; a handful of looks at the car and of commands a day.
function M.month(config)
  return { data = 30 * 8, command = 30 * 6, wake = config.wake and 10 or 0 }
end

return M
