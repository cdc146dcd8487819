-- A call by the name of its row, for the command line and for client:call. What needs a handle gets one made from the
-- named arguments, so that a row's special method serves both ways.

local core = require "fleet.core"
local unpack = require("fleet.util.compat").unpack

local M = {}

local function handle_for(row, client, id)
  if row.handle == "client" then return client end
  if id == nil then return core.handle(row.handle, client) end
  return row.handle == "vehicle" and client:vehicle(id) or client:energy_site(id)
end

--- Calls the row's method with arguments by name.
function M.call(row, client, args, options)
  local list, rest, id = core.arguments(row.pointer, args)
  local handle = handle_for(row, client, id)
  list[#list + 1] = rest
  list[#list + 1] = options
  return handle[row.method](handle, unpack(list))
end

return M
