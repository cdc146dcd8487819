-- The budgets `client-memory` (an idle client) and `request-memory` (a request in flight, beyond libcurl's own): bytes of
-- Lua's heap and of the C heap, counted over many. libcurl's share is measured by spec/bench/request.c holding as many.

local fleet = require "fleet"
local core = require "fleet.core"

local function heap()
  collectgarbage()
  collectgarbage()
  local file = assert(io.open("/proc/self/statm"))
  local resident = select(2, string.match(file:read("a"), "(%d+) (%d+)"))
  file:close()
  return collectgarbage("count") * 1024, tonumber(resident) * 4096
end

local function idle_clients()
  local count, held = 2000, {}
  fleet.new { account = "warm", token = "t" }:close()
  local lua = heap()
  for i = 1, count do held[i] = fleet.new { account = "a" .. i, client_id = "id", client_secret = "secret", region = "eu" } end
  local grown = heap() - lua
  for _, client in ipairs(held) do client:close() end
  return grown / count
end

-- Requests that a listener accepts and never answers.
local function requests_in_flight()
  local socket = require "cqueues.socket"
  local listener = assert(socket.listen { host = "127.0.0.1", port = 0, backlog = 1024 })
  assert(listener:listen())
  local _, _, port = listener:localname()
  local client = fleet.new { token = "t", base_url = "http://127.0.0.1:" .. port, timeout = 60 }
  local count, tasks = 400, {}
  local function settle()
    for _ = 1, 200 do
      fleet.loop.wait(0.005)
      fleet.loop.step()
    end
  end
  settle()
  local lua, resident = heap()
  for i = 1, count do tasks[i] = fleet.spawn(function() return client:products() end) end
  settle()
  local lua_after, resident_after = heap()
  for _, task in ipairs(tasks) do task:cancel() end
  settle()
  client:close()
  return math.max(lua_after - lua, resident_after - resident) / count
end

local function line(name, bytes, budget)
  print(string.format("%s %.0f %d %s", name, bytes, budget, bytes <= budget and "ok" or "over"))
end

line("client-memory", idle_clients(), 4096)
line("request-memory", requests_in_flight(), 49152)
print(string.format("live objects at the end: %d", core.live()))
