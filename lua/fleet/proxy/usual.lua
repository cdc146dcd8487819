-- The usual command: its request says, byte for byte, what an earlier one said that was done, and the vehicle's session is warm. What
-- was decided of the first holds for it: it is signed and sent in one call, and its answer is taken in one. Nothing is decided here:
-- whatever is not so goes through the service, before anything is sent or from the reply on.

local core = require "fleet.core"
local count = require "fleet.budget.count"
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

-- ---- who is inside ----

-- Those of one service that are sent with one client are inside together: the first of them enters for all, the last one leaves.
-- Neither takes memory.
local function crowd_of(service, context)
  local crowd = service.crowds[context] or { inside = 0 }
  service.crowds[context] = crowd
  return crowd
end

local function enter_as_one(known)
  known.context.hold()
  tasks.enter()
  known.users:enter()
end

local function leave_as_one(known)
  tasks.leave()
  known.users:leave()
  known.context.let_go()
end

local function enter(known)
  local crowd = known.crowd
  if crowd.inside == 0 then enter_as_one(known) end
  crowd.inside = crowd.inside + 1
end

local function leave(known)
  local crowd = known.crowd
  crowd.inside = crowd.inside - 1
  if crowd.inside == 0 then leave_as_one(known) end
end

-- ---- what is known of a request ----

--- What is known of a request for a command that was done, or nil where the next one like it is not a usual one. call: of the
--- service; asked: as it came.
function M.known(proxy, call, asked)
  local context, service = core.context(call.client), call.service
  if not may_be(proxy, call, asked, context) then return nil end
  local row, vin = call.row, call.values.vin
  local slot = context.sessions[row.domain] and context.sessions[row.domain][vin]
  if not slot or slot.in_order then return nil end
  local request, _, idempotent = service:plan(call)
  local billed = prices.billed(envelope_row.billing, 200, true)
  local counter, counter_waits = counter_of(context, billed)
  local lasts = lasting(call)
  return {
    service = service, users = service.clients, queue = service.queue, metrics = service.metrics,
    crowd = crowd_of(service, context), place = queues.new_place(),
    call = lasts, authorization = asked.headers.authorization, body = asked.body, context = context, obedient = context.obedient,
    vin = vin, slot = slot, request = request, idempotent = idempotent, settings = send.settings(context), timeout = service.timeout,
    token_kind = row.tokens[1], line = context.config.token and bearer .. context.config.token, meter = context.meter,
    writes = context.store:delays(), class = billed and envelope_row.billing, count = counter, tell = service:teller(lasts),
    waits = counter_waits or service.audit_waits, work = nil,
  }
end

-- ---- one command on its way ----

-- It is the waiter of its reply, and what the loop runs when that has come: no task stands for it.
local function new_work(known)
  return {
    token = false, transfer = false, done = false, value = nil, task = nil, cancelled = nil, outside = false, following = nil,
    state = "sent", go = M.go_on, proxy = nil, request = nil, known = known, session = nil, envelope = nil, id = nil, began = 0,
    sent_with = nil, held = false,
  }
end

-- The next one like it takes it again.
local function forget(work)
  work.token, work.done, work.value, work.request, work.session = false, false, nil, nil, nil
  work.proxy, work.envelope, work.id, work.sent_with, work.following = nil, nil, nil, nil, nil
  work.known.work = work
end

local function is_free(known)
  local context, slot = known.context, known.slot
  if context.closed or context.listeners or slot.holder or not known.obedient[known.vin] then return false end
  local session, place = slot.session, known.queue.places[known.vin]
  return session and session ~= slot.unfit and slot.users < session_pool.most_at_once
    and (not place or place.busy < known.queue.per_vin)
end

local function is_same(proxy, known, body, authorization)
  local before = known.authorization
  if known.service ~= proxy.service or body ~= known.body then return false end
  if not before or not authorization then return before == authorization end
  return same_secret(authorization, before)
end

-- What was taken for a command that is not sent, or that has ended.
local function let_go(known)
  known.queue:leave(known.vin)
  leave(known)
end

-- Whether the command is on its way. Nothing between the call that sends it and the end needs memory.
local function start(proxy, request, known, line)
  local work, session, now = known.work or new_work(known), known.slot.session, loop.clock()
  local send_it = session.send
  known.work = nil
  known.queue:enter_free(known.vin, known.place) -- needs memory, so that it comes before what would have to be given back
  enter(known)
  local ran, envelope_request, id = pcall(send_it, session, known.request, envelope, now, known.idempotent, tasks.engine(), work,
    known.context.base_url, line, known.settings, known.timeout)
  if not ran or not envelope_request then
    let_go(known)
    forget(work)
    return false
  end
  local slot, metrics = known.slot, known.metrics
  slot.users, metrics.in_flight, proxy.in_flight = slot.users + 1, metrics.in_flight + 1, proxy.in_flight + 1
  work.task, work.state, work.held, work.proxy, work.request, work.session = work, "sent", true, proxy, request, session
  work.envelope, work.id, work.began, work.sent_with = envelope_request, id, now, line
  return true
end

--- Begins a request that is known: true when its command is on its way; false when nothing was done.
function M.begin(proxy, request, known, body, authorization)
  if not is_same(proxy, known, body, authorization) or not is_free(known) then return false end
  local line = known.line
  if not line then
    local token = tokens.at_hand(known.context, known.token_kind)
    line = token and bearer .. token
  end
  return line and start(proxy, request, known, line)
end

-- ---- its reply ----

local function counted(known, seconds, wall)
  if known.class then count.billed(known.meter, known.class, known.vin, wall) end
  if known.count then known.count(seconds) end
end

local function left(known, visit, now, wall)
  local slot = known.slot
  if slot.lease or slot.watcher then return session_pool.leave(known.context, slot, visit, now, wall) end
  slot.users = slot.users - 1
end

-- Others wait for what it holds: that is given back first, whatever is raised later.
local function release(work, now, wall)
  local known, proxy = work.known, work.proxy
  local metrics = known.metrics
  work.held = false
  known.queue:leave(known.vin)
  metrics.in_flight, proxy.in_flight = metrics.in_flight - 1, proxy.in_flight - 1
  left(known, work, now, wall)
  if known.writes or known.meter.due then known.context.after_call() end
  leave(known)
end

local function done(work, seconds, now, wall)
  local known, request = work.known, work.request
  counted(known, seconds, wall)
  if known.context.alarmed then observers.signed_in(known.context) end
  release(work, now, wall)
  known.tell(now - work.began, wall)
  request:finish(work.proxy.done)
  forget(work)
end

-- The service goes on with it as with a call of its own, of which the reply has come.
local function hand_over(work, read, value, err, kind, now, wall)
  local known, reply = work.known, work.value
  if read == nil then -- the service did its part, and was paid
    counted(known, reply:seconds(), wall)
    reply:close()
  end
  work.proxy:go_on(work.request, known, {
    began = work.began, client = known.call.client, slot = known.slot, session = work.session, request = work.envelope, id = work.id,
    reply = reply, token = string.sub(work.sent_with, #bearer + 1), token_kind = known.token_kind, answered = now, answered_wall = wall,
    read = read == nil, value = value, err = err, kind = kind, queued = true, entered = true, inside = true,
  })
  work.held = false
  enter_as_one(known) -- as a call of its own
  leave(known)
  forget(work)
end

--- Gives back what the service did not come to give back of a command that was handed over to it. Whoever gives it back takes the
--- mark from it: queued, entered (as a call), inside (the vehicle's slot).
function M.let_go(known, begun)
  local queued, entered, inside = begun.queued, begun.entered, begun.inside
  begun.queued, begun.entered, begun.inside = false, false, false
  if queued then known.queue:leave(known.vin) end
  if entered then tasks.leave() end
  if inside then left(known, begun, loop.clock()) end
  if entered then known.context.let_go() end
end

local function finish(work)
  local now, wall = loop.clock()
  local known = work.known
  local good, a, b, c = work.session:take(work.value, work.envelope, work.id, now, known.request)
  if good then return done(work, b, now, wall) end
  return hand_over(work, good, a, b, c, now, wall)
end

local function finish_or_fail(work)
  local proxy, request = work.proxy, work.request
  local ran, raised = protected(finish, work)
  if ran then return end
  if work.held then pcall(release, work, loop.clock()) end
  proxy:failed(request, raised)
end

--- What the loop runs when the reply has come. Nothing in there may wait but the owner's functions, which then have a task.
function M.go_on(work)
  if work.known.waits then return tasks.spawn(finish_or_fail, work) end
  finish_or_fail(work)
end

return M
