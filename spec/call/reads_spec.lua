-- Reads over the core's own HTTP: one at a time and together, with what else the loop has to do.

local count = require "fleet.budget.count"
local fleet = require "fleet"
local core = require "fleet.core"
local needs = require "spec.support.harness.needs"
local nginx = require "spec.support.servers.nginx"
local rude = require "spec.support.servers.hostile_server"
local socket = require "cqueues.socket"

local describe_with_nginx = needs("nginx", describe, pending)

describe_with_nginx("a read", function()
  local server, silent

  lazy_setup(function() server, silent = assert(nginx.start { logs = true }), rude.start() end)
  lazy_teardown(function()
    server.stop()
    silent.stop()
  end)

  local function requests(least)
    local _, lines = server.logged(least):gsub("\n", "")
    return lines
  end

  local function client(options)
    options = options or {}
    options.token, options.base_url = options.token or "a-token", options.base_url or server.url
    local one = fleet.new(options)
    if not options.log then core.context(one).config.log = nil end -- the suite listens to every other client
    return one
  end

  it("is sent once, in a task and outside of one", function()
    local one = client()
    assert.equal(8, #assert(one:products()))
    fleet.run(function() assert.equal(8, #assert(one:products())) end)
    assert.equal(2, requests(2))
  end)

  it("makes no store for a client that has nothing to keep", function()
    local one = client()
    assert(one:products())
    local by_host = client { http = function() return { status = 200, headers = {}, body = '{"response":[]}' } end }
    assert(by_host:products())
    for _, read in ipairs { one, by_host } do
      local parts = core.context(read)
      assert.same({}, { rawget(parts, "store"), rawget(parts, "states") })
    end
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
    local billed, counted = count.billed, {}
    count.billed = function(meter, class, vin) counted[#counted + 1] = { meter, class, vin } end
    local ran, failure = pcall(function() assert(one:vehicle("5YJ30123456789ABC"):nearby_charging_sites()) end)
    count.billed = billed
    of_vehicle.stop()
    assert(ran, failure)
    assert.same({ { core.context(one).meter, "data", "5YJ30123456789ABC" } }, counted)
  end)

  it("is refused where the reply names another vehicle, and keeps what came", function()
    local of_another = assert(nginx.start { body = '{"response":{"vin":"5YJ3E1EA7KF999999","state":"online"}}' })
    local _, err, kind = client { base_url = of_another.url }:vehicle("5YJ3E1EA7KF000001"):info()
    of_another.stop()
    assert.equal("protocol", kind)
    assert.matches("about another vehicle", err.message)
    assert.matches("KF999999", err.raw)
  end)

  it("is reported once where a log listens", function()
    local events = {}
    local one = client { log = function(event) events[#events + 1] = event end }
    assert(one:products())
    assert.equal(1, #events)
    assert.equal(200, events[1].status)
    assert.equal(1, requests(1))
  end)

  it("ends with what came where the client is closed meanwhile, and is not sent afterwards", function()
    local one = client()
    local value
    fleet.run(function()
      local task = fleet.spawn(function() value = assert(one:products()) end)
      fleet.sleep(0)
      one:close()
      task:wait()
    end)
    assert.equal(8, #value)
    assert.equal("closed", select(3, one:products()))
    assert.equal(1, requests(1))
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
  end)

  it("says why it could not be sent", function()
    local _, err = client { base_url = "http://127.0.0.1:" .. nginx.free_port() }:products()
    assert.equal("GET /api/1/products", err.request)
  end)

  -- ---- what else the loop has to do ----

  local function unanswered(order)
    local _, _, kind = client { base_url = silent.url .. "/silent", timeout = 0.5 }:products()
    order[#order + 1] = kind
  end

  it("does not make a host wait that only steps", function()
    local order = {}
    local task = fleet.spawn(function() unanswered(order) end)
    fleet.loop.step()
    assert.equal("fleet.task (running)", tostring(task))
    assert.same({}, order)
    task:wait()
    assert.same({ "timeout" }, order)
  end)

  it("does not hold up a task that sleeps", function()
    local order = {}
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
    fleet.run(unanswered, order)
    assert.same({ "seen", "timeout" }, order)
    a:close()
    b:close()
  end)

  it("is counted out whatever became of it, so that drain ends", function()
    assert.same({}, assert(fleet.drain()))
  end)
end)
