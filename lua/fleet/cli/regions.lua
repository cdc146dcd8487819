-- Clients for each of the vendor's regions, used for registration. They store nothing: they request the application's own token when they
-- need it.

local core = require "fleet.core"

local M = {}

local kept = { "client_id", "client_secret", "domain", "ca_file", "proxy", "user_agent", "timeout", "connect_timeout", "vendor",
  "insecure_http" }

--- A client of one region. given: options of fleet.new; name: a region, or nil for the addresses in given.
function M.client(context, given, name)
  local own = { region = name, log = given.log }
  for _, option in ipairs(kept) do own[option] = given[option] end
  if not name then
    for _, option in ipairs { "base_url", "auth_url", "token_url" } do own[option] = given[option] end
  end
  return context:check(context.environment.new, own)
end

--- Checks names of regions against the vendor's. Returns nil, or a sentence that says which name is unknown.
function M.unknown(names)
  local known, list = {}, {}
  for _, row in ipairs(core.vendors()[1].regions) do
    known[row.name] = true
    list[#list + 1] = row.name
  end
  for _, name in ipairs(names) do
    if not known[name] then return string.format("region '%s' is not one of %s", name, table.concat(list, ", ")) end
  end
end

return M
