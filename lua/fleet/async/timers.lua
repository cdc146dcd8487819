-- Who wakes when: a heap of waiters ordered by time.
--
-- Pushing is the only step that takes memory, and it takes it before it changes anything: an allocation that fails leaves
-- the heap as it was.

local M = { pending = 0 } -- so many, also of those that were woken by something else

local heap, size, pushed = {}, 0, 0

-- Of two that are due at the same time the one that began to wait first wakes first.
local function before(a, b)
  if a.at ~= b.at then return a.at < b.at end
  return a.order < b.order
end

local function rise(entry, i)
  while i > 1 do
    local up = (i - i % 2) / 2
    if before(heap[up], entry) then break end
    heap[i], i = heap[up], up
  end
  heap[i] = entry
end

local function sink(entry)
  local i = 1
  while true do
    local child = i * 2
    if child > size then break end
    if child < size and before(heap[child + 1], heap[child]) then child = child + 1 end
    if before(entry, heap[child]) then break end
    heap[i], i = heap[child], child
  end
  heap[i] = entry
end

function M.push(waiter, at)
  local entry = { at = at, order = pushed + 1, waiter = waiter }
  heap[size + 1] = entry
  size, pushed = size + 1, pushed + 1
  M.pending = size
  rise(entry, size)
end

local function pop()
  local top, tail = heap[1], heap[size]
  heap[size], size = nil, size - 1
  M.pending = size
  if size > 0 then sink(tail) end
  return top
end

--- The time of the next one, or nil. Those that were woken by something else are forgotten.
function M.next_at()
  while size > 0 and heap[1].waiter.done do pop() end
  return size > 0 and heap[1].at or nil
end

--- Takes the waiter that is due at that time, or nil.
function M.take_due(time)
  if size > 0 and heap[1].at <= time then return pop().waiter end
end

function M.forget_all()
  heap, size, M.pending = {}, 0, 0
end

return M
