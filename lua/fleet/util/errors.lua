-- Failures and mistakes. What the world refuses is returned as nil, err, kind; what the caller got wrong is raised with
-- the line of the caller's own code, however many of this library's functions are between.

local core = require "fleet.core"
local tables = require "fleet.util.tables"

local _, file = ...
if file == nil and debug then file = string.sub(debug.getinfo(1, "S").source, 2) end -- Lua 5.1 does not say it

-- All that lies beside this file is the library's. A host that loads its modules in another way gets the first line.
local library = type(file) == "string" and string.match(file, "^(.*)util[/\\]errors%.lua$")
if library then core.library("@" .. library) end

local M = {}

--- An err of this kind. more: further members, such as outcome.
function M.new(kind, message, more)
  return core.err(tables.add({ kind = kind, message = message }, more))
end

--- nil, err, kind: what a call returns that fails.
function M.failure(kind, message, more)
  return nil, M.new(kind, message, more), kind
end

--- Raises a mistake of the caller. Further arguments are put into the text as by string.format.
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

--- unknown(what, name, known): "unknown option 'x'", and what was probably meant or what there is. known: a list of names, or a
--- table with them as keys.
M.unknown = core.unknown

--- Raises that the caller wrote an unknown name. where: the call, what: "option".
function M.unknown_name(where, what, name, known)
  core.usage(where .. ": " .. core.unknown(what, name, known))
end

--- Raises that an option has a value which is none of its choices.
function M.unknown_choice(where, option, value, known)
  core.usage(where .. ": " .. core.unknown_choice(option, value, known))
end

return M
