-- The budgets `proxy-cpu`, `proxy-p99` and `proxy-memory`: 64 callers with a connection each over 64 vehicles in another process, at
-- 0 and at 50 ms, through `fleet proxy` and through the yardstick of spec/bench/proxy.c, in turns. The CPU is that of the process in
-- front of which the callers stand; the least of the rounds counts, of the CPU and of the lateness, because what else the machine does
-- only adds.

local machine = require "spec.bench.machine"
local other_side = require "spec.bench.other_side"
local proxied = require "spec.bench.proxied"

local callers, rounds = 64, 5
local requests = { [0] = 6400, [0.05] = 6400 }

-- ---- processes ----

local ticks
do
  local pipe = io.popen("getconf CLK_TCK")
  ticks = tonumber(pipe:read("l"))
  pipe:close()
end

local function cpu_of(pid)
  local file = assert(io.open("/proc/" .. pid .. "/stat"))
  local user, system = string.match(file:read("a"), "%) %S" .. string.rep(" %S+", 10) .. " (%d+) (%d+)")
  file:close()
  return (user + system) / ticks
end

-- The most memory that the process had for itself, and with the code of its libraries: that comes from files, is there once for all
-- processes, and is 10 MB for the yardstick, too.
local function peak_of(pid)
  local file = assert(io.open("/proc/" .. pid .. "/status"))
  local text = file:read("a")
  file:close()
  local all, code = string.match(text, "VmHWM:%s*(%d+)"), string.match(text, "RssFile:%s*(%d+)")
  return (all - code) / 1024, all / 1024
end

-- ---- what is measured ----

local function at(times, share)
  return times[math.max(1, math.ceil(#times * share))] * 1e3
end

local function measure(name, latency)
  local address, vehicles = other_side.start_vehicles(proxied.key, latency)
  local command, port_of = proxied.subjects[name](address)
  local line, process = other_side.start(command)
  local port = port_of(line)
  proxied.load(port, callers, callers * 4) -- handshakes
  local before, beside = cpu_of(process.pid), machine.watch()
  local times, seconds = proxied.load(port, callers, requests[latency])
  local _, stolen = beside()
  local own, all = peak_of(process.pid)
  local found = {
    cpu = (cpu_of(process.pid) - before) / requests[latency] * 1e6, rate = requests[latency] / seconds,
    p50 = at(times, 0.5), p99 = at(times, 0.99), peak = own, peak_of_all = all, stolen = stolen,
  }
  found.late = found.p99 / (1.5 * found.p50 + 10)
  process.stop()
  vehicles.stop()
  return found
end

-- The cheapest of some rounds of each, as late as the least late.
local function compare(latency)
  local best, late = {}, {}
  for _ = 1, rounds do
    for _, name in ipairs { "yardstick", "proxy" } do
      local one = measure(name, latency)
      if not best[name] or one.cpu < best[name].cpu then best[name] = one end
      late[name] = math.min(late[name] or math.huge, one.late)
      best[name].late = late[name]
    end
  end
  return best.yardstick, best.proxy
end

local function tell(name, latency, found)
  print(string.format("proxy: %s, vehicles at %g ms: %.0f us CPU per command, %.0f commands/s, p50 %.1f ms, p99 %.1f ms, "
    .. "%.1f MB of its own, %.1f MB with the code; the host took %.0f %% of the cores",
    name, latency * 1e3, found.cpu, found.rate, found.p50, found.p99, found.peak, found.peak_of_all, found.stolen * 100))
end

local function verdict(name, figure, budget)
  print(string.format("%s %.2f %g %s", name, figure, budget, figure <= budget and "ok" or "over"))
end

local cpu, late, peak = 0, 0, 0
for _, latency in ipairs { 0, 0.05 } do
  local yardstick, proxy = compare(latency)
  tell("yardstick", latency, yardstick)
  tell("proxy", latency, proxy)
  cpu = math.max(cpu, proxy.cpu / yardstick.cpu)
  late, peak = math.max(late, proxy.late), math.max(peak, proxy.peak)
end
verdict("proxy-cpu", cpu, 1.5)
verdict("proxy-p99", late, 1)
verdict("proxy-memory", peak, 16)
proxied.remove()
