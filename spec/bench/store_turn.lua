-- The budgets `store-turn` and `store-cpu`: 50 signed commands at once, one per vehicle, with sessions known. How long the
-- longest turn of the loop is with the file store, in milliseconds, and what the process spends with it, over what it spends
-- with a memory store of the caller's. The vehicles live in a process of their own. The least of some runs counts, because what
-- else the machine does only adds.

local core = require "fleet.core"
local fleet = require "fleet"

local vehicles, latency, runs = 50, 0.05, 15
local key = fleet.key.generate()

local function hex(bytes)
  return (string.gsub(bytes, ".", function(c) return string.format("%02x", string.byte(c)) end))
end

local function start()
  local fifo = os.tmpname()
  os.remove(fifo)
  assert(os.execute("mkfifo " .. fifo))
  local command = string.format("lua5.4 spec/bench/vehicles.lua %s %g <%s", hex(key:public_bytes()), latency, fifo)
  local out = assert(io.popen(command, "r"))
  local into = assert(io.open(fifo, "w"))
  os.remove(fifo)
  return assert(out:read("l"), "the vehicles did not start"), function()
    into:close()
    out:close()
  end
end

local vins = {}
for i = 1, vehicles do vins[i] = string.format("5YJ3FLEE9RF%06d", i) end

-- Every command in a task of its own, all begun in one turn. Returns the seconds of the longest turn and of the processor.
local function run(client)
  local results, ended, longest, cpu = {}, false, 0, os.clock()
  fleet.spawn(function()
    results = fleet.map(vins, function(vin) return client:vehicle(vin):honk_horn() end, { concurrency = vehicles })
    ended = true
  end)
  while not ended do
    fleet.loop.wait(fleet.loop.timeout())
    local before = core.clock()
    fleet.loop.step()
    longest = math.max(longest, (core.clock()) - before)
  end
  for _, result in ipairs(results) do assert(result.ok and result.value.via == "signed", tostring(result.err)) end
  return longest, os.clock() - cpu
end

local address, stop = start()

-- The least of the longest turns and of the processor's time, with a store.
local function measure(store)
  local client = fleet.new { token = "t", key = key, base_url = address, commands = "auto", timeout = 60, store = store }
  run(client)
  local turn, cpu = math.huge, math.huge
  for _ = 1, runs do
    local longest, spent = run(client)
    turn, cpu = math.min(turn, longest), math.min(cpu, spent)
  end
  client:close()
  return turn, cpu
end

local function verdict(figure, budget)
  return figure <= budget and "ok" or "over"
end

local directory = os.tmpname()
os.remove(directory)
local memory_turn, memory_cpu = measure(fleet.store.memory())
local file_turn, file_cpu = measure(assert(fleet.store.file(directory)))
stop()
os.execute("rm -r " .. directory)

print(string.format("store: longest turn %.1f ms, %.0f us of CPU per command; memory store %.1f ms, %.0f us", file_turn * 1e3,
  file_cpu / vehicles * 1e6, memory_turn * 1e3, memory_cpu / vehicles * 1e6))
print(string.format("store-turn %.1f 10 %s", file_turn * 1e3, verdict(file_turn * 1e3, 10)))
print(string.format("store-cpu %.2f 1.5 %s", file_cpu / memory_cpu, verdict(file_cpu / memory_cpu, 1.5)))
