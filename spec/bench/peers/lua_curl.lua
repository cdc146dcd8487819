-- Lua-cURL, as Debian has it, and lua-cjson: one easy handle on a kept connection. This version has no multi handle.
local cjson = require "cjson"
local curl = require "curl"

local url, in_flight, count = ...
if tonumber(in_flight) > 1 then os.exit(3) end

local parts = {}
local easy = curl.easy_init()
easy:setopt(curl.OPT_URL, url)
easy:setopt(curl.OPT_NOSIGNAL, 1)
easy:setopt(curl.OPT_HTTPHEADER, { "Authorization: Bearer a-token", "Accept: application/json" })
easy:setopt(curl.OPT_WRITEFUNCTION, function(part)
  parts[#parts + 1] = part
  return #part
end)

local before = os.clock()
for _ = 1, tonumber(count) do
  parts = {}
  assert(easy:perform())
  assert(cjson.decode(table.concat(parts)).count == 8)
end
print(string.format("%.9f", (os.clock() - before) / count))
