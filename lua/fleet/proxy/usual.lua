-- The usual command: its request says, byte for byte, what an earlier one said that was done, and the vehicle's session is warm. What
-- was decided of the first holds for it: it is signed and sent in one call, and its answer is taken in one. Nothing is decided here:
-- whatever is not so goes through the service, before anything is sent or from the reply on.

local core = require "fleet.core"
local count = require "fleet.budget.count"
local lifetime = require "fleet.call.lifetime"
local observers = require "fleet.call.observers"
local prices = require "fleet.budget.prices"
local queues = require "fleet.proxy.queue"
local rows = require "fleet.call.rows"
local send = require "fleet.call.send"
local session_pool = require "fleet.signing.session_pool"
local tasks = require "fleet.async"
local tokens = require "fleet.oauth.tokens"
local protected = require("fleet.util.compat").pcall -- of what may wait

local M = {}

local envelope_row = rows.by_name.signed_command
local envelope = envelope_row.pointer
local same_secret, loop = core.same_secret, tasks.loop
local bearer = "Authorization: Bearer "

-- ---- what is remembered of a command that was done ----

-- Nobody is asked before a call of the client or told of it but its metrics, and no other process knows its sessions.
local function is_plain(context)
  local config = context.config
  local logs = config.log and context.logs_attempts
  return not (config.store or config.http or config.audit or logs or context.is_regulated or context.listeners)
end

-- A body with a secret is not kept.
local function may_be(proxy, call, asked, context)
  local row = call.row
  return call.done_signed and not asked.headers["idempotency-key"] and not call.caller.per_minute and next(row.secrets) == nil
    and not row.flags.third_party and not row.flags.deprecated and not proxy.admission:asks_peer() and is_plain(context)
end

-- The function that counts an attempt in the client's metrics: fn(seconds), or nil where there are none; and whether it may wait.
local function counter_of(context, billed)
  local metrics, class = context.config.metrics, envelope_row.billing
  if not metrics then return nil end
  local event = {
    name = "attempt", row = envelope_row.name, class = class, status = 200, billed = billed, attempt = 1,
    usd = billed and context.meter.prices[class] or 0,
  }
  if type(metrics) == "table" and metrics.attempts then return metrics:attempts(event), false end
  return function(seconds)
    local own = { seconds = seconds }
    for name, value in pairs(event) do own[name] = value end
    context.measure(own)
  end, true
end

-- What outlives the request.
local function lasting(call)
  return {
    caller = call.caller, account = call.account, values = call.values, row = call.row, client = call.client, token = call.token,
    digest = call.digest,
  }
end

-- ---- what is known of a request ----
--
-- What commands to different vehicles have in common is known once for all of them: at each command of another vehicle the processor
-- would have to fetch it anew.

local function new_way(service, context, row)
  local billed = prices.billed(envelope_row.billing, 200, true)
  local counter, counter_waits = counter_of(context, billed)
  return {
    service = service, users = service.clients, queue = service.queue, metrics = service.metrics, timeout = service.timeout,
    context = context, obedient = context.obedient, settings = send.settings(context), meter = context.meter,
    writes = context.store:delays(), class = billed and envelope_row.billing, count = counter,
    token_kind = row.tokens[1], line = context.config.token and bearer .. context.config.token,
    waits = counter_waits or service.audit_waits, inside = 0,
  }
end

-- They stand in the client's context, and end with it or with the service.
local function way_of(service, context, row)
  local ways = rawget(context, "proxy_ways")
  if not ways or ways.service ~= service then
    ways = { service = service }
    context.proxy_ways = ways
  end
  ways[row] = ways[row] or new_way(service, context, row)
  return ways[row]
end

--- What is known of a request for a command that was done, or nil where the next one like it is not a usual one. call: of the
--- service; asked: as it came.
function M.known(proxy, call, asked)
  local context, service = core.context(call.client), call.service
  if not may_be(proxy, call, asked, context) then return nil end
  local row, vin = call.row, call.values.vin
  local slot = context.sessions[row.domain] and context.sessions[row.domain][vin]
  if not slot or slot.in_order then return nil end
  local request, _, idempotent = service:plan(call)
  local lasts = lasting(call)
  local tell, told = service:teller(lasts)
  return {
    way = way_of(service, context, row), call = lasts, authorization = asked.headers.authorization, body = asked.body,
    idempotent = idempotent, vin = vin, slot = slot, request = request, place = queues.new_place(), tell = tell, told = told, work = nil,
  }
end

-- ---- who is inside ----

-- Those who go one way are inside together: the first of them enters for all, the last one leaves. Neither takes memory.
local function enter_as_one(way)
  lifetime.hold(way.context)
  tasks.enter()
  way.users:enter()
end

local function leave_as_one(way)
  tasks.leave()
  way.users:leave()
  lifetime.let_go(way.context)
end

local function enter(way)
  local inside = way.inside
  if inside == 0 then enter_as_one(way) end
  way.inside = inside + 1
end

local function leave(way)
  local inside = way.inside - 1
  way.inside = inside
  if inside == 0 then leave_as_one(way) end
end

-- ---- one command on its way ----

-- It is the waiter of its reply, and what the loop runs when that has come: no task stands for it.
local function new_work(known)
  return {
    token = false, transfer = false, done = false, value = nil, task = nil, following = nil, state = "sent", go = M.go_on, known = known,
    proxy = nil, request = nil, session = nil, envelope = nil, id = nil, began = 0, sent_with = false, -- false: it holds nothing
  }
end

-- The next one like it takes it again.
local function forget(work)
  work.token, work.done, work.value, work.request, work.session = false, false, nil, nil, nil
  work.proxy, work.envelope, work.id, work.sent_with, work.following = nil, nil, nil, false, nil
  work.known.work = work
end

local function is_free(known, way)
  local context, slot = way.context, known.slot
  if context.closed or context.listeners or slot.holder or not way.obedient[known.vin] then return false end
  local session, queue = slot.session, way.queue
  local place = queue.places[known.vin]
  return session and session ~= slot.unfit and slot.users < session_pool.most_at_once and (not place or place.busy < queue.per_vin)
end

local function is_same(known, body, authorization)
  local before = known.authorization
  if body ~= known.body then return false end
  if not before or not authorization then return before == authorization end
  return same_secret(authorization, before)
end

-- What was taken for a command that is not sent, or that has ended.
local function let_go(known, way)
  way.queue:leave(known.vin)
  leave(way)
end

-- Whether the command is on its way. Nothing between the call that sends it and the end needs memory.
local function start(proxy, request, known, line)
  local way, slot, work, now = known.way, known.slot, known.work or new_work(known), loop.clock()
  local session = slot.session
  local send_it = session.send
  known.work = nil
  way.queue:enter_free(known.vin, known.place) -- needs memory, so that it comes before what would have to be given back
  enter(way)
  local ran, envelope_request, id = pcall(send_it, session, known.request, envelope, now, known.idempotent, tasks.engine(), work,
    way.context.base_url, line, way.settings, way.timeout)
  if not ran or not envelope_request then
    let_go(known, way)
    forget(work)
    return false
  end
  local metrics = way.metrics
  slot.users, metrics.in_flight, proxy.in_flight = slot.users + 1, metrics.in_flight + 1, proxy.in_flight + 1
  work.task, work.state, work.proxy, work.request, work.session = work, "sent", proxy, request, session
  work.envelope, work.id, work.began, work.sent_with = envelope_request, id, now, line
  return true
end

--- Begins a request that is known: true when its command is on its way; false when nothing was done.
function M.begin(proxy, request, known, body, authorization)
  local way = known.way
  if way.service ~= proxy.service or not is_same(known, body, authorization) or not is_free(known, way) then return false end
  local line = way.line
  if not line then
    local token = tokens.at_hand(way.context, way.token_kind)
    line = token and bearer .. token
  end
  return line and start(proxy, request, known, line)
end

-- ---- its reply ----

local function counted(way, vin, seconds, wall)
  if way.class then count.billed(way.meter, way.class, vin, wall) end
  if way.count then way.count(seconds) end
end

local function left(way, slot, visit, now, wall)
  if slot.lease or slot.watcher then return session_pool.leave(way.context, slot, visit, now, wall) end
  slot.users = slot.users - 1
end

-- Others wait for what it holds: that is given back first, whatever is raised later.
local function release(work, now, wall)
  local known, proxy = work.known, work.proxy
  local way = known.way
  local metrics = way.metrics
  work.sent_with = false
  way.queue:leave(known.vin)
  metrics.in_flight, proxy.in_flight = metrics.in_flight - 1, proxy.in_flight - 1
  left(way, known.slot, work, now, wall)
  local ran, raised = true, nil
  if way.writes or way.meter.due then ran, raised = protected(lifetime.after_call, way.context) end
  leave(way)
  if not ran then error(raised, 0) end
end

local function done(work, way, seconds, now, wall)
  local known, request, context = work.known, work.request, way.context
  counted(way, known.vin, seconds, wall)
  if context.alarmed then observers.signed_in(context) end
  release(work, now, wall)
  known.tell(now - work.began, wall, known.told)
  request:finish(work.proxy.done)
  forget(work)
end

-- The service goes on with it as with a call of its own, of which the reply has come.
local function hand_over(work, way, read, value, err, kind, now, wall)
  local known, reply = work.known, work.value
  if read == nil then -- the service did its part, and was paid
    counted(way, known.vin, reply:seconds(), wall)
    reply:close()
  end
  work.proxy:go_on(work.request, known, {
    began = work.began, client = known.call.client, slot = known.slot, session = work.session, request = work.envelope, id = work.id,
    reply = reply, token = string.sub(work.sent_with, #bearer + 1), token_kind = way.token_kind, answered = now, answered_wall = wall,
    read = read == nil, value = value, err = err, kind = kind, queued = true, entered = true, inside = true,
  })
  work.sent_with = false
  enter_as_one(way) -- as a call of its own
  leave(way)
  forget(work)
end

--- Gives back what the service did not come to give back of a command that was handed over to it. Whoever gives it back takes the
--- mark from it: queued, entered (as a call), inside (the vehicle's slot).
function M.let_go(known, begun)
  local queued, entered, inside, way = begun.queued, begun.entered, begun.inside, known.way
  begun.queued, begun.entered, begun.inside = false, false, false
  if queued then way.queue:leave(known.vin) end
  if entered then tasks.leave() end
  if inside then left(way, known.slot, begun, loop.clock()) end
  if entered then lifetime.let_go(way.context) end
end

local function finish(work)
  local now, wall = loop.clock()
  local known = work.known
  local way = known.way
  local good, a, b, c = work.session:take(work.value, work.envelope, work.id, now, known.request)
  if good then return done(work, way, b, now, wall) end
  return hand_over(work, way, good, a, b, c, now, wall)
end

local function finish_or_fail(work)
  local proxy, request = work.proxy, work.request
  local ran, raised = protected(finish, work)
  if ran then return end
  if work.sent_with then pcall(release, work, loop.clock()) end
  proxy:failed(request, raised)
end

--- What the loop runs when the reply has come. Nothing in there may wait but the owner's functions, which then have a task.
function M.go_on(work)
  if work.known.way.waits then return tasks.spawn(finish_or_fail, work) end
  finish_or_fail(work)
end

return M
