-- Methods of the partner account beyond its rows.

local core = require "fleet.core"
local on_demand = require "fleet.util.on_demand"
local tables = require "fleet.util.tables"

local M = { around = {}, methods = {} }

-- Adds the domain of fleet.new when the call names none.
local function with_domain(partner, params)
  if params ~= nil and type(params) ~= "table" or params and params.domain ~= nil then return params end
  local domain = core.context(partner).config.domain
  return domain and tables.copy(params, { domain = domain }) or params
end

-- A misspelt domain is rejected here, with a suggestion: the service's own refusal has no reason (doc/protocol.md#registration).
function M.around.register(plain, partner, params, ...)
  params = with_domain(partner, params)
  if type(params) == "table" and type(params.domain) == "string" then
    core.hostname.check("partner.register", params.domain)
  end
  return plain(partner, params, ...)
end

function M.around.public_key(plain, partner, params, ...)
  return plain(partner, with_domain(partner, params), ...)
end

--- Unwraps the list, which the service wraps once more.
function M.around.fleet_telemetry_error_vins(plain, partner, ...)
  local value, err, kind = plain(partner, ...)
  if type(value) == "table" and value.fleet_telemetry_error_vins then value = value.fleet_telemetry_error_vins end
  return value, err, kind
end

M.methods.check = on_demand.call("fleet.registration.partner", "check")

return M
