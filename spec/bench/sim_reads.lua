-- The budget `sim-reads`: what a read costs the process of the simulator, over what the same server spends on a reply that is
-- always the same. spec/bench/reads.c asks, 16 connections that are kept; the least of some turns of each counts, because what else
-- the machine does only adds. The lines beside it say how many reads are served for each second of the processor.

local fleet = require "fleet"
local other_side = require "spec.bench.other_side"

local turns, requests, connections = 4, 4000, 16
local vehicles, path = 100, "/api/1/vehicles/5YJ3FLEE9RF000%s"
local reads = (os.getenv "FLEET_BUILD" or "build/plain") .. "/bench/reads"
local key = fleet.key.generate()

local function start(...)
  local line, other = other_side.start("lua5.4 spec/bench/simulator.lua " .. table.concat({ ... }, " "))
  local url, token = string.match(line, "^(%S+) (%S+)$")
  return { url = url, port = string.match(url, "%d+$"), token = token, ask = other.ask, stop = other.stop }
end

-- Seconds of the other process for one call of what act does so often.
local function cost(subject, count, act)
  local before = subject.ask "cpu"
  act()
  return (subject.ask "cpu" - before) / count
end

-- different: how many vehicles are asked in turn, in the place of ***
local function read(subject, target, different)
  local command = string.format("%s %s '%s' %s %d %d %d", reads, subject.port, target, subject.token, connections, requests,
    different or 1)
  return cost(subject, requests, function() assert(os.execute(command), command .. " failed") end)
end

local function signed(subject)
  local client = fleet.new { token = subject.token, key = key, base_url = subject.url, commands = "signed", timeout = 60 }
  local count = 1000
  local function command(i)
    return client:vehicle(string.format("5YJ3FLEE9RF000%03d", i % vehicles)):set_charge_limit { percent = 50 + i % 50 }
  end
  local list = {}
  for i = 1, count do list[i] = i end
  local function run()
    for _, result in ipairs(fleet.map(list, command, { concurrency = connections })) do
      assert(result.ok and result.value.via == "signed", tostring(result.err))
    end
  end
  run() -- the sessions
  local seconds = cost(subject, count, run)
  client:close()
  return seconds
end

local simulator, constant = start("vehicles", vehicles, other_side.hex(key:public_bytes())), start("constant", 7000)
local record, data = string.format(path, "000"), string.format(path, "000") .. "/vehicle_data"
local measures = {
  { "constant reply", function() return read(constant, "/") end },
  { "record", function() return read(simulator, record) end },
  { "vehicle_data", function() return read(simulator, data) end },
  { "vehicle_data of 100 in turn", function() return read(simulator, string.format(path, "***") .. "/vehicle_data", vehicles) end },
  { "signed command", function() return signed(simulator) end },
}
local least = {}
for _ = 1, turns do
  for _, measure in ipairs(measures) do
    least[measure[1]] = math.min(least[measure[1]] or math.huge, measure[2]())
  end
end
for _, measure in ipairs(measures) do
  local seconds = least[measure[1]]
  print(string.format("sim-reads: %s: %.1f us, %.0f a second of the processor", measure[1], seconds * 1e6, 1 / seconds))
end
local ratio = math.max(least.record, least.vehicle_data) / least["constant reply"]
print(string.format("sim-reads %.2f 4 %s", ratio, ratio <= 4 and "ok" or "over"))
simulator.stop()
constant.stop()
