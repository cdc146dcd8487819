-- Which arguments of a row stand as bare words on the command line, and how they are called.

local M = {}

-- How the words of the command line are called in help and messages.
local called = { vin = "VIN", vins = "VIN…", energy_site_id = "SITE", tariff_content_v2 = "TARIFF", routable_message = "MESSAGE" }

--- How messages call a parameter that is a bare word.
function M.called(param)
  return called[param.name] or string.upper(param.name)
end

--- The parameters of a row that stand as bare words, in order: the handle's id, what else is in the path, and the one that
--- may stand alone. Then all others, which are written name=value.
function M.parameters(row)
  local ids, path, whole, named = {}, {}, {}, {}
  for _, param in ipairs(row.params) do
    local list = param.implied and ids or param.place == "path" and path or param.whole and whole or named
    list[#list + 1] = param
  end
  local bare = {}
  for _, list in ipairs { ids, path, whole } do
    for _, param in ipairs(list) do bare[#bare + 1] = param end
  end
  return bare, named
end

return M
