-- The host of an account: from the option, from a 421, or from the vendor's table.
--
-- A new host is accepted only from the service's own list, compared by whole labels, over https on the standard port
-- (doc/protocol.md#wrong-region). With a custom base_url, only hosts that the caller listed are accepted.

local core = require "fleet.core"

local M = {}

local function hosts_of(context)
  if context.config.base_url then return context.config.hosts or {} end
  return context.vendor.host_endings
end

--- The base address that a 421 names; nil when it names none that is trusted, or the address of the request itself.
function M.named(context, reply)
  local base_url = core.other_host(reply, hosts_of(context))
  return base_url ~= context.base_url and base_url or nil
end

--- Uses a base address for this account and stores it for the next process.
function M.remember(context, base_url)
  context.base_url = base_url
  context.store:put("region/" .. context.config.account, base_url, {})
end

--- The address, if it is trusted like one that a 421 names; else nil.
function M.accepted(context, base_url)
  return type(base_url) == "string" and core.accepted_host(base_url, hosts_of(context)) or nil
end

--- Reads the address that an earlier process stored, if it would be accepted now.
function M.recall(context)
  context.base_url = M.accepted(context, (context.store:get("region/" .. context.config.account))) or context.base_url
end

-- ---- names and hints ----

--- The region in use, for a sentence: "region eu, https://…".
function M.describe(context)
  local name = core.region_at(context.vendor.name, context.base_url)
  return (name and "region " .. name .. ", " or "") .. context.base_url
end

--- Whether the base address is of an API that the vendor closed to applications.
function M.is_closed(context)
  for _, host in ipairs(context.vendor.closed_hosts) do
    if string.find(context.base_url .. "/", "://" .. host .. "/", 1, true) then return true end
  end
  return false
end

--- The possible addresses of the account, the likeliest first: from its tokens, the address in use, and the vendor's others with the same
--- sign-in. With a custom base_url only that one.
function M.candidates(context, info)
  if context.config.base_url then return { context.base_url } end
  local list, seen = {}, {}
  local function add(base_url)
    if not seen[base_url] then list[#list + 1], seen[base_url] = base_url, true end
  end
  local regions = {} -- with the same sign-in
  for _, region in ipairs(context.vendor.regions) do
    if region.auth_url == context.auth_url then regions[#regions + 1] = region end
  end
  for _, region in ipairs(regions) do
    if info and region.name == info.region then add(region.base_url) end
  end
  add(context.base_url)
  for _, region in ipairs(regions) do add(region.base_url) end
  return list
end

--- After a sign-in: starts in the region that the tokens name, unless the caller chose one. A 421 corrects it.
function M.follow_hint(context, info)
  if rawget(context.config, "region") then return end
  local likeliest = M.candidates(context, info)[1]
  if likeliest ~= context.base_url then M.remember(context, likeliest) end
end

return M
