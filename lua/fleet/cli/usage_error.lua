-- Usage errors: mistakes of the caller on the command line. They exit with status 2.

local errors = require "fleet.util.errors"

local M = {}

local mt = { __tostring = function(self) return self.message end }

--- Raises a usage error. help: the words for which `fleet help` explains it, or nil.
function M.raise(message, help)
  error(setmetatable({ message = message, help = help }, mt), 0)
end

--- Whether a raised value is a usage error.
function M.is(value)
  return getmetatable(value) == mt
end

--- Raises that a name is unknown, and suggests the nearest known one. what: "verb", "parameter".
function M.unknown(what, name, names, help)
  M.raise(errors.unknown(what, name, names), help)
end

return M
