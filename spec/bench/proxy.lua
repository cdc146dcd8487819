-- The budgets `proxy-cpu`, `proxy-p99` and `proxy-memory`: 64 callers with a connection each over 64 vehicles in another process, at
-- 0 and at 50 ms, through `fleet proxy` and through the yardstick of spec/bench/proxy.c, in turns. The proxy has the set-up of its page
-- with store, secret, audit and a service over TLS; the yardstick signs and sends without TLS, and stores nothing. `proxy-cpu` is the
-- ratio of the two, `proxy-p99` the p99 over 1.5 times the p50 and 10 ms. Their budgets, 0.3 of the CPU and the p99 of the protocol
-- owner's proxy, need that program, so that the lines say "absent". The CPU is that of the process in front of which the callers stand,
-- and differs by a third with how many replies happen to come together, for either: the figure is the median of what the rounds of
-- neighbours give. The lateness is the least: what else the machine does only adds to it.

local machine = require "spec.bench.machine"
local other_side = require "spec.bench.other_side"
local proxied = require "spec.bench.proxied"

local callers, rounds = 64, 11
local requests = { [0] = 12800, [0.05] = 3200 }

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
  local address, vehicles = other_side.start_vehicles(proxied.key, latency, name == "proxy" and proxied.certificates)
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

-- Some rounds: the one of the median ratio of CPU, and how late the least late was.
local function compare(latency)
  local list, late = {}, math.huge
  for i = 1, rounds do
    local one = { yardstick = measure("yardstick", latency), proxy = measure("proxy", latency) }
    one.ratio = one.proxy.cpu / one.yardstick.cpu
    late = math.min(late, one.proxy.late)
    list[i] = one
  end
  table.sort(list, function(a, b) return a.ratio < b.ratio end)
  return list[(rounds + 1) // 2], late
end

local function print_figures(name, latency, found)
  print(string.format("proxy: %s, vehicles at %g ms: %.0f us CPU per command, %.0f commands/s, p50 %.1f ms, p99 %.1f ms, "
    .. "%.1f MB of its own, %.1f MB with the code; the host took %.0f %% of the cores",
    name, latency * 1e3, found.cpu, found.rate, found.p50, found.p99, found.peak, found.peak_of_all, found.stolen * 100))
end

local function verdict(name, figure, budget)
  print(string.format("%s %.2f %g %s", name, figure, budget, figure <= budget and "ok" or "over"))
end

local cpu, late, memory = 0, 0, 0
for _, latency in ipairs { 0, 0.05 } do
  local one, least_late = compare(latency)
  for _, name in ipairs { "yardstick", "proxy" } do print_figures(name, latency, one[name]) end
  cpu = math.max(cpu, one.ratio)
  late, memory = math.max(late, least_late), math.max(memory, one.proxy.peak_of_all)
end
print(string.format("proxy-cpu %.2f - absent", cpu))
print(string.format("proxy-p99 %.2f - absent", late))
verdict("proxy-memory", memory, 24)
proxied.remove()
