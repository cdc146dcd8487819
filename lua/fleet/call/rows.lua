-- The core's rows as Lua tables: by name, by handle and method, and as one list. A row is made at its first use: making all of them takes
-- half as long as loading the files of a first call.

local core = require "fleet.core"

local M = { by_method = {} }

local function keep(row)
  if row then M.by_name[row.name], M.by_method[row.handle][row.method] = row, row end
  return row
end

-- handle: nil for all rows.
local function made_by(handle)
  return setmetatable({}, { __index = function(_, name) return keep(core.row_table(name, handle)) end })
end

M.by_name = made_by()
for _, handle in ipairs { "client", "vehicle", "site", "partner", "charging", "user" } do M.by_method[handle] = made_by(handle) end

--- Whether a row's method takes a table of parameters before its options.
function M.takes_params(row)
  for _, param in ipairs(row.params) do
    if param.place ~= "path" then return true end
  end
  return row.flags.body_as_given == true
end

local list

--- All rows, endpoints first.
function M.all()
  if list then return list end
  list = {}
  for _, rows in ipairs { core.endpoints(), core.commands() } do
    for _, row in ipairs(rows) do list[#list + 1] = rawget(M.by_name, row.name) or keep(row) end
  end
  return list
end

--- All rows by name, for callers that iterate over the names.
function M.all_by_name() return M.all() and M.by_name end

return M
