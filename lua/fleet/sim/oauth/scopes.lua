-- Scopes: the known ones, sets of them, and those that an application may request.
local json = require("fleet.sim.json")
local text = require("fleet.sim.text")

local M = {}

M.ALL = {
  "openid", "offline_access", "user_data", "vehicle_device_data", "vehicle_location", "vehicle_cmds", "vehicle_charging_cmds",
  "vehicle_specs", "vehicle_pricing_info", "energy_device_data", "energy_cmds", "enterprise_management", "email", "profile",
  "metadata",
}

M.known = text.set(M.ALL)

-- The scopes that an owner of a vehicle and an energy site may grant.
M.OWNER = {
  "openid", "offline_access", "user_data", "vehicle_device_data", "vehicle_location", "vehicle_cmds", "vehicle_charging_cmds",
  "energy_device_data", "energy_cmds",
}

--- A set as a list, in a fixed order.
function M.in_order(set)
  local list = json.list()
  for _, scope in ipairs(M.ALL) do
    if set[scope] then list[#list + 1] = scope end
  end
  return list
end

function M.both(a, b)
  local set = {}
  for scope in pairs(a) do
    if b[scope] then set[scope] = true end
  end
  return set
end

-- An application without a secret: its users keep its tokens themselves.
function M.is_open_source(app)
  return not app.any and not app.client_secret
end

-- Whether the application may request the scope. One that lists no scopes may request all.
function M.allowed(app, scope)
  if not M.known[scope] then return false end
  for _, each in ipairs(app.scopes or { scope }) do
    if each == scope then return true end
  end
  return false
end

return M
