-- Cars stream to a receiver that stores in a Redis, and both are killed at any moment: stream_killed.lua [SECONDS] [CARS]. Every message
-- that a car got an acknowledgement for is in the Redis at the end. After each kill a car sends again what was not acknowledged.

local core = require "fleet.core"
local authority = require "fleet.sim.telemetry.authority"
local files = require "spec.support.harness.files"
local nginx = require "spec.support.servers.nginx"
local process = require "spec.support.harness.process"
local redis = require "spec.support.servers.redis"
local stream = require "fleet.stream"
local stream_crowd = require "spec.support.servers.stream_crowd"

local M = {}

local receiver_program = [[
local directory, port, address = arg[1], tonumber(arg[2]), arg[3]
local fleet = require "fleet"
local outputs = require "fleet.telemetry.outputs"
local receiver = assert(require("fleet.telemetry").new {
  host = "127.0.0.1", port = port, certificate = "@" .. directory .. "/leaf.pem", certificate_key = "@" .. directory .. "/leaf-key.pem",
  client_ca = "@" .. directory .. "/vehicle-ca.pem", vehicles = function() return true end, on_notice = function() end,
  ack = arg[4], outputs = { assert(outputs.redis { address = address, most = 1000000, timeout = 2 }) },
  limits = { per_minute = 1000000 },
})
local file = assert(io.open(directory .. "/receiver.pid", "w"))
file:write(io.open("/proc/self/stat"):read "n", "\n")
file:close()
while true do
  fleet.loop.wait(fleet.loop.timeout())
  fleet.loop.step()
end
]]

-- The receiver as a process of its own.
local function start_receiver(directory, port, address, ack)
  os.remove(directory .. "/receiver.pid")
  local quote = process.quote
  local command = string.format("exec %s %s %s %d %s %s 2>>%s", process.bare_lua, quote(directory .. "/receiver.lua"), quote(directory),
    port, quote(address), ack, quote(directory .. "/said"))
  local pipe = assert(io.popen("exec sh -c " .. process.quote(command), "w"))
  local pid
  for _ = 1, 2000 do
    pid = string.match(files.find(directory .. "/receiver.pid") or "", "^(%d+)\n")
    if pid then break end
    core.pause(0.01)
  end
  assert(pid, "the receiver did not start: " .. tostring(files.find(directory .. "/said")))
  return { kill = function()
    process.execute("kill -9 " .. pid .. " 2>/dev/null || true")
    pipe:close()
  end }
end

--- options: seconds, cars, receiver_every, redis_every (seconds between kills, about), ack. Returns { sent, acknowledged, unanswered,
--- stored, lost, kills = { receiver =, redis = } }.
function M.run(options)
  local directory = process.temporary "stream_killed"
  local vehicles = authority.new(stream)
  local root, root_key = assert(stream.issue { subject = "Receiver Root CA", authority = true, days = 2 })
  local leaf, leaf_key = assert(stream.issue { subject = "localhost", host = "localhost", days = 2, issuer = root, issuer_key = root_key })
  for name, text in pairs { ["leaf.pem"] = leaf, ["leaf-key.pem"] = leaf_key, ["vehicle-ca.pem"] = vehicles.pem,
    ["receiver.lua"] = receiver_program } do
    files.write(directory .. "/" .. name, text)
  end
  process.execute("chmod 600 " .. process.quote(directory .. "/leaf-key.pem"))
  local server = redis.start { settings = { "appendonly yes", "appendfsync always", "save \"\"" } }
  local port, ack = nginx.free_port(), options.ack or "when_stored"
  local receiver = start_receiver(directory, port, server.address, ack)
  local crowd = stream_crowd.new { cars = options.cars, port = port, server_ca = root, resends = true,
    certificate = function(vin, i) return vehicles:car(vin, i) end }
  local kills = { receiver = 0, redis = 0 }

  local began = core.clock()
  local next_receiver, next_redis, next_send = options.receiver_every, options.redis_every, 0
  while true do
    local now = core.clock() - began
    local over = now > options.seconds
    if not over and now > next_receiver then
      receiver.kill()
      kills.receiver, next_receiver = kills.receiver + 1, now + options.receiver_every * (0.5 + math.random())
      receiver = start_receiver(directory, port, server.address, ack)
    end
    if not over and now > next_redis then
      server.kill()
      for _ = 1, 100 do crowd:turn() end
      server.again()
      kills.redis, next_redis = kills.redis + 1, now + options.redis_every * (0.5 + math.random())
    end
    if not over and now > next_send then
      next_send = now + 0.02
      for i = 1, options.cars do crowd:send(i) end
    end
    crowd:turn()
    local waiting = crowd:bring_back()
    if over and waiting == 0 then break end
    if now > options.seconds + 120 then break end
    core.pause(0.001)
  end

  local figures = { kills = kills, sent = 0, acknowledged = 0, stored = 0, lost = 0, unanswered = 0 }
  for _, car in ipairs(crowd.cars) do
    local stored, entries = {}, server.cli("XRANGE telemetry:" .. car.vin .. " - +")
    for number in string.gmatch(entries, '"txid":"[^"]*%-(%d+)"') do stored[tonumber(number)] = true end
    figures.sent = figures.sent + car.sent
    for number = 1, car.sent do
      if stored[number] then figures.stored = figures.stored + 1 end
      if car.answered[number] then
        figures.acknowledged = figures.acknowledged + 1
        if not stored[number] then figures.lost = figures.lost + 1 end
      else
        figures.unanswered = figures.unanswered + 1
      end
    end
  end
  crowd:close()
  receiver.kill()
  server.stop()
  process.execute("rm -rf " .. process.quote(directory))
  return figures
end

--- Raises where something was lost.
function M.check(figures)
  assert(figures.lost == 0, figures.lost .. " acknowledged messages are not stored")
  assert(figures.unanswered == 0, figures.unanswered .. " messages were never acknowledged")
end

if arg and arg[0] and string.find(arg[0], "torture/stream_killed.lua", 1, true) then
  local missing = redis.missing()
  if missing then
    print("left out: " .. missing)
  else
    local figures = M.run { seconds = tonumber(arg[1]) or 60, cars = tonumber(arg[2]) or 50, receiver_every = 3, redis_every = 5 }
    print(string.format("%d messages, %d acknowledged, %d stored, %d lost; the receiver was killed %d times, the Redis %d times",
      figures.sent, figures.acknowledged, figures.stored, figures.lost, figures.kills.receiver, figures.kills.redis))
    M.check(figures)
  end
end

return M
