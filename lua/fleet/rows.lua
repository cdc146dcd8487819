-- The rows of the core as Lua sees them: one list, and by name.

local core = require "fleet.core"

local M = { list = {}, by_name = {} }

for _, rows in ipairs { core.endpoints(), core.commands() } do
  for _, row in ipairs(rows) do
    M.list[#M.list + 1] = row
    M.by_name[row.name] = row
  end
end

return M
