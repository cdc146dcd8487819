-- Tasks: coroutines that the loop runs. Waiting works inside and outside tasks.
--
-- A task yields until its promise is woken. Any other coroutine (the main one, a host's, a generator inside a task) calls loop.wait and
-- runs the loop itself, so that a host only needs to replace the waiting. A finaliser must not wait.

local compat = require "fleet.util.compat"
local core = require "fleet.core"
local errors = require "fleet.util.errors"
local scheduler = require "fleet.async.loop"

local M = {}

local unpack, close_coroutine, running = compat.unpack, compat.close_coroutine, compat.running
local coroutine = compat.coroutine
local yield, resume, yieldable = coroutine.yield, coroutine.resume, coroutine.isyieldable or function() return true end
local task_of = setmetatable({}, { __mode = "k" }) -- coroutine -> task
local alive = 0 -- tasks that have not ended

-- ---- waiting ----

local function cancelled_error()
  return errors.new("cancelled", "the task was cancelled")
end

local function current() return task_of[running()] end
M.current = current

local function raise_if_cancelled(task)
  if task and task.cancelled then error(cancelled_error(), 0) end
end

-- A task yields until the promise is woken. Lua 5.1 and LuaJIT raise an error where a C function is in between: a later wake-up by the
-- promise of such a wait would queue the task twice.
local function yield_until_woken(task, promise)
  local failed = task.promise
  if failed then failed.task = nil end
  promise.task, task.promise = task, promise
  while not promise.done do yield() end
  task.promise, promise.task = nil, nil
end

--- Suspends the caller until the promise is woken and returns the promise's value. A task yields; other coroutines run the loop. Cancelling
--- the task raises here, unless the promise is a request on the wire, which then ends as cancelled.
function M.await(promise)
  local task = current()
  if not promise.token then raise_if_cancelled(task) end
  if not (task and yieldable()) then return scheduler.wait_outside(promise) end
  local limit = not promise.token and task.limit
  if limit then scheduler.wake_after(promise, limit - scheduler.now()) end
  yield_until_woken(task, promise)
  if promise.cancelled then error(cancelled_error(), 0) end
  if limit and scheduler.now() >= limit then error(errors.new("timeout", "the time for it has passed"), 0) end
  return promise.value
end
local await = M.await

--- Calls fn(...). In a task, its waits end with an err of kind timeout when so many real seconds have passed; requests on the wire have
--- timeouts of their own.
function M.within(seconds, fn, ...)
  local task = current()
  if not task then return fn(...) end
  local before = task.limit
  task.limit = math.min(scheduler.now() + seconds * scheduler.loop.speed, before or math.huge)
  local ran, a, b, c = compat.pcall(fn, ...)
  task.limit = before
  if not ran then error(a, 0) end
  return a, b, c
end

--- await for at most so many seconds of the loop's clock; nil when they have passed.
function M.await_for(promise, seconds)
  scheduler.wake_after(promise, seconds)
  return await(promise)
end

--- await for a task that waits for further work, at most so many seconds (nil: no limit): run() does not wait for its end.
function M.await_work(promise, seconds)
  local task = current()
  raise_if_cancelled(task)
  if seconds then scheduler.wake_after(promise, seconds) end
  alive = alive - 1
  yield_until_woken(task, promise)
  alive = alive + 1
  if promise.cancelled then error(cancelled_error(), 0) end
end

--- Sleeps by the loop's clock. seconds: number.
function M.sleep(seconds)
  if type(seconds) ~= "number" or seconds ~= seconds then errors.usage("sleep: seconds must be a number") end
  M.await_for(scheduler.promise(), seconds)
end

--- Starts a request with the engine's method (submit or submit_raw) and waits for it. Returns the reply, which the caller
--- closes, or nil, err, kind.
function M.exchange(method, ...)
  raise_if_cancelled(current())
  local promise, err, kind = scheduler.submit(method, ...)
  if not promise then return nil, err, kind end
  return await(promise)
end

-- ---- errors that are not passed to task:wait() ----

local function name_of(task)
  if task.label then return "'" .. task.label .. "'" end
  local info = debug.getinfo(task.call.fn, "S")
  return "of the function at " .. info.short_src .. ":" .. info.linedefined
end

-- The text of a raised table that has none: its message, else its members.
local function described(failure)
  local mt = type(failure) == "table" and getmetatable(failure)
  if type(failure) ~= "table" or type(mt) == "table" and mt.__tostring then return tostring(failure) end
  if type(failure.message) == "string" then return failure.message end
  local parts = {}
  for name, value in pairs(failure) do parts[#parts + 1] = tostring(name) .. " = " .. tostring(value) end
  table.sort(parts)
  return "{ " .. table.concat(parts, ", ") .. " }"
end

-- Reports the error when the task is collected. The finaliser belongs to a separate table, made when it is needed: giving one to an older
-- object makes Lua walk through all objects made since.
local report_mt = {}
function report_mt.__gc(report)
  if report.seen then return end
  report.seen = true
  local text = "fleet: the task %s failed, and no task:wait() took its error: %s\n%s\n"
  io.stderr:write(string.format(text, report.name, described(report.failure), report.traceback))
end

local function was_cancelled(task)
  return task.cancelled and type(task.failure) == "table" and task.failure.kind == "cancelled"
end

local function traceback_of(task)
  return (string.gsub(debug.traceback(task.coroutine), "\n[^\n]*fleet/async/task%.lua[^\n]*$", "")) -- without our own frame
end

local function make_report(task)
  task.report = compat.finalised({
    seen = false, failure = task.failure, name = name_of(task), traceback = task.lost or traceback_of(task),
  }, report_mt)
end

-- ---- tasks ----

local task_methods = {}
local task_mt = { __name = "fleet.task", __index = task_methods }
function task_mt.__tostring(task)
  return "fleet.task (" .. (task.label and task.label .. ", " or "") .. task.state .. ")"
end

-- Wakes the tasks that wait for this one. It allocates nothing, so it cannot fail.
local function finish(task, ok, failure)
  if task.generation == scheduler.generation then alive = alive - 1 end
  task.state, task.failure = ok and "done" or "failed", failure
  if not ok and not was_cancelled(task) then pcall(make_report, task) end
  if not ok then close_coroutine(task.coroutine) end -- closes its to-be-closed variables
  local promise = task.promises
  while promise do
    local following = promise.following
    scheduler.wake(promise)
    promise = following
  end
  task.promises = nil
  task_of[task.coroutine] = nil -- before Lua 5.2 a weak key that its value refers to is not collected
end

local function pack(...)
  return { n = select("#", ...), ... }
end

local function body(task)
  task.results = pack(task.call.fn(unpack(task.call, 1, task.call.n)))
end

local foreign_yield = "a task yielded outside of fleet's waits, and would wait for ever: "
  .. "coroutine.yield and a host's waits belong outside of tasks"

local unwinds = 100 -- limit for one task: a host's wait may yield until its event comes

-- Unwinds a task that yielded outside our waits, so that it releases a call in flight or the lock of a vehicle. It is resumed as cancelled
-- and with nothing, so that its next operation fails.
local function unwind(task)
  local ok, failure
  task.cancelled = true
  if not task.lost then task.lost = traceback_of(task) end
  for _ = 1, unwinds do
    ok, failure = resume(task.coroutine)
    if not ok or task.results or task.promise then return ok, failure end
  end
  return ok, failure
end

function scheduler.resume(task)
  if task.state ~= "running" then return end
  if task.cancelled and not task.started then return finish(task, false, cancelled_error()) end
  task.started = true
  local ok, failure = resume(task.coroutine, task)
  local lost = ok and not task.results and not task.promise
  if lost and core.is_inside(task.coroutine, "async") then ok, failure = unwind(task) end
  if ok and not task.results and task.promise then return end
  if lost or task.lost then return finish(task, false, foreign_yield) end
  finish(task, ok, failure)
end

local function new_task(fn, ...)
  local task = setmetatable({ -- 16 members: with one more, Lua would double the table
    state = "running", call = { fn = fn, n = select("#", ...), ... }, generation = scheduler.generation,
    coroutine = coroutine.create(body), started = false, cancelled = false, promise = nil, promises = nil, following = nil,
    results = nil, failure = nil, report = nil, semaphore = nil, label = nil, limit = nil, lost = nil,
  }, task_mt)
  task_of[task.coroutine] = task
  alive = alive + 1
  return task
end

--- Starts fn(...) as a task; it first runs in one of the next steps of the loop. Returns the task.
function M.spawn(fn, ...)
  if type(fn) ~= "function" then errors.usage("spawn: a function is needed, got " .. type(fn)) end
  local task = new_task(fn, ...)
  scheduler.enqueue(task)
  return task
end

--- Starts fn(...) as a task that runs at once, until it waits or ends. Returns the task.
function M.start(fn, ...)
  local task = new_task(fn, ...)
  scheduler.resume(task)
  return task
end

--- Wakes a promise; its task goes on at once, until it waits or ends. Returns the task, or nil when none waits for the promise.
function M.continue(promise)
  local task = promise.task
  if not task or promise.done then return nil end
  promise.done, promise.task = true, nil
  scheduler.resume(task)
  return task
end

--- Names the task. Its errors and tostring then show the name instead of the place of its function. Returns the task; without an argument
--- returns the name, or nil.
function task_methods:name(...)
  if select("#", ...) == 0 then return self.label end
  local label = ...
  if type(label) ~= "string" then errors.usage("name: a string is needed, got %s", type(label)) end
  self.label = label
  return self
end

-- A promise that is woken when the task ends.
local function ending(task)
  local promise = scheduler.promise()
  promise.following, task.promises = task.promises, promise
  return promise
end

--- Waits for the end of the task and returns its function's results; its error is raised again.
function task_methods:wait()
  if self == current() then errors.usage("wait: a task cannot wait for its own end") end
  if self.state == "running" then await(ending(self)) end
  if self.report then self.report.seen = true end
  if self.state == "failed" then error(self.failure, 0) end
  return unpack(self.results, 1, self.results.n)
end

--- Waits for the end of the task for at most so many seconds of the loop's clock. Returns whether it has ended.
function M.ended_within(task, seconds)
  if task.state == "running" then M.await_for(ending(task), seconds) end
  return task.state ~= "running"
end

--- Cancels the task at its next wait; a task that has not started ends at once. A command that was already sent ends as `cancelled` with
--- outcome unknown; any other wait of the task raises an err of kind cancelled, so that the task unwinds.
function task_methods:cancel()
  if self.state ~= "running" or self.cancelled then return end
  self.cancelled = true
  local promise = self.promise
  if not promise or promise.done then return end
  if promise.token then return scheduler.cancel(promise) end
  promise.cancelled = true
  scheduler.wake(promise)
end

task_methods.close = task_methods.cancel
task_mt.__close = task_methods.cancel

local iterating, most_iterating = 0, 20 -- in Lua 5.1, which allows 200 nested C calls
local too_many = "more than %d tasks are in a for loop over pages at once, which Lua 5.1 cannot carry: use list:collect()"

local function tick_until_ended(task, caller)
  while task.state == "running" do
    if caller.cancelled then task:cancel() end
    scheduler.wait_and_tick()
  end
end

--- Calls fn(...), which may wait, for an iterator that a generic for calls: Lua 5.1 cannot yield there, so that there a task of
--- its own runs it, and the caller runs the loop meanwhile.
function M.iterate(fn, ...)
  local caller = current()
  if compat.yields_everywhere or not caller then return fn(...) end
  if iterating >= most_iterating then errors.usage(string.format(too_many, most_iterating)) end
  local task = M.spawn(fn, ...)
  iterating = iterating + 1
  local ran, failure = pcall(tick_until_ended, task, caller)
  iterating = iterating - 1
  if not ran then error(failure, 0) end
  return task:wait()
end

--- Runs fn(...) as a task, and runs the loop until all tasks have ended. Returns fn's results; its error is raised.
function M.run(fn, ...)
  if type(fn) ~= "function" then errors.usage("run: a function is needed, got " .. type(fn)) end
  local task = M.spawn(fn, ...)
  if current() then return task:wait() end
  while alive > 0 do scheduler.wait_and_tick() end
  return task:wait()
end

--- In a forked child: only the task that forked continues there.
function M.reopen()
  local task = current()
  scheduler.reopen()
  alive = task and 1 or 0
  if task then task.generation = scheduler.generation end
end

return M
