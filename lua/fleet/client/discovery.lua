-- Finding the region of an account: each address is asked where the account lives, the likeliest first.
--
-- An application is often registered in one region only, so a 412 ends nothing: the search goes on, and at its end it says
-- in which region to register (doc/protocol.md#registration). What is found is remembered (lua/fleet/region/init.lua).

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local region = require "fleet.region"
local tokens = require "fleet.oauth.tokens"

local M = {}

-- Asks one address. The account's tokens, store and options serve; only the address is another. A 421 that the call
-- followed shows in the address.
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

-- ---- the search: what was asked, and what it said ----

local function new_search(context, info)
  return {
    context = context, list = region.candidates(context, info), asked = {}, unregistered = {},
    hinted = info and info.region,
  }
end

-- One address. Returns the reply and the address where it came from when the account lives there.
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

-- The refusals that asked for a registration say most.
local function nowhere(search)
  if search.unregistered[1] then return core.region_unregistered(search.context.vendor.name, search) end
  local err = search.first or errors.new("region", "the regions send this account to each other")
  return nil, err, err.kind
end

--- Finds the region in which the account lives and the application may act, and uses it from now on.
--- Returns { region = "eu", base_url = "https://…" }, or nil, err, kind: `unregistered` says where to register.
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
