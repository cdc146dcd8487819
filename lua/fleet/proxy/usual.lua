-- The usual command: its request says, byte for byte, what an earlier one said that was done, and the vehicle's session is warm. What
-- was decided of the first holds for it: it is signed and sent in one call, and its answer is taken in one. Nothing is decided here:
-- whatever is not so goes through the service, before anything is sent or from the reply on.

local core = require "fleet.core"
local count = require "fleet.budget.count"
local observers = require "fleet.call.observers"
local prices = require "fleet.budget.prices"
local rows = require "fleet.call.rows"
local send = require "fleet.call.send"
local session_pool = require "fleet.signing.session_pool"
local tasks = require "fleet.async"
local tokens = require "fleet.oauth.tokens"
local protected = require("fleet.util.compat").pcall -- of what may wait

local M = {}

local envelope_row = rows.by_name.signed_command
local envelope = envelope_row.pointer
local same_secret = core.same_secret
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

--- What is known of a request for a command that was done, or nil where the next one like it is not a usual one. call: of the
--- service; asked: as it came.
function M.known(proxy, call, asked)
  local context = core.context(call.client)
  if not may_be(proxy, call, asked, context) then return nil end
  local row, vin = call.row, call.values.vin
  local slot = context.sessions[row.domain] and context.sessions[row.domain][vin]
  if not slot or slot.in_order then return nil end
  local request, _, idempotent = call.service:plan(call)
  local billed = prices.billed(envelope_row.billing, 200, true)
  local counter, counter_waits = counter_of(context, billed)
  return {
    service = call.service, users = call.service.clients, call = lasting(call),
    authorization = asked.headers.authorization, body = asked.body,
    context = context, vin = vin, slot = slot, request = request, idempotent = idempotent, settings = send.settings(context),
    token_kind = row.tokens[1], line = context.config.token and bearer .. context.config.token,
    class = billed and envelope_row.billing, count = counter, waits = counter_waits or call.service.audit_waits,
  }
end

-- ---- one command on its way ----

local spare -- works that have ended, by `following`

-- It is the waiter of its reply, and what the loop runs when that has come: no task stands for it.
local function new_work()
  local work = spare
  if work then
    spare, work.following = work.following, nil
    return work
  end
  return {
    token = false, transfer = false, done = false, value = nil, task = nil, cancelled = nil, outside = false, following = nil,
    state = "sent", go = nil, proxy = nil, request = nil, known = nil, session = nil, envelope = nil, id = nil, began = 0,
    sent_with = nil, held = false,
  }
end

local function forget(work)
  work.token, work.done, work.value, work.request, work.known, work.session = false, false, nil, nil, nil, nil
  work.proxy, work.envelope, work.id, work.sent_with, work.following, spare = nil, nil, nil, nil, spare, work
end

local function fits(proxy, known, body, authorization)
  local context, slot = known.context, known.slot
  if known.service ~= proxy.service or body ~= known.body or (authorization == nil) ~= (known.authorization == nil) then return false end
  if authorization and not same_secret(authorization, known.authorization) then return false end
  return not (context.closed or context.listeners or slot.holder) and context.obedient[known.vin] and slot.session
    and slot.session ~= slot.unfit and slot.users < session_pool.most_at_once and not known.service.queue:is_busy(known.vin)
end

-- What was taken for a command that is not sent, or that has ended.
local function let_go(known)
  known.context.let_go()
  known.service.queue:leave(known.vin)
end

local function sent(known, work, line, now)
  return known.slot.session:send(known.request, envelope, now, known.idempotent, tasks.engine(), work, known.context.base_url, line,
    known.settings, known.service.timeout)
end

-- Whether the command is on its way. Nothing between the call that sends it and the end needs memory.
local function start(proxy, request, known, line)
  local work, now = new_work(), tasks.now()
  known.service.queue:enter_free(known.vin) -- needs memory, so that it comes before what would have to be given back
  known.context.hold()
  local ran, envelope_request, id = pcall(sent, known, work, line, now)
  if not ran or not envelope_request then
    let_go(known)
    forget(work)
    return false
  end
  local slot, metrics = known.slot, known.service.metrics
  slot.users = slot.users + 1
  tasks.enter()
  known.users:enter()
  metrics.in_flight, proxy.in_flight = metrics.in_flight + 1, proxy.in_flight + 1
  work.state, work.go, work.task, work.proxy, work.request, work.known = "sent", M.go_on, work, proxy, request, known
  work.session, work.envelope, work.id, work.began, work.sent_with = slot.session, envelope_request, id, now, line
  work.held = true
  return true
end

--- Begins a request that is known: true when its command is on its way; false when nothing was done.
function M.begin(proxy, request, known, body, authorization)
  if not fits(proxy, known, body, authorization) then return false end
  local line = known.line
  if not line then
    local token = tokens.at_hand(known.context, known.token_kind)
    line = token and bearer .. token
  end
  return line and start(proxy, request, known, line)
end

-- ---- its reply ----

local function counted(known, seconds, wall)
  if known.class then count.billed(known.context.meter, known.class, known.vin, wall) end
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
  local context, service = known.context, known.service
  work.held = false
  service.queue:leave(known.vin)
  service.metrics.in_flight, proxy.in_flight = service.metrics.in_flight - 1, proxy.in_flight - 1
  tasks.leave()
  left(known, work, now, wall)
  known.users:leave()
  context.after_call()
  context.let_go()
end

local function done(work, seconds, now, wall)
  local known, request = work.known, work.request
  local service = known.service
  counted(known, seconds, wall)
  if known.context.alarmed then observers.signed_in(known.context) end
  release(work, now, wall)
  service:tell(known.call, 200, nil, now - work.began, wall)
  service.metrics:answered(200)
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
  forget(work)
end

--- Gives back what the service did not come to give back of a command that was handed over to it. Whoever gives it back takes the
--- mark from it: queued, entered (as a call), inside (the vehicle's slot).
function M.let_go(known, begun)
  local queued, entered, inside = begun.queued, begun.entered, begun.inside
  begun.queued, begun.entered, begun.inside = false, false, false
  if queued then known.service.queue:leave(known.vin) end
  if entered then tasks.leave() end
  if inside then left(known, begun, tasks.loop.clock()) end
  if entered then known.context.let_go() end
end

local function finish(work)
  local now, wall = tasks.loop.clock()
  local good, a, b, c = work.session:take(work.value, work.envelope, work.id, now, work.known.request)
  if good then return done(work, b, now, wall) end
  return hand_over(work, good, a, b, c, now, wall)
end

local function finish_or_fail(work)
  local proxy, request = work.proxy, work.request
  local ran, raised = protected(finish, work)
  if ran then return end
  if work.held then pcall(release, work, tasks.loop.clock()) end
  proxy:failed(request, raised)
end

--- What the loop runs when the reply has come. Nothing in there may wait but the owner's functions, which then have a task.
function M.go_on(work)
  if work.known.waits then return tasks.spawn(finish_or_fail, work) end
  finish_or_fail(work)
end

return M
