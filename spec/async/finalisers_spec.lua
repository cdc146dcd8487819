-- A host's finaliser may call the service, wherever it runs: in a task, while one begins to wait, while replies and requests are
-- handed out. It waits there as a coroutine that is no task, and turns the loop.

local calls = require "fleet.async.calls"
local core = require "fleet.core"
local fleet = require "fleet"
local finalisers = require "spec.support.harness.finalisers"
local server = require "fleet.server"
local task = require "fleet.async.task"
local turns = require "fleet.async.loop"
local width = require "fleet.async.width"

local VINS = { "5YJ3E1EA7KF000001", "5YJ3E1EA7KF000002" }

describe("a finaliser of the host's that reads a vehicle", function()
  local opened, clients

  -- Each reply says which vehicle was asked for; status: of the replies.
  local function open(status)
    opened, clients = assert(server.new { loop = fleet.loop, on_request = function(request, fields)
      local vin = fields.path:match("vehicles/(%w+)")
      request:respond(status, { ["content-type"] = "application/json" }, '{"response":{"vin":"' .. vin .. '","state":"online"}}')
    end }), {}
    for i = 1, 2 do
      clients[i] = fleet.new { token = "t0ken", base_url = "http://127.0.0.1:" .. opened:port() }
      core.context(clients[i]).config.log = nil -- the suite listens
    end
  end

  after_each(function()
    for _, client in ipairs(clients) do client:close() end
    opened:close()
  end)

  -- read(client, vin) in tasks and in finalisers; check(its results, vin)
  local function read_everywhere(read, check)
    local nested = 0
    finalisers.among(function(n)
      if n % 3 ~= 0 then return end
      check(VINS[2], read(clients[2], VINS[2]))
      nested = nested + 1
    end, function()
      local tasks = {}
      for i = 1, 3 do
        tasks[i] = fleet.spawn(function()
          for _ = 1, 3 do check(VINS[1], read(clients[1], VINS[1])) end
        end)
      end
      for i = 1, 3 do tasks[i]:wait() end
    end, 300)
    assert.is_true(nested > 10)
    for i = 1, 2 do assert.equal(0, core.context(clients[i]).under_way) end
  end

  it("gets its own reply, and so do the tasks", function()
    open(200)
    read_everywhere(function(client, vin) return client:vehicle(vin):info() end, function(vin, info, err)
      assert(info, err)
      assert.equal(vin, info.vin)
    end)
  end)

  it("gets its own failure, and so do the tasks", function()
    open(404)
    read_everywhere(function(client, vin) return client:vehicle(vin):info() end, function(_, info, err)
      assert.same({ nil, "not_found" }, { info, err.kind })
    end)
  end)
end)

-- Whoever finds that he has to wait makes a waiter, which may run a finaliser: what he waits for may come before he begins.
describe("what ends while a waiter is made", function()
  local waiter, await = turns.waiter, task.await

  -- what(): as a finaliser that runs with the next waiter. Waiting for it fails.
  local function while_made(what)
    function turns.waiter(...)
      turns.waiter = waiter
      local made = waiter(...)
      what()
      return made
    end
    function task.await() error("this waits for what is over", 0) end
  end

  after_each(function() turns.waiter, task.await = waiter, await end)

  it("is not waited for: what a turn of the loop brings that a finaliser runs before the wait begins", function()
    local awaited, now, slept = waiter(), turns.now, false
    local sleeper = fleet.spawn(function()
      fleet.sleep(2)
      slept = true
    end)
    fleet.loop.step()
    function turns.now()
      turns.now = now
      fleet.loop.step()
      turns.wake(awaited, "came")
      return now()
    end
    local ran, came = pcall(turns.wait_outside, awaited)
    turns.now = now
    sleeper:cancel()
    assert.same({ true, "came", false }, { ran, came, slept })
  end)

  it("is not waited for: the last call", function()
    calls.enter()
    while_made(calls.leave)
    assert.same({}, calls.drain())
  end)

  it("is not waited for: a place in a width", function()
    local places, ran, taken = width.new(1, function() end), false, nil
    local other = fleet.spawn(function()
      places:take()
      while_made(function() places:give_back() end)
      ran, taken = pcall(places.take, places)
      turns.waiter, task.await = waiter, await
    end)
    other:wait()
    assert(ran, taken)
    assert.equal(0, places.free)
  end)
end)
