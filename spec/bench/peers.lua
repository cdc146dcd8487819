-- What other libraries spend on the read loop of the request budgets: the same reply of the same server, decoded, one and 64 in
-- flight, in turns with ours; the median of what the turns give. The first read of each is not counted: it connects, and loads
-- what a library loads with its first use. Printed is the time by the clock and the processor's time of the process, and how often
-- ours goes into either. lua-curl is how its manual has it, with shorter headers and no limits; lua-curl-same has the headers and
-- the limits of the yardstick (spec/bench/request.c). A peer that is not installed prints absent, and one that cannot have so many
-- in flight prints one at a time: none of them is a dependency.
--
--   make bench PEERS=1      or      lua5.4 spec/bench/peers.lua

local core = require "fleet.core"
local nginx = require "spec.support.servers.nginx"

local turns, count = 11, 2000

local peers = {
  { name = "lua-http", script = "lua_http.lua", modules = { "http.client", "cjson" } },
  { name = "lua-curl", script = "lua_curl.lua", modules = { "curl", "cjson" } },
  { name = "lua-curl-same", script = "lua_curl.lua", option = "same", modules = { "curl", "cjson" } },
  { name = "luasocket", script = "luasocket.lua", modules = { "socket.http", "cjson" } },
  { name = "python-requests", script = "python_requests.py", python = "requests" },
}

local function runs(command)
  return (os.execute(command .. " >/dev/null 2>&1")) == true
end

local function interpreter_of(peer)
  if peer.python then return runs("/usr/bin/python3 -c 'import " .. peer.python .. "'") and "/usr/bin/python3" end
  local needs = "'require\"" .. table.concat(peer.modules, "\" require\"") .. "\"'"
  for _, lua in ipairs { "lua5.4", "lua5.3", "lua5.1" } do
    if runs(lua .. " -e " .. needs) then return lua end
  end
end

local SERIAL = 3 -- what a script ends with that cannot have so many in flight

-- Seconds per request by the clock and of the processor, or nil where the peer cannot. Each says when it begins.
local function seconds(command, url, in_flight, option)
  local pipe = assert(io.popen(string.format("%s %s/file %d %d %s", command, url, in_flight, count, option or ""), "r"))
  pipe:read("l")
  local before = core.clock()
  local cpu, ended = tonumber(pipe:read("l")), core.clock()
  local _, _, code = pipe:close()
  if code == SERIAL then return nil end
  return { clock = (ended - before) / count, cpu = assert(cpu, command .. " failed") }
end

-- The turn in the middle by the clock or the processor.
local function median(list, by)
  table.sort(list, function(a, b) return a.theirs[by] / a.ours[by] < b.theirs[by] / b.ours[by] end)
  return list[(turns + 1) // 2]
end

local function compare(peer, command, url, in_flight)
  local list = {}
  for i = 1, turns do
    local theirs = seconds(command, url, in_flight, peer.option)
    if not theirs then return print(string.format("peer %s %d one at a time", peer.name, in_flight)) end
    list[i] = { theirs = theirs, ours = seconds("lua5.4 spec/bench/request.lua", url, in_flight) }
  end
  for _, by in ipairs { "clock", "cpu" } do
    local turn = median(list, by)
    local theirs, ours = turn.theirs[by], turn.ours[by]
    print(string.format("peer %s %d %s %.2f  %.1f us against our %.1f us", peer.name, in_flight, by, theirs / ours, theirs * 1e6,
      ours * 1e6))
  end
end

local server = assert(nginx.start {})
local ok, failure = pcall(function()
  for _, peer in ipairs(peers) do
    local interpreter = interpreter_of(peer)
    for _, in_flight in ipairs { 1, 64 } do
      if interpreter then
        compare(peer, interpreter .. " spec/bench/peers/" .. peer.script, server.url, in_flight)
      else
        print(string.format("peer %s %d absent", peer.name, in_flight))
      end
    end
  end
end)
server.stop()
assert(ok, failure)
