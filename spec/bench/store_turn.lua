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

local directory = os.tmpname()
os.remove(directory)
local memory_turn, memory_cpu = rounds.measure(address, fleet.store.memory())
local file_turn, file_cpu = rounds.measure(address, assert(fleet.store.file(directory)))
stop()
os.execute("rm -r " .. directory)

print(string.format("store: longest turn %.1f ms, %.0f us of CPU per command; memory store %.1f ms, %.0f us", file_turn * 1e3,
  file_cpu / vehicles * 1e6, memory_turn * 1e3, memory_cpu / vehicles * 1e6))
print(string.format("store-turn %.1f 10 %s", file_turn * 1e3, verdict(file_turn * 1e3, 10)))
print(string.format("store-cpu %.2f 1.5 %s", file_cpu / memory_cpu, verdict(file_cpu / memory_cpu, 1.5)))
