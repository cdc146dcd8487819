-- Instructions of the simulator's process for a signed command, received, obeyed and answered, by callgrind; of sim-reads the part
-- that other programs on the machine do not change.
--
--   lua5.4 spec/bench/sim_counts.lua [profile]
--
-- A count is the difference between a long and a short run. profile: a file for callgrind_annotate, of the long run. LUA names the
-- interpreter; one that is linked with symbols tells its functions by name.

local fleet = require "fleet"
local other_side = require "spec.bench.other_side"

local vehicles, in_flight = 20, 16
local key = fleet.key.generate()

local function instructions(count, profile)
  local report = os.tmpname()
  local line, simulator = other_side.start(string.format("valgrind --log-file=%s --tool=callgrind --callgrind-out-file=%s %s "
    .. "spec/bench/simulator.lua vehicles %d %s", report, profile or "/dev/null", os.getenv "LUA" or "lua5.4", vehicles,
    other_side.hex(key:public_bytes())))
  local url, token = string.match(line, "^(%S+) (%S+)$")
  local client = fleet.new { token = token, key = key, base_url = url, commands = "signed", timeout = 60 }
  local list = {}
  for i = 1, count do list[i] = i end
  local results = fleet.map(list, function(i)
    return client:vehicle(string.format("5YJ3FLEE9RF000%03d", i % vehicles)):set_charge_limit { percent = 50 + i % 50 }
  end, { concurrency = in_flight })
  for _, result in ipairs(results) do assert(result.ok and result.value.via == "signed", tostring(result.err)) end
  client:close()
  simulator.stop()
  local file = assert(io.open(report))
  local text = file:read("a")
  file:close()
  os.remove(report)
  return tonumber(string.match(text, "Collected : (%d+)")) or error("callgrind did not count: " .. text, 0)
end

local short, long = 100, 600
local before = instructions(short)
print(string.format("simulator: %d instructions a signed command", (instructions(long, ...) - before) // (long - short)))
