-- Simulated cars that stream: real TLS connections to a receiver on this machine, in the simulator's time.

local core = require "fleet.core"
local fleet = require "fleet"
local sims = require "fleet.sim"
local stream = require "fleet.stream"
local streams = require "fleet.sim.telemetry.stream"

local BLUE, RED = "5YJ3FLEE9RF000001", "5YJSFLEE9KF000002"

describe("a simulated car", function()
  local sim, receiver, watch, seen, server, root, hold

  -- What arrives is admitted and acknowledged, unless hold says otherwise.
  local function drain()
    receiver:step()
    local type, record, handle = receiver:take()
    while type do
      seen[#seen + 1] = { type = type, record = record }
      if type == "connected" then handle:admit(true) end
      if type == "message" and not hold then handle:acknowledge() end
      type, record, handle = receiver:take()
    end
  end

  local function start(options)
    options = options or {}
    options.telemetry, options.speed = true, 0
    sim = assert(sims.new(options))
    local leaf, key
    root, key = assert(stream.issue { subject = "Receiver Root CA", authority = true, days = 30 })
    server = {}
    leaf, server.key = assert(stream.issue { subject = "localhost", host = "localhost", days = 30, issuer = root, issuer_key = key })
    server.certificate = leaf
    receiver = assert(stream.receiver { host = "127.0.0.1", port = 0, certificate = leaf, certificate_key = server.key,
      client_ca = sim:vehicle_ca() })
    watch = fleet.loop.watch(receiver:fd(), "r", drain)
  end

  before_each(function() seen, hold = {}, false end)
  after_each(function()
    if watch then watch:close() end
    if receiver then receiver:close() end
    if sim then sim:close() end
    sim, receiver, watch = nil, nil, nil
  end)

  local function until_(done, what)
    for _ = 1, 400 do
      if done() then return end
      fleet.loop.wait(0.02)
      fleet.loop.step()
    end
    error("it has not come: " .. what)
  end

  local function count(type, vin, from)
    local n = 0
    for i = from or 1, #seen do
      if seen[i].type == type and (not vin or vin == (seen[i].record.vin or seen[i].record.id)) then n = n + 1 end
    end
    return n
  end

  local function last(vin)
    for i = #seen, 1, -1 do
      if seen[i].type == "message" and (not vin or seen[i].record.vin == vin) then return seen[i].record end
    end
  end

  local function vehicle(vin) return sim.service.by_vin[vin or BLUE] end

  local function configure(vin, fields, more)
    local config = { hostname = "localhost", port = receiver:port(), ca = root,
      fields = fields or { Soc = { interval_seconds = 60 }, Gear = { interval_seconds = 1 } } }
    for name, value in pairs(more or {}) do config[name] = value end
    vehicle(vin).configs.c1 = { config = config, at = sim.service:now() }
  end

  local function connect(vin, fields, more)
    configure(vin, fields, more)
    sim:advance(6)
    until_(function() return count("message", vin) > 0 end, "a message of " .. tostring(vin))
  end

  local function errors_of(vin)
    local list = {}
    for _, entry in ipairs(vehicle(vin).telemetry_errors) do list[#list + 1] = entry.error_name .. ": " .. entry.error end
    return table.concat(list, "\n")
  end

  it("sends all its fields first, then what has changed", function()
    start()
    connect(BLUE)
    local record = last()
    assert.same({ 62, BLUE, "V" }, { record.values.Soc, record.vin, record.topic })
    assert.same({ "Gear" }, record.invalid)
    assert.matches("^%x+%-000000001$", record.txid)
    assert.near(sim.service:now(), record.at, 2)
    sim:advance(300)
    local before = count "message"
    sim:event("unplug", BLUE)
    sim:event("drive", BLUE)
    sim:advance(120)
    until_(function() return count "message" >= before + 2 end, "the drive")
    assert.equal("D", seen[before + 2] and last().values.Gear or "D")
    local low = 100
    for _, one in ipairs(seen) do
      if one.type == "message" and one.record.values.Soc then low = math.min(low, one.record.values.Soc) end
    end
    assert.is_true(low < 62)
  end)

  it("has a certificate of the authority that OpenSSL's default refuses, one in three", function()
    start()
    connect(BLUE)
    connect(RED)
    local chain = sim.cars.authority:car(RED, 2).certificate
    assert.equal("Tesla Motors Products CA", stream.certificates(chain)[1].issuer)
    assert.equal("Tesla Motors Product Issuing CA", stream.certificates(sim.cars.authority:car(BLUE, 1).certificate)[1].issuer)
  end)

  it("leaves when it falls asleep and comes back when it wakes", function()
    start()
    connect(BLUE)
    sim:event("sleep", BLUE)
    sim:advance(1)
    until_(function() return count "disconnected" == 1 end, "the end")
    sim:advance(3600)
    assert.equal(1, count "connected")
    sim:event("online", BLUE)
    sim:advance(1)
    until_(function() return count "connected" == 2 end, "the second connection")
  end)

  it("sends values again by their resend interval, and none after the configuration has expired", function()
    start()
    local now = sim.service:now()
    connect(BLUE, { Soc = { interval_seconds = 10, resend_interval_seconds = 600 } }, { exp = now + 2000 })
    sim:advance(1900)
    until_(function() return count "message" == 4 end, "three repeats")
    sim:advance(7200)
    until_(function() return count "disconnected" == 1 end, "the end of the configuration")
    assert.equal(4, count "message")
  end)

  it("sends once more what was not acknowledged, where the policy is latest", function()
    start()
    hold = true
    connect(BLUE, { Gear = { interval_seconds = 1 } }, { delivery_policy = "latest" })
    assert.is_false(last().resend)
    hold = false
    sim:advance(40)
    until_(function() return last().resend end, "the resend")
    sim:advance(120)
    assert.equal(2, count "message")
  end)

  it("does not repeat what was acknowledged before its sending had returned", function()
    start()
    connect(BLUE, { Odometer = { interval_seconds = 1 } }, { delivery_policy = "latest" })
    local link = sim.cars.links[vehicle().configs.c1]
    until_(function() return not next(link.stream.unacknowledged) end, "the acknowledgement")
    hold = true
    local send, sent = link.connection.send, 0
    link.connection.send = function(self, bytes)
      sent = sent + 1
      send(self, bytes)
      self.given.on_acknowledged(self, string.match(bytes, link.run .. "%-%d+"))
    end
    sim:event("unplug", BLUE)
    sim:event("drive", BLUE)
    sim:advance(10)
    until_(function() return sent >= 5 end, "the drive")
    assert.is_nil(next(link.stream.unacknowledged))
  end)

  it("goes on when the receiver ends the connection in the middle of a flood", function()
    start { faults = { "flood" } }
    configure(BLUE, { Odometer = { interval_seconds = 1 } }, { delivery_policy = "latest" })
    sim:advance(6)
    local link = sim.cars.links[vehicle().configs.c1]
    local connection, sent = link.connection, 0
    local send = connection.send
    connection.send = function(self, bytes)
      sent = sent + 1
      if sent == 5 then return link:ended(self, "closed") end
      send(self, bytes)
    end
    until_(function() return sent == 500 end, "the flood")
    assert.is_nil(link.connection)
    assert.is_truthy(link.stream.pool.Odometer)
  end)

  it("does not connect to another machine, and lists why", function()
    start()
    configure(BLUE, nil, { hostname = "telemetry.example.com" })
    sim:advance(10)
    sim:advance(10)
    assert.matches("this machine only: hostname localhost, not telemetry.example.com", errors_of(BLUE))
    assert.equal(1, #vehicle(BLUE).telemetry_errors)
  end)

  it("lists the fields that it does not know, and streams the others", function()
    start { garage = { vehicles = { { vin = BLUE, firmware_version = "2024.26.1" } } } }
    connect(BLUE, { Soc = { interval_seconds = 60 }, Socc = { interval_seconds = 60 }, DetailedChargeState = { interval_seconds = 1 } })
    assert.matches("unsupported_field: field Socc is not supported", errors_of(BLUE))
    assert.matches("unsupported_field: field DetailedChargeState is not supported", errors_of(BLUE))
    assert.same({ Soc = 62 }, last().values)
  end)

  it("does not believe a receiver whose chain leads to no root of ca, and lists why", function()
    start()
    configure(BLUE, nil, { ca = (stream.issue { subject = "Another Root CA", authority = true, days = 30 }) })
    sim:advance(6)
    until_(function() return errors_of(BLUE) ~= "" end, "an error")
    assert.matches("unknown authority", errors_of(BLUE))
    assert.equal(0, count "connected")
  end)

  it("lists that it finds no receiver, and connects when there is one", function()
    start()
    local port = receiver:port()
    configure(BLUE)
    watch:close()
    receiver:close()
    sim:advance(6)
    until_(function() return errors_of(BLUE) ~= "" end, "an error")
    assert.equal("config_manager_error: no connection: Connection refused", errors_of(BLUE))
    receiver = assert(stream.receiver { host = "127.0.0.1", port = port, certificate = server.certificate, certificate_key = server.key,
      client_ca = sim:vehicle_ca() })
    watch = fleet.loop.watch(receiver:fd(), "r", drain)
    sim:advance(120)
    until_(function() return count "connected" == 1 end, "a connection")
  end)

  describe("has a fault:", function()
    it("wrong_authority", function()
      start { faults = { "wrong_authority" } }
      configure(BLUE)
      sim:advance(6)
      until_(function() return count "refused" == 1 end, "a refusal")
      assert.equal(0, count "connected")
    end)

    it("two_sockets, late_disconnect", function()
      for _, name in ipairs { "two_sockets", "late_disconnect" } do
        seen = {}
        start { faults = { name } }
        connect(BLUE)
        until_(function() return count "connected" == 2 end, "a second socket")
        sim:advance(10)
        if name == "late_disconnect" then until_(function() return count "disconnected" == 1 end, "the late end") end
        assert.equal(name == "late_disconnect" and 1 or 2, receiver:stats().connections)
        watch:close()
        receiver:close()
        sim:close()
      end
    end)

    it("drop_connection", function()
      start { faults = { "drop_connection" } }
      connect(BLUE)
      until_(function() return count "disconnected" == 1 end, "the end")
      sim:advance(60)
      until_(function() return count "connected" == 2 end, "a new connection")
    end)

    for name, check in pairs {
      future_clock = function(record) assert.is_true(record.at > sim.service:now() + 250) end,
      text_values = function(record) assert.same({ "62.0", {} }, { string.format("%.1f", record.texts.Soc), record.values }) end,
      invalid_fields = function(record) assert.same({ "Soc", "Gear" }, record.invalid) end,
      unknown_fields = function(record) assert.equal("new", record.texts["9001"]) end,
    } do
      it(name, function()
        start { faults = { name } }
        connect(BLUE)
        check(last())
      end)
    end

    it("garbage, huge and flood", function()
      for name, wanted in pairs { garbage = "damaged", huge = "damaged", flood = "message" } do
        seen = {}
        start { faults = { name } }
        configure(BLUE)
        sim:advance(6)
        until_(function() return count "connected" == 1 end, "a connection")
        sim:advance(1)
        until_(function() return count(wanted) >= (name == "flood" and 500 or 1) end, name)
        if wanted == "damaged" then until_(function() return errors_of(BLUE) ~= "" end, "the refusal") end
        watch:close()
        receiver:close()
        sim:close()
      end
    end)

    it("no_ack_wait", function()
      start { faults = { "no_ack_wait" } }
      hold = true
      connect(BLUE, { Gear = { interval_seconds = 1 } }, { delivery_policy = "latest" })
      sim:advance(120)
      assert.equal(1, count "message")
    end)

    it("slow_reader, which loses nothing of what it sends", function()
      start { faults = { "slow_reader" } }
      connect(BLUE, { Odometer = { interval_seconds = 1 } }, { delivery_policy = "latest" })
      sim:event("unplug", BLUE)
      sim:event("drive", BLUE)
      sim:advance(20)
      until_(function() return count "message" >= 20 end, "the drive")
      assert.is_truthy(next(sim.cars.links[vehicle().configs.c1].stream.unacknowledged))
    end)

    it("lost_last_value", function()
      start { faults = { "lost_last_value" } }
      configure(BLUE)
      sim:advance(6)
      until_(function() return sim.cars:state().connected == 1 end, "a connection")
      sim:advance(60)
      sim:event("sleep", BLUE)
      sim:advance(600)
      assert.equal(0, count "message")
      sim:event("online", BLUE)
      sim:advance(1)
      until_(function() return count "message" >= 1 end, "the late value")
    end)
  end)

  it("drives a figure of eight of ten miles, back to where it began", function()
    start()
    local drive = vehicle(BLUE).sections.drive_state
    local latitude, longitude = drive.latitude, drive.longitude
    local odometer = vehicle(BLUE).sections.vehicle_state.odometer
    sim:event("unplug", BLUE)
    sim:event("drive", BLUE, { speed = 60 })
    sim:advance(150)
    assert.near(odometer + 2.5, vehicle(BLUE).sections.vehicle_state.odometer, 0.001)
    assert.is_true(math.abs(drive.latitude - latitude) > 0.01)
    sim:advance(8 * 0.8 * math.pi / 2 / 60 * 3600 - 150)
    assert.near(latitude, drive.latitude, 1e-4)
    assert.near(longitude, drive.longitude, 1e-4)
    sim:event("park", BLUE)
    sim:advance(60)
    assert.near(odometer + 4 * 0.8 * math.pi, vehicle(BLUE).sections.vehicle_state.odometer, 0.01)
  end)

  it("has the voltage and the current of its pack: the power of a drive, and of charging", function()
    sim = assert(sims.new { speed = 0 })
    local fields = require "fleet.sim.telemetry.fields"
    local function power(kw)
      return fields.value(vehicle(BLUE), "PackVoltage", kw) * fields.value(vehicle(BLUE), "PackCurrent", kw) / 1000
    end
    assert.near(7, power(7), 0.05)
    sim:event("unplug", BLUE)
    sim:event("drive", BLUE, { speed = 60 })
    sim:advance(60)
    local driven = vehicle(BLUE).sections.drive_state.power
    assert.is_true(driven > 5)
    assert.near(-driven, power(0), 0.05)
  end)

  it("without the option connects to nothing", function()
    sim = assert(sims.new { speed = 0 })
    assert.is_nil(sim:vehicle_ca())
    assert.is_nil(sim.service.telemetry)
    assert.is_nil(core.json_decode(sim:first_line()).telemetry_ca)
  end)
end)

describe("a stream", function()
  local function made(fields, more)
    local service = require("fleet.sim.service").new { endpoints = core.endpoints(), commands = core.commands() }
    local car = service.vehicles[1]
    local config = { fields = fields }
    for name, value in pairs(more or {}) do config[name] = value end
    return streams.new(car, config, core.telemetry_fields(), function() end), car
  end

  it("sends a number when it has moved by minimum_delta, a place by metres", function()
    local one, car = made {
      Odometer = { interval_seconds = 1, minimum_delta = 1 }, Location = { interval_seconds = 1, minimum_delta = 100 },
    }
    assert.equal(2, #one:step(0))
    car.sections.vehicle_state.odometer = car.sections.vehicle_state.odometer + 0.9
    car.sections.drive_state.latitude = car.sections.drive_state.latitude + 0.0008 -- 89 m
    assert.is_nil(one:step(1))
    car.sections.vehicle_state.odometer = car.sections.vehicle_state.odometer + 0.2
    car.sections.drive_state.latitude = car.sections.drive_state.latitude + 0.0002
    assert.equal(2, #one:step(2))
    assert.is_nil(one:step(3))
  end)

  it("waits for the interval, and takes along what is included", function()
    local one, car = made { Gear = { interval_seconds = 10, include_fields = { "Odometer" } } }
    assert.equal(2, #one:step(0))
    car.sections.drive_state.shift_state = "D"
    assert.is_nil(one:step(9))
    local list = one:step(10)
    assert.same({ "Gear", "D", "Odometer" }, { list[1].field, list[1].value, list[2].field })
  end)

  it("gives what was not acknowledged once more as its newest value, only with the policy latest", function()
    for _, policy in ipairs { "latest", false } do
      local one, car = made({ Gear = { interval_seconds = 1 } }, { delivery_policy = policy or nil })
      one:sent("a", one:step(0), 0)
      car.sections.drive_state.shift_state = "D"
      one:sent(nil, one:step(2), 2)
      one:disconnected()
      local again = one:again(3)
      if policy then assert.same({ { field = "Gear", value = "D" } }, again) else assert.is_nil(again) end
      assert.is_nil(one:again(100))
    end
  end)
end)
