-- lua-http and lua-cjson: as many kept connections as requests in flight, each in a coroutine of its own.
local cjson = require "cjson"
local cqueues = require "cqueues"
local client = require "http.client"
local headers = require "http.headers"

local url, in_flight, count = ...
local host, port, path = string.match(url, "^http://([^/:]+):(%d+)(.*)")
local left = tonumber(count)

local function request_headers()
  local h = headers.new()
  h:append(":method", "GET")
  h:append(":scheme", "http")
  h:append(":authority", host .. ":" .. port)
  h:append(":path", path)
  h:append("authorization", "Bearer a-token")
  h:append("accept", "application/json")
  return h
end

local function get(connection)
  local stream = assert(connection:new_stream())
  assert(stream:write_headers(request_headers(), true))
  assert(assert(stream:get_headers()):get ":status" == "200")
  local reply = cjson.decode(assert(stream:get_body_as_string()))
  stream:shutdown()
  return reply
end

local function connect()
  local connection = assert(client.connect { host = host, port = tonumber(port), version = 1.1 })
  assert(connection:connect())
  return connection
end

local function worker()
  local connection = connect()
  while left > 0 do
    left = left - 1
    assert(get(connection).count == 8)
  end
  connection:close()
end

local queue = cqueues.new()
queue:wrap(function()
  local connection = connect()
  assert(get(connection).count == 8)
  connection:close()
end)
assert(queue:loop())
print "begun"
io.flush()
local before = os.clock()
for _ = 1, tonumber(in_flight) do queue:wrap(worker) end
assert(queue:loop())
print(string.format("%.9f", (os.clock() - before) / count))
