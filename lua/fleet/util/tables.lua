-- Plain tables: copies, additions, sets.

local M = {}

--- Adds the members of more (nil: none) to into, and returns into.
function M.add(into, more)
  for name, value in pairs(more or {}) do into[name] = value end
  return into
end

--- A new table with the same members, and those of more.
function M.copy(t, more)
  return M.add(M.add({}, t), more)
end

--- The same for all tables inside.
function M.deep_copy(value)
  if type(value) ~= "table" then return value end
  local out = {}
  for name, part in pairs(value) do out[name] = M.deep_copy(part) end
  return out
end

--- The members of a list as keys; an empty set for a value that is not a list.
function M.set(list)
  local set = {}
  for _, item in ipairs(type(list) == "table" and list or {}) do set[item] = true end
  return set
end

return M
