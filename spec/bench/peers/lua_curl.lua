-- Lua-cURL, as Debian has it, and lua-cjson: one easy handle on a kept connection. This version has no multi handle.
--
--   lua5.1 lua_curl.lua <url> <in flight> <requests> [same]
--
-- As its manual has it: address and headers are set once, nothing is looked at. "same": what spec/bench/request.c does by hand, its
-- headers and limits. Every request tells its address, its token and its time; a reply may be so large and no larger, its headers
-- too, and its status must be 200. The library gives no status: it stands in the headers, which come a line at a time.
local cjson = require "cjson"
local curl = require "curl"

local url, in_flight, count, same = ...
if tonumber(in_flight) > 1 then os.exit(3) end

local most_bytes, most_header_bytes = 10000000, 65536
local parts, size, header_bytes, status = {}, 0, 0, nil
local easy = curl.easy_init()
easy:setopt(curl.OPT_URL, url)
easy:setopt(curl.OPT_NOSIGNAL, 1)
easy:setopt(curl.OPT_HTTPHEADER, { "Authorization: Bearer a-token", "Accept: application/json" })
easy:setopt(curl.OPT_WRITEFUNCTION, function(part)
  parts[#parts + 1] = part
  return #part
end)

local function get()
  parts = {}
  assert(easy:perform())
  return cjson.decode(table.concat(parts))
end

local function take_body(part)
  size = size + #part
  if size > most_bytes then return 0 end
  parts[#parts + 1] = part
  return #part
end

local function take_header(line)
  header_bytes = header_bytes + #line
  status = status or string.match(line, "^HTTP/%S+ (%d+)")
  return header_bytes <= most_header_bytes and #line or 0
end

local function get_the_same()
  size, header_bytes, status = 0, 0, nil
  easy:setopt(curl.OPT_URL, url)
  easy:setopt(curl.OPT_HTTPHEADER, { "User-Agent: by-hand/1.0", "Authorization: Bearer a-token" })
  easy:setopt(curl.OPT_TIMEOUT_MS, 30000)
  local value = get()
  assert(status == "200")
  return value
end

if same then
  easy:setopt(curl.OPT_HTTP_VERSION, curl.HTTP_VERSION_1_1)
  easy:setopt(curl.OPT_ACCEPT_ENCODING, "gzip")
  easy:setopt(curl.OPT_PROXY, "")
  easy:setopt(curl.OPT_CONNECTTIMEOUT_MS, 10000)
  easy:setopt(curl.OPT_HEADERFUNCTION, take_header)
  easy:setopt(curl.OPT_WRITEFUNCTION, take_body)
end

local perform = same and get_the_same or get
assert(perform().count == 8) -- the connection
print "begun"
io.flush()
local before = os.clock()
for _ = 1, tonumber(count) do assert(perform().count == 8) end
print(string.format("%.9f", (os.clock() - before) / count))
