-- Parses the query of a request once, so that the checks and the forwarded request use the same fields.

local M = {}

-- Decoded text, or nil when it is badly encoded.
local function decoded(text)
  local bad = string.find(string.gsub(text, "%%%x%x", ""), "%", 1, true)
  if bad then return nil end
  return (string.gsub(string.gsub(text, "+", " "), "%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end))
end

--- The fields of a query by their decoded names; or nil and why it is rejected: it is badly encoded, or repeats a name.
function M.read(query)
  local fields = {}
  for field in string.gmatch(query, "[^&]+") do
    local name, value = string.match(field, "^([^=]*)=?(.*)$")
    name, value = decoded(name), decoded(value)
    if not name or not value then return nil, "the query is badly encoded" end
    if fields[name] then return nil, string.format("the query gives '%s' twice", name) end
    fields[name] = value
  end
  return fields
end

return M
