-- Which host an account talks to: the option, what a 421 taught us, or the vendor's table.
--
-- A new host is taken only from the service's own list, compared by whole labels, over https on its standard port
-- (rule R3, field-problems 24); with a custom base_url only the hosts that the caller listed.

local M = {}

local function ends_with_label(host, ending)
  return string.sub(host, -#ending) == ending and #host > #ending
end

local function allowed(account, host)
  local config = account.config
  if config.base_url then
    for _, known in ipairs(config.hosts or {}) do
      if host == known then return true end
    end
    return false
  end
  for _, ending in ipairs(account.vendor.host_endings) do
    if ends_with_label(host, ending) then return true end
  end
  return false
end

-- "https://host" alone: no user, no port, no path; anything else names no host.
local function host_of(address)
  local host = string.match(address, "^https://([%w%-%.]+)/?$")
  return host and string.lower(host)
end

local function named_in_body(text)
  local address = string.match(text, "use base URL:%s*(https://[^%s,\"\\]+)")
  return address and host_of(address)
end

local function named_in_header(value)
  for entry in string.gmatch(value or "", "[^,]+") do
    local address = string.match(entry, "^%s*h2=\"?(https://[^\";%s]+)")
    if address then return host_of(address) end
  end
end

--- The base address that a 421 names, or nil when it names none that may be trusted.
function M.named(account, reply)
  local host = named_in_body(reply:body()) or named_in_header(reply:header("alt-svc"))
  if not host or not allowed(account, host) then return nil end
  local scheme_and_host = "https://" .. host
  return scheme_and_host ~= M.base(account) and scheme_and_host or nil
end

--- The base address of the account.
function M.base(account)
  return account.base_url
end

--- Takes a base address for this account and keeps it in the store, so that the next process starts with it.
function M.remember(account, base_url)
  account.base_url = base_url
  account.store.put("region/" .. account.config.account, base_url, {})
end

--- Reads what an earlier process learned. Only a host that would be accepted now counts.
function M.recall(account)
  local stored = account.store.get("region/" .. account.config.account)
  local host = stored and host_of(stored)
  if host and allowed(account, host) then account.base_url = stored end
end

return M
