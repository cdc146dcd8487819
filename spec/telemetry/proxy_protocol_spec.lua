-- The PROXY protocol: a load balancer that is listed says who connected; what another address says is not believed.

local files = require "spec.support.harness.files"
local needs = require "spec.support.harness.needs"
local nginx = require "spec.support.servers.nginx"
local process = require "spec.support.harness.process"
local streams = require "spec.support.servers.vehicle_stream"
local telemetry = require "fleet.telemetry"
local vehicle_pki = require "spec.support.servers.vehicle_pki"

local VIN = "5YJ3000TEST000001"
local pki, receiver, events

setup(function() pki = vehicle_pki.new() end)
teardown(function() pki.close() end)
before_each(function() events = {} end)
after_each(function()
  if receiver then receiver:close() end
  receiver = nil
end)

local function options(proxies)
  return { host = "127.0.0.1", port = 0, certificate = pki.server.certificate, certificate_key = pki.server.key,
    client_ca = pki.authorities, vehicles = { VIN }, proxy_protocol = proxies, on_notice = function() end,
    on_connection = function(event) events[#events + 1] = event end }
end

local function start(proxies) receiver = assert(telemetry.new(options(proxies))) end

local function turn(done, car)
  return streams.run_until({ car }, done, function() return #events .. " events" end)
end

-- Sends bytes, in pieces, and leaves.
local function say(pieces)
  local lines = { "exec 3<>/dev/tcp/127.0.0.1/" .. receiver.port }
  for _, piece in ipairs(pieces) do
    local escaped = string.gsub(piece, ".", function(c) return string.format("\\x%02x", string.byte(c)) end)
    lines[#lines + 1] = "printf '" .. escaped .. "' >&3; sleep 0.02"
  end
  os.execute("(bash -c " .. process.quote(table.concat(lines, "; ")) .. " >/dev/null 2>&1 &)")
  return turn(function() return events[1] end)
end

local v2 = "\r\n\r\n\0\r\nQUIT\n"

describe("a header of the PROXY protocol", function()
  for name, one in pairs {
    ["version 1"] = { { "PROXY TCP4 203.0.113.7 10.0.0.1 4711 8443\r\n", "no TLS" }, "203.0.113.7" },
    ["version 1 in pieces"] = { { "PRO", "XY TCP6 2001:db8::7 ::1 1 2\r", "\nno TLS" }, "2001:db8::7" },
    ["version 1 of an unknown family"] = { { "PROXY UNKNOWN\r\n", "no TLS" }, "127.0.0.1" },
    ["version 2"] = { { v2 .. "\33\17\0\12\203\0\113\7\10\0\0\1\0\1\0\2", "no TLS" }, "203.0.113.7" },
    ["version 2 with more members"] = { { v2 .. "\33\17\0\15\203\0\113\8\10\0\0\1\0\1\0\2\4\0\0", "no TLS" }, "203.0.113.8" },
    ["version 2 of the balancer itself"] = { { v2 .. "\32\0\0\0", "no TLS" }, "127.0.0.1" },
  } do
    it("of " .. name .. " names the address", function()
      start { "10.0.0.1", "127.0.0.0/8" }
      local event = say(one[1])
      assert.same({ "refused", one[2] }, { event.type, event.address })
      assert.is_nil(string.find(event.reason, "PROXY", 1, true))
    end)
  end

  for name, text in pairs { ["no header"] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n", ["a bad address"] = "PROXY TCP4 1.2.3.400 1.1.1.1 1 2\r\n",
    ["an endless line"] = "PROXY TCP4 " .. string.rep("1", 120), ["a length too great"] = v2 .. "\33\17\255\255",
    ["an unknown version"] = v2 .. "\49\17\0\12............", ["too few bytes"] = v2 .. "\33\17\0\4\1\2\3\4" } do
    it("that is " .. name .. " is refused", function()
      start { "127.0.0.1" }
      local event = say { text }
      assert.same({ "refused", "127.0.0.1" }, { event.type, event.address })
      assert.matches("PROXY protocol", event.reason)
    end)
  end

  it("of an address that is not listed is not believed", function()
    start { "10.0.0.0/8", "::1" }
    local event = say { "PROXY TCP4 203.0.113.7 10.0.0.1 4711 8443\r\n" }
    assert.same({ "refused", "127.0.0.1" }, { event.type, event.address })
  end)

  for _, version in ipairs { "send-proxy", "send-proxy-v2" } do
    needs("haproxy", it, pending)("of HAProxy, " .. version .. ", comes before a vehicle's TLS", function()
      start { "127.0.0.1" }
      local directory = process.temporary "haproxy"
      local listening = nginx.free_port()
      files.write(directory .. "/haproxy.cfg", string.format([[
defaults
  mode tcp
  timeout connect 5s
  timeout client 60s
  timeout server 60s
listen telemetry
  bind 127.0.0.1:%d
  server one 127.0.0.1:%d %s
]], listening, receiver.port, version))
      process.execute("PATH=$PATH:/usr/sbin haproxy -D -f " .. directory .. "/haproxy.cfg -p " .. directory .. "/pid")
      local car = streams.connect { pki = pki, port = listening, vin = VIN }
      car:send { txid = "a", values = { Soc = 1 } }
      local ok, failure = pcall(turn, function() return car.acknowledged[1] end, car)
      car:close()
      process.execute("kill $(cat " .. directory .. "/pid); rm -r " .. directory)
      assert.is_true(ok, failure)
    end)
  end

  it("needs addresses or networks", function()
    for _, given in ipairs { "10.0.0", "10.0.0.0/33", "host.example", "::/129", "10.0.0.0/", "1.2.3.4/-1" } do
      assert.error_matches(function() telemetry.new(options { given }) end, "no address and no network")
    end
    assert.error_matches(function() telemetry.new(options "127.0.0.1") end, "'proxy_protocol' must be false, or list")
  end)
end)
