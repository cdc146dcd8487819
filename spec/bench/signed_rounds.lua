-- Rounds of 50 signed commands at once, one per vehicle, with sessions known, through any store: how long the longest turn of the
-- loop is, and what the process spends. The vehicles live in a process of their own. The least of some runs counts, because
-- what else the machine does only adds.

local async = require "fleet.async"
local core = require "fleet.core"
local fleet = require "fleet"
local other_side = require "spec.bench.other_side"

local vehicles, latency, runs = 50, 0.05, 15
local key = fleet.key.generate()

local M = {
  vehicles = vehicles,
  tasks = setmetatable({}, { __mode = "k" }), -- those in which commands are performed
}

--- Starts the vehicles. Returns their address, and what stops them.
function M.start()
  local address, others = other_side.start_vehicles(key, latency)
  return address, others.stop
end

local vins = {}
for i = 1, vehicles do vins[i] = string.format("5YJ3FLEE9RF%06d", i) end

-- Every command in a task of its own, all begun in one turn. Returns the seconds of the longest turn and of the processor.
local function run(client)
  local results, ended, longest, cpu = {}, false, 0, os.clock()
  fleet.spawn(function()
    results = fleet.map(vins, function(vin)
      M.tasks[async.current()] = true
      return client:vehicle(vin):honk_horn()
    end, { concurrency = vehicles })
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

--- The least of the longest turns and of the processor's time, in seconds, with a store at an address of start. after: called
--- after each round.
function M.measure(address, store, after, more)
  local options = { token = "t", key = key, base_url = address, commands = "auto", timeout = 60, store = store }
  for name, value in pairs(more or {}) do options[name] = value end
  local client = fleet.new(options)
  run(client)
  local turn, cpu = math.huge, math.huge
  for _ = 1, runs do
    local longest, spent = run(client)
    turn, cpu = math.min(turn, longest), math.min(cpu, spent)
    if after then after() end
  end
  client:close()
  return turn, cpu
end

return M
