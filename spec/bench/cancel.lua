-- The budget `cancel`: cancelling one of 10,000 sleeping tasks, until it has unwound, against one of 100: whether it grows with their
-- number. Both have slept while the process did something else, so that no cache holds them: 100 that were made a moment before lie in
-- the processor's cache whole, 10,000 in none, and what is then compared is the memory of the machine. What those 100 take is told, too.

local fleet = require "fleet"

local batches, batch = 25, 50

local function asleep(count)
  local tasks = {}
  for i = 1, count do tasks[i] = fleet.spawn(fleet.sleep, 1e6 + i) end
  repeat
    fleet.loop.step()
    local all = true
    for i = 1, count do all = all and tasks[i].promise ~= nil end
  until all
  return tasks
end

local other = {}
for i = 1, 4e6 do other[i] = i end -- 64 MB: more than caches hold

local function do_something_else()
  local sum = 0
  for i = 1, #other, 4 do sum = sum + other[i] end
  return sum
end

local function cancelled(some)
  local before = os.clock()
  for i = 1, #some do some[i]:cancel() end
  repeat fleet.loop.step() until some[#some].state == "failed"
  local seconds = os.clock() - before
  for i = 1, #some do assert(some[i].failure.kind == "cancelled") end
  return seconds / #some
end

-- Tasks from all over the list; the least of some batches counts, because what else the machine does only adds.
-- between: what the process does while they sleep.
local function measured(count, between)
  local tasks, least = asleep(count), math.huge
  collectgarbage "stop" -- it walks over whatever lives, and is measured elsewhere
  for _ = 1, batches do
    local some, step = {}, #tasks // batch
    for i = batch, 1, -1 do some[#some + 1] = table.remove(tasks, (i - 1) * step + 1) end
    between()
    least = math.min(least, cancelled(some))
    for _, task in ipairs(asleep(batch)) do tasks[#tasks + 1] = task end
  end
  collectgarbage "restart"
  for _, task in ipairs(tasks) do task:cancel() end
  repeat fleet.loop.step() until tasks[#tasks].state == "failed"
  return least
end

local few = measured(100, do_something_else)
local many = measured(10000, do_something_else)
local at_once = measured(100, function() end)
print(string.format("cancel %.2f 2 %s", many / few, many / few <= 2 and "ok" or "over"))
print(string.format("cancel: %.1f us of 10,000 tasks, %.1f us of 100, %.1f us of 100 that a cache holds", many * 1e6, few * 1e6,
  at_once * 1e6))
