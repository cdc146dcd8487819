-- Secrets never leave in an error, a log event or raw text (rule R4): which they are is said here, src/base/redact.c
-- takes them out.

local core = require "fleet.core"

local M = {}

local function secret_values(call)
  local values = {}
  local function add(value)
    if type(value) == "string" then values[#values + 1] = value end
  end
  local params = call.request and call.request:params() or {}
  for name in pairs(call.row.secrets) do add(params[name]) end
  local config = call.context and call.context.config or {}
  for _, name in ipairs { "token", "client_secret", "store_key" } do add(config[name]) end
  add(call.token)
  add(call.rejected)
  return values
end

--- The text without secrets of the call: its secret parameters, its tokens, the account's secrets.
function M.text(text, call)
  return core.redact(text, secret_values(call))
end

--- Cleans the texts of an err in place.
function M.err(err, call)
  for _, name in ipairs { "message", "reason", "raw" } do
    if type(err[name]) == "string" then err[name] = M.text(err[name], call) end
  end
  return err
end

return M
