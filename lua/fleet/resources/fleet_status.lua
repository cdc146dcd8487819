-- client:fleet_status for any number of vehicles: makes as many requests as the row's limit requires, and joins the replies.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local rows = require "fleet.call.rows"
local status_cache = require "fleet.call.vehicle_status_cache"

local M = {}

local row = rows.by_name.fleet_status

local function vins_of(params)
  if type(params) ~= "table" then return nil end
  return type(params.vins) == "table" and params.vins or (params[1] ~= nil and params) or nil
end

local function most_at_once()
  for _, param in ipairs(row.params) do
    if param.name == "vins" then return param.max or math.huge end
  end
end

-- The same parameters with a part of the list.
local function with_part(params, vins, first, size)
  local part = { vins = {} }
  for name, value in pairs(params) do
    if type(name) ~= "number" and name ~= "vins" then part[name] = value end
  end
  for i = first, math.min(first + size - 1, #vins) do part.vins[#part.vins + 1] = vins[i] end
  return part
end

-- Adds a reply to the earlier ones: appends to lists, adds members to objects.
local function join(all, part)
  if type(all) ~= "table" or type(part) ~= "table" then return part end
  for name, value in pairs(part) do
    if type(value) == "table" and type(all[name]) == "table" then
      local count = #all[name]
      for key, item in pairs(value) do all[name][type(key) == "number" and count + key or key] = item end
    else
      all[name] = value
    end
  end
  return all
end

--- Replaces the row's method; plain makes one request.
function M.ask(plain, client, params, options, ...)
  local vins, size, all = vins_of(params), most_at_once(), nil
  if not vins then return plain(client, params, options, ...) end
  if #vins > size and type(options) == "table" and options.raw then
    errors.usage("%s: option 'raw' takes at most %d vehicles", row.name, size)
  end
  for first = 1, math.max(#vins, 1), size do
    local reply, err, kind = plain(client, with_part(params, vins, first, size), options, ...)
    if err then return nil, err, kind end
    status_cache.remember(core.context(client), reply)
    all = all and join(all, reply) or reply
  end
  return all
end

return M
