-- The budgets `proxy-cpu`, `proxy-p99` and `proxy-memory`: 64 callers with a connection each over 64 vehicles in another process, at
-- 0 and at 50 ms, through `fleet proxy` and through the yardstick of spec/bench/proxy.c, in turns. The CPU is that of the process in
-- front of which the callers stand; the least of the rounds counts, because what else the machine does only adds.

local core = require "fleet.core"
local cqueues = require "cqueues"
local miniclient = require "spec.support.harness.miniclient"

local callers, rounds = 64, 3
local requests = { [0] = 6400, [0.05] = 6400 }
local build = os.getenv("FLEET_BUILD") or "build/plain"

local directory = os.tmpname()
os.remove(directory)
assert(core.directory_make(directory))
local key = core.key.generate()
assert(key:save(directory .. "/key.pem"))

local function hex(bytes)
  return (string.gsub(bytes, ".", function(c) return string.format("%02x", string.byte(c)) end))
end

-- ---- processes ----

-- Starts a program that ends with its input; → its first line, its process id, stop().
local function start(command)
  local fifo = os.tmpname()
  os.remove(fifo)
  assert(os.execute("mkfifo " .. fifo))
  local out = assert(io.popen(string.format("sh -c 'echo $$; exec %s' <%s", command, fifo), "r"))
  local into = assert(io.open(fifo, "w"))
  os.remove(fifo)
  local pid = out:read("l")
  return assert(out:read("l"), "it did not start: " .. command), pid, function()
    into:close()
    os.execute("kill " .. pid .. " 2>/dev/null")
    out:close()
  end
end

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

-- ---- callers ----

local function vin(i)
  return string.format("5YJ3FLEE9RF%06d", i)
end

-- So many commands over connections that stay open; → seconds of each, sorted, and of all.
local function load(port, count)
  local loop, times, left = cqueues.new(), {}, count
  local function caller(i)
    local s = miniclient.connect { port = port }
    local request = "POST /api/1/vehicles/" .. vin(i) .. "/command/honk_horn HTTP/1.1\r\nHost: 127.0.0.1:" .. port
      .. "\r\nAuthorization: Bearer t\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
    while left > 0 do
      left = left - 1
      local before = cqueues.monotime()
      local reply = miniclient.exchange(s, request)
      assert(reply and reply.status == 200, reply and reply.body or "no answer")
      times[#times + 1] = cqueues.monotime() - before
    end
    s:close()
  end
  for i = 1, callers do loop:wrap(caller, i) end
  local before = cqueues.monotime()
  assert(loop:loop())
  table.sort(times)
  return times, cqueues.monotime() - before
end

local function at(times, share)
  return times[math.max(1, math.ceil(#times * share))] * 1e3
end

-- ---- what is measured ----

local subjects = {
  yardstick = function(url)
    local port, pid, stop = start(string.format("%s/bench/proxy %s %s/key.pem", build, url, directory))
    return tonumber(port), pid, stop
  end,
  proxy = function(url)
    local file = assert(io.open(directory .. "/config.json", "w"))
    -- the callers bring the token, so that nothing is stored, as the yardstick stores nothing
    file:write(core.json_encode { base_url = url, key = directory .. "/key.pem", token = "t", commands = "signed" })
    file:close()
    os.execute("chmod 600 " .. directory .. "/config.json")
    local line, pid, stop = start(string.format("lua5.4 lua/fleet/cli/fleet proxy --listen 127.0.0.1:0 --pass-through "
      .. "--config %s/config.json --audit %s/audit", directory, directory))
    return core.json_decode(line).port, pid, stop
  end,
}

local function measure(name, latency)
  local address, _, stop_vehicles = start(string.format("lua5.4 spec/bench/vehicles.lua %s %g", hex(key:public_bytes()), latency))
  local port, pid, stop = subjects[name](address)
  load(port, callers * 4) -- handshakes
  local before = cpu_of(pid)
  local times, seconds = load(port, requests[latency])
  local own, all = peak_of(pid)
  local found = {
    cpu = (cpu_of(pid) - before) / requests[latency] * 1e6, rate = requests[latency] / seconds, p50 = at(times, 0.5), p99 = at(times, 0.99),
    peak = own, peak_of_all = all,
  }
  stop()
  stop_vehicles()
  return found
end

local function best(name, latency)
  local found
  for _ = 1, rounds do
    local one = measure(name, latency)
    if not found or one.cpu < found.cpu then found = one end
  end
  print(string.format("proxy: %s, vehicles at %g ms: %.0f us CPU per command, %.0f commands/s, p50 %.1f ms, p99 %.1f ms, "
    .. "%.1f MB of its own, %.1f MB with the code", name, latency * 1e3, found.cpu, found.rate, found.p50, found.p99, found.peak,
    found.peak_of_all))
  return found
end

local function verdict(name, figure, budget)
  print(string.format("%s %.2f %g %s", name, figure, budget, figure <= budget and "ok" or "over"))
end

local cpu, late, peak = 0, 0, 0
for _, latency in ipairs { 0, 0.05 } do
  local yardstick, proxy = best("yardstick", latency), best("proxy", latency)
  cpu = math.max(cpu, proxy.cpu / yardstick.cpu)
  late, peak = math.max(late, proxy.p99 / (1.5 * proxy.p50 + 10)), math.max(peak, proxy.peak)
end
verdict("proxy-cpu", cpu, 1.5)
verdict("proxy-p99", late, 1)
verdict("proxy-memory", peak, 16)
os.execute("rm -rf " .. directory)
