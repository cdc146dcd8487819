-- Loads modules at first use, so that a program loads only what it uses.

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
