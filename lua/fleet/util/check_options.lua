-- The options of a call that has no row: names and kinds of value.

local core = require "fleet.core"
local errors = require "fleet.util.errors"

local M = {}

--- names(where, what, given, known): raises unless every name in the table given (or nil) stands in the list known. where: the call,
--- what: "option".
M.names = core.check_names

--- Raises unless value (or nil) is a finite number above 0.
function M.seconds(where, name, value)
  local sound = type(value) == "number" and value > 0 and value < math.huge
  if value ~= nil and not sound then errors.usage("%s: option '%s' must be seconds above 0", where, name) end
end

return M
