-- Which host an account talks to: the option, what a 421 taught us, or the vendor's table.
--
-- A new host is taken only from the service's own list, compared by whole labels, over https on its standard port
-- (doc/protocol.md#wrong-region); with a custom base_url only the hosts that the caller listed.

local core = require "fleet.core"

local M = {}

local function hosts_of(context)
  if context.config.base_url then return context.config.hosts or {} end
  return context.vendor.host_endings
end

--- The base address that a 421 names, or nil when it names none that may be trusted, or the one that was asked.
function M.named(context, reply)
  local base_url = core.other_host(reply, hosts_of(context))
  return base_url ~= M.base(context) and base_url or nil
end

--- The base address of the account.
function M.base(context)
  return context.base_url
end

--- Takes a base address for this account and keeps it in the store, so that the next process starts with it.
function M.remember(context, base_url)
  context.base_url = base_url
  context.store:put("region/" .. context.config.account, base_url, {})
end

--- An address that somebody named, if it may be trusted as one that a 421 names; else nil.
function M.accepted(context, base_url)
  return type(base_url) == "string" and core.accepted_host(base_url, hosts_of(context)) or nil
end

--- Reads what an earlier process learned. Only a host that would be accepted now counts.
function M.recall(context)
  context.base_url = M.accepted(context, (context.store:get("region/" .. context.config.account))) or context.base_url
end

-- ---- names and hints ----

--- The vendor's region of this base address: its row, or nil.
function M.of_address(vendor, base_url)
  for _, region in ipairs(vendor.regions or {}) do
    if region.base_url == base_url then return region end
  end
end

--- The region in use, for a sentence: "region eu, https://…".
function M.describe(context)
  local row = M.of_address(context.vendor, context.base_url)
  return (row and "region " .. row.name .. ", " or "") .. context.base_url
end

-- Of the base addresses that a token names, the one of its own region, or the only one (doc/protocol.md#region-of-a-token).
local function of_audience(vendor, audience, code)
  local found, count
  for _, address in ipairs(type(audience) == "table" and audience or { audience }) do
    local row = type(address) == "string" and M.of_address(vendor, (string.gsub(address, "/+$", "")))
    if row and row.name == code then return row.name end
    if row then found, count = row.name, (count or 0) + 1 end
  end
  return count == 1 and found or nil
end

--- Where the account lives by what its tokens say: a name such as "eu", perhaps one that no row knows, or nil. A hint for
--- routing and nothing else: claims are not verified, may be absent and may change. claims: of the access token;
--- start: of the refresh token, which begins with the region where it is of the known form ("EU_…").
function M.hint(vendor, claims, start)
  local code = type(claims.ou_code) == "string" and string.lower(claims.ou_code) or nil
  local prefix = type(start) == "string" and string.match(start, "^(%u%u)_")
  return of_audience(vendor, claims.aud, code) or code or prefix and string.lower(prefix) or nil
end

local function of_name(vendor, name)
  for _, region in ipairs(vendor.regions or {}) do
    if region.name == name then return region end
  end
end

--- After a sign-in: starts in the region that the tokens hint at, unless the caller chose one. A 421 corrects it.
function M.follow_hint(context, info)
  local row = info and of_name(context.vendor, info.region)
  if not row or rawget(context.config, "region") or context.config.base_url then return end
  if row.auth_url == context.auth_url and row.base_url ~= context.base_url then M.remember(context, row.base_url) end
end

--- The addresses where the account may live, the likeliest first: what its tokens hint at, the address in use, and the
--- vendor's others with the same sign-in. With a custom base_url only that one.
function M.candidates(context, info)
  local list, seen = {}, {}
  local function add(base_url)
    if base_url and not seen[base_url] then list[#list + 1] = base_url end
    if base_url then seen[base_url] = true end
  end
  if not context.config.base_url then
    local hinted = of_name(context.vendor, info and info.region)
    add(hinted and hinted.auth_url == context.auth_url and hinted.base_url)
  end
  add(context.base_url)
  for _, row in ipairs(not context.config.base_url and context.vendor.regions or {}) do
    if row.auth_url == context.auth_url then add(row.base_url) end
  end
  return list
end

return M
