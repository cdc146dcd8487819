-- The application's public key where it must stand: https://<domain><path of the vendor>, PEM, P-256, for everybody.
--
-- Fetched as the service would fetch it: no token, no redirect, a small reply. What came is judged apart from fetching
-- (src/bind/registration/hosted.c).

local core = require "fleet.core"
local hostname = require "fleet.util.hostname"
local send = require "fleet.call.send"

local M = {}

local largest, longest = 65536, 20 -- bytes, seconds

--- Where the key of a domain must be.
function M.url(context, domain)
  return "https://" .. domain .. context.vendor.key_path
end

--- Fetches the key of a domain. options: url, another address of the same file (https, or http on this machine), for
--- where this machine reaches it under another name. Returns { url =, bytes = } or { url =, problem =, fix = }.
function M.fetch(context, domain, options)
  local url = options and options.url or M.url(context, domain)
  local found
  if options and options.url then core.registration.check_url(url) end
  if not (options and options.url) and hostname.problem(domain) then
    found = { problem = (hostname.sentence(domain)), fix = "mend the spelling" }
  else
    found = core.registration.judge(send.fetch(context, url, longest, largest))
  end
  found.url = url
  return found
end

return M
