-- Hangs the methods on the metatables of handles: one for each row, and what the files of this folder add.
--
-- A file per metatable holds up to three tables, each by the method's name:
--   around   function(plain, handle, ...): takes the place of a row's method; plain makes the row's ordinary call
--   methods  function(handle, ...): a method that no row has
--   each     function(handle, record): what a loop over a paged row gives for each record, instead of the record

local core = require "fleet.core"
local commands = require "fleet.signing.transport"
local confirm = require "fleet.confirm"
local pages = require "fleet.call.pages"
local rows = require "fleet.call.rows"
local calls = require "fleet.call"
local unpack = require("fleet.util.compat").unpack

local none = {}

local resources = {
  client = require "fleet.resources.client",
  vehicle = require "fleet.resources.vehicle",
  site = require "fleet.resources.site",
  partner = require "fleet.resources.partner",
  charging = require "fleet.resources.charging",
  user = none,
}

local function paged_method(row, each)
  return function(self, ...)
    local arguments, n = { ... }, select("#", ...)
    local item = each and function(record) return each(self, record) end
    return pages.new(row, self, function() return core.plan(row.pointer, self, unpack(arguments, 1, n)) end, item)
  end
end

local function plain_method(row)
  local call = calls.call
  return function(self, ...)
    return call(row, self, ...)
  end
end

local function has_from_state(row)
  for _, param in ipairs(row.params) do
    if param.from_state then return true end
  end
end

local function command_method(row)
  local method = commands.method(row)
  return has_from_state(row) and require("fleet.resources.from_state").method(row, method) or method
end

local function row_method(row)
  if row.flags.command then return command_method(row) end
  if row.flags.setting then return confirm.setting_method(row) end
  return plain_method(row)
end

local function around(plain, outer)
  return function(self, ...)
    return outer(plain, self, ...)
  end
end

local function method_of(row, resource)
  if row.paging ~= "no" then return paged_method(row, (resource.each or none)[row.method]) end
  local outer = (resource.around or none)[row.method]
  return outer and around(row_method(row), outer) or row_method(row)
end

local M = {}

--- Makes all methods. Once, when the library is loaded.
function M.define()
  for _, row in ipairs(rows.list) do
    core.methods(row.handle)[row.method] = method_of(row, resources[row.handle])
  end
  for kind, resource in pairs(resources) do
    local methods, metatable = core.methods(kind)
    for name, method in pairs(resource.methods or none) do methods[name] = method end
    if methods.close then metatable.__close = methods.close end
  end
end

return M
