-- A receiver of vehicles' telemetry: real TLS handshakes, upgrades, frames and acknowledgements, byte for byte.

local stream = require "fleet.stream"
local cjson = require "cjson"
local core = require "fleet.core"
local files = require "spec.support.harness.files"
local unpack = require("fleet.util.compat").unpack
local vehicle_pki = require "spec.support.servers.vehicle_pki"

local VIN = "5YJ3000TEST000001"
local mask = "\17\34\51\68"
local pki, receiver, clients

local upgrade_request = "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
  .. "Sec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==\r\nSec-WebSocket-Version: 13\r\nVersion: 1.3.0\r\nX-Network-Interface: wifi\r\n\r\n"
local upgraded = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
  .. "Sec-WebSocket-Accept: C/0nmHhBztSRGR1CwL6Tf4ZjwpY=\r\n\r\n"

setup(function() pki = vehicle_pki.new() end)
teardown(function() pki.close() end)

local function start(more)
  local options = { host = "127.0.0.1", port = 0, certificate = pki.server.certificate, certificate_key = pki.server.key,
    client_ca = pki.authorities }
  for name, value in pairs(more or {}) do options[name] = value end
  receiver = assert(stream.receiver(options))
end

before_each(function() clients = {} end)
after_each(function()
  for _, client in ipairs(clients) do client:close() end
  if receiver then receiver:close() end
  receiver = nil
end)

local function connect(vehicle, more)
  local options = { address = "127.0.0.1", name = "localhost", port = receiver:port(), server_ca = pki.server_ca,
    certificate = vehicle and vehicle.certificate, certificate_key = vehicle and vehicle.key }
  for name, value in pairs(more or {}) do options[name] = value end
  local client = assert(stream.client(options))
  clients[#clients + 1] = client
  return client
end

-- Turns both ends until done() or the client's end. → what the client got, what arrived, why the client ended.
local function turn(client, done, how)
  how = how or {}
  local got, arrived, ended = "", {}, nil
  for _ = 1, 4000 do
    local good, err = client:step()
    got = got .. client:take()
    if not good then ended = ended or err end
    receiver:step()
    local type, record, handle = receiver:take()
    while type do
      arrived[#arrived + 1] = { type = type, record = record, handle = handle }
      if type == "connected" then handle:admit(how.admit ~= false) end
      if type == "message" and how.acknowledge ~= false then handle:acknowledge() end
      type, record, handle = receiver:take()
    end
    if done and done(got, arrived) or ended then
      if ended then got = got .. client:take() end
      return got, arrived, ended
    end
    core.pause(0.001)
  end
  error("nothing came of it: " .. #got .. " bytes, " .. #arrived .. " arrivals")
end

local function open(vehicle, more, how)
  local client = connect(vehicle or pki.vehicle(VIN), more)
  client:send(upgrade_request)
  local got, arrived = turn(client, function(bytes) return string.find(bytes, "\r\n\r\n", 1, true) end, how)
  return client, got, arrived
end

local function message(more)
  local fields = { topic = "V", txid = "tx-1", created_at = 1767225600, sender_id = "vehicle_device." .. VIN,
    payload = "\10\7\8\8\18\3\64\71\1", device_type = "vehicle_device", device_id = VIN }
  for name, value in pairs(more or {}) do fields[name] = value end
  return stream.stream_message(fields)
end

local soc = "\10\13\8\8\18\9\41\0\0\0\0\0\224\81\64" -- Soc, double_value 71.5

local function frame(bytes) return stream.frame(2, bytes, mask) end

local function acknowledgement(txid, topic)
  local body = stream.acknowledgement(txid, topic or "V")
  return "\130" .. string.char(#body) .. body
end

describe("a vehicle", function()
  it("is named by its certificate, and its message is acknowledged byte for byte", function()
    start()
    local client, got, arrived = open()
    assert.equal(upgraded, got)
    local record = arrived[1].record
    assert.same({ "connected", VIN, "vehicle_device", "127.0.0.1", "1.3.0", "wifi" }, { arrived[1].type, record.id, record.kind,
      record.address, record.client_version, record.network_interface })
    client:send(frame(message { payload = soc }))
    got, arrived = turn(client, function(bytes) return #bytes > 0 end)
    assert.equal(acknowledgement "tx-1", got)
    record = arrived[1].record
    assert.same({ "V", "tx-1", { Soc = 71.5 }, {}, VIN }, { record.topic, record.txid, record.values, record.invalid, record.vin })
    assert.same({ 1, 1, 1 }, { receiver:stats().connections, receiver:stats().messages, receiver:stats().acknowledged })
  end)

  it("waits for the receiver's part of the handshake without being woken as writable", function()
    start()
    local client = connect(pki.vehicle(VIN)) -- the receiver does not answer: it is not stepped
    assert.equal("rw", (select(2, client:fd())))
    for _ = 1, 400 do
      assert(client:step())
      if select(2, client:fd()) == "r" then break end
      core.pause(0.001)
    end
    assert.equal("r", (select(2, client:fd())))
    client:send(upgrade_request)
    assert.equal(upgraded, (turn(client, function(bytes) return #bytes > 0 end)))
  end)

  it("gets no acknowledgement before the message is stored", function()
    start()
    local client = open()
    client:send(frame(message { payload = soc }))
    local got, arrived = turn(client, function(_, list) return list[1] end, { acknowledge = false })
    assert.equal("", got)
    arrived[1].handle:acknowledge()
    arrived[1].handle:acknowledge()
    got = turn(client, function(bytes) return #bytes > 0 end)
    assert.equal(acknowledgement "tx-1", got)
  end)

  -- The frames of the receiver, each with a head of two bytes or four.
  local function framed(envelope)
    if #envelope < 126 then return "\130" .. string.char(#envelope) .. envelope end
    return "\130\126" .. string.char(math.floor(#envelope / 256), #envelope % 256) .. envelope
  end
  local refusal = framed(stream.refusal "")

  local function held(client, wanted) -- the messages among the arrivals, none of them answered
    local got, arrived = turn(client, function(_, list) return #list == wanted end, { acknowledge = false })
    assert.equal("", got)
    local handles = {}
    for _, one in ipairs(arrived) do
      if one.type == "message" then handles[#handles + 1] = one.handle end
    end
    return handles
  end

  it("gets refusals in their order, behind the acknowledgements of earlier messages", function()
    start()
    local client = open()
    client:send(frame(message { txid = "tx-1", payload = soc }) .. frame "garbage" .. frame(message { txid = "tx-2", payload = soc })
      .. frame(message { txid = "tx-3", payload = "\10\200" }) .. frame(stream.acknowledgement("tx-4", "V")) .. frame "garbage")
    local one, two = unpack(held(client, 5))
    two:acknowledge() -- it was stored first
    assert.equal(acknowledgement "tx-2", (turn(client, function(bytes) return #bytes > 0 end)))
    one:acknowledge()
    local wanted = acknowledgement "tx-1" .. refusal .. framed(stream.refusal "tx-3") .. acknowledgement("tx-4", "") .. refusal
    assert.equal(wanted, (turn(client, function(bytes) return #bytes >= #wanted end)))
    client:send(frame "garbage")
    assert.equal(refusal, (turn(client, function(bytes) return #bytes > 0 end))) -- nothing waits: at once
  end)

  it("gets a refusal behind a message that stays without an answer, and none where the connection has ended", function()
    start()
    local client = open()
    client:send(frame(message { payload = soc }) .. frame "garbage")
    held(client, 2)[1]:leave()
    assert.equal(refusal, (turn(client, function(bytes) return #bytes > 0 end)))
    client:send(frame(message { payload = soc }) .. frame(message { payload = soc }) .. frame "garbage")
    local handles = held(client, 3)
    client:close()
    for _ = 1, 100 do
      receiver:step()
      receiver:take()
    end
    handles[2]:acknowledge()
    handles[1]:leave()
  end)

  it("is read no further while too many refusals wait", function()
    start { unacknowledged = 4 }
    local client = open()
    client:send(frame(message { payload = soc }))
    local handle = held(client, 1)[1]
    local count = 0
    for i = 1, 200 do
      if i <= 40 then client:send(frame "garbage") end
      client:step()
      core.pause(0.0005)
      receiver:step()
      while receiver:take() do count = count + 1 end
    end
    assert.is_true(count >= 3 and count < 40, tostring(count))
    handle:acknowledge()
    local wanted = acknowledgement "tx-1" .. string.rep(refusal, 40)
    assert.equal(wanted, (turn(client, function(bytes) return #bytes >= #wanted end)))
  end)

  it("has no message kept once it is answered: the collector does not see how large it is", function()
    start()
    local client = open()
    local payload = string.rep("\226\31\1x", 20000) -- a field that is not known, again and again
    for i = 1, 5 do client:send(frame(message { txid = tostring(i), payload = payload .. soc })) end
    collectgarbage()
    local before = stream.live_objects()
    local taken = 0
    local _, arrived = turn(client, function(_, list)
      taken = #list
      return taken == 5
    end, { acknowledge = false })
    assert.equal(before + 5, stream.live_objects())
    for i, one in ipairs(arrived) do
      if i % 2 == 1 then one.handle:acknowledge() else one.handle:leave() end
      assert.equal(before + 5 - i, stream.live_objects())
      one.handle:acknowledge() -- nothing is left to answer
      one.handle:leave()
    end
    local wanted = acknowledgement "1" .. acknowledgement "3" .. acknowledgement "5"
    turn(client, function(bytes) return bytes == wanted end)
  end)

  it("that is not admitted gets 403", function()
    start()
    local client = connect(pki.vehicle(VIN))
    client:send(upgrade_request)
    local got, arrived = turn(client, nil, { admit = false })
    assert.matches("^HTTP/1.1 403 Forbidden\r\n", got)
    assert.equal("connected", arrived[1].type)
    assert.equal(0, receiver:stats().connections)
    assert.equal(1, #arrived) -- it has not been connected, and has not disconnected
    assert.is_nil((receiver:take()))
  end)

  it("that leaves is reported", function()
    start()
    local client = open()
    client:send(stream.frame(8, "\3\232", mask))
    local got, arrived = turn(client)
    assert.equal("\136\2\3\232", got)
    assert.equal("disconnected", arrived[1].type)
    assert.equal(VIN, arrived[1].record.id)
  end)

  it("that closes with a code that no peer may send, or sends a control frame of the long form, gets a protocol error", function()
    start()
    local codes = { [0] = false, [999] = false, [1004] = false, [1005] = false, [1006] = false, [1014] = false, [1015] = false,
      [1016] = false, [2999] = false, [5000] = false, [1000] = true, [1003] = true, [1007] = true, [1013] = true, [3000] = true,
      [4999] = true }
    local function answer_of(bytes)
      local client = open()
      client:send(bytes)
      return (turn(client))
    end
    for code, allowed in pairs(codes) do
      local sent = string.char(math.floor(code / 256), code % 256)
      local wanted = allowed and "\136\2" .. sent or "\136\16\3\234bad close code"
      assert.equal(wanted, answer_of(stream.frame(8, sent, mask)), code)
    end
    local short = stream.frame(9, "x", mask)
    local long = string.sub(short, 1, 1) .. "\254\0\1" .. string.sub(short, 3)
    assert.equal("\136\19\3\234bad control frame", answer_of(long))
  end)

  it("is upgraded when headers that only inform come twice: the first one counts", function()
    start()
    local client = connect(pki.vehicle(VIN))
    client:send((string.gsub(upgrade_request, "\r\n\r\n$", "\r\nVersion: 1.4.0\r\nX-TXID: a\r\nX-TXID: b\r\n"
      .. "X-Network-Interface: cellular\r\n\r\n")))
    local got, arrived = turn(client, function(bytes) return string.find(bytes, "\r\n\r\n", 1, true) end)
    assert.equal(upgraded, got)
    local record = arrived[1].record
    assert.same({ "1.3.0", "a", "wifi" }, { record.client_version, record.txid, record.network_interface })
    for _, header in ipairs { "Sec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==", "Sec-WebSocket-Version: 13" } do
      client = connect(pki.vehicle(VIN))
      client:send((string.gsub(upgrade_request, "\r\n\r\n$", "\r\n" .. header .. "\r\n\r\n")))
      assert.matches("^HTTP/1.1 400 ", (turn(client)))
    end
  end)

  it("that sends more than may wait for an answer waits, and loses nothing", function()
    start { unacknowledged = 4 }
    local client = open()
    local handles, seen = {}, 0
    for i = 1, 2000 do client:send(frame(message { txid = "tx-" .. i, payload = soc })) end
    for _ = 1, 60000 do
      client:step()
      receiver:step()
      local type, _, handle = receiver:take()
      while type do
        if type == "message" then
          seen = seen + 1
          handles[#handles + 1] = handle
        end
        type, _, handle = receiver:take()
      end
      if #handles > 0 then table.remove(handles, 1):acknowledge() end
      if seen == 2000 and #handles == 0 then break end
    end
    assert.equal(2000, seen)
    client:step()
    assert.equal(2000, receiver:stats().acknowledged)
  end)

  -- Sends messages one after another, each once the one before it has arrived; takes none of a vehicle that is paused. Returns the handles.
  local function send_until_paused(client, bytes)
    local handles = {}
    while #handles < 100 do
      client:send(frame(message { txid = "tx-" .. #handles + 1, payload = bytes }))
      local came = false
      for _ = 1, 400 do
        client:step()
        receiver:step()
        local type, _, handle = receiver:take()
        if type == "message" then
          handles[#handles + 1], came = handle, true
          break
        end
        core.pause(0.0005)
      end
      if not came then break end
    end
    return handles
  end

  -- How many of the handles are acknowledged until the next message arrives.
  local function acknowledged_until_read(client, handles)
    for i, handle in ipairs(handles) do
      handle:acknowledge()
      for _ = 1, 100 do
        client:step()
        receiver:step()
        if receiver:take() == "message" then return i end
        core.pause(0.0005)
      end
    end
  end

  it("is not read while as many messages as may wait are unanswered, and is read again when half of them are answered", function()
    start { unacknowledged = 4 }
    local client = open()
    local handles = send_until_paused(client, soc)
    assert.equal(4, #handles)
    assert.equal(3, acknowledged_until_read(client, handles)) -- one is left: fewer than half
  end)

  it("is not read while unanswered messages have more than four times the bytes of the longest one", function()
    start { message = 1024, unacknowledged = 100 }
    local client = open()
    local large = string.rep(soc, 50)
    local size = #message { txid = "tx-1", payload = large }
    assert.is_true(size < 1024)
    local handles = send_until_paused(client, large)
    assert.equal(math.floor(4096 / size) + 1, #handles)
    assert.is_truthy(acknowledged_until_read(client, handles))
  end)
end)

describe("a certificate", function()
  for _, newest in ipairs { 12, 13 } do
    for name, given in pairs { ["of the product's issuer"] = { {}, true },
      ["of an issuer whose only extended key usage is any"] = { { issuer = "products" }, true },
      ["without an extended key usage has no kind"] = { { usage = false }, false },
      ["of an unknown key below a known name"] = { { issuer = "foreign" }, false },
      ["of an issuer that is not listed"] = { { issuer = "unlisted" }, false },
      ["of a server"] = { { usage = "serverAuth,1.3.6.1.4.1.49279.2.5.1" }, false },
      ["without the OID"] = { { usage = "clientAuth" }, false },
      ["that has ended"] = { { days = -1 }, false } } do
      it(name .. ", TLS 1." .. newest - 10 .. (given[2] and ", is taken" or ", is refused"), function()
        start()
        local client = connect(pki.vehicle(VIN, given[1]), { newest = newest })
        client:send(upgrade_request)
        local got, arrived = turn(client, function(bytes) return #bytes > 0 end)
        if given[2] then
          assert.equal(upgraded, got)
        else
          assert.equal("", got)
          assert.equal("refused", arrived[1].type)
          assert.is_string(arrived[1].record.reason)
          assert.equal(0, receiver:stats().connections)
        end
      end)
    end
  end

  it("is needed", function()
    start()
    local client = connect(nil)
    client:send(upgrade_request)
    local got, arrived, ended = turn(client)
    assert.equal("", got)
    assert.equal("refused", arrived[1].type)
    assert.is_truthy(ended)
  end)

  it("of our own is renewed for new connections; open ones continue", function()
    start()
    local first = open()
    local other = vehicle_pki.new()
    local renewed = { certificate = other.server.certificate, certificate_key = other.server.key, client_ca = pki.authorities }
    assert.is_true(receiver:renew(renewed))
    local second = connect(pki.vehicle(VIN), { server_ca = other.server_ca })
    second:send(upgrade_request)
    assert.equal(upgraded, (turn(second, function(bytes) return #bytes > 0 end)))
    first:send(frame(message { payload = soc }))
    assert.equal(acknowledgement "tx-1", (turn(first, function(bytes) return #bytes > 0 end)))
    local _, err, kind = receiver:renew { certificate = "nothing", certificate_key = "x", client_ca = pki.authorities }
    assert.equal("invalid", kind)
    assert.matches("^certificate: .*PEM is wanted", err.message)
    renewed.client_ca = "nothing"
    assert.matches("^client_ca: .*PEM is wanted", (select(2, receiver:renew(renewed))).message)
    renewed.client_ca, renewed.certificate_key = pki.authorities, pki.server.key
    _, err, kind = receiver:renew(renewed)
    assert.same({ "tls", "certificate_key: this key does not belong to the certificate" }, { kind, err.message })
    other.close()
  end)
end)

-- What goes over one connection, as the maker's server answers it.
describe("a connection", function()
  local function unhex(text)
    return (string.gsub(text, "..", function(digits) return string.char(tonumber(digits, 16)) end))
  end

  -- Plain HTTP is answered in words of our own; what came of certificates has specs above; one acknowledgement is enough for a message
  -- that is none.
  local function status_line(text) return string.match(text, "^HTTP/1.1 %d+ [^\r]*") end

  for _, v in ipairs(cjson.decode(files.read "spec/vectors/telemetry/sessions.json").vectors) do
    if v.exchange and not string.find(v.name, "certificate", 1, true) and not string.find(v.name, "TLS 1.1", 1, true)
      and v.exchange[1].client then
      it("is answered as by the maker's server: " .. v.name, function()
        start()
        local client = connect(pki.vehicle(VIN))
        for _, step in ipairs(v.exchange) do
          if step.client then
            client:send(step.text or unhex(step.hex))
          else
            local wanted = step.text or unhex(step.hex)
            if v.name == "an ack from the vehicle" and step.hex then wanted = string.sub(wanted, 1, 82) end -- the maker answers twice
            local got = turn(client, function(bytes) return #bytes >= #wanted and (#wanted > 0 or step["then"] ~= nil) end)
            if string.sub(wanted, 1, 4) == "HTTP" and not string.find(wanted, "101 Switching", 1, true) then
              assert.equal(status_line(wanted), status_line(got))
              return
            end
            assert.equal(string.gsub(wanted, ".", function(c) return string.format("%02x", string.byte(c)) end),
              string.gsub(got, ".", function(c) return string.format("%02x", string.byte(c)) end))
          end
        end
      end)
    end
  end

  it("whose message is too long gets an error, and continues", function()
    start { message = 2000 }
    local client = open()
    client:send(frame(message { payload = string.rep("x", 3000) }) .. frame(message { payload = soc }))
    local wanted = stream.refusal ""
    local got, arrived = turn(client, function(bytes, list) return list[2] and #bytes >= #wanted + 4 end)
    assert.equal("damaged", arrived[1].type)
    assert.equal("message", arrived[2].type)
    assert.equal("\130\126" .. string.char(math.floor(#wanted / 256), #wanted % 256) .. wanted, string.sub(got, 1, #wanted + 4))
  end)

  it("whose message has an id of more than 1 KB gets an error without it; one of 1 KB is acknowledged", function()
    start()
    local client = open()
    client:send(frame(message { txid = string.rep("x", 1024) })) -- and one byte of the topic
    local got, arrived = turn(client, function(bytes) return #bytes > 0 end)
    assert.equal("damaged", arrived[1].type)
    assert.matches("its id is longer than 1 KB", arrived[1].record.reason, 1, true)
    assert.equal(stream.refusal "", string.sub(got, -#stream.refusal ""))
    client:send(frame(message { txid = string.rep("x", 1023), payload = soc }))
    got, arrived = turn(client, function(bytes) return #bytes > 1023 end)
    assert.equal("message", arrived[1].type)
    assert.is_truthy(string.find(got, string.rep("x", 1023), 1, true))
  end)

  it("whose payload cannot be read is refused with its id", function()
    start()
    local client = open()
    client:send(frame(message { payload = "\10\200" }))
    local got, arrived = turn(client, function(bytes) return #bytes > 0 end)
    assert.equal("damaged", arrived[1].type)
    assert.equal(stream.refusal "tx-1", string.sub(got, 5))
  end)

  it("is read byte by byte as in one piece", function()
    start()
    local client = open()
    local bytes, wanted = frame(message { payload = soc }) .. stream.frame(9, "p", mask), acknowledgement "tx-1" .. "\138\1p"
    local got = ""
    for i = 1, #bytes do
      client:send(string.sub(bytes, i, i))
      client:step()
      receiver:step()
      local type, _, handle = receiver:take()
      if type == "message" then handle:acknowledge() end
      got = got .. client:take()
    end
    if #got < #wanted then got = got .. turn(client, function(more) return #got + #more >= #wanted end) end
    assert.equal(wanted, got)
  end)

  it("without a handshake or an upgrade in time is ended", function()
    start { arrival = 1 }
    local client = connect(pki.vehicle(VIN))
    local _, arrived, ended = turn(client)
    assert.equal("refused", arrived[1].type)
    assert.matches("in time", arrived[1].record.reason)
    assert.is_truthy(ended)
  end)
end)

describe("a receiver", function()
  it("refuses what is no certificate, and a port that is taken", function()
    local options = { host = "127.0.0.1", port = 0, certificate = pki.server.certificate, certificate_key = "none",
      client_ca = pki.authorities }
    local got, err, kind = stream.receiver(options)
    assert.is_nil(got)
    assert.equal("invalid", kind)
    assert.matches("^certificate_key: it cannot be read", err.message)
    options.certificate_key = pki.vehicle(VIN).key
    assert.equal("tls", (select(3, stream.receiver(options))))
    start()
    options.certificate_key, options.port = pki.server.key, receiver:port()
    assert.equal("network", (select(3, stream.receiver(options))))
    assert.error_matches(function() stream.receiver { host = "127.0.0.1", certifcate = "" } end, "certifcate")
  end)

  it("takes no more connections than it may, and the others later", function()
    start { connections = 1 }
    local first = open()
    local second = connect(pki.vehicle(VIN))
    second:send(upgrade_request)
    for _ = 1, 50 do
      second:step()
      receiver:step()
      core.pause(0.001)
    end
    assert.equal(1, receiver:stats().connections)
    first:close()
    assert.equal(upgraded, (turn(second, function(bytes) return #bytes > 0 end)))
  end)

  it("leaves nothing behind", function()
    start()
    open()
    receiver:close()
    receiver = nil
    for _, client in ipairs(clients) do client:close() end
    clients = {}
    collectgarbage()
    collectgarbage()
    assert.equal(0, stream.live_objects())
  end)
end)
