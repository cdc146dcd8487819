local core = require "fleet.core"
local fleet = require "fleet"
local garbage = require "spec.support.harness.garbage"
local process = require "spec.support.harness.process"
local rude = require "spec.support.servers.hostile_server"
local seam = require "spec.support.fixtures.host_http"
local tasks = require "fleet.async"
local virtual = require "spec.support.harness.virtual"

-- Steps until the condition holds; real descriptors are waited for.
local function until_true(condition)
  local stop = core.clock() + 30
  while not condition() do
    assert(core.clock() < stop, "it never became true")
    fleet.loop.wait(fleet.loop.timeout() or 0.05)
    fleet.loop.step()
  end
end

-- Collects what f writes to standard error.
local function errors_of(f)
  local stderr, text = io.stderr, {}
  io.stderr = { write = function(_, ...) text[#text + 1] = table.concat { ... } end } -- luacheck: ignore
  local ok, failure = pcall(f)
  io.stderr = stderr -- luacheck: ignore
  assert(ok, failure)
  return table.concat(text)
end

describe("a task", function()
  -- In instructions of Lua: what it takes must not grow with those that sleep on.
  it("that is cancelled costs as much among ten thousand that sleep as among a hundred", function()
    local function cost(count)
      local sleeping = {}
      for i = 1, count do sleeping[i] = fleet.spawn(function() fleet.sleep(1000 + i) end) end
      repeat fleet.loop.step() until not fleet.loop.dirty()
      local instructions = 0
      debug.sethook(function() instructions = instructions + 1 end, "", 1)
      sleeping[count / 2]:cancel()
      fleet.loop.step()
      debug.sethook()
      assert.matches("failed", tostring(sleeping[count / 2]))
      for i = 1, count do sleeping[i]:cancel() end
      fleet.run(function() end)
      return instructions
    end
    cost(100) -- what is done once is done
    local few, many = cost(100), cost(10000)
    assert.is_true(few > 0 and many <= 2 * few, few .. " and " .. many)
  end)

  local time
  before_each(function() time = virtual.install() end)
  after_each(function() time.restore() end)

  it("begins in the next step, not in spawn", function()
    local ran = false
    local task = fleet.spawn(function() ran = true end)
    assert.is_false(ran)
    assert.equal("fleet.task (running)", tostring(task))
    fleet.loop.step()
    assert.is_true(ran)
    assert.equal("fleet.task (done)", tostring(task))
  end)

  it("passes arguments and results on, nils included", function()
    local function values(...) return select("#", ...), ... end
    assert.same({ 3, nil, 2, nil }, { fleet.spawn(values, nil, 2, nil):wait() })
    assert.equal(5, select("#", fleet.spawn(function() return nil, nil, 1, nil, nil end):wait()))
    assert.same({ 2, 1, nil }, { fleet.run(values, 1, nil) })
    assert.equal(0, select("#", fleet.run(function() end)))
  end)

  it("needs a function", function()
    assert.error_matches(function() fleet.spawn(5) end, "spawn: a function is needed, got number")
    assert.error_matches(function() fleet.run() end, "a function is needed, got nil")
  end)

  it("sleeps by the clock: who is due first wakes first, who waited first of those due together", function()
    local order = {}
    local function sleeper(name, seconds)
      fleet.spawn(function()
        fleet.sleep(seconds)
        order[#order + 1] = name
      end)
    end
    for i, seconds in ipairs { 3, 1, 2, 1, 3, 1, 2, 0, -5, 1 } do sleeper(i, seconds) end
    fleet.run(function() end)
    assert.same({ 8, 9, 2, 4, 6, 10, 3, 7, 1, 5 }, order)
    assert.equal(1003, time.now())
  end)

  it("sleeps by the clock among hundreds, in any order and with any of them cancelled", function()
    local woken, expected, tasks_of = {}, {}, {}
    for i = 1, 500 do
      local seconds = i * 7919 % 101
      tasks_of[i] = fleet.spawn(function()
        fleet.sleep(seconds)
        woken[#woken + 1] = { seconds, i }
      end)
      if i % 3 ~= 0 then expected[#expected + 1] = { seconds, i } end
    end
    repeat fleet.loop.step() until not fleet.loop.dirty()
    woken = {} -- those of no seconds
    for i = 3, 500, 3 do tasks_of[i]:cancel() end
    fleet.run(function() end)
    table.sort(expected, function(a, b) return a[1] < b[1] or a[1] == b[1] and a[2] < b[2] end)
    while expected[1][1] == 0 do table.remove(expected, 1) end
    assert.same(expected, woken)
  end)

  it("sleeps only for numbers", function()
    for _, value in ipairs { "1", {}, 0 / 0, true } do
      assert.error_matches(function() fleet.sleep(value) end, "sleep: seconds must be a number")
    end
    assert.has_error(function() fleet.sleep() end)
  end)

  it("may be waited for by many, before and after its end", function()
    local task = fleet.spawn(function()
      fleet.sleep(1)
      return "x"
    end)
    local got = {}
    for i = 1, 3 do fleet.spawn(function() got[i] = task:wait() end) end
    fleet.run(function() end)
    assert.same({ "x", "x", "x" }, got)
    assert.equal("x", task:wait())
  end)

  it("does not wait for its own end", function()
    local task
    task = fleet.spawn(function() return pcall(task.wait, task) end)
    local ok, message = task:wait()
    assert.is_false(ok)
    assert.matches("cannot wait for its own end", message)
  end)

  it("runs while another waits, and run ends when all have ended", function()
    local ended = 0
    fleet.run(function()
      for i = 1, 10 do
        fleet.spawn(function()
          fleet.sleep(i)
          ended = ended + 1
        end)
      end
    end)
    assert.equal(10, ended)
  end)

  it("may use run inside, which waits for its own part only", function()
    local inner
    fleet.run(function()
      inner = fleet.run(function()
        fleet.sleep(1)
        return "inner"
      end)
    end)
    assert.equal("inner", inner)
  end)

  it("that keeps itself runnable starves no other task", function()
    local turns, other = 0, false
    local stop = false
    fleet.spawn(function()
      while not stop do
        turns = turns + 1
        fleet.sleep(0)
      end
    end)
    fleet.spawn(function()
      for _ = 1, 3 do fleet.sleep(0) end
      other, stop = true, true
    end)
    fleet.run(function() end)
    assert.is_true(other)
    assert.is_true(turns < 10)
  end)
end)

describe("an error in a task", function()
  local time
  before_each(function() time = virtual.install() end)
  after_each(function() time.restore() end)

  it("is raised in wait, every time, as it was", function()
    local failure = { kind = "own" }
    local task = fleet.spawn(function() error(failure) end)
    for _ = 1, 2 do
      local ok, err = pcall(task.wait, task)
      assert.is_false(ok)
      assert.equal(failure, err)
    end
    assert.equal("fleet.task (failed)", tostring(task))
  end)

  it("is raised by run", function()
    assert.error_matches(function() fleet.run(function() error("oops", 0) end) end, "^oops$")
  end)

  it("ends neither the step nor the other tasks", function()
    local ran = false
    local failing = fleet.spawn(function() error("oops") end)
    fleet.spawn(function() ran = true end)
    fleet.loop.step()
    assert.is_true(ran)
    pcall(failing.wait, failing)
  end)

  it("that no task waited for is reported once, when the task is collected", function()
    local text = errors_of(function()
      fleet.spawn(function() error("lost and gone", 0) end)
      fleet.run(function() end)
      garbage.collect()
    end)
    assert.matches("^fleet: the task of the function at spec/async/tasks_spec%.lua:%d+ failed, and no task:wait%(%) took its error: "
      .. "lost and gone\nstack traceback:\n.*tasks_spec%.lua:%d+: in [^\n]*\n$", text)
    assert.equal(1, select(2, text:gsub("lost and gone", "")))
  end)

  it("that is a table is reported by its text, its message or its members", function()
    local err = require("fleet.core").err { kind = "timeout", message = "no answer" }
    for text, failure in pairs {
      ["mine"] = setmetatable({ a = 1 }, { __tostring = function() return "mine" end }), ["no answer"] = err,
      ["said so"] = { message = "said so", code = 5 }, ["{ 1 = x, code = 5 }"] = { code = 5, "x" }, ["{  }"] = {}, ["nil"] = false,
    } do
      local printed = errors_of(function()
        fleet.spawn(function() error(failure or nil, 0) end)
        fleet.run(function() end)
        garbage.collect()
      end)
      assert.truthy(printed:find("took its error: " .. text .. "\n", 1, true), printed)
    end
  end)

  it("that no task waited for is reported with the task's name", function()
    local text = errors_of(function()
      fleet.spawn(function() error("lost and gone", 0) end):name("charge the van")
      fleet.run(function() end)
      garbage.collect()
    end)
    assert.matches("^fleet: the task 'charge the van' failed, and no task:wait%(%) took its error: lost and gone\nstack traceback:\n", text)
    local task = fleet.spawn(function() end)
    assert.is_nil(task:name())
    assert.equal("fleet.task (running)", tostring(task))
    assert.equal(task, task:name("idle"))
    assert.equal("fleet.task (idle, running)", tostring(task))
    assert.equal("idle", task:name())
    assert.has_error(function() task:name(nil) end)
    assert.error_matches(function() task:name(7) end, "name: a string is needed, got number")
    task:wait()
  end)

  it("that was passed to a waiting task is not reported", function()
    local text = errors_of(function()
      local task = fleet.spawn(function() error("seen", 0) end)
      pcall(task.wait, task)
      task = nil -- luacheck: ignore
      garbage.collect()
    end)
    assert.equal("", text)
  end)
end)

describe("cancelling", function()
  local time
  before_each(function() time = virtual.install() end)
  after_each(function() time.restore() end)

  local function cancelled(task)
    local ok, err = pcall(task.wait, task)
    assert.is_false(ok)
    assert.equal("cancelled", err.kind)
  end

  it("a task that has not started keeps it from starting", function()
    local ran = false
    local task = fleet.spawn(function() ran = true end)
    task:cancel()
    fleet.loop.step()
    assert.is_false(ran)
    cancelled(task)
  end)

  it("a task that sleeps unwinds it, with its to-be-closed variables", function()
    if _VERSION < "Lua 5.4" then return pending "to-be-closed variables begin with 5.4" end
    local closed = false
    local task = fleet.spawn(function()
      local _ <close> = setmetatable({}, { __close = function() closed = true end })
      fleet.sleep(100)
    end)
    fleet.loop.step()
    task:cancel()
    task:cancel()
    fleet.loop.step()
    assert.is_true(closed)
    assert.equal(1000, time.now())
    cancelled(task)
  end)

  it("a task that waits for another leaves the other alone", function()
    local other = fleet.spawn(function()
      fleet.sleep(5)
      return "done"
    end)
    local task = fleet.spawn(function() other:wait() end)
    fleet.loop.step()
    task:cancel()
    cancelled(task)
    assert.equal("done", other:wait())
  end)

  it("a task that catches it makes it fail again at its next wait", function()
    local caught = 0
    local task = fleet.spawn(function()
      for _ = 1, 3 do
        if not pcall(fleet.sleep, 1) then caught = caught + 1 end
      end
      return "finished"
    end)
    fleet.loop.step()
    task:cancel()
    assert.equal("finished", task:wait())
    assert.equal(3, caught)
    assert.equal(1000, time.now())
  end)

  it("a task from inside itself ends it at its next wait", function()
    local task
    task = fleet.spawn(function()
      task:cancel()
      fleet.sleep(1)
    end)
    cancelled(task)
  end)

  it("a task that has ended does nothing", function()
    local task = fleet.spawn(function() return 1 end)
    task:wait()
    task:cancel()
    assert.equal(1, task:wait())
    task = fleet.spawn(function() error("x", 0) end)
    pcall(task.wait, task)
    task:close()
    assert.equal("fleet.task (failed)", tostring(task))
  end)

  it("is what a to-be-closed variable does", function()
    if _VERSION < "Lua 5.4" then return pending "to-be-closed variables begin with 5.4" end
    local kept
    do
      local task <close> = fleet.spawn(function() fleet.sleep(100) end)
      kept = task
      fleet.loop.step()
    end
    cancelled(kept)
  end)

  it("is not reported as a failure", function()
    local text = errors_of(function()
      local task = fleet.spawn(function() fleet.sleep(100) end)
      fleet.loop.step()
      task:cancel()
      fleet.loop.step()
      task = nil -- luacheck: ignore
      garbage.collect()
    end)
    assert.equal("", text)
  end)

  it("costs the same however many tasks sleep: no finaliser is hung on what is old", function()
    local task = fleet.spawn(function() fleet.sleep(100) end)
    local failing = fleet.spawn(function() error("oops", 0) end)
    local before = getmetatable(task)
    fleet.loop.step()
    task:cancel()
    fleet.loop.step()
    cancelled(task)
    pcall(failing.wait, failing)
    assert.equal(before, getmetatable(task))
    assert.equal(before, getmetatable(failing))
    assert.is_nil(before.__gc)
  end)
end)

describe("waiting for so long", function()
  it("says whether the task has ended", function()
    local time = virtual.install()
    local task = fleet.spawn(function() fleet.sleep(10) end)
    assert.is_false(tasks.ended_within(task, 9))
    assert.is_true(tasks.ended_within(task, 2))
    assert.is_true(tasks.ended_within(task, 0))
    assert.equal(1010, time.now())
    time.restore()
  end)
end)

describe("map", function()
  local time
  before_each(function() time = virtual.install() end)
  after_each(function() time.restore() end)

  it("gives results in the order of the list, whatever ends first", function()
    local results = fleet.map({ 3, 1, 2 }, function(n)
      fleet.sleep(n)
      return n * n
    end)
    local values = {}
    for i, result in ipairs(results) do values[i] = { result.item, result.ok, result.value, result.err } end
    assert.same({ { 3, true, 9 }, { 1, true, 1 }, { 2, true, 4 } }, values)
    assert.equal(1003, time.now())
  end)

  it("keeps one failure from the rest, returned or raised", function()
    local err = core.err { kind = "asleep", message = "sleeps" }
    local results = fleet.map({ 1, 2, 3, 4, 5 }, function(n)
      if n == 2 then return nil, err, "asleep" end
      if n == 3 then error("raised", 0) end
      if n == 4 then return false end
      if n == 5 then return end
      return n
    end)
    assert.same({ true, false, false, true, true }, { results[1].ok, results[2].ok, results[3].ok, results[4].ok, results[5].ok })
    assert.equal(err, results[2].err)
    assert.equal("raised", results[3].err)
    assert.is_false(results[4].value)
  end)

  for _, limit in ipairs { 1, 3, 7, 100 } do
    it("has so many in flight, no more and no fewer: " .. limit, function()
      local list, now, most = {}, 0, 0
      for i = 1, 50 do list[i] = i end
      fleet.map(list, function(n)
        now = now + 1
        most = math.max(most, now)
        fleet.sleep(1 + n % 3)
        now = now - 1
      end, { concurrency = limit })
      assert.equal(math.min(limit, 50), most)
    end)
  end

  it("reports its progress, once for each", function()
    local reported = {}
    fleet.map({ "a", "b", "c" }, function(item) return item:upper() end, {
      concurrency = 1, progress = function(done, total, result) reported[#reported + 1] = done .. "/" .. total .. result.value end,
    })
    assert.same({ "1/3A", "2/3B", "3/3C" }, reported)
  end)

  it("skips what the caller says", function()
    local asked = {}
    local results = fleet.map({ 1, 2, 3, 4 }, function(n)
      asked[#asked + 1] = n
      return n
    end, { skip = function(n) return n % 2 == 0 end })
    assert.same({ 1, 3 }, asked)
    assert.same({ item = 2, ok = false, skipped = true }, results[2])
  end)

  it("of nothing is nothing", function()
    assert.same({}, fleet.map({}, print))
  end)

  it("raises what progress or skip raise, after the others have ended", function()
    local ended = 0
    assert.error_matches(function()
      fleet.map({ 1, 2, 3 }, function()
        fleet.sleep(1)
        ended = ended + 1
      end, { concurrency = 3, progress = function(done) if done == 1 then error("full", 0) end end })
    end, "full")
    fleet.run(function() end)
    assert.equal(3, ended)
  end)

  local function limited(seconds)
    return core.err { kind = "rate_limited", message = "too many", retry_after = seconds }
  end

  it("starts nothing new after a 429 for as long as the service said, and then continues", function()
    local begun = {}
    local results = fleet.map({ 1, 2, 3, 4, 5, 6 }, function(n)
      begun[n] = time.now()
      fleet.sleep(1)
      if n == 1 then return nil, limited(30), "rate_limited" end
      return n
    end, { concurrency = 2 })
    assert.same({ 1000, 1000, 1031, 1031, 1032, 1032 }, begun)
    for i = 1, 6 do
      assert.equal(i ~= 1, results[i].ok)
      assert.equal(i, results[i].item)
    end
    assert.equal("rate_limited", results[1].err.kind)
  end)

  it("ends its list with the error where the service asks for more than the caller allows", function()
    local begun = 0
    local function ask(n)
      begun = begun + 1
      if n == 2 then return nil, limited(61), "rate_limited" end
      return n
    end
    local results = fleet.map({ 1, 2, 3, 4 }, ask, { concurrency = 1, longest_pause = 60 })
    assert.equal(2, begun)
    for i = 2, 4 do assert.same({ i, false, "rate_limited" }, { results[i].item, results[i].ok, results[i].err.kind }) end
    assert.is_true(fleet.map({ 2, 4 }, ask, { concurrency = 1, longest_pause = 61 })[2].ok)
    assert.equal(1061, time.now())
  end)

  -- A service of cars that wake after a minute; what is asked takes a second.
  local function sleepy_service(count)
    local asleep, most, now, woken = {}, 0, 0, 0
    local function answer(request)
      now = now + 1
      most = math.max(most, now)
      fleet.sleep(1)
      now = now - 1
      local vin = request.url:match("/vehicles/([^/]+)")
      if request.url:find("/wake_up", 1, true) then
        woken = woken + 1
        asleep[vin] = time.now() + 59
        return '{"response":{"state":"asleep"}}'
      end
      local ready = not asleep[vin] or (asleep[vin] ~= true and time.now() >= asleep[vin])
      return '{"response":{"state":"' .. (ready and "online" or "asleep") .. '"}}'
    end
    local client = seam.client(function(request) return seam.answer(answer(request)) end)
    local cars = {}
    for i = 1, count do
      local vin = ("5YJ3E1EA7KF%06d"):format(i)
      asleep[vin] = i % 2 == 0 or nil
      cars[i] = client:vehicle(vin)
    end
    return cars, function() return most, woken end
  end

  it("uses its width while some of its cars wake", function()
    local cars, seen = sleepy_service(200)
    local results = fleet.map(cars, function(car)
      local ok, err = car:wake { timeout = 120, force = true }
      if not ok then return nil, err end
      return car:info()
    end, { concurrency = 10 })
    for i, result in ipairs(results) do
      assert.equal("online", result.value and result.value.state)
      assert.equal(cars[i], result.item)
    end
    local most, woken = seen()
    assert.equal(200, woken)
    assert.is_true(most <= 10)
    -- 200 cars, of which each needs about nine requests of a second: ten at once would do in 180 s and 90 s of waking behind.
    assert.is_true(time.now() - 1000 < 400, time.now())
  end)

  it("over a thousand cars of which half sleep is no slower than its width allows", function()
    local cars, seen = sleepy_service(1000)
    local results = fleet.map(cars, function(car)
      local record = car:info()
      if record.state == "online" then return record end
      local ok, err = car:wake { timeout = 120 }
      if not ok then return nil, err end
      return car:info()
    end, { concurrency = 16 })
    local asked = 0
    for i, result in ipairs(results) do
      assert.equal(cars[i], result.item)
      assert.equal("online", result.value and result.value.state)
      asked = asked + 1
    end
    local most, woken = seen()
    assert.same({ 1000, 500 }, { asked, woken })
    assert.is_true(most <= 16)
    -- A minute each for 500 cars is 1,875 s where those that wake keep their places.
    assert.is_true(time.now() - 1000 < 900, time.now())
  end)

  it("gives its places back when its caller is cancelled while cars wake", function()
    local cars = sleepy_service(20)
    local task = fleet.spawn(function()
      fleet.map(cars, function(car) return car:wake { timeout = 120, force = true } end, { concurrency = 2 })
    end)
    for _ = 1, 10 do
      fleet.loop.wait(fleet.loop.timeout())
      fleet.loop.step()
    end
    task:cancel()
    pcall(task.wait, task)
    fleet.run(function() end)
    assert.equal("fleet.task (failed)", tostring(task))
  end)

  it("begins nothing new when its caller is cancelled", function()
    local begun = 0
    local task = fleet.spawn(function()
      fleet.map({ 1, 2, 3, 4, 5, 6 }, function()
        begun = begun + 1
        fleet.sleep(1)
      end, { concurrency = 2 })
    end)
    for _ = 1, 3 do fleet.loop.step() end
    task:cancel()
    pcall(task.wait, task)
    fleet.run(function() end)
    assert.equal(2, begun)
  end)

  it("checks its arguments", function()
    assert.error_matches(function() fleet.map(5, print) end, "map: a list is needed, got number")
    assert.error_matches(function() fleet.map({}, "x") end, "map: a function is needed, got string")
    assert.error_matches(function() fleet.map({}, print, { concurency = 3 }) end, "'concurency', did you mean 'concurrency'?")
    assert.error_matches(function() fleet.map({}, print, 5) end, "options must be a table")
    for _, value in ipairs { 0, -1, 0.5, "2", 0 / 0 } do
      assert.error_matches(function() fleet.map({ 1 }, print, { concurrency = value }) end, "concurrency must be 1 or more")
    end
  end)
end)

describe("requests on the wire", function()
  local server

  setup(function() server = rude.start() end)
  teardown(function() server.stop() end)

  local function client(path, options)
    local given = { token = "t0ken", base_url = server.url .. path }
    for name, value in pairs(options or {}) do given[name] = value end
    return fleet.new(given)
  end

  it("are really in flight together", function()
    -- Each answer trickles for as long as its client waits, so that all time out: one after the other would take 20 times as long.
    local list = {}
    for i = 1, 20 do list[i] = i end
    local car = client("/trickle"):vehicle(seam.vin)
    local under_way, most = 0, 0
    local results = fleet.map(list, function()
      under_way = under_way + 1
      most = math.max(most, under_way)
      local _, err = car:info { timeout = 0.5 }
      under_way = under_way - 1
      return nil, err
    end, { concurrency = 20 })
    for _, result in ipairs(results) do assert.equal("timeout", result.err.kind) end
    assert.equal(20, most)
  end)

  it("that are cancelled end as cancelled, a write in doubt, and the task goes on to its next wait", function()
    local car = client("/trickle", { timeout = 60 }):vehicle(seam.vin)
    local begun = server.count "trickle"
    for method, outcome in pairs { honk_horn = "unknown", info = false } do
      local err, after
      local task = fleet.spawn(function()
        local _
        _, err = car[method](car)
        after = true
        fleet.sleep(10)
        after = "slept"
      end)
      begun = begun + 1
      until_true(function() return server.count "trickle" == begun end)
      task:cancel()
      until_true(function() return tostring(task) ~= "fleet.task (running)" end)
      assert.equal("cancelled", err.kind)
      assert.equal(outcome or nil, err.outcome)
      assert.is_true(after)
      pcall(task.wait, task)
    end
    assert.equal(1, #fleet.drain())
  end)

  it("are returned by drain up to a thousand: a program that never drains does not grow", function()
    fleet.drain()
    for _ = 1, 1001 do
      tasks.enter()
      tasks.leave { outcome = "unknown" }
    end
    assert.equal(1000, #fleet.drain())
    assert.same({}, fleet.drain())
  end)

  it("are finished by drain, which returns unknown outcomes", function()
    local car = client("/drop"):vehicle(seam.vin)
    local done = 0
    for _ = 1, 5 do
      fleet.spawn(function()
        car:honk_horn()
        done = done + 1
      end)
    end
    fleet.loop.step()
    local unknown = fleet.drain()
    assert.equal(5, #unknown)
    for _, err in ipairs(unknown) do
      assert.equal("unknown", err.outcome)
      assert.equal("network", err.kind)
    end
    assert.same({}, fleet.drain())
    until_true(function() return done == 5 end)
  end)

  it("that no task can take leave no unknown outcome", function()
    local car = fleet.new({ token = "t0ken", base_url = server.refused_url }):vehicle(seam.vin)
    local _, err = car:honk_horn { timeout = 30 }
    assert.equal("network", err.kind)
    assert.equal("not_sent", err.outcome)
    assert.same({}, fleet.drain())
  end)
end)

describe("a task that yields by itself", function()
  it("that yields outside fleet's waits releases what it holds: drain and the client's end do not wait for it", function()
    local yields, ended = 0, false
    local store = fleet.store.memory()
    local car, _, client = seam.car(function()
      while yields < 50 do
        yields = yields + 1
        coroutine.yield()
      end
      return seam.answer(seam.done)
    end, { store = store })
    local task = fleet.spawn(function()
      local ran, failure = pcall(car.honk_horn, car)
      ended = true
      if not ran then error(failure, 0) end
    end)
    local _, err = pcall(task.wait, task)
    assert.matches("^a task yielded outside of fleet's waits", err)
    assert.same({ 50, true }, { yields, ended })
    local drained = fleet.spawn(fleet.drain)
    assert.is_true(tasks.ended_within(drained, 1))
    client:close()
    assert.equal(1, store:add("count/default/" .. os.date("!%Y-%m"), {}).command)
  end)

  it("that yields outside fleet's waits in a function that we call, and does not stop, ends all the same", function()
    local yields = 0
    local car, _, client = seam.car(function()
      while true do
        yields = yields + 1
        coroutine.yield()
      end
    end)
    local task = fleet.spawn(car.honk_horn, car)
    local _, err = pcall(task.wait, task)
    assert.matches("^a task yielded outside of fleet's waits", err)
    assert.equal(101, yields)
    client:close()
    tasks.leave() -- its call, which nobody else can end
  end)

  it("ends with an error that says how a task waits, and blocks no other task", function()
    local went_on = false
    local yielding = fleet.spawn(function()
      fleet.sleep(0)
      coroutine.yield()
      went_on = true
    end)
    local other = fleet.spawn(function()
      fleet.sleep(0)
      return "went on"
    end)
    assert.equal("went on", other:wait())
    local ok, err = pcall(yielding.wait, yielding)
    assert.is_false(ok or went_on)
    assert.matches("^a task yielded outside of fleet's waits", err)
  end)
end)

describe("a coroutine that is no task", function()
  it("waits by the hook, in any coroutine", function()
    local time = virtual.install()
    local co = coroutine.wrap(function()
      fleet.sleep(5)
      coroutine.yield("first")
      fleet.sleep(5)
      return "second"
    end)
    assert.equal("first", co())
    assert.equal(1005, time.now())
    assert.equal("second", co())
    time.restore()
  end)

  it("inside a task is a generator that may wait, while other tasks go on", function()
    local time = virtual.install()
    local beats = 0
    local beating = fleet.spawn(function()
      while true do
        fleet.sleep(1)
        beats = beats + 1
      end
    end)
    local got = {}
    local task = fleet.spawn(function()
      local generator = coroutine.wrap(function()
        for i = 1, 3 do
          fleet.sleep(2.5)
          coroutine.yield(i)
        end
      end)
      for i in generator do got[#got + 1] = i end
    end)
    task:wait()
    assert.same({ 1, 2, 3 }, got)
    assert.is_true(beats >= 6)
    beating:cancel()
    pcall(beating.wait, beating)
    time.restore()
  end)

  it("can wait for a task that is suspended by others", function()
    local time = virtual.install()
    local result
    fleet.run(function()
      local worker = fleet.spawn(function()
        fleet.sleep(1)
        return "from the worker"
      end)
      result = coroutine.wrap(function() return worker:wait() end)()
    end)
    assert.equal("from the worker", result)
    time.restore()
  end)
end)

describe("a step", function()
  it("inside a step returns at once", function()
    local depth, deepest = 0, 0
    for _ = 1, 300 do
      fleet.spawn(function()
        depth = depth + 1
        deepest = math.max(deepest, depth)
        fleet.loop.step()
        depth = depth - 1
      end)
    end
    fleet.loop.step()
    assert.equal(1, deepest)
    local ran = 0
    fleet.run(function()
      for _ = 1, 300 do
        fleet.spawn(function()
          fleet.loop.step()
          ran = ran + 1
        end)
      end
    end)
    assert.equal(300, ran)
  end)

  it("never waits", function()
    local task = fleet.spawn(function() fleet.sleep(100) end)
    local wait, waits = fleet.loop.wait, 0
    fleet.loop.wait = function() waits = waits + 1 end
    for _ = 1, 100 do fleet.loop.step() end
    fleet.loop.wait = wait
    assert.same({ 0, "fleet.task (running)" }, { waits, tostring(task) })
    task:cancel()
    pcall(task.wait, task)
  end)
end)

describe("the clock", function()
  local clock, speed = fleet.loop.clock, fleet.loop.speed
  after_each(function() fleet.loop.clock, fleet.loop.speed = clock, speed end)

  it("can be set: sleeps go by it", function()
    local now = 50
    fleet.loop.clock = function() return now, 0 end
    local woke = false
    fleet.spawn(function()
      fleet.sleep(1e6)
      woke = true
    end)
    fleet.loop.step()
    fleet.loop.step()
    assert.is_false(woke)
    now = now + 1e6
    fleet.loop.step()
    assert.is_true(woke)
  end)

  it("can run faster: real waits are shorter by so much", function()
    local began = clock()
    fleet.loop.clock = function() return began + (clock() - began) * 100000, 0 end
    fleet.loop.speed = 100000
    local task = fleet.spawn(fleet.sleep, 1000)
    fleet.loop.step()
    assert.is_true(fleet.loop.timeout() <= 1000 / 100000) -- real seconds
    task:wait()
    assert.is_true(clock() - began >= 1000 / 100000)
  end)

  it("does not move the deadlines of transports", function()
    local now = 50
    fleet.loop.clock = function()
      now = now + 1000
      return now, now
    end
    local car = seam.car(seam.done)
    assert(car:honk_horn { timeout = 5 })
  end)
end)

describe("a child process", function()
  it("that was forked inside a task counts its own tasks only", function()
    package.loaded["probe_fork"] = nil
    local fork = require "probe_fork"
    local status = fleet.run(function()
      fleet.spawn(function() fleet.sleep(0.01) end)
      return fork(coroutine.wrap(function()
        fleet.new { token = "t" }
        local ran = 0
        for _ = 1, 3 do
          fleet.run(function()
            fleet.sleep(0.001)
            ran = ran + 1
          end)
        end
        assert(ran == 3)
      end))
    end)
    assert.equal(0, status)
  end)
end)

describe("a child process that continues where its task forked", function()
  it("runs that task and new ones, with a client of its own", function()
    local server = rude.start()
    local pipe = io.popen(process.lua .. " -e " .. process.quote(([[
      local fleet, fork = require "fleet", require "probe_fork"
      local url = %q .. "/ok"
      local function ask()
        local client = fleet.new { token = "t", base_url = url, timeout = 10 }
        local _, _, kind = client:vehicle("5YJ3E1EA7KF000001"):info()
        client:close()
        return kind -- protocol: what this server says is no JSON
      end
      local rounds, ended, after = 0, false, 0
      fleet.run(function()
        local other = fleet.spawn(function()
          repeat
            fleet.sleep(0.01)
            rounds = rounds + 1
          until ended
        end)
        fleet.spawn(function() end)
        assert(ask() == "protocol")
        local before = rounds
        local status = fork()
        if not status then
          assert(ask() == "protocol")
          local task = fleet.spawn(function() fleet.sleep(0.01) return ask() end)
          assert(task:wait() == "protocol")
          fleet.sleep(0.1)
          assert(rounds == before, "a task of the parent ran in the child")
          io.write("child ")
          io.flush()
          os.exit(7)
        end
        after = status
        assert(ask() == "protocol")
        fleet.sleep(0.1)
        ended = true
        other:wait()
        assert(rounds > before)
      end)
      io.write("parent ", after)
    ]]):format(server.url)) .. " 2>&1")
    local text = pipe:read("a")
    pipe:close()
    server.stop()
    assert.equal("child parent 7", text)
  end)
end)

describe("a child process of a host that owns the loop", function()
  require("spec.support.harness.needs")("Lua's socket", it, pending)("finds its loop under the descriptor that the host watches", function()
    local server = rude.start()
    local pipe = io.popen(process.lua .. " -e " .. process.quote(([[
      local fleet, fork, socket = require "fleet", require "probe_fork", require "socket"
      local url, number, ended = %q .. "/ok", fleet.loop.fd(), false
      local function ask()
        local client = fleet.new { token = "t", base_url = url, timeout = 10 }
        local _, _, kind = client:vehicle("5YJ3E1EA7KF000001"):info()
        client:close()
        return kind -- protocol: what this server says is no JSON
      end
      fleet.spawn(function()
        assert(ask() == "protocol")
        local status = fork()
        if not status then
          local first, second = ask(), ask()
          io.write("child ", first, " ", second, " ", tostring(fleet.loop.fd() == number), " ")
          io.flush()
          os.exit(7)
        end
        io.write("parent ", status, " ", ask())
        ended = true
      end)
      for _ = 1, 600 do -- a minute, where nothing happens
        if ended then break end
        if #socket.select({ { getfd = function() return number end } }, nil, 0.1) > 0 then fleet.loop.step() end
      end
      os.exit(ended and 0 or 9)
    ]]):format(server.url)) .. " 2>&1")
    local text = pipe:read("a")
    pipe:close()
    server.stop()
    assert.equal("child protocol protocol true parent 7 protocol", text)
  end)
end)

describe("what a program prints when it ends with a failed task", function()
  it("is its error, once", function()
    local pipe = io.popen(process.lua .. " -e " .. process.quote([[
      local fleet = require "fleet"
      fleet.spawn(function() error("at the end", 0) end)
      fleet.loop.step()
    ]]) .. " 2>&1")
    local text = pipe:read("a")
    assert.is_true(pipe:close())
    assert.matches("^fleet: the task of the function at %(command line%):2 failed, .*: at the end\nstack traceback:\n", text)
    assert.equal(1, select(2, text:gsub("at the end", "")))
  end)
end)

describe("a wait inside a function that C calls", function()
  it("queues its task once, also where Lua cannot yield there", function()
    local promises = { tasks.promise(), tasks.promise(), tasks.promise() }
    local one = fleet.spawn(function()
      pcall(string.gsub, "x", "x", function() tasks.await(promises[1]) end)
      tasks.await(promises[3])
    end)
    local other = fleet.spawn(function() tasks.await(promises[2]) end)
    fleet.spawn(function()
      for _, promise in ipairs(promises) do tasks.wake(promise) end
    end)
    for _ = 1, 5 do fleet.loop.step() end
    assert.same({ "done", "done" }, { one.state, other.state })
  end)
end)
