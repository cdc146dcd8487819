-- One descriptor for a host's own loop: what fleet.loop promises, and three hosts that rely on it.

local core = require "fleet.core"
local cqueues = require "cqueues"
local fleet = require "fleet"
local rude = require "spec.support.servers.hostile_server"
local seam = require "spec.support.fixtures.host_http"
local socket = require "cqueues.socket"

local loop = fleet.loop

local function pair()
  local a, b = socket.pair()
  a:setmode("bn", "bn")
  b:setmode("bn", "bn")
  return a, b
end

-- True when the object is ready within the time. A signal (SIGCONT) may end a step of the queue before either is so.
local function poll(object, seconds)
  local queue, answer = cqueues.new(), nil
  queue:wrap(function() answer = type(cqueues.poll(object, seconds)) == "table" end)
  while answer == nil do assert(queue:step()) end
  return answer
end

local function ready(seconds) return poll({ pollfd = loop.fd(), events = "r" }, seconds) end

-- Waits for the descriptor alone, as a host does, and steps.
local function turn_until(condition)
  local stop = core.clock() + 30
  while not condition() do
    assert(core.clock() < stop, "it never became true")
    poll({ pollfd = loop.pollfd(), events = loop.events() }, 1)
    loop.step()
  end
end

describe("the descriptor", function()
  local server
  setup(function() server = rude.start() end)
  teardown(function() server.stop() end)

  it("is one integer that stays the same, by three names", function()
    local fd = loop.fd()
    assert.equal("integer", math.type(fd))
    local client = fleet.new { token = "t0ken", base_url = server.url .. "/ok" }
    for _ = 1, 3 do client:vehicle(seam.vin):info() end
    assert.equal(fd, loop:fd())
    assert.equal(fd, loop.pollfd())
    assert.equal(fd, loop:getfd())
    assert.equal("r", loop.events())
    assert.equal("r", loop:events())
  end)

  it("is closed in programs that this one starts", function()
    local pipe = io.popen("readlink /proc/self/fd/" .. loop.fd() .. "; true")
    local target = pipe:read("a")
    pipe:close()
    assert.is_nil(target:find("eventpoll"))
  end)

  it("alone is enough: a host that ignores the timeout sees sleeps and replies", function()
    local woke, err
    fleet.spawn(function()
      fleet.sleep(0.05)
      woke = true
    end)
    local car = fleet.new({ token = "t0ken", base_url = server.url .. "/trickle" }):vehicle(seam.vin)
    fleet.spawn(function() err = select(2, car:info { timeout = 0.1 }) end)
    local fd = loop.fd()
    loop.step()
    local stop = core.clock() + 30
    while not (woke and err) do
      assert(core.clock() < stop, "the descriptor never became ready")
      poll({ pollfd = fd, events = "r" }, 5)
      loop.step()
    end
    assert.equal("timeout", err.kind)
  end)

  it("is enough for more replies than one step takes", function()
    local fd, done = loop.fd(), 0
    local own = fleet.new({ token = "t0ken", base_url = server.url .. "/ok" }):vehicle(seam.vin)
    for _ = 1, 60 do
      fleet.spawn(function()
        own:info { timeout = 5 }
        done = done + 1
      end)
    end
    local stop = core.clock() + 30
    loop.step()
    while done < 60 do
      assert(core.clock() < stop, "replies were left lying")
      poll({ pollfd = fd, events = "r" }, 5)
      loop.step()
    end
  end)

  it("is ready again after a few of many tasks: what begins at once does not hold up the host", function()
    turn_until(function() return loop.timeout() == nil or loop.timeout() > 0 end)
    local begun, order = 0, {}
    for i = 1, 100 do
      fleet.spawn(function() begun, order[#order + 1] = begun + 1, i end)
    end
    local steps, most = 0, 0
    while begun < 100 do
      assert.is_true(ready(5))
      local before = begun
      loop.step()
      steps, most = steps + 1, math.max(most, begun - before)
      assert.is_true(steps < 100, "no task began")
    end
    assert.is_true(most > 1 and most <= 20, most .. " began in one step")
    for i = 1, 100 do assert.equal(i, order[i]) end
    assert.is_false(loop.dirty())
  end)

  -- Seconds are a limit, except when they are what loop.timeout has just returned.
  it("is waited for no longer than asked, whatever timeout returned before an earlier step", function()
    local engine = core.loop()
    local promise = { token = false, transfer = false, done = false }
    assert(engine:submit_raw(promise, { method = "GET", url = server.url .. "/silent" }, core.settings {}, 5))
    assert.equal(0, engine:timeout()) -- a new request begins with a timer
    assert.is_nil((engine:step()))
    for _ = 1, 5 do engine:wait(0) end
    assert.is_nil((engine:step())) -- else its time is over
    engine:cancel(promise)
    assert.equal(promise, (engine:step()))
    engine:close()
  end)

  it("is ready as long as something waits to be done, and quiet when nothing does", function()
    turn_until(function()
      loop.step()
      return loop.timeout() == nil or loop.timeout() > 0
    end)
    local a, b = pair()
    local got = 0
    local watch = loop.watch(b:pollfd(), "r", function() got = got + 1 end)
    assert.is_false(ready(0))
    a:write("x")
    a:flush()
    assert.is_true(ready(5))
    loop.step()
    assert.equal(1, got)
    loop.step()
    assert.equal(2, got) -- nobody has read it
    watch:close()
    loop.step()
    assert.equal(2, got)
    a:close()
    b:close()
  end)
end)

describe("the descriptor, once a host waits on it,", function()
  local server
  setup(function() server = rude.start() end)
  teardown(function() server.stop() end)

  -- The host asked for the descriptor once, long ago: asking again would arm it.
  local host
  before_each(function() host = { pollfd = loop.fd(), events = "r" } end)

  local function is_readable(seconds)
    return poll(host, seconds)
  end

  -- Steps until nothing is left to do.
  local function settle()
    while is_readable(0) do loop.step() end
  end

  local function step_until(condition)
    local stop = core.clock() + 30
    while not condition() do
      assert(core.clock() < stop and is_readable(30), "the descriptor never became readable")
      loop.step()
    end
  end

  it("becomes ready for a task that is spawned later", function()
    settle()
    local ran = false
    fleet.spawn(function() ran = true end)
    assert.is_true(is_readable(1))
    loop.step()
    assert.is_true(ran)
  end)

  it("becomes ready for a task that is cancelled", function()
    local task = fleet.spawn(function() fleet.sleep(1000) end)
    loop.step()
    settle()
    task:cancel()
    assert.is_true(is_readable(1))
    loop.step()
    assert.equal("fleet.task (failed)", tostring(task))
  end)

  it("becomes ready for a request that is cancelled", function()
    local client = fleet.new { token = "t0ken", base_url = server.url .. "/silent" }
    local kind
    local task = fleet.spawn(function() kind = select(3, client:vehicle(seam.vin):info()) end)
    for _ = 1, 5 do
      loop.step()
      is_readable(0.02)
    end
    settle()
    task:cancel()
    assert.is_true(is_readable(1))
    step_until(function() return kind end)
    assert.equal("cancelled", kind)
    client:close()
  end)

  it("becomes ready for a task that other code ended", function()
    local woken
    local first = fleet.spawn(function() fleet.sleep(1000) end)
    fleet.spawn(function()
      pcall(first.wait, first)
      woken = true
    end)
    loop.step()
    settle()
    first:cancel()
    step_until(function() return woken end)
  end)

  it("becomes ready for a descriptor that is watched later", function()
    local a, b = pair()
    settle()
    local seen
    b:write("x")
    b:flush()
    local watch = loop:watch(a:pollfd(), "r", function() seen = true end)
    step_until(function() return seen end)
    watch:close()
    a:close()
    b:close()
  end)

  it("is not ready when nothing was started", function()
    settle()
    assert.is_false(is_readable(0.05))
  end)

  it("wakes the owner of a result that another coroutine's step has read", function()
    local wait = loop.wait
    local waiting, results = {}, {}
    function loop.wait() coroutine.yield("waits") end -- a host that never looks at seconds
    for i = 1, 2 do
      local call = coroutine.wrap(function()
        fleet.sleep(0.05) -- both are due in one turn
        results[i] = true
      end)
      waiting[i] = call() == "waits" and call or nil
    end
    -- The host resumes one of those that wait for the descriptor, the last first.
    local stop = core.clock() + 30
    while waiting[1] or waiting[2] do
      assert(core.clock() < stop, "the descriptor was not readable after a finished call")
      if is_readable(5) then
        local i = waiting[2] and not results[2] and 2 or 1
        if waiting[i]() ~= "waits" then waiting[i] = nil end
      end
    end
    loop.wait = wait
    assert.same({ true, true }, results)
  end)

  it("calms down when the owner of a result never takes it", function()
    local wait = loop.wait
    function loop.wait() coroutine.yield("waits") end
    local promise = require("fleet.async").promise()
    local abandoned = coroutine.wrap(function() require("fleet.async").await(promise) end)
    abandoned()
    loop.wait = wait
    require("fleet.async").wake(promise)
    local turns, stop = 0, core.clock() + 20
    repeat
      assert(core.clock() < stop, "it never calmed down")
      local again = is_readable(2)
      turns = turns + 1
      loop.step()
    until not again
    assert.is_true(turns > 3 and turns < 40)
  end)
end)

describe("the timeout", function()
  it("is the time to the next sleep, 0 for what can run now", function()
    local task = fleet.spawn(function() fleet.sleep(50) end)
    assert.equal(0, loop.timeout())
    assert.is_true(loop.dirty())
    loop.step()
    local left = loop.timeout()
    assert.is_true(left > 1 and left <= 50)
    assert.is_false(loop.dirty())
    task:cancel()
    assert.is_true(loop.dirty())
    loop.step()
    pcall(task.wait, task)
    assert.is_true(loop.timeout() == nil or loop.timeout() > 0)
  end)

  it("forgets a sleep whose task was cancelled", function()
    local task = fleet.spawn(function() fleet.sleep(0.3) end)
    loop.step()
    task:cancel()
    loop.step()
    assert.is_true((loop.timeout() or 99) > 0.3)
  end)
end)

describe("watch", function()
  it("refuses what is no descriptor, and takes no larger number for another one", function()
    for _, fd in ipairs { 2 ^ 32, 0.5, 1 / 0, 0 / 0, "0", false } do
      assert.error_matches(function() loop.watch(fd, "r", print) end, "watch: a descriptor %(a whole number%) is needed")
    end
    assert.error_matches(function() loop.watch(nil, "r", print) end, "is needed, got nil")
    assert.equal("invalid", select(3, loop.watch(-1, "r", print)))
  end)

  it("says what the descriptor is ready for", function()
    local a, b = pair()
    local seen = {}
    local watch = loop:watch(b:pollfd(), "rw", function(events) seen[#seen + 1] = events end)
    loop.step()
    assert.equal("w", seen[1])
    a:write("x")
    a:flush()
    turn_until(function() return seen[#seen] == "rw" end)
    watch:close()
    watch:close()
    a:close()
    b:close()
  end)

  it("of another function fails alone: calls and tasks go on", function()
    local a, b = pair()
    local stderr, printed = io.stderr, {}
    io.stderr = { write = function(_, ...) printed[#printed + 1] = table.concat { ... } end } -- luacheck: ignore
    local watch = loop.watch(b:pollfd(), "r", function() error("broken watch", 0) end)
    a:write("x")
    a:flush()
    local ok, failure = pcall(fleet.sleep, 0.01)
    watch:close()
    io.stderr = stderr -- luacheck: ignore
    a:close()
    b:close()
    assert.is_true(ok, failure)
    assert.matches("broken watch", printed[1])
  end)

  it("that is closed by another in the same step is not called", function()
    local a, b = pair()
    local c, d = pair()
    local calls, watched = 0, {}
    for i, fd in ipairs { b:pollfd(), d:pollfd() } do
      watched[i] = loop.watch(fd, "r", function()
        calls = calls + 1
        watched[3 - i]:close()
      end)
    end
    a:write("x")
    a:flush()
    c:write("x")
    c:flush()
    loop.step()
    assert.equal(1, calls)
    watched[1]:close()
    watched[2]:close()
    for _, s in ipairs { a, b, c, d } do s:close() end
  end)

  it("that is closed late does not end the watch of a descriptor with the same number", function()
    local a, b = pair()
    local fd, calls = b:pollfd(), 0
    local old = loop.watch(fd, "r", print)
    local new = loop.watch(fd, "r", function() calls = calls + 1 end)
    old:close()
    a:write("x")
    a:flush()
    loop.step()
    assert.equal(1, calls)
    new:close()
    a:close()
    b:close()
  end)

  it("refuses what cannot be watched", function()
    assert.error_matches(function() loop.watch(0, "x", print) end, "mode must be")
    assert.error_matches(function() loop.watch(0, "r") end, "a function is needed")
    assert.error_matches(function() loop.watch("x", "r", print) end, "watch: a descriptor %(a whole number%) is needed, got x")
    local watch, err, kind = loop.watch(99999, "r", print)
    assert.is_nil(watch)
    assert.equal("invalid", kind)
    assert.matches("not open", err.message)
    local file = io.open("/proc/self/cmdline")
    file:close()
  end)

  it("may start tasks and end them", function()
    local a, b = pair()
    local done
    local watch
    watch = loop.watch(b:pollfd(), "r", function()
      watch:close()
      fleet.spawn(function() done = true end)
    end)
    a:write("x")
    a:flush()
    turn_until(function() return done end)
    a:close()
    b:close()
  end)
end)

describe("inside", function()
  local server, wait
  setup(function() server = rude.start() end)
  teardown(function() server.stop() end)
  before_each(function() wait = loop.wait end)
  after_each(function() loop.wait = wait end)

  local function car(path)
    return fleet.new({ token = "t0ken", base_url = server.url .. path }):vehicle(seam.vin)
  end

  it("cqueues, calls wait in the host's coroutines while others go on", function()
    loop.wait = function(seconds) cqueues.poll(loop, seconds) end
    local queue, ticks, ended, calls, beside = cqueues.new(), 0, 0, 0, 0
    for _ = 1, 5 do
      queue:wrap(function()
        repeat -- a machine that stands still makes the ticks of one call fewer
          local before = ticks
          local _, err = car("/trickle"):info { timeout = 0.3 }
          assert(err.kind == "timeout", err)
          calls, beside = calls + 1, math.max(beside, ticks - before)
        until beside >= 5 or calls >= 50
        ended = ended + 1
      end)
    end
    queue:wrap(function()
      while ended < 5 do
        cqueues.sleep(0.02)
        ticks = ticks + 1
      end
    end)
    assert(queue:loop(60))
    assert.equal(5, ended)
    assert.is_true(beside >= 5, beside)
  end)

  it("cqueues, tasks run in a coroutine of their own and a command is answered", function()
    loop.wait = function(seconds) cqueues.poll(loop, seconds) end
    local queue, values = cqueues.new(), nil
    queue:wrap(function()
      values = fleet.map({ 1, 2, 3 }, function(n)
        fleet.sleep(0.01 * n)
        return n
      end)
    end)
    assert(queue:loop(20))
    assert.equal(3, values[3].value)
    local _, err = car("/ok"):info() -- outside of any coroutine of the host
    assert.equal("protocol", err.kind)
  end)

  require("spec.support.harness.needs")("Lua's luv", it, pending)("luv, a poll handle on the descriptor is all that is needed", function()
    local uv = require "luv"
    local handle, timer, ticks, results = uv.new_poll(loop.fd()), uv.new_timer(), 0, {}
    local calls, beside = 0, 0
    timer:start(10, 10, function() ticks = ticks + 1 end)
    local function turn()
      loop.step()
      if results[1] and results[2] then
        handle:stop()
        timer:stop()
      end
    end
    handle:start("r", function(err)
      assert(not err, err)
      turn()
    end)
    fleet.spawn(function()
      local kind
      repeat -- a machine that stands still makes the ticks of one call fewer
        local before = ticks
        kind = select(3, car("/trickle"):info { timeout = 0.2 })
        calls, beside = calls + 1, math.max(beside, ticks - before)
      until beside > 3 or calls >= 50
      results[2] = kind
    end)
    fleet.spawn(function()
      fleet.sleep(0.05)
      results[1] = "slept"
    end)
    turn()
    local stop = core.clock() + 60
    while not (results[1] and results[2]) do
      assert(core.clock() < stop, "it never ended")
      uv.run("once")
    end
    handle:close()
    timer:close()
    uv.run("nowait")
    assert.same({ "slept", "timeout" }, results)
    assert.is_true(beside > 3, beside)
  end)

  it("a host that selects on getfd and asks dirty first, as LuaSocket does", function()
    local function select_once(object, seconds)
      if object:dirty() then return end
      poll({ pollfd = object:getfd(), events = "r" }, seconds)
    end
    local kind
    fleet.spawn(function() kind = select(3, car("/ok"):info { timeout = 5 }) end)
    local stop = core.clock() + 30
    while not kind do
      assert(core.clock() < stop, "it never ended")
      select_once(loop, 1)
      loop.step()
    end
    assert.equal("protocol", kind)
  end)

  it("a host whose wait returns early or late loses nothing", function()
    local original, calls = wait, 0
    loop.wait = function(seconds)
      calls = calls + 1
      if calls % 3 == 0 then return end
      original(math.min(seconds or 0.01, 0.01))
    end
    local _, _, kind = car("/trickle"):info { timeout = 0.1 }
    assert.equal("timeout", kind)
  end)
end)
