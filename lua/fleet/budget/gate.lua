-- Checks budgets and rate limits before a call is sent. Clients without either option do not load it.

local count = require "fleet.budget.count"
local pacing = require "fleet.budget.pacing"
local prices = require "fleet.budget.prices"
local tasks = require "fleet.async"

local M = {}

-- ---- the budget ----

local function usd_text(facts)
  if string.find(facts.limit, "^usd_") then return string.format("%s of %s", prices.text(facts.spent), prices.text(facts.most)) end
  local what = string.find(facts.limit, "%.signal$") and "signals" or "calls"
  return string.format(facts.most % 1 == 0 and "%.0f of %.0f %s" or "%.0f of %g %s", facts.spent, facts.most, what)
end

--- Reports that a limit has reached its warning level. vin: nil when it concerns no vehicle; advice: appended, or nil.
function M.warn(context, vin, facts, advice)
  local _, wall = tasks.loop.clock()
  context.report {
    time = wall, name = "budget_warning", account = context.config.account, vin = vin and string.sub(vin, -4) or nil,
    limit = facts.limit, spent = facts.spent, most = facts.most, resets_at = facts.resets_at,
    message = "at least 80 % of the budget '" .. facts.limit .. "' is spent: " .. usd_text(facts) .. (advice or ""),
  }
  context.measure { name = "budget", limit = facts.limit, result = "warned" }
end

local function forced(call)
  local request = (call.outer or call).request
  return request ~= nil and request:flag("force")
end

local function vin_of(call)
  return call.row.handle == "vehicle" and call.id or nil
end

local function refused(call, facts, wall)
  call.context.measure { name = "budget", limit = facts.limit, result = "refused" }
  local seconds = math.max(facts.resets_at - wall, 0)
  local text = "the budget '%s' is used up (%s) until %s; force = true sends it all the same"
  return nil, "budget", string.format(text, facts.limit, usd_text(facts), os.date("!%Y-%m-%dT%H:%M:%SZ", facts.resets_at)),
    { budget = facts, retry_after = seconds }
end

local function judged(call, entry)
  local meter = call.context.meter
  local _, wall = tasks.loop.clock()
  local admitted, facts, err = count.admit(meter, entry, forced(call), function(found) M.warn(call.context, call.id, found) end)
  if admitted then return admitted end
  if facts then return refused(call, facts, wall) end
  return nil, "store", "the budget cannot be looked at, so that nothing is sent (force = true sends): " .. err.message
end

--- Counts a call before it is sent, if there are budgets. Returns an entry for `charge`, or nil, kind, message, facts.
function M.admit(call)
  local first = call.outer or call
  local entry = first.admitted
  first.admitted = nil
  if entry then return entry end
  local _, wall = tasks.loop.clock()
  return judged(call, count.ask(call.context.meter, call.row.billing, vin_of(call), wall))
end

-- ---- the rate limits ----

local function too_long(call, seconds)
  call.context.measure { name = "pace", class = call.row.billing, result = "refused" }
  local text = "the rate limit for %s calls is used up for %.0f s, and the call's time ends before"
  return nil, "rate_limited", string.format(text, call.row.billing, math.ceil(seconds)), { retry_after = seconds, paced = true }
end

--- Takes a token of the rate limit and counts the first attempt, without waiting: both are sent with the call's next command to the store.
function M.ask(call)
  local context, class = call.context, call.row.billing
  if class == "free" then return end
  local _, wall = tasks.loop.clock()
  local asked = {}
  if context.pacer then
    asked.pace = pacing.ask(context.pacer, class, call.id, tasks.steady(), call.deadline - tasks.real(), true)
  end
  if context.config.budgets then asked.entry = count.ask(context.meter, class, vin_of(call), wall, true) end
  call.asked = asked
end

--- Waits for the answers to `ask`. Returns true, and sets call.pause when the call must start later; or nil, kind, message, facts at once
--- when the time is too short or a budget forbids the call.
function M.cleared(call)
  local asked = call.asked
  local seconds = asked.pace and asked.pace() or 0 -- when the store fails, the service's own limit decides
  if seconds > 0 and seconds > call.deadline - tasks.real() then return too_long(call, seconds) end
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

--- Waits for the pause that `cleared` set.
function M.wait(call)
  local seconds = call.pause
  call.pause = nil
  call.context.measure { name = "pace", class = call.row.billing, result = "waited", seconds = seconds }
  tasks.without_permit(tasks.sleep, seconds)
end

--- Takes back the counts of a call that sent nothing.
function M.unused(call)
  local entry = call.admitted or call.asked and call.asked.entry
  call.admitted, call.asked = nil, nil
  if entry then count.take_back(call.context.meter, entry) end
end

--- Records a 429 for later calls, which then wait in `wait`. The call that received it fails.
function M.note_429(call, reply, err)
  local most = tonumber(reply:header("ratelimit-limit") or "")
  pacing.refused(call.context.pacer, call.row.billing, call.id, tasks.steady(), err.retry_after, most)
  err.paced = true
end

return M
