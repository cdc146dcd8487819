-- Running out of memory in the paths that read and write: allocation 0, 1, 2, … fails until the work succeeds. Nothing
-- crashes, nothing is lost, and what comes out is either the result or an error that says so.

local bytecode = require "spec.support.harness.bytecode"
local probe = require "probe_allocation"
local process = require "spec.support.harness.process"

local work = {
  ["reading JSON"] = [[
    local core = require "fleet.core"
    local text = '{"a":[1,2.5,null,"\\u20ac",12345678901234567],"id":7,"b":{"c":true,"d":null}}'
    arm(true)
    local value, err, kind = core.json_decode(text, "id")
    arm(false)
    if value then assert(value.id == "7" and value.a[5] == "12345678901234567" and value.b.d == nil) else
      assert(kind == "service")
      error(err.message, 0)
    end ]],
  ["the result of a reply"] = [[
    local core = require "fleet.core"
    local car = core.handle("vehicle", core.client { config = {} }, "5YJ3E1EA7KF000001")
    local set, list = core.plan(core.row "set_charge_limit", car, { percent = 80 }, {}), core.plan(core.row "recent_alerts", car, {})
    local function reply(status, body) return core.reply { status = status, body = body } end
    local refused = reply(200, '{"response":{"result":false,"reason":"' .. ("r"):rep(300) .. '"}}')
    local failed = reply(500, '{"response":null,"error":"an \\"error\\"","error_description":"why"}')
    local good = reply(200, '{"response":{"recent_alerts":[{"name":"a","audience":[]},{"name":"b","n":12345678901234567}]}}')
    arm(true)
    local value, err = core.result(set, refused, 0)
    local nothing, failure = core.result(set, failed, 0)
    local alerts, why = core.result(list, good, 0)
    arm(false)
    assert(not value and not nothing)
    for _, one in ipairs { err, failure } do
      if one.message:find "out of memory" then
        assert(one.kind == "protocol" and one.outcome == "unknown")
        error(one.message, 0)
      end
    end
    if not alerts then error(why.message, 0) end
    assert(err.outcome == "refused" and failure.kind == "service" and alerts.recent_alerts[2].n == "12345678901234567") ]],
  ["writing JSON"] = [[
    local core = require "fleet.core"
    local value = { list = { 1, 2, { x = {} } }, text = ("x"):rep(300), z = { a = 1, b = 2, c = 3 } }
    arm(true)
    local text = core.json_encode(value, "x")
    arm(false)
    assert(#text > 300) ]],
  ["writing down a call"] = [[
    local core = require "fleet.core"
    local account = { config = {} }
    local car = core.handle("vehicle", core.client(account), "5YJ3E1EA7KF000001")
    local row, trunk = core.row "add_charge_schedule", core.row "vehicle_data"
    local params = { id = "12", days_of_week = { "mon", "tue" }, enabled = true, start_enabled = true, start_time = 120,
      end_enabled = false, lat = 52.5, lon = 13.4, name = ("n"):rep(200) }
    arm(true)
    local request = core.plan(row, car, params, { timeout = 5 })
    local other = core.plan(trunk, car, { endpoints = { "charge_state", "climate_state" } })
    arm(false)
    assert(#request:table("https://x", nil).body > 200 and other) ]],
  ["refusing a call"] = [[
    local core = require "fleet.core"
    local car = core.handle("vehicle", core.client { config = {} }, "5YJ3E1EA7KF000001")
    local row = core.row "remote_seat_heater_request"
    arm(true)
    local ok, message = pcall(core.plan, row, car, { seat_position = "front_lfet", level = 1 })
    arm(false)
    assert(not ok)
    if not message:find "did you mean" then error(message, 0) end ]],
  ["waiting in tasks"] = [[
    local fleet = require "fleet"
    fleet.run(function() fleet.sleep(0) end)
    local tasks = { false, false, false, false }
    local slept = true
    local function work()
      for _ = 1, 3 do slept = pcall(fleet.sleep, 0.0005) and slept end
    end
    arm(true)
    local ok, failure = pcall(fleet.run, function()
      for i = 1, 4 do
        local spawned, task = pcall(fleet.spawn, work)
        tasks[i] = spawned and task
      end
    end)
    arm(false)
    fleet.run(function() fleet.sleep(0.001) end)
    for i = 1, 4 do
      assert(not tasks[i] or not tostring(tasks[i]):find("running"), "a task never ended")
      if tasks[i] then pcall(tasks[i].wait, tasks[i]) else ok, failure = false, "no memory for a task" end
    end
    if not ok then error(failure, 0) end
    assert(slept, "no memory to sleep") ]],
  ["reading spot prices, and a week without its zeros"] = [[
    local tariff, spot = require "fleet.tariff", {}
    for i = 1, 36 do spot[i] = { start = 1780264800 + i * 3600, price = i % 3 / 10, sell = 0.01 } end
    local week = assert(tariff.from_rows { currency = "EUR", name = "x", utility = "y",
      rows = { { days = "mon", price = 0.1 }, { days = "tue-sun", price = 0.3 } } })
    local content = require("fleet.core").json_decode((string.gsub(week:encode(), '"[a-zA-Z]+":0,', "")))
    arm(true)
    local made, why = tariff.from_rows { currency = "EUR", name = "x", time_zone = "Europe/Berlin", spot = spot, from = spot[5].start }
    local read, why_not = tariff.new(content, { stored = true })
    arm(false)
    assert(made, tostring(why)); assert(read, tostring(why_not)) ]],
  ["explaining and comparing tariffs"] = [[
    local tariff, content = require "fleet.tariff", require("spec.support.fixtures.tariff_samples").two_seasons()
    local other = require("spec.support.fixtures.tariff_samples").two_seasons()
    other.name = "another"
    local a, b, broken = assert(tariff.new(content)), assert(tariff.new(other)), tariff.check { name = "x", seasons = { A = {} } }
    arm(true)
    local differences = a:diff(b)
    local text = tariff.explain(broken)
    arm(false)
    assert(#differences == 1 and differences[1].path == "name" and #text > 50) ]],
  ["counters of a store"] = [[
    local core = require "fleet.core"
    arm(true)
    local text = core.counters_add("", "calls 5\n")
    arm(false)
    assert(core.counters_add(text, "") == text) ]],
  ["writes that are held back"] = [[
    local store = require("fleet.store").file("DIRECTORY", { clock = function() return 5, 5 end })
    local function put(value, options) return pcall(store.put, store, "k", value, options) end
    assert(store:put("k", "first", { durable = true }) and store:put("k", "second", { behind = true }))
    arm(true)
    local ran, generation, kind = put("third", { behind = true })
    arm(false)
    local value = store:get "k"
    assert(value == "third" or value == "second", "what was held back is lost: " .. tostring(value))
    assert(store:flush() and store:get "k" == value, "what was held back was not written")
    store:close()
    if not ran or not generation then error("no memory: " .. tostring(generation or kind), 0) end ]],
  ["waiting for a turn at the proxy"] = [[
    local fleet, queue = require "fleet", require("fleet.proxy.queue").new()
    local function enter(caller) return pcall(queue.enter, queue, "A", caller, 10, caller) end
    local ran, failure, served = true, nil, 0
    local function wait(caller)
      local entered, came = enter(caller)
      if not entered then ran, failure = false, came return end
      assert(came, "the turn never came")
      served = served + 1
      queue:leave "A"
    end
    fleet.run(function()
      assert(enter "first")
      local other = fleet.spawn(wait, "other")
      fleet.sleep(0)
      arm(true)
      local spawned, task = pcall(fleet.spawn, function() wait "last" end)
      local slept = pcall(fleet.sleep, 0)
      arm(false)
      ran = ran and spawned and slept
      queue:leave "A"
      other:wait()
      if spawned then ran = pcall(task.wait, task) and ran end
      served = served - 1
      wait "again"
    end)
    assert(next(queue.places) == nil and queue.waiting == 0, "a place was kept")
    assert(served == (ran and 2 or served), "a turn was lost")
    if not ran then error("no memory: " .. tostring(failure), 0) end ]],
  ["receiving what a vehicle streams"] = [[
    local fleet, VIN = require "fleet", "5YJ30123456789ABC"
    local queue, seen, answered = {}, 0, 0
    local raw = { close = function() end, stats = function() return {} end, take = function()
      local one = table.remove(queue, 1)
      if one then return one.what, one.record, one.handle end
    end }
    local receiver = require("fleet.telemetry").over(raw, { vehicles = { VIN }, on_notice = function() end,
      on_record = function() seen = seen + 1 end })
    local function add(what)
      local record = { vin = VIN, id = VIN, kind = "vehicle_device", connection = 1, arrived = 1000, at = 1000, topic = "V", signals = 1,
        values = { Soc = seen + 1 }, texts = {}, invalid = {}, txid = "t", raw = "" }
      local done = false -- only the first answer counts
      local function answer()
        if not done then answered = answered + 1 end
        done = true
      end
      queue[#queue + 1] = { what = what, record = record, handle = { admit = function() return true end, acknowledge = answer,
        leave = answer } }
    end
    local function work()
      local ran, failure = pcall(receiver.arrived, receiver)
      for _ = 1, 5 do
        local stepped, why = pcall(fleet.loop.step)
        ran, failure = ran and stepped, failure or why
      end
      return ran, failure
    end
    add "connected"
    work()
    add "message"
    add "message"
    arm(true)
    local ran, failure = work()
    arm(false)
    work()
    local before = seen
    add "message"
    work()
    assert(seen > before, "records are no longer delivered: " .. before .. " " .. seen .. " " .. tostring(failure))
    assert(answered == 3, "a message has no answer: " .. answered)
    if not ran or before < 2 then error("no memory: " .. tostring(failure), 0) end ]],
  ["the region of an account"] = [[
    local core = require "fleet.core"
    arm(true)
    local hint = core.region_hint("tesla", { aud = { "https://fleet-api.prd.na.vn.cloud.tesla.com" } }, nil)
    arm(false)
    assert(hint == "na") ]],
  ["what a caller who needs a token gets"] = [[
    local need = require("fleet.core").token_need
    local config, slot = { account = "anna", client_id = "c" }, { kind = "user" }
    arm(true)
    local _, no_refresh = need.refreshable(config, slot, false)
    local _, sign_in = need.plan(config, slot, false, 1, 1)
    arm(false)
    assert(no_refresh.kind == "auth" and sign_in.kind == "auth", "not said") ]],
  ["secrets of a call"] = [[
    local core = require "fleet.core"
    local car = core.handle("vehicle", core.client { config = {} }, "5YJ3E1EA7KF000001")
    local row = core.row "set_valet_mode"
    local request = core.plan(row, car, { on = true, password = "1234" })
    arm(true)
    local list = require("fleet.call.failure").secrets { request = request, row = { secrets = { password = true } }, token = "a-token",
      context = { config = { client_secret = "secret" } } }
    arm(false)
    assert(#list == 3, "a secret is missing") ]],
  ["reading a reply"] = [[
    local core = require "fleet.core"
    local car = core.handle("vehicle", core.client { config = {} }, "5YJ3E1EA7KF000001")
    local request = core.plan(core.row "honk_horn", car)
    arm(true)
    local reply = core.reply { status = 403, headers = { ["Retry-After"] = "5" }, body = '{"error":"missing scopes"}' }
    local value, err, kind = core.result(request, reply, 0)
    arm(false)
    assert(value == nil and kind == "scope", kind) ]],
  ["reading rows into a tariff"] = [[
    local tariff, rows = require "fleet.tariff", {}
    for hour = 0, 23 do
      rows[hour + 1] = { from = ("%d:00"):format(hour), to = ("%d:00"):format(hour + 1), price = hour / 100, sell = 0.01 }
    end
    arm(true)
    local ok, failure = pcall(tariff.from_rows, { currency = "EUR", rows = rows, labels = 5 })
    arm(false)
    if not ok then error(failure, 0) end ]],
  ["the cheapest hours"] = [[
    local prices = {}
    for i = 1, 24 do prices[i] = i / 100 end
    local t = require("fleet.tariff").from_rows { currency = "EUR", prices = prices, time_zone = "Europe/Berlin" }
    arm(true)
    local found = t:cheapest { hours = 3, from = 1e9, to = 1e9 + 86400 }
    local stretch = t:cheapest { hours = 3, from = 1e9, to = 1e9 + 86400, contiguous = true }
    local parts = t:segments(1e9, 1e9 + 86400)
    arm(false)
    assert(found.hours == 3 and stretch.hours == 3 and #parts == 25, "hours are missing") ]],
  ["entering a vehicle's slot"] = [[
    local core, pool = require "fleet.core", require "fleet.signing.session_pool"
    local context = { sessions = {}, keys = { core.key.generate() }, config = {}, clock = function() return 5, 5 end }
    local function visit()
      local slot, ticket = pool.enter(context, "5YJ30123456789ABC", "infotainment", 10, 5)
      if slot then pool.leave(context, slot, ticket, 5, 5) end
      return slot, ticket and ticket.message
    end
    local shallow = coroutine.create(visit) -- its stack has to grow inside
    arm(true)
    local ran, slot, message = coroutine.resume(shallow)
    arm(false)
    local free, kept = coroutine.resume(coroutine.create(visit))
    assert(free and kept, "the vehicle was kept locked: " .. tostring(kept))
    if not (ran and slot) then error("no memory: " .. tostring(message or slot), 0) end ]],
  ["a signed command"] = [[
    local fleet, core = require "fleet", require "fleet.core"
    local VIN, carried = "5YJ30123456789ABC", 0
    local key, vehicle = core.key.generate(), core.key.generate()
    local receiver = core.receiver { key = vehicle, vin = VIN, domain = "infotainment", keys = { key:public_bytes() } }
    local store = fleet.store.memory()
    local car = fleet.new({ token = "t", key = key, store = store, base_url = "https://service.example", timeout = 10,
      http = function(request)
        local bytes, payload = receiver:handle((core.unbase64(request.body:match '"routable_message":"([^"]+)"')))
        if payload then carried = carried + 1 end
        return { status = 200, headers = {}, body = '{"response":"' .. core.base64(bytes) .. '"}' }
      end }):vehicle(VIN)
    assert(car:honk_horn())
    carried = 0
    local ran, done, err
    arm(true)
    pcall(fleet.run, function() ran, done, err = pcall(car.honk_horn, car) end)
    arm(false)
    fleet.drain()
    assert(carried <= 1, "carried out twice")
    assert(not (ran and done) or carried == 1, "done and not carried out")
    assert(not err or err.outcome ~= "not_sent" or carried == 0, "carried out, and said not to be sent")
    local wait, waits = fleet.loop.wait, 0
    fleet.loop.wait = function(seconds)
      waits = waits + (seconds or 0)
      return wait(seconds)
    end
    local again, why = car:honk_horn()
    fleet.loop.wait = wait
    assert(again, again or "the next command failed: " .. tostring(why) .. "; the first: " .. tostring(ran) .. " " .. tostring(done)
      .. " " .. tostring(err) .. " " .. tostring(carried))
    assert(waits < 1.5, "the vehicle was kept locked")
    local lease = assert(store:lease("session/" .. key:fingerprint() .. "/" .. VIN .. "/infotainment", 5), "the lease is lost")
    lease:release()
    if not (ran and done) then error("no memory: " .. tostring(err or done), 0) end ]],
}

-- One allocation fails and nothing after it: what goes on must still work. Lua collects its garbage and tries once more.
local once = { ["waiting in tasks"] = 2 }

describe("without memory", function()
  local path, forget, directory
  setup(function()
    path, forget = bytecode.path()
    directory = process.temporary "allocation"
  end)
  teardown(function()
    forget()
    process.execute("rm -rf " .. process.quote(directory))
  end)

  for name, code in pairs(work) do
    it(name .. " fails cleanly until there is enough", function()
      local failures, result, program = 0, nil, string.gsub(code, "DIRECTORY", directory)
      for limit = 0, 5000 do
        local bytes
        result, bytes = probe(path, package.cpath, program, limit, once[name])
        assert.equal(0, bytes)
        if result == "done" then break end
        failures = failures + 1
        assert.is_nil(string.find(result, "^%[string"), limit .. ": " .. result) -- the place of an assert: something did not hold
        assert.is_truthy(result == "no memory" or result:find("memory") or result == "protocol", result)
      end
      assert.equal("done", result)
      assert.is_true(failures > 3)
    end)
  end
end)
