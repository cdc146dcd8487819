-- Hangs the methods on the metatables of handles. A method is made when it is first looked up (methods.lua), so that a program
-- loads what it uses.

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

--- Once, when the library is loaded. The core keeps these tables: a host that loads the library anew gets its methods.
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
