-- The budgets `request-1`, `request-64` and `request-1000`: CPU per request of a client that decodes a 1 KB reply into a Lua
-- table (spec/bench/request.lua), against what somebody would write by hand with libcurl and lua-cjson (spec/bench/request.c);
-- beside it, a program that throws the replies away. They take turns, and the figure is the median of what the turns of neighbours
-- give: the time of either differs by a third with how deep the processor sleeps, and the least of each was now and then a lucky one.
-- Instructions of one run each are printed, too, where valgrind is: they are the same on a busy machine.

local nginx = require "spec.support.servers.nginx"

local turns, count = 11, 10000
local server = assert(nginx.start {})

local function cpu(command)
  local pipe = assert(io.popen(command, "r"))
  local seconds = tonumber(string.match(pipe:read("a"), "([%d.]+)%s*$"))
  pipe:close()
  return (assert(seconds, command .. " failed"))
end

local programs = {
  by_hand = os.getenv "FLEET_BUILD" .. "/bench/request %s/file %d %d",
  bare = os.getenv "FLEET_BUILD" .. "/bench/request %s/file %d %d bare",
  ours = "lua5.4 spec/bench/request.lua %s/file %d %d",
}

-- The turn in the middle.
local function median(in_flight)
  local list = {}
  for i = 1, turns do
    local one = {}
    for name, command in pairs(programs) do one[name] = cpu(string.format(command, server.url, in_flight, count)) end
    one.figure = one.ours / one.by_hand
    list[i] = one
  end
  table.sort(list, function(a, b) return a.figure < b.figure end)
  return list[(turns + 1) // 2]
end

local function collected(command)
  local pipe = assert(io.popen("valgrind --log-fd=1 --tool=callgrind --callgrind-out-file=/dev/null " .. command .. " 2>/dev/null"))
  local text = pipe:read "a"
  pipe:close()
  return tonumber((string.match(text, "Collected : (%d+)")))
end

-- A short run is taken from a long one, so that start and end do not count.
local function instructions(name, in_flight)
  local short, more = 2 * in_flight + 100, math.max(1000, in_flight)
  local least_count = collected(string.format(programs[name], server.url, in_flight, short))
  local most_count = collected(string.format(programs[name], server.url, in_flight, short + more))
  return least_count and most_count and (most_count - least_count) / more / 1000
end

local ok, failure = pcall(function()
  for _, in_flight in ipairs { 1, 64, 1000 } do
    local found = median(in_flight)
    print(string.format("request-%d %.2f 1.4 %s", in_flight, found.figure, found.figure <= 1.4 and "ok" or "over"))
    print(string.format("request-%d: %.1f us, by hand %.1f us, without decoding %.1f us", in_flight, found.ours * 1e6,
      found.by_hand * 1e6, found.bare * 1e6))
    local ours, by_hand = instructions("ours", in_flight), instructions("by_hand", in_flight)
    if ours and by_hand then
      print(string.format("request-%d: %.0f thousand instructions, by hand %.0f, %.2f times", in_flight, ours, by_hand, ours / by_hand))
    end
  end
end)
server.stop()
assert(ok, failure)
