-- Secrets never leave in an error, a log event or raw text (rule R4): src/bind/call/secrets.c says which they are,
-- src/base/redact.c takes them out.

local core = require "fleet.core"

local M = {}

--- The text without secrets of the call: its secret parameters, its tokens, the account's secrets.
function M.text(text, call)
  return core.redact(text, core.call_secrets(call))
end

--- Cleans the texts of an err in place.
function M.err(err, call)
  for _, name in ipairs { "message", "reason", "raw" } do
    if type(err[name]) == "string" then err[name] = M.text(err[name], call) end
  end
  return err
end

return M
