-- What a call asks of the budgets and the rate limits before it is sent, and what it tells them, the metrics and the audit
-- afterwards. Without the options that want to know, there is one count for a billed call and nothing else.

local count = require "fleet.budget.count"
local pacing = require "fleet.budget.pacing"
local prices = require "fleet.budget.prices"
local tasks = require "fleet.async"
local pcall = require("fleet.util.compat").pcall -- what it calls may wait

local M = {}

-- ---- telling ----

--- Tells config.metrics an event; what it raises is nobody's concern.
local function emit(context, event)
  local metrics = context.config.metrics
  if metrics then pcall(metrics, event) end
end

local function usd_text(facts)
  if string.find(facts.limit, "^usd_") then return string.format("%s of %s", prices.text(facts.spent), prices.text(facts.most)) end
  return string.format("%.0f of %.0f calls", facts.spent, facts.most)
end

local function warn(call, facts)
  local _, wall = tasks.loop.clock()
  call.context.report {
    time = wall, name = "budget_warning", account = call.context.config.account, vin = call.id and string.sub(call.id, -4) or nil,
    limit = facts.limit, spent = facts.spent, most = facts.most, resets_at = facts.resets_at,
    message = "80 % of the budget '" .. facts.limit .. "' are used up: " .. usd_text(facts),
  }
  emit(call.context, { name = "budget", limit = facts.limit, result = "warned" })
end

-- ---- the budget ----

local function forced(call)
  local request = (call.outer or call).request
  return request ~= nil and request:flag("force")
end

local function vin_of(call)
  return call.row.handle == "vehicle" and call.id or nil
end

local function refused(call, facts, wall)
  emit(call.context, { name = "budget", limit = facts.limit, result = "refused" })
  local seconds = math.max(facts.resets_at - wall, 0)
  local text = "the budget '%s' is used up (%s) until %s; force = true sends it all the same"
  return nil, "budget", string.format(text, facts.limit, usd_text(facts), os.date("!%Y-%m-%dT%H:%M:%SZ", facts.resets_at)),
    { budget = facts, retry_after = seconds }
end

local function judged(call, entry)
  local meter = call.context.meter
  local _, wall = tasks.loop.clock()
  local admitted, facts, err = count.admit(meter, entry, forced(call), function(found) warn(call, found) end)
  if admitted then return admitted end
  if facts then return refused(call, facts, wall) end
  return nil, "store", "the budget cannot be looked at, so that nothing is sent (force = true sends): " .. err.message
end

--- Counts a call that is about to be sent, where budgets are set. Returns an entry for `settle`, or nil, kind, message, facts.
function M.admit(call)
  local first = call.outer or call
  local entry = first.admitted
  first.admitted = nil
  if entry then return entry end
  local _, wall = tasks.loop.clock()
  return judged(call, count.ask(call.context.meter, call.row.billing, vin_of(call), wall))
end

local function is_billed_reply(row, value)
  return prices.billed(row.billing, 200, type(value) ~= "table" or next(value) ~= nil)
end

-- A request without an answer may have been billed: it stays counted where a budget must hold.
local function is_billed(call, reply, err, value)
  if not err then return is_billed_reply(call.row, value) end
  if err.status then return prices.billed(call.row.billing, err.status, false) end
  return reply ~= nil and reply:sent() and call.row.billing ~= "specs"
end

--- Tells what became of an attempt. entry: of `admit`, or nil.
function M.settle(call, entry, reply, err, value, wall)
  local meter = call.context.meter
  local billed = is_billed(call, reply, err, value)
  if entry then
    count.settle(meter, entry, billed, wall)
  elseif billed then
    count.billed(meter, call.row.billing, vin_of(call), wall)
  end
  return billed
end

--- Counts the good reply to a read of which nobody else is told.
function M.count(context, row, id, value)
  if not is_billed_reply(row, value) then return end
  local _, wall = tasks.loop.clock()
  count.billed(context.meter, row.billing, row.handle == "vehicle" and id or nil, wall)
end

-- ---- the rate limits ----

local function too_long(call, seconds)
  emit(call.context, { name = "pace", class = call.row.billing, result = "refused" })
  local text = "the rate limit for %s calls leaves no turn for %.0f s, and the call's time ends before"
  return nil, "rate_limited", string.format(text, call.row.billing, math.ceil(seconds)), { retry_after = seconds, paced = true }
end

--- Asks for the turn of a call and counts its first attempt, without waiting: both leave with what the call asks the store next.
function M.ask(call)
  local context, class = call.context, call.row.billing
  if class == "free" then return end
  local _, wall = tasks.loop.clock()
  local asked = {}
  if context.pacer then
    asked.turn = pacing.ask(context.pacer, class, call.id, wall, call.deadline - tasks.real(), true)
  end
  if context.config.budgets then asked.entry = count.ask(context.meter, class, vin_of(call), wall, true) end
  call.asked = asked
end

--- Waits for what was asked. Returns true, with call.pause where the turn comes later; or nil, kind, message, facts, at once, where
--- the time would not suffice or a budget forbids the call.
function M.cleared(call)
  local asked = call.asked
  if not asked then return true end
  local seconds = asked.turn and asked.turn() or 0 -- a store that fails: the service's own limit decides
  if seconds > call.deadline - tasks.real() then return too_long(call, seconds) end
  if asked.entry then
    local entry, kind, message, facts = judged(call, asked.entry)
    if not entry then
      call.asked = nil
      return nil, kind, message, facts
    end
    call.admitted = entry
  end
  call.asked, call.pause = nil, seconds > 0 and seconds or nil
  return true
end

--- Waits for the turn, of which `cleared` said that it comes later.
function M.wait(call)
  local seconds = call.pause
  call.pause = nil
  emit(call.context, { name = "pace", class = call.row.billing, result = "waited", seconds = seconds })
  tasks.aside(tasks.sleep, seconds)
end

--- Takes back what was counted for a call that sent nothing.
function M.unused(call)
  local entry = call.admitted or call.asked and call.asked.entry
  call.admitted, call.asked = nil, nil
  if entry then count.take_back(call.context.meter, entry) end
end

--- After a 429.
function M.rest(call, reply, err, wall)
  local most = tonumber(reply:header("ratelimit-limit") or "")
  pacing.refused(call.context.pacer, call.row.billing, call.id, wall, err.retry_after, most)
  err.paced = true
end

-- ---- metrics and audit ----

--- Tells config.metrics of an attempt.
function M.measure(call, reply, err, billed, attempt)
  if not call.context.config.metrics then return end
  local status = reply and reply:status() ~= 0 and reply:status() or nil
  emit(call.context, {
    name = "attempt", row = call.row.name, class = call.row.billing, status = status, kind = err and err.kind or nil,
    seconds = reply and reply:seconds() or 0, billed = billed or false, attempt = attempt,
    usd = billed and call.context.meter.prices[call.row.billing] or 0,
  })
end

-- done, refused, not_sent, unknown
local function outcome_of(value, err)
  if not err then return "done", type(value) == "table" and value.changed or nil end
  return err.outcome or "refused"
end

--- Tells config.audit of a write that has ended: who, what, outcome; never with what parameters.
function M.audit(call, value, err)
  local audit = call.context.config.audit
  if not audit or not call.write then return end
  local _, wall = tasks.loop.clock()
  local outcome, changed = outcome_of(value, err)
  pcall(audit, {
    time = wall, account = call.context.config.account, token = call.token_kind, key = call.signed and call.context.keys
      and call.context.keys[1]:fingerprint() or nil,
    call = call.row.name, vin = call.row.handle == "vehicle" and call.id or nil, site = call.row.handle == "site" and call.id or nil,
    outcome = outcome, changed = changed, kind = err and err.kind or nil, reason = err and err.reason or nil,
    via = type(value) == "table" and value.via or call.signed and "signed" or nil,
  })
end

-- ---- one alarm for many ----

local alarmed = setmetatable({}, { __mode = "k" }) -- context of an account -> cause
local seen = {} -- cause -> { accounts =, counted = wall }
local recount_every, few = 60, 100

local function is_round(n)
  return 10 ^ math.floor(math.log(n) / math.log(10) + 0.5) == n
end

-- Clients that were collected no longer count.
local function count_accounts(cause, wall)
  local entry = seen[cause] or { accounts = 0, counted = -math.huge }
  seen[cause] = entry
  entry.accounts = entry.accounts + 1
  if entry.accounts > few and math.abs(wall - entry.counted) < recount_every then return entry.accounts end
  entry.accounts, entry.counted = 0, wall
  for _, of in pairs(alarmed) do
    if of == cause then entry.accounts = entry.accounts + 1 end
  end
  return entry.accounts
end

--- Somebody must sign in again. Told for the first account and then for the tenth, the hundredth …: thousands of accounts that lose
--- their sign-in at once are one alarm. An account counts once until its calls go through again or the cause changes.
function M.sign_in_needed(call, err)
  local context, cause = call.context, err.reason or "auth"
  if alarmed[context] == cause then return end
  M.signed_in(context)
  alarmed[context], context.alarmed = cause, true
  local _, wall = tasks.loop.clock()
  local n = count_accounts(cause, wall)
  if not is_round(n) then return end
  local whom = n == 1 and "account '" .. context.config.account .. "'" or string.format("%d accounts", n)
  context.report {
    time = wall, name = "sign_in_needed", account = context.config.account, accounts = n, reason = err.reason, kind = err.kind,
    message = whom .. " must sign in again: " .. err.message,
  }
  emit(context, { name = "alarm", cause = cause, accounts = n })
end

--- A call of the account went through, or its client is closed.
function M.signed_in(context)
  local cause = alarmed[context]
  if not cause then return end
  alarmed[context], context.alarmed, seen[cause].accounts = nil, false, seen[cause].accounts - 1
end

return M
