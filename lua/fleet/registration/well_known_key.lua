-- The application's public key at its required address: https://<domain><path of the vendor>, PEM, P-256, readable by everyone.
--
-- Fetched like the service does: without a token or redirects, and only a small reply. Judging the reply is separate from fetching, so that
-- every mistake of hosting has one sentence (doc/protocol.md#registration).

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local send = require "fleet.call.send"

local M = {}

local largest, longest = 65536, 20 -- bytes, seconds

--- The required address of a domain's key.
function M.url(context, domain)
  return "https://" .. domain .. context.vendor.key_path
end

-- failure of the transport -> description, fix
local transport = {
  resolve = { "its name has no address", "set up the name, or mend its spelling" },
  connect = { "nothing answers at this address", "serve it over https" },
  tls = { "its certificate cannot be verified", "renew it, with the whole chain; a self-made one is refused" },
  timeout = { "it did not answer in time", "look at the server" },
  too_large = { "the file is not a key: it is too large", "put the PEM file there" },
}
local other_transport = { "the answer did not arrive whole", "look at the server" }

local function printable(text)
  return (string.gsub(string.sub(text, 1, 120), "[^\32-\126]", " "))
end

-- Returns the problem with an answer other than 200, and the fix.
local function of_status(status, headers)
  if status >= 300 and status < 400 then
    local to = core.header(headers or "", "location")
    return "it answers with a redirect" .. (to and " to " .. printable(to) or ""),
      "serve the file at this very address: redirects are not followed"
  end
  if status == 404 or status == 410 then return "no file is there", "put the public key there" end
  if status == 401 or status == 403 then
    return "it cannot be read without a login", "take away what asks for a password or keeps robots out at this path"
  end
  return "the server failed", "look at the server"
end

--- Interprets an answer from the key's address. answer: { status =, headers = text, body =, failure =, message = }. Returns { bytes = the
--- public key }, or { problem =, fix = }, sentences without a full stop.
function M.judge(answer)
  if answer.failure then
    local row = transport[answer.failure] or other_transport
    local words = answer.message and answer.message ~= "" and " (" .. printable(answer.message) .. ")" or ""
    return { problem = row[1] .. words, fix = row[2] }
  end
  local status, body = answer.status, answer.body or ""
  if status < 200 or status > 299 then
    local problem, fix = of_status(status, answer.headers)
    return { problem = string.format("%s (HTTP %d)", problem, status), fix = fix }
  end
  local bytes, err = core.key.public_bytes(body)
  if bytes then return { bytes = bytes } end
  local page = string.find(body, "^%s*<") and "a web page is there"
  return { problem = page or err.message, fix = "put the public key there as `fleet keygen` printed it" }
end

-- http:// is allowed for this machine only.
local function check_url(url)
  if type(url) == "string" and not string.find(url, "[%c%s@]") then
    local host = string.match(url, "^http://([^/:]+)")
    if host == "localhost" or host and string.find(host, "^127%.%d+%.%d+%.%d+$") then return end
    if string.find(url, "^https://[%w%.%-]+:?%d*/") then return end
  end
  errors.usage("'key_url' must be an address such as https://host/path; http:// is taken for this machine only")
end

--- Fetches the key of a domain. options: url, another address of the same file (https, or http on this machine), if this machine cannot use
--- the public one. Returns { url =, bytes = } or { url =, problem =, fix = }.
function M.fetch(context, domain, options)
  local url = options and options.url
  if url then
    check_url(url)
  else
    url = M.url(context, domain)
    local misspelt = core.hostname.sentence(domain)
    if misspelt then return { url = url, problem = misspelt, fix = "mend the spelling" } end
  end
  local found = M.judge(send.fetch(context, url, longest, largest))
  found.url = url
  return found
end

return M
