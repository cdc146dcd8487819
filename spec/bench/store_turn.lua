-- The budgets `store-turn` and `store-cpu`: 50 signed commands at once, one per vehicle, with sessions known. How long the
-- longest turn of the loop is with the file store, in milliseconds, and what the process spends with it, over what it spends
-- with a memory store of the caller's.

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
  local turn, cpu = rounds.measure(address, store)
  store:close()
  os.execute("rm -r " .. directory)
  return turn, cpu
end

-- One after the other, again and again: a machine that becomes slower meanwhile must not be taken for a store that is.
local memory_turn, memory_cpu, file_turn, file_cpu = math.huge, math.huge, math.huge, math.huge
for _ = 1, 5 do
  local turn, cpu = rounds.measure(address, fleet.store.memory())
  memory_turn, memory_cpu = math.min(memory_turn, turn), math.min(memory_cpu, cpu)
  turn, cpu = with_files()
  file_turn, file_cpu = math.min(file_turn, turn), math.min(file_cpu, cpu)
end
stop()

print(string.format("store: longest turn %.1f ms, %.0f us of CPU per command; memory store %.1f ms, %.0f us", file_turn * 1e3,
  file_cpu / vehicles * 1e6, memory_turn * 1e3, memory_cpu / vehicles * 1e6))
print(string.format("store-turn %.1f 10 %s", file_turn * 1e3, verdict(file_turn * 1e3, 10)))
print(string.format("store-cpu %.2f 1.5 %s", file_cpu / memory_cpu, verdict(file_cpu / memory_cpu, 1.5)))
