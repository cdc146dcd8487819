-- client:fleet_status for any number of vehicles: a request names as many as its row allows, and the replies are joined.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local rows = require "fleet.call.rows"
local status_cache = require "fleet.call.vehicle_status_cache"

local M = {}

local row = rows.by_name.fleet_status

--- Takes the place of the row's method; plain makes one request.
function M.ask(plain, client, params, options, ...)
  local parts, size = core.status_parts(row.pointer, params)
  if not parts then return plain(client, params, options, ...) end
  if #parts > 1 and type(options) == "table" and options.raw then
    errors.usage("%s: option 'raw' takes at most %d vehicles", row.name, size)
  end
  local all
  for _, part in ipairs(parts) do
    local reply, err, kind = plain(client, part, options, ...)
    if err then return nil, err, kind end
    status_cache.remember(core.context(client), reply)
    all = all and core.joined_status(all, reply) or reply
  end
  return all
end

return M
