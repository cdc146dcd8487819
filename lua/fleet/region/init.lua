-- Which host an account talks to: the option, what a 421 taught us, or the vendor's table.
--
-- A new host is taken only from the service's own list, compared by whole labels, over https on its standard port
-- (doc/protocol.md#wrong-region); with a custom base_url only the hosts that the caller listed.

local core = require "fleet.core"

local M = {}

local function hosts_of(account)
  if account.config.base_url then return account.config.hosts or {} end
  return account.vendor.host_endings
end

--- The base address that a 421 names, or nil when it names none that may be trusted, or the one that was asked.
function M.named(account, reply)
  local base_url = core.other_host(reply, hosts_of(account))
  return base_url ~= M.base(account) and base_url or nil
end

--- The base address of the account.
function M.base(account)
  return account.base_url
end

--- Takes a base address for this account and keeps it in the store, so that the next process starts with it.
function M.remember(account, base_url)
  account.base_url = base_url
  account.store:put("region/" .. account.config.account, base_url, {})
end

--- An address that somebody named, if it may be trusted as one that a 421 names; else nil.
function M.accepted(account, base_url)
  if type(base_url) ~= "string" then return nil end
  local named = core.reply { status = 421, body = "use base URL: " .. base_url, headers = {} }
  local found = core.other_host(named, hosts_of(account))
  named:close()
  return found
end

--- Reads what an earlier process learned. Only a host that would be accepted now counts.
function M.recall(account)
  account.base_url = M.accepted(account, (account.store:get("region/" .. account.config.account))) or account.base_url
end

-- ---- names and hints ----

--- The vendor's region of this base address: its row, or nil.
function M.of_address(vendor, base_url)
  for _, region in ipairs(vendor.regions or {}) do
    if region.base_url == base_url then return region end
  end
end

--- The region in use, for a sentence: "region eu, https://…".
function M.describe(account)
  local row = M.of_address(account.vendor, account.base_url)
  return (row and "region " .. row.name .. ", " or "") .. account.base_url
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
function M.follow_hint(account, info)
  local row = info and of_name(account.vendor, info.region)
  if not row or rawget(account.config, "region") or account.config.base_url then return end
  if row.auth_url == account.auth_url and row.base_url ~= account.base_url then M.remember(account, row.base_url) end
end

--- The addresses where the account may live, the likeliest first: what its tokens hint at, the address in use, and the
--- vendor's others with the same sign-in. With a custom base_url only that one.
function M.candidates(account, info)
  local list, seen = {}, {}
  local function add(base_url)
    if base_url and not seen[base_url] then list[#list + 1] = base_url end
    if base_url then seen[base_url] = true end
  end
  if not account.config.base_url then
    local hinted = of_name(account.vendor, info and info.region)
    add(hinted and hinted.auth_url == account.auth_url and hinted.base_url)
  end
  add(account.base_url)
  for _, row in ipairs(not account.config.base_url and account.vendor.regions or {}) do
    if row.auth_url == account.auth_url then add(row.base_url) end
  end
  return list
end

return M
