-- Which host an account talks to: the option, what a 421 taught us, or the vendor's table.
--
-- A new host is taken only from the service's own list, compared by whole labels, over https on its standard port
-- (rule R3, field-problems 24); with a custom base_url only the hosts that the caller listed.

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

--- Reads what an earlier process learned. Only a host that would be accepted now counts.
function M.recall(account)
  local stored = account.store:get("region/" .. account.config.account)
  if not stored then return end
  local named = core.reply { status = 421, body = "use base URL: " .. stored, headers = {} }
  account.base_url = core.other_host(named, hosts_of(account)) or account.base_url
  named:close()
end

return M
