-- The Lua side of the request budget: the same as spec/bench/request.c, through a client, each reply decoded.
--
--   lua5.4 spec/bench/request.lua <url> <in flight> <requests>     prints "begun", then CPU seconds per request
--
-- url: of a server that answers below /api/ with JSON, as spec/support/servers/nginx.lua does; a path behind it is not looked at.
local fleet = require "fleet"

local url, in_flight, count = ...
local client = fleet.new { token = "a-token", base_url = string.match(url, "^https?://[^/]+") }
in_flight, count = math.tointeger(in_flight), math.tointeger(count)

local function requests(total)
  local left = total
  local function worker()
    while left > 0 do
      left = left - 1
      assert(client:products())
    end
  end
  fleet.run(function()
    for _ = 2, math.min(in_flight, total) do fleet.spawn(worker) end
    worker()
  end)
end

assert(client:products()) -- the first of all connects, and loads what is loaded with the first use
print "begun"
io.flush()
local before = os.clock()
requests(count)
print(string.format("%.9f", (os.clock() - before) / count))
