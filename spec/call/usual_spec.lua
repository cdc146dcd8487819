-- The short way of a read that goes as usual, and where it is left for the long one. Nothing may show which was taken.

local count = require "fleet.budget.count"
local fleet = require "fleet"
local core = require "fleet.core"
local needs = require "spec.support.harness.needs"
local nginx = require "spec.support.servers.nginx"
local rude = require "spec.support.servers.hostile_server"
local socket = require "cqueues.socket"
local state = require "fleet.call.state"
local turns = require "fleet.async.loop"

local describe_with_nginx = needs("nginx", describe, pending)

describe_with_nginx("a usual read", function()
  local server, made, new

  lazy_setup(function() server = assert(nginx.start { logs = true }) end)
  lazy_teardown(function() server.stop() end)

  local function requests(least)
    local _, lines = server.logged(least):gsub("\n", "")
    return lines
  end

  -- What the long way makes of every call is counted.
  before_each(function()
    made, new = 0, state.new
    state.new = function(...)
      made = made + 1
      return new(...)
    end
  end)
  after_each(function() state.new = new end)

  local function client(options)
    options = options or {}
    options.token, options.base_url = options.token or "a-token", options.base_url or server.url
    local one = fleet.new(options)
    if not options.log then core.context(one).config.log = nil end -- the suite listens to every other client
    return one
  end

  it("is sent and taken in short, in a task and outside of one", function()
    local one = client()
    assert.equal(8, #assert(one:products()))
    fleet.run(function() assert.equal(8, #assert(one:products())) end)
    assert.equal(0, made)
    assert.equal(2, requests(2))
  end)

  it("makes no store for a client that has nothing to keep, on the long way neither", function()
    local one = client()
    assert(one:products())
    local long = client { http = function() return { status = 200, headers = {}, body = '{"response":[]}' } end }
    assert(long:products())
    for _, read in ipairs { one, long } do
      local parts = core.context(read)
      assert.same({}, { rawget(parts, "store"), rawget(parts, "states") })
    end
    assert.equal(1, made)
    assert.is_table(core.context(one).states) -- what is needed is made all the same
    requests(1)
  end)

  it("leaves no object open", function()
    local one = client()
    assert(one:products())
    collectgarbage()
    local before = core.live()
    assert(one:products())
    collectgarbage()
    assert.equal(before, core.live())
    requests(2)
  end)

  it("is counted as every billed call", function()
    local of_vehicle = assert(nginx.start { body = '{"response":{"id":1,"state":"online"}}' })
    local one = client { base_url = of_vehicle.url }
    local billed, told = count.billed, {}
    count.billed = function(meter, class, vin) told[#told + 1] = { meter, class, vin } end
    local ran, failure = pcall(function() assert(one:vehicle("5YJ30123456789ABC"):nearby_charging_sites()) end)
    count.billed = billed
    of_vehicle.stop()
    assert(ran, failure)
    assert.equal(0, made)
    assert.same({ { core.context(one).meter, "data", "5YJ30123456789ABC" } }, told)
  end)

  it("is sent once and told once where somebody listens", function()
    local told = {}
    local one = client { log = function(event) told[#told + 1] = event end }
    assert(one:products())
    assert.equal(1, #told)
    assert.equal(200, told[1].status)
    assert.equal(1, requests(1))
    assert.equal(1, made)
  end)

  it("goes the long way where a budget must be asked", function()
    assert(client { budgets = { usd_per_day = 1 } }:products())
    assert.equal(1, made)
    requests(1)
  end)

  it("is not sent for a closed client", function()
    local one = client()
    one:close()
    local _, err = one:products()
    assert.equal("closed", err.kind)
    assert.equal(1, made)
  end)

  it("ends with what came where the client is closed meanwhile", function()
    local one = client()
    local value
    fleet.run(function()
      local task = fleet.spawn(function() value = assert(one:products()) end)
      fleet.sleep(0)
      one:close()
      task:wait()
    end)
    assert.equal(8, #value)
    requests(1)
  end)

  it("is cancelled as every call", function()
    local one, got = client(), nil
    fleet.run(function()
      local task = fleet.spawn(function() got = { one:products() } end)
      fleet.sleep(0)
      task:cancel()
      task:wait()
    end)
    assert.is_nil(got[1])
    assert.equal("cancelled", got[3])
    assert.equal(1, made)
  end)

  it("says why it could not be sent", function()
    local _, err = client { base_url = "http://127.0.0.1:" .. nginx.free_port() }:products()
    assert.equal("GET /api/1/products", err.request)
    assert.equal(1, made)
  end)

  it("is counted out whatever became of it, so that drain ends", function()
    assert.same({}, assert(fleet.drain()))
  end)
end)

-- Nobody else has anything to do: its task waits in one call, without giving up its turn.
describe_with_nginx("a usual read that is alone on the wire", function()
  local server, silent, alone, taken

  lazy_setup(function() server, silent = assert(nginx.start {}), rude.start() end)
  lazy_teardown(function()
    server.stop()
    silent.stop()
  end)

  before_each(function()
    taken, alone = 0, turns.alone
    turns.alone = function(waiter)
      local ran, reply = alone(waiter)
      if reply then taken = taken + 1 end
      return ran, reply
    end
  end)
  after_each(function() turns.alone = alone end)

  local function client(url)
    local one = fleet.new { token = "a-token", base_url = url, timeout = 0.5 }
    core.context(one).config.log = nil
    return one
  end

  local function connect()
    client(silent.url .. "/ok"):products()
  end

  local function unanswered(order)
    local _, _, kind = client(silent.url .. "/silent"):products()
    order[#order + 1] = kind
  end

  it("is waited for in place, in a task and outside of one", function()
    local one = client(server.url)
    assert(one:products()) -- the connection
    local before = taken
    assert.equal(8, #assert(one:products()))
    fleet.run(function() assert.equal(8, #assert(one:products())) end)
    assert.equal(2, taken - before)
  end)

  -- How often this process gave the processor up by itself: once for each time that it slept.
  local function sleeps()
    for line in io.lines "/proc/self/status" do
      local times = string.match(line, "^voluntary_ctxt_switches:%s*(%d+)")
      if times then return tonumber(times) end
    end
  end

  it("is slept for where the reply takes its time, whatever came at once before it", function()
    local near, late = client(server.url), client(silent.url .. "/late/0.02")
    for _ = 1, 5 do
      for _ = 1, 20 do assert.equal(8, #assert(near:products())) end
      local before = sleeps()
      for _ = 1, 4 do
        local _, err = late:products()
        assert.matches("late", err.raw)
      end
      assert.is_true(sleeps() - before >= 4, sleeps() - before .. " sleeps")
    end
  end)

  it("is given no reply to another's", function()
    local waiter = assert(turns.submit("submit_raw", { method = "GET", url = server.url .. "/file" }, core.settings {}, 5))
    local other = turns.waiter(false)
    repeat
      local ran, reply = alone(other)
      assert.same({ true }, { ran, reply })
    until waiter.done
    assert.equal(200, waiter.value:status())
    waiter.value:close()
  end)

  it("is not where others are on the wire", function()
    local one, ended = client(server.url), 0
    fleet.run(function()
      for _ = 1, 3 do
        fleet.spawn(function()
          assert(one:products())
          ended = ended + 1
        end)
      end
    end)
    assert.equal(3, ended)
    assert.is_true(taken <= 1, taken .. " were alone") -- the last may be
  end)

  it("does not make a host wait that only steps", function()
    local order = {}
    connect()
    local task = fleet.spawn(function() unanswered(order) end)
    fleet.loop.step()
    assert.equal("fleet.task (running)", tostring(task))
    assert.same({}, order)
    task:wait()
    assert.same({ "timeout" }, order)
  end)

  it("does not hold up who sleeps", function()
    local order = {}
    connect()
    fleet.run(function()
      fleet.spawn(function()
        fleet.sleep(0.01)
        order[#order + 1] = "slept"
      end)
      unanswered(order)
    end)
    assert.same({ "slept", "timeout" }, order)
  end)

  it("does not hold up a watched descriptor", function()
    local order, a, b = {}, socket.pair()
    a:setmode("bn", "bn")
    b:setmode("bn", "bn")
    b:write("x")
    b:flush()
    local watch
    watch = fleet.loop:watch(a:pollfd(), "r", function()
      order[#order + 1] = "seen"
      watch:close()
    end)
    connect()
    fleet.run(unanswered, order)
    assert.same({ "seen", "timeout" }, order)
    a:close()
    b:close()
  end)

  it("that meets a failure meanwhile says so, and its waiter is not used again", function()
    local one, tasks = client(server.url), require "fleet.async.task"
    local waiter = tasks.spare_waiter()
    turns.alone = function() return false, "no memory" end
    local ran, failure = pcall(one.products, one)
    turns.alone = alone
    assert.is_false(ran)
    assert.equal("no memory", failure)
    assert.are_not_equal(waiter, tasks.spare_waiter())
    assert(one:products())
  end)

  it("is counted out whatever became of it, so that drain ends", function()
    assert.same({}, assert(fleet.drain()))
  end)
end)
