-- What a person is asked to grant at the terminal, and what became of it.

local tables = require "fleet.util.tables"

local M = {}

--- All scopes of an owner (doc/protocol.md#scopes); those of businesses and of the application itself are asked for by name.
M.owner = {
  "openid", "offline_access", "user_data", "vehicle_device_data", "vehicle_location", "vehicle_cmds", "vehicle_charging_cmds",
  "energy_device_data", "energy_cmds",
}

--- The scopes that are wanted and not granted. granted: list, empty where the token does not tell.
function M.missing(wanted, granted)
  local have, list = tables.set(granted), {}
  if next(have) == nil then return list end
  for _, scope in ipairs(wanted) do
    if not have[scope] then list[#list + 1] = scope end
  end
  return list
end

--- The command line that asks again. config: of the client; scope: one that is not among its scopes, or nil.
function M.ask_again(config, scope)
  local wanted, more = config.scopes or M.owner, ""
  if scope and not tables.set(wanted)[scope] then more = " --scopes " .. table.concat(wanted, ",") .. "," .. scope end
  return "fleet login" .. (config.client_secret and " --prompt-missing-scopes" or "") .. more
end

return M
