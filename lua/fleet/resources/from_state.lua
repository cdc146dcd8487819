-- Commands that always carry all of some parameters, where the caller may leave some of them out: what was left out is read
-- from the vehicle and sent as it is, because the message has no word for "leave it".

local core = require "fleet.core"
local confirm = require "fleet.confirm"
local errors = require "fleet.util.errors"

local M = {}

local function completed(row, car, params, options)
  local given = type(options) == "table" and options or {}
  -- The read may take what a call may, and wakes the vehicle only where the command would.
  local current, err, kind = confirm.current(car, row, { timeout = given.timeout, wake = given.wake })
  if err then
    err.outcome = "not_sent"
    return nil, err, kind
  end
  local all, unknown = core.completed(row.pointer, params, current)
  if all then return all end
  local text = "%s: give '%s', too: the vehicle does not say what it is now"
  return errors.failure("protocol", string.format(text, row.name, unknown), { outcome = "not_sent", vin = car.vin })
end

--- The method of a row; plain is the method that wants them all.
function M.method(row, plain)
  return function(car, params, options, ...)
    local trial = core.left_out(row.pointer, params)
    if not trial then return plain(car, params, options, ...) end
    core.plan(row.pointer, car, trial, options, ...) -- the caller's mistakes raise before anything is read
    local all, err, kind = completed(row, car, params, options)
    if not all then return nil, err, kind end
    return plain(car, all, options, ...)
  end
end

return M
