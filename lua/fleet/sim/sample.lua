-- The reply of an endpoint that the simulator does not model: the example of its row, else a minimal reply for its kind. A new endpoint is
-- therefore only a row, and the client's side of it can be tried at once.
local json = require("fleet.sim.json")
local reply = require("fleet.sim.reply")

local M = {}

local function least(row)
  local value = row.value
  if value.bytes then return reply.bytes("", "application/octet-stream") end
  if value.base64 or value.text then return "" end
  if row.setting then return { code = 201, message = "Updated" } end
  if row.paging == nil or row.paging == "no" then return value.object and {} or json.list() end
  if row.items then return reply.bare({ [row.items] = json.list() }) end
  return json.list(), { count = 0 }
end

--- A handler like those of handlers.lua, for any row.
function M.reply(context)
  local text = context.row.reply
  if not text then return least(context.row) end
  return reply.bare(assert(json.decode(text)))
end

return M
