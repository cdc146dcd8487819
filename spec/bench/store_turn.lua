-- The budgets `store-turn` and `store-cpu`: 50 signed commands at once, one per vehicle, with sessions known. How long the
-- longest tick of the loop is with the file store, in milliseconds, and the processor time of the process with it, over that
-- with a memory store of the caller.

local fleet = require "fleet"
local rounds = require "spec.bench.signed_rounds"

local vehicles = rounds.vehicles
local address, stop = rounds.start()

local function verdict(figure, budget)
  return figure <= budget and "ok" or "over"
end

local function with_files()
  local directory = os.tmpname()
  os.remove(directory)
  local store = assert(fleet.store.file(directory))
  local tick, cpu = rounds.measure(address, store)
  store:close()
  os.execute("rm -r " .. directory)
  return tick, cpu
end

-- One after the other, again and again: a machine that becomes slower meanwhile must not be taken for a store that is.
local memory_tick, memory_cpu, file_tick, file_cpu = math.huge, math.huge, math.huge, math.huge
for _ = 1, 5 do
  local tick, cpu = rounds.measure(address, fleet.store.memory())
  memory_tick, memory_cpu = math.min(memory_tick, tick), math.min(memory_cpu, cpu)
  tick, cpu = with_files()
  file_tick, file_cpu = math.min(file_tick, tick), math.min(file_cpu, cpu)
end
stop()

print(string.format("store: longest tick %.1f ms, %.0f us of CPU per command; memory store %.1f ms, %.0f us", file_tick * 1e3,
  file_cpu / vehicles * 1e6, memory_tick * 1e3, memory_cpu / vehicles * 1e6))
print(string.format("store-turn %.1f 10 %s", file_tick * 1e3, verdict(file_tick * 1e3, 10)))
print(string.format("store-cpu %.2f 1.5 %s", file_cpu / memory_cpu, verdict(file_cpu / memory_cpu, 1.5)))
