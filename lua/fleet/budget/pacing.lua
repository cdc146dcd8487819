-- Rate limits that avoid a 429: a token bucket for each account, vehicle and class, in the store.
--
-- The service limits calls by device and account (doc/protocol.md#rate-limits), so vehicles do not wait for each other, nor do accounts. A
-- call that can start before its deadline waits; any other ends at once and says how long it would wait.

local prices = require "fleet.budget.prices"

local M = {}

local default_rest = 300 -- seconds, after a 429 without Retry-After

--- The rate limits of a client. pacing: the option; account: its name; store(): its store.
function M.new(pacing, account, store)
  return { pacing = pacing, account = account, store = store }
end

local function most_of(pacer, class)
  return pacer.pacing[class] or prices.per_minute[class]
end

local function key_of(pacer, class, id)
  return "pace/" .. pacer.account .. "/" .. class .. "/" .. (id or "-")
end

--- Takes a token for a call, unless that would take longer than `left` seconds. more = true: another command of the store follows at once.
--- Returns a function that returns the seconds until the call may start, or nil, err; returns nil when the class has no limit.
function M.ask(pacer, class, id, now, left, more)
  local most = most_of(pacer, class)
  if not most then return nil end
  return pacer.store():begin("pace", key_of(pacer, class, id), { most = most, now = now, within = left }, nil, more)
end

--- Records a 429: seconds of its Retry-After or nil, named: its ratelimit-limit or nil. Does not wait.
function M.refused(pacer, class, id, now, seconds, named)
  local most = most_of(pacer, class)
  if not most then return end
  local step = { most = most, now = now, rest = seconds or default_rest, named = named }
  pacer.store():begin("pace", key_of(pacer, class, id), step)
end

return M
