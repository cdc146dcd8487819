-- The caller's mistakes on the command line: one way to raise them, one way to know them. They end with status 2.

local core = require "fleet.core"

local M = {}

local mt = { __tostring = function(self) return self.message end }

--- Raises a mistake. help: the words for which `fleet help` explains it, or nil.
function M.raise(message, help)
  error(setmetatable({ message = message, help = help }, mt), 0)
end

--- Whether a raised value is a mistake.
function M.is(value)
  return getmetatable(value) == mt
end

--- Raises that a name is unknown, with the nearest one known. what: "verb", "parameter".
function M.unknown(what, name, names, help)
  local near = core.nearest(name, names)
  M.raise(string.format("unknown %s '%s'%s", what, name, near and ", did you mean '" .. near .. "'?" or ""), help)
end

return M
