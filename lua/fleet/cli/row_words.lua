-- Which arguments of a row are bare words on the command line, and how messages name them.

local M = {}

-- The names of bare words in help and messages.
local called = { vin = "VIN", vins = "VIN…", energy_site_id = "SITE", tariff_content_v2 = "TARIFF", routable_message = "MESSAGE" }

--- The name of a bare word in messages.
function M.called(param)
  return called[param.name] or string.upper(param.name)
end

--- The parameters of a row that are bare words, in order: the handle's id, other path arguments, and the parameter that may be given
--- without its name. Second: all other parameters, which are written name=value.
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
