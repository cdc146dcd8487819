-- The short way of a read that goes as usual, and where it is left for the long one. Nothing may show which was taken.

local count = require "fleet.budget.count"
local fleet = require "fleet"
local core = require "fleet.core"
local nginx = require "spec.support.servers.nginx"
local state = require "fleet.call.state"

describe("a usual read", function()
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
