-- Charging with start and stop: for a car that keeps no schedules, and while none of ours is in it.
--
-- The plan is made anew at every decision, from the level, the rate and the prices as they are known then: what changes,
-- changes the plan, and nothing of it has to survive a restart.

local actions = require "fleet.automation.charging.actions"
local battery = require "fleet.automation.charging.battery"
local cost = require "fleet.automation.cost"
local local_time = require "fleet.automation.local_time"
local manual_override = require "fleet.automation.manual_override"
local on_solar = require "fleet.automation.charging.on_solar"
local plans = require "fleet.automation.charging.plan"
local poll_schedule = require "fleet.automation.poll_schedule"
local sentence = require "fleet.automation.charging.sentence"
local session = require "fleet.automation.charging.session"
local single = require "fleet.automation.charging.single"
local stays = require "fleet.automation.charging.stays"

local M = {}

local unknown_stay = 12 * 3600 -- seconds before the deadline, while it is not known when the car comes home
local longest_day = 25 * 3600 -- on which the clock goes back
local most_looks = 2 -- in one night, while it is not known when the car comes home
local record_every = 300 -- seconds between free looks at the record while the car should come home: it charges meanwhile
local record_every_charging = 900 -- a car that has ended sleeps after a quarter of an hour
local live_every = 300 -- seconds between looks at a car that is awake, about the time at which it usually comes
local lead_minutes = 20 -- before and after the times at which it came of late
local unbroken = 400 -- seconds between looks at the record of a car that sleeps, in which it cannot have moved unseen
local falls_asleep_within = 1260 -- seconds after the last live look
local first_look = 900 -- seconds after which charging has shown its rate
local longest_gap = 3 * 3600 -- over which charging goes on where that is cheaper
local least_rest = 300 -- a level shows whole percents: what should be reached is looked at again after this

-- ---- what is to be done ----

-- The sentence changes only with a look: estimates in between do not change it.
local function why_it_charges(config, now, state, f)
  local last, at = state.memory.sentence, state.at.charge_state
  if last and last.at == at and last.charging == manual_override.is_charging(state.seen.charge_state) then return last.why end
  local why = sentence.plan(config, now, state, f)
  state.memory.sentence = { at = at, charging = manual_override.is_charging(state.seen.charge_state), why = why }
  return why
end

-- In one of the planned stretches.
local function charge_now(config, now, state, f)
  local slot, charge = f.slots[1], state.seen.charge_state
  local why = why_it_charges(config, now, state, f)
  local reached = now + (config.level - f.level) / f.rate * 3600
  local seen_at = manual_override.is_charging(charge) and state.at.charge_state or now
  local check_at = seen_at + (state.memory.rate and config.recheck or first_look)
  local next_look = actions.next_look(config, now, state)
  local again = math.min(slot.to, check_at > now and check_at or next_look) -- what is overdue waits for the next look at the record
  if not f.bounded then again = math.min(again, math.max(reached, now + least_rest)) end
  state.memory.no_look_before, state.memory.slot_to = again, slot.to
  again = math.min(again, next_look)
  local decision = actions.decision(config, now, state, why, actions.start(config, charge, why), again, actions.hold(now, slot.to))
  decision.notices = f.late and { actions.short_notice(config, f) } or nil
  return decision
end

-- Whether it charges by our own doing.
local function runs_for_us(config, now, state)
  local charge = state.seen.charge_state
  return manual_override.is_charging(charge) and not session.others_charge(config, now, state) and not on_solar.at_work(charge)
end

-- Between now and the first stretch.
local function wait(config, now, state, f)
  local first = f.slots[1]
  local why = sentence.plan(config, now, state, f, single.is_set(config, state, first.from))
  local again = math.min(first.from, actions.next_look(config, now, state))
  local list = single.set(config, now, state, first.from, why)
  if runs_for_us(config, now, state) then table.insert(list, 1, actions.stop(why)) end
  return actions.decision(config, now, state, why, list, again, {})
end

-- The limit ends charging by itself: no look is needed before the end of the stretch.
local function should_be_reached(config, now, state)
  local slot_to = state.memory.slot_to
  local why = string.format("%g %% should be reached by now, and the charge limit ends the charging", config.level)
  state.memory.no_look_before = slot_to
  local again = math.min(slot_to, actions.next_look(config, now, state))
  return { why = why, actions = {}, again_at = again, claims = actions.hold(now, slot_to) }
end

local function enough(config, now, state, f)
  local why = sentence.reached(config, f)
  local own = runs_for_us(config, now, state)
  if f.bounded and own and now < (state.memory.slot_to or 0) then return should_be_reached(config, now, state) end
  return actions.decision(config, now, state, why, own and { actions.stop(why) } or {}, actions.next_look(config, now, state), {})
end

-- Charging goes on over a gap that is short, or in which it costs less than the calls for a stop and a start: a wake, two looks, two
-- commands.
local function goes_on(config, now, state, f)
  local charge, tariff, gap = state.seen.charge_state, state.inputs and state.inputs.tariff, f.slots[1].from - now
  if gap <= 0 or not manual_override.is_charging(charge) then return false end
  if gap <= plans.bridge then return true end
  local kw = battery.power(charge)
  return tariff ~= nil and config.wake and kw > 0 and gap <= longest_gap
    and plans.cost_of_going_on(tariff, now, f.slots, kw) <= cost.usd { wake = 1, data = 2, command = 2 }
end

-- A car that sleeps is not woken to begin some minutes before it does by itself, for what is a reserve.
local function keep_its_time(config, now, state, f)
  local at = not manual_override.is_charging(state.seen.charge_state) and single.next(config, now, state)
  if at and plans.begin_at(f.slots, at, f.missing / f.rate) then f.late = false end
end

-- Facts for a plan.
local function facts(config, now, state, deadline)
  local charge, m = state.seen.charge_state, state.memory
  local f = { deadline = deadline }
  f.rate = battery.rate(config, m, charge, state.at.charge_state)
  f.level = battery.level(now, state, charge, f.rate)
  f.missing = config.level - f.level
  f.bounded = math.max(battery.limit(charge), config.level) <= config.level + 1
  m.last_hours = m.last_hours or {}
  f.slots, f.late = plans.of(state.inputs and state.inputs.tariff, now, deadline, f.missing / f.rate, false,
    not manual_override.is_charging(charge), m.last_hours)
  if config.go_on then plans.note_late(m, f) end
  local seconds = f.missing / f.rate * 3600
  f.overdue = plans.goes_on_late(m, now, seconds)
  if f.overdue then f.slots, f.late = { { from = now, to = now + seconds } }, false end
  if goes_on(config, now, state, f) then f.slots[1].from = now end
  keep_its_time(config, now, state, f)
  return f
end

-- ---- what is no longer known ----

-- After a crash, or a command that ended unknown, the car must be seen before anything is decided.
local function lost_sight(config, now, state)
  if state.at.charge_state or not state.seen.charge_state then return nil end
  if config.wake and state.seen.info.state == "asleep" then return { actions = { poll_schedule.live(config.sections) }, claims = {} } end
  local why = "the last command is not confirmed, and the car is " .. state.seen.info.state .. "; it is looked at when it is awake"
  return actions.idle(config, now, state, why)
end

-- A car that charges does not sleep: one that sleeps has ended what was last seen of it, full or by hand.
local function slept_over_it(config, now, state, f)
  if not manual_override.is_charging(state.seen.charge_state) or not poll_schedule.away(state, now) then return nil end
  if state.seen.info.state ~= "asleep" then return nil end
  if config.wake and f.missing > 1 and f.slots[1].from <= now then
    return { actions = { poll_schedule.live(config.sections) }, claims = {} }
  end
  local why = f.missing <= 1 and string.format("%g %% should be reached, and the car is asleep", math.floor(f.level))
    or string.format("charging ended before %g %% was reached, and the car is asleep", config.level)
  return actions.idle(config, now, state, why)
end

-- The end of a stretch, and the level that should be reached, are looked at before they are believed; the level not where the limit
-- ends charging by itself.
local function to_verify(state, now, f)
  local charge = state.seen.charge_state
  if not manual_override.is_charging(charge) then return nil end
  if f.bounded and f.missing <= 0 and now < (state.memory.slot_to or 0) then return nil end
  local ended = f.slots[1].from > now
  if f.missing <= 0 and charge.battery_level < math.floor(f.level) or ended then return now end
end

-- A look before the car usually comes home would be wasted.
local function usually_home(config, m, deadline)
  local arrival = stays.arrival(m)
  if not arrival then return deadline - unknown_stay end
  local at = local_time.next(config.local_zone, deadline - 86400, math.floor(arrival)) + 900
  return at < deadline - 3600 and at or 0
end

-- The latest time of a look after which the usual amount can still be charged in the cheapest hours. Once it has passed, it does not
-- move.
local function latest_look(config, now, state, deadline)
  local m, charge = state.memory, state.seen.charge_state or {}
  if m.latest and m.latest.deadline == deadline then return m.latest.at end
  local rate = battery.rate(config, m, charge, state.at.charge_state)
  local slots = plans.of(state.inputs and state.inputs.tariff, now, deadline, stays.missing(config, m) / rate, false)
  local at = math.max(slots[1].from, usually_home(config, m, deadline))
  if at <= now then m.latest = { deadline = deadline, at = now, count = 1 } end
  return at
end

-- The usual arrival is not known yet and the car was away: looks again within the time that is left.
local function look_again(state, now, deadline)
  local m = state.memory
  local unknown = not stays.arrival(m) and m.latest and m.latest.count < most_looks and state.at.charge_state >= m.latest.at
  if not unknown or manual_override.is_plugged(state.seen.charge_state) then return end
  m.latest = { deadline = deadline, at = now + (deadline - now) / 2, count = m.latest.count + 1 }
  m.woken_for = nil
end

local function plug_unknown(config, state, deadline)
  local at = state.at.charge_state
  local seen = at and "it was last seen at " .. actions.at_text(config, at) or "it has never been seen"
  local why = string.format("it is not known whether the car is plugged in: it is %s, and %s; wake = true lets it be woken",
    state.seen.info.state, seen)
  return why, { key = "unseen " .. local_time.date(config.local_zone, deadline), severity = "warning", text = why }
end

-- Notes since when every look at the record, without a longer pause between two, has found the car asleep.
local function watch(state)
  local m, at = state.memory, state.at.info
  if not at or state.seen.info.state ~= "asleep" then
    m.asleep = nil
  elseif not m.asleep or at - m.asleep.last > unbroken then
    m.asleep = { since = at, last = at }
  else
    m.asleep.last = at
  end
end

-- A car that drives, or whose cable is put in or pulled, stays awake for minutes. A car that was asleep at every look since it was last
-- seen has not moved.
local function cannot_have_moved(state, now)
  local asleep, seen_at = state.memory.asleep, state.at.charge_state
  return asleep ~= nil and seen_at ~= nil and now - asleep.last <= unbroken and asleep.since - seen_at <= falls_asleep_within
end

-- The last look is too old: the car may have moved or been plugged in since. Returns one look while there is still time, or the
-- sentence that its place is unknown; nil when the known state holds.
local function before_it_is_late(config, now, state, deadline, why)
  local latest = latest_look(config, now, state, deadline)
  if now < latest then
    local idle = actions.idle(config, now, state, why)
    idle.again_at = math.min(idle.again_at, latest)
    return idle
  end
  local looks = poll_schedule.due(config, now, state, config.sections, latest)
  if #looks > 0 then return { actions = looks, claims = {} } end
  if cannot_have_moved(state, now) then return nil end
  if (state.at.charge_state or -1) >= latest then look_again(state, now, deadline) end
  if (state.at.charge_state or -1) >= latest or state.seen.info.state == "online" then return nil end
  if config.wake and state.seen.info.state == "asleep" and state.memory.woken_for ~= deadline then
    state.memory.woken_for = deadline
    return { actions = { poll_schedule.live(config.sections) }, claims = {} }
  end
  local text, notice = plug_unknown(config, state, deadline)
  local idle = actions.idle(config, now, state, text)
  idle.notices = { notice }
  return idle
end

-- A car that waits by its own schedule begins before it is plugged in by hand alone.
local function read_session(config, now, state, deadline)
  local before = state.memory.session and state.memory.session.since
  local m = session.read(config, now, state, deadline, single.explains(config, state))
  local new = m.plugged and m.since ~= before and m.since == state.at.charge_state
  if new and single.begun_by_hand(config, state) and not session.others_charge(config, now, state) then
    m.manual = { what = "start", at = stays.began(state.seen.charge_state, m.since), ends = deadline }
  end
  return m
end

-- The car has a minute to begin by its own schedule, and is then looked at. nil: it has none, or was looked at.
local function begins_by_itself(config, now, state, f)
  local at = single.began_at(config, now, state)
  if not at or f.missing <= 0 or manual_override.is_charging(state.seen.charge_state) then return nil end
  if now >= single.begins_until(at) then
    local looks = poll_schedule.due(config, now, state, config.sections, at)
    return #looks > 0 and { actions = looks, claims = actions.hold(now, now + 600) } or nil
  end
  local why = string.format("the car should start charging by its own schedule at %s", actions.at_text(config, at))
  return { why = why, actions = {}, again_at = single.begins_until(at), claims = actions.hold(now, now + 600) }
end

-- Whether there is nothing to do after a look: the car is not expected yet, or is plugged in and charged, or waits by itself.
local function is_quiet(config, state, expected, home, waits)
  local charge = state.seen.charge_state
  if not charge or manual_override.is_charging(charge) then return false end
  return not expected or home and (waits or charge.battery_level >= config.level)
end

-- How often to look: at the record, where that is free, while the car should come home, and while it charges, which ends unseen; live at
-- a car that is awake anyway, about the time at which it usually comes. One that was at the plug before that time may have left unseen.
local function attend(config, now, state, deadline)
  local m = state.memory
  local charging = manual_override.is_charging(state.seen.charge_state)
  local first, last = stays.arrivals(m, config.ready_minutes)
  local begin = local_time.next(config.local_zone, deadline - longest_day - 1, config.ready_minutes)
  local from = begin + math.max(0, (first or 0) - lead_minutes) * 60
  local home = m.session and m.session.plugged and (state.at.charge_state or 0) >= from
  local away, waits = now >= from and not home, single.waits(config, state, now)
  m.record_every = charging and not away and record_every_charging or record_every
  m.live_every, m.quiet = nil, first ~= nil and is_quiet(config, state, now >= from, home, waits) or nil
  local soon = first and not waits and now <= from + (last - first + 2 * lead_minutes) * 60
  if away and first then m.live_every = soon and live_every or config.look_every end
end

function M.decide(config, now, state, deadline)
  attend(config, now, state, deadline)
  local looks = poll_schedule.due(config, now, state, config.sections)
  if #looks > 0 then return { actions = looks, claims = {} } end
  state.memory.no_look_before = nil
  watch(state)
  local lost = lost_sight(config, now, state)
  if lost then return lost end
  local m = read_session(config, now, state, deadline)
  local obstacle = session.obstacle(config, state, m)
  if obstacle then
    local look = not m.manual and before_it_is_late(config, now, state, deadline, obstacle)
    if look then return look end
    local idle = actions.idle(config, now, state, obstacle)
    idle.notices = session.notices(config, state, m, deadline)
    return idle
  end
  local f = facts(config, now, state, deadline)
  local begins = begins_by_itself(config, now, state, f)
  if begins then return begins end
  local slept = slept_over_it(config, now, state, f)
  if slept then return #slept.actions == 0 and before_it_is_late(config, now, state, deadline, slept.why) or slept end
  if to_verify(state, now, f) and now - state.at.charge_state >= least_rest then
    looks = poll_schedule.due(config, now, state, config.sections, now)
    if #looks > 0 then return { actions = looks, claims = actions.hold(now, now + 600) } end
  end
  if f.missing <= 0 then
    local decision = enough(config, now, state, f)
    return #decision.actions == 0 and before_it_is_late(config, now, state, deadline, decision.why) or decision
  end
  if f.slots[1].from <= now then return charge_now(config, now, state, f) end
  return wait(config, now, state, f)
end

return M
