-- A receiver under attack: functions that hang, outputs that fail again and again, vehicles that send what no vehicle sends.

local fleet = require "fleet"
local core = require "fleet.core"
local receiving = require "spec.support.fixtures.receiving"
local tasks = require "fleet.async"
local telemetry = require "fleet.telemetry"

local VIN, OTHER = "5YJ3000TEST000001", "5YJ3000TEST000002"
local here = receiving.new(VIN, OTHER)
local start, turn, open = here.start, here.turn, here.open

setup(here.set_up)
teardown(here.tear_down)
before_each(here.clear)
after_each(here.close)

local function steps(count)
  for _ = 1, count do
    fleet.loop.step()
    core.pause(0.0005)
  end
end

local function count_notices(pattern)
  local count = 0
  for _, text in ipairs(here.notices) do
    if string.find(text, pattern) then count = count + 1 end
  end
  return count
end

describe("notices", function()
  it("of two vehicles that take turns at a limit come once for each", function()
    start { limits = { per_minute = 2 } }
    local one, other = open(nil, VIN), open(nil, OTHER)
    for i = 1, 10 do
      one:send { values = { Soc = i } }
      other:send { values = { Soc = i } }
      turn(function() return here.receiver:stats().messages == 2 * i end)
    end
    steps(5)
    assert.equal(2, count_notices "per_minute")
  end)

  it("do not add up while on_notice hangs", function()
    local number, promises = 0, {}
    start { on_record = function()
      number = number + 1
      error("failure " .. number)
    end, on_notice = function()
      promises[#promises + 1] = tasks.promise()
      tasks.await(promises[#promises])
    end }
    local car = open()
    for i = 1, 900 do car:send { values = { Soc = i } } end
    turn(function() return number == 900 end)
    local waiting = here.receiver.calls:size()
    here.receiver.options.on_notice = nil
    here.receiver.calls:clear()
    for _, promise in ipairs(promises) do tasks.wake(promise) end
    assert.is_true(waiting <= 2 * here.receiver.options.limits.unacknowledged, waiting)
  end)
end)

describe("on_record", function()
  it("that raises an error without a text does not stop the vehicle's records", function()
    local count = 0
    start { on_record = function()
      count = count + 1
      error(setmetatable({}, { __tostring = function() error "no" end }))
    end }
    local car = open()
    for i = 1, 3 do car:send { values = { Soc = i } } end
    turn(function() return count == 3 and count_notices "cannot be printed" == 1 end)
  end)

  local ways = {
    ["cancels its task"] = function() tasks.current():cancel() end,
    ["yields outside of fleet's waits"] = function() coroutine.yield() end,
    ["yields so without end"] = function() while true do coroutine.yield() end end,
  }
  for name, way in pairs(ways) do
    it("that " .. name .. " fails no other record, and no other vehicle waits for its next one", function()
      local stored = {}
      start { ack = "when_stored", on_record = function(record)
        if record.txid == "bad" then way() end
        fleet.sleep(0.001)
        stored[#stored + 1] = record.txid
        return true
      end }
      local one, other = open(nil, VIN), open(nil, OTHER)
      for _, txid in ipairs { "bad", "a" } do one:send { txid = txid, values = { Soc = 1 } } end
      for _, txid in ipairs { "b", "c" } do other:send { txid = txid, values = { Soc = 1 } } end
      for _ = 1, 4 do -- all arrive in one step
        one:step()
        other:step()
      end
      turn(function() return #one.acknowledged == 1 and #other.acknowledged == 2 end)
      table.sort(stored)
      assert.same({ "a", "b", "c" }, stored)
    end)
  end
end)

-- A receiver of vehicles that send without end; on_record needs longer than the receiver may work in one iteration of the loop.
local function overloaded(after)
  local handle = { acknowledge = function() end, leave = function() end, admit = function() return true end }
  local vins, count, taken = { VIN, OTHER }, 0, 0
  for i = 3, 9 do vins[i] = "5YJ3000TEST00000" .. i end
  local raw = { stats = function() return {} end, close = function() end }
  function raw.take()
    count = count + 1
    local vin = vins[count]
    if vin then return "connected", { id = vin, kind = "vehicle_device", connection = count, arrived = 1 }, handle end
    vin = vins[count % #vins + 1]
    return "message", { vin = vin, topic = "V", txid = tostring(count), values = {}, invalid = {}, at = 1 }, handle
  end
  local receiver = telemetry.over(raw, { certificate = "-", certificate_key = "-", client_ca = "-", vehicles = vins, on_record = function()
    taken = taken + 1
    local until_ = core.clock() + 0.005
    repeat until core.clock() > until_
    after()
  end })
  return receiver, function() return taken end
end

describe("an overloaded receiver", function()
  for name, waits in pairs { ["that wait"] = true, ["that do not wait"] = false } do
    it("takes no more in each iteration of the loop, with functions " .. name, function()
      local ended = false
      local receiver, taken = overloaded(function()
        while waits and not ended do fleet.sleep(0.001) end
      end)
      while taken() == 0 do
        receiver:arrived()
        fleet.loop.step()
      end
      for _ = 1, 6 do
        local before = taken()
        receiver:arrived() -- as after an event of its descriptor
        fleet.loop.step()
        assert.is_true(taken() <= before + 1)
      end
      assert.is_true(taken() >= 7)
      ended = true
      receiver:close()
    end)
  end
end)

describe("a refusal that cannot be reported for lack of memory", function()
  it("stops no later report", function()
    local reported, waiting = {}, {}
    local raw = { stats = function() return {} end, close = function() end }
    function raw.take()
      if #waiting > 0 then return "refused", { id = "x", kind = "vehicle_device", reason = table.remove(waiting) }, {} end
    end
    local receiver = telemetry.over(raw, { certificate = "-", certificate_key = "-", client_ca = "-", vehicles = { VIN },
      on_connection = function(event) reported[#reported + 1] = event.reason end, on_notice = function() end })
    function receiver.calls.run(calls)
      calls.worker, calls.run = tasks.current(), nil
      error "not enough memory"
    end
    for _, reason in ipairs { "first", "second" } do
      waiting[1] = reason
      receiver:arrived()
      steps(2)
    end
    receiver:close()
    assert.same({ "second" }, reported)
  end)
end)

describe("close", function()
  it("ends the wait of a vehicle that sends too much", function()
    local receiver = start { limits = { per_minute = 1 } }
    local car = open()
    for i = 1, 3 do car:send { values = { Soc = i } } end
    turn(function() return receiver:stats().messages == 3 end)
    local delayed = receiver.vehicles[VIN].delayed
    steps(3)
    assert.is_true(delayed:is_working())
    receiver:close()
    steps(3)
    assert.is_false(delayed:is_working())
  end)
end)

describe("lines of fleet telemetry serve", function()
  it("are not stored on a full disk, and are where there is room", function()
    local receiving_cli = require "fleet.cli.telemetry.receiving"
    local record = { vin = VIN, topic = "V", txid = "a", values = { Soc = 5 } }
    local function context_of(out) return { out = out, environment = { getenv = function() end } } end
    local full = io.open("/dev/full", "w")
    if full then -- Linux
      local where = receiving_cli.outputs(context_of(full), {})
      assert.equal("when_stored", where.ack)
      assert.same({ nil, "store" }, { where.outputs[1]:store(record), (select(3, where.outputs[1]:store(record))) })
      full:close()
    end
    local path = os.tmpname()
    local file = io.open(path, "w")
    assert.is_true((receiving_cli.outputs(context_of(file), {}).outputs[1]:store(record)))
    file:close()
    file = io.open(path)
    assert.matches('^{"topic":.-"Soc":5', file:read "*a")
    file:close()
    os.remove(path)
  end)
end)

describe("an output that fails again after it has worked", function()
  it("is reported again", function()
    local works = false
    local output = { store = function()
      if works then return true end
      return nil, "the disk is full"
    end }
    local receiver = start { outputs = { output } }
    local car = open()
    for round = 1, 2 do
      works = false
      car:send { values = { Soc = round } }
      turn(function() return count_notices "the disk is full" == round and next(receiver.pauses) end)
      works = true
      for promise in pairs(receiver.pauses) do tasks.wake(promise) end -- instead of a second
      turn(function() return #car.acknowledged == round and count_notices "stores records again" == round end)
    end
  end)
end)

describe("fields that no vehicle has", function()
  it("are kept up to a limit", function()
    local receiver = start()
    local car = open()
    for round = 0, 9 do
      local values = {}
      for i = 1, 500 do values[tostring(3600 + round * 500 + i)] = i end
      car:send { values = values }
    end
    car:send { values = { Soc = 3 } }
    turn(function() return #here.records == 11 end)
    local vehicle, count = nil, 0
    fleet.run(function() vehicle = receiver:vehicle(VIN) end)
    for _ in pairs(vehicle.values) do count = count + 1 end
    assert.equal(3, vehicle.values.Soc)
    assert.equal(496, count)
    for round = 1, 5 do
      local values = {}
      for i = 1, 500 do values[tostring(9000 + round * 500 + i)] = false end
      car:send { values = values }
    end
    turn(function() return #here.records == 16 end)
    count = 0
    for _ in pairs(vehicle.ended or {}) do count = count + 1 end
    assert.equal(0, count)
  end)
end)
