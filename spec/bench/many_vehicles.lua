-- The budget `many-vehicles`: 10,000 vehicles, one signed command each, 256 in flight, vehicles in another process 50 ms
-- away. Cold includes a handshake for each, with a client of its own; warm is a run after one. The least of some runs counts,
-- because what else the machine does only adds. A vehicle process that is itself busy all the time would be what is
-- measured, so that its share of the wall time is printed and a saturated one counts as not measured.

local core = require "fleet.core"
local fleet = require "fleet"

local vehicles, in_flight, latency = 10000, 256, 0.05
local key = fleet.key.generate()

local function hex(bytes)
  return (string.gsub(bytes, ".", function(c) return string.format("%02x", string.byte(c)) end))
end

-- One process at both ends of two pipes.
local function start()
  local fifo = os.tmpname()
  os.remove(fifo)
  assert(os.execute("mkfifo " .. fifo))
  local command = string.format("lua5.4 spec/bench/vehicles.lua %s %g <%s", hex(key:public_bytes()), latency, fifo)
  local out = assert(io.popen(command, "r"))
  local into = assert(io.open(fifo, "w"))
  os.remove(fifo)
  return assert(out:read("l"), "the vehicles did not start"), function()
    into:write("cpu\n")
    into:flush()
    return tonumber(out:read("l"))
  end, function()
    into:close()
    out:close()
  end
end

local function wall()
  return (core.clock())
end

local address, vehicle_cpu, stop = start()
local client
local vins = {}
for i = 1, vehicles do vins[i] = string.format("5YJ3FLEE9RF%06d", i) end

local function run()
  local wall_before, cpu_before, other_before = wall(), os.clock(), vehicle_cpu()
  local results = fleet.map(vins, function(vin) return client:vehicle(vin):honk_horn() end, { concurrency = in_flight })
  local spent = wall() - wall_before
  for _, result in ipairs(results) do assert(result.ok and result.value.via == "signed", tostring(result.err)) end
  return { seconds = spent, busy = (os.clock() - cpu_before) / spent, others = (vehicle_cpu() - other_before) / spent }
end

local function run_cold()
  if client then client:close() end
  client = fleet.new { token = "t", key = key, base_url = address, commands = "signed", timeout = 60 }
  collectgarbage()
  return run()
end

local function least(times, measure)
  local best
  for _ = 1, times do
    local figure = measure()
    if not best or figure.seconds < best.seconds then best = figure end
  end
  return best
end

local ideal = vehicles / in_flight * latency
local cold, warm = least(2, run_cold), least(3, run)
collectgarbage()
collectgarbage()
local before = collectgarbage("count")
run()
collectgarbage()
collectgarbage()
local grown = (collectgarbage("count") - before) * 1024

local function describe(name, figure, bound)
  print(string.format("many-vehicles %s: %.2f s wall, %.2f x the ideal; busy %.0f %% (%.0f us per command), the vehicles %.0f %%",
    name, figure.seconds, figure.seconds / bound, figure.busy * 100, figure.busy * figure.seconds / vehicles * 1e6,
    figure.others * 100))
end
describe("cold", cold, 2 * ideal)
describe("warm", warm, ideal)
print(string.format("many-vehicles memory: %+.0f bytes per vehicle between two warm runs", grown / vehicles))

local ratio = math.max(warm.seconds / ideal, cold.seconds / (2 * ideal))
if math.max(cold.others, warm.others) > 0.9 then
  print("many-vehicles: not measured, the vehicles' process is saturated")
else
  print(string.format("many-vehicles %.2f 1.2 %s", ratio, ratio <= 1.2 and "ok" or "over"))
end
client:close()
stop()
