-- The scopes that a person is asked to grant at the terminal, and those that were not granted.

local scopes = require "fleet.oauth.scopes"
local tables = require "fleet.util.tables"

local M = { owner = scopes.owner, missing = scopes.missing }

--- The command line that asks again. config: of the client; scope: one that the client does not ask for yet, or nil.
function M.ask_again(config, scope)
  local wanted, more = config.scopes or M.owner, ""
  if scope and not tables.set(wanted)[scope] then more = " --scopes " .. table.concat(wanted, ",") .. "," .. scope end
  return "fleet login" .. (config.client_secret and " --prompt-missing-scopes" or "") .. more
end

return M
