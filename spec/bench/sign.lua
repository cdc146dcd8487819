-- The budgets of the signing pillar: prints `name figure budget ok|over`. The yardsticks are measured by spec/bench/sign.c
-- in the same run, in turns with ours. Each turn has processes of its own, and a figure is the median of what the turns give: a process
-- has its own luck with where its memory lies, which lasts as long as it does.
--
--   lua5.4 spec/bench/sign.lua            lua5.4 spec/bench/sign.lua command     prints the microseconds of one command

local core = require "fleet.core"

local VIN = "5YJ30123456789ABC"
local ROUNDS = 100000
local TURNS = 11

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

local function in_a_process()
  local pipe = assert(io.popen("lua5.4 spec/bench/sign.lua command"))
  local figure = tonumber(pipe:read("l"))
  pipe:close()
  return assert(figure, "spec/bench/sign.lua command failed")
end

local function median(turns, figure)
  local list = {}
  for i, turn in ipairs(turns) do list[i] = figure(turn) end
  table.sort(list)
  return list[(#list + 1) // 2]
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

if arg[1] == "command" then
  print(("%.4f"):format(microseconds(begun(), ROUNDS)))
  return
end

local turns = {}
for i = 1, TURNS do
  turns[i] = yardsticks()
  turns[i].command = in_a_process()
end
line("sign", median(turns, function(t) return t.sign / t.hmac end), 4)
line("sign-lua", median(turns, function(t) return t.command / t.hmac end), 8)
line("sign-heap", math.max(turns[1].heap, grown(begun())), 1024)
line("handshake", median(turns, function(t) return t.handshake / t.derive end), 1.3)
line("session-memory", turns[1].session, 1024)
