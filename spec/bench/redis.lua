-- The budget `redis-trips`: how often a warm signed command waits for a Redis store. Besides, as remarks, what doc/scale.md
-- reckons with: CPU beside the file store, what the server spends, bytes per account and per session, 10,000 accounts.
--   lua5.4 spec/bench/redis.lua

local async = require "fleet.async"
local core = require "fleet.core"
local fleet = require "fleet"
local redis = require "spec.support.servers.redis"
local rounds = require "spec.bench.signed_rounds"
local seal = require "fleet.store.sealed"

local missing = redis.missing()
if missing then
  print("redis-trips - 2 absent")
  print(missing)
  return
end

local function say(...)
  print(string.format(...))
end

local function info(server, section, name)
  return tonumber(server.cli("info " .. section):match(name .. ":([%d.]+)"))
end

local function server_cpu(server)
  return info(server, "cpu", "used_cpu_user") + info(server, "cpu", "used_cpu_sys")
end

local await_for = async.await_for

-- Counts how often a command waits for an answer, how often somebody else does (a client adds its counts once a second), and
-- what nobody waits for.
local function counted(store)
  local link, calls = store.acts.link, { waited = 0, beside = 0, posted = 0 }
  local post = link.post
  function async.await_for(promise, ...)
    local name = rounds.tasks[async.current()] and "waited" or "beside"
    for i = link.first, link.last do
      if link.queue[i].promise == promise then calls[name] = calls[name] + 1 end
    end
    return await_for(promise, ...)
  end
  function link.post(...)
    calls.posted = calls.posted + 1
    return post(...)
  end
  return calls
end

-- ---- one command ----

local function signed_commands(name, settings, options)
  local server = redis.start { settings = settings }
  local address, stop = rounds.start()
  local store = assert(fleet.store.redis { address = server.address, settle = 0 })
  local calls, rounds_run, first, cpu_before = counted(store), 0, nil, nil
  local turn, cpu = rounds.measure(address, store, function()
    rounds_run = rounds_run + 1
    if rounds_run > 1 then return end
    first, cpu_before = { waited = calls.waited, beside = calls.beside, posted = calls.posted }, server_cpu(server)
  end, options)
  local commands = (rounds_run - 1) * rounds.vehicles
  local waited, posted = (calls.waited - first.waited) / commands, (calls.posted - first.posted) / commands
  say("%s: %.3f waits and %.1f posts per warm signed command, %d waits beside them, longest turn %.1f ms, %.0f us of CPU, %.0f us of "
    .. "the server's", name, waited, posted, calls.beside - first.beside, turn * 1e3, cpu / rounds.vehicles * 1e6,
    (server_cpu(server) - cpu_before) / commands * 1e6)
  store:close()
  stop()
  server.stop()
  return waited
end

local function file_store()
  local address, stop = rounds.start()
  local directory = os.tmpname()
  os.remove(directory)
  local turn, cpu = rounds.measure(address, assert(fleet.store.file(directory)))
  say("file store: longest turn %.1f ms, %.0f us of CPU", turn * 1e3, cpu / rounds.vehicles * 1e6)
  stop()
  os.execute("rm -r " .. directory)
end

-- ---- 10,000 accounts ----

local function timed(name, count, server, work)
  local before, cpu, own = core.clock(), server_cpu(server), os.clock()
  fleet.run(function()
    local at = 0
    for _ = 1, 50 do
      fleet.spawn(function()
        while at < count do
          at = at + 1
          work(at)
        end
      end)
    end
  end)
  local seconds = core.clock() - before
  say("%s: %.0f per second from one process, %.0f us of its CPU, %.0f us of the server's", name, count / seconds,
    (os.clock() - own) / count * 1e6, (server_cpu(server) - cpu) / count * 1e6)
end

local function usage(server, key)
  return tonumber(server.cli("memory usage fleet/" .. key .. " samples 0"):match("%d+"))
end

local function accounts(settings, name)
  local server = redis.start { settings = settings }
  local store = assert(fleet.store.redis { address = server.address, settle = 0 })
  local plain = assert(fleet.store.redis { address = server.address, settle = 0 })
  local sealed = seal(plain, assert(core.store_key(("5a"):rep(32))))
  local pair, session = ("t"):rep(1400), ("s"):rep(300)
  local function vin(i)
    return ("5YJ3FLEE9RF%06d"):format(i)
  end
  local empty, previous = info(server, "memory", "used_memory"), 0
  for _, count in ipairs { 1000, 10000 } do
    timed(name .. ", token written, durable, " .. count .. " accounts", count - previous, server, function(i)
      assert(sealed:put("token/account-" .. previous + i .. "/user", pair, { durable = true }))
      store:put("region/account-" .. previous + i, "https://fleet-api.prd.eu.example.com")
    end)
    previous = count
    say("  %.0f bytes of memory per account", (info(server, "memory", "used_memory") - empty) / count)
  end
  timed(name .. ", token read", 10000, server, function(i) assert(sealed:get("token/account-" .. i .. "/user")) end)
  timed(name .. ", what a warm signed command asks", 10000, server, function(i)
    local key = "session/0123456789abcdef0123456789abcdef/" .. vin(i) .. "/infotainment"
    local lease = assert(store:lease(key, 60))
    store:get(key)
    assert(store:put(key, session, { lease = lease }))
    assert(store:put(key, session, { lease = lease, behind = true }))
    lease:release()
  end)
  timed(name .. ", additions", 10000, server, function(i)
    assert(store:add("count/account-" .. i .. "/2026-11", { data = 1, command = 1 }))
  end)
  local counts, month = info(server, "memory", "used_memory"), { command = 300 }
  for day = 1, 30 do month[("command/%02d"):format(day)] = 10 end
  timed(name .. ", a month's counts", 1000, server, function(i)
    local key = "count/own-" .. i .. "/2026-11"
    assert(store:add(key, month, { ttl = 400 * 86400 }))
    assert(store:add(key .. "/" .. vin(i), month, { ttl = 400 * 86400 }))
    assert(store:add(key .. "/vehicles/1", { [vin(i)] = 1 }, { ttl = 400 * 86400 }))
  end)
  say("  %.0f bytes of memory per vehicle in an account of its own", (info(server, "memory", "used_memory") - counts) / 1000)
  say("  MEMORY USAGE: token %d, region %d, session %d, counts %d bytes", usage(server, "token/account-1/user"),
    usage(server, "region/account-1"), usage(server, "session/0123456789abcdef0123456789abcdef/" .. vin(1) .. "/infotainment"),
    usage(server, "count/account-1/2026-11"))
  sealed:close()
  store:close()
  server.stop()
end

local nothing = { "save \"\"" }
local every = { "appendonly yes", "appendfsync always" }

file_store()
local trips = signed_commands("redis, keeps nothing", nothing)
local limited = signed_commands("the same with budgets of account and vehicle and rate limits", nothing, {
  budgets = { usd_per_month = 1e6, per_vehicle_day = { command = 1e6 } }, pacing = { command = 1e6 },
})
signed_commands("redis, syncs each write", every)
accounts(nothing, "keeps nothing")
accounts(every, "syncs each write")
trips = math.max(trips, limited)
say("redis-trips %.3f 2 %s", trips, trips <= 2 and "ok" or "over")
