-- When a car charges for minutes to show that it is at the plug: clear of the stretches of its plan, and where that is cheap.

local local_time = require "fleet.automation.local_time"
local plans = require "fleet.automation.charging.plan"

local M = {}

M.minutes = 5
local most_clipped = 120 -- minutes of a stretch that may be left out for the check-in
local close = 20 -- minutes: what differs by less stays as it is
local waits_for_cheaper = 240 -- minutes for which a check-in waits at most
local quarter = 15 -- minutes: no tariff changes more often

--- Minutes between two minutes of the day.
function M.distance(a, b)
  local d = (a - b) % 1440
  return math.min(d, 1440 - d)
end

--- Whether the car's check-in is close enough to the wanted minute to stay.
function M.is_close(had, from)
  return had ~= nil and M.distance(had.start_time, from) <= close
end

local function begins_within(one, from, minutes)
  return (one.start_time - from) % 1440 <= minutes
end

--- Whether an entry, with start_time and end_time in minutes of the day, holds a minute.
function M.inside(one, minute)
  return (minute - one.start_time) % 1440 < (one.end_time - one.start_time) % 1440
end

--- A stretch that begins about when the car comes begins after the check-in, which shows what is missing.
function M.clip(stretches, from)
  local after = (from + M.minutes + 1) % 1440
  for _, one in ipairs(stretches) do
    local early = (after - one.start_time) % 1440
    if early <= most_clipped and early < (one.end_time - one.start_time) % 1440 then one.start_time = after end
  end
end

--- The end of an entry ends charging. So the check-in must not lie in a stretch, end after one has started, or begin in the minute in
--- which one ends. nil: no such time exists, and the stretch itself shows the car.
function M.clear_of(stretches, from)
  for _, one in ipairs(stretches) do
    if one.end_time == from then from = (from + 1) % 1440 end
  end
  for _, one in ipairs(stretches) do
    if begins_within(one, from, M.minutes) then from = (one.start_time - M.minutes - 1) % 1440 end
  end
  for _, one in ipairs(stretches) do
    if M.inside(one, from) or one.end_time == from or begins_within(one, from, M.minutes) then return nil end
  end
  return from
end

-- For how many minutes a check-in may wait: until a stretch begins, and while even an empty battery could still be charged.
local function may_wait(config, f, stretches, from)
  local most = math.min(waits_for_cheaper, (config.ready_minutes - from) % 1440 - math.floor(config.level / f.rate * 60))
  for _, one in ipairs(stretches) do
    most = math.min(most, (one.start_time - from) % 1440 - M.minutes - 1)
  end
  return most
end

-- A gap that is shorter than a bridge is charged, too: the check-in comes right before the stretch.
local function next_to_a_stretch(stretches, from)
  for _, one in ipairs(stretches) do
    local gap = (one.start_time - from) % 1440 - M.minutes
    if gap > 0 and gap <= plans.bridge / 60 then return (one.start_time - M.minutes - 1) % 1440 end
  end
  return from
end

--- A check-in charges for some minutes every day, even a full car, so it is moved to a cheap hour. An existing one near that hour that
--- costs no more stays.
function M.in_a_cheap_hour(config, now, f, stretches, from, had)
  local tariff, at = f.tariff, local_time.next(config.local_zone, now, from)
  local best, price = next_to_a_stretch(stretches, from), tariff and plans.price_at(tariff, at)
  for later = quarter - from % quarter, price and may_wait(config, f, stretches, from) or 0, quarter do
    local found = plans.price_at(tariff, at + later * 60)
    if found < price then best, price = (from + later) % 1440, found end
  end
  if not M.is_close(had, best) then return best end
  local current = price and plans.price_at(tariff, local_time.next(config.local_zone, now, had.start_time)) or price
  return current == price and had.start_time or best
end

return M
