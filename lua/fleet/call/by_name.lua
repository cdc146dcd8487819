-- A call by the name of its row, for the command line and for client:call. What needs a handle gets one made from the
-- named arguments, so that a row's special method serves both ways.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local tables = require "fleet.util.tables"
local unpack = require("fleet.util.compat").unpack

local M = {}

local function missing(row, name)
  errors.usage("%s: '%s' is missing", row.name, name)
end

local function implied_name(row)
  for _, param in ipairs(row.params) do
    if param.implied then return param.name end
  end
end

local function handle_for(row, client, args)
  if row.handle == "client" then return client end
  local name = implied_name(row)
  if not name then return core.handle(row.handle, client) end
  local id = args[name]
  if id == nil then missing(row, name) end
  args[name] = nil
  return row.handle == "vehicle" and client:vehicle(id) or client:energy_site(id)
end

local function positional(row, args)
  local list = {}
  for _, param in ipairs(row.params) do
    if param.place == "path" and not param.implied then
      if args[param.name] == nil then missing(row, param.name) end
      list[#list + 1] = args[param.name]
      args[param.name] = nil
    end
  end
  return list
end

local function takes_table(row)
  for _, param in ipairs(row.params) do
    if param.place ~= "path" and not param.implied then return true end
  end
  return row.flags.body_as_given
end

--- Calls the row's method with arguments by name.
function M.call(row, client, args, options)
  if args ~= nil and type(args) ~= "table" then errors.usage(row.name .. ": the arguments must be a table") end
  local rest = tables.copy(args)
  local handle = handle_for(row, client, rest)
  local list = positional(row, rest)
  if takes_table(row) then
    list[#list + 1] = rest
  elseif next(rest) ~= nil then
    errors.usage("%s: unknown parameter '%s': it takes none", row.name, tostring(next(rest)))
  end
  list[#list + 1] = options
  return handle[row.method](handle, unpack(list))
end

return M
