-- Outputs of a receiver: lines, Redis streams, MQTT in the layout of the maker's server. What is acknowledged is stored.

local cjson = require "cjson"
local core = require "fleet.core"
local fleet = require "fleet"
local mosquitto = require "spec.support.servers.mosquitto"
local needs = require "spec.support.harness.needs"
local outputs = require "fleet.telemetry.outputs"
local process = require "spec.support.harness.process"
local redis = require "spec.support.servers.redis"
local streams = require "spec.support.servers.vehicle_stream"
local telemetry = require "fleet.telemetry"
local vehicle_pki = require "spec.support.servers.vehicle_pki"

local VIN = "5YJ3000TEST000001"
local pki, opened, cars, notices

setup(function() pki = vehicle_pki.new() end)
teardown(function() pki.close() end)
before_each(function() opened, cars, notices = {}, {}, {} end)
after_each(function()
  for _, car in ipairs(cars) do car:close() end
  for _, receiver in ipairs(opened) do receiver:close() end
  for _ = 1, 50 do fleet.loop.step() end
end)

local function start(...)
  local receiver = assert(telemetry.new { host = "127.0.0.1", port = 0, certificate = pki.server.certificate,
    certificate_key = pki.server.key, client_ca = pki.authorities, vehicles = { VIN }, ack = "when_stored", outputs = { ... },
    on_notice = function(text)
      if not string.find(text, "^client_ca: not Tesla's") then notices[#notices + 1] = text end
    end })
  opened[#opened + 1] = receiver
  return receiver
end

local function connect(receiver)
  local car = streams.connect { pki = pki, port = receiver.port, vin = VIN }
  cars[#cars + 1] = car
  return car
end

local function turn(done)
  return streams.run_until(cars, done, function() return table.concat(notices, "; ") end)
end

describe("the output lines", function()
  it("has a JSON object per record, and one that fails keeps the acknowledgement back", function()
    local texts, works = {}, true
    local receiver = start(outputs.lines { write = function(text)
      texts[#texts + 1] = text
      return works
    end })
    local car = connect(receiver)
    car:send { txid = "a", at = 1767225600, values = { Soc = 71.5, VehicleSpeed = false } }
    turn(function() return car.acknowledged[1] end)
    local line = cjson.decode(texts[1])
    assert.same({ VIN, "V", "a", 1767225600, 71.5, { "VehicleSpeed" } },
      { line.vin, line.topic, line.txid, line.at, line.values.Soc, line.invalid })
    works = false
    car:send { txid = "b", values = { Soc = 70 } }
    turn(function() return texts[2] end)
    for _ = 1, 50 do fleet.loop.step() end
    assert.is_nil(car.acknowledged[2])
    works = true
    turn(function() return car.acknowledged[2] end)
    assert.matches("records wait for the output lines: ", table.concat(notices))
  end)

  it("needs somewhere to write to", function()
    assert.error_matches(function() outputs.lines {} end, "path")
    assert.equal("store", select(3, outputs.lines { path = "/nowhere/at/all" }))
  end)
end)

describe("the output redis", function()
  local server
  local function redis_it(name, fn)
    needs("redis-server", it, pending)(name, function()
      server = redis.start { settings = { "appendonly yes", "appendfsync always" } }
      local ok, failure = pcall(fn)
      server.stop()
      if not ok then error(failure, 0) end
    end)
  end

  local function ask(words)
    local pipe = io.popen("redis-cli -s " .. process.quote(server.directory .. "/socket") .. " " .. words)
    local text = pipe:read "*a"
    pipe:close()
    return text
  end

  redis_it("acknowledges what is in the vehicle's stream; another receiver reads the newest values", function()
    local first = start(assert(outputs.redis { address = server.address }))
    local second = start(assert(outputs.redis { address = server.address }))
    local car = connect(first)
    car:send { txid = "a", at = 1767225600, values = { Soc = 71.5, Location = { latitude = 1.5, longitude = -2 }, Locked = false } }
    car:send { txid = "b", at = 1767225700, values = { Locked = true, VehicleSpeed = false } }
    turn(function() return #car.acknowledged == 2 end)
    local entries = ask("XRANGE telemetry:" .. VIN .. " - +")
    assert.matches('"txid":"a".*"txid":"b"', entries)
    local vehicle = second:vehicle(VIN)
    assert.same({ Soc = 71.5, Location = { latitude = 1.5, longitude = -2 }, Locked = true }, vehicle.values)
    assert.same({ 1767225600, 1767225700 }, { vehicle.at.Soc, vehicle.at.Locked })
    local late = connect(second) -- its older value does not replace the newer one
    late:send { txid = "c", at = 1767225650, resend = true, values = { Locked = false } }
    turn(function() return late.acknowledged[1] end)
    assert.is_nil(string.find(table.concat(notices), "failed", 1, true), table.concat(notices, "; "))
    assert.matches("1767225700.000 ", ask("HGET telemetry:" .. VIN .. ":values Locked"))
  end)

  redis_it("loses nothing that was acknowledged when Redis is killed", function()
    local receiver = start(assert(outputs.redis { address = server.address, timeout = 1 }))
    local car = connect(receiver)
    for i = 1, 40 do car:send { txid = "tx" .. i, values = { Soc = i } } end
    turn(function() return #car.acknowledged >= 10 end)
    server.kill()
    for _ = 1, 100 do
      car:step()
      fleet.loop.step()
    end
    local before = #car.acknowledged
    server.again()
    local entries = ask("XRANGE telemetry:" .. VIN .. " - +")
    for i = 1, before do assert.is_truthy(string.find(entries, '"txid":"' .. car.acknowledged[i] .. '"', 1, true)) end
    turn(function() return #car.acknowledged == 40 end)
    entries = ask("XRANGE telemetry:" .. VIN .. " - +")
    for i = 1, 40 do assert.is_truthy(string.find(entries, '"txid":"tx' .. i .. '"', 1, true)) end
  end)
end)

describe("the output mqtt", function()
  needs("mosquitto", it, pending)("acknowledges what the broker has confirmed", function()
    local broker = mosquitto.start {}
    local receiver = start(assert(outputs.mqtt { broker = "mqtt://127.0.0.1:" .. broker.port, retain = true }))
    local car = connect(receiver)
    car:send { txid = "a", values = { Soc = 71.5, Locked = true } }
    turn(function() return car.acknowledged[1] end)
    local pipe = io.popen("mosquitto_sub -h 127.0.0.1 -p " .. broker.port .. " -t 'telemetry/" .. VIN .. "/v/#' -v -C 2 -W 5 2>&1")
    local text = pipe and pipe:read "*a"
    if pipe then pipe:close() end
    receiver:close()
    for _ = 1, 100 do
      fleet.loop.step()
      core.pause(0.001)
    end
    broker.stop()
    if string.find(text, "not found", 1, true) then return end
    assert.matches("v/Soc 71.5", text)
    assert.matches("v/Locked true", text)
  end)
end)

describe("an output that cannot be used when the receiver starts", function()
  local function is_noticed(text)
    return function() return string.find(table.concat(notices, "\n"), text, 1, true) end
  end

  -- A receiver with the output; it starts before the output is tried, and then reports each of the texts.
  local function reports(output, ...)
    local receiver = start(output)
    assert.same({}, notices)
    for _, text in ipairs { ... } do turn(is_noticed(text)) end
    return receiver
  end

  local function stores(receiver)
    local car = connect(receiver)
    car:send { txid = "a", values = { Soc = 71.5 } }
    turn(function() return car.acknowledged[1] end)
  end

  local with_redis = needs("redis-server", it, pending)

  local function redis_with(settings, fn)
    local server = redis.start(settings)
    local ok, failure = pcall(fn, server)
    server.stop()
    if not ok then error(failure, 0) end
  end

  with_redis("reports a Redis that is not there, and uses it once it is", function()
    redis_with({}, function(server)
      server.kill()
      local receiver = reports(assert(outputs.redis { address = server.address, timeout = 0.2 }),
        "the output redis cannot be used, and records wait: " .. server.address .. " does not answer",
        "start the server, or correct the address")
      server.again()
      turn(is_noticed "the output redis can be used now")
      stores(receiver)
      assert.equal(2, #notices)
    end)
  end)

  with_redis("reports a missing and a wrong password of Redis, and nothing where it is right", function()
    redis_with({ settings = { "requirepass secret" } }, function(server)
      reports(assert(outputs.redis { address = server.address }), "NOAUTH", "password_env")
      notices = {}
      reports(assert(outputs.redis { address = server.address, password = "wrong" }), "WRONGPASS", "correct the user or the password")
      assert.not_matches("wrong", (string.gsub(table.concat(notices), "WRONGPASS", "")))
      notices = {}
      reports(assert(outputs.redis { address = server.address, password_file = "/no/where" }), "the password file /no/where: ",
        "correct password_file")
      notices = {}
      stores(start(assert(outputs.redis { address = server.address, password = "secret" })))
      assert.same({}, notices)
    end)
  end)

  with_redis("reports an authority of Redis that is not known, and a wrong kind of connection", function()
    redis_with({ tls = true }, function(server)
      reports(assert(outputs.redis { address = server.address }), "certificate of Redis is not believed", "?ca_file=FILE")
      notices = {}
      reports(assert(outputs.redis { address = server.address, ca_file = "/no/where", timeout = 0.2 }), "correct ca_file")
      notices = {}
      reports(assert(outputs.redis { address = (string.gsub(server.address, "rediss", "redis")), timeout = 0.2 }), "needs rediss://")
    end)
  end)

  local with_broker = needs({ "mosquitto", "mosquitto_passwd" }, it, pending)

  local function broker_with(settings, fn)
    local broker = mosquitto.start(settings)
    local ok, failure = pcall(fn, broker)
    broker.stop()
    if not ok then error(failure, 0) end
  end

  with_broker("reports a broker that is not there, and uses it once it is", function()
    local port
    broker_with({}, function(broker) port = broker.port end)
    local receiver = reports(assert(outputs.mqtt { broker = "mqtt://127.0.0.1:" .. port }),
      "the output mqtt cannot be used, and records wait: cannot connect to the broker at 127.0.0.1", "start the broker")
    broker_with({ port = port }, function()
      turn(is_noticed "the output mqtt can be used now")
      stores(receiver)
    end)
  end)

  with_broker("reports a wrong password of the broker, and nothing where it is right", function()
    broker_with({ password = "secret" }, function(broker)
      local address = "mqtt://127.0.0.1:" .. broker.port
      reports(assert(outputs.mqtt { broker = address, user = "anna", password = "wrong" }), "not authorised", "user and password")
      notices = {}
      stores(start(assert(outputs.mqtt { broker = address, user = "anna", password = "secret" })))
      assert.same({}, notices)
    end)
  end)

  with_broker("reports an authority of the broker that is not known, and a wrong kind of connection", function()
    broker_with({ tls = "server" }, function(broker)
      reports(assert(outputs.mqtt { broker = "mqtts://localhost:" .. broker.port }), "certificate verify failed", "broker_ca_file")
      notices = {}
      reports(assert(outputs.mqtt { broker = "mqtt://127.0.0.1:" .. broker.port }), "mqtts:// with TLS")
      notices = {}
      stores(start(assert(outputs.mqtt { broker = "mqtts://localhost:" .. broker.port, broker_ca_file = broker.directory .. "/ca.pem" })))
      assert.same({}, notices)
    end)
  end)

  it("is named where it has a name; a check that raises is reported, and none follows a closed receiver", function()
    local checks = 0
    local own = { name = "archive", store = function() return true end, check = function()
      checks = checks + 1
      if checks == 1 then error "the tape is out" end
      return nil, "the tape is full", "store"
    end }
    local receiver = reports(own, "the output archive cannot be used, and records wait: ", "the tape is out", "the tape is full")
    receiver:close()
    local before = checks
    for _ = 1, 100 do fleet.loop.step() end
    assert.equal(before, checks)
    notices = {}
    reports({ store = own.store, check = own.check }, "an output cannot be used, and records wait: the tape is full")
  end)

  it("is repeated without keeping fleet.run from returning", function()
    local checks = 0
    local function check()
      checks = checks + 1
      if checks > 1 then return true end
      return nil, "the tape is out", "store"
    end
    fleet.run(function() start { store = function() return true end, check = check } end)
    assert.equal(1, checks)
    turn(function() return checks == 2 end)
  end)
end)
