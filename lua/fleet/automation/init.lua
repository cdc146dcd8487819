-- Automations: what people install a client for. fleet.automation.<name>{ car = | site =, ... } -> an object.
--
-- An automation is data and small functions (lua/fleet/automation/builtin/<name>.lua): what it takes, and one pure decision from
-- what is known to what to do. Everything that calls, waits, counts and remembers is here, once for all of them: when to
-- decide, the look before any live call, the cap of a day, who gives way to whom, and what a restart must not repeat.
-- doc/manual/automations.md.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local claims = require "fleet.automation.arbitration"
local cost = require "fleet.automation.cost"
local options = require "fleet.automation.options"
local rows = require "fleet.call.rows"
local run = require "fleet.call"
local states = require "fleet.automation.state"
local tasks = require "fleet.async"
local watch = require "fleet.automation.poll_schedule"

local M = { names = require "fleet.automation.builtin" }

local Automation = {}
local automation_mt = { __index = Automation, __name = "fleet.automation" }

local most_rounds = 12 -- looks and commands between two sleeps; more would be a decision that never rests
local longest_sleep = 900 -- then the lease is renewed
local lease_seconds = 3600
local refused_pause = 1800 -- a command that was refused is not tried again before
local first_pause, longest_pause = 60, 900 -- while the service cannot be reached
local hopeless_pause = 3600 -- where only a person can mend it
local hopeless = {
  auth = true, scope = true, forbidden = true, unregistered = true, key_not_paired = true, unsupported = true,
  limit_exceeded = true, not_found = true, closed = true,
}

function automation_mt.__tostring(self)
  return string.format("fleet.automation %s (...%s)", self.config.name, string.sub(self.id, -4))
end

-- ---- making one ----

local function make(name, definition, given)
  local config = options.read(name, definition, given)
  local handle = given[string.match(definition.handles[1], "^%a+")] or config.car or config.site
  local account, _, id = core.account(handle)
  if definition.prepare then definition.prepare(config) end
  return setmetatable({
    kind = name, definition = definition, config = config, account = account, handle = handle, id = id,
    me = { name = config.name, rank = config.precedence }, key = states.key(account, id, config.name),
  }, automation_mt)
end

local function wall(self)
  local _, now = self.account.clock()
  return now
end

-- ---- one decision, pure ----

local function subject_of(action)
  return action.subject or claims.subject(action.call)
end

local function local_time(config, at)
  if config.local_zone then return require("fleet.automation.local_time").text(config.local_zone, at) end
  return os.date("!%H:%M UTC", math.floor(at))
end

local function is_command(action)
  return rows.by_name[action.call].write and action.call ~= "wake_up"
end

-- Why a command may not be sent now, or nil.
local function objection(self, now, state, action)
  local above = claims.above(state.claims or {}, subject_of(action), self.me, now)
  if above then
    return string.format("gives way to %s (precedence %g), which holds %s until %s", above.by, above.rank, subject_of(action),
      local_time(self.config, above.ends))
  end
  local refused = state.refused[action.call]
  if refused and refused.ends > now then
    return string.format("%s was refused (%s); tries again at %s", action.call, refused.reason, local_time(self.config, refused.ends))
  end
  if not action.final and state.day.commands >= self.config.daily_cap then
    return string.format("the cap of %d commands a day is reached", self.config.daily_cap)
  end
end

-- Splits what was decided into what may be done, and says what may not.
local function permitted(self, now, state, decision)
  local actions = {}
  for _, action in ipairs(decision.actions or {}) do
    local why = is_command(action) and objection(self, now, state, action)
    if why then
      decision.why = (decision.why or action.why) .. ", but " .. why
      decision.lost = true
      break -- what follows was meant to come after it
    end
    actions[#actions + 1] = action
  end
  decision.actions = actions
end

--- One decision: what is known at a moment (UTC seconds) in, what to do out. Changes nothing and calls nobody.
--- Returns { actions = list of { call =, params = }, why = sentence, again_at = UTC seconds, claims =, state = }.
--- state: see lua/fleet/automation/state.lua; nil is the state of an automation that knows nothing yet.
function Automation:step(now, state)
  local own = states.with_own_memory(state or states.fresh())
  local decision = self.definition.decide(self.config, now, own)
  decision.state, decision.actions = own, decision.actions or {}
  permitted(self, now, own, decision)
  decision.again_at = math.max(decision.again_at or now + self.config.look_every, now + 1)
  return decision
end

-- ---- what several automations of one car know together ----

local common = setmetatable({}, { __mode = "k" }) -- account -> id -> { seen =, at =, did = }

local function common_of(self)
  local of_account = common[self.account] or {}
  common[self.account] = of_account
  of_account[self.id] = of_account[self.id] or { seen = {}, at = {}, did = {} }
  return of_account[self.id]
end

-- Whatever the one has seen or done more lately than the other.
local function newer(from, to)
  for section, at in pairs(from.at) do
    if at > (to.at[section] or -1) then to.at[section], to.seen[section] = at, from.seen[section] end
  end
  for subject, did in pairs(from.did) do
    if did.at > (to.did[subject] and to.did[subject].at or -1) then to.did[subject] = did end
  end
  if from.awake_since and from.awake_since > (to.awake_since or -1) then to.awake_since = from.awake_since end
end

-- A look that one automation has paid for serves the others, and nobody takes another's command for the owner's hand.
local function exchange_news(self, state)
  if not self.config.car or self.dry then return end
  newer(common_of(self), state)
  newer(state, common_of(self))
end

-- ---- looking ----

local function target(self, action)
  local row = rows.by_name[action.call]
  return row.handle == "site" and self.config.site or self.config.car
end

local function remember_info(state, record, now)
  local before = state.seen.info
  if record.state == "online" and not (before and before.state == "online") then state.awake_since = now end
  state.seen.info, state.at.info = { state = record.state }, now
end

local function remember(state, action, value, now)
  if action.call == "info" then return remember_info(state, value, now) end
  if action.call ~= "vehicle_data" then
    state.seen[action.call], state.at[action.call] = value, now
    return
  end
  remember_info(state, { state = "online" }, now)
  for _, section in ipairs(action.sections) do
    state.seen[section], state.at[section] = value[section] or {}, now
  end
end

-- The non-waking look before every live call; it decides nothing, it only protects sleep (doc/protocol.md#sleep-and-wake).
local function ready_for_live_call(self, state)
  local now = wall(self)
  if watch.awake(state, now) then return true end
  if not watch.away(state, now) then
    local record, err = self.config.car:info()
    if not record then return nil, err end
    remember_info(state, record, wall(self))
    if record.state == "online" then return true end
  end
  if not self.config.wake or state.seen.info.state ~= "asleep" or self.dry then return false end
  local woken, err = self.config.car:wake()
  if not woken then return nil, err end
  remember_info(state, { state = "online" }, wall(self))
  return true
end

local function call(self, action)
  local handle = target(self, action)
  if action.params ~= nil then return handle[action.call](handle, action.params) end
  return handle[action.call](handle)
end

local function look(self, state, action)
  if action.call == "vehicle_data" then
    local ready, err = ready_for_live_call(self, state)
    if not ready then return ready, err end
  end
  local value, err = call(self, action)
  if not value then return nil, err end
  remember(state, action, value, wall(self))
  return true
end

-- ---- commanding ----

local function apply_effect(state, effect)
  for section, fields in pairs(effect or {}) do
    state.seen[section] = state.seen[section] or {}
    for name, value in pairs(fields) do state.seen[section][name] = value end
  end
end

local function save(self, state, durable)
  if self.dry then return end
  local text = states.encode(state)
  if text == self.saved and not durable then return end
  local done, err = self.account.store:put(self.key, text, { durable = true, lease = self.lease })
  if not done then error(err, 0) end
  self.saved = text
end

local function tell(self, text, event)
  if self.progress then self.progress(text, event) end
end

local function done(self, state, action, result)
  local now = wall(self)
  state.did[subject_of(action)] = { want = action.want, at = now, sure = not self.dry }
  state.refused[action.call] = nil
  apply_effect(state, action.effect)
  local how = self.dry and "would send " or result.changed == false and "already so: " or "sent "
  tell(self, how .. action.call .. ": " .. action.why, { call = action.call, params = action.params, at = now, dry = self.dry })
end

local function refused(self, state, action, err)
  local now = wall(self)
  if err.outcome == "unknown" then
    state.did[subject_of(action)] = { want = action.want, at = now, sure = false }
  else
    state.refused[action.call] = { reason = err.reason or err.message or err.kind, ends = now + refused_pause }
  end
  states.stale(state)
  tell(self, action.call .. ": " .. tostring(err))
end

local function forward(self, state, action)
  if rows.by_name[action.call].handle == "vehicle" then
    local ready, err = ready_for_live_call(self, state)
    if not ready then return ready, err end
  end
  state.day.commands = state.day.commands + 1
  state.pending = { call = action.call, subject = subject_of(action), want = action.want, at = wall(self) }
  save(self, state, true)
  local result, err = call(self, action)
  state.pending = nil
  if result then return true, nil, result end
  return nil, err
end

-- What the world refuses a command for is about the command; everything else is trouble of the whole.
local about_the_command = { refused = true, invalid = true, unsupported = true, conflict = true, key_not_paired = true }

local function command(self, state, action)
  if self.dry then
    self.would[#self.would + 1] = action
    local class = rows.by_name[action.call].billing
    self.would_cost[class] = (self.would_cost[class] or 0) + 1
    done(self, state, action, {})
    return true
  end
  local sent, err, result = forward(self, state, action)
  if sent then
    done(self, state, action, result)
  elseif err and (about_the_command[err.kind] or err.outcome == "unknown") then
    refused(self, state, action, err)
    if err.outcome ~= "unknown" then return true end
  end
  return sent, err
end

-- ---- trouble ----

local function seen_away(state, err, now)
  if err.kind ~= "asleep" and err.kind ~= "offline" then return false end
  state.seen.info, state.at.info = { state = err.kind }, now
  return true
end

local function troubled(self, state, err)
  local now = wall(self)
  if seen_away(state, err, now) then return end
  local count = (state.trouble and state.trouble.count or 0) + 1
  local pause = hopeless[err.kind] and hopeless_pause or math.min(first_pause * 2 ^ (count - 1), longest_pause)
  state.trouble = { message = tostring(err), kind = err.kind, count = count, ends = now + math.max(pause, err.retry_after or 0) }
end

-- ---- rounds ----

local function new_day(self, state, now)
  local zone = self.config.local_zone
  local date = zone and require("fleet.automation.local_time").date(zone, now) or os.date("!%Y-%m-%d", math.floor(now))
  if state.day.date ~= date then state.day = { date = date, commands = 0 } end
end

local function inputs(self, now)
  if not self.definition.observe then return nil end
  return self.definition.observe(self.config, now)
end

-- A decision that only looks is none yet, and says nothing.
local function explain(self, why, now)
  if not why then return end
  self.why_at = now
  if why == self.why then return end
  self.why = why
  tell(self, why)
end

-- One action. Returns whether the next one may follow. A look that a crash forgets is made again; a command is not.
local function perform(self, state, action)
  local act = is_command(action) and command or look
  local ok, err = act(self, state, action)
  if act == command then save(self, state) end
  exchange_news(self, state)
  if ok then
    state.trouble = nil
    return true
  end
  if err then troubled(self, state, err) end
  return false
end

local function decide(self, state)
  local now = wall(self)
  new_day(self, state, now)
  exchange_news(self, state)
  state.inputs = inputs(self, now)
  if self.config.car then state.claims = claims.read(self.account, self.id) end
  local decision = self:step(now, state)
  if self.config.car and not self.dry then
    local kept, err = claims.write(self.account, self.id, decision.claims or {}, self.me, now)
    if not kept then error(err, 0) end
  end
  explain(self, decision.why, now)
  return decision, decision.state
end

-- Decides and acts until there is nothing more to do now. Returns the state, with again_at.
local function rounds(self, state)
  for _ = 1, most_rounds do
    local decision
    decision, state = decide(self, state)
    state.again_at = decision.again_at
    if #decision.actions == 0 then return state end
    for _, action in ipairs(decision.actions) do
      if self.stopped or not perform(self, state, action) then break end
    end
    if self.stopped then return state end
    if state.trouble then
      state.again_at = state.trouble.ends
      explain(self, "the service could not be reached: " .. state.trouble.message, wall(self))
      return state
    end
  end
  state.again_at = wall(self) + self.config.look_every
  return state
end

-- ---- running ----

local function rest(self, seconds)
  self.waiter = {}
  tasks.await_for(self.waiter, seconds)
  self.waiter = nil
end

local function count_calls(self, state_of)
  local mine = tasks.current()
  return run.listen(self.account, function(row, id, status)
    local others = tasks.current() ~= mine
    if others and not (id == self.id and (row.name == "info" or row.name == "wake_up") and self.account.wakes[id]) then return end
    if row.billing == "free" or cost.billed(status) then
      local calls = state_of().calls
      calls[row.billing] = (calls[row.billing] or 0) + 1
    end
  end)
end

local function hold(self)
  local lease, err, kind = self.account.store:lease(self.key, lease_seconds)
  if lease then
    self.lease = lease
    return true
  end
  if kind == "busy" then err.message = tostring(self) .. " runs elsewhere already: " .. err.message end
  return nil, err, kind
end

local function cycle(self)
  while not self.stopped do
    local now = wall(self)
    if now >= (self.state.again_at or 0) then
      self.state = rounds(self, self.state)
      save(self, self.state)
    end
    if self.stopped then break end
    rest(self, math.max(0.001, math.min(self.state.again_at - wall(self), longest_sleep)))
    local held, err, kind = self.lease:renew()
    if not held then return nil, err, kind end
  end
  return true
end

local run_options = { progress = true, dry_run = true }

local function begin(self, given)
  for name in pairs(given) do
    if not run_options[name] then errors.unknown_name("run", "option", name, run_options) end
  end
  if self.running then errors.usage("run: it runs already") end
  self.progress, self.dry = given.progress, given.dry_run or self.config.dry_run
  self.would, self.would_cost = {}, {}
end

local function release(self)
  if self.config.car and not self.dry and not self.killed then
    claims.write(self.account, self.id, {}, self.me, wall(self))
  end
  if self.lease then self.lease:release() end
  self.lease, self.running, self.stopped = nil, false, false
end

--- Runs until stop() or the end of its task, in a task. options.progress(text, event): told every change of mind and
--- every command; options.dry_run: looks and decides, sends no command. Returns true once stopped, or nil, err, kind
--- when the same automation runs elsewhere or the store fails.
function Automation:run(given)
  begin(self, given or {})
  local held, err, kind = hold(self)
  if not held then return nil, err, kind end
  self.running = true
  self.state = states.load(self.account, self.key)
  if self.dry then self.state.again_at = nil end
  local unlisten = count_calls(self, function() return self.state end)
  local ok, value
  ok, value, err, kind = pcall(cycle, self)
  unlisten()
  release(self)
  if ok then return value, err, kind end
  if type(value) == "table" and value.kind and value.kind ~= "cancelled" then return nil, value, value.kind end
  error(value, 0)
end

--- Ends run() at its next rest, also one that is about to begin; what was sent stays sent.
function Automation:stop()
  self.stopped = true
  if self.waiter then tasks.wake(self.waiter) end
end

Automation.close = Automation.stop
automation_mt.__close = Automation.stop

-- ---- being asked ----

--- Why it did or did not act, as a sentence.
function Automation:explain()
  if not self.why then return self.config.name .. " has not decided anything yet" end
  return string.format("%s, %s: %s", self.config.name, local_time(self.config, self.why_at), self.why)
end

--- What it has cost: { calls = billed calls by class, usd =, text = }.
function Automation:cost()
  local state = self.state or states.load(self.account, self.key)
  return { calls = state.calls, usd = cost.usd(state.calls), text = cost.text(state.calls) }
end

local function estimate(self)
  local calls = self.definition.month(self.config)
  return { calls = calls, usd = cost.usd(calls), text = cost.text(calls) }
end

--- Looks once, decides, and sends nothing. Looking is billed. Returns { why =, actions = what it would send, cost = of
--- sending it, month = an estimate of a month, each { calls = by class, usd =, text = } }, or nil, err, kind.
function Automation:dry_run()
  begin(self, { dry_run = true })
  local state = states.load(self.account, self.key)
  self.state = state
  local unlisten = count_calls(self, function() return self.state end)
  local ok, after = pcall(rounds, self, state)
  unlisten()
  if not ok then error(after, 0) end
  if after.trouble then return errors.failure(after.trouble.kind or "service", after.trouble.message) end
  local calls = self.would_cost
  return {
    why = self.why, actions = self.would, cost = { calls = calls, usd = cost.usd(calls), text = cost.text(calls) },
    month = estimate(self),
  }
end

-- ---- the constructors ----

local function definition_of(name)
  for _, known in ipairs(M.names) do
    if known == name then return require("fleet.automation.builtin." .. name) end
  end
end

--- Whether value is an automation.
function M.is(value)
  return getmetatable(value) == automation_mt
end

M.prices = cost.per_dollar

return setmetatable(M, {
  __index = function(_, name)
    local definition = definition_of(name)
    if not definition then
      errors.unknown_name("fleet.automation", "automation", name, M.names)
    end
    local function new(given)
      return make(name, definition, given)
    end
    M[name] = new
    return new
  end,
})
