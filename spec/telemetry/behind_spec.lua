-- Outputs, tasks and functions that are slow or away: nothing grows, what is acknowledged is stored before the output closes, and what
-- is lost is counted and reported.

local fleet = require "fleet"
local core = require "fleet.core"
local receiving = require "spec.support.fixtures.receiving"

local VIN = "5YJ3000TEST000001"
local here = receiving.new(VIN)
local start, connect, turn, open = here.start, here.connect, here.turn, here.open

setup(here.set_up)
teardown(here.tear_down)
before_each(here.clear)
after_each(here.close)

-- An output that is away until works is true.
local function output_of(given)
  local output = { stored = {}, works = given.works, tries = 0, closed = 0 }
  function output.store(_, record)
    output.tries = output.tries + 1
    if given.seconds then fleet.sleep(given.seconds) end
    assert(output.closed == 0, "the output is closed")
    if not output.works then return nil, "the disk is full" end
    output.stored[#output.stored + 1] = record.txid
    return true
  end
  function output.close() output.closed = output.closed + 1 end
  return output
end

local function noticed(pattern)
  for _, text in ipairs(here.notices) do
    if string.find(text, pattern) then return true end
  end
end

local function send(car, count, from)
  for i = (from or 0) + 1, (from or 0) + count do car:send { txid = tostring(i), values = { Soc = i % 100 } } end
end

describe("finish", function()
  it("waits until a slow output has stored what was acknowledged, and closes it then", function()
    local output = output_of { works = true, seconds = 0.002 }
    local receiver = start { outputs = { output } }
    local car = open()
    send(car, 30)
    turn(function() return #car.acknowledged == 30 end)
    assert.is_true(#output.stored < 30)
    local finished
    fleet.run(function() finished = receiver:finish() end)
    assert.is_true(finished)
    assert.same({ 30, 1, 0 }, { #output.stored, output.closed, receiver:stats().lost })
    fleet.run(function() finished = receiver:finish() end) -- it has closed
    assert.is_true(finished)
    assert.equal(1, output.closed)
  end)

  it("tries an output that is away once more, counts what it does not store, and says so", function()
    local output = output_of {}
    local receiver = start { outputs = { output } }
    local car = open()
    send(car, 3)
    turn(function() return #car.acknowledged == 3 and output.tries == 1 end)
    local finished, err, kind
    fleet.run(function() finished, err, kind = receiver:finish() end)
    assert.same({ nil, "store" }, { finished, kind })
    assert.matches("3 acknowledged records were not stored", tostring(err))
    assert.equal(3, receiver:stats().lost)
    assert.equal(1, output.closed)
    assert.is_true(noticed "acknowledged are lost")
  end)

  it("stores what waited where the output is back by then", function()
    local output = output_of {}
    local receiver = start { outputs = { output } }
    local car = open()
    send(car, 3)
    turn(function() return output.tries == 1 end)
    output.works = true
    local finished
    fleet.run(function() finished = receiver:finish() end)
    assert.is_true(finished)
    assert.same({ { "1", "2", "3" }, 0 }, { output.stored, receiver:stats().lost })
  end)

  it("gives up an output that hangs after its timeout", function()
    local go_on = false
    local output = { store = function()
      while not go_on do fleet.sleep(0.01) end
      return true
    end }
    local receiver = start { outputs = { output } }
    send(open(), 2)
    turn(function() return receiver:stats().acknowledged == 2 end)
    local err, kind
    fleet.spawn(function()
      err, kind = select(2, receiver:finish { timeout = 0.05 })
      go_on = true
    end)
    turn(function() return go_on end)
    assert.equal("store", kind)
    assert.matches("still wait", tostring(err))
  end)

  it("loses nothing that is acknowledged when stored, and acknowledges nothing after it", function()
    local output = output_of {}
    local receiver = start { outputs = { output }, ack = "when_stored" }
    local car = open()
    send(car, 3)
    turn(function() return output.tries == 1 end)
    fleet.run(function() receiver:finish() end)
    for _ = 1, 20 do car:step() end
    assert.same({ 0, 0 }, { #car.acknowledged, receiver:stats().lost })
  end)

  it("closes the other outputs where one cannot be closed", function()
    local other = output_of { works = true }
    local receiver = start { outputs = { { store = function() return true end, close = function() error "no" end }, other } }
    local finished
    fleet.run(function() finished = receiver:finish() end)
    assert.same({ true, 1 }, { finished, other.closed })
    assert.is_true(noticed "could not be closed")
  end)
end)

describe("a vehicle whose records wait", function()
  -- It connects ten times, and each of its connections ends the one before.
  local function connect_again_and_again(receiver)
    for round = 1, 10 do
      local before = receiver:stats().messages
      send(open(), 150, round * 1000)
      turn(function() return receiver:stats().messages > before + 60 end)
    end
  end

  it("adds no more of them with each connection", function()
    local output = output_of {}
    local receiver = start { outputs = { output }, ack = "when_stored", limits = { unacknowledged = 4, vehicle_connections = 1 } }
    connect_again_and_again(receiver)
    local size = receiver.vehicles[VIN].calls:size()
    assert.is_true(size > 400 and size <= 540, size .. " wait")
    assert.is_true(receiver:stats().unstored > 50)
    assert.is_true(noticed "connects again and again while its records wait")
  end)

  it("adds no more of them while its limit delays it", function()
    local receiver = start { limits = { per_minute = 1, unacknowledged = 4, vehicle_connections = 1 } }
    connect_again_and_again(receiver)
    local size = receiver.vehicles[VIN].delayed:size()
    assert.is_true(size > 400 and size <= 540, size .. " wait")
    assert.is_true(receiver:stats().unstored > 50)
  end)
end)

describe("a task that reads too slowly", function()
  it("has no more than 256 records waiting, and it is reported", function()
    local receiver = start { on_record = false or nil }
    local reader = receiver:records(VIN)
    local car = open()
    send(car, 300)
    turn(function() return #car.acknowledged == 300 end)
    assert.equal(44, reader.lost)
    assert.is_true(noticed "too slow")
    local first
    fleet.run(function() first = reader() end)
    assert.equal("45", first.txid)
  end)
end)

describe("events of connections", function()
  it("that nothing takes are dropped, counted and reported", function()
    local go_on = false
    local receiver = start { limits = { unacknowledged = 4 }, on_connection = function()
      while not go_on do fleet.sleep(0.005) end
    end }
    for _ = 1, 6 do
      local car = open()
      car:close()
      turn(function() return receiver:stats().connections == 0 end)
    end
    assert.is_true(receiver:stats().unreported > 0)
    go_on = true
    for _ = 1, 100 do
      fleet.loop.step()
      core.pause(0.0005)
    end
    assert.is_true(noticed "events of connections are dropped")
    local car = connect()
    turn(function() return car.upgraded end)
  end)
end)
