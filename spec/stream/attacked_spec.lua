-- A receiver under attack: peers that read slowly, hold connections, or flood; files that are empty.

local stream = require "fleet.stream"
local core = require "fleet.core"
local vehicle_pki = require "spec.support.servers.vehicle_pki"

local _, socket = pcall(require, "socket")
local with_socket = require("spec.support.harness.needs")("Lua's socket", it, pending)

local VIN = "5YJ3000TEST000001"
local mask = "\17\34\51\68"
local pki, receiver, clients

local upgrade_request = "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
  .. "Sec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==\r\nSec-WebSocket-Version: 13\r\n\r\n"

setup(function() pki = vehicle_pki.new() end)
teardown(function() pki.close() end)
before_each(function() clients = {} end)
after_each(function()
  for _, client in ipairs(clients) do client:close() end
  if receiver then receiver:close() end
  receiver = nil
end)

local function listen(more)
  local options = { host = "127.0.0.1", port = 0, certificate = pki.server.certificate, certificate_key = pki.server.key,
    client_ca = pki.authorities }
  for name, value in pairs(more or {}) do options[name] = value end
  return stream.receiver(options)
end

local function connect(vehicle)
  local client = assert(stream.client { address = "127.0.0.1", name = "localhost", port = receiver:port(), server_ca = pki.server_ca,
    certificate = vehicle and vehicle.certificate, certificate_key = vehicle and vehicle.key })
  clients[#clients + 1] = client
  return client
end

local function take_all()
  receiver:step()
  local arrived = {}
  local what, record, handle = receiver:take()
  while what do
    arrived[#arrived + 1] = { what = what, record = record }
    if what == "connected" then handle:admit(true) end
    what, record, handle = receiver:take()
  end
  return arrived
end

local function until_true(done)
  for _ = 1, 4000 do
    local value = done()
    if value then return value end
    core.pause(0.0005)
  end
  error "it did not come to that"
end

local function open(vehicle)
  local client = connect(vehicle or pki.vehicle(VIN))
  client:send(upgrade_request)
  local got = ""
  until_true(function()
    client:step()
    got = got .. client:take()
    take_all()
    return string.find(got, "\r\n\r\n", 1, true)
  end)
  return client
end

describe("an empty file", function()
  it("is no certificate and no authority, neither at the start nor later", function()
    for _, name in ipairs { "certificate", "certificate_key", "client_ca" } do
      local made, err, kind = listen { [name] = "" }
      if made then made:close() end
      assert.is_nil(made, name)
      assert.is_truthy(err and kind, name)
    end
    receiver = assert(listen())
    for _, name in ipairs { "certificate", "certificate_key", "client_ca" } do
      local pem = { certificate = pki.server.certificate, certificate_key = pki.server.key, client_ca = pki.authorities }
      pem[name] = ""
      assert.is_nil((receiver:renew(pem)), name)
    end
    open()
  end)

  it("makes no socket without TLS for viewers", function()
    for _, name in ipairs { "certificate", "certificate_key" } do
      local pem = { host = "127.0.0.1", viewers = true, certificate = pki.server.certificate, certificate_key = pki.server.key }
      pem[name] = ""
      local made = stream.receiver(pem)
      if made then made:close() end
      assert.is_nil(made, name)
    end
    receiver = assert(stream.receiver { host = "127.0.0.1", viewers = true })
  end)
end)

local function resident()
  local file = assert(io.open "/proc/self/statm")
  local pages = file:read "*a"
  file:close()
  return tonumber(string.match(pages, "^%d+ (%d+)")) * 4096
end

-- A viewer that sends pings and reads so slowly that `lag` bytes of answers wait for it. Returns how many bytes it has read when the
-- connection ends or `most` is reached, how many wait then, and by how much the process grew after the first 6 MB.
local function lag_behind(lag, most)
  local peer = assert(socket.connect("127.0.0.1", receiver:port()))
  clients[#clients + 1] = peer
  peer:setoption("recv-buffer-size", 65536)
  peer:settimeout(0)
  peer:send(upgrade_request)
  local pings, rest, sent, got, before, grown = string.rep(stream.frame(9, string.rep("p", 125), mask), 100), "", 0, 0, nil, 0
  for _ = 1, 400000 do
    if rest == "" then rest = pings end
    if sent - got < lag then
      local whole, _, part = peer:send(rest)
      local last = whole or part
      sent = sent + last * 127 / 131 -- a pong has no mask
      rest = string.sub(rest, last + 1)
    end
    for _, one in ipairs(take_all()) do
      if one.what == "disconnected" then return got, sent - got, grown end
    end
    if sent - got >= lag then
      local data, _, partial = peer:receive(16384)
      got = got + #(data or partial)
    end
    if not before and got > 6e6 then before = resident() end
    if before then grown = math.max(grown, resident() - before) end
    if got > most then break end
  end
  return got, sent - got, grown
end

describe("a peer that always lags behind its answers", function()
  with_socket("grows no memory", function()
    receiver = assert(stream.receiver { host = "127.0.0.1", viewers = true })
    local got, grown
    for _ = 1, 5 do -- how much the kernel buffers may differ from one connection to the next
      local _, lag = lag_behind(math.huge, math.huge)
      got, _, grown = lag_behind(lag - 150000, 16e6)
      if got > 16e6 then break end
    end
    assert.is_true(got > 16e6)
    if not os.getenv "ASAN_OPTIONS" then assert.is_true(grown < 5e6, grown) end -- AddressSanitizer keeps what is freed
  end)
end)

describe("a peer that reads no answers", function()
  with_socket("is dropped for the bytes that wait, before its deadline; one that reads stays", function()
    receiver = assert(stream.receiver { host = "127.0.0.1", viewers = true, arrival = 3600 })
    assert.equal(0, (lag_behind(24e6, 1))) -- it would begin to read when 24 MB wait
    assert.is_true(lag_behind(1000, 1e5) > 1e5)
  end)
end)

describe("messages whose handle is lost", function()
  it("do not stop the connection", function()
    receiver = assert(listen { unacknowledged = 2 })
    local car = open()
    local count = 0
    for i = 1, 20 do
      car:send(stream.frame(2, stream.stream_message { topic = "V", txid = "t" .. i, created_at = 5, sender_id = "vehicle_device." .. VIN,
        payload = "", device_type = "vehicle_device", device_id = VIN }, mask))
    end
    until_true(function()
      car:step()
      for _, one in ipairs(take_all()) do count = count + (one.what == "message" and 1 or 0) end
      collectgarbage()
      return count == 20
    end)
    assert.equal(0, receiver:stats().acknowledged)
  end)
end)

-- The receiver's steps until one of them says why connections wait.
local function until_full()
  return until_true(function() return receiver:step() end)
end

describe("connections beyond what the receiver can hold", function()
  with_socket("wait, with the reason, until a silent one is ended; vehicles stay", function()
    receiver = assert(listen { connections = 2, arrival = 4 })
    local car = open()
    for i = 2, 3 do clients[i] = assert(socket.connect("127.0.0.1", receiver:port())) end
    assert.equal("the limit 'connections' is reached", until_full())
    assert.equal(2, receiver:stats().connections)
    local refused
    until_true(function()
      for _, one in ipairs(take_all()) do refused = refused or one.what == "refused" and one.record.reason end
      return receiver:stats().accepted == 3
    end)
    assert.equal("no handshake in time", refused)
    assert.is_true((car:step()))
  end)

  it("wait while the process has no descriptor left", function()
    receiver = assert(listen())
    local files, client = {}, nil
    local ok, failure = pcall(function()
      while true do
        local file = io.open "/dev/null"
        if not file then break end
        files[#files + 1] = file
      end
      table.remove(files):close()
      client = connect(pki.vehicle(VIN))
      assert.matches("ulimit", until_full())
    end)
    for _, file in ipairs(files) do file:close() end
    assert(ok, failure)
    client:send(upgrade_request)
    local got = ""
    until_true(function() -- the receiver looks again after a second
      client:step()
      got = got .. client:take()
      take_all()
      return string.find(got, "101 Switching", 1, true)
    end)
  end)
end)

describe("a vehicle that vanishes", function()
  it("is gone after four minutes, also where its last acknowledgement is on its way", function()
    receiver = assert(listen())
    open()
    local milliseconds = require("probe_descriptors").user_timeout(receiver:port())
    assert.is_true(milliseconds == false or milliseconds == 240000, milliseconds) -- false: a system without the option
  end)
end)

describe("a handshake in very many small pieces", function()
  with_socket("is read in many steps, so that others are served in between", function()
    receiver = assert(listen())
    local size = 130000 -- of a ClientHello: about the most that OpenSSL reads
    local hello = { "\22\3\1\0\4\1\1" .. string.char(math.floor((size - 65536) / 256), size % 256) }
    for i = 1, size do hello[i + 1] = "\22\3\1\0\1\255" end
    local rest, steps, refused = table.concat(hello), 0, nil
    local peer = assert(socket.connect("127.0.0.1", receiver:port()))
    clients[1] = peer
    peer:settimeout(0)
    until_true(function()
      local whole, _, part = peer:send(rest)
      rest = string.sub(rest, (whole or part) + 1)
      steps = steps + 1
      for _, one in ipairs(take_all()) do refused = refused or one.what == "refused" and one.record.reason end
      return refused
    end)
    assert.is_true(steps > 10, steps)
  end)
end)
