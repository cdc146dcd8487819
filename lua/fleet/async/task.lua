-- Tasks and the loop: who waits for what, and what runs next.
--
-- Everything that waits does so on a waiter: a table that is woken once. A task yields until its waiter is woken; any
-- other coroutine (the main one, a host's, a generator inside a task) calls loop.wait and turns the loop itself, so a
-- host replaces only the waiting. Decisions, sleeps and ages read loop.clock; transport deadlines stay on real time.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local check_options = require "fleet.util.check_options"
local compat = require "fleet.util.compat"

local M = { generation = 1 } -- grows when a forked child makes its own engine

local unpack, close_coroutine = compat.unpack, compat.close_coroutine

local engine -- opened by whatever first needs it: loading opens nothing
local loop = { speed = 1 } -- fleet.loop
M.loop = loop

local task_of = setmetatable({}, { __mode = "k" }) -- coroutine -> task
local runnable, first, last = {}, 1, 0
local replies = {} -- request id -> waiter
local next_id = 0
local watches = {} -- descriptor -> watch
local replies_per_turn = 8
local alive = 0 -- tasks that have not ended

local function open()
  engine = assert(core.loop())
  return engine
end

-- ---- the clock and the timers: a heap ordered by time ----

loop.clock = core.clock

local function now()
  return (loop.clock())
end
M.now = now

local heap, heap_size, pushed = {}, 0, 0

-- Of two that are due at the same time the one that began to wait first wakes first.
local function before(a, b)
  if a.at ~= b.at then return a.at < b.at end
  return a.order < b.order
end

local function heap_push(entry)
  heap_size, pushed = heap_size + 1, pushed + 1
  entry.order = pushed
  local i = heap_size
  while i > 1 do
    local up = (i - i % 2) / 2
    if before(heap[up], entry) then break end
    heap[i], i = heap[up], up
  end
  heap[i] = entry
end

local function heap_sink(entry)
  local i = 1
  while true do
    local child = i * 2
    if child > heap_size then break end
    if child < heap_size and before(heap[child + 1], heap[child]) then child = child + 1 end
    if before(entry, heap[child]) then break end
    heap[i], i = heap[child], child
  end
  heap[i] = entry
end

local function heap_pop()
  local top, tail = heap[1], heap[heap_size]
  heap[heap_size], heap_size = nil, heap_size - 1
  if heap_size > 0 then heap_sink(tail) end
  return top
end

local function forget_woken_timers()
  while heap_size > 0 and heap[1].waiter.done do heap_pop() end
end

-- ---- waiters ----

local function enqueue(task)
  last = last + 1
  runnable[last] = task
end

--- Wakes a waiter; later wakes are ignored.
local function wake(waiter, value)
  if waiter.done then return end
  waiter.done, waiter.value = true, value
  if waiter.task then enqueue(waiter.task) end
  waiter.task = nil -- its timer may lie in the heap for long, and must not keep the task alive
end
M.wake = wake

local function cancelled_error(text)
  return errors.new("cancelled", text or "the task was cancelled")
end

local function current_task()
  return task_of[coroutine.running()]
end
M.current = current_task

local turn

local function raise_if_cancelled(task)
  if task and task.cancelled then error(cancelled_error(), 0) end
end

--- Suspends the caller until the waiter is woken and returns the waiter's value. In a task it yields, elsewhere it turns
--- the loop. Cancelling the task raises here, unless the waiter is a request on the wire, which then ends as cancelled.
local function await(waiter)
  local task = current_task()
  if not waiter.token then raise_if_cancelled(task) end
  if not task then
    while not waiter.done do
      loop.wait(loop.timeout())
      turn()
    end
    return waiter.value
  end
  waiter.task, task.waiter = task, waiter
  while not waiter.done do coroutine.yield() end
  task.waiter, waiter.task = nil, nil -- its timer may stand for long
  if waiter.cancelled then error(cancelled_error(), 0) end
  return waiter.value
end
M.await = await

--- Wakes the waiter after so many seconds of the loop's clock.
local function wake_after(waiter, seconds)
  heap_push { at = now() + seconds, waiter = waiter }
end

--- await, for at most so many seconds of the loop's clock: nil when they have passed.
function M.await_for(waiter, seconds)
  wake_after(waiter, math.max(seconds, 0))
  return await(waiter)
end

--- Sleeps by the loop's clock. seconds: number.
function M.sleep(seconds)
  if type(seconds) ~= "number" or seconds ~= seconds then errors.usage("sleep: seconds must be a number") end
  local waiter = {}
  wake_after(waiter, math.max(seconds, 0))
  await(waiter)
end

-- ---- requests on the wire ----

--- Starts a request with the engine's method (submit or submit_raw) and waits for it. Returns the reply, which the caller
--- closes, or nil, err, kind.
function M.exchange(method, ...)
  raise_if_cancelled(current_task())
  next_id = next_id + 1
  local id = next_id
  local opened = engine or open()
  local token, err, kind = opened[method](opened, id, ...)
  if not token then return nil, err, kind end
  local waiter = { token = token }
  replies[id] = waiter
  return await(waiter)
end

--- Real seconds, for the deadlines of transports.
function M.real()
  return (core.clock())
end

--- Real seconds, and the loop's.
function M.times()
  local real = core.clock()
  if loop.clock == core.clock then return real, real end
  return real, now()
end

-- ---- tasks ----

local task_methods = {}
local task_mt = { __name = "fleet.task", __index = task_methods }
function task_mt.__tostring(task)
  return "fleet.task (" .. task.state .. ")"
end

local function was_cancelled(task)
  return task.cancelled and type(task.failure) == "table" and task.failure.kind == "cancelled"
end

--- An error that nobody waited for is reported once, when its task is forgotten; that a cancelled task ended is none.
local failed_mt = { __name = "fleet.task", __index = task_methods, __tostring = task_mt.__tostring }
function failed_mt.__gc(task)
  if task.seen or was_cancelled(task) then return end
  task.seen = true
  io.stderr:write("fleet: a task failed and nobody waited for it: ", tostring(task.failure), "\n")
end

local function finish(task, ok, ...)
  if task.generation == M.generation then alive = alive - 1 end
  task.state = ok and "done" or "failed"
  if ok then
    task.results = { n = select("#", ...), ... }
  else
    task.failure = ...
    setmetatable(task, failed_mt)
  end
  for _, waiter in ipairs(task.waiters) do wake(waiter) end
  task.waiters = {}
end

local function resume(task)
  if task.state ~= "running" then return end
  local co = task.coroutine
  if task.cancelled and not task.started then return finish(task, false, cancelled_error()) end
  task.started = true
  local function after(ok, ...)
    if coroutine.status(co) ~= "dead" then return end
    if not ok then close_coroutine(co) end -- its to-be-closed variables
    finish(task, ok, ...)
  end
  after(coroutine.resume(co, task.fn, task.arguments))
end

local function body(fn, arguments)
  return fn(unpack(arguments, 1, arguments.n))
end

--- Starts fn(...) as a task; it first runs in the next step of the loop. Returns the task.
function M.spawn(fn, ...)
  if type(fn) ~= "function" then errors.usage("spawn: a function is needed, got " .. type(fn)) end
  local task = setmetatable({
    state = "running", fn = fn, arguments = { n = select("#", ...), ... }, waiters = {}, generation = M.generation,
  }, task_mt)
  task.coroutine = coroutine.create(body)
  task_of[task.coroutine] = task
  alive = alive + 1
  enqueue(task)
  return task
end

--- Waits for the end of the task and returns what its function returned; its error is raised again.
function task_methods:wait()
  if self == current_task() then errors.usage("wait: a task cannot wait for its own end") end
  if self.state == "running" then
    local waiter = {}
    self.waiters[#self.waiters + 1] = waiter
    await(waiter)
  end
  self.seen = true
  if self.state == "failed" then error(self.failure, 0) end
  return unpack(self.results, 1, self.results.n)
end

--- Waits for the end of the task for so many seconds of the loop's clock. Returns whether it has ended.
function M.ended_within(task, seconds)
  if task.state ~= "running" then return true end
  local waiter = {}
  task.waiters[#task.waiters + 1] = waiter
  M.await_for(waiter, seconds)
  return task.state ~= "running"
end

--- Ends the task at its next wait, and one that has not begun at once. A command that was already sent ends as `cancelled`
--- with outcome unknown; every other wait of the task raises an err of kind cancelled, so that it unwinds.
function task_methods:cancel()
  if self.state ~= "running" or self.cancelled then return end
  self.cancelled = true
  local waiter = self.waiter
  if not waiter or waiter.done then return end
  if waiter.token then return engine:cancel(waiter.token) end
  waiter.cancelled = true
  wake(waiter)
end

task_methods.close = task_methods.cancel
task_mt.__close = task_methods.cancel
failed_mt.__close = task_methods.cancel

--- Runs fn(...) to its end whatever happens to the caller: what must not be abandoned half-way, such as a token exchange,
--- is a task of its own.
function M.shield(fn, ...)
  return M.spawn(fn, ...):wait()
end

-- ---- the loop ----

-- A few replies at a time: what their tasks send next is on its way before the others are looked at, so that many requests
-- neither leave nor come back in one burst.
local function deliver_replies()
  for _ = 1, replies_per_turn do
    local id, reply = engine:take()
    if not id then return end
    local waiter = replies[id]
    replies[id] = nil
    wake(waiter, reply)
  end
end

-- Whoever happens to turn the loop has no part in what a watch does wrong.
local function call_watch(watch, events)
  local ok, failure = pcall(watch.fn, events)
  if not ok then io.stderr:write("fleet: the function of a watch failed: ", tostring(failure), "\n") end
end

local function call_watches()
  local fd, events = engine:ready()
  while fd do
    local watch = watches[fd]
    if watch then call_watch(watch, events) end
    fd, events = engine:ready()
  end
end

local function wake_due()
  if heap_size == 0 then return end
  local time = now()
  while heap_size > 0 and heap[1].at <= time do wake(heap_pop().waiter) end
end

-- Only what is runnable now: a task that keeps itself runnable must not starve the descriptors.
local function run_runnable()
  local stop = last
  while first <= stop do
    local task = runnable[first]
    runnable[first], first = nil, first + 1
    resume(task)
  end
end

local function turn_once()
  local _ = engine or open()
  engine:step()
  deliver_replies()
  call_watches()
  wake_due()
  run_runnable()
end

local turning = 0 -- turns that are under way
local exported = false -- a host waits on the descriptor

-- One turn of everything. It may run inside itself: a coroutine that is no task waits in the middle of one.
function turn()
  turning = turning + 1
  local ok, failure = pcall(turn_once)
  turning = turning - 1
  if not ok then error(failure, 0) end
end

--- Handles what is ready, without waiting. A step inside a step, which is what a task does that calls it, returns at once.
--- Raises nothing on behalf of tasks and watches: they keep their errors. Where a host waits on the descriptor, it becomes
--- readable again when the next step is due.
function loop.step()
  if turning > 0 then return end
  turn()
  if exported then loop.timeout() end
end

--- Seconds of real time until step is due, or nil: only the descriptor matters. Also arms the descriptor's timer.
function loop.timeout()
  local _ = engine or open()
  if first <= last then return engine:timeout(0) end
  forget_woken_timers()
  if heap_size == 0 then return engine:timeout() end
  return engine:timeout(math.max(heap[1].at - now(), 0) / loop.speed)
end

--- Whether step has something to do without waiting (LuaSocket's word).
function loop.dirty()
  return loop.timeout() == 0
end

--- The one descriptor to wait for; the same integer for the life of the loop.
function loop.fd()
  local fd = (engine or open()):fd()
  exported = true
  loop.timeout()
  return fd
end
loop.pollfd, loop.getfd = loop.fd, loop.fd

--- What to wait for on it.
function loop.events()
  return "r"
end

--- The hook that waits: returns when the descriptor is ready or the seconds (nil: no limit) have passed. A host replaces it.
function loop.wait(seconds)
  (engine or open()):wait(seconds)
end

local watch_mt = { __name = "fleet.watch", __index = {} }
function watch_mt.__index:close()
  if self.fd and watches[self.fd] == self then -- the number may be another descriptor's by now
    watches[self.fd] = nil
    if not engine:forked() then engine:watch(self.fd) end
  end
  self.fd = nil
end
watch_mt.__close = watch_mt.__index.close

--- Calls fn("r"|"w"|"rw") in step whenever the descriptor is ready. fn must not wait. Returns a handle with close().
--- watch(fd, mode, fn) and loop:watch(fd, mode, fn) are the same.
function loop.watch(fd, mode, fn, ...)
  if fd == loop then return loop.watch(mode, fn, ...) end
  if mode ~= "r" and mode ~= "w" and mode ~= "rw" then errors.usage("watch: mode must be \"r\", \"w\" or \"rw\"") end
  if type(fn) ~= "function" then errors.usage("watch: a function is needed") end
  local ok, err, kind = (engine or open()):watch(fd, mode)
  if not ok then return nil, err, kind end
  watches[fd] = setmetatable({ fd = fd, fn = fn }, watch_mt)
  return watches[fd]
end

--- Runs fn(...) as a task and turns the loop until all tasks have ended. Returns what fn returned; its error is raised.
function M.run(fn, ...)
  local task = M.spawn(fn, ...)
  if current_task() then return task:wait() end
  while alive > 0 do
    loop.wait(loop.timeout())
    turn()
  end
  return task:wait()
end

-- ---- calls under way ----

local under_way, unknown, idle = 0, {}, nil
local most_reported = 1000 -- a program that never drains must not grow

--- A call begins; fork and drain are told.
function M.enter()
  under_way = under_way + 1
end

--- A call has ended, with err or without.
function M.leave(err)
  under_way = under_way - 1
  if err and err.outcome == "unknown" and #unknown < most_reported then unknown[#unknown + 1] = err end
  if under_way == 0 and idle then wake(idle) end
end

--- Writes what stores hold back; whoever makes clients sets it. Returns true, or nil, err, kind.
function M.save()
  return true
end

--- Finishes what is in flight, saves, and reports: returns the list of errs with outcome unknown since the last drain, or
--- nil, err, kind when a store could not save.
function M.drain()
  while under_way > 0 do
    idle = idle and not idle.done and idle or {}
    await(idle)
  end
  local ok, err, kind = M.save()
  if not ok then return nil, err, kind end
  local reported = unknown
  unknown = {}
  return reported
end

-- ---- fork ----

--- Whether clients of this generation can still be used: after a fork the child must not touch the parent's connections.
function M.usable(generation)
  return generation == M.generation and not (engine and engine:forked())
end

--- In a forked child, a new engine; what the parent waited for is forgotten.
function M.reopen_after_fork()
  if not (engine or open()):forked() then return end
  open()
  M.generation = M.generation + 1
  replies, watches, heap, heap_size, runnable, first, last, alive, under_way = {}, {}, {}, 0, {}, 1, 0, 0, 0
end

-- ---- many at once ----

local map_options = { "concurrency", "progress", "skip" }

local function check_map(list, fn, options)
  if type(list) ~= "table" then errors.usage("map: a list is needed, got " .. type(list)) end
  if type(fn) ~= "function" then errors.usage("map: a function is needed, got " .. type(fn)) end
  check_options.names("map", "option", options, map_options)
  local concurrency = options.concurrency or 16
  local sound = type(concurrency) == "number" and concurrency >= 1
  if not sound then errors.usage("map: concurrency must be 1 or more") end
end

local function map_one(results, i, item, fn)
  local function record(ok, value, err)
    if not ok then return { item = item, ok = false, err = value } end
    return { item = item, ok = value ~= nil and value ~= false or err == nil, value = value, err = err }
  end
  results[i] = record(pcall(fn, item))
end

local function wait_for_all(tasks)
  for _, task in ipairs(tasks) do task:wait() end
end

--- Calls fn(item) for every item of the list in tasks, at most options.concurrency (default 16) at once. fn returns a
--- value or nil, err. options.progress(done, total, result) is called after each; options.skip(item) leaves one out.
--- Returns a list of { item =, ok =, value =, err =, skipped = }; one failure never stops the rest.
function M.map(list, fn, options)
  options = options == nil and {} or options
  check_map(list, fn, options)
  local results, following, done, total = {}, 1, 0, #list
  local function worker()
    while following <= total do
      local i = following
      following = i + 1
      if options.skip and options.skip(list[i]) then
        results[i] = { item = list[i], ok = false, skipped = true }
      else
        map_one(results, i, list[i], fn)
      end
      done = done + 1
      if options.progress then options.progress(done, total, results[i]) end
    end
  end
  local workers = {}
  for i = 1, math.min(options.concurrency or 16, total) do workers[i] = M.spawn(worker) end
  local ok, failure = pcall(wait_for_all, workers)
  if not ok then
    following = total + 1 -- nothing new begins for a caller that was cancelled
    error(failure, 0)
  end
  return results
end

return M
