-- One alarm for many accounts that need a new sign-in. Loaded when the first of them loses its sign-in.

local tasks = require "fleet.async"

local M = {}

local alarmed = setmetatable({}, { __mode = "k" }) -- contexts of accounts, each with its context.alarmed: the cause
local seen = {} -- cause -> { accounts =, counted = wall }
local recount_every, few = 60, 100

local function is_round(n)
  return 10 ^ math.floor(math.log(n) / math.log(10) + 0.5) == n
end

-- Counts again: clients that were collected no longer count.
local function count_accounts(cause, wall)
  local entry = seen[cause] or { accounts = 0, counted = -math.huge }
  seen[cause] = entry
  entry.accounts = entry.accounts + 1
  if entry.accounts > few and math.abs(wall - entry.counted) < recount_every then return entry.accounts end
  entry.accounts, entry.counted = 0, wall
  for context in pairs(alarmed) do
    if context.alarmed == cause then entry.accounts = entry.accounts + 1 end
  end
  return entry.accounts
end

--- Raises an alarm when an account needs a new sign-in: for the first account, then for the tenth, the hundredth …, because thousands of
--- accounts may lose their sign-in at once. An account counts once until its calls succeed again or the cause changes.
function M.sign_in_needed(call, err)
  local context, cause = call.context, err.reason or "auth"
  if context.alarmed == cause then return end
  M.signed_in(context)
  alarmed[context], context.alarmed = true, cause
  local _, wall = tasks.loop.clock()
  local n = count_accounts(cause, wall)
  if not is_round(n) then return end
  local whom = n == 1 and "account '" .. context.config.account .. "'" or string.format("%d accounts", n)
  context.report {
    time = wall, name = "sign_in_needed", account = context.config.account, accounts = n, reason = err.reason, kind = err.kind,
    message = whom .. " must sign in again: " .. err.message,
  }
  context.measure { name = "alarm", cause = cause, accounts = n }
end

--- Called when a call of the account succeeds, or its client closes.
function M.signed_in(context)
  local cause = context.alarmed
  if not cause then return end
  alarmed[context], context.alarmed, seen[cause].accounts = nil, false, seen[cause].accounts - 1
end

return M
