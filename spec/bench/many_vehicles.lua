-- The budget `many-vehicles`: 10,000 vehicles, one signed command each, 256 in flight, vehicles in another process 50 ms
-- away. Cold includes a handshake for each, with a client of its own; warm is a run after one. The least of some runs counts,
-- because what else the machine does only adds. The bound is that of latency: so many rounds as it takes 256 at a time, and
-- twice as many cold. Beside it stands what the calls cost the processor, which is the bound where it is more. A vehicle process
-- that is itself busy all the time would be what is measured, and so would be others: a machine on which we wait for a core, or whose
-- host takes the cores, counts as not measured. The collector works all the time, in steps as small
-- as there are: what it does in one go nobody else's reply can wait for. What the interpreter's own mode does is printed.

local core = require "fleet.core"
local fleet = require "fleet"
local loop = require "fleet.async.loop"
local machine = require "spec.bench.machine"
local other_side = require "spec.bench.other_side"

local vehicles, in_flight, latency = 10000, 256, 0.05
local key = fleet.key.generate()

local function wall()
  return (core.clock())
end

local function collect_in_steps()
  return (pcall(collectgarbage, "incremental", 100, 1))
end

local address, others = other_side.start_vehicles(key, latency)
local client
local vins = {}
for i = 1, vehicles do vins[i] = string.format("5YJ3FLEE9RF%06d", i) end

local function run()
  local wall_before, cpu_before, others_before, beside = wall(), os.clock(), others.ask "cpu", machine.watch()
  local results = fleet.map(vins, function(vin) return client:vehicle(vin):honk_horn() end, { concurrency = in_flight })
  local cpu, spent, waited, stolen = os.clock() - cpu_before, wall() - wall_before, beside()
  for _, result in ipairs(results) do assert(result.ok and result.value.via == "signed", tostring(result.err)) end
  return { seconds = spent, cpu = cpu, waited = waited / spent, stolen = stolen, others = (others.ask "cpu" - others_before) / spent }
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

-- ---- how long the loop is held up ----

local steps = { 1, 2, 5, 10, 20, 50, 100, math.huge } -- milliseconds

local function new_histogram()
  local histogram = { most = 0 }
  for i = 1, #steps do histogram[i] = 0 end
  return histogram
end

local function note(histogram, seconds)
  local ms, i = seconds * 1000, 1
  while ms > steps[i] do i = i + 1 end
  histogram[i], histogram.most = histogram[i] + 1, math.max(histogram.most, ms)
end

-- What each turn of the loop takes of the processor, while the vehicles are asked.
local function turns_of_run()
  local histogram, turn = new_histogram(), loop.wait_and_tick
  function loop.wait_and_tick()
    local before = os.clock()
    turn()
    note(histogram, os.clock() - before)
  end
  run()
  loop.wait_and_tick = turn
  return histogram
end

local function describe_turns(name)
  collectgarbage()
  local histogram, parts = turns_of_run(), {}
  for i = 1, #steps do
    local label = i < #steps and "<= " .. steps[i] or "more"
    if histogram[i] > 0 then parts[#parts + 1] = label .. ": " .. histogram[i] end
  end
  print(string.format("many-vehicles turns by ms of CPU, %s: %s; longest %.1f", name, table.concat(parts, ", "), histogram.most))
end

local function heap()
  collectgarbage()
  local before = wall()
  collectgarbage()
  return collectgarbage("count") * 1024, wall() - before
end

local function resident()
  local file = io.open("/proc/self/status")
  local kilobytes = file and string.match(file:read("a"), "VmRSS:%s*(%d+)") or 0
  if file then file:close() end
  return tonumber(kilobytes) / 1024
end

-- ---- the figures ----

local function describe(name, figure, bound)
  print(string.format("many-vehicles %s: %.2f s wall, %.2f x the bound of %.2f s; CPU %.2f s, %.0f us per vehicle; %.0f %% without "
    .. "a core; the host took %.0f %% of the cores; the vehicles busy %.0f %%", name, figure.seconds, figure.seconds / bound, bound,
    figure.cpu, figure.cpu / vehicles * 1e6, figure.waited * 100, figure.stolen * 100, figure.others * 100))
end

local empty = heap()
local stepped = collect_in_steps()
local bound = math.ceil(vehicles / in_flight) * latency
local cold, warm = least(2, run_cold), least(3, run)
describe("cold", cold, 2 * bound)
describe("warm", warm, bound)

local before, pause = heap()
run()
local after = heap()
print(string.format("many-vehicles memory: %.0f bytes of Lua per vehicle known, %+.0f between two warm runs; %.0f MB resident; all of it "
  .. "collected at once: %.0f ms", (after - empty) / vehicles, (after - before) / vehicles, resident(), pause * 1000))
if stepped then
  describe_turns("collected in small steps")
  collectgarbage("generational")
  describe_turns("in the interpreter's mode")
end

local ratio = math.max(warm.seconds / bound, cold.seconds / (2 * bound))
if math.max(cold.others, warm.others) > 0.9 then
  print("many-vehicles: not measured, the vehicles' process is saturated")
elseif ratio > 1.2 and math.max(cold.waited, warm.waited, cold.stolen, warm.stolen) > 0.05 then
  print(string.format("many-vehicles: not measured, others have the cores (%.2f)", ratio))
else
  print(string.format("many-vehicles %.2f 1.2 %s", ratio, ratio <= 1.2 and "ok" or "over"))
end
client:close()
others.stop()
