-- Checks the options of a call without a row: names and types.

local errors = require "fleet.util.errors"
local tables = require "fleet.util.tables"

local M = {}

--- names(where, what, given, known): raises unless every name in the table given (or nil) is in known, a list or the keys of a
--- table. where: the call, what: "option".
function M.names(where, what, given, known)
  if given == nil then return end
  if type(given) ~= "table" then errors.usage("%s: the %ss must be a table, got %s", where, what, type(given)) end
  local set = known[1] and tables.set(known) or known
  for name in pairs(given) do
    if not set[name] then errors.unknown_name(where, what, name, known) end
  end
end

--- seconds(where, name, value, default): value, or default for nil; raises unless it is a finite number above 0.
function M.seconds(where, name, value, default)
  if value == nil then return default end
  if type(value) ~= "number" or not (value > 0 and value < math.huge) then
    errors.usage("%s: option '%s' must be seconds above 0", where, name)
  end
  return value
end

return M
