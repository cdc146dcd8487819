-- fleet.telemetry: a receiver on the loop, with vehicles that connect by TLS and send records.

local cjson = require "cjson"
local fleet = require "fleet"
local core = require "fleet.core"
local files = require "spec.support.harness.files"
local process = require "spec.support.harness.process"
local receiving = require "spec.support.fixtures.receiving"
local telemetry = require "fleet.telemetry"
local vehicle_pki = require "spec.support.servers.vehicle_pki"

local VIN, OTHER = "5YJ3000TEST000001", "5YJ3000TEST000002"
local here = receiving.new(VIN, OTHER)
local start, connect, turn, open, options = here.start, here.connect, here.turn, here.open, here.options
local events, records, notices = here.events, here.records, here.notices

setup(here.set_up)
teardown(here.tear_down)
before_each(here.clear)
after_each(here.close)

describe("a record", function()
  it("is a vehicle's, named by its certificate, with its values", function()
    start()
    local car = open()
    car:send { txid = "tx-7", at = 1767225600, values = { Soc = 71.5, Gear = { enum = "Gear", 4 }, Locked = true, VehicleSpeed = false } }
    turn(function() return records[1] and car.acknowledged[1] end)
    local record = records[1]
    assert.equal("tx-7", car.acknowledged[1])
    assert.same({ VIN, "V", "tx-7", 1767225600, false }, { record.vin, record.topic, record.txid, record.at, record.resend })
    assert.equal(71.5, record.values.Soc)
    assert.is_true(record.values.Locked)
    assert.same({ "VehicleSpeed" }, record.invalid)
    assert.is_string(record.raw)
    assert.is_true(math.abs(record.arrived - select(2, core.clock())) < 60)
    assert.is_nil(record.id)
  end)

  it("has numbers, booleans, enums and places also where the vehicle sends text", function()
    start()
    local car = open()
    car:send { values = { Soc = "85.5", Locked = "true", DetailedChargeState = "DetailedChargeStateCharging", Gear = "P",
      ChargeLimitSoc = "80", Location = "(37.412374 S, 122.145867 W)", VehicleName = "12", Odometer = "1.5e3",
      TimeToFullCharge = "<invalid>", InsideTemp = "warm", OriginLocation = "(51.5 N, 2.5e-05 W)", DestinationLocation = "(91 N, 1e W)" } }
    turn(function() return records[1] end)
    assert.same({ Soc = 85.5, Locked = true, DetailedChargeState = "Charging", Gear = "P", ChargeLimitSoc = 80,
      Location = { latitude = -37.412374, longitude = -122.145867 }, VehicleName = "12", Odometer = 1500,
      OriginLocation = { latitude = 51.5, longitude = -2.5e-5 } }, records[1].values)
    assert.same({ "TimeToFullCharge" }, records[1].invalid)
    assert.same({ InsideTemp = "warm", DestinationLocation = "(91 N, 1e W)" }, records[1].texts)
    local vehicle = here.receiver:vehicle(VIN)
    assert.is_nil(vehicle.values.InsideTemp)
    assert.is_nil(vehicle.values.TimeToFullCharge)
    for i, text in ipairs { "(90 N, 180 W)", "(90.5 N, 1 W)", "(1 N, 180.5 W)" } do
      car:send { values = { DestinationLocation = text } }
      turn(function() return records[i + 1] end)
    end
    assert.same({ latitude = 90, longitude = -180 }, records[2].values.DestinationLocation)
    assert.same({ "(90.5 N, 1 W)", "(1 N, 180.5 W)" }, { records[3].texts.DestinationLocation, records[4].texts.DestinationLocation })
  end)

  it("of alerts and errors is handed over, of connectivity and unknown topics only acknowledged", function()
    start()
    local car = open()
    local vectors = cjson.decode(files.read "spec/vectors/telemetry/payloads.json").vectors
    local sent = 0
    for _, topic in ipairs { "alerts", "errors", "connectivity" } do
      for _, v in ipairs(vectors) do
        if v.topic == topic then
          car:send { topic = topic, payload = (string.gsub(v.payload_hex, "..", function(x) return string.char(tonumber(x, 16)) end)) }
          sent = sent + 1
          break
        end
      end
    end
    car:send { topic = "metrics", payload = "" }
    turn(function() return #car.acknowledged == sent + 1 end)
    turn(function() return #records >= 2 end)
    local seen = {}
    for _, record in ipairs(records) do seen[record.topic] = record end
    assert.is_table(seen.alerts.alerts)
    assert.is_table(seen.errors.errors)
    assert.is_nil(seen.connectivity)
    assert.is_nil(seen.metrics)
    assert.is_number(seen.alerts.at)
  end)
end)

describe("a port", function()
  it("is shared with reuse_port by receivers that all have it, and by no other", function()
    local first = start { reuse_port = true }
    local given = options { reuse_port = true }
    given.port = first.port
    local second = assert(telemetry.new(given))
    given.reuse_port = false
    assert.equal("network", select(3, telemetry.new(given)))
    first:close()
    local car = here.connect()
    turn(function() return car.upgraded end)
    assert.equal(1, second:stats().connections)
    second:close()
    second = start()
    given.port, given.reuse_port = second.port, true
    assert.equal("network", select(3, telemetry.new(given)))
  end)
end)

describe("an acknowledgement", function()
  it("when_stored waits for on_record, which may wait, and is left out where it does not return true", function()
    local answers, stored = { a = true, b = false, c = true }, {}
    start { ack = "when_stored", on_record = function(record)
      fleet.sleep(0.01)
      stored[#stored + 1] = record.txid
      if record.txid == "d" then error "the disk is full" end
      return answers[record.txid]
    end }
    local car = open()
    for _, txid in ipairs { "a", "b", "d", "c" } do car:send { txid = txid, values = { Soc = 1 } } end
    turn(function() return #car.acknowledged == 2 end)
    assert.same({ "a", "c" }, car.acknowledged)
    assert.same({ "a", "b", "d", "c" }, stored)
    assert.equal(1, here.receiver:stats().unstored)
    assert.matches("the disk is full", table.concat(notices))
  end)

  it("at_once does not wait for on_record, and a function that hangs makes the vehicle wait", function()
    local go_on = false
    start { limits = { unacknowledged = 8 }, on_record = function(record)
      while not go_on do fleet.sleep(0.01) end
      records[#records + 1] = record
    end }
    local car = open()
    for i = 1, 100 do car:send { txid = tostring(i), values = { Soc = i } } end
    turn(function() return #car.acknowledged >= 4 end)
    for _ = 1, 100 do
      car:step()
      fleet.loop.step()
    end
    assert.is_true(#car.acknowledged <= 8)
    go_on = true
    turn(function() return #car.acknowledged == 100 and #records == 100 end)
    for i = 1, 100 do assert.equal(tostring(i), records[i].txid) end
  end)

  it("needs on_record where it is to come when_stored", function()
    local given = options { ack = "when_stored" }
    given.on_record = nil
    assert.error_matches(function() telemetry.new(given) end, "needs 'on_record'")
  end)
end)

describe("a vehicle", function()
  it("has its newest values with their age, and what it cannot report is unknown", function()
    start()
    local car = open { interface = "wifi", version = "1.3.0" }
    local _, wall = core.clock()
    car:send { at = wall - 100, values = { Soc = 71.5, VehicleSpeed = 30 } }
    car:send { at = wall + 300, values = { Odometer = 10 } }
    car:send { at = wall - 50, values = { VehicleSpeed = false } }
    turn(function() return #records == 3 end)
    local vehicle = here.receiver:vehicle(VIN)
    assert.is_true(vehicle.online)
    assert.same({ "wifi", "1.3.0" }, { vehicle.interface, vehicle.client_version })
    assert.same({ Soc = 71.5, Odometer = 10 }, vehicle.values)
    assert.is_true(math.abs(vehicle:age "Soc" - 100) < 30)
    assert.is_true(math.abs(vehicle.age "Odometer") < 30)
    assert.equal(records[2].arrived, vehicle.at.Odometer) -- its clock is ahead
    assert.is_nil(vehicle:age "VehicleSpeed")
    assert.is_nil(vehicle:age "Gear")
    assert.is_true(math.abs(vehicle.since - wall) < 60)
  end)

  it("keeps a newer value when an older one is sent again", function()
    start()
    local car = open()
    car:send { at = 2000, values = { Soc = 50 } }
    car:send { at = 1000, resend = true, values = { Soc = 40, Odometer = 7 } }
    turn(function() return #records == 2 end)
    assert.same({ Soc = 50, Odometer = 7 }, here.receiver:vehicle(VIN).values)
    car:send { at = 1500, values = { ChargeLimitSoc = 80, Soc = 51 } } -- its clock was set: by arrival
    turn(function() return #records == 3 end)
    assert.same({ Soc = 51, Odometer = 7, ChargeLimitSoc = 80 }, here.receiver:vehicle(VIN).values)
    assert.is_true(records[2].resend)
    local second = open()
    second:send { at = 900, values = { Odometer = 6 } }
    turn(function() return #records == 4 end)
    assert.equal(7, here.receiver:vehicle(VIN).values.Odometer)
  end)

  it("stays online while one of its connections lasts, and for some seconds after", function()
    local clock, ahead = fleet.loop.clock, 0
    fleet.loop.clock = function()
      local mono, wall = core.clock()
      return mono + ahead, wall + ahead
    end
    start()
    local first, second = open(), open()
    first:close()
    turn(function() return events[3] end)
    assert.same({ "connected", "connected", "disconnected" }, { events[1].type, events[2].type, events[3].type })
    assert.is_true(events[3].online)
    second:close()
    turn(function() return events[4] end)
    local vehicle = here.receiver:vehicle(VIN)
    assert.is_true(vehicle.online)
    ahead = 10
    assert.is_false(vehicle.online)
    assert.is_number(vehicle.since)
    fleet.loop.clock = clock
  end)

  it("that is not listed, is no vehicle, or has another's certificate is refused in words", function()
    start()
    for _, one in ipairs { { { }, "5YJ3000TEST000009", "not among 'vehicles'", true },
      { { oid = "1.3.6.1.4.1.49279.2.5.2" }, VIN, "not a vehicle", true }, { { issuer = "unlisted" }, VIN, "." },
      { { }, "not-a-vin", "not a VIN", true } } do
      local before = #events
      local car = connect(one[1], one[2])
      turn(function() return events[before + 1] end)
      assert.equal("refused", events[before + 1].type)
      assert.matches(one[3], events[before + 1].reason)
      if one[4] then
        turn(function() return car.ended or string.find(car.head, "403") end)
        assert.matches("^HTTP/1.1 403", car.head)
      end
    end
    assert.equal(0, here.receiver:stats().connections)
    assert.is_false(here.receiver:vehicle(VIN).online)
  end)

  it("is asked for by its VIN only where it may connect", function()
    start()
    assert.error_matches(function() here.receiver:vehicle "5YJ3000TEST000009" end, "not among 'vehicles'")
    assert.error_matches(function() here.receiver:vehicle "x" end, "not a VIN")
    assert.is_false(here.receiver:vehicle(OTHER).online)
    assert.same({}, here.receiver:vehicle(OTHER).values)
  end)

  it("may be admitted by a function that waits; one that fails refuses", function()
    start { vehicles = function(vin)
      fleet.sleep(0.01)
      if vin == OTHER then error "no such table" end
      return vin == VIN
    end }
    assert.is_true(open().upgraded)
    connect({}, OTHER)
    turn(function() return events[2] and string.find(table.concat(notices), "no such table") end)
    assert.equal("refused", events[2].type)
  end)

  it("that connects again and again keeps its newest connections", function()
    start { limits = { vehicle_connections = 2 } }
    local first = open()
    open()
    local third = open()
    turn(function() return first.ended end)
    assert.is_true(third.upgraded)
    turn(function() return here.receiver:stats().connections == 2 end)
  end)

  it("that sends more than it may waits, loses nothing, and does not hold up others", function()
    start { limits = { per_minute = 60000, unacknowledged = 16 } }
    here.receiver.options.limits.per_minute = 6000 -- a bucket of 6,000 and 100 a second
    local car, other = open(), open({}, OTHER)
    here.receiver.vehicles[VIN].tokens = 3
    for i = 1, 40 do car:send { txid = tostring(i), values = { Soc = i } } end
    other:send { txid = "other", values = { Soc = 1 } }
    turn(function() return other.acknowledged[1] end)
    turn(function() return #car.acknowledged == 40 end)
    for i = 1, 40 do assert.equal(tostring(i), car.acknowledged[i]) end
    assert.is_true(here.receiver:stats().limited > 0)
    assert.matches("per_minute", table.concat(notices))
  end)
end)

describe("waiting for a value", function()
  it("ends when it comes, or is known; else says what there was", function()
    start()
    local car = open()
    local value, at
    local task = fleet.spawn(function() value, at = here.receiver:wait(VIN, "DetailedChargeState", "Charging", { timeout = 20 }) end)
    car:send { values = { DetailedChargeState = "Stopped" } }
    turn(function() return #records == 1 end)
    assert.is_nil(value)
    car:send { at = 1767225600, values = { DetailedChargeState = "Charging" } }
    turn(function() return task.state ~= "running" end)
    assert.same({ "Charging", 1767225600 }, { value, at })
    assert.equal("Charging", fleet.run(function()
      return here.receiver:wait(VIN, "DetailedChargeState", function(v) return v ~= "Stopped" end, { timeout = 1 })
    end))
    local got, err, kind = fleet.run(function() return here.receiver:wait(VIN, "DetailedChargeState", "Complete", { timeout = 0.05 }) end)
    assert.same({ nil, "timeout" }, { got, kind })
    assert.matches("newest value is Charging", err.message)
  end)

  it("ends with the receiver", function()
    start()
    local kind
    local task = fleet.spawn(function() kind = select(3, here.receiver:wait(VIN, "Soc")) end)
    fleet.loop.step()
    here.receiver:close()
    task:wait()
    assert.equal("closed", kind)
  end)
end)

describe("reading records in a task", function()
  it("gives each one, of one vehicle or of all, until the receiver closes", function()
    start()
    local car, other = open(), open({}, OTHER)
    local all, one = {}, {}
    local first, second = here.receiver:records(), here.receiver:records(VIN)
    local a = fleet.spawn(function() for record in first do all[#all + 1] = record.txid end end)
    local b = fleet.spawn(function() for record in second do one[#one + 1] = record.txid end end)
    car:send { txid = "1", values = { Soc = 1 } }
    turn(function() return #all == 1 end)
    other:send { txid = "2", values = { Soc = 1 } }
    turn(function() return #all == 2 end)
    here.receiver:close()
    a:wait()
    b:wait()
    assert.same({ { "1", "2" }, { "1" } }, { all, one })
  end)

  it("loses the oldest where it is slow, and counts them", function()
    start()
    local car = open()
    local reader = here.receiver:records(VIN)
    for i = 1, 600 do car:send { txid = tostring(i), values = { Soc = i } } end
    turn(function() return #car.acknowledged == 600 end)
    assert.equal(344, reader.lost)
    assert.equal("345", reader().txid)
    reader:close()
    local count = 0
    for _ in reader do count = count + 1 end
    assert.equal(255, count)
  end)
end)

describe("certificates", function()
  it("are read again when their files change, and running connections go on", function()
    local directory = process.temporary "telemetry"
    local function write(name, text)
      files.write(directory .. "/" .. name, text)
      process.execute("chmod 600 " .. directory .. "/" .. name)
    end
    write("chain.pem", here.pki.server.certificate)
    write("key.pem", here.pki.server.key)
    start { certificate = "@" .. directory .. "/chain.pem", certificate_key = "@" .. directory .. "/key.pem" }
    local first = open()
    local other = vehicle_pki.new()
    write("key.pem", "half")
    local done, err, kind = here.receiver:reload()
    assert.same({ nil, "invalid" }, { done, kind })
    assert.matches("key", err.message)
    write("chain.pem", other.server.certificate)
    write("key.pem", other.server.key)
    assert.is_true(here.receiver:reload())
    local second = open { server_ca = other.server_ca }
    assert.is_true(second.upgraded)
    first:send { values = { Soc = 1 } }
    turn(function() return first.acknowledged[1] end)
    process.execute("chmod 644 " .. directory .. "/key.pem")
    assert.matches("chmod 600", select(2, here.receiver:reload()).message)
    other.close()
    process.execute("rm -r " .. directory)
  end)

  it("that cannot be read or used are a failure with a reason", function()
    local _, err, kind = telemetry.new(options { certificate = "@/nowhere/chain.pem" })
    assert.equal("store", kind)
    assert.matches("/nowhere/chain.pem", err.message)
    assert.equal("invalid", select(3, telemetry.new(options { client_ca = "nothing" })))
    assert.error_matches(function() telemetry.new(options { certificate = 1 }) end, "'certificate' must be a PEM text")
  end)

  it("of authorities that are not the maker's are named", function()
    start()
    local remarks = table.concat(here.receiver:remarks(), "\n")
    assert.matches("not Tesla's, by their fingerprints: .*Test Product Root CA", remarks)
    turn(function() return notices[1] end)
  end)
end)

describe("values", function()
  it("are kept in a store for the next process", function()
    local store = fleet.store.memory()
    start { store = store }
    local car = open()
    car:send { at = 1767225600, values = { Soc = 71.5, Location = { latitude = 1.5, longitude = -2 } } }
    turn(function() return records[1] end)
    here.receiver:close()
    start { store = store }
    local vehicle = here.receiver:vehicle(VIN)
    assert.is_false(vehicle.online)
    assert.same({ 71.5, { latitude = 1.5, longitude = -2 }, 1767225600 }, { vehicle.values.Soc, vehicle.values.Location, vehicle.at.Soc })
  end)
end)

describe("a receiver", function()
  it("counts what it does", function()
    start()
    local car = open()
    car:send { values = { Soc = 1, Odometer = 2 } }
    car:send { topic = "V", payload = "\10\200" }
    turn(function() return #records == 1 and events[2] end)
    local stats = here.receiver:stats()
    assert.same({ 1, 1, 2, 1, 2, 1 }, { stats.connections, stats.online, stats.messages, stats.acknowledged, stats.signals, stats.damaged })
    assert.same({ "damaged", VIN }, { events[2].type, events[2].vin })
    here.receiver:close()
    here.receiver:close()
    assert.equal(0, here.receiver:stats().connections)
    assert.equal("closed", select(3, here.receiver:reload()))
  end)

  it("raises for wrong options", function()
    for more, text in pairs { [{ vehicles = { "x" } }] = "'x' is not a VIN", [{ vehicles = "all" }] = "must list the VINs",
      [{ port = "443" }] = "0 to 65535", [{ ack = "later" }] = "ack", [{ limits = { per_hour = 1 } }] = "per_hour",
      [{ limits = { message = 0 } }] = "from 1", [{ on_record = 1 }] = "must be a function", [{ onrecord = print }] = "onrecord",
      [{ loop = {} }] = "fleet.loop" } do
      assert.error_matches(function() telemetry.new(options(more)) end, text)
    end
    local given = options()
    given.vehicles = nil
    assert.error_matches(function() telemetry.new(given) end, "vehicles")
  end)

  it("that cannot listen says why", function()
    start()
    local other, err, kind = telemetry.new(options { port = here.receiver.port })
    assert.same({ nil, "network" }, { other, kind })
    assert.matches("in use", err.message)
  end)
end)
