-- The rows of the core as Lua sees them: one list, by name and by handle and method.

local core = require "fleet.core"

local M = { list = {}, by_name = {}, by_method = { client = {}, vehicle = {}, site = {}, partner = {}, charging = {}, user = {} } }

for _, rows in ipairs { core.endpoints(), core.commands() } do
  for _, row in ipairs(rows) do
    M.list[#M.list + 1] = row
    M.by_name[row.name], M.by_method[row.handle][row.method] = row, row
  end
end

return M
