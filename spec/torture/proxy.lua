-- Two proxies on one store before a simulator, on a bad day: one is killed again and again, the other reads its configuration anew
-- and serves on, the Redis below them is killed and started, the service fails at random, access tokens end. Callers of every kind
-- ask: with an Idempotency-Key and without, by several connections, in halves, with stray bytes, and not at all. Afterwards: no
-- command twice, none reported as done that was not, no token lost, memory and descriptors of the proxy that lived as they were.
--
--   lua5.4 spec/torture/proxy.lua [seconds] [seed] [redis|files] [seconds between two lines of memory and descriptors]
--                                 3600      any    redis         60

local core = require "fleet.core"
local cqueues = require "cqueues"
local files = require "spec.support.harness.files"
local fleet = require "fleet"
local miniclient = require "spec.support.harness.miniclient"
local process = require "spec.support.harness.process"
local redis = require "spec.support.servers.redis"
local signed_sim = require "spec.support.servers.signed_sim"
local still_signed_in = require "spec.torture.still_signed_in"
local sim_process = require "spec.support.servers.sim_process"
local tally_text = require "spec.torture.tally"

local M = {}

local now, sleep = cqueues.monotime, cqueues.sleep

-- ---- the world ----

local function configuration(world)
  local sim = world.sim
  files.write(world.directory .. "/config.json", core.json_encode {
    base_url = sim.sim.base_url, auth_url = sim.sim.auth_url, token_url = sim.sim.token_url, client_id = "c", client_secret = "s",
    key = world.directory .. "/key.pem", store = world.store, commands = "signed", timeout = 10,
  })
  process.execute("chmod 600 " .. process.quote(world.directory .. "/config.json"))
end

local function build(options)
  local world = { directory = process.temporary("torture-proxy"), options = options, blows = {}, kinds = {}, samples = {}, proxies = {} }
  process.execute("chmod 700 " .. process.quote(world.directory))
  if options.store == "redis" then
    world.redis = redis.start { settings = { "appendonly yes", "appendfsync always", "maxmemory-policy noeviction" } }
    world.store = world.redis.address .. "?settle=0.3"
  else
    world.store = world.directory .. "/store"
  end
  world.vins = { signed_sim.VIN }
  for i = 2, options.vehicles do world.vins[i] = ("5YJ3FLEE9RF00%04d"):format(i) end
  world.sim = signed_sim.start({ table.unpack(world.vins, 2) }, world.store)
  assert(world.sim.key:save(world.directory .. "/key.pem"))
  configuration(world)
  return world
end

-- ---- the proxies ----

local script = [[
FLEET proxy --listen "unix:$2.sock" --config "$(dirname "$2")/config.json" --audit "$2.audit" >"$1" 2>>"$2.err" &
proxy=$!
echo $proxy >"$2.pid"
cat >/dev/null
kill -9 $proxy 2>/dev/null
wait $proxy
]]

local function start_proxy(world, name)
  local path = world.directory .. "/" .. name
  local running = process.start("sh " .. process.quote(world.directory .. "/run"), path)
  assert(running.line:find('"url"', 1, true), "the proxy did not start: " .. running.line .. (files.find(path .. ".err") or ""))
  world.proxies[name] = { path = path .. ".sock", pid = files.read(path .. ".pid"):match("%d+"), running = running }
end

local function signal(world, name, which)
  process.execute("kill -" .. which .. " " .. world.proxies[name].pid)
end

local function kill_proxy(world, name)
  local proxy = world.proxies[name]
  signal(world, name, "KILL")
  proxy.running.stop()
  start_proxy(world, name)
end

-- ---- one request ----

local function connect(world, name)
  local ran, connection = pcall(miniclient.connect, { path = world.proxies[name].path })
  if not ran then return nil end
  connection:onerror(function(_, _, code) return code end)
  connection:settimeout(30)
  return connection
end

local function ask(world, name, bytes)
  local connection = connect(world, name)
  if not connection then return nil end
  local ran, reply = pcall(miniclient.exchange, connection, bytes)
  connection:close()
  return ran and reply and reply.whole and reply or nil
end

local function command(vin, name, key)
  return miniclient.bytes("POST", "/api/1/vehicles/" .. vin .. "/command/" .. name, { ["Idempotency-Key"] = key })
end

local function any()
  return math.random(2) == 1 and "a" or "b"
end

local function other(name)
  return name == "a" and "b" or "a"
end

-- ---- commands: each caller has a vehicle and a command that nobody else sends ----

local function outcome_of(reply)
  if not reply then return "unknown" end
  local said = reply.headers["x-fleet-outcome"]
  if said then return said end
  if reply.status ~= 200 then return reply.status < 500 and "refused" or "unknown" end
  return core.json_decode(reply.body).response.result and "done" or "refused"
end

local function count(list, name)
  list[name] = (list[name] or 0) + 1
end

-- A token that ends as soon as it was exchanged is not lost.
local function check_token(reply)
  if not reply or reply.status ~= 401 or reply.body:find("token expired", 1, true) then return end
  error("a token was lost: " .. reply.body, 0)
end

-- What is under way may run at any moment; what was unknown may have run, or may still.
local function check_tally(tally, under_way)
  local most = tally.done + tally.unknown + (under_way and 1 or 0)
  if tally.ran > most then error(("%s ran %d times: %d done, %d unknown"):format(tally.name, tally.ran, tally.done, tally.unknown), 0) end
  if tally.ran < tally.done then error(("%s was done %d times, and ran %d times"):format(tally.name, tally.done, tally.ran), 0) end
end

local function note(world, tally, reply)
  local outcome = outcome_of(reply)
  count(world.kinds, outcome)
  check_token(reply)
  if tally[outcome] then tally[outcome] = tally[outcome] + 1 end
  check_tally(tally)
  return outcome
end

-- The first answer of any proxy counts; nobody's answer is asked for again elsewhere.
local function with_key(world, tally, key)
  local name, bytes = any(), command(tally.vin, tally.command, key)
  local reply, ends = ask(world, name, bytes), now() + 60
  while not reply and now() < ends do
    sleep(0.05)
    name = other(name)
    reply = ask(world, name, bytes)
  end
  if note(world, tally, reply) ~= "done" or math.random(5) > 1 then return end
  local ran = tally.ran
  local again = ask(world, other(name), bytes)
  if tally.unknown == 0 and tally.ran ~= ran then error(tally.name .. ": the same key ran twice", 0) end
  if again and outcome_of(again) == "done" and again.body ~= reply.body then error("the same key has two answers", 0) end
  count(world.kinds, "asked again")
end

local function without_key(world, tally)
  note(world, tally, ask(world, any(), command(tally.vin, tally.command)))
end

local function commander(world, number)
  local vin = world.vins[(number - 1) % #world.vins + 1]
  local name = number <= #world.vins and "honk_horn" or "flash_lights"
  local tally = { name = name .. " of " .. vin, vin = vin, command = name, done = 0, unknown = 0, ran = 0 }
  world.tallies[vin .. name] = tally
  return function()
    local round = 0
    while not world.ended do
      round = round + 1
      if number % 3 == 0 then without_key(world, tally) else with_key(world, tally, ("%d-%d"):format(number, round)) end
      sleep(math.random() * world.options.pause)
    end
  end
end

-- ---- other callers ----

local others = {}

local paths = { "/api/1/vehicles", "/api/1/users/me", "/api/1/vehicles/%s", "/api/1/vehicles/%s/vehicle_data", "/health", "/metrics" }

function others.reader(world)
  local path = paths[math.random(#paths)]:format(world.vins[math.random(#world.vins)])
  local reply = ask(world, any(), miniclient.bytes("GET", path))
  if reply then count(world.kinds, "GET " .. (reply.status < 500 and reply.status or "5xx")) end
  check_token(reply)
  sleep(0.1)
end

local refused = {
  miniclient.bytes("GET", "/no/such/path"), miniclient.bytes("DELETE", "/api/1/vehicles"), "\0\255\1\2\r\n\r\n",
  command(signed_sim.VIN, "no_such_command"), "GET /" .. ("a"):rep(20000), "GET / HTTP/1.1\r\nX: " .. ("a"):rep(20000),
  miniclient.bytes("POST", "/api/1/vehicles/" .. signed_sim.VIN .. "/command/honk_horn", { ["Content-Type"] = "application/json" },
    (" "):rep(5000)),
}

function others.mistaken(world)
  local reply = ask(world, any(), refused[math.random(#refused)])
  if reply and reply.status < 400 then error("what is no request was answered with " .. reply.status, 0) end
  sleep(0.2)
end

-- Half a request, and away; or nothing at all until the proxy has enough.
function others.silent(world)
  local connection = connect(world, any())
  if not connection then return sleep(0.2) end
  local bytes = miniclient.bytes("POST", "/api/1/vehicles/" .. signed_sim.VIN .. "/command/honk_horn")
  pcall(connection.write, connection, bytes:sub(1, math.random(0, #bytes - 2)))
  pcall(connection.flush, connection)
  sleep(math.random() * 20)
  connection:close()
end

function others.pipeliner(world)
  local connection = connect(world, any())
  if not connection then return sleep(0.2) end
  local one = miniclient.bytes("GET", "/health")
  pcall(miniclient.exchange, connection, one:rep(20))
  connection:close()
  sleep(0.5)
end

-- ---- what goes wrong ----

local blows = {}

function blows.kill(world) kill_proxy(world, "a") end

function blows.reload(world) signal(world, "b", "HUP") end

function blows.expire(world) world.sim:expire() end

function blows.restart(world)
  if not world.redis then return end
  world.redis.kill()
  sleep(0.2 + math.random() * world.options.away)
  world.redis.again()
end

local faults = {
  "error_500", "error_504", "executed_503", "drop_after", "drop_before", "truncated", "lost", "slow", "corrupted_tag", "duplicated",
  "counter_lowered", "epoch_change", "wrong_type", "trickle",
}

function blows.faults(world)
  for _ = 1, 6 do world.sim:fault(faults[math.random(#faults)], math.random(3), { seconds = math.random() }) end
  world.sim:fault("rate_limit", 1, { retry_after = 1 })
  world.sim:fault("drop_after", 1, { row = "token" })
end

-- Each comes again after so many seconds.
local function every(world, seconds, name)
  while not world.ended do
    sleep(seconds * (0.5 + math.random()))
    if world.ended then return end
    blows[name](world)
    count(world.blows, name)
  end
end

-- ---- the proxy that lives ----

local function sample(world)
  local pid = world.proxies.b.pid
  while not world.ended do
    sleep(world.options.sample)
    local status = files.find("/proc/" .. pid .. "/status")
    if not status then error("the proxy that nobody killed has ended: " .. (files.find(world.directory .. "/b.err") or ""), 0) end
    local pipe = io.popen("ls /proc/" .. pid .. "/fd | wc -l")
    world.samples[#world.samples + 1] = {
      at = now() - world.began, kilobytes = tonumber(status:match("RssAnon:%s*(%d+)")),
      all = tonumber(status:match("VmRSS:%s*(%d+)")), descriptors = tonumber((pipe:read("a"))),
    }
    pipe:close()
  end
end

local figures_told = { "connections", "queue", "in_flight" }

-- The most since the last line, and what the proxy says of itself: descriptors come and go with connections, files with the code that
-- is read for the first time.
local function report_progress(world)
  local first = 1
  while not world.ended do
    sleep(world.options.report_progress)
    local most, last = { kilobytes = 0, all = 0, descriptors = 0 }, #world.samples
    for i = first, last do
      for what, value in pairs(most) do most[what] = math.max(value, world.samples[i][what]) end
    end
    first = last + 1
    local reply, said = ask(world, "b", miniclient.bytes("GET", "/metrics")), {}
    for i, name in ipairs(figures_told) do
      said[i] = name .. " " .. (reply and reply.body:match("fleet_proxy_" .. name .. " (%d+)") or "?")
    end
    print(("%5.0f s: memory %d kB of its own, %d kB with files, descriptors %d; now %s"):format(now() - world.began,
      most.kilobytes, most.all, most.descriptors, table.concat(said, ", ")))
    io.flush()
  end
end

-- What the proxy has for itself; the code of its libraries comes from files, a page at a time.
-- The most of the second fifth and of the last: the first is for what is made once.
local function growth(samples, what)
  local fifth, early, late = #samples // 5, 0, 0
  for i = 1, fifth do
    early = math.max(early, samples[fifth + i][what])
    late = math.max(late, samples[#samples - fifth + i][what])
  end
  return early, late
end

-- ---- the run ----

local function turn(world, controller)
  local ok, why = controller:step(0)
  if world.broken or not ok then error(world.broken or why, 0) end
  fleet.loop.wait(0.005)
  fleet.loop.step()
end

local function start_callers(world, controller)
  local function guarded(fn, ...)
    world.callers = (world.callers or 0) + 1
    local ran, why = pcall(fn, ...)
    world.callers = world.callers - 1
    if not ran then error(why, 0) end
  end
  for i = 1, 2 * #world.vins do controller:wrap(guarded, commander(world, i)) end
  for _, kind in pairs(others) do
    for _ = 1, 4 do
      controller:wrap(function() while not world.ended do kind(world) end end)
    end
  end
end

-- A busy machine may take long for one blow: a run is over when each has come.
local function all_came(world)
  for name in pairs(world.options.every) do
    if not world.blows[name] then return false end
  end
  return true
end

local function suffer(world)
  local controller, options = cqueues.new(), world.options
  start_callers(world, controller)
  for name, seconds in pairs(options.every) do controller:wrap(every, world, seconds, name) end
  world.began = now()
  controller:wrap(sample, world)
  if options.report_progress then controller:wrap(report_progress, world) end
  local stop_at = now() + options.seconds
  while now() < stop_at or not all_came(world) and now() < stop_at + 60 do turn(world, controller) end
  world.ended = true
  local last = now() + 100
  while world.callers > 0 and now() < last do turn(world, controller) end
  assert(world.callers == 0, "a caller still waits for its answer")
end

-- Raises where a promise was broken.
local function check(world)
  local figures = { kinds = world.kinds, blows = world.blows, ran = 0, samples = #world.samples }
  for _, tally in pairs(world.tallies) do
    check_tally(tally)
    figures.ran = figures.ran + tally.ran
  end
  world.sim:clear()
  local client = world.sim:client()
  still_signed_in(client)
  client:close()
  figures.kilobytes, figures.kilobytes_late = growth(world.samples, "kilobytes")
  figures.descriptors, figures.descriptors_late = growth(world.samples, "descriptors")
  if world.options.seconds < 300 then return figures end
  assert(figures.kilobytes_late <= 1.15 * figures.kilobytes + 1024,
    ("memory grew from %d kB to %d kB"):format(figures.kilobytes, figures.kilobytes_late))
  assert(figures.descriptors_late <= figures.descriptors + 20,
    ("descriptors grew from %d to %d"):format(figures.descriptors, figures.descriptors_late))
  return figures
end

local function stop(world)
  for _, proxy in pairs(world.proxies) do proxy.running.stop() end
  world.sim:close()
  if world.redis then world.redis.stop() end
end

local defaults = {
  seconds = 3600, seed = 1, vehicles = 8, store = "redis", pause = 0.4, away = 3, sample = 1,
  every = { kill = 60, restart = 45, reload = 50, expire = 20, faults = 2 },
}

--- options: those of defaults. Returns figures; raises where a promise was broken.
function M.run(options)
  local all = {}
  for name, value in pairs(defaults) do all[name] = value end
  for name, value in pairs(options or {}) do all[name] = value end
  math.randomseed(all.seed)
  local world = build(all)
  world.tallies = {}
  function world.sim.on_run(vin, name)
    local tally = world.tallies[vin .. name]
    if not tally then return end
    tally.ran = tally.ran + 1
    local ran, why = pcall(check_tally, tally, true)
    if not ran then world.broken = world.broken or why end -- the simulator would answer with it
  end
  files.write(world.directory .. "/run", (script:gsub("FLEET", function() return sim_process.fleet end)))
  local ok, figures = pcall(function()
    start_proxy(world, "a")
    start_proxy(world, "b")
    suffer(world)
    return check(world)
  end)
  stop(world)
  if ok then process.execute("rm -rf " .. process.quote(world.directory)) end
  if not ok then error(tostring(figures) .. " (seed " .. all.seed .. ", logs in " .. world.directory .. ")", 0) end
  return figures
end

local function print_figures(options, figures)
  print(("%s: %d seconds, %d commands carried out, memory %d kB then %d kB, descriptors %d then %d"):format(options.store,
    options.seconds, figures.ran, figures.kilobytes, figures.kilobytes_late, figures.descriptors, figures.descriptors_late))
  for _, group in ipairs { figures.blows, figures.kinds } do print(tally_text(group)) end
end

if arg and arg[0] and arg[0]:find("torture/proxy%.lua$") then
  local options = {
    seconds = tonumber(arg[1] or 3600), seed = tonumber(arg[2] or os.time() % 100000),
    store = arg[3] or (redis.missing() and "files" or "redis"), report_progress = tonumber(arg[4] or 60),
  }
  print_figures(options, M.run(options))
end

return M
