-- The budgets `request-1`, `request-64` and `request-1000`: CPU per request of a client that decodes a 1 KB reply into a Lua
-- table (spec/bench/request.lua), against a bare libcurl multi program that throws it away (spec/bench/request.c). Both
-- take turns; the least of each counts, because what else the machine does only adds.

local nginx = require "spec.support.servers.nginx"

local turns, count = 5, 20000
local server = assert(nginx.start {})

local function cpu(command)
  local pipe = assert(io.popen(command, "r"))
  local seconds = tonumber(pipe:read("l"))
  pipe:close()
  return (assert(seconds, command .. " failed"))
end

local function ratio(in_flight)
  local bare, ours = math.huge, math.huge
  for _ = 1, turns do
    local rest = string.format(" %s/file %d %d", server.url, in_flight, count)
    bare = math.min(bare, cpu(os.getenv "FLEET_BUILD" .. "/bench/request" .. rest))
    ours = math.min(ours, cpu("lua5.4 spec/bench/request.lua" .. rest))
  end
  return ours / bare, ours, bare
end

local ok, failure = pcall(function()
  for _, in_flight in ipairs { 1, 64, 1000 } do
    local figure, ours, bare = ratio(in_flight)
    print(string.format("request-%d %.2f 1.5 %s", in_flight, figure, figure <= 1.5 and "ok" or "over"))
    print(string.format("request-%d: %.1f us against %.1f us", in_flight, ours * 1e6, bare * 1e6))
  end
end)
server.stop()
assert(ok, failure)
