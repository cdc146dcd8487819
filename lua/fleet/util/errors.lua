-- Failures and usage errors. A failure is returned as nil, err, kind. A usage error, a mistake of the caller, is raised with the line of
-- the caller's own code, however many functions of this library are in between.

local core = require "fleet.core"
local tables = require "fleet.util.tables"

local _, file = ...
if file == nil and debug then file = string.sub(debug.getinfo(1, "S").source, 2) end -- Lua 5.1 does not pass the file name

-- All files beside this one belong to the library. If a host loads its modules in another way, the first line on the stack is used.
local library = type(file) == "string" and string.match(file, "^(.*)util[/\\]errors%.lua$")
if library then core.library("@" .. library) end

local M = {}

--- An err of this kind. more: further members, such as outcome.
function M.new(kind, message, more)
  return core.err(tables.add({ kind = kind, message = message }, more))
end

--- Returns nil, err, kind: the results of a failed call.
function M.failure(kind, message, more)
  return nil, M.new(kind, message, more), kind
end

--- Raises a usage error. Further arguments are put into the text as by string.format.
function M.usage(text, ...)
  if select("#", ...) > 0 then text = string.format(text, ...) end
  core.usage(text)
end

--- Raises an err, with the caller's line as its `where`.
function M.raise(err)
  local place = core.place()
  if type(err) == "table" and place ~= "" then err.where = place end
  error(err, 0)
end

--- unknown(what, name, known): "unknown option 'x'", followed by the nearest known name, or by all of them. known: a list of names, or a
--- table with them as keys.
M.unknown = core.unknown

--- Raises for an unknown name. where: the call, what: "option".
function M.unknown_name(where, what, name, known)
  core.usage(where .. ": " .. core.unknown(what, name, known))
end

--- Raises for an option whose value is not one of its choices.
function M.unknown_choice(where, option, value, known)
  core.usage(where .. ": " .. core.unknown_choice(option, value, known))
end

return M
