-- A view of a client or handle whose calls raise err instead of returning nil, err, kind. Everything that it returns, such as a vehicle or
-- a page walk, is such a view too.

local core = require "fleet.core"
local errors = require "fleet.util.errors"

local M = {}

local wrap
local inside = setmetatable({}, { __mode = "k" }) -- view -> object

local function is_handle(value)
  return type(value) == "userdata" and core.is_handle(value)
end

local function is_pages(value)
  return type(value) == "table" and (getmetatable(value) or {}).__name == "fleet.pages"
end

local function pass(first, err, ...)
  if first == nil and err ~= nil then errors.raise(err) end
  if is_handle(first) or is_pages(first) then return wrap(first), err, ... end
  return first, err, ...
end

local mt = { __name = "fleet.throwing" }

function mt.__index(view, name)
  local object = inside[view]
  local value = object[name]
  if is_handle(value) then return wrap(value) end
  if type(value) ~= "function" then return value end
  return function(_, ...)
    return pass(value(object, ...))
  end
end

-- A walk over pages: the loop gets views of cars, and passes them back; the walk knows only the cars themselves.
function mt.__call(view, ...)
  local object = inside[view]
  if type(object) ~= "table" then errors.usage("attempt to call a " .. tostring(view)) end
  if select("#", ...) == 0 then return pass(object()) end
  local state, control = ...
  return pass(object(state, inside[control] or control))
end

function mt.__len(view)
  return #inside[view]
end

function mt.__eq(a, b)
  return inside[a] == inside[b]
end

function mt.__tostring(view)
  return tostring(inside[view])
end

function mt.__close(view)
  inside[view]:close()
end

function wrap(object)
  local view = setmetatable({}, mt)
  inside[view] = object
  return view
end

--- The throwing view of a client or handle.
function M.wrap(object)
  if inside[object] then return object end
  if not is_handle(object) then errors.usage("throwing: a client or a handle is needed, got " .. type(object)) end
  return wrap(object)
end

return M
