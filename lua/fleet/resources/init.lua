-- Adds the methods to the metatables of handles. A method is made at its first use (methods.lua), so that a program loads only what it
-- uses.

local core = require "fleet.core"
local on_demand = require "fleet.util.on_demand"

local make = on_demand.call("fleet.resources.methods", "make")
local hint = on_demand.call("fleet.resources.methods", "hint")

local function maker(kind)
  return function(methods, name)
    local method = make(kind, name)
    if method == nil then return hint(kind, name) end
    methods[name] = method
    return method
  end
end

local M = {}

--- Runs once, when the library is loaded. The core keeps these tables: a host that reloads the library gets the new methods.
function M.define()
  for _, kind in ipairs { "client", "vehicle", "site", "partner", "charging", "user" } do
    local methods = core.methods(kind)
    for name in pairs(methods) do methods[name] = nil end
    setmetatable(methods, { __index = maker(kind) })
  end
  local _, metatable = core.methods("client")
  metatable.__close = on_demand.call("fleet.client.closing", "close")
end

return M
