-- Cars that send a message a second each, in a process of their own: stream_load.lua PORT CARS DIRECTORY. Prints "here" when all
-- are connected. Each line of its input is so many seconds of sending; the answer is how many messages were sent and acknowledged.

local core = require "fleet.core"
local fleet = require "fleet"
local files = require "spec.support.harness.files"
local stream_crowd = require "spec.support.servers.stream_crowd"

local port, cars, directory = tonumber(arg[1]), tonumber(arg[2]), arg[3]

local function certificate(_, i)
  local both = files.read(string.format("%s/car-%d.pem", directory, i))
  return { certificate = both, key = both }
end

local crowd = stream_crowd.new {
  cars = cars, port = port, server_ca = files.read(directory .. "/ca.pem"), certificate = certificate, loop = fleet.loop,
}

local function turn()
  fleet.loop.wait(0.001)
  fleet.loop.step()
end

local looked = core.clock()
while crowd.open < cars do
  turn()
  if core.clock() - looked > 0.2 then -- a car whose handshake took too long tries again, as vehicles do
    looked = core.clock()
    crowd:bring_back()
  end
end
io.write("here\n")
io.flush()

local function acknowledged()
  local sum = 0
  for _, car in ipairs(crowd.cars) do sum = sum + car.acknowledged end
  return sum
end

for line in io.lines() do
  local seconds, before, sent = tonumber(line), acknowledged(), 0
  local began = core.clock()
  while sent < seconds * cars do
    local due = math.min(seconds * cars, math.floor((core.clock() - began) * cars))
    while sent < due do
      sent = sent + 1
      crowd:send((sent - 1) % cars + 1)
    end
    turn()
  end
  while acknowledged() - before < sent do turn() end
  io.write(sent, "\n")
  io.flush()
end
