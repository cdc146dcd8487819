-- The rows of the core as Lua sees them: one list, by name and by handle and method, with what the Lua side derives from them once.

local core = require "fleet.core"

local M = { list = {}, by_name = {}, by_method = { client = {}, vehicle = {}, site = {}, partner = {}, charging = {}, user = {} } }

-- pointer: the row for core.plan; write: a failure has an outcome; secrets: the parameters that no log may show.
local function derive(row)
  row.pointer = core.row(row.name)
  row.write = row.verb ~= "GET" and not row.flags.read
  row.secrets = {}
  for _, param in ipairs(row.params) do
    if param.secret or param.pin then row.secrets[param.name] = true end
  end
  return row
end

for _, rows in ipairs { core.endpoints(), core.commands() } do
  for _, row in ipairs(rows) do
    M.list[#M.list + 1] = derive(row)
    M.by_name[row.name], M.by_method[row.handle][row.method] = row, row
  end
end

return M
