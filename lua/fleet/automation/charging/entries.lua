-- What charge_by keeps in a car, and what the car does by it.
--
-- Two kinds of entries, every day anew: the check-in, a few minutes of charging after the car usually comes home, which wake it and show
-- that it is at the plug; and the stretches of the plan. The plan of the last night stays until there is a better one.

local check_ins = require "fleet.automation.charging.check_in"
local commands = require "fleet.automation.charging.actions"
local local_time = require "fleet.automation.local_time"
local manual_override = require "fleet.automation.manual_override"
local plans = require "fleet.automation.charging.plan"
local schedules = require "fleet.automation.schedules"
local stays = require "fleet.automation.charging.stays"

local M = {}

local after_arrival = 15 -- minutes between the usual arrival and the check-in
local close_minutes, close_plan = 5, 10 -- what differs by less stays as it is
local most_lacking = 30 -- minutes by which a plan may be shorter for a night without a look

local check_in, first_stretch, tonight_end = schedules.id(0), schedules.id(1), schedules.id(9)

local function minutes_of(config, at)
  local t = config.local_zone:localtime(math.floor(at))
  return t.hour * 60 + t.min
end

-- Whether the clock showed the same minute before, because it was set back since.
local function is_shown_again(zone, at)
  local before = zone:offset(at - 10800)
  local set_back = before - zone:offset(at)
  return set_back > 0 and zone:offset(at - set_back) == before
end

-- When a stretch ends. A car ends it when its clock first shows that minute: of those that it shows twice none will do, nor the one that
-- would have followed them.
local function ends_at(config, at)
  at = math.floor(at) + 59
  while is_shown_again(config.local_zone, at) or is_shown_again(config.local_zone, at - 60) do at = at + 60 end
  return at
end

local function entry(m, id, from, to)
  return {
    id = id, lat = m.place.lat, lon = m.place.lon, days_of_week = "All", enabled = true, one_time = false,
    start_enabled = true, start_time = math.floor(from % 1440), end_enabled = true, end_time = math.floor(to % 1440),
  }
end

local function list_of(state)
  return (state.seen.charge_schedule_data or {}).charge_schedules
end

function M.seen(state, id)
  for _, one in ipairs(type(list_of(state)) == "table" and list_of(state) or {}) do
    if tonumber(one.id) == id then return one end
  end
end

-- Times that differ by little stay as they are: a command costs.
local function steady(state, wanted)
  local seen = M.seen(state, wanted.id)
  if not seen or not seen.enabled or not seen.end_enabled then return wanted end
  if check_ins.distance(seen.start_time, wanted.start_time) <= close_minutes then wanted.start_time = seen.start_time end
  if check_ins.distance(seen.end_time, wanted.end_time) <= close_minutes then wanted.end_time = seen.end_time end
  return wanted
end

local function is_of_the_day(id) return id == check_in or id == tonight_end end
local function is_ours(id) return id >= check_in and id < check_in + 10 end

--- Minutes after midnight at which a car that usually comes should be at the plug.
function M.home_by(state)
  local arrival = stays.arrival(state.memory)
  return arrival and (math.floor(arrival) + after_arrival) % 1440
end

--- The minute of the day until which what is usually missing can still be charged: below 0 on the day before.
function M.latest(config, state, rate)
  local hours = stays.missing(config, state.memory) / rate * 1.15 + 0.5
  return config.ready_minutes - math.floor(hours * 60)
end

-- The minute of the check-in: after the usual arrival, and while what is usually missing can still be charged.
local function check_in_at(config, state, rate)
  local latest = M.latest(config, state, rate)
  local arrival = M.home_by(state)
  local noon = (config.ready_minutes + 300) % 1440 -- a day at the plug begins some hours after the car must be ready
  if (arrival - noon) % 1440 > (latest - noon) % 1440 then arrival = latest end
  return arrival % 1440
end

-- The end of an entry ends charging, even after the next entry has started it. Stretches with a short gap are joined into one.
local function without_short_gaps(config, slots)
  local list = {}
  for _, slot in ipairs(slots) do
    local last, to = list[#list], ends_at(config, slot.to)
    if last and slot.from - last.to < plans.bridge then last.to = to else list[#list + 1] = { from = slot.from, to = to } end
  end
  return list
end

-- The stretches of a plan as entries. bounded: the limit ends the last one, which may last until the car must be ready.
local function entries_of(config, m, slots, bounded)
  local list, stretches = {}, without_short_gaps(config, slots)
  for i, one in ipairs(stretches) do
    local to = bounded and i == #stretches and config.ready_minutes or minutes_of(config, one.to)
    list[i] = entry(m, first_stretch + i - 1, minutes_of(config, one.from), to)
  end
  return list
end

-- The end of the check-in ends charging: a stretch that is under way begins again a minute later.
local function after_check_in(config, now, state, list, slots)
  local check = M.seen(state, check_in)
  if not check or not slots[1] or slots[1].from > now then return list end
  local since = (minutes_of(config, now) - check.start_time) % 1440
  if since <= check_ins.minutes then list[1].start_time = (check.start_time + check_ins.minutes + 1) % 1440 end
  return list
end

-- The car's entries for a night without a look.
local function usual_entries(config, state, f)
  local following = local_time.next(config.local_zone, f.deadline, config.ready_minutes)
  local hours = stays.missing(config, state.memory) / f.rate
  local home = local_time.next(config.local_zone, f.deadline, math.floor(stays.arrival(state.memory)))
  local slots = plans.few((plans.of(f.tariff, math.min(home, following - 7200), following, hours, f.bounded)))
  return entries_of(config, state.memory, slots, f.bounded)
end

local function begins_earlier(a, b, noon)
  return (a.start_time - noon) % 1440 + 15 < (b.start_time - noon) % 1440
end

--- Whether the check-in is under way, or has just ended.
function M.in_check_in(config, now, state)
  local check = M.seen(state, check_in)
  return check ~= nil and (minutes_of(config, now) - check.start_time) % 1440 <= check_ins.minutes
end

-- The last stretch is under way and nothing ends it but the limit: its entry is free for the following night.
local function is_running(config, now, state, f)
  local first = f.slots[1]
  if M.in_check_in(config, now, state) then return false end
  return first and #f.slots == 1 and f.bounded and first.from <= now and f.charging
end

function M.stretches(state)
  local list = {}
  for i = 0, 7 do
    local seen = M.seen(state, first_stretch + i)
    if seen then list[#list + 1] = { id = first_stretch + i, seen = seen, start_time = seen.start_time } end
  end
  return list
end

local function in_stretches(list, minute)
  for _, one in ipairs(list) do
    if (minute - one.start_time) % 1440 < (one.seen.end_time - one.start_time) % 1440 then return true end
  end
  return false
end

--- Whether a stretch of the car's entries is running.
function M.under_way(config, state, now)
  return in_stretches(M.stretches(state), minutes_of(config, now))
end

local function in_slots(slots, at)
  for _, slot in ipairs(slots) do
    if slot.from <= at and at < slot.to then return true end
  end
  return false
end

-- Whether the entries that stand already do what is planned from now on, but for some minutes; and whether they go on after the last
-- stretch of the plan, which does not matter where the limit ends it.
local function as_planned(config, now, f, had)
  local differs, after, last = 0, 0, f.slots[#f.slots].to
  for at = now + 60, f.deadline - 60, 300 do
    local is_planned = in_stretches(had, minutes_of(config, at))
    if is_planned and at >= last then after = after + 5 elseif is_planned ~= in_slots(f.slots, at) then differs = differs + 5 end
  end
  return differs <= close_plan, after > close_plan
end

local function within(list, minute)
  for _, one in ipairs(list) do
    if check_ins.inside(one, minute) then return true end
  end
  return false
end

local function minutes_in(list)
  local sum = 0
  for _, one in ipairs(list) do sum = sum + (one.end_time - one.start_time) % 1440 end
  return sum
end

-- Entries for past hours of this night have no effect tonight; they are the plan of the following night. They stay when the rest of
-- tonight's entries would be too little for that night, unless they are too short to help.
local function with_what_is_over(config, m, now, had, list, usual)
  if minutes_in(list) + most_lacking >= minutes_in(usual) then return list end
  local noon, all = (config.ready_minutes + 300) % 1440, {}
  local at = (minutes_of(config, now) - noon) % 1440
  for _, one in ipairs(had) do
    local from, to = (one.start_time - noon) % 1440, (one.seen.end_time - noon) % 1440
    local over = from + most_lacking <= to and to < at and within(usual, math.floor((from + to) / 2 + noon) % 1440)
    if over and #all + #list < plans.most_stretches then
      all[#all + 1] = entry(m, first_stretch + #all, one.start_time, one.seen.end_time)
    end
  end
  for _, one in ipairs(list) do
    one.id = first_stretch + #all
    all[#all + 1] = one
  end
  return all
end

-- Whether the plan is in its last stretch, whose end is then an entry for this night alone.
local function in_last_stretch(f, now)
  return #f.slots == 1 and f.slots[1].from <= now
end

-- Returns the stretches, or nil where those in the car stay; whether tonight needs an end of its own; whether they are the usual ones, for
-- a night without a look.
local function stretch_entries(config, now, state, f)
  local usual, had = usual_entries(config, state, f), M.stretches(state)
  local noon = (config.ready_minutes + 300) % 1440
  if f.known and f.missing > 0 and not f.overdue and not is_running(config, now, state, f) then
    local planned, longer = false, false
    if #had > 0 and not M.in_check_in(config, now, state) then planned, longer = as_planned(config, now, f, had) end
    if planned and (not longer or f.bounded or in_last_stretch(f, now)) then return nil, longer and not f.bounded end
    local list = after_check_in(config, now, state, entries_of(config, state.memory, f.slots, f.bounded), f.slots)
    return with_what_is_over(config, state.memory, now, had, list, usual)
  end
  if f.known and f.missing <= 0 and not f.bounded then return {} end
  if #had > 0 and not begins_earlier(usual[1], had[1], noon) then return nil end
  return usual, false, true
end

local function end_of_tonight(config, m, at)
  local one = entry(m, tonight_end, 0, minutes_of(config, ends_at(config, at)))
  one.start_enabled, one.one_time = false, true
  return one
end

--- The entries that are wanted; whether the stretches in the car stay; whether those that are wanted are the usual ones.
function M.wanted(config, now, state, f)
  if f.manual then return {}, false end -- an entry that ends would end what the owner began
  local list, stretches, ends, usual = {}, stretch_entries(config, now, state, f)
  local from, had = check_in_at(config, state, f.rate), M.seen(state, check_in)
  check_ins.clip(stretches or {}, check_ins.is_close(had, from) and had.start_time or from)
  for i, one in ipairs(stretches or {}) do list[i] = steady(state, one) end
  local kept = list
  if not stretches then
    kept = {}
    for i, one in ipairs(M.stretches(state)) do kept[i] = one.seen end
  end
  from = check_ins.clear_of(kept, check_ins.in_a_cheap_hour(config, now, f, kept, from, had))
  if ends then list[1] = steady(state, end_of_tonight(config, state.memory, f.slots[1].to)) end
  if from then list[#list + 1] = entry(state.memory, check_in, from, from + check_ins.minutes) end
  return list, stretches == nil, usual
end

local function clock(minutes) return string.format("%02d:%02d", math.floor(minutes / 60), minutes % 60) end

-- What an entry is for, after what is said of the car.
local function entry_text(one, why, usual)
  if one.id == check_in then
    return string.format("%s; the car charges for a few minutes at %s, which shows without a billed wake that it is plugged in", why,
      clock(one.start_time))
  end
  if one.id == tonight_end then return string.format("%s; it stops at %s tonight", why, clock(one.end_time)) end
  return string.format("%s; schedule in the car: %s to %s%s", why, clock(one.start_time), clock(one.end_time),
    usual and " on the following nights" or "")
end

--- The commands that make the entries in the car those that are wanted.
function M.actions(state, wanted, keep_stretches, why, usual)
  local list = {}
  local add, remove = schedules.difference(list_of(state), wanted, function(id)
    return is_ours(id) and (is_of_the_day(id) or not keep_stretches)
  end)
  local after = list_of(state)
  for _, params in ipairs(add) do
    after = schedules.replaced(after, params.id, schedules.as_read(params))
    list[#list + 1] = commands.command("add_charge_schedule", entry_text(params, why, usual), {
      params = params, subject = "schedule " .. params.id, effect = { charge_schedule_data = { charge_schedules = after } },
    })
  end
  for _, id in ipairs(remove) do
    after = schedules.replaced(after, id)
    list[#list + 1] = commands.command("remove_charge_schedule", why .. "; a schedule of this automation is not needed any more", {
      params = { id = id }, subject = "schedule " .. id, effect = { charge_schedule_data = { charge_schedules = after } },
    })
  end
  return list
end

-- ---- what the car does by our schedules ----

-- Whether one of our entries ended between two moments: nothing else of ours ends charging.
local function ended_between(config, state, from, to)
  for _, one in ipairs(state.memory.entries or {}) do
    local since = (minutes_of(config, to) - one.to) % 1440
    if to - from >= 86400 or since * 60 < to - from then return true end
  end
  return false
end

function M.keep(state)
  local list = {}
  for _, one in ipairs(M.stretches(state)) do
    list[#list + 1] = { from = one.seen.start_time, to = one.seen.end_time }
  end
  local check = M.seen(state, check_in)
  if check then list[#list + 1] = { from = check.start_time, to = check.end_time, check = true } end
  local ends = M.seen(state, tonight_end)
  if ends then list[#list + 1] = { from = ends.end_time, to = ends.end_time } end
  state.memory.entries = list
end

-- The possible error of the start of charging, which is computed from the added energy and the present power.
local function slack(at, began)
  return math.max(60, math.min(0.1 * (at - began), 300))
end

-- Whether an entry can have started charging at this time. After we stop a car within an entry, that entry does not start it again.
local function begins(config, one, began, stopped, off)
  local length = (one.to - one.from) % 1440
  local since = (minutes_of(config, began + off) - one.from) % 1440
  if since >= length + off / 60 then return false end
  return not (stopped and began > stopped and began - stopped < since * 60)
end

-- When we last stopped it.
local function stopped_at(state)
  local did = state.did.charging
  return did and did.want == "off" and did.sure and did.at or nil
end

-- Whether one of our entries began it. What began well before or after each of them is the owner's.
local function begun_by_ours(config, state, began, at)
  for _, one in ipairs(state.memory.entries or {}) do
    if begins(config, one, began, stopped_at(state), slack(at, stays.began(state.seen.charge_state, at))) then return true end
  end
  return false
end

local function clock_was_changed(config, at)
  local zone = config.local_zone
  return zone:offset(math.floor(at)) ~= zone:offset(math.floor(at - 21600))
end

--- Whether what the car does needs no hand: it charges by our entries, or has ended by them.
function M.began_by_itself(config, state)
  local charge, at = state.seen.charge_state, state.at.charge_state
  local m = state.memory.session
  if not m or not m.at or not at or #(state.memory.entries or {}) == 0 then return true end
  if clock_was_changed(config, at) then return true end
  if not manual_override.is_charging(charge) then return ended_between(config, state, m.at, at) end
  return begun_by_ours(config, state, math.max(stays.began(charge, at), m.at), at)
end

--- Whether it charges since a moment after the last look at which neither our entries nor our command began it.
function M.begun_by_hand(config, state)
  local charge, at = state.seen.charge_state, state.at.charge_state
  local m, did = state.memory.session, state.did.charging
  if not m or not m.at or not at or m.at >= at or #(state.memory.entries or {}) == 0 then return false end
  if not manual_override.is_charging(charge) or clock_was_changed(config, at) then return false end
  local began = stays.began(charge, at)
  local ours = did and did.want == "on" and did.at >= m.at and began <= did.at + slack(at, began)
  if began <= m.at + 60 or ours then return false end
  return not begun_by_ours(config, state, began, at)
end

-- Charging that our own entry started does not show when the car came: before its check-in, or between that and the entry.
function M.arrival_of(config, state)
  local check
  for _, one in ipairs(state.memory.entries or {}) do
    if one.check then check = one.from end
  end
  return check and function(began)
    local minute = minutes_of(config, began)
    if check_ins.distance(minute, check) <= 2 then return (check - after_arrival) % 1440, true end
    for _, one in ipairs(state.memory.entries) do
      if check_ins.distance(minute, one.from) <= 2 then return math.floor(check + (one.from - check) % 1440 / 2) % 1440 end
    end
  end
end

--- Whether the car has any entry of ours, as far as it was seen.
function M.any(state)
  return M.seen(state, check_in) ~= nil or M.stretches(state)[1] ~= nil
end

M.check_in = check_in

return M
