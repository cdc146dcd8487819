-- A call by the name of its row, for the command line and for client:call. What needs a handle gets one made from the
-- named arguments, so that a row's special method serves both ways.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local members = require "fleet.util.tables"
local unpack = require("fleet.util.compat").unpack

local M = {}

local id_argument = { vehicle = "vin", site = "energy_site_id" }

local function missing(row, name)
  errors.usage("%s: '%s' is missing", row.name, name)
end

local function handle_for(row, client, args)
  local id_name = id_argument[row.handle]
  if row.handle == "client" then return client end
  if not id_name then return core.handle(row.handle, client) end
  local id = args[id_name]
  if id == nil then missing(row, id_name) end
  args[id_name] = nil
  return id_name == "vin" and client:vehicle(id) or client:energy_site(id)
end

-- What the handle knows already.
local function implied(row, param)
  return param.name == id_argument[row.handle]
end

local function positional(row, args)
  local list = {}
  for _, param in ipairs(row.params) do
    if param.place == "path" and not implied(row, param) then
      if args[param.name] == nil then missing(row, param.name) end
      list[#list + 1] = args[param.name]
      args[param.name] = nil
    end
  end
  return list
end

local function takes_table(row)
  for _, param in ipairs(row.params) do
    local own = param.type == "vin" and row.handle == "vehicle"
    if param.place ~= "path" and not own then return true end
  end
  return row.flags.body_as_given
end

--- Calls the row's method with arguments by name.
function M.call(row, client, args, options)
  if args ~= nil and type(args) ~= "table" then errors.usage(row.name .. ": the arguments must be a table") end
  local rest = members.copy(args)
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
