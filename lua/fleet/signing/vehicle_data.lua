-- Vehicle data over the signed protocol: car:signed_data{ "charge", "climate" }.
--
-- It is a read: nothing in the vehicle changes, so that it may be repeated. The names are those of the protocol's own
-- messages (CarServer.GetVehicleData), in snake_case without "state".

local core = require "fleet.core"
local rows = require "fleet.call.rows"
local calls = require "fleet.call"
local failure = require "fleet.call.failure"
local state = require "fleet.call.state"
local command = require "fleet.signing.command"

local M = {}

local row = setmetatable({ name = "signed_data", method = "signed_data", write = false }, { __index = rows.by_name.signed_command })

--- Sections of the vehicle's data, signed and, on newer firmware, encrypted: { charge_state = {...}, ..., authenticated = }.
--- wanted: list of section names. Needs a key that is paired with the vehicle. Returns nil, err, kind otherwise.
function M.method(car, wanted, options)
  local payload = core.sections_message(wanted)
  local call = state.new(row, core.plan(row.pointer, car, "", options), car)
  call.payload, call.domain, call.signed = payload, "infotainment", true
  call.facts.idempotent, call.facts.write = true, false
  if not call.context.keys then return failure.new(call, "unsupported", "it needs a key") end
  if not core.is_vin(call.id) then return failure.new(call, "unsupported", "signing needs the VIN, not an id") end
  return calls.guarded(call, command.perform)
end

return M
