-- The audit of writes: account, call and outcome, never parameters.

local tasks = require "fleet.async"
local pcall = require("fleet.util.compat").pcall -- the called functions may yield

local M = {}

-- Returns "done", "refused", "not_sent" or "unknown".
local function outcome_of(value, err)
  if not err then return "done", type(value) == "table" and value.changed or nil end
  return err.outcome or "refused"
end

--- Calls config.audit after a write has ended. Its errors are ignored.
function M.notify(call, value, err)
  local context, row = call.context, call.row
  local _, wall = tasks.loop.clock()
  local outcome, changed = outcome_of(value, err)
  pcall(context.config.audit, {
    time = wall, account = context.config.account, token = call.token_kind, key = call.signed and context.keys
      and context.keys[1]:fingerprint() or nil,
    call = row.name, vin = row.handle == "vehicle" and call.id or nil, site = row.handle == "site" and call.id or nil,
    outcome = outcome, changed = changed, kind = err and err.kind or nil, reason = err and err.reason or nil,
    via = type(value) == "table" and value.via or call.signed and "signed" or nil,
  })
end

return M
