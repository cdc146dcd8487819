-- Requests without end against fleet.server, with answers given at once, later, in pieces and never: memory must stay flat.
-- lua5.4 spec/torture/server.lua [requests]
local cqueues = require("cqueues")
local client = require("spec.support.harness.miniclient")
local miniloop = require("spec.support.harness.miniloop")
local server = require("fleet.server")

local total = tonumber(arg[1] or 1000000)
local loop, later, served = miniloop.new(), {}, 0

local function resident_kib()
  for line in io.lines("/proc/self/status") do
    local kib = line:match("^VmRSS:%s+(%d+)")
    if kib then return tonumber(kib) end
  end
end

local function flush()
  local list = later
  later = {}
  for _, request in ipairs(list) do request:respond(200, nil, request.path) end
end

local s = assert(server.new({ loop = loop, on_request = function(request)
  served = served + 1
  if served % 1000 == 1 then return request:respond(200, nil, request.path, { piece = 1 }) end
  if served % 3 > 0 then return request:respond(200, { ["X-A"] = "b" }, request.path) end
  later[#later + 1] = request
  if #later > 10 then flush() end
end }))

local warm, asked = nil, 0
local function worker()
  local c = client.connect({ port = s:port() })
  while asked < total do
    asked = asked + 1
    local path = "/" .. asked
    assert(client.exchange(c, client.bytes(asked % 2 == 0 and "POST" or "GET", path, nil, "body")).body == path)
    if asked % 500 == 0 then
      c:close()
      c = client.connect({ port = s:port() })
    end
    if asked == math.floor(total / 4) then
      collectgarbage()
      warm = resident_kib()
    end
  end
  c:close()
end

local workers = {}
for i = 1, 32 do workers[i] = worker end
workers[33] = function()
  while asked < total do
    cqueues.poll(0.002)
    flush()
  end
  cqueues.poll(0.01)
  flush()
end

local started = cqueues.monotime()
loop:all(workers, 3600)
collectgarbage()
local now = resident_kib()
s:close()
print(("%d requests in %.1f s, resident %d KiB after a quarter, %d KiB at the end"):format(
  served, cqueues.monotime() - started, warm, now))
assert(now < warm * 1.05 + 512, "memory grows")
