-- Checks whether the application's key is on a vehicle, for `pair`, `setup` and `doctor`.

local errors = require "fleet.util.errors"
local paired = require("fleet.registration.pairing").paired

local M = {}

local first_pause, longest_pause = 3, 20 -- seconds between checks

-- Returns "paired" or "unpaired", or nil, err, kind when the service does not say.
local function look(context, client, vin)
  local status, err, kind = context:check(client.fleet_status, client, { vin })
  if err then return nil, err, kind end
  local state = paired(vin, status)
  if state then return state end
  return errors.failure("protocol", "fleet_status does not say whether the key is on " .. vin, { vin = vin })
end

local function not_in_time(vin, seconds)
  local text = "after %g s the key is not on %s: run 'fleet doctor' to see what is missing"
  return errors.failure("timeout", string.format(text, seconds, vin), { vin = vin })
end

local function until_paired(context, client, vin, seconds)
  local fleet = require "fleet"
  local pauses = require("fleet.async").pauses(seconds, first_pause, longest_pause, fleet.loop.clock, fleet.sleep)
  while true do
    local state, err, kind = look(context, client, vin)
    if err then return nil, err, kind end
    if state == "paired" then return true end
    local left = pauses:left()
    if left <= 0 then return not_in_time(vin, seconds) end
    context.progress(string.format("waiting for the owner, %.0f s left", left))
    pauses:again()
  end
end

--- Waits until the key is on the vehicle. Returns true, or nil, err, kind; kind is `timeout` after so many seconds.
function M.wait(context, client, vin, seconds)
  local done, err, kind = until_paired(context, client, vin, seconds)
  context.progress()
  return done, err, kind
end

return M
