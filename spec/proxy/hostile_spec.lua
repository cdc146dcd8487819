-- Clients that mean harm, or know no better: bytes that are no request, halves of one, many at once, and three thousand that say
-- nothing. What is asked in time is answered all the same, in bounded memory.
local files = require "spec.support.harness.files"
local process = require "spec.support.harness.process"
local proxies = require "fleet.proxy"
local signed_sim = require "spec.support.servers.signed_sim"
local sim_process = require "spec.support.servers.sim_process"

describe("the proxy, before clients that are none,", function()
  local sim, proxy, client, directory

  setup(function() sim = signed_sim.start() end)
  teardown(function()
    sim:close()
    sim = nil
  end)

  before_each(function()
    directory = process.temporary("proxy-hostile")
    client = sim:client()
    proxy = assert(proxies.new { client = client, listen = "unix:" .. directory .. "/socket" })
    sim.ran = {}
  end)

  after_each(function()
    proxy:close()
    client:close()
    proxy, client = nil, nil
    process.execute("rm -rf " .. process.quote(directory))
  end)

  local honk = "POST /api/1/vehicles/" .. signed_sim.VIN .. "/command/honk_horn HTTP/1.1\r\nHost: x\r\n"

  local function still_serves()
    local reply = signed_sim.raw(proxy, { (honk:gsub("\r\n$", "")) })
    assert.equal(200, reply and reply.status)
  end

  for name, bytes in pairs {
    ["bytes that are no request"] = "\0\255\1\2\r\n\r\n", ["a TLS greeting"] = "\22\3\1\2\0\1\0\1\252\3\3" .. ("x"):rep(300),
    ["a request line without end"] = "GET /" .. ("a"):rep(20000), ["a header without end"] = honk .. "X: " .. ("a"):rep(20000),
    ["a thousand headers"] = honk .. ("X-Y: z\r\n"):rep(3000) .. "\r\n",
    ["another protocol's greeting"] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ["a length that is none"] = honk .. "Content-Length: -5\r\n\r\nhello", ["two lengths"] = honk
      .. "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}", ["a body far beyond its bound"] = honk
      .. "Content-Type: application/json\r\nContent-Length: 900000\r\n\r\n" .. (" "):rep(900000),
    ["a path with a line break"] = honk:gsub("honk_horn", "honk_horn%%0d%%0aX:%%20y") .. "\r\n",
  } do
    it(name .. " honk no horn and do no harm", function()
      local reply = signed_sim.say(proxy, bytes, false, 2) -- what may yet become a request has no answer
      assert.is_true(reply == nil or reply.status >= 400, reply and tostring(reply.status))
      assert.same({}, sim.ran)
      still_serves()
    end)
  end

  it("a large body of a caller without the secret is refused by its head, and is not read", function()
    local guarded = assert(proxies.new { client = client, listen = "127.0.0.1:0", secret = "a-secret-of-16-bytes" })
    local head = "POST /api/1/vehicles/fleet_status HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    local function ask(more) return signed_sim.say(guarded, head .. more .. "\r\n", false, 5) end
    local wrong = ask "Authorization: Bearer a-secret-of-17-bytes\r\nContent-Length: 1000000\r\n"
    local none = ask "Transfer-Encoding: chunked\r\n"
    local foreign = signed_sim.say(guarded, head:gsub("localhost", "example.com") .. "Content-Length: 1000000\r\n\r\n", false, 5)
    local body = '{"vins":["' .. signed_sim.VIN .. '"]}' .. (" "):rep(5000)
    local right = ask("Authorization: Bearer a-secret-of-16-bytes\r\nContent-Length: " .. #body .. "\r\n\r\n" .. body)
    guarded:close()
    assert.is_truthy(wrong and none and foreign and right)
    assert.same({ 401, 401, 403, 200 }, { wrong.status, none.status, foreign.status, right.status })
    assert.matches('"error":"unauthorized"', wrong.body, 1, true)
  end)

  it("halves of a request honk no horn", function()
    local whole = honk .. "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
    for _, size in ipairs { 1, 10, #honk - 2, #honk, #whole - 2, #whole - 1 } do
      assert.is_nil(signed_sim.say(proxy, whole:sub(1, size), true))
    end
    assert.same({}, sim.ran)
    still_serves()
  end)

  it("requests one behind the other on a connection are answered in their order", function()
    local replies = signed_sim.pipeline(proxy, (honk .. "\r\n"):rep(3) .. "GET /health HTTP/1.1\r\nHost: x\r\n\r\n", 4)
    assert.same({ 200, 200, 200, 200 }, { replies[1].status, replies[2].status, replies[3].status, replies[4].status })
    assert.equal("OK", replies[4].body)
    assert.equal(3, #sim.ran)
  end)

  it("a caller that goes away while his command is under way leaves nothing behind", function()
    sim:fault("slow", 1, { seconds = 0.2, row = "signed_command", message = "command" })
    signed_sim.say(proxy, honk .. "\r\n", true)
    signed_sim.wait(function() return #sim.ran == 1 and proxy.in_flight == 0 end)
    assert.is_nil(next(proxy.service.queue.places))
    still_serves()
  end)

  it("three thousand silent connections, each back as soon as it is closed, block no other caller, in bounded memory", function()
    if process.no_command then return pending(process.no_command) end
    -- who comes finds a place in the listening queue, and is not left to chance; a system may bound it to less
    local bound = tonumber((files.find("/proc/sys/net/core/somaxconn"))) or 0
    local out, status = sim_process.shell(("ulimit -n 4096; FLEET=%s timeout 90 bash spec/support/servers/silent_crowd.sh %s %d 2>&1")
      :format(sim_process.fleet, process.quote(directory), bound >= 4096 and 30 or 1))
    assert.equal(0, status, out)
    local standing, code, kilobytes, descriptors = out:match("(%d+) (%d+) (%d+) (%d+)\n$")
    assert.equal("200", code, out)
    if bound >= 4096 then assert.equal("3000", standing, out) end
    assert.is_true(tonumber(kilobytes) < 40000, kilobytes .. " kB")
    assert.is_true(tonumber(descriptors) < 600, descriptors .. " descriptors")
  end)
end)
