-- Commands that always set several parameters together, of which the caller may omit some. The omitted ones are read from the vehicle and
-- sent unchanged, because the message has no form that leaves a value as it is.

local core = require "fleet.core"
local confirm = require "fleet.confirm"
local errors = require "fleet.util.errors"
local tables = require "fleet.util.tables"

local M = {}

-- The parameters that the caller omitted. nil when none or all are omitted: then the command's own checks report it.
local function left_out(row, params)
  if type(params) ~= "table" then return nil end
  local missing, given = {}, false
  for _, param in ipairs(row.params) do
    if param.from_state and params[param.name] == nil then missing[#missing + 1] = param end
    given = given or param.from_state and params[param.name] ~= nil
  end
  return given and missing[1] and missing or nil
end

-- Raises the caller's mistakes before anything is read, by checking with a valid value for each omitted parameter.
local function check(row, car, params, missing, ...)
  local trial = tables.copy(params)
  for _, param in ipairs(missing) do trial[param.name] = param.min end
  core.plan(row.pointer, car, trial, ...)
end

local function completed(row, car, params, missing, options)
  local given = type(options) == "table" and options or {}
  -- The read has the call's timeout, and wakes the vehicle only if the call may.
  local current, err, kind = confirm.current(car, row, { timeout = given.timeout, wake = given.wake })
  if err then
    err.outcome = "not_sent"
    return nil, err, kind
  end
  local all = tables.copy(params)
  for _, param in ipairs(missing) do
    local name = param.name
    if type(current[name]) ~= "number" then
      local text = "%s: give '%s', too: the vehicle does not say what it is now"
      return errors.failure("protocol", string.format(text, row.name, name), { outcome = "not_sent", vin = car.vin })
    end
    all[name] = current[name]
  end
  return all
end

--- The method of a row; plain is the method that requires all parameters.
function M.method(row, plain)
  return function(car, params, options, ...)
    local missing = left_out(row, params)
    if not missing then return plain(car, params, options, ...) end
    check(row, car, params, missing, options, ...)
    local all, err, kind = completed(row, car, params, missing, options)
    if not all then return nil, err, kind end
    return plain(car, all, options, ...)
  end
end

return M
