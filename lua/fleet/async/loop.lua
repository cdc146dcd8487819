-- The event loop: it takes replies from the engine in C, wakes promises and resumes tasks. For hosts it is fleet.loop.
--
-- A task that waits has a promise, a table that is resolved once. task.lua sets M.resume, which continues a task. Queueing and waking
-- allocate nothing, so that a failed allocation loses no wake-up. Decisions, sleeps and ages use loop.clock; deadlines of the transport use
-- real time.

local compat = require "fleet.util.compat"
local core = require "fleet.core"
local errors = require "fleet.util.errors"

local M = {
  generation = 1, -- grows when a forked child makes its own engine
}
local loop = { speed = 1, clock = core.clock } -- fleet.loop
M.loop = loop

local engine -- made at first use: loading opens nothing
local queue_first, queue_last -- the runnable tasks
local asleep = false -- whether promises wait for a time
local ticks = 0 -- nested ticks in progress
local exported = false -- whether a host waits on the descriptor
local watches = {} -- by descriptor number: the newest watch
local replies_per_tick, tasks_per_tick = 8, 16

local function open()
  engine = engine or assert(core.loop())
  return engine
end

function M.now()
  return (loop.clock())
end

--- Real seconds, for the deadlines of transports.
function M.real()
  return (core.clock())
end

--- Real seconds, and the loop's clock: mono, wall.
function M.times()
  local real, wall = core.clock()
  if loop.clock == core.clock then return real, real, wall end
  return real, loop.clock()
end

-- ---- the queue of runnable tasks ----

-- Wakes a host that waits on the descriptor. During a tick this happens at its end.
local function notify_host()
  if exported and ticks == 0 and engine then engine:timeout(0) end
end

--- Queues a runnable task.
function M.enqueue(entry)
  entry.following = nil
  if queue_last then queue_last.following = entry else queue_first = entry end
  queue_last = entry
  if exported then notify_host() end
end

-- ---- promises ----

--- A new promise. All its fields are preallocated: setting them later cannot fail. token = false: it is for a request.
function M.promise(token)
  return { token = token, transfer = false, done = false, value = nil, task = nil, cancelled = nil, outside = false, following = nil }
end

--- Resolves a promise and queues its task; later calls do nothing. It calls no function, because a call may allocate.
function M.wake(promise, value)
  if promise.done then return end
  local task = promise.task
  promise.done, promise.value = true, value
  promise.task = nil -- the timer may keep the promise for long, and must not keep the task alive
  if task then
    task.following = nil
    if queue_last then queue_last.following = task else queue_first = task end
    queue_last = task
    if exported then notify_host() end
  end
  if promise.outside and exported then
    engine:untaken()
    notify_host()
  end
end

--- Wakes the promise after so many seconds of the loop's clock.
function M.wake_after(promise, seconds)
  open():sleep(promise, M.now() + math.max(seconds, 0))
  asleep = true
end

-- Real seconds until the first sleeping promise is due, or nil.
local function seconds_asleep()
  local at = engine:next_at()
  return at and math.max(at - M.now(), 0) / loop.speed or nil
end

-- ---- requests on the wire ----

--- Starts a request with the engine's method (submit or submit_raw). Returns its promise, or nil, err, kind. A caller that must not lose
--- the reply passes a request with promise = false: the promise is stored there first, and gets a token once the request is sent.
function M.submit(method, request, ...)
  local opened, promise = open(), M.promise(false)
  if type(request) == "table" and request.promise == false then request.promise = promise end
  local sent, err, kind = opened[method](opened, promise, request, ...)
  return sent and promise, err, kind
end

--- Cancels the request of a promise; its reply is then "cancelled".
function M.cancel(promise)
  engine:cancel(promise)
  notify_host()
end

-- ---- one tick ----

-- Takes a few replies at a time: the following requests of their tasks are sent before further replies are taken, so that many requests are
-- spread instead of one burst. Between taking a reply and queueing its task no function is called that may allocate: the engine allocates
-- the reply object before it gives the reply away. step: the engine's method (step or tick). Returns whether watched descriptors are ready.
local function deliver_replies(step, seconds)
  local promise, reply, more, ready, task
  promise, reply, more, ready, asleep = step(engine, seconds)
  for i = 1, replies_per_tick do
    if not promise then break end
    task = promise.task
    promise.done, promise.value = true, reply
    if task then
      promise.task, task.following = nil, nil
      if queue_last then queue_last.following = task else queue_first = task end
      queue_last = task
    end
    if exported then
      if promise.outside then engine:untaken() end
      notify_host()
    end
    if not more or i == replies_per_tick then break end
    promise, reply, more = engine:take()
  end
  return ready
end

-- Errors of watch callbacks are reported, not raised: the code that runs the loop did not cause them.
local function call_watches()
  local fd, events = engine:ready()
  while fd do
    local watch = watches[fd]
    local ok, failure = true, nil
    if watch then ok, failure = pcall(watch.fn, events) end
    if not ok then io.stderr:write("fleet: the function of a watch failed: ", tostring(failure), "\n") end
    fd, events = engine:ready()
  end
end

local function wake_due()
  local time = M.now()
  repeat
    local promise = engine:due(time)
    if promise then M.wake(promise) end
  until not promise
end

-- The task that was taken from the queue and does not run yet: an error in between puts it back.
local entered = false

-- Runs a few of the runnable tasks: a task that queues itself again must not starve the descriptors, and a hundred new tasks must not block
-- the host. In a forked child the rest of the queue belongs to the parent.
local function run_runnable()
  local stop, generation, outer = queue_last, M.generation, entered
  for _ = 1, tasks_per_tick do
    local entry = queue_first
    if not entry then return end
    entered = entry
    queue_first = entry.following
    if not queue_first then queue_last = nil end
    M.resume(entry)
    entered = outer
    if entry == stop or M.generation ~= generation then return end
  end
end

-- After an error, puts the task back. A task that is resumed once too often continues to wait.
local function put_back()
  if not entered then return end
  M.enqueue(entered)
  entered = false
end

local function tick_once(step, seconds)
  ticks = ticks + 1
  if deliver_replies(step, seconds) then call_watches() end
  if asleep then wake_due() end
  if queue_first then run_runnable() end
end

-- One tick. Ticks may nest: a coroutine outside tasks waits inside one. step: the name of the engine's method.
local function tick(step, seconds)
  local before = ticks
  local ok, failure = pcall(tick_once, (engine or open())[step], seconds)
  ticks = before
  if ok then return end
  put_back()
  if ticks == 0 and exported then loop.timeout() end
  error(failure, 0)
end

--- The hook that waits: returns when the descriptor is ready or the seconds (nil: no limit) have passed. A host may replace it.
function loop.wait(seconds)
  (engine or open()):wait(seconds)
end
local own_wait = loop.wait

--- Raises inside a finaliser, which runs in the middle of the loop or a call. Lua can detect this since 5.4.4.
function M.refuse_finaliser()
  if not compat.in_finaliser() then return end
  errors.usage("called from a finaliser (__gc), which must not wait: leave the work to a task")
end

--- Waits for the next event, then runs one tick.
function M.wait_and_tick()
  if loop.wait == own_wait and not exported then
    return tick("tick", queue_first and 0 or asleep and seconds_asleep() or nil)
  end
  loop.wait(loop.timeout())
  tick("step")
end

--- For a coroutine outside tasks: runs the loop until the promise is resolved.
function M.wait_outside(promise)
  if promise.done then return promise.value end
  M.refuse_finaliser()
  promise.outside = true
  while not promise.done do M.wait_and_tick() end
  promise.outside = false
  if exported then
    engine:taken()
    if ticks == 0 then loop.timeout() end
  end
  return promise.value
end

-- ---- the interface for hosts ----

--- Handles ready events without waiting. A step inside a step returns at once; a task that calls it causes one. Errors of tasks and watches
--- are not raised here: they keep them. If a host waits on the descriptor, it becomes readable again when the next step is due.
function loop.step()
  if ticks > 0 then return end
  tick("step")
  if exported then loop.timeout() end
end

--- Seconds of real time until step is due, or nil: only the descriptor matters. Also arms the descriptor's timer.
function loop.timeout()
  return (engine or open()):timeout(queue_first and 0 or asleep and seconds_asleep() or nil)
end

--- Whether step has work without waiting (LuaSocket's name).
function loop.dirty()
  return loop.timeout() == 0
end

--- The one descriptor to wait for; the same integer for the life of the loop. Waiting for it alone is enough: any work for step makes it
--- readable.
function loop.fd()
  local fd = open():fd()
  exported = true
  loop.timeout()
  return fd
end
loop.pollfd, loop.getfd = loop.fd, loop.fd

--- The events to wait for on it.
function loop.events()
  return "r"
end

local modes = { r = true, w = true, rw = true }
local watch_mt = { __name = "fleet.watch", __index = {} }
function watch_mt.__index:close()
  local fd = self.fd
  self.fd = nil
  if not fd or watches[fd] ~= self then return end -- its number belongs to another watch by now
  watches[fd] = nil
  engine:unwatch(fd)
end
watch_mt.__close = watch_mt.__index.close

--- Calls fn("r"|"w"|"rw") in step whenever the descriptor is ready. fn must not wait. Returns a handle with close(). watch(fd, mode, fn)
--- and loop:watch(fd, mode, fn) are the same.
function loop.watch(fd, mode, fn, ...)
  if fd == loop then return loop.watch(mode, fn, ...) end
  if not modes[mode] then errors.usage 'watch: mode must be "r", "w" or "rw"' end
  if type(fn) ~= "function" then errors.usage "watch: a function is needed" end
  if type(fd) ~= "number" or fd % 1 ~= 0 or math.abs(fd) >= 2 ^ 31 then -- a larger number would be truncated to another descriptor
    errors.usage("watch: a descriptor (a whole number) is needed, got %s", tostring(fd))
  end
  local watch, before = setmetatable({ fd = fd, fn = fn }, watch_mt), watches[fd]
  watches[fd] = watch
  local watched, err, kind = open():watch(fd, mode)
  if watched then return watch end
  watches[fd] = before
  return nil, err, kind
end

-- ---- fork ----

function M.forked()
  return engine ~= nil and engine:forked()
end

--- In a forked child: makes a new engine and forgets what the parent waits for.
function M.reopen()
  local parents = engine
  engine, queue_first, queue_last, watches = nil, nil, nil, {}
  asleep, entered = false, false
  M.generation = M.generation + 1
  open()
  exported = exported and engine:take_fd(parents) -- a host waits on the descriptor number that it knows
end

return M
