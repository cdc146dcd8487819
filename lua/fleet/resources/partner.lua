-- What the partner account's methods do beyond their rows.

local on_demand = require "fleet.util.on_demand"

local M = { around = {}, methods = {} }

-- A domain that is misspelt is refused here, with what was meant: the service only says no (doc/protocol.md#registration).
function M.around.register(plain, partner, params, ...)
  if type(params) == "table" and type(params.domain) == "string" then
    require("fleet.util.hostname").check("partner.register", params.domain)
  end
  return plain(partner, params, ...)
end

--- The list, which the service wraps once more.
function M.around.fleet_telemetry_error_vins(plain, partner, ...)
  local value, err, kind = plain(partner, ...)
  if type(value) == "table" and value.fleet_telemetry_error_vins then value = value.fleet_telemetry_error_vins end
  return value, err, kind
end

M.methods.check = on_demand.call("fleet.registration.partner", "check")

return M
