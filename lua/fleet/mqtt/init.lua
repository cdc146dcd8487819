-- The bridge between an account and an MQTT broker: new{ client =, broker =, … }, and run() in a task.
--
-- Several bridges may share an account and a store. The owner of a lease publishes; the others wait. doc/manual/mqtt.md.

local core = require "fleet.core"
local automations = require "fleet.mqtt.automations"
local check_options = require "fleet.util.check_options"
local commands = require "fleet.mqtt.commands"
local compat = require "fleet.util.compat"
local discovery = require "fleet.mqtt.discovery"
local errors = require "fleet.util.errors"
local links = require "fleet.mqtt.link"
local looks = require "fleet.mqtt.looks"
local memory = require "fleet.mqtt.memory"
local options = require "fleet.mqtt.options"
local schedule = require "fleet.mqtt.schedule"
local streamed = require "fleet.mqtt.streamed"
local tasks = require "fleet.async"
local things = require "fleet.mqtt.things"

local M = {}

local Bridge = {}
local bridge_mt = { __index = Bridge, __name = "fleet.mqtt" }

local lease_seconds, renew_every = 60, 20
local finish_seconds, farewell_seconds = 30, 3

function bridge_mt.__tostring(self)
  return "fleet.mqtt (" .. (self.state or "closed") .. ")"
end

-- ---- making one ----

local function broker_options(config)
  local address = config.address
  return {
    host = address.host, port = address.port, tls = address.tls,
    keepalive = config.keepalive, user = config.user, password = config.password,
    ca_file = config.broker_ca_file, cert_file = config.cert_file, key_file = config.key_file,
    client_id = config.mqtt_id,
    will_topic = discovery.availability_topic(config), will = "offline",
  }
end

--- A bridge, or nil, err, kind when the library is missing. Raises for a wrong option. Opens nothing yet.
function M.new(given)
  local config = options.read(given)
  local library, err, kind = M.library()
  if not library then return nil, err, kind end
  local context = core.context(given.client)
  config.account = context.config.account
  return setmetatable({
    config = config, client = given.client, context = context, library = library, state = "closed",
    automations = automations.read(config.automations, require("fleet.automation").is),
  }, bridge_mt)
end

--- Opens connections; specs replace it by a broker of their own.
M.library = links.library

--- Seconds after which a waiting bridge tries again to take the lease; specs wait less.
M.try_every = 10

--- The options as rows, for the command line and the manual.
M.options = options.list

-- ---- functions of a running bridge ----

local function new_session(self, progress)
  local session = {
    config = self.config, client = self.client, context = self.context, automations = self.automations, things = {},
    looking = 0, tasks = {}, rests = {}, stopped = false, logged = {},
  }
  session.now = tasks.steady -- a monotonic clock: setting the wall clock changes no age
  function session.wall() return (select(2, tasks.loop.clock())) end
  function session.log(text) if progress then progress(text) end end
  function session.log_once(text)
    if not session.logged[text] then session.log(text) end
    session.logged[text] = true
  end
  function session.rest(name, seconds)
    session.rests[name] = tasks.promise()
    if not session.stopped then tasks.await_for(session.rests[name], seconds) end
    session.rests[name] = nil
  end
  function session.rouse(name)
    if session.rests[name] then tasks.wake(session.rests[name]) end
  end
  function session.fail(failure)
    session.failure = session.failure or failure
    session.rouse "end"
  end
  function session.spawn(fn)
    local task = tasks.spawn(function()
      local ok, failure = compat.pcall(fn)
      session.tasks[(compat.running())] = nil
      if not ok and not session.stopped then session.fail(failure) end
    end)
    session.tasks[task.coroutine] = task
  end
  return session
end

local function published_key(session)
  return "mqtt/" .. session.context.config.account .. "/published"
end

-- Retained messages outlive this process, so those of a thing that left the account in between must be removed too.
local function keep_published(session)
  local list = {}
  for id, thing in pairs(session.things) do list[id] = thing.kind end
  local done, err = session.context.store:put(published_key(session), core.json_encode(list), {})
  if not done then session.log("the list of what is published: " .. err.message) end
end

local function withdraw_departed(session)
  local text = session.context.store:get(published_key(session))
  local list = text and core.json_decode(text)
  for id, kind in pairs(type(list) == "table" and list or {}) do
    if not session.things[id] and (kind == "car" or kind == "site") then
      local thing = things.new(kind, id, nil, id)
      memory.load(session, thing)
      things.withdraw(session, thing)
    end
  end
end

local function add_thing(session, thing)
  session.things[thing.id] = thing
  automations.join(session, thing)
  things.resume(session, thing)
  local done, err = commands.answer_abandoned(session, thing)
  if not done then session.log(thing.name .. ": " .. err.message) end
  if session.listed then keep_published(session) end
end

local function remove_thing(session, thing)
  session.log(thing.name .. " has left the account")
  things.withdraw(session, thing)
  session.things[thing.id] = nil
  if thing.end_listening then thing.end_listening() end
  if session.listed then keep_published(session) end
end

-- ---- the account as a thing ----

local function count_cars(session)
  local count = 0
  for _, thing in pairs(session.things) do
    if thing.kind == "car" then count = count + 1 end
  end
  return count
end

local function token_age(session)
  local info = session.client:token_info().user
  if not info or not info.refreshed_at then return nil end
  return math.floor(math.max(0, tasks.age(info.refreshed_at)) / 8640) / 10 -- in tenths, because each change is a message
end

-- What was spent in the month, the smallest remainder of the budgets in dollars, and all budgets by name.
local function what_was_spent(session)
  local report, err = session.client:cost()
  if not report then
    session.log("the account's cost: " .. err.message)
    return {}
  end
  local left, budgets
  for _, one in ipairs(report.budgets or {}) do
    if string.find(one.name, "^usd_") then left = math.min(left or one.left, one.left) end
    budgets = budgets or {}
    budgets[one.name] = { most = one.most, spent = one.spent, left = one.left }
  end
  return { usd = report.usd, left = left }, budgets
end

local function learn_account(session)
  local month = schedule.month(session.config, count_cars(session), session.context.config.prices, streamed.is_used(session))
  if session.plan ~= month.text then
    session.plan = month.text
    session.log(month.text)
  end
  local thing, began = session.account_thing, session.now()
  local spent, budgets = what_was_spent(session)
  things.learn(session, thing, "account", {
    token_age = token_age(session), schedule = month.short, schedule_cost = month.usd, cost = spent.usd, budget_left = spent.left,
  }, began, { schedule = month.text, most = month.most, looks = month.looks, budgets = budgets })
  things.announce(session, thing)
end

local function add_account(session)
  local name = session.context.config.account
  local id = "account_" .. string.gsub(name, "[^%w_-]", "_")
  session.account_thing = things.new("account", id, nil, name == "default" and "Fleet account" or "Fleet account " .. name)
  session.things[id] = session.account_thing
  things.resume(session, session.account_thing)
end

-- ---- one term as the publishing bridge ----

local function on_state(self, session)
  return function(state, err)
    if state == "lost" then session.log("the broker: " .. (err and err.message or "lost")) end
    if state == "refused" then session.log("the broker refuses a subscription: nothing can be commanded") end
    if state == "listening" then session.link:set(discovery.availability_topic(self.config), "online", true) end
  end
end

-- Handles a message. The will of a bridge that lost its connection may arrive after another bridge has taken over.
local function on_message(self, session)
  local availability = discovery.availability_topic(self.config)
  return function(topic, payload, retained, size)
    if topic ~= availability then return commands.take(session, topic, payload, retained, size) end
    if payload ~= "online" and not session.stopped then session.link:set(availability, "online", true) end
  end
end

local function open_link(self, session)
  return links.new {
    library = self.library, broker = broker_options(self.config),
    on_message = on_message(self, session), on_state = on_state(self, session),
  }
end

local function hold_lease(session, lease)
  while not session.stopped do
    session.rest("lease", renew_every)
    if session.stopped then return end
    local renewed, err = lease:renew()
    if not renewed then
      session.lost = err
      return session.rouse "end"
    end
  end
end

local function start_workers(session, lease)
  session.spawn(function() session.link:run() end)
  session.spawn(function() hold_lease(session, lease) end)
  session.spawn(function()
    looks.keep_listing(session)
  end)
  session.spawn(function() looks.keep_looking(session) end)
  session.spawn(function() streamed.keep_streaming(session) end)
  session.spawn(function() looks.keep_expiring(session) end)
  session.spawn(function() memory.keep_saving(session) end)
  session.spawn(function() automations.start(session) end)
end

-- Starts no further work, and ends all pauses.
local function abandon(session)
  session.stopped = true
  automations.stop(session)
  streamed.close(session)
  session.link:stop()
  for name in pairs(session.rests) do session.rouse(name) end
end

-- Waits for commands in flight, then publishes that the bridge is offline.
local function wind_up(self, session)
  session.stopped = true
  if not session.lost then
    commands.finish(session, finish_seconds)
    session.link:set(discovery.availability_topic(self.config), "offline", true)
    session.link:flush(farewell_seconds)
    memory.save_changed(session)
  end
  abandon(session)
  local pauses = tasks.pauses(farewell_seconds, 0.005, 0.1)
  while next(session.tasks) and pauses:again() do end
  for _, task in pairs(session.tasks) do task:cancel() end
end

-- Subscribes once the cars are known: a command to an unknown car would get no answer.
local function listen(session)
  local topic, availability = session.config.topic, discovery.availability_topic(session.config)
  if session.config.commands == false then return session.link:listen { availability } end
  session.link:listen { availability, topic .. "/+/command/+", topic .. "/+/+/set", topic .. "/+/+/+/set" }
end

local function bind(session)
  function session.add(thing) add_thing(session, thing) end
  function session.remove(thing) remove_thing(session, thing) end
  function session.look_soon(thing) looks.look_soon(session, thing) end
  function session.see_state(car, state) looks.see_state(session, car, state) end
  function session.learn_account() learn_account(session) end
  function session.after_list()
    if session.listed then return end
    session.listed = true
    withdraw_departed(session)
    keep_published(session)
    listen(session)
    session.rouse "stream"
  end
end

local function serve(self, lease, progress)
  local session = new_session(self, progress)
  self.session = session
  bind(session)
  session.link = open_link(self, session)
  add_account(session)
  start_workers(session, lease)
  local ok, failure = compat.pcall(function()
    while not self.stopping and not session.failure and not session.lost do session.rest("end", 3600) end
    wind_up(self, session)
  end)
  if not ok then
    abandon(session)
    session.failure = failure
  end
  self.session = nil
  if session.failure then error(session.failure, 0) end
  if session.lost then session.log("another bridge has taken over: " .. session.lost.message) end
end

-- ---- running ----

local function lease_key(self)
  return "mqtt/" .. self.context.config.account .. "/bridge"
end

local function rest(self, seconds)
  self.promise = tasks.promise()
  if not self.stopping then tasks.await_for(self.promise, seconds) end
  self.promise = nil
end

local function wait_for_lease(self, progress)
  while not self.stopping do
    local lease, err, kind = self.context.store:lease(lease_key(self), lease_seconds)
    if lease then return lease end
    if kind ~= "busy" then return nil, err, kind end
    if self.state ~= "waiting" and progress then progress("another bridge publishes for this account: waiting for it to end") end
    self.state = "waiting"
    rest(self, M.try_every)
  end
end

local function cycle(self, progress)
  while not self.stopping do
    local lease, err, kind = wait_for_lease(self, progress)
    if err then return nil, err, kind end
    if not lease then break end
    self.state = "publishing"
    local ok, failure = compat.pcall(serve, self, lease, progress)
    lease:release()
    if not ok then error(failure, 0) end
  end
  return true
end

--- Runs until stop() or the end of its task. given.progress(text) is called for each event. Returns true when stopped, or nil, err, kind
--- when the store fails.
function Bridge:run(given)
  check_options.names("run", "option", given, { "progress" })
  if self.running then errors.usage("run: it runs already") end
  self.running, self.stopping = true, false
  local ok, value, err, kind = compat.pcall(cycle, self, given and given.progress)
  self.running, self.state = false, "closed"
  if ok then return value, err, kind end
  if type(value) == "table" and value.kind and value.kind ~= "cancelled" then return nil, value, value.kind end
  error(value, 0)
end

--- Ends run() once the commands in flight have been answered.
function Bridge:stop()
  self.stopping = true
  if self.promise then tasks.wake(self.promise) end
  if self.session then self.session.rouse "end" end
end

Bridge.close = Bridge.stop
bridge_mt.__close = Bridge.stop

--- The schedule and its cost per month for so many cars: { usd =, most =, looks =, text = }.
function Bridge:month(cars)
  return schedule.month(self.config, cars, self.context.config.prices, self.config.telemetry ~= nil)
end

return M
