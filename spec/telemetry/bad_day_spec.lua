-- A receiver's bad days: functions that fail or wait, vehicles that leave meanwhile, values that are no numbers, closing while
-- something waits.

local fleet = require "fleet"
local core = require "fleet.core"
local stream = require "fleet.stream"
local lines = require "fleet.telemetry.outputs.lines"
local outputs = require "fleet.telemetry.outputs"
local receiving = require "spec.support.fixtures.receiving"
local tasks = require "fleet.async"
local telemetry = require "fleet.telemetry"

local VIN, OTHER = "5YJ3000TEST000001", "5YJ3000TEST000002"
local here = receiving.new(VIN, OTHER)
local start, connect, turn, open, options = here.start, here.connect, here.turn, here.open, here.options
local events, records = here.events, here.records

setup(here.set_up)
teardown(here.tear_down)
before_each(here.clear)
after_each(here.close)

describe("a vehicle that leaves before it is admitted", function()
  it("is not online, and counts no connection", function()
    local go_on, asked = false, false
    local own = stream.receiver
    stub(stream, "receiver", function(given)
      given.arrival = 1
      return own(given)
    end)
    start { vehicles = function()
      asked = true
      while not go_on do fleet.sleep(0.01) end
      return true
    end }
    local car = connect()
    turn(function() return asked end)
    car:close()
    turn(function() return here.receiver:stats().connections == 0 end)
    stream.receiver:revert()
    go_on = true
    for _ = 1, 100 do
      fleet.loop.step()
      core.pause(0.0005)
    end
    local vehicle
    fleet.run(function() vehicle = here.receiver:vehicle(VIN) end)
    assert.is_false(vehicle.online)
    assert.equal(0, here.receiver:stats().online)
    for _, event in ipairs(events) do assert.not_equal("connected", event.type) end
  end)
end)

describe("on_notice", function()
  it("that fails ends, and nothing loops for ever", function()
    local count = 0
    start { on_record = function() error "no" end, on_notice = function(text)
      count = count + 1
      if count > 50 then return end
      error(text)
    end }
    local car = open()
    car:send { values = { Soc = 1 } }
    turn(function() return count > 0 end)
    for _ = 1, 20 do fleet.loop.step() end
    assert.is_true(count < 5)
  end)
end)

describe("close", function()
  local function store_of(put)
    return { get = function() end, put = put }
  end

  it("twice, while the first waits for the store, ends once", function()
    local closed = 0
    start { store = store_of(function() fleet.sleep(0.02) return true end),
      outputs = { { store = function() return true end, close = function() closed = closed + 1 end } } }
    local car = open()
    car:send { values = { Soc = 1 } }
    turn(function() return records[1] end)
    local failures = {}
    for _ = 1, 2 do
      fleet.spawn(function()
        local ok, err = pcall(here.receiver.close, here.receiver)
        failures[#failures + 1] = not ok and tostring(err) or nil
      end)
    end
    for _ = 1, 200 do
      fleet.loop.step()
      core.pause(0.0005)
    end
    assert.same({}, failures)
    assert.equal(1, closed)
  end)

  it("ends the receiver also where the store fails", function()
    local r = start { store = store_of(function() error "the store is away" end) }
    local car = open()
    car:send { values = { Soc = 1 } }
    turn(function() return records[1] end)
    r:close()
    assert.matches("closed", tostring(r))
  end)

  it("gives the outputs what was acknowledged before", function()
    local stored, closed = {}, false
    local r = start { on_record = function() fleet.sleep(0.02) end, outputs = { {
      store = function(_, record)
        if closed then error "the output is closed" end
        stored[#stored + 1] = record.txid
        return true
      end, close = function() closed = true end } } }
    local car = open()
    for i = 1, 5 do car:send { txid = tostring(i), values = { Soc = i } } end
    turn(function() return #car.acknowledged == 5 end)
    r:close()
    for _ = 1, 500 do
      fleet.loop.step()
      core.pause(0.0005)
    end
    assert.same({ "1", "2", "3", "4", "5" }, stored)
    assert.is_true(closed)
  end)
end)

describe("on_record", function()
  it("that fails keeps no acknowledged record from the outputs", function()
    local stored = {}
    start { on_record = function() error "no" end, outputs = { { store = function(_, record)
      stored[#stored + 1] = record.txid
      return true
    end } } }
    local car = open()
    car:send { txid = "a", values = { Soc = 1 } }
    turn(function() return car.acknowledged[1] end)
    for _ = 1, 20 do fleet.loop.step() end
    assert.same({ "a" }, stored)
  end)
end)

describe("a place that is no number", function()
  it("is unknown", function()
    start()
    local car = open()
    car:send { values = { Soc = 3, Location = { latitude = 0 / 0, longitude = 1 } } }
    car:send { values = { Soc = 4, Location = { latitude = 1 / 0, longitude = 1 } } }
    turn(function() return records[2] end)
    for i = 1, 2 do
      assert.is_nil(records[i].values.Location)
      assert.is_truthy(lines.line(records[i]))
    end
  end)
end)

describe("a reader that waits", function()
  it("is kept while its task waits", function()
    start()
    local car = open()
    local got
    fleet.spawn(function()
      got = here.receiver:records(VIN)()
    end)
    fleet.loop.step()
    for _ = 1, 3 do collectgarbage() end
    car:send { values = { Soc = 3 } }
    turn(function() return got end)
  end)
end)

describe("newest values", function()
  it("are kept of every vehicle, also of one that comes while they are saved", function()
    local saved = {}
    local r
    r = start { store = { get = function() end, put = function(_, key)
      fleet.sleep(0.01)
      saved[#saved + 1] = key
      return true
    end } }
    local car = open()
    car:send { values = { Soc = 3 } }
    turn(function() return records[1] end)
    car:close()
    fleet.spawn(function() for i = 3, 9 do fleet.sleep(0.002) pcall(r.vehicle, r, "5YJ3000TEST00000" .. i) end end)
    fleet.run(function() r:close() end)
    assert.same({ "telemetry/" .. VIN }, saved)
  end)
end)

describe("kept values", function()
  local kept, away, puts

  local function store()
    kept = '{"values":{"Soc":61,"ChargeLimitSoc":80,"VehicleSpeed":5},"at":{"Soc":10,"ChargeLimitSoc":10,"VehicleSpeed":10}}'
    away, puts = true, 0
    return { get = function()
      if away then return nil, "the disk is away", "store" end
      return kept
    end, put = function(_, _, text)
      puts, kept = puts + 1, text
      return true
    end }
  end

  it("that cannot be read are not overwritten, and join what has come once they can", function()
    local r = start { store = store() }
    local car = open()
    car:send { values = { Soc = 3, VehicleSpeed = false } }
    turn(function() return records[1] end)
    fleet.run(function() r:close() end)
    assert.equal(0, puts)
    assert.matches('"ChargeLimitSoc":80', kept, 1, true)
    assert.matches("kept values are not read: the disk is away", table.concat(here.notices, "\n"), 1, true)
    car:close()

    r = start { store = store() }
    car = open()
    car:send { values = { Soc = 3, VehicleSpeed = false } }
    turn(function() return records[2] end)
    away = false
    fleet.run(function() r:close() end)
    local values = core.json_decode(kept).values
    assert.same({ 1, 3, 80 }, { puts, values.Soc, values.ChargeLimitSoc })
    assert.is_nil(values.VehicleSpeed) -- the vehicle cannot tell it any more
  end)

  it("are read again when the vehicle is asked for", function()
    local r = start { store = store() }
    fleet.run(function() assert.is_nil(r:vehicle(VIN).values.Soc) end)
    away = false
    fleet.run(function() assert.equal(61, r:vehicle(VIN).values.Soc) end)
  end)
end)

describe("a burst of connections of one vehicle", function()
  it("leaves as many as may be, the newest ones", function()
    local promises = {}
    start { limits = { vehicle_connections = 2 }, vehicles = function()
      promises[#promises + 1] = tasks.promise()
      tasks.await(promises[#promises])
      return true
    end }
    local cars = {}
    for i = 1, 7 do
      cars[i] = connect()
      turn(function() return #promises == i end)
    end
    for _, promise in ipairs(promises) do tasks.wake(promise) end -- all are admitted in one turn
    turn(function() return here.receiver:stats().connections == 2 and #events == 12 end)
    local ended = 0
    for _, car in ipairs(cars) do ended = ended + (car.ended and 1 or 0) end
    assert.equal(5, ended)
    local vehicle
    here.receiver.options.allowed = function() return true end
    fleet.run(function() vehicle = here.receiver:vehicle(VIN) end)
    assert.same({ 2, true }, { vehicle.sockets, vehicle.online })
    for _, car in ipairs(cars) do car:close() end
    turn(function() return here.receiver:stats().connections == 0 end)
    assert.equal(0, vehicle.sockets)
  end)
end)

describe("tasks that share a reader of records", function()
  local got, tasks_of

  local function read(reader, count)
    got, tasks_of = {}, {}
    for i = 1, count do
      tasks_of[i] = fleet.spawn(function()
        for record in reader do got[#got + 1] = i .. record.txid end
      end)
    end
    fleet.loop.step()
  end

  it("get each record once, one after another, and all end with it", function()
    start()
    local car, reader = open(), here.receiver:records(VIN)
    read(reader, 2)
    for i = 1, 4 do
      car:send { txid = tostring(i), values = { Soc = i } }
      turn(function() return #got == i end)
    end
    assert.same({ "11", "22", "13", "24" }, got)
    here.receiver:close()
    for _, task in ipairs(tasks_of) do task:wait() end
  end)

  it("leave a record to the others when one is cancelled", function()
    start()
    local car, reader = open(), here.receiver:records(VIN)
    read(reader, 2)
    tasks_of[1]:cancel()
    car:send { txid = "1", values = { Soc = 1 } }
    turn(function() return got[1] end)
    assert.same({ "21" }, got)
  end)
end)

describe("a store that is none", function()
  it("is refused", function()
    for _, bad in ipairs { 5, "x", true, {}, { get = 1, put = 2 } } do
      assert.error_matches(function() here.receiver = telemetry.new(options { store = bad }) end, "option 'store'")
    end
  end)
end)

describe("a time that no calendar has", function()
  it("is unknown, and the record counts from its arrival", function()
    start()
    local car = open()
    for _, at in ipairs { 2 ^ 50, 253402300800 } do
      car:send { at = at, values = { Soc = 3 } }
      turn(function() return records[1] end)
      local record = table.remove(records)
      assert.equal(record.arrived, record.at)
    end
    car:send { at = 253402300799, values = { Soc = 3 } }
    turn(function() return records[1] end)
    assert.equal(253402300799, records[1].at)
  end)
end)

describe("the output mqtt", function()
  it("takes a record of more messages than may wait", function()
    local mqtt = require "fleet.mqtt.telemetry"
    local links = require "fleet.mqtt.link"
    local waiting, count, most = {}, 0, 0
    stub(links, "library", {})
    stub(links, "new", {
      run = function() end, stop = function() end, forget = function() end,
      publish = function()
        local entry = { promise = tasks.promise() }
        waiting[#waiting + 1] = entry
        count, most = count + 1, math.max(most, #waiting)
        return entry
      end,
    })
    local output = mqtt.new { broker = "mqtt://localhost" }
    local alerts, done = {}, nil
    for i = 1, 600 do alerts[i] = { name = "A" .. i, audiences = {}, started_at = i } end
    fleet.spawn(function() done = output:store { vin = VIN, alerts = alerts } end)
    turn(function()
      for _, entry in ipairs(waiting) do
        entry.confirmed = true
        tasks.wake(entry.promise)
      end
      waiting = {}
      return done
    end)
    links.library:revert()
    links.new:revert()
    assert.equal(1200, count)
    assert.is_true(most <= 100)
  end)
end)

describe("the output lines", function()
  it("begins a new line behind one that the disk took in part", function()
    local room, taken = 10, ""
    local output = outputs.lines { write = io.stdout }
    output.write = {
      write = function(_, text)
        taken, room = taken .. string.sub(text, 1, math.max(room, 0)), room - #text
        if room < 0 then return nil, "No space left on device" end
        return true
      end, flush = function() return true end,
    }
    local record = { vin = VIN, topic = "V", txid = "a" }
    assert.is_nil((output:store(record)))
    room = 1000
    assert.is_true((output:store(record)))
    assert.is_true((output:store(record)))
    local line = lines.line(record)
    assert.equal(string.sub(line, 1, 10) .. "\n" .. line .. "\n" .. line .. "\n", taken)
  end)
end)
