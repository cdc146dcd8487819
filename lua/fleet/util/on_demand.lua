-- Modules that are loaded when they are first needed, so that a program pays for what it uses.

local M = {}

--- A function of a module, which is loaded when the function is first called.
function M.call(module, name)
  local found
  return function(...)
    found = found or require(module)[name]
    return found(...)
  end
end

return M
