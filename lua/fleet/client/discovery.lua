-- Finds the region of an account by asking each address, the likeliest first.
--
-- An application is often registered in one region only, so the search continues after a 412 and finally names the region in which to
-- register (doc/protocol.md#registration). The result is stored (lua/fleet/region/init.lua).

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local region = require "fleet.region"
local tokens = require "fleet.oauth.tokens"

local M = {}

-- Asks one address, with the account's tokens, store and options. The call may follow a 421; the address then differs afterwards.
local function ask(context, base_url)
  local other = setmetatable({ base_url = base_url }, { __index = context })
  local client = core.client(other)
  local value, err = client.user:region()
  core.close(client)
  return value, err, other.base_url
end

local function named_by(context, value)
  return type(value) == "table" and region.accepted(context, value.fleet_api_base_url) or nil
end

local function name_of(context, base_url)
  return core.region_at(context.vendor.name, base_url) or base_url
end

-- ---- the search ----

local function new_search(context, info)
  return {
    context = context, list = region.candidates(context, info), asked = {}, unregistered = {},
    hinted = info and info.region,
  }
end

-- Asks one address. When the account lives there, returns the reply and the address that sent it.
local function step(search, base_url)
  if search.asked[base_url] then return nil end
  local value, err, at = ask(search.context, base_url)
  search.asked[base_url], search.asked[at] = true, true
  if err then
    search.first = search.first or err
    if err.kind == "unregistered" then search.unregistered[#search.unregistered + 1] = at end
    return nil
  end
  search.home = named_by(search.context, value) or at
  if search.home == at then return value, at end
  table.insert(search.list, 1, search.home)
end

local function found_at(context, base_url, value)
  region.remember(context, base_url)
  local named = type(value) == "table" and value.region or core.region_at(context.vendor.name, base_url)
  return { region = named, base_url = base_url }
end

-- The region of the account, or nil when neither replies nor tokens name it.
local function home_of(search)
  if search.home then return name_of(search.context, search.home) end
  for _, base_url in ipairs(search.unregistered) do
    if name_of(search.context, base_url) == search.hinted then return search.hinted end
  end
end

local function not_registered(search)
  local names, home = {}, home_of(search)
  for i, base_url in ipairs(search.unregistered) do names[i] = name_of(search.context, base_url) end
  local where = home and "region " .. home .. ", where the account lives" or "the account's region, one of " .. table.concat(names, ", ")
  local text = "the application is not registered in %s: register it there, with 'fleet setup' or client.partner:register"
  return errors.failure("unregistered", string.format(text, where), { status = 412 })
end

-- The err of the search: a refusal that asks for a registration is preferred, because it says what to do.
local function nowhere(search)
  if search.unregistered[1] then return not_registered(search) end
  local err = search.first or errors.new("region", "the regions send this account to each other")
  return nil, err, err.kind
end

--- Finds the region in which the account lives and the application is registered, and uses it from now on. Returns { region = "eu",
--- base_url = "https://…" }, or nil, err, kind; `unregistered` says where to register.
function M.discover(context)
  local token, err, kind = tokens.access(context, "user")
  if not token then return nil, err, kind end
  local info = tokens.info(context)
  local search = new_search(context, info and info.user)
  while search.list[1] do
    local value, at = step(search, table.remove(search.list, 1))
    if at then return found_at(context, at, value) end
  end
  return nowhere(search)
end

return M
