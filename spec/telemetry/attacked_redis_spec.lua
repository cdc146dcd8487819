-- The output redis where other programs have written to its keys, and where Redis fails in each way that it can.

local fleet = require "fleet"
local needs = require "spec.support.harness.needs"
local outputs = require "fleet.telemetry.outputs"
local receiving = require "spec.support.fixtures.receiving"
local redis = require "spec.support.servers.redis"
local tasks = require "fleet.async"

local VIN = "5YJ3000TEST000001"
local here = receiving.new(VIN)
local start, turn, open = here.start, here.turn, here.open

setup(here.set_up)
teardown(here.tear_down)
before_each(here.clear)
after_each(here.close)

local server

local function redis_it(name, fn)
  needs("redis-server", it, pending)(name, function()
    server = redis.start {}
    local ok, failure = pcall(fn)
    here.close()
    server.stop()
    if not ok then error(failure, 0) end
  end)
end

local function output() return assert(outputs.redis { address = server.address, timeout = 1 }) end

local function entries() return tonumber(string.match(server.cli("XLEN telemetry:" .. VIN), "%d+")) end

local function is_noticed(text) return string.find(table.concat(here.notices, "\n"), text, 1, true) end

-- Ends the receiver's waits before it tries again.
local function try_again()
  for promise in pairs(here.receiver.pauses) do tasks.wake(promise) end
end

describe("the output redis", function()
  redis_it("replaces a value that it did not write", function()
    server.cli("HSET telemetry:" .. VIN .. ":values Soc nonsense Gear '5 5' Locked ''")
    start { on_record = function() return true end, outputs = { output() }, ack = "when_stored" }
    local car = open()
    car:send { txid = "a", values = { Soc = 71 } }
    turn(function() return car.acknowledged[1] end)
    assert.matches('{"v":71}', server.cli("HGET telemetry:" .. VIN .. ":values Soc"), 1, true)
    assert.equal(1, entries())
    car:close()
    turn(function() return here.receiver:stats().connections == 0 end)
    local vehicle
    fleet.run(function() vehicle = here.receiver:vehicle(VIN) end)
    assert.same({ 71, nil, nil }, { vehicle.values.Soc, vehicle.values.Gear, vehicle.values.Locked })
  end)

  redis_it("adds no entry again and again where the values cannot be written", function()
    server.cli("SET telemetry:" .. VIN .. ":values 5")
    local one, tries = output(), 0
    local store = one.store
    function one.store(...)
      tries = tries + 1
      return store(...)
    end
    start { on_record = function() return true end, outputs = { one }, ack = "when_stored" }
    local car = open()
    car:send { txid = "a", values = { Soc = 71 } }
    turn(function()
      try_again()
      return tries >= 3 and is_noticed "WRONGTYPE"
    end)
    assert.is_nil(car.acknowledged[1])
    assert.equal(0, entries())
    server.cli("DEL telemetry:" .. VIN .. ":values")
    turn(function()
      try_again()
      return car.acknowledged[1]
    end)
    assert.equal(1, entries())
  end)

  for name, how in pairs {
    ["is a replica"] = { "REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "READONLY" },
    ["has no memory"] = { "CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", "OOM" },
  } do
    redis_it("waits while Redis " .. name, function()
      start { on_record = function() return true end, outputs = { output() }, ack = "when_stored" }
      local car = open()
      server.cli(how[1])
      car:send { txid = "a", values = { Soc = 71 } }
      turn(function() return is_noticed(how[3]) end)
      assert.is_nil(car.acknowledged[1])
      server.cli(how[2])
      turn(function()
        try_again()
        return car.acknowledged[1]
      end)
      assert.is_true(entries() >= 1) -- a connection that ended may leave an entry twice
    end)
  end

  redis_it("waits while Redis does not answer", function()
    start { on_record = function() return true end, outputs = { output() }, ack = "when_stored" }
    local car = open()
    server.signal "STOP"
    car:send { txid = "a", values = { Soc = 71 } }
    turn(function() return is_noticed "records wait for the output redis: " end)
    assert.is_nil(car.acknowledged[1])
    server.signal "CONT"
    turn(function()
      try_again()
      return car.acknowledged[1]
    end)
    assert.is_true(entries() >= 1)
  end)
end)
