-- The budgets of the signing pillar: prints `name figure budget ok|over`. The yardsticks are measured by spec/bench/sign.c
-- in the same run, in turns with ours; the least of each counts, because what else the machine does only adds.
local core = require "fleet.core"

local VIN = "5YJ30123456789ABC"
local ROUNDS = 100000
local TURNS = 7

local function yardsticks()
  local pipe = assert(io.popen(("%s/bench/sign %d"):format(os.getenv("FLEET_BUILD"), ROUNDS)))
  local values = {}
  for name, value in pipe:read("a"):gmatch("(%w+) ([%d.]+)") do values[name] = tonumber(value) end
  pipe:close()
  return assert(values.session and values, "spec/bench/sign did not run")
end

local function begun()
  local key, vehicle = core.key.generate(), core.key.generate()
  local s = core.session { key = key, vin = VIN, domain = "infotainment" }
  local r = core.receiver { key = vehicle, vin = VIN, domain = "infotainment", keys = { key:public_bytes() } }
  assert(s:accept((r:handle(s:handshake()))))
  return s
end

local function microseconds(s, rounds)
  local start = os.clock()
  for i = 1, rounds do
    s:command("set_charge_limit", { percent = 50 + i % 50 })
  end
  return (os.clock() - start) / rounds * 1e6
end

-- The least of each yardstick, and of a command from Lua.
local function least(s)
  local values, best = yardsticks(), microseconds(s, ROUNDS)
  for _ = 2, TURNS do
    for name, value in pairs(yardsticks()) do values[name] = math.min(values[name], value) end
    best = math.min(best, microseconds(s, ROUNDS))
  end
  return values, best
end

local function grown(s)
  microseconds(s, 1000)
  collectgarbage()
  collectgarbage()
  local before = collectgarbage("count")
  microseconds(s, 1000000)
  collectgarbage()
  collectgarbage()
  return (collectgarbage("count") - before) * 1024
end

local function line(name, figure, budget)
  print(("%s %.2f %g %s"):format(name, figure, budget, figure <= budget and "ok" or "over"))
end

local s = begun()
local y, command = least(s)
line("sign", y.sign / y.hmac, 4)
line("sign-lua", command / y.hmac, 8)
line("sign-heap", math.max(y.heap, grown(s)), 1024)
line("handshake", y.handshake / y.derive, 1.3)
line("session-memory", y.session, 1024)
