-- Calls a row by its name, for the command line and for client:call. A row of a handle gets the handle from the named arguments and uses
-- its method, so that rows with a method of their own work too.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local tables = require "fleet.util.tables"
local unpack = require("fleet.util.compat").unpack

local M = {}

-- Removes a required argument from args and returns it.
local function take(row, args, name)
  local value = args[name]
  if value == nil then errors.usage("%s: '%s' is missing", row.name, name) end
  args[name] = nil
  return value
end

local function handle_for(row, client, id)
  if row.handle == "client" then return client end
  if id == nil then return core.handle(row.handle, client) end
  return row.handle == "vehicle" and client:vehicle(id) or client:energy_site(id)
end

--- Calls the row's method with arguments by name: the handle's id and the path arguments, then the table of the others.
function M.call(row, client, args, options)
  if args ~= nil and type(args) ~= "table" then errors.usage("%s: the arguments must be a table", row.name) end
  local rest, list, id = tables.copy(args), {}, nil
  local takes_table = row.flags.body_as_given
  for _, param in ipairs(row.params) do
    if param.implied then
      id = id or take(row, rest, param.name)
    elseif param.place ~= "path" then
      takes_table = true
    end
  end
  for _, param in ipairs(row.params) do
    if param.place == "path" and not param.implied then list[#list + 1] = take(row, rest, param.name) end
  end
  if takes_table then
    list[#list + 1] = rest
  elseif next(rest) ~= nil then
    errors.usage("%s: unknown parameter '%s': it takes none", row.name, tostring((next(rest))))
  end
  local handle = handle_for(row, client, id)
  list[#list + 1] = options
  return handle[row.method](handle, unpack(list))
end

return M
