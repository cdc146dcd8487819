-- In which stretches of time a car charges: the cheapest of a tariff before a deadline. Pure.

local M = {}

local bridge = 900 -- a gap that is shorter is not worth two commands
local most_stretches = 4 -- of one night; each is a schedule in the car
M.bridge, M.most_stretches = bridge, most_stretches

local function join(parts)
  local slots = {}
  for _, part in ipairs(parts) do
    local last = slots[#slots]
    if last and part.from <= last.to then last.to = part.to else slots[#slots + 1] = { from = part.from, to = part.to } end
  end
  return slots
end

local price_step = 900 -- seconds: no tariff changes more often

local function costs_the_same(tariff, from, to, price)
  for at = from, to - 1, price_step do
    local found = tariff:price(math.floor(at))
    if not found or not found.buy or found.buy.price ~= price then return false end
  end
  return true
end

-- A part whose price goes on until the next one begins is bought later, next to it: each stretch of a plan is a start and a stop, and
-- wakes a car that sleeps before it.
local function beside_the_next(tariff, parts)
  local moved = {}
  for i = #parts, 1, -1 do
    local part, following, before = parts[i], moved[i + 1], parts[i - 1]
    moved[i] = part
    local gap = following and following.from - part.to or 0
    local alone = not before or before.to < part.from
    if gap > 0 and alone and costs_the_same(tariff, part.to, following.from, part.price) then
      moved[i] = { from = part.from + gap, to = following.from }
    end
  end
  return moved
end

-- A stretch that is shorter than a quarter of an hour is left out where the reserve has room for it.
local function without_scraps(slots, room)
  local kept, count = {}, #slots
  for _, slot in ipairs(slots) do
    local length = slot.to - slot.from
    if length < bridge and length <= room and count > 1 then
      room, count = room - length, count - 1
    else
      kept[#kept + 1] = slot
    end
  end
  return kept
end

--- Begins the first stretch later, where it is by less than a quarter of an hour, and what is left is enough for so many hours. Returns
--- whether it does.
function M.begin_at(slots, at, hours)
  local first, left = slots[1], 0
  for _, slot in ipairs(slots) do left = left + slot.to - math.max(slot.from, at) end
  if at <= first.from or at >= first.to or at - first.from >= bridge or left < hours * 3600 then return false end
  first.from = at
  return true
end

--- What a kWh costs at a moment; more than anything where that is not known.
local function price_at(tariff, at)
  local found = tariff:price(math.floor(at))
  return found and found.buy and found.buy.price or math.huge
end
M.price_at = price_at

--- What it costs to go on charging until the first of these stretches, with so many kW, in place of the dearest part of them.
function M.cost_of_going_on(tariff, now, slots, kw)
  local dearest, more = -math.huge, 0
  for _, slot in ipairs(slots) do
    for at = slot.from, slot.to - 1, price_step do dearest = math.max(dearest, price_at(tariff, at)) end
  end
  for at = now, slots[1].from - 1, price_step do
    local hours = math.min(price_step, slots[1].from - at) / 3600
    more = more + math.max(0, price_at(tariff, at) - dearest) * kw * hours
  end
  return more
end

--- What so many kWh cost that are charged evenly for so many seconds, in these stretches from now on; nil where a price is not known.
--- What does not fit into the stretches is left out.
function M.cost(tariff, now, slots, seconds, kwh)
  local cost, left = 0, seconds
  for _, slot in ipairs(slots) do
    local at = math.max(slot.from, now)
    while at < slot.to and left > 0 do
      local price = price_at(tariff, at)
      if price == math.huge then return nil end
      local length = math.min(price_step - at % price_step, slot.to - at, left)
      cost, left, at = cost + price * kwh * length / seconds, left - length, at + length
    end
  end
  return cost
end

--- Closes the shortest gaps until there are few enough stretches.
function M.few(slots)
  while #slots > most_stretches do
    local shortest = 2
    for i = 3, #slots do
      if slots[i].from - slots[i - 1].to < slots[shortest].from - slots[shortest - 1].to then shortest = i end
    end
    slots[shortest - 1].to = slots[shortest].to
    table.remove(slots, shortest)
  end
  return slots
end

local steady_within = 1800 -- seconds by which the beginning of the last hours may be too early

-- Without prices: one stretch before the deadline. What is missing lessens while it charges, so that the beginning would move on: it
-- stays where it was, unless more is missing now.
local function last_hours(kept, now, deadline, hours)
  local from = deadline - hours * 3600
  local same = kept and kept.deadline == deadline and kept.from <= from
  if same and (kept.from <= now or from - kept.from < steady_within) then from = kept.from end
  if kept then kept.deadline, kept.from = deadline, from end
  return { { from = from, to = deadline } }
end

--- The stretches in which to charge for so many hours, and whether there is less time than it takes. room: seconds that may be
--- left out. waits: it does not charge yet, so that a part may be bought later at the same price. kept: a table that the automation keeps
--- for a plan without prices.
function M.slots(tariff, now, deadline, hours, room, waits, kept)
  local left = (deadline - now) / 3600
  if hours >= left then return { { from = now, to = deadline } }, true end
  if not tariff then return last_hours(kept, now, deadline, hours) end
  local parts = tariff:cheapest { hours = math.max(hours, 0.02), from = math.floor(now), to = math.floor(deadline) }
  if waits then parts = beside_the_next(tariff, parts) end
  return without_scraps(join(parts), room)
end

--- Notes that a stay at the plug began too late for its deadline, so that charging goes on after it. f: the facts of a look.
function M.note_late(memory, f)
  local since = memory.session and memory.session.since
  if f.late and since then memory.overdue = { deadline = f.deadline, since = since } end
end

local seen_within = 300 -- seconds after the deadline in which the car must be seen: later it may have left and come back

--- Whether a look at a moment is the one that follows a deadline for which the time was too short.
function M.follows_late(memory, at)
  local overdue = memory.overdue
  return overdue ~= nil and at >= overdue.deadline and at - overdue.deadline <= seen_within
end

--- Whether charging goes on after the deadline of this stay at the plug, for what takes so many seconds.
function M.goes_on_late(memory, now, seconds)
  local overdue, session = memory.overdue, memory.session
  if not overdue or now < overdue.deadline or seconds <= 0 then return false end
  local same = session ~= nil and session.plugged == true and session.since == overdue.since
  if not same or not M.follows_late(memory, now) and now >= (overdue.ends or 0) then
    memory.overdue = nil
    return false
  end
  overdue.ends = now + seconds * 1.25 + bridge -- by then it is looked at again
  return true
end

-- The rate falls towards the end, and a plan that ends on the dot is late: both matter only near the deadline.
local function reserve(bare, tight)
  if tight then return bare * 1.05 + 0.15 end
  return bare * 1.01 + 0.02
end

--- The same for what is missing, with a reserve. steady: what the plan leaves over is charged after its last stretch.
function M.of(tariff, now, deadline, bare, steady, waits, kept)
  local hours = reserve(bare, not steady or not tariff)
  local slots, late = M.slots(tariff, now, deadline, hours, (hours - bare) * 3600, waits, kept)
  if not tariff then return slots, bare * 3600 > deadline - now end -- what begins with its reserve is not late
  local spare = (reserve(bare, true) - hours) * 3600
  local tight = spare > 0 and slots[#slots].to > deadline - spare
  if steady and not late and tight then return M.of(tariff, now, deadline, bare, false, waits, kept) end
  return slots, late
end

return M
