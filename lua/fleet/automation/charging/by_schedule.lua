-- Charging by schedules in the car: the plan of the night is written into it, so that it waits and begins by itself, also while the
-- service is down or the house has no network.
--
-- A car that does not charge at its check-in (see entries.lua) is not plugged in, which is known without waking it.

local actions = require "fleet.automation.charging.actions"
local battery = require "fleet.automation.charging.battery"
local entries = require "fleet.automation.charging.entries"
local local_time = require "fleet.automation.local_time"
local manual_override = require "fleet.automation.manual_override"
local on_solar = require "fleet.automation.charging.on_solar"
local plans = require "fleet.automation.charging.plan"
local poll_schedule = require "fleet.automation.poll_schedule"
local sentence = require "fleet.automation.charging.sentence"
local session = require "fleet.automation.charging.session"
local stays = require "fleet.automation.charging.stays"

local M = {}

local look_after = 60 -- seconds after which the car has started charging
local often = 600 -- seconds between free looks for a car that may come: it is awake for a quarter of an hour when it is plugged in
local expected = 300 -- the same about the time at which it usually comes, while it would charge

-- Looks are far apart: a car that has less than its plan had given it has been away, unless the plan was too short for it.
local function was_away(config, state)
  local m, plan = state.memory.session, state.memory.plan
  local last = plan and plan[#plan]
  local over = m and last and last.to < state.at.charge_state and not plans.follows_late(state.memory, state.at.charge_state)
  if over and state.seen.charge_state.battery_level < config.level - 2 then m.plugged = false end
end

-- A car that has shown that it waits for our schedules does not begin before them by itself.
local function read_session(config, now, state, deadline)
  was_away(config, state)
  local by_itself, by_hand = entries.began_by_itself(config, state), entries.begun_by_hand(config, state)
  local s = session.read(config, now, state, deadline, by_itself, entries.arrival_of(config, state))
  if s.plugged and state.memory.proven and by_hand and not session.others_charge(config, now, state) then
    s.manual = { what = "start", at = stays.began(state.seen.charge_state, state.at.charge_state), ends = deadline }
  end
  return s
end

-- ---- the facts of a look ----

local function facts(config, now, state, deadline)
  local m, charge = state.memory, state.seen.charge_state
  local f = { deadline = deadline, tariff = state.inputs and state.inputs.tariff, charging = manual_override.is_charging(charge) }
  f.rate = battery.rate(config, m, charge, state.at.charge_state)
  f.level = battery.level(now, state, charge, f.rate)
  f.missing = config.level - f.level
  f.bounded = math.max(battery.limit(charge), config.level) <= config.level + 1
  local s = read_session(config, now, state, deadline)
  f.session, f.manual, f.known = s, s.manual ~= nil, s.plugged == true
  f.slots, f.late = {}, false
  if f.known and f.missing > 0 then
    m.last_hours = m.last_hours or {}
    f.slots, f.late = plans.of(f.tariff, now, deadline, f.missing / f.rate, f.bounded, nil, m.last_hours)
    plans.few(f.slots)
    if config.go_on then plans.note_late(m, f) end
    local seconds = f.missing / f.rate * 3600
    f.overdue = plans.goes_on_late(m, now, seconds)
    if f.overdue then f.slots, f.late = { { from = now, to = now + seconds } }, false end
  end
  return f
end

-- ---- when to look next ----

local function next_minute(config, now, minutes)
  return local_time.next(config.local_zone, now, minutes) + look_after
end

-- A stretch that is under way when the car usually is at the plug, after a look that came before it: what is missing may be less than the
-- stretch is for. nil: there is none.
local function home_look(config, now, state, f)
  local minutes = not f.known and entries.home_by(state)
  local at = minutes and next_minute(config, now, minutes)
  return at and entries.under_way(config, state, at) and { at = at, stage = "start" } or nil
end

local function free_look(config, state, now, pause)
  local info = state.seen.info
  return now + (info and info.free and math.min(pause, config.look_every) or config.look_every)
end

-- Looks during a stretch when the car was not seen: a car that comes now charges at once, though it may need less. A car that was seen
-- elsewhere a moment ago is awake, and each look at it is billed.
local function coming_look(config, now, state, f)
  if f.known or not entries.under_way(config, state, now) then return nil end
  local minutes, seen_elsewhere = entries.home_by(state), f.session ~= nil
  local soon = minutes and local_time.next(config.local_zone, now, minutes) - now < 7200
  return { at = free_look(config, state, now, seen_elsewhere and math.huge or soon and expected or often), stage = "poll" }
end

-- A night without schedules in the car, because it was full when last seen; it may have left and come since. Looks continue until the
-- car must be ready, and wake it once while there is time.
local function unplanned_look(config, now, state, look)
  local zone, charge = config.local_zone, state.seen.charge_state
  local ready = local_time.next(zone, now, config.ready_minutes)
  if look.at < ready or not charge or entries.stretches(state)[1] then return nil end
  local at = free_look(config, state, now, often)
  local rate = battery.rate(config, state.memory, charge, state.at.charge_state)
  local last = local_time.next(zone, now, entries.latest(config, state, rate) % 1440)
  if last < ready and last <= at then return { at = last, stage = "last" } end
  return { at = at, stage = "poll" }
end

-- When the next stretch of the car's schedules begins; the first one while the car has not shown yet that it follows them.
local function next_stretch(config, now, state)
  local first
  for i, one in ipairs(entries.stretches(state)) do
    local at = local_time.next(config.local_zone, now, one.start_time)
    if i == 1 or state.memory.proven and at < first then first = at end
  end
  return first
end

-- Percent that will be missing at a moment, if the car charges in its stretches until then.
local function missing_at(f, now, at)
  local seconds = 0
  for _, slot in ipairs(f.slots) do seconds = seconds + math.max(0, math.min(slot.to, at) - math.max(slot.from, now)) end
  return f.missing - seconds / 3600 * f.rate
end

-- The next look, { at =, stage = }: at the check-in, or when the plan begins.
local function next_look(config, now, state, f)
  local check = entries.seen(state, entries.check_in)
  check = check or entries.stretches(state)[1]
  local look = check and { at = next_minute(config, now, check.start_time), stage = "check" }
    or { at = now + config.look_every, stage = "poll" }
  local first = f.known and (f.slots[#f.slots] or {}).from
  if f.known and f.slots[1] and f.slots[1].from > now then first = f.slots[1].from end
  if not f.known then first = next_stretch(config, now, state) or first end
  if not f.known and not entries.seen(state, entries.check_in) and entries.under_way(config, state, now) then
    first = now + config.look_every -- a car that comes now begins at once
  end
  if f.manual then return { at = f.session.manual.ends + look_after, stage = "poll" } end
  local overdue = f.known and state.memory.overdue
  if overdue and overdue.deadline > now and overdue.deadline + look_after < look.at then
    look = { at = overdue.deadline + look_after, stage = "poll" }
  end
  if f.overdue and f.slots[1].to < look.at then look = { at = math.max(f.slots[1].to, now + look_after), stage = "poll" } end
  local home = home_look(config, now, state, f)
  if home and home.at < look.at then look = home end
  if first and first > now and first + look_after < look.at then look = { at = first + look_after, stage = "start" } end
  local coming = coming_look(config, now, state, f)
  if coming and coming.at < look.at - look_after then look = coming end
  look = not f.known and unplanned_look(config, now, state, look) or look
  if f.known and state.seen.charge_state.charging_state == "NoPower" then look = { at = now + config.look_every, stage = "poll" } end
  look.known = look.stage == "start" and f.known and missing_at(f, now, look.at) > 1 -- else it may be full, and sleeps
  return look
end

-- ---- sentences ----

local function is_planned(config, state, f)
  return f.known and f.missing > 0 and not session.obstacle(config, state, f.session)
end

local function describe(config, now, f, state)
  if not f.known then return "the car is not plugged in; if it comes, the schedule in the car charges it" end
  local obstacle = session.obstacle(config, state, f.session)
  if obstacle then return obstacle end
  if f.missing <= 0 then return sentence.reached(config, f) end
  return sentence.plan(config, now, state, f, f.slots[1].from > now)
end

-- ---- after a look ----

-- What began by itself and is stopped again.
local function why_it_ran(config, now, state)
  return entries.in_check_in(config, now, state) and "; the car has shown that it is plugged in" or "; it started too early"
end

-- What the car does now is corrected: it charges in its stretches and not outside of them.
local function charging_actions(config, now, state, f, why)
  local charge = state.seen.charge_state
  if not f.known or f.manual or charge.charging_state == "NoPower" or session.others_charge(config, now, state) then return {} end
  local slot = f.slots[1]
  local stop = f.charging and (f.missing <= 0 or slot.from - now > plans.bridge)
  if stop then return on_solar.at_work(charge) and {} or { actions.stop(why .. why_it_ran(config, now, state)) } end
  if f.missing <= 0 then return {} end
  return slot.from <= now and actions.begin(charge, why) or {}
end

local function setting_actions(config, state, f, why)
  if not f.known or f.manual or f.missing <= 0 then return {} end
  return actions.settings(config, state.seen.charge_state, why)
end

local function joined(a, b)
  for _, one in ipairs(b) do a[#a + 1] = one end
  return a
end

local function claims_of(state, now)
  local plan = state.memory.plan
  if not plan then return {} end
  for _, slot in ipairs(plan) do
    if slot.from <= now and now < slot.to then return actions.hold(now, slot.to) end
  end
  return {}
end

-- Between looks the sentence of a plan changes when a stretch of it begins or ends, and not before.
local function why_now(config, now, state)
  local m = state.memory
  local planned = m.planned
  if not planned then return m.why end
  local slots = {}
  for _, slot in ipairs(m.plan or {}) do
    if slot.to > now then slots[#slots + 1] = slot end
  end
  local part = #slots .. (slots[1] and slots[1].from <= now and " running" or "")
  planned.part = planned.part or part
  if planned.part == part then return m.why end
  if not slots[1] then return "the plan has ended" .. (planned.late and "" or string.format(": %g %% should be reached", config.level)) end
  local f = { slots = slots, rate = planned.rate, deadline = planned.deadline, late = planned.late, overdue = planned.overdue }
  f.missing = math.max(0, missing_at({ slots = m.plan, missing = planned.missing, rate = planned.rate }, planned.at, now))
  f.level = config.level - f.missing
  return sentence.plan(config, now, state, f, slots[1].from > now)
end

local function rest(config, now, state)
  local at, why = state.memory.look.at, why_now(config, now, state)
  for _, slot in ipairs(state.memory.plan or {}) do
    if slot.from > now then at = math.min(at, slot.from) end
    if slot.to > now then at = math.min(at, slot.to) end
  end
  return { why = why, actions = {}, again_at = math.max(at, now + 1), claims = claims_of(state, now) }
end

local function settle(config, now, state, deadline)
  local f = facts(config, now, state, deadline)
  local why = describe(config, now, f, state)
  state.memory.plan = f.known and not f.manual and f.slots or nil
  local wanted, keep, usual = entries.wanted(config, now, state, f)
  local list = joined(joined(setting_actions(config, state, f, why), entries.actions(state, wanted, keep, why, usual)),
    charging_actions(config, now, state, f, why))
  if #list == 0 then
    entries.keep(state)
    state.memory.look, state.memory.why = next_look(config, now, state, f), why
    state.memory.planned = is_planned(config, state, f)
      and { at = now, missing = f.missing, rate = f.rate, deadline = f.deadline, late = f.late, overdue = f.overdue } or nil
    local decision = rest(config, now, state)
    decision.notices = f.late and { actions.short_notice(config, f) }
      or f.known and session.notices(config, state, f.session, deadline) or nil
    return decision
  end
  return { why = why, actions = list, again_at = now + 60, claims = claims_of(state, now) }
end

-- ---- a car that cannot be looked at ----

local unseen_texts = {
  known = "the car should be charging, but it is %s: the reason is not known; wake = true lets it be woken",
  missed = "the car was not looked at when it would have shown that it is plugged in, and is %s now; its own schedule still charges it",
  last = "the car has no schedule for tonight and is %s: whether it came is not known; wake = true lets it be woken",
  poll = "the car has no schedule for tonight and is %s; it is looked for until it comes",
  away = "the car did not start charging at its time, so it is not plugged in",
}

local function unseen(config, state, look, deadline)
  local reason = look.missed and "missed" or look.known and "known" or look.stage == "last" and "last"
    or look.stage == "poll" and not entries.stretches(state)[1] and "poll" or "away"
  local why = string.format(unseen_texts[reason], state.seen.info.state)
  local notice = (look.known or reason == "last") and { {
    key = "unseen " .. local_time.date(config.local_zone, deadline), severity = "warning", text = why,
  } }
  return why, notice
end

-- A look that came after the check-in and its quarter of an hour, as the service was down: a car at the plug may sleep again.
local function came_too_late(config, now, state, look)
  return look.stage == "check" and now - look.at > 600 and not entries.under_way(config, state, now)
end

-- Asleep when it should be charging: either it is not plugged in, or its schedules failed and it is woken once.
local function away(config, now, state, deadline)
  local m, look = state.memory, state.memory.look
  look.missed = came_too_late(config, now, state, look)
  local surprising = look.stage == "last" or look.stage ~= "poll" and (look.known or look.missed or not m.proven)
  if surprising and config.wake and state.seen.info.state == "asleep" and not look.woken then
    look.woken = true
    return { actions = { poll_schedule.live(config.sections) }, claims = {} }
  end
  local why, notices = unseen(config, state, look, deadline)
  m.look = next_look(config, now, state, { known = false, slots = {}, missing = 0 })
  m.why, m.planned = why, nil
  local decision = rest(config, now, state)
  decision.notices = notices
  return decision
end

function M.decide(config, now, state, deadline)
  local m = state.memory
  m.look = m.look or { at = now, stage = "poll" }
  if now < m.look.at then return rest(config, now, state) end
  local known_at = state.at.charge_state or -1
  if known_at >= m.look.at and now - known_at < 300 then
    if manual_override.is_charging(state.seen.charge_state) and m.look.stage ~= "poll" then m.proven = true end
    return settle(config, now, state, deadline)
  end
  if poll_schedule.awake(state, now) then return { actions = { poll_schedule.live(config.sections) }, claims = claims_of(state, now) } end
  if not poll_schedule.away(state, now) or state.at.info < m.look.at then
    return { actions = { { call = "info" } }, claims = claims_of(state, now) }
  end
  return away(config, now, state, deadline)
end

return M
