-- The output teslamate: the WebSocket that TeslaMate's streaming client expects, from a vehicle's messages to the columns.

local fleet = require "fleet"
local needs = require "spec.support.harness.needs"
local outputs = require "fleet.telemetry.outputs"
local streams = require "spec.support.servers.vehicle_stream"
local run = require "spec.support.fixtures.teslamate_run"
local telemetry = require "fleet.telemetry"
local teslamate_client = require "spec.support.servers.teslamate_client"
local vehicle_pki = require "spec.support.servers.vehicle_pki"

local VIN, OTHER = "5YJ3000TEST000001", "5YJ3000TEST000002"
local pki, opened, sides, notices

setup(function() pki = vehicle_pki.new() end)
teardown(function() pki.close() end)
before_each(function() opened, sides, notices = {}, {}, {} end)
after_each(function()
  for _, side in ipairs(sides) do side:close() end
  for _, one in ipairs(opened) do one:close() end
  for _ = 1, 50 do fleet.loop.step() end
end)

local function with(list, one)
  list[#list + 1] = one
  return one
end

local function note(text) notices[#notices + 1] = text end

-- The output and its receiver.
local function start(given)
  given.port, given.on_notice = 0, note
  local output = assert(outputs.teslamate(given))
  return output, with(opened, assert(telemetry.new { host = "127.0.0.1", port = 0, certificate = pki.server.certificate,
    certificate_key = pki.server.key, client_ca = pki.authorities, vehicles = { VIN, OTHER }, outputs = { output }, on_notice = note }))
end

local function tls(given)
  given = given or {}
  given.certificate, given.certificate_key = pki.server.certificate, pki.server.key
  return start(given)
end

local function drive(receiver, vin) return with(sides, streams.connect { pki = pki, port = receiver.port, vin = vin or VIN }) end
local function watch(output, given)
  given = given or { server_ca = pki.server_ca }
  given.port = output.port
  return with(sides, teslamate_client.connect(given))
end

local function turn(done) return streams.run_until(sides, done, function() return table.concat(notices, "; ") end) end

local function subscribed(output, tag, token)
  local client = watch(output)
  client:subscribe(tag or VIN, token)
  turn(function() return client.heard[2] or client.ended end)
  return client
end

describe("the output teslamate", function()
  it("greets, says that no vehicle is there, and sends each change as columns", function()
    local output, receiver = tls()
    local client = subscribed(output)
    assert.same({ msg_type = "control:hello", connection_timeout = 0 }, client.heard[1])
    assert.same({ msg_type = "data:error", tag = VIN, error_type = "vehicle_disconnected", value = "" }, client.heard[2])
    local car = drive(receiver)
    car:send { at = 1767225600.5, values = { VehicleSpeed = 33.6, Odometer = 12345.6789, Soc = 71.5, BatteryLevel = 72.4,
      GpsHeading = 359.6,
      Location = { latitude = 52.519981, longitude = -13.4 }, Gear = { 5 }, RatedRange = 210.5, EstBatteryRange = 199.4,
      PackVoltage = 400, PackCurrent = -55.5 } }
    turn(function() return client.heard[3] end)
    assert.same({ "data:update", VIN }, { client.heard[3].msg_type, client.heard[3].tag })
    assert.same({ time = "1767225600000", speed = "34", odometer = "12345.679", soc = "72", est_heading = "360", heading = "360",
      est_lat = "52.519981", est_lng = "-13.400000", power = "22", shift_state = "D", range = "211", est_range = "199" },
      teslamate_client.columns(client.heard[3]))
    car:send { at = 1767225601, values = { InsideTemp = 22 } } -- no column
    car:send { at = 1767225602, values = { VehicleSpeed = false, Gear = false, PackCurrent = 27.5 } } -- parked, and charges
    turn(function() return client.heard[4] end)
    local columns = teslamate_client.columns(client.heard[4])
    assert.same({ "1767225602000", nil, nil, "-11", "72" },
      { columns.time, columns.speed, columns.shift_state, columns.power, columns.soc })
  end)

  it("answers the recorded bytes of TeslaMate's client with what the client decoded", function()
    local output = tls()
    output:connection { type = "connected", connection = 1, vin = run.vin }
    local client = watch(output, { server_ca = pki.server_ca, upgrade = run.upgrade })
    client:say(run.subscribe)
    turn(function() return client.heard[1] end)
    assert.same({ msg_type = "control:hello", connection_timeout = 0 }, client.heard[1])
    local function store(step)
      output:store { vin = run.vin, topic = "V", at = step.at, arrived = 1e10, connection = 1, values = step.values, invalid = {} }
    end
    for i, step in ipairs(run.steps) do
      store(step)
      turn(function() return client.heard[i + 1] end)
      local columns = teslamate_client.columns(client.heard[i + 1])
      for name, text in pairs(columns) do columns[name] = tonumber(text) or text end
      assert.same({ "data:update", run.vin, run.decoded[i] }, { client.heard[i + 1].msg_type, client.heard[i + 1].tag, columns })
    end
    client:say(run.unsubscribe)
    client:subscribe(OTHER)
    turn(function() return client.heard[#run.steps + 3] end)
    store { at = 1767225700, values = { BatteryLevel = 40 } }
    client:subscribe(OTHER)
    turn(function() return client.heard[#run.steps + 5] end)
    for i = #run.steps + 2, #client.heard do assert.is_not.equal(run.vin, client.heard[i].tag) end
  end)

  it("sends what is known to one that subscribes, of its vehicle alone", function()
    local output, receiver = tls()
    local car, other = drive(receiver), drive(receiver, OTHER)
    car:send { values = { Soc = 50, ACChargingPower = 10.6, DCChargingPower = 0 } }
    other:send { values = { Soc = 40 } }
    turn(function() return car.acknowledged[1] and other.acknowledged[1] end)
    local client = subscribed(output)
    local columns = teslamate_client.columns(client.heard[2])
    assert.same({ VIN, "50", "-11" }, { client.heard[2].tag, columns.soc, columns.power })
    client:subscribe(OTHER)
    turn(function() return client.heard[4] end)
    assert.same({ OTHER, "40", nil }, { client.heard[4].tag, teslamate_client.columns(client.heard[4]).soc,
      teslamate_client.columns(client.heard[4]).power })
    -- It drives and the power of the battery is unknown: 0, since an empty power means asleep.
    car:send { values = { Gear = { 5 }, ACChargingPower = 0, Odometer = 1, Location = { latitude = 1, longitude = 1 } } }
    turn(function() return client.heard[5] end)
    assert.equal("0", teslamate_client.columns(client.heard[5]).power)
    client:say { msg_type = "data:unsubscribe", tag = OTHER }
    client:subscribe(VIN) -- its answer shows that the message before it was read
    turn(function() return client.heard[7] end)
    other:send { values = { Soc = 39 } }
    turn(function() return other.acknowledged[2] end)
    car:send { values = { Soc = 51 } }
    turn(function() return client.heard[8] end)
    assert.equal(VIN, client.heard[8].tag)
  end)

  it("says what is wrong with a subscription, and lives with messages that are none", function()
    local output, receiver = tls { token = "a secret word" }
    drive(receiver):send { values = { Soc = 50 } }
    local client = watch(output)
    for _, text in ipairs { "no JSON", "[]", "{}", '{"msg_type":5,"tag":"x"}', '{"msg_type":"data:subscribe_oauth"}', "" } do
      client:say(text)
    end
    client:subscribe(VIN, "another word")
    client:say { msg_type = "data:subscribe_oauth", tag = VIN, value = 5, token = 7 }
    client:subscribe("1234567890", "a secret word")
    turn(function() return client.heard[3] end)
    assert.matches("set TeslaMate's variable TOKEN", client.heard[1].value)
    assert.matches("set TeslaMate's variable TOKEN", client.heard[2].value)
    assert.matches("set TESLA_WSS_USE_VIN=true", client.heard[3].value)
    -- TeslaMate subscribes again at once after a client_error, and after 30 seconds when it does not know the type.
    for i = 1, 3 do assert.equal("subscription_rejected", client.heard[i].error_type) end
    assert.equal(2, receiver:stats().tokens_refused)
    local _, said = string.gsub(table.concat(notices, "\n"), "TeslaMate at 127.0.0.1 sends another token", "%0")
    assert.equal(1, said)
    client:subscribe(VIN, "a secret word")
    turn(function() return client.heard[5] end)
    assert.equal("data:update", client.heard[5].msg_type)
    assert.equal(2, receiver:stats().tokens_refused)
  end)

  it("admits no page of a browser, and ends what sends bytes or endless texts", function()
    local output = tls()
    local page = watch(output, { server_ca = pki.server_ca, headers = "Origin: https://example.com\r\n" })
    turn(function() return page.ended end)
    assert.matches("^HTTP/1.1 403", page.head)
    local long, bytes, odd = watch(output), watch(output), watch(output)
    odd:say("\"caf\233\"")
    long:say(string.rep("x", 20000))
    bytes.client:send(require("fleet.stream").frame(2, "bytes", "\1\2\3\4"))
    turn(function() return long.ended and bytes.ended and odd.ended end)
    assert.same({ 1009, 1003, 1007 }, { long.close_code, bytes.close_code, odd.close_code })
    local french = watch(output)
    french:say("\"caf\195\169\"")
    french:subscribe(VIN)
    turn(function() return french.heard[1] end)
    assert.is_nil(french.ended)
  end)

  it("drops one that does not read, reports it, and continues for the others", function()
    local output, receiver = tls()
    local deaf, client = subscribed(output), subscribed(output)
    local car = drive(receiver)
    deaf.deaf = true
    local function dropped() return string.find(table.concat(notices), "does not read what it is sent", 1, true) end
    for round = 1, 4000 do -- the kernel takes some megabytes of it
      for i = 1, 50 do output:store { vin = VIN, topic = "V", at = round * 100 + i, arrived = 1e9, values = { Soc = i } } end
      client:step()
      fleet.loop.step()
      if dropped() then break end
    end
    turn(dropped)
    local before = #client.heard
    car:send { values = { Soc = 77 } }
    turn(function()
      local last = client.heard[#client.heard]
      return #client.heard > before and last.value and teslamate_client.columns(last).soc == "77"
    end)
    assert.is_nil(client.ended)
  end)

  it("takes no older value for news: what is sent again comes late", function()
    local output, receiver = tls()
    local car = drive(receiver)
    turn(function() return car.upgraded end)
    car:send { at = 1767225660, values = { Gear = { 2 }, VehicleSpeed = 0 } } -- parked
    car:send { at = 1767225600, resend = true, values = { Gear = { 5 }, VehicleSpeed = 60, Soc = 50 } }
    turn(function() return car.acknowledged[2] end)
    local columns = teslamate_client.columns(subscribed(output).heard[2])
    assert.same({ nil, "0", "50" }, { columns.shift_state, columns.speed, columns.soc })
  end)

  it("sends no update in gear before place and odometer are known", function()
    local output, receiver = tls()
    local car = drive(receiver)
    turn(function() return car.upgraded end)
    car:send { values = { Gear = { 5 }, VehicleSpeed = 20, Soc = 50 } }
    car:send { values = { Odometer = 100 } }
    turn(function() return car.acknowledged[2] end)
    local client = watch(output)
    client:subscribe(VIN) -- only control:hello
    car:send { values = { Location = { latitude = 1, longitude = 2 } } }
    turn(function() return client.heard[2] end)
    local columns = teslamate_client.columns(client.heard[2])
    assert.same({ "D", "1.000000", "2.000000", "100.000", "50" },
      { columns.shift_state, columns.est_lat, columns.est_lng, columns.odometer, columns.soc })
    car:send { values = { Location = false } }
    car:send { values = { Soc = 49 } }
    car:send { values = { Gear = { 2 } } } -- parked: TeslaMate records no position
    turn(function() return client.heard[3] end)
    columns = teslamate_client.columns(client.heard[3])
    assert.same({ nil, nil, "49" }, { columns.shift_state, columns.est_lat, columns.soc })
  end)

  it("derives a drive from the speed while the gear is unknown, as after a restart", function()
    local output, receiver = tls()
    local client = subscribed(output)
    local car = drive(receiver)
    turn(function() return car.upgraded end)
    local function sent(values, number)
      car:send { values = values }
      turn(function() return client.heard[2 + number] end)
      return teslamate_client.columns(client.heard[2 + number])
    end
    assert.is_nil(sent({ Odometer = 100, Location = { latitude = 1, longitude = 2 } }, 1).shift_state)
    local moving = sent({ VehicleSpeed = 30 }, 2)
    assert.same({ "D", "0" }, { moving.shift_state, moving.power })
    assert.is_nil(sent({ VehicleSpeed = 0 }, 3).shift_state)
    assert.equal("R", sent({ VehicleSpeed = 3, Gear = { 3 } }, 4).shift_state)
    assert.is_nil(sent({ Gear = { 2 } }, 5).shift_state) -- the speed is older news than P
    assert.is_nil(sent({ VehicleSpeed = 2, Gear = false }, 6).shift_state)
  end)

  it("forgets what a vehicle sent before it was away for long, and keeps it over a short break", function()
    local output = tls()
    local now = 1e6
    stub(require "fleet.async", "now", function() return now end)
    local function event(type, connection) output:connection { type = type, connection = connection, vin = VIN } end
    local function values() return output.vehicles[VIN].known.values end
    event("connected", 1)
    output:store { vin = VIN, topic = "V", at = 1, arrived = 1e9, connection = 1, values = { Gear = "D", VehicleSpeed = 60 } }
    event("disconnected", 1)
    now = now + 60
    event("connected", 2)
    assert.same({ Gear = "D", VehicleSpeed = 60 }, values())
    event("disconnected", 2)
    now = now + 601
    event("connected", 3)
    assert.same({}, values())
    require("fleet.async").now:revert()
  end)

  it("has room for a program while others hold connections without a subscription", function()
    local output, receiver = tls { token = "a secret word" }
    drive(receiver):send { values = { Soc = 50 } }
    local idle = {}
    for i = 1, 70 do
      idle[i] = watch(output)
      if i % 2 == 0 then idle[i]:subscribe(VIN, "another word") end
      turn(function() return idle[i].upgraded end)
    end
    local client = subscribed(output, VIN, "a secret word")
    assert.equal("data:update", client.heard[2].msg_type)
    assert.same({ true, nil }, { idle[1].ended ~= nil, idle[1].close_code }) -- TeslaMate's client fails at a close frame
    assert.is_nil(idle[70].ended)
  end)

  it("ends with its receiver", function()
    local output, receiver = tls()
    local client = subscribed(output)
    receiver:close()
    turn(function() return client.ended end)
    assert.is_nil(output.raw)
    output:close()
  end)

  needs("Lua's socket", it, pending)("is plain on loopback", function()
    local output, receiver = start {}
    drive(receiver):send { values = { Soc = 50 } }
    local client = watch(output, {})
    client:subscribe(VIN)
    turn(function() return client.heard[2] end)
    assert.equal("control:hello", client.heard[1].msg_type)
    client:say(string.rep("y", 16000)) -- in pieces
    client:subscribe(VIN)
    turn(function() return client.heard[3] end)
    receiver:close()
    turn(function() return client.ended end)
  end)

  it("refuses options that are wrong or unsafe", function()
    local function refused(given, pattern) assert.error_matches(function() outputs.teslamate(given) end, pattern) end
    refused({ host = "0.0.0.0" }, "without 'certificate' and 'certificate_key' it listens on 127.0.0.1")
    refused({ certificate = pki.server.certificate }, "go together")
    refused({ port = 70000 }, "0 to 65535")
    refused({ token = "" }, "'token'")
    refused({ prot = 1 }, "prot")
    assert.equal("store", select(3, outputs.teslamate { host = "0.0.0.0", certificate = "@/nowhere", certificate_key = "@/nowhere" }))
    local one = assert(outputs.teslamate { port = 0 })
    assert.equal("network", select(3, outputs.teslamate { port = one.port }))
    one:close()
  end)
end)
