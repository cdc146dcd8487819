-- Names that the caller wrote: an unknown one raises and says which was probably meant.

local core = require "fleet.core"

local M = {}

--- Raises unless every name in the table given (or nil) stands in the list known. where: the call, what: "option".
function M.check(where, what, given, known)
  if given == nil then return end
  if type(given) ~= "table" then error(string.format("%s: the %ss must be a table, got %s", where, what, type(given)), 0) end
  for name in pairs(given) do
    local near = core.nearest(tostring(name), known)
    if near ~= name then
      local hint = near and ", did you mean '" .. near .. "'?" or ""
      error(string.format("%s: unknown %s '%s'%s", where, what, tostring(name), hint), 0)
    end
  end
end

--- Raises unless value (or nil) is a finite number above 0.
function M.check_seconds(where, name, value)
  local sound = type(value) == "number" and value > 0 and value < math.huge
  if value ~= nil and not sound then error(string.format("%s: option '%s' must be seconds above 0", where, name), 0) end
end

return M
