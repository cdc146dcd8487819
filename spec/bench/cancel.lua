-- The budget `cancel`: cancelling one of 10,000 sleeping tasks, until it has unwound, against one of 100.

local fleet = require "fleet"

local batches, batch = 25, 50

local function asleep(count)
  local tasks = {}
  for i = 1, count do tasks[i] = fleet.spawn(fleet.sleep, 1e6 + i) end
  repeat
    fleet.loop.step()
    local all = true
    for i = 1, count do all = all and tasks[i].waiter ~= nil end
  until all
  return tasks
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
local function measured(count)
  local tasks, least = asleep(count), math.huge
  collectgarbage "stop" -- it walks over whatever lives, and is measured elsewhere
  for _ = 1, batches do
    local some, step = {}, #tasks // batch
    for i = batch, 1, -1 do some[#some + 1] = table.remove(tasks, (i - 1) * step + 1) end
    least = math.min(least, cancelled(some))
    for _, task in ipairs(asleep(batch)) do tasks[#tasks + 1] = task end
  end
  collectgarbage "restart"
  for _, task in ipairs(tasks) do task:cancel() end
  repeat fleet.loop.step() until tasks[#tasks].state == "failed"
  return least
end

local few = measured(100)
local many = measured(10000)
print(string.format("cancel %.2f 2 %s", many / few, many / few <= 2 and "ok" or "over"))
print(string.format("cancel: %.1f us of 10,000 tasks, %.1f us of 100", many * 1e6, few * 1e6))
