-- Runs an automation: when to decide, one action after the other, what to do in trouble, and when to sleep.

local arbitration = require "fleet.automation.arbitration"
local observers = require "fleet.call.observers"
local command = require "fleet.automation.command"
local cost = require "fleet.automation.cost"
local decisions = require "fleet.automation.decision"
local errors = require "fleet.util.errors"
local local_time = require "fleet.automation.local_time"
local look = require "fleet.automation.look"
local notices = require "fleet.automation.notices"
local shared_looks = require "fleet.automation.shared_looks"
local states = require "fleet.automation.state"
local streamed = require "fleet.automation.streamed"
local tasks = require "fleet.async"
local pcall = require("fleet.util.compat").pcall -- what it calls may wait

local M = {}

local most_rounds = 12 -- looks and commands between two sleeps; more would be a decision that never rests
local longest_sleep = 900 -- then the lease is renewed
local lease_seconds = 3600
local first_pause, longest_pause = 60, 900 -- while the service cannot be reached
local busy_pause = 60 -- while it runs elsewhere
local hopeless_pause = 3600 -- where only a person can mend it
local hopeless = {
  auth = true, scope = true, forbidden = true, unregistered = true, key_not_paired = true, unsupported = true,
  limit_exceeded = true, not_found = true, closed = true,
}

-- ---- trouble ----

-- Kinds of trouble that are not the service's, and how their sentences begin. They are notified at once: retrying may not help.
local beginnings = { raised = "could not decide: ", unreadable = "a reply lacks data: " }
local err_kinds = { raised = "service", unreadable = "protocol" }
local longest_unreadable = 1800 -- such a look is billed

local function seen_away(state, err, now)
  if err.kind ~= "asleep" and err.kind ~= "offline" then return false end
  state.seen.info, state.at.info = { state = err.kind }, now
  return true
end

-- A look at the record that succeeds does not end the trouble with another one: each has its own count.
local function attempts(state, err)
  if not err.unreadable then return (state.trouble and state.trouble.count or 0) + 1 end
  state.unread[err.unreadable] = (state.unread[err.unreadable] or 0) + 1
  return state.unread[err.unreadable]
end

local function troubled(self, state, err)
  local now = self:wall()
  if seen_away(state, err, now) then return end
  local kind, count = err.unreadable and "unreadable" or err.kind, attempts(state, err)
  local longest = beginnings[kind] and longest_unreadable or longest_pause
  local pause = hopeless[err.kind] and hopeless_pause or math.min(first_pause * 2 ^ (count - 1), longest)
  local message = beginnings[kind] and err.message or tostring(err)
  state.trouble = { message = message, kind = kind, count = count, ends = now + math.max(pause, err.retry_after or 0) }
end

local notified_after = 5 -- attempts: a quarter of an hour

local function trouble_text(trouble)
  local beginning = beginnings[trouble.kind] or hopeless[trouble.kind] and "a person is needed: " or "the service could not be reached: "
  return beginning .. trouble.message
end

local function lasting_trouble(state)
  local trouble = state.trouble
  local at_once = beginnings[trouble.kind] ~= nil
  if trouble.count < notified_after and not hopeless[trouble.kind] and not at_once then return nil end
  return { {
    key = "trouble " .. tostring(trouble.kind) .. " " .. tostring(state.day.date) .. (at_once and " " .. trouble.message or ""),
    severity = hopeless[trouble.kind] and "error" or "warning", text = trouble_text(trouble),
  } }
end

-- ---- rounds ----

local function new_day(self, state, now)
  local zone = self.config.local_zone
  local date = zone and local_time.date(zone, now) or os.date("!%Y-%m-%d", math.floor(now))
  if state.day.date ~= date then state.day = { date = date, commands = 0 } end
end

local function inputs(self, now)
  if not self.definition.observe then return nil end
  return self.definition.observe(self.config, now)
end

-- A decision that only looks is none yet, and says nothing.
local function explain(self, state, why, now)
  if not why then return end
  state.why, state.why_at, self.why_at = why, now, now
  if why == self.why then return end
  self.why = why
  command.report(self, why)
end

-- Fields of a reply that were of no use: the rest of it was used.
local function notify_odd(self, state, fields)
  local list = {}
  for i, field in ipairs(fields) do
    list[i] = {
      key = "odd " .. tostring(state.day.date) .. " " .. field, severity = "warning",
      text = field .. " has a value of another kind than it should, and counts as not known",
    }
  end
  notices.notify(self, state, list, self:wall())
end

-- One action. Returns whether the next one may follow, and when to try again where it has to wait. A look that a crash forgets is made
-- again; a command is not.
local function perform(self, state, action)
  local act = decisions.is_command(action) and command.send or look.look
  local ok, err, again_at = act(self, state, action)
  if act == command.send then command.save(self, state) end
  shared_looks.exchange(self, state, true)
  if ok then
    state.trouble = nil
    if act == look.look then
      state.unread[action.call] = nil
      notify_odd(self, state, err)
    end
    return true
  end
  if err then troubled(self, state, err) end
  return false, act == look.look and again_at
end

-- A decision that only looks is none yet: what was held until then is held on.
local function keep_claims(self, decision, generation, now)
  local first = decision.actions[1]
  if self.dry or not decision.claims and first and not decisions.is_command(first) then return end
  local kept, err = arbitration.write(self.context, self.id, decision.claims or {}, self.me, now, decision.state.claims, generation)
  if not kept then states.raise(err) end
end

local function decide(self, state)
  local now, generation = self:wall(), nil
  new_day(self, state, now)
  shared_looks.exchange(self, state)
  state.inputs = inputs(self, now)
  if self.config.car then
    state.claims, generation = arbitration.read(self.context, self.id)
    if not state.claims then states.raise(generation) end
  end
  local decision = decisions.take(self, now, state)
  if self.config.car then keep_claims(self, decision, generation, now) end
  if decision.problem then error(decision.problem, 0) end
  explain(self, state, decision.why, now)
  notices.notify(self, state, decision.notices, now)
  return decision
end

-- The first explanation of an automation whose car has not connected yet.
local awaits_stream = "waits for the car to connect to the receiver of telemetry; an awake car that does not connect within ten minutes is "
  .. "read, which is billed"

-- Decides, and acts. Returns whether there may be more to do now; sets again_at.
local function one_round(self, state)
  local decision = decide(self, state)
  state.again_at = decision.again_at
  for _, action in ipairs(decision.actions) do
    if self.stopped then break end
    local done, wait_until = perform(self, state, action)
    if wait_until then
      state.again_at = wait_until
      if not self.why then explain(self, state, awaits_stream, self:wall()) end
      return false
    end
    if not done then break end
  end
  return #decision.actions > 0 and not self.stopped
end

-- A failure of the store and the end of the task end the run; whatever else is raised is trouble, and is tried again.
local function ends_the_run(raised)
  if type(raised) == "table" then return raised.store ~= nil or raised.kind == "cancelled" end
  return string.find(tostring(raised), "interrupted!", 1, true) ~= nil
end

-- What was seen may be the cause: it is looked at again.
local function raised_in_round(self, state, raised)
  states.settle_pending(state)
  states.stale(state)
  local own = type(raised) == "table" and raised.kind and raised
  troubled(self, state, own or { kind = "raised", message = tostring(raised) })
end

-- Decides and acts until there is nothing more to do now; sets again_at.
local function rounds(self, state)
  for _ = 1, most_rounds do
    local ok, more = pcall(one_round, self, state)
    if not ok then
      if ends_the_run(more) then error(more, 0) end
      raised_in_round(self, state, more)
    elseif not more then
      return
    end
    if state.trouble then
      state.again_at = state.trouble.ends
      explain(self, state, trouble_text(state.trouble), self:wall())
      notices.notify(self, state, lasting_trouble(state), self:wall())
      return
    end
  end
  state.again_at = self:wall() + self.config.look_every
end

-- ---- running ----

local function rest(self, seconds)
  self.promise = tasks.promise()
  if not self.stopped then tasks.await_for(self.promise, seconds) end
  self.promise = nil
end

-- A wake runs in a task of its own, for all who wait for it: it is counted for the one who asked first.
local function count_calls(self, state_of)
  local mine = tasks.current()
  local function asked_for_wake(row, id)
    local wake = id == self.id and (row.name == "info" or row.name == "wake_up") and self.context.wakes[id]
    return wake and wake.asked_by == mine
  end
  return observers.listen(self.context, function(row, id, status)
    if tasks.current() ~= mine and not asked_for_wake(row, id) then return end
    if row.billing == "free" or cost.billed(status) then
      local count = state_of().calls
      count[row.billing] = (count[row.billing] or 0) + 1
    end
  end)
end

-- Waits for the lease: that of a process killed on another machine lasts until its end.
local function stand_by(self, waiting)
  local text, now = "already runs in another process; it starts here when that one ends", self:wall()
  explain(self, waiting, text, now)
  notices.notify(self, waiting, { { key = "elsewhere", severity = "warning", text = text } }, now)
  rest(self, busy_pause)
end

local function hold(self)
  local waiting = { notified = {} }
  while not self.stopped do
    local lease, err, kind = states.store(self.context):lease(self.key, lease_seconds)
    if lease then
      self.lease = lease
      return true
    end
    if kind == "busy" then err.message = tostring(self) .. " runs elsewhere already: " .. err.message end
    if kind ~= "busy" or not self.waits then return nil, err, kind end
    stand_by(self, waiting)
  end
  return true
end

local least_jump = 60 -- seconds: what is smaller makes no difference

-- While the process lives the monotonic clock counts the ages; the wall clock may be set meanwhile.
local function follow_the_clock(self)
  local mono, wall = self.context.clock()
  local jump = self.offset and wall - mono - self.offset or 0
  if math.abs(jump) >= least_jump then
    states.shift(self.state, jump)
    streamed.shift(self, jump)
    shared_looks.forget(self)
  end
  self.offset = wall - mono
end

local function cycle(self)
  self.offset = nil
  states.not_ahead(self.state, self:wall())
  while not self.stopped do
    follow_the_clock(self)
    streamed.follow(self)
    local due = self:wall() >= (self.state.again_at or 0)
    if look.look_into_event(self, self.state) or due then
      rounds(self, self.state)
      command.save(self, self.state)
    end
    if self.stopped or self.once then break end
    local next_at = math.min(self.state.again_at, streamed.due_at(self, self.state) or math.huge)
    rest(self, math.max(0.001, math.min(next_at - self:wall(), longest_sleep)))
    local held, err, kind = self.lease:renew()
    if not held then return nil, err, kind end
  end
  return true
end

local run_options = { progress = true, dry_run = true, notify = true, once = true, wait = true }

local function begin(self, given)
  for name in pairs(given) do
    if not run_options[name] then errors.unknown_name("run", "option", name, run_options) end
  end
  if self.running then errors.usage("run: it runs already") end
  self.once, self.waits = given.once, given.wait
  self.progress, self.dry = given.progress, given.dry_run or self.config.dry_run
  self.would, self.would_cost, self.shared_revision = {}, {}, nil
  self.hooks = {}
  self.hooks[1] = self.config.notify
  self.hooks[#self.hooks + 1] = given.notify
end

local function release(self)
  streamed.unfollow(self)
  if self.config.car and not self.dry and not self.once then
    arbitration.write(self.context, self.id, {}, self.me, self:wall())
  end
  if self.lease then self.lease:release() end
  self.lease, self.running, self.stopped = nil, false, false
end

-- What was raised: a failure of the store is returned, all else goes on.
local function failed(raised)
  if type(raised) == "table" and raised.store then return nil, raised.store, raised.store.kind end
  error(raised, 0)
end

--- Runs until stop() or the end of its task, in a task. options.progress(text, event): called for each new decision and each
--- command; options.notify(event): called for notifications, beside the automation's own; options.dry_run: looks and decides,
--- sends no command; options.once: does what is due now and returns, for cron; options.wait: while the same automation runs
--- elsewhere, waits until it has ended there. Returns true once stopped, or nil, err, kind when the same automation runs
--- elsewhere or the store fails.
function M.run(self, given)
  begin(self, given or {})
  local held, err, kind = hold(self)
  if not held then return nil, err, kind end
  if not self.lease then -- it was stopped
    self.stopped = false
    return true
  end
  self.state, err, kind = states.load(self.context, self.key, self.definition.needs)
  if not self.state then
    self.lease:release()
    self.lease = nil
    return nil, err, kind
  end
  self.running = true
  if self.dry then self.state.again_at = nil end
  if (self.state.again_at or 0) > self:wall() then explain(self, self.state, self.state.why, self.state.why_at) end
  local unlisten = count_calls(self, function() return self.state end)
  local ok, value
  ok, value, err, kind = pcall(cycle, self)
  unlisten()
  release(self)
  if ok then return value, err, kind end
  return failed(value)
end

--- Ends run() at its next rest, also one that is about to begin; what was sent stays sent.
function M.stop(self)
  self.stopped = true
  if self.promise then tasks.wake(self.promise) end
end

--- Looks once, decides, and sends nothing. Looking is billed. Returns { why =, actions = what it would send, cost = of
--- sending it, month = an estimate of a month, each { calls = by class, usd =, text = } }, or nil, err, kind.
function M.dry_run(self)
  begin(self, { dry_run = true })
  local state, err, kind = states.load(self.context, self.key, self.definition.needs)
  if not state then return nil, err, kind end
  self.state = state
  local unlisten = count_calls(self, function() return self.state end)
  local ok, raised = pcall(rounds, self, state)
  unlisten()
  if not ok then return failed(raised) end
  if state.trouble then return errors.failure(err_kinds[state.trouble.kind] or state.trouble.kind, state.trouble.message) end
  return { why = self.why, actions = self.would, cost = cost.of(self.would_cost), month = cost.of(self.definition.month(self.config)) }
end

return M
