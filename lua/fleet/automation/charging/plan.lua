-- In which stretches of time a car charges: the cheapest of a tariff before a deadline. Pure.

local M = {}

local bridge = 900 -- a gap that is shorter is not worth two commands
local most_stretches = 4 -- of one night; each is a schedule in the car
M.bridge = bridge

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

--- The stretches in which to charge for so many hours, and whether there is less time than it takes. room: seconds that may be
--- left out.
function M.slots(tariff, now, deadline, hours, room)
  local left = (deadline - now) / 3600
  if hours >= left then return { { from = now, to = deadline } }, true end
  if not tariff then return { { from = deadline - hours * 3600, to = deadline } } end
  local parts = tariff:cheapest { hours = math.max(hours, 0.02), from = math.floor(now), to = math.floor(deadline) }
  return without_scraps(join(parts), room)
end

-- The rate falls towards the end, and a plan that ends on the dot is late: both matter only near the deadline.
local function reserve(bare, tight)
  if tight then return bare * 1.05 + 0.15 end
  return bare * 1.01 + 0.02
end

--- The same for what is missing, with a reserve. steady: what the plan leaves over is charged after its last stretch.
function M.of(tariff, now, deadline, bare, steady)
  local hours = reserve(bare, not steady)
  local slots, late = M.slots(tariff, now, deadline, hours, (hours - bare) * 3600)
  local spare = (reserve(bare, true) - hours) * 3600
  if steady and not late and spare > 0 and slots[#slots].to > deadline - spare then return M.of(tariff, now, deadline, bare, false) end
  return slots, late
end

return M
