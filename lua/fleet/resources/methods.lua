-- The methods of handles: one for each row, and those that the files of this folder add. Each is made at its first use.
--
-- A file per metatable has up to three tables, each by the method's name:
--   around   function(plain, handle, ...): replaces the method of a row; plain makes the row's ordinary call
--   methods  function(handle, ...): a method without a row
--   each     function(handle, record): the value for a loop over a paged row in place of the record

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local pages = require "fleet.call.pages"
local rows = require "fleet.call.rows"
local calls = require "fleet.call"
local unpack = require("fleet.util.compat").unpack

local none = {}
local M = {}

local function resource_of(kind)
  if kind == "user" then return none end
  return require("fleet.resources." .. kind)
end

local function paged_method(row, each)
  return function(self, ...)
    local arguments, n = { ... }, select("#", ...)
    local item = each and function(record) return each(self, record) end
    return pages.new(row, self, function() return core.plan(row.pointer, self, unpack(arguments, 1, n)) end, item)
  end
end

local function row_method(row)
  if row.flags.command then
    local method = require("fleet.signing.transport").method(row)
    return row.from_state and require("fleet.resources.from_state").method(row, method) or method
  end
  if row.flags.setting then return require("fleet.confirm").setting_method(row) end
  return calls.method(row)
end

local function method_of(row, resource)
  if row.paging ~= "no" then return paged_method(row, (resource.each or none)[row.method]) end
  local plain, outer = row_method(row), (resource.around or none)[row.method]
  return outer and function(self, ...) return outer(plain, self, ...) end or plain
end

-- ---- unknown names ----

local function names_of(kind)
  rows.all()
  local names = {}
  for name in pairs(rows.by_method[kind]) do names[name] = true end
  for name in pairs(resource_of(kind).methods or none) do names[name] = true end
  return names
end

-- Methods whose names contain the word: lock for door_lock.
local function with_word(names, word)
  local found = {}
  for name in pairs(names) do
    if string.find("_" .. name .. "_", "_" .. word .. "_", 1, true) then found[#found + 1] = "'" .. name .. "'" end
  end
  table.sort(found)
  return found[1] and #found <= 4 and table.concat(found, " or ")
end

--- Raises for an unknown name that resembles a method's; otherwise does nothing, because a program may test whether a method exists.
function M.hint(kind, name)
  if type(name) ~= "string" or string.find(name, "^_") then return nil end
  local names = names_of(kind)
  local sentence, meant = core.unknown("method", name, names), with_word(names, name)
  local near = string.match(sentence, "did you mean '([%w_]+)'")
  if near and math.abs(#near - #name) <= 2 then errors.usage("%s: %s", kind, sentence) end
  if meant then errors.usage("%s: unknown method '%s', did you mean %s?", kind, name, meant) end
end

--- The method of this name of a kind of handle, or nil.
function M.make(kind, name)
  local row, resource = rows.by_method[kind][name], resource_of(kind)
  return (resource.methods or none)[name] or row and method_of(row, resource)
end

return M
