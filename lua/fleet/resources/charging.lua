-- Methods for charging records beyond their rows.

local core = require "fleet.core"
local rows = require "fleet.call.rows"

local M = { around = {} }

--- Returns the bytes, or writes them to the file `to`.
function M.around.invoice(plain, charging, id, params, ...)
  if type(params) ~= "table" or params.to == nil then return plain(charging, id, params, ...) end
  local row = rows.by_name["charging.invoice"]
  local request = core.plan(row.pointer, charging, id, params, ...)
  return require("fleet.call.download").to_file(row, request, charging, params.to, params.overwrite)
end

return M
