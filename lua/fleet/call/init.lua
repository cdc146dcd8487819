-- One call from its arguments to its result: the only place that orders token, request, reply and repetition.
--
-- The decisions (what a status means, whether a repeat is allowed, which token to use) are C functions of facts; this file
-- performs them in sequence and waits where waiting is needed. A host's own HTTP goes through the same sequence.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local tables = require "fleet.util.tables"
local tasks = require "fleet.async"
local metering = require "fleet.call.metering"
local status_cache = require "fleet.call.vehicle_status_cache"
local tokens = require "fleet.oauth.tokens"
local region = require "fleet.region"
local redact = require "fleet.util.redact"
local pcall = require("fleet.util.compat").pcall -- what it calls may wait

local M = {}

local settings_of = setmetatable({}, { __mode = "k" }) -- context -> connection settings of the C layer
local facts_of = setmetatable({}, { __mode = "k" }) -- err -> { row =, params =, id = } for settle
M.facts_of = facts_of

-- ---- failures ----

--- nil, err, kind with the facts of the call.
local function fail(call, kind, message, more)
  local err = errors.new(kind, call.row.name .. ": " .. message, { outcome = call.write and "not_sent" or nil })
  return nil, M.annotate(call, tables.add(err, more)), kind
end
M.fail = fail

--- Adds what the call knows to an err of a lower layer.
function M.annotate(call, err)
  err.request = call.row.verb .. " " .. call.row.path
  if call.row.handle == "vehicle" then err.vin = call.id end
  if call.row.handle == "site" then err.site = call.id end
  if err.kind == "scope" then err.scope = call.row.scope end
  if not call.write then err.outcome = nil end
  redact.err(err, call)
  facts_of[err] = { row = call.row, params = call.request and call.request:params(), id = call.id }
  return err
end

-- ---- sending ----

local function settings_for(context, unix_path, most)
  local config = context.config
  return core.settings {
    connect_timeout = config.connect_timeout, max_response = most or config.max_response, ca_file = config.ca_file,
    unix_path = unix_path, proxy = config.proxy, agent_line = "User-Agent: " .. (config.user_agent or context.agent),
  }
end

-- The service and the signing proxy are reached in two ways; both are made once.
local function settings(context, proxied)
  local found = settings_of[context]
  if not found then
    found = { [false] = settings_for(context, context.unix_path), [true] = settings_for(context, context.proxy_unix_path) }
    settings_of[context] = found
  end
  return found[proxied]
end

local out_of_memory = "not enough memory" -- the words of Lua

local function host_failure(message, sent)
  return core.reply { failure = sent == false and "connect" or "cut", message = message, sent = sent ~= false }
end

-- A host's own HTTP: function(request) -> { status, headers, body } or nil, err, sent. sent nil counts as sent, and so
-- does a failure of the function itself: it may have happened after the request left.
-- asked: the request of one who must not lose what was answered, whatever is raised here: it has a place for it.
local function host_exchange(context, request, seconds, asked)
  request.timeout = seconds
  local ran, answer, err, sent = pcall(context.config.http, request)
  if ran and asked and asked.answer == false then asked.answer = answer or false end
  if not ran then
    if type(answer) == "table" and answer.kind == "cancelled" then error(answer, 0) end
    return host_failure("the host's http function failed: " .. tostring(answer))
  end
  if not answer then return host_failure(tostring(err), sent) end
  local read, reply = pcall(core.reply, answer, context.config.max_response)
  if not read and reply == out_of_memory then error(reply, 0) end -- it says nothing about the answer
  if not read then return host_failure("the host's http function returned what is no reply: " .. tostring(reply)) end
  return reply
end

-- A client that is closed sends nothing more; what is on the wire ends with its own result.
local closed_text = "the client was closed"

--- Sends { method, url, headers = { lines }, body } and returns the reply box, or nil, err, kind. With answer = false in
--- the request, what a host's own HTTP answers is put there at once.
function M.send_raw(context, request, seconds)
  if context.closed then return errors.failure("closed", closed_text) end
  if context.config.http then
    local headers = {}
    for _, line in ipairs(request.headers or {}) do
      local name, value = string.match(line, "^([^:]+):%s*(.*)$")
      headers[string.lower(name)] = value
    end
    local body = request.body
    if type(body) == "userdata" then body = body:text() end
    return host_exchange(context, { method = request.method, url = request.url, headers = headers, body = body }, seconds, request)
  end
  return tasks.exchange("submit_raw", request, settings(context, false), seconds)
end

--- Fetches a file of the open internet, which is not the service's: no token goes there, nothing is followed, and at
--- most so many bytes are read. Returns { status =, headers = text, body =, failure =, message = }.
function M.fetch(context, url, seconds, limit)
  local reply, err
  if context.config.http then
    reply = host_exchange(context, { method = "GET", url = url, headers = {} }, seconds)
  else
    reply, err = tasks.exchange("submit_raw", { method = "GET", url = url }, settings_for(context, nil, limit), seconds)
    if not reply then return { failure = "local", message = err.message } end
  end
  local failure, message = reply:failure()
  local answer = { status = reply:status(), headers = reply:headers(), body = reply:body(), message = message }
  answer.failure = failure ~= "ok" and failure or #answer.body > limit and "too_large" or nil
  reply:close()
  return answer
end

local function send(call, base, token, seconds)
  local context = call.context
  local line = token and "Authorization: Bearer " .. token or nil
  if context.config.http then
    local before = call.outcome_unknown
    call.outcome_unknown = before or call.write -- a task that is cancelled in there unwinds, and nobody knows what left
    local reply = host_exchange(context, call.request:table(base, line), seconds)
    call.outcome_unknown = before
    return reply
  end
  return tasks.exchange("submit", call.request, base, line, settings(context, call.proxied), seconds, call.sink)
end

-- ---- logging ----

--- Calls fn(row, id, status) after every attempt of the calls of a context, repeated ones too: what counts is what was sent.
--- status is nil where no answer came. Returns a function that ends it.
function M.listen(context, fn)
  local list = context.listeners or {} -- not in a weak table: the functions know the context
  context.listeners, list[fn] = list, true
  return function() list[fn] = nil end
end

local function tell(call, reply)
  local list = call.context.listeners
  if not list then return end
  local status = reply and reply:status() ~= 0 and reply:status() or nil
  for fn in pairs(list) do fn(call.row, call.id, status) end
end

-- Whether anybody wants to know of an attempt that went well.
local function is_watched(call)
  local context = call.context
  return context.listeners or context.config.log or context.config.metrics or call.on_reply
end

local function report(call, reply, err, attempt, billed)
  tell(call, reply)
  metering.measure(call, reply, err, billed, attempt)
  local log = call.context.config.log
  if not log then return end
  local _, wall = tasks.loop.clock()
  local request_id = reply and (reply:header("x-txid") or reply:header("x-request-id")) or nil
  local event = {
    time = wall, method = call.row.verb, path = call.row.path, vin = call.id and string.sub(call.id, -4) or nil,
    status = reply and reply:status() ~= 0 and reply:status() or nil, ms = reply and reply:seconds() * 1000 or 0,
    request_id = request_id and redact.text(request_id, call) or nil,
    attempt = attempt, billing = call.row.billing, kind = err and err.kind or nil, message = err and err.message or nil,
  }
  pcall(log, event)
end

-- ---- one attempt ----

local function explain(call, reply, err, kind)
  if call.id and (kind == "asleep" or kind == "offline") then call.context.states[call.id] = kind end
  M.annotate(call, err)
  call.other_host = err.kind == "region" and region.named(call.context, reply) or nil
  if err.kind == "unregistered" then err.message = err.message .. " (" .. region.describe(call.context) .. ")" end
  err.raw = redact.text(reply:body(), call)
end

-- The request and its reply, and what they cost.
local function exchange(call, token, number, left)
  local entry, billable = nil, call.row.billing ~= "free"
  if billable and call.context.config.budgets then
    local kind, message, facts
    entry, kind, message, facts = metering.admit(call)
    if not entry then return fail(call, kind, message, facts) end
  end
  local reply, err, kind = send(call, call.proxied and call.context.proxy_url or region.base(call.context), token, left)
  local now, wall = tasks.loop.clock()
  call.answered, call.answered_wall = now, wall
  if not reply then
    if entry then metering.settle(call, entry, nil, err, nil, wall) end
    return nil, M.annotate(call, err), kind
  end
  local value, transient, trait
  local watched = is_watched(call)
  value, err, kind, transient, trait = core.result(call.request, reply, wall, call.context.states[call.id], call.proxied, not watched)
  local billed = billable and metering.settle(call, entry, reply, err, value, wall)
  if err then
    call.facts.transient, call.facts.trait = transient, trait
    if kind == "rate_limited" and call.context.pacer then metering.rest(call, reply, err, wall) end
    explain(call, reply, err, kind)
  end
  if not err and not watched then return value end -- and the reply was closed with its result
  report(call, reply, err, number, billed)
  if call.on_reply then call.on_reply(reply) end
  reply:close()
  return value, err, kind
end

local function attempt(call, token, number)
  if call.context.closed then return fail(call, "closed", closed_text .. " before it was sent") end
  local real, now = tasks.times()
  local left = call.deadline - real
  if left <= 0 then return fail(call, "timeout", "no time was left to send it") end
  if call.expires and now >= call.expires then
    call.expired = true
    return fail(call, "timeout", "the signed message waited longer than its lifetime and was not sent")
  end
  return exchange(call, token, number, left)
end

-- ---- which token ----

local function choose_token(call)
  local context, row = call.context, call.row
  local wanted = call.wanted_token
  if wanted then
    for _, kind in ipairs(row.tokens) do
      if kind == wanted then return kind end
    end
    return fail(call, "unsupported", "it cannot be made with the " .. wanted .. " token")
  end
  for _, kind in ipairs(row.tokens) do
    if tokens.holds(context, kind) then return kind end
  end
  local user_only = row.tokens[1] == "user" and not row.tokens[2]
  if user_only and tokens.holds(context, "business") then
    return fail(call, "unsupported", "a business token has no user and cannot make this call: a person must sign in")
  end
  return row.tokens[1]
end

local function open_source(context)
  return context.config.client_id and not context.config.client_secret and not context.config.token
end

local function refusal(call)
  if call.row.flags.third_party and open_source(call.context) then
    return fail(call, "unsupported", "an open-source app has no partner token and cannot make this call")
  end
  if call.row.flags.needs_protocol and not call.signed then
    return fail(call, "unsupported", "this command exists only in signed form: set a key")
  end
  if call.row.flags.deprecated and not call.request:flag("force") and call.context.config.commands ~= "proxy" then
    local objection = status_cache.objection(call.context, call.row, call.id)
    if objection then return fail(call, "unsupported", objection) end
  end
end

-- ---- the sequence ----

local function pause(call, seconds)
  if seconds > 0 then tasks.sleep(seconds) end
  call.facts.left = call.deadline - tasks.real()
end

--- What a failed attempt asks for; true when the next attempt may start.
local function again(call, err, token)
  local facts = call.facts
  facts.left, facts.other_host = call.deadline - tasks.real(), call.other_host ~= nil
  facts.retry_after = err.retry_after
  local action, seconds = core.next(err.kind, err.outcome, facts)
  if action == "refresh" then
    facts.refreshes, call.rejected = facts.refreshes + 1, token
  elseif action == "region" then
    facts.regions = facts.regions + 1
    region.remember(call.context, call.other_host)
  elseif action == "repeat" then
    facts.repeats = facts.repeats + 1
  else
    return false
  end
  pause(call, seconds)
  return true
end

-- Waking repeats the call, so that a write must not be in doubt (doc/protocol.md#outcomes). An envelope is not sent again after a wake: its
-- message would have expired.
local function wake_first(call, err)
  if call.envelope or call.woken or not call.request:flag("wake") then return false end
  -- "offline or asleep" is read by the last known state, which may be out of date.
  if err.kind ~= "asleep" and not (err.kind == "offline" and call.facts.trait == "by_state") then return false end
  local left = call.deadline - tasks.real()
  if left <= 0 or (err.outcome == "unknown" and not call.facts.idempotent) then return false end
  call.woken = true
  return call.context.wake(call.handle, { timeout = left })
end

-- One failure may be reported to several calls that waited for the same token: each gets its own.
local function no_token(call, err, kind)
  local own = tables.add({ outcome = call.write and "not_sent" or nil }, err)
  return nil, M.annotate(call, errors.new(err.kind, err.message, own)), kind
end

-- What a later attempt says does not undo what an earlier one may have done.
local function keep_unknown(call, err)
  if call.outcome_unknown and type(err) == "table" then err.outcome = "unknown" end
end

M.wake_first = wake_first

--- Sends the call's request until it succeeds or nothing more may be tried. Returns the value, or nil, err, kind.
local function attempts(call)
  local number = 0
  while true do
    number = number + 1
    if call.context.closed then return fail(call, "closed", closed_text .. " before it was sent") end
    local token, value, err, kind
    token, err, kind = tokens.access(call.context, call.token_kind, call)
    if not token then
      if kind == "auth" then metering.sign_in_needed(call, err) end
      return no_token(call, err, kind)
    end
    call.token = token -- for redact
    value, err, kind = attempt(call, token, number)
    if not err then
      metering.signed_in(call.context)
      return value
    end
    call.outcome_unknown = call.outcome_unknown or err.outcome == "unknown"
    if not again(call, err, token) and not wake_first(call, err) then
      if kind == "auth" then metering.sign_in_needed(call, err) end
      return nil, err, kind
    end
  end
end

M.attempts = attempts

--- What one call knows about itself. What follows the handle is what core.plan gives beside the request, if that is at hand.
function M.new_call(row, request, handle, timeout, idempotent, wanted_token, context, id)
  if not context then timeout, idempotent, wanted_token, context, id = request:settings(handle) end
  return {
    row = row, request = request, context = context, id = id, handle = handle, write = row.write,
    proxied = false, deadline = tasks.real() + (timeout or context.config.timeout), wanted_token = wanted_token,
    facts = {
      write = row.write, idempotent = idempotent, own_token = not context.config.token,
      refreshes = 0, regions = 0, repeats = 0,
    },
  }
end

--- A call that carries another one: its deadline and token, an outcome of its own.
function M.sub_call(call, row, request, write)
  return {
    row = row, request = request, context = call.context, id = call.id, handle = call.handle, write = write,
    proxied = false, deadline = call.deadline, token_kind = call.token_kind, envelope = true, outer = call,
    facts = {
      write = write, idempotent = not write, own_token = call.facts.own_token, refreshes = 0, regions = 0, repeats = 0,
    },
  }
end

-- A cancelled task unwinds through here while it pauses between attempts.
local function interrupted(call, failure)
  if type(failure) ~= "table" or failure.kind ~= "cancelled" then return failure end
  return M.annotate(call, errors.new("cancelled", failure.message, { outcome = call.write and "not_sent" or nil }))
end

-- A repeat that finds the wanted state may find what an attempt without an answer did.
local function admit(call, value)
  if call.outcome_unknown and type(value) == "table" and value.changed == false then value.perhaps_changed = true end
end

-- Before a message is signed, which must not grow old.
local function in_turn(call, act)
  if call.row.billing ~= "free" and call.context.pacer then
    local turn, kind, message, facts = metering.take_turn(call)
    if not turn then return fail(call, kind, message, facts) end
  end
  return act(call)
end

--- Runs act(call) with what every call needs before it: a usable client, permission, a token.
function M.guarded(call, act)
  if not tasks.usable(call.context.generation) then return fail(call, "closed", "created before fork: make a new client") end
  if call.context.closed then return fail(call, "closed", closed_text .. ": make a new one") end
  local refused, err, kind = refusal(call)
  if err then return refused, err, kind end
  call.token_kind, err, kind = choose_token(call)
  if not call.token_kind then return nil, err, kind end
  local ran, value
  tasks.enter()
  call.context.hold()
  ran, value, err, kind = pcall(in_turn, call, act)
  if not ran then err = interrupted(call, value) end
  if err then keep_unknown(call, err) else admit(call, value) end
  tasks.leave(err)
  call.context.after_call()
  call.context.let_go()
  if not ran then error(err, 0) end
  return value, err, kind
end

local function perform(row, handle, sink, request, ...)
  local call = M.new_call(row, request, handle, ...)
  call.sink = sink
  return M.ended(call, M.guarded(call, attempts))
end

--- Performs a planned request of a row for a handle. sink: a descriptor that takes the body of a good reply, or nil.
--- Returns the value or nil, err, kind.
function M.perform(row, request, handle, sink)
  return perform(row, handle, sink, request)
end

--- Passes on the result of a whole call, of which the audit is told.
function M.ended(call, value, err, kind)
  metering.audit(call, value, err)
  return value, err, kind
end

--- Calls a row with the arguments of its method: path arguments, parameters, options.
function M.call(row, handle, ...)
  return perform(row, handle, nil, core.plan(row.pointer, handle, ...))
end

return M
