-- charge_by: charged to a level by a time of the day, in the cheapest hours of a tariff.
--
-- The plan is made anew at every decision, from the level, the rate and the prices as they are known then: what changes,
-- changes the plan, and nothing of it has to survive a restart.

local errors = require "fleet.util.errors"
local manual_override = require "fleet.automation.manual_override"
local local_time = require "fleet.automation.local_time"
local tables = require "fleet.util.tables"
local options = require "fleet.automation.options"
local tariffs = require "fleet.tariff"
local poll_schedule = require "fleet.automation.poll_schedule"
local pcall = require("fleet.util.compat").pcall -- what it calls may wait

local M = {
  doc = "Charges a car to a level by a local time, in the cheapest hours.",
  precedence = 30,
  handles = { "car" },
  options = {
    ready_by = { type = "string", needed = true, doc = "local time such as \"07:00\"" },
    level = { type = "number", min = 20, max = 100, default = 80, doc = "percent" },
    tariff = { type = "table|function", doc = "a tariff object, or a function(now) that returns one; without it the last hours" },
    amps = { type = "number", min = 1, max = 80, doc = "asked for while it charges; left as it is without it" },
    capacity_kwh = { type = "number", min = 5, max = 300, default = 75, doc = "of the battery, until charging has shown its rate" },
    power_kw = { type = "number", min = 0.5, max = 50, doc = "of the cable, until charging has shown its rate" },
    recheck = { type = "number", min = 300, max = 14400, default = 3600, doc = "seconds between looks while it charges" },
  },
}

local sections = { "charge_state" }
local reserve, spare_hours = 1.05, 0.15 -- the rate falls towards the end, and a plan that ends on the dot is late
local bridge = 900 -- a gap that is shorter is not worth two commands
local least_rest = 300 -- a level shows whole percents: what should be reached is looked at again after this

function M.prepare(config)
  config.ready_minutes = local_time.minutes(config.ready_by)
  if not config.ready_minutes then errors.usage("fleet.automation.charge_by: option 'ready_by' must be a time such as \"07:00\"") end
  local fixed = type(config.tariff) == "table"
  if fixed and not tariffs.is(config.tariff) then errors.usage("fleet.automation.charge_by: option 'tariff' must be a tariff object") end
  config.local_zone, config.zone = options.zone("charge_by", config, fixed and config.tariff:time_zone())
  if fixed and not config.tariff:time_zone() then errors.usage("fleet.automation.charge_by: the tariff needs a time_zone") end
end

--- Prices may come from anywhere: a function of the user is asked at every decision, and must be quick.
function M.observe(config, now)
  if type(config.tariff) ~= "function" then return { tariff = config.tariff } end
  local ok, found = pcall(config.tariff, now)
  return { tariff = ok and tariffs.is(found) and found:time_zone() and found or nil }
end

-- ---- the battery ----

local function number(value)
  return type(value) == "number" and value or nil
end

-- Percent per hour as the car shows it while it charges.
local function shown_rate(charge)
  local minutes, limit = number(charge.minutes_to_full_charge), number(charge.charge_limit_soc)
  if not manual_override.is_charging(charge) or not minutes or minutes <= 0 or not limit then return nil end
  local missing = limit - charge.battery_level
  return missing > 0 and missing / minutes * 60 or nil
end

local function assumed_rate(config, charge)
  local amps = math.min(number(charge.charge_current_request) or 16, number(charge.charger_pilot_current) or 16)
  if config.amps then amps = math.min(config.amps, number(charge.charge_current_request_max) or config.amps) end
  local kw = config.power_kw or math.max(1.4, 230 * amps * math.max(1, number(charge.charger_phases) or 1) / 1000)
  return kw / config.capacity_kwh * 100
end

-- The rate belongs to the amps at which it was shown.
local function rate_of(config, m, charge, at)
  local shown = m.rate_at ~= at and shown_rate(charge)
  if shown then m.rate, m.rate_amps, m.rate_at = shown, charge.charge_current_request, at end
  local amps = config.amps or charge.charge_current_request
  if not m.rate then return assumed_rate(config, charge) end
  if m.rate_amps and m.rate_amps > 0 and amps and amps ~= m.rate_amps then return m.rate * amps / m.rate_amps end
  return m.rate
end

-- The level now: what was last seen, and what has been charged since then. since: when it began, if we began it later.
local function level_now(now, state, charge, rate)
  local did, seen_at = state.did.charging, state.at.charge_state
  if not manual_override.is_charging(charge) then return charge.battery_level end
  local from = did and did.want == "on" and did.at > seen_at and did.at or seen_at
  local limit = number(charge.charge_limit_soc) or 100
  return math.min(charge.battery_level + (now - from) / 3600 * rate, math.max(limit, charge.battery_level))
end

-- ---- the plan ----

local function join(parts)
  local slots = {}
  for _, part in ipairs(parts) do
    local last = slots[#slots]
    if last and part.from <= last.to then last.to = part.to else slots[#slots + 1] = { from = part.from, to = part.to } end
  end
  return slots
end

-- A stretch that is shorter than a quarter of an hour is left out where the reserve has room for it.
local function without_scraps(slots, room)
  local kept = {}
  for _, slot in ipairs(slots) do
    local length = slot.to - slot.from
    if length < bridge and length <= room and #slots > 1 then room = room - length else kept[#kept + 1] = slot end
  end
  return kept
end

-- The stretches in which to charge; late: there is less time than it takes.
local function plan(tariff, now, deadline, needed, room)
  local left = (deadline - now) / 3600
  if needed >= left then return { { from = now, to = deadline } }, true end
  if not tariff then return { { from = deadline - needed * 3600, to = deadline } } end
  local parts = tariff:cheapest { hours = math.max(needed, 0.02), from = math.floor(now), to = math.floor(deadline) }
  return without_scraps(join(parts), room)
end

-- ---- what to do ----

local function at_text(config, at)
  return local_time.text(config.local_zone, at)
end

local function command(call, why, more)
  return tables.add({ call = call, why = why }, more)
end

local function start_actions(config, charge, why)
  local list = {}
  local most = number(charge.charge_current_request_max) or config.amps
  local amps = config.amps and math.min(config.amps, most)
  if amps and charge.charge_current_request ~= amps then
    list[#list + 1] = command("set_charging_amps", why, {
      params = { charging_amps = amps }, effect = { charge_state = { charge_current_request = amps } },
    })
  end
  if (number(charge.charge_limit_soc) or 100) < config.level then
    list[#list + 1] = command("set_charge_limit", "the limit stands below the wanted level", {
      params = { percent = config.level }, effect = { charge_state = { charge_limit_soc = config.level } },
    })
  end
  if not manual_override.is_charging(charge) then
    list[#list + 1] = command("charge_start", why, { want = "on", effect = { charge_state = { charging_state = "Charging" } } })
  end
  return list
end

local function stop_action(why)
  return command("charge_stop", why, { want = "off", final = true, effect = { charge_state = { charging_state = "Stopped" } } })
end

-- What is decided, with the look at the record before a command where the car's state is not known now.
local function decision(config, now, state, why, actions, again_at, claims)
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

local function hold(_, now, to)
  local ends = math.max(to, now + 60)
  return { charging = { ends = ends }, amps = { ends = ends } }
end

local function others_charge(config, now, state)
  local claim = (state.claims or {}).charging
  return claim ~= nil and claim.by ~= config.name and claim.ends > now
end

local function next_look(config, now, state)
  return math.max((state.at.info or now) + config.look_every, now + 1)
end

-- In one of the planned stretches.
local function charge_now(config, now, state, f)
  local slot, charge = f.slots[1], state.seen.charge_state
  local why = string.format("charges until %s: %d %% now, %d %% wanted by %s%s", at_text(config, slot.to), math.floor(f.level),
    config.level, at_text(config, f.deadline), f.late and ", for which the time is short" or "")
  local reached = now + (config.level - f.level) / f.rate * 3600
  local again = math.min(slot.to, math.max(reached, now + least_rest), now + config.recheck)
  return decision(config, now, state, why, start_actions(config, charge, why), again, hold(config, now, slot.to))
end

-- Between now and the first stretch.
local function wait(config, now, state, f)
  local first, charge = f.slots[1], state.seen.charge_state
  local why = string.format("waits until %s, when it is cheaper: %d %% now, %d %% wanted by %s", at_text(config, first.from),
    math.floor(f.level), config.level, at_text(config, f.deadline))
  local again = math.min(first.from, next_look(config, now, state))
  local running = manual_override.is_charging(charge) and not others_charge(config, now, state)
  return decision(config, now, state, why, running and { stop_action(why) } or {}, again, {})
end

local function idle(config, now, state, why)
  return { why = why, actions = {}, again_at = next_look(config, now, state), claims = {} }
end

local function enough(config, now, state, f)
  local charge = state.seen.charge_state
  local why = string.format("%d %% is reached, %d %% was wanted", math.floor(f.level), config.level)
  local own = manual_override.is_charging(charge) and not others_charge(config, now, state)
  local actions = own and { stop_action(why) } or {}
  return decision(config, now, state, why, actions, next_look(config, now, state), {})
end

local words = { start = "started", stop = "stopped" }

-- Why nothing is planned, or nil.
local function in_the_way(config, state, m)
  local charge = state.seen.charge_state
  if not charge then
    local info = state.seen.info
    return "nothing is known of the battery yet: the car is " .. (info and info.state or "not yet seen")
  end
  if not m.plugged then return "the car is not plugged in" end
  if m.manual then
    return string.format("the owner %s charging by hand at %s, which holds until it is unplugged or %s",
      words[m.manual.what], at_text(config, m.manual.at), at_text(config, m.manual.ends))
  end
  if charge.charging_state == "NoPower" then return "the cable has no power" end
end

local function read_session(config, now, state, deadline)
  local m = state.memory.session or {}
  state.memory.session = m
  if m.manual and m.manual.ends and now >= m.manual.ends then manual_override.forget(m) end
  manual_override.read(m, state, others_charge(config, now, state))
  if m.manual and not m.manual.ends then m.manual.ends = deadline end
  return m
end

-- Facts for a plan.
local function facts(config, now, state, deadline)
  local charge, m = state.seen.charge_state, state.memory
  local f = { deadline = deadline }
  f.rate = rate_of(config, m, charge, state.at.charge_state)
  f.level = level_now(now, state, charge, f.rate)
  f.missing = config.level - f.level
  local bare = f.missing / f.rate
  local needed = bare * reserve + spare_hours
  f.slots, f.late = plan(state.inputs and state.inputs.tariff, now, deadline, needed, (needed - bare) * 3600)
  local first = f.slots[1]
  if manual_override.is_charging(charge) and first.from > now and first.from - now <= bridge then first.from = now end
  return f
end

-- After a crash, or a command that ended unknown, the car must be seen before anything is decided.
local function lost_sight(config, now, state)
  if state.at.charge_state or not state.seen.charge_state then return nil end
  if config.wake and state.seen.info.state == "asleep" then return { actions = { poll_schedule.live(sections) }, claims = {} } end
  return idle(config, now, state, "what became of the last command is not known: the car is " .. state.seen.info.state)
end

-- A car that charges does not sleep: one that sleeps has ended what was last seen of it, full or by hand.
local function slept_over_it(config, now, state, f)
  if not manual_override.is_charging(state.seen.charge_state) or not poll_schedule.away(state, now) then return nil end
  if state.seen.info.state ~= "asleep" then return nil end
  if config.wake and f.missing > 1 and f.slots[1].from <= now then return { actions = { poll_schedule.live(sections) }, claims = {} } end
  local why = f.missing <= 1 and string.format("%d %% should be reached, and the car sleeps", math.floor(f.level))
    or "charging has ended before it should, and the car sleeps"
  return idle(config, now, state, why)
end

-- The end of a stretch, and the level that should be reached, are looked at before they are believed.
local function to_verify(state, now, f)
  local charge = state.seen.charge_state
  if not manual_override.is_charging(charge) then return nil end
  local ended = f.slots[1].from > now
  if f.missing <= 0 and charge.battery_level < math.floor(f.level) or ended then return now end
end

function M.decide(config, now, state)
  local deadline = local_time.next(config.local_zone, now, config.ready_minutes)
  local looks = poll_schedule.due(config, now, state, sections)
  if #looks > 0 then return { actions = looks, claims = {} } end
  local lost = lost_sight(config, now, state)
  if lost then return lost end
  local m = read_session(config, now, state, deadline)
  local obstacle = in_the_way(config, state, m)
  if obstacle then return idle(config, now, state, obstacle) end
  local f = facts(config, now, state, deadline)
  local slept = slept_over_it(config, now, state, f)
  if slept then return slept end
  if to_verify(state, now, f) and now - state.at.charge_state >= least_rest then
    looks = poll_schedule.due(config, now, state, sections, now)
    if #looks > 0 then return { actions = looks, claims = hold(config, now, now + 600) } end
  end
  if f.missing <= 0 then return enough(config, now, state, f) end
  if f.slots[1].from <= now then return charge_now(config, now, state, f) end
  return wait(config, now, state, f)
end

--- Looks by the clock, two live looks and three commands a night.
function M.month(config)
  return { data = math.floor(30 * (86400 / config.look_every + 8)), command = 90, wake = config.wake and 30 or 0 }
end

return M
