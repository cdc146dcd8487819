-- Several workers and proxies on one Redis, many vehicles, and a bad day: workers and proxies killed, Redis killed and started
-- again, standing still, hanging up and cut off, holders of leases stalled beyond them, the service failing at random. Afterwards:
-- no token lost, no command twice, no counter drawn twice, nothing counted twice, no vehicle's budget overshot.
--
--   lua5.4 spec/torture/redis.lua [seconds] [seed]      900 seconds; with FLEET_KEEP=1 the logs stay

local core = require "fleet.core"
local fleet = require "fleet"
local files = require "spec.support.harness.files"
local process = require "spec.support.harness.process"
local redis = require "spec.support.servers.redis"
local services = require "spec.support.servers.service"
local still_signed_in = require "spec.torture.still_signed_in"
local tally_text = require "spec.torture.tally"

local M = {}

local function hex(bytes)
  return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

-- ---- the world ----

local function garage(count, key)
  local vehicles, vins = {}, {}
  for i = 1, count do
    vins[i] = ("5YJ3FLEE9RF00%04d"):format(i)
    vehicles[i] = { vin = vins[i], keys = { hex(key:public_bytes()) } }
  end
  return { vehicles = vehicles }, vins
end

local settings = {
  persistent = { "appendonly yes", "appendfsync always", "maxmemory-policy noeviction" },
  forgetful = { "save \"\"", "appendonly no", "maxmemory-policy noeviction" },
}

local function build(options)
  local world = { directory = process.temporary("torture"), workers = {}, proxies = {}, options = options, logs = {} }
  local key = fleet.key.generate()
  assert(key:save(world.directory .. "/key.pem"))
  files.write(world.directory .. "/store_key", ("5a"):rep(32))
  os.execute("chmod 600 " .. world.directory .. "/store_key")
  local cars
  cars, world.vins = garage(options.vehicles, key)
  world.service = services.start(cars, "--log " .. process.quote(world.directory .. "/service.log"))
  world.redis = redis.start { settings = settings[options.redis] }
  world.store = world.redis.address .. "?settle=" .. options.settle
  world.budgets = { per_vehicle_month = { command = options.budget }, usd_per_month = 1e6 }
  return world
end

function M.client(world)
  return world.service:client {
    store = world.store, store_key = "@" .. world.directory .. "/store_key", key = world.directory .. "/key.pem",
    commands = "signed",
  }
end

-- ---- workers ----

-- What a worker or a proxy is given, as a file.
local function write_given(world, name, more)
  local addresses = world.service.addresses
  local given = {
    base_url = addresses.base_url, auth_url = addresses.auth_url, token_url = addresses.token_url, store = world.store,
    store_key = "@" .. world.directory .. "/store_key", key = world.directory .. "/key.pem", tasks = world.options.tasks,
    rest = world.options.rest, budgets = world.budgets, pacing = { command = 20 },
    seconds = math.max(world.stop_at - fleet.loop.clock(), 0.1),
  }
  for member, value in pairs(more or {}) do given[member] = value end
  files.write(name, core.json_encode(given))
end

local function start_process(script, arguments)
  local pipe = assert(io.popen(("echo $$; exec lua5.4 spec/torture/%s %s 2>&1"):format(script, arguments)))
  return { pipe = pipe, pid = pipe:read("l") }
end

local function start_worker(world, slot)
  world.started = (world.started or 0) + 1
  local name, urls = world.directory .. "/worker" .. world.started, {}
  for i = 1, world.options.proxies do urls[i] = "http+unix:" .. world.directory .. "/proxy" .. i .. ".sock" end
  write_given(world, name .. ".json", {
    vins = world.vins, log = name .. ".log", seed = world.options.seed * 1000 + world.started, proxies = urls,
  })
  world.logs[world.started] = name .. ".log"
  local worker = start_process("redis_worker.lua", process.quote(name .. ".json"))
  worker.number = world.started
  world.workers[slot] = worker
end

local function start_proxy(world, slot)
  local name = world.directory .. "/proxy" .. slot
  write_given(world, name .. ".json")
  world.proxies[slot] = start_process("redis_proxy.lua", process.quote(name .. ".json") .. " " .. process.quote(name .. ".sock"))
end

local function signal(worker, name)
  os.execute("kill -" .. name .. " " .. worker.pid)
end

local function kill_worker(world, slot)
  local worker = world.workers[slot]
  signal(worker, "KILL")
  worker.pipe:close()
  world.killed[worker.number] = true
  start_worker(world, slot)
end

local function kill_proxy(world, slot)
  local proxy = world.proxies[slot]
  signal(proxy, "KILL")
  proxy.pipe:close()
  start_proxy(world, slot)
end

-- The leases of the sessions end, as if their time had passed.
local function end_leases(world)
  for key in world.redis.cli("--raw keys 'fleet/session/*'"):gmatch("[^\n]+") do
    if world.redis.cli("--raw hexists " .. process.quote(key) .. " o"):find("1") then
      world.redis.cli("hset " .. process.quote(key) .. " u 0")
    end
  end
end

-- ---- what goes wrong ----

local blows = {}

function blows.kill(world)
  kill_worker(world, math.random(#world.workers))
end

function blows.kill_proxy(world)
  if world.proxies[1] then kill_proxy(world, math.random(#world.proxies)) end
end

function blows.stall(world)
  local worker = world.workers[math.random(#world.workers)]
  signal(worker, "STOP")
  fleet.sleep(0.2)
  end_leases(world)
  fleet.sleep(world.options.stall)
  signal(worker, "CONT")
end

function blows.restart(world)
  world.redis.kill()
  fleet.sleep(0.2 + math.random() * world.options.away)
  world.redis.again()
end

function blows.stand_still(world)
  world.redis.signal("STOP")
  fleet.sleep(world.options.away)
  world.redis.signal("CONT")
end

function blows.hang_up(world)
  world.redis.cli("client kill type normal skipme yes")
end

-- Nobody reaches it, and who had reached it is cut off.
function blows.cut(world)
  local path = world.redis.path
  assert(os.rename(path, path .. ".away"))
  os.execute("redis-cli -s " .. process.quote(path .. ".away") .. " client kill type normal skipme yes >/dev/null")
  fleet.sleep(world.options.cut)
  assert(os.rename(path .. ".away", path))
end

local faults = { "error_500", "error_504", "executed_503", "drop_after", "drop_before", "truncated", "lost", "slow", "corrupted_tag" }

function blows.faults(world)
  for _ = 1, 12 do
    world.service:control { fault = faults[math.random(#faults)], times = math.random(3) }
  end
end

local names = { "faults", "stall", "restart", "kill", "kill_proxy", "hang_up", "stand_still", "cut" }

-- ---- the run ----

local function suffer(world)
  local turn = 0
  while fleet.loop.clock() < world.stop_at - world.options.calm do
    turn = turn + 1
    local name = names[(turn - 1) % #names + 1] -- each has its turn, at a random moment
    world.blows[name] = (world.blows[name] or 0) + 1
    blows[name](world)
    fleet.sleep(math.random() * world.options.pause)
  end
end

local function collect(world)
  for _, worker in ipairs(world.workers) do
    local text = worker.pipe:read("a")
    worker.pipe:close()
    assert(text == "", "a worker said: " .. text)
  end
end

-- ---- what is true afterwards ----

-- number of each worker → { what =, vin =, outcome =, kind = }; killed workers leave some without an outcome.
local function actions(world)
  local list = {}
  for number, path in pairs(world.logs) do
    local of, ended = {}, false
    local log = io.open(path) -- one that was killed at once wrote none
    for line in log and log:lines() or function() end do
      local id, what, vin = line:match("^(%d+) ([%a_]+) (%S+)$")
      local over, outcome, kind = line:match("^(%d+) = (%S+) (%S+)$")
      if id then of[id] = { what = what, vin = vin:sub(-4) } end
      if over and of[over] then of[over].outcome, of[over].kind = outcome, kind end
      ended = ended or line == "end"
    end
    if log then log:close() end
    assert(ended or world.killed[number], "a worker ended early: " .. path)
    for _, action in pairs(of) do list[#list + 1] = action end
  end
  return list
end

-- What reached the vehicles: vehicle and command → how often it was done; counters that came twice.
local function arrivals(world)
  local done, used, twice, billed, asked = {}, {}, {}, {}, {}
  for line in io.lines(world.directory .. "/service.log") do
    local entry = core.json_decode(line)
    local signed = entry.signed
    if entry.billing == "command" and entry.vin then
      asked[entry.vin] = (asked[entry.vin] or 0) + 1
      if entry.status < 500 then billed[entry.vin] = (billed[entry.vin] or 0) + 1 end
    end
    if signed and signed.counter then
      local mark = entry.vin .. signed.domain .. signed.counter
      if used[mark] then twice[#twice + 1] = mark end
      used[mark] = true
    end
    if signed and signed.accepted and not signed.fault then
      local name = entry.vin .. " " .. (signed.accepted == "closureMoveRequest" and "actuate_trunk" or signed.accepted)
      done[name] = (done[name] or 0) + 1
    end
  end
  return done, twice, billed, asked
end

-- What the budgets counted of each vehicle, beside what the service billed. A call is counted before it is sent, so that nothing is
-- billed that was not counted, and nothing beyond the budget; what was not billed is taken back, unless who should has died.
local function check_budgets(world, figures, billed, asked)
  local client = M.client(world)
  local beyond = 0
  figures.billed, figures.at_limit = 0, 0
  for _, vin in ipairs(world.vins) do
    local last = vin:sub(-4)
    local counted = assert(client:cost { vehicle = vin }).calls.command or 0
    local most = billed[last] or 0
    assert(most <= world.options.budget, ("%s: %d calls are billed of %d, %d counted"):format(last, most, world.options.budget, counted))
    assert(counted >= most, ("%s: %d calls are billed, %d counted"):format(last, most, counted))
    beyond = beyond + math.max(counted - (asked[last] or 0), 0)
    figures.billed = figures.billed + most
    if most == world.options.budget then figures.at_limit = figures.at_limit + 1 end
    figures.counted = (figures.counted or 0) + counted
  end
  client:close()
  figures.beyond = beyond
  local options, deaths = world.options, (world.blows.kill or 0) + (world.blows.kill_proxy or 0)
  assert(beyond <= deaths * options.tasks * (options.workers + 1), beyond .. " calls are counted that never came")
end

local function tally(list)
  local least, most, kinds = {}, {}, {}
  for _, action in ipairs(list) do
    local name = action.vin .. " " .. action.what
    if action.outcome == "done" then least[name] = (least[name] or 0) + 1 end
    if action.outcome ~= "refused" and action.outcome ~= "not_sent" and action.outcome ~= "failed" then
      most[name] = (most[name] or 0) + 1
    end
    local result = action.what .. " " .. (action.outcome or "killed") .. (action.kind and action.kind ~= "-" and " " .. action.kind or "")
    kinds[result] = (kinds[result] or 0) + 1
  end
  return least, most, kinds
end

-- Raises where something was lost or happened twice.
local function check(world)
  local list = actions(world)
  local least, most, kinds = tally(list)
  local done, twice, billed, asked = arrivals(world)
  local figures = { actions = #list, kinds = kinds, blows = world.blows, commands = 0 }
  for name, count in pairs(done) do
    figures.commands = figures.commands + count
    assert(count <= (most[name] or 0), name .. " ran more often than it was asked for")
  end
  for name, count in pairs(least) do
    local command = not name:find("^%- ")
    assert(not command or (done[name] or 0) >= count, name .. " was reported as done, and was not")
  end
  assert(not twice[1], "a counter was drawn twice: " .. table.concat(twice, ", "))
  for result in pairs(kinds) do assert(not result:find("auth$") and not result:find("login_required"), "a token was lost: " .. result) end
  local client = M.client(world)
  still_signed_in(client)
  client:close()
  if world.options.redis == "persistent" then
    check_budgets(world, figures, billed, asked)
    local store = assert(fleet.store.open(world.store))
    figures.added = assert(store:add("count/torture", {})).n or 0
    store:close()
    assert(figures.added >= (least["- add"] or 0), "an addition was lost")
    assert(figures.added <= (most["- add"] or 0) + (kinds["add failed store"] or 0), "an addition was counted twice")
  end
  return figures
end

local defaults = {
  seconds = 900, seed = 1, vehicles = 200, workers = 4, proxies = 2, tasks = 6, redis = "persistent", stall = 3, away = 3, pause = 3,
  calm = 6, settle = 2, cut = 5, rest = 0.5, budget = 40, -- of each vehicle; many reach it
}

--- options: those of defaults. Returns figures; raises where a promise was broken.
function M.run(options)
  local all = {}
  for name, value in pairs(defaults) do all[name] = value end
  for name, value in pairs(options or {}) do all[name] = value end
  math.randomseed(all.seed)
  local world = build(all)
  world.killed, world.blows = {}, {}
  local signed_in = M.client(world)
  world.service:sign_in(signed_in)
  signed_in:close()
  world.stop_at = fleet.loop.clock() + all.seconds
  for slot = 1, all.proxies do start_proxy(world, slot) end
  for slot = 1, all.workers do start_worker(world, slot) end
  local ok, figures = pcall(function()
    suffer(world)
    collect(world)
    return check(world)
  end)
  for _, group in ipairs { world.workers, world.proxies } do
    for _, one in ipairs(group) do os.execute("kill -9 " .. one.pid .. " 2>/dev/null") end
  end
  world.redis.stop()
  world.service:stop()
  if ok and not os.getenv("FLEET_KEEP") then os.execute("rm -rf " .. world.directory) end
  if not ok then error(tostring(figures) .. " (seed " .. all.seed .. ", logs in " .. world.directory .. ")", 0) end
  return figures
end

local function print_figures(name, figures)
  print(("%s: %d actions, %d commands done"):format(name, figures.actions, figures.commands))
  if figures.billed then
    print(("  %d calls billed, %d counted, %d of those never came; %d vehicles used up their budget"):format(figures.billed,
      figures.counted, figures.beyond, figures.at_limit))
  end
  for _, group in ipairs { figures.blows, figures.kinds } do print(tally_text(group)) end
end

if arg and arg[0] and arg[0]:find("torture/redis%.lua$") then
  local seconds, seed = tonumber(arg[1] or 900), tonumber(arg[2] or os.time() % 100000)
  for _, kind in ipairs { "persistent", "forgetful" } do
    print_figures(kind, M.run { seconds = seconds / 2, seed = seed, redis = kind })
  end
end

return M
