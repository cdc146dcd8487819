-- LuaSocket's socket.http and lua-cjson: one at a time, and a connection for each request; it keeps none.
local cjson = require "cjson"
local http = require "socket.http"
local ltn12 = require "ltn12"

local url, in_flight, count = ...
if tonumber(in_flight) > 1 then os.exit(3) end

local function get()
  local parts = {}
  local _, status = assert(http.request { url = url, sink = ltn12.sink.table(parts),
    headers = { Authorization = "Bearer a-token", Accept = "application/json" } })
  assert(status == 200, status)
  return cjson.decode(table.concat(parts))
end

assert(get().count == 8)
print "begun"
io.flush()
local before = os.clock()
for _ = 1, tonumber(count) do assert(get().count == 8) end
print(string.format("%.9f", (os.clock() - before) / count))
