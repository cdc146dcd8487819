-- The options of a call that has no row: names and kinds of value.

local errors = require "fleet.util.errors"

local M = {}

--- Raises unless every name in the table given (or nil) stands in the list known. where: the call, what: "option".
function M.names(where, what, given, known)
  if given == nil then return end
  if type(given) ~= "table" then errors.usage("%s: the %ss must be a table, got %s", where, what, type(given)) end
  local set = {}
  for _, name in ipairs(known) do set[name] = true end
  for name in pairs(given) do
    if not set[name] then errors.unknown_name(where, what, name, known) end
  end
end

--- Raises unless value (or nil) is a finite number above 0.
function M.seconds(where, name, value)
  local sound = type(value) == "number" and value > 0 and value < math.huge
  if value ~= nil and not sound then errors.usage("%s: option '%s' must be seconds above 0", where, name) end
end

return M
