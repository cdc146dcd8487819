-- What may be repeated shares connections by HTTP/2, where the server offers it; what must run once never does.

local probe = require "probe_http"
local needs = require "spec.support.harness.needs"
local nginx = require "spec.support.servers.nginx"

local http

before_each(function() http = assert(probe.http()) end)
after_each(function() http:close() end)

local function submit(server, path, more)
  local request = { url = server.url .. path, ca_file = server.directory .. "/ca.pem", http2 = true, timeout = 60 }
  for name, value in pairs(more or {}) do request[name] = value end
  return assert(http:submit(request))
end

-- Everything that is in flight, in the order in which it ends.
local function finish()
  local responses = {}
  while http:in_flight() > 0 do
    local response = http:take()
    if response then responses[#responses + 1] = response else http:step(1) end
  end
  return responses
end

local function exchange(...)
  submit(...)
  return finish()[1]
end

-- { ["HTTP/2.0 GET"] = how many }, the number of connections and of resumed sessions among so many requests.
local function logged(server, lines)
  local counts, connections, seen, resumed = {}, 0, {}, 0
  for protocol, method, connection, again in server.logged(lines):gmatch "(%S+) (%S+) %S+ (%d+) (%S+)" do
    local name = protocol .. " " .. method
    counts[name] = (counts[name] or 0) + 1
    if not seen[connection] then connections, seen[connection] = connections + 1, true end
    if again == "r" then resumed = resumed + 1 end
  end
  return counts, connections, resumed
end

local describe_with_nginx = needs("nginx", describe, pending)

describe_with_nginx("HTTP/2", function()
  local server -- one each: a stream that was given up is logged when the server learns of it
  before_each(function() server = nginx.start { tls = "server", http2 = true } end)
  after_each(function() server.stop() end)

  it("carries many reads on one connection", function()
    for _ = 1, 64 do submit(server, "/file") end
    for _, response in ipairs(finish()) do
      assert.equal("ok", response.failure)
      assert.equal(200, response.status)
      assert.truthy(response.body:find('"count":8', 1, true))
      assert.truthy(response.headers:find("content%-type: application/json"))
      assert.falsy(("\n" .. response.headers):find("\n:", 1, true)) -- pseudo headers
    end
    local counts, connections = logged(server, 64)
    assert.same({ ["HTTP/2.0 GET"] = 64 }, counts)
    assert.equal(1, connections)
  end)

  it("opens a few connections for more than one carries", function()
    for _ = 1, 256 do submit(server, "/file") end
    for _, response in ipairs(finish()) do assert.equal(200, response.status) end
    local counts, connections = logged(server, 256)
    assert.same({ ["HTTP/2.0 GET"] = 256 }, counts)
    assert.is_true(connections <= 4, connections)
  end)

  it("is not used for a write, also when an open connection exists", function()
    assert.equal(200, exchange(server, "/file").status)
    for _ = 1, 8 do submit(server, "/command/x", { method = "POST", body = "{}" }) end
    for _ = 1, 8 do submit(server, "/file") end
    submit(server, "/file", { method = "DELETE" })
    finish()
    local counts = logged(server, 18)
    assert.same({ ["HTTP/2.0 GET"] = 9, ["HTTP/1.1 POST"] = 8, ["HTTP/1.1 DELETE"] = 1 }, counts)
  end)

  it("is not used where it was not asked for", function()
    assert.equal(200, exchange(server, "/file", { http2 = false }).status)
    assert.same({ ["HTTP/1.1 GET"] = 1 }, (logged(server, 1)))
  end)

  it("trusts as HTTP/1.1 does", function()
    local response = exchange(server, "/file", { ca_file = server.directory .. "/stranger.pem" })
    assert.equal("tls", response.failure)
    assert.is_false(response.sent)
    assert.equal(200, exchange(server, "/file").status)
    assert.equal("tls", exchange(server, "/file", { ca_file = server.directory .. "/stranger.pem" }).failure)
    server.logged(1)
  end)

  local function count_failures(responses)
    local failures = {}
    for _, response in ipairs(responses) do failures[response.failure] = (failures[response.failure] or 0) + 1 end
    return failures
  end

  it("ends one of many at its deadline, and the others go on", function()
    assert.equal(200, exchange(server, "/file").status) -- the connection stands: what is sent reaches the server
    local asked = 1
    for _, timeout in ipairs { 0.3, 2, 20 } do -- on a machine that stands still it may be over before anything is sent
      submit(server, "/slow", { timeout = timeout })
      for _ = 1, 8 do submit(server, "/file") end
      local responses, slow = finish(), nil
      assert.same({ ok = 8, timeout = 1 }, count_failures(responses))
      for _, response in ipairs(responses) do slow = response.failure == "timeout" and response or slow end
      asked = asked + 8 + (slow.sent and 1 or 0)
      if slow.sent then break end
      assert.is_true(timeout < 20)
    end
    assert.equal(200, exchange(server, "/file").status)
    local _, connections = logged(server, asked + 1)
    assert.equal(1, connections)
  end)

  it("cancels one of many, and the others go on", function()
    local slow = submit(server, "/slow")
    for _ = 1, 8 do submit(server, "/file") end
    local responses = {}
    while #responses < 8 do -- which were asked behind it, on the same connection
      local response = http:take()
      if response then responses[#responses + 1] = response else http:step(1) end
    end
    http:cancel(slow)
    responses[9] = finish()[1]
    assert.same({ ok = 8, cancelled = 1 }, count_failures(responses))
    assert.equal(200, exchange(server, "/file").status)
    local _, connections = logged(server, 10)
    assert.equal(1, connections)
  end)

  it("keeps the limits of body and headers", function()
    assert.equal("too_large", exchange(server, "/file", { max_response = 100 }).failure)
    assert.equal("too_large", exchange(server, "/headers").failure)
    assert.equal(200, exchange(server, "/file").status)
    server.logged(3)
  end)

  it("takes no reply with two lengths", function()
    local response = exchange(server, "/two_lengths")
    assert.equal("cut", response.failure)
    assert.equal(200, exchange(server, "/file").status)
    server.logged(2)
  end)

  it("survives in the parent when a forked child lets go of the client", function()
    assert.equal(200, exchange(server, "/file").status)
    submit(server, "/file")
    assert.equal(3, http:fork())
    assert.equal(200, finish()[1].status)
    assert.equal(200, exchange(server, "/file").status)
    local counts, connections = logged(server, 3)
    assert.same({ ["HTTP/2.0 GET"] = 3 }, counts)
    assert.equal(1, connections)
  end)

  it("leaves a connection alone on which the server speaks while it is idle", function()
    assert.equal(200, exchange(server, "/file").status)
    for _ = 1, 20 do http:step(0.01) end -- session tickets, settings
    assert.equal(200, exchange(server, "/file").status)
    local _, connections = logged(server, 2)
    assert.equal(1, connections)
  end)
end)

describe_with_nginx("a server that ends each connection after seven requests", function()
  local server
  before_each(function() server = nginx.start { tls = "server", http2 = true, requests = "7" } end)
  after_each(function() server.stop() end)

  it("answers every read, and every command once", function()
    local expected = 0
    for round = 1, 5 do
      for i = 1, 40 do
        submit(server, "/file?" .. round .. "." .. i)
        submit(server, ("/command/%d.%d"):format(round, i), { method = "POST", body = "{}" })
        expected = expected + 2
      end
      for _, response in ipairs(finish()) do
        assert.equal("ok", response.failure, response.message)
        assert.equal(200, response.status)
        expected = expected - 1
      end
    end
    assert.equal(0, expected)
    local posts, reads, shared = {}, {}, 0
    for protocol, method, path in server.logged(400):gmatch "(%S+) (%S+) (%S+) %d+ %S+" do
      local paths = method == "POST" and posts or reads
      paths[path] = (paths[path] or 0) + 1
      if protocol == "HTTP/2.0" then
        assert.equal("GET", method)
        shared = shared + 1
      end
    end
    local count = 0
    for _, times in pairs(posts) do
      assert.equal(1, times)
      count = count + 1
    end
    assert.equal(200, count)
    for _ in pairs(reads) do count = count + 1 end
    assert.equal(400, count)
    assert.is_true(shared >= 7, shared)
  end)
end)

describe_with_nginx("a server that ends connections amid large headers", function()
  it("is asked again, and its headers are found too large", function()
    local server = nginx.start { tls = "server", http2 = true, requests = "2" }
    for _ = 1, 8 do submit(server, "/headers") end
    for _, response in ipairs(finish()) do assert.equal("too_large", response.failure, response.message) end
    server.stop()
  end)
end)

describe_with_nginx("a server that speaks HTTP/1.1 only", function()
  local server
  before_each(function() server = nginx.start { tls = "server", logs = true } end)
  after_each(function() server.stop() end)

  it("is spoken to in HTTP/1.1, on as many connections as there are requests", function()
    for _ = 1, 64 do submit(server, "/paced") end -- one that is quick would serve those that wait for it
    for _, response in ipairs(finish()) do assert.equal(200, response.status) end
    local counts, connections = logged(server, 64)
    assert.same({ ["HTTP/1.1 GET"] = 64 }, counts)
    assert.is_true(connections > 4) -- more than HTTP/2 may have
    for _ = 1, 32 do submit(server, "/file") end
    for _, response in ipairs(finish()) do assert.equal(200, response.status) end
  end)
end)

describe_with_nginx("a TLS session", function()
  local server
  after_each(function() server.stop() end)

  it("is resumed by the next connection", function()
    server = nginx.start { tls = "server", http2 = true, requests = "1" }
    for _ = 1, 4 do assert.equal(200, exchange(server, "/file", { http2 = false }).status) end
    local _, connections, resumed = logged(server, 4)
    assert.equal(4, connections)
    assert.equal(3, resumed)
  end)

  it("is resumed by one of the other kind", function()
    server = nginx.start { tls = "server", http2 = true }
    assert.equal(200, exchange(server, "/file").status)
    assert.equal(200, exchange(server, "/command/x", { method = "POST", body = "{}" }).status)
    local counts, _, resumed = logged(server, 2)
    assert.same({ ["HTTP/2.0 GET"] = 1, ["HTTP/1.1 POST"] = 1 }, counts)
    assert.equal(1, resumed)
  end)

  it("is of no use to a client that trusts another authority", function()
    server = nginx.start { tls = "server", http2 = true }
    assert.equal(200, exchange(server, "/file").status)
    local stranger = { ca_file = server.directory .. "/stranger.pem", http2 = false }
    assert.equal("tls", exchange(server, "/file", stranger).failure)
  end)
end)

describe_with_nginx("a client", function()
  local fleet = require "fleet"
  local server
  setup(function() server = nginx.start { tls = "server", http2 = true } end)
  teardown(function() server.stop() end)

  local function asked(more)
    local options = { base_url = server.url, ca_file = server.directory .. "/ca.pem", token = "t", client_id = "c", commands = "plain" }
    for name, value in pairs(more) do options[name] = value end
    local client = fleet.new(options)
    local car = client:vehicle "5YJ3E1EA0KF000001"
    assert(client:products())
    assert(car:honk_horn())
    client:close()
    return (logged(server, 2))
  end

  it("reads over HTTP/2 and commands over HTTP/1.1", function()
    assert.same({ ["HTTP/2.0 GET"] = 1, ["HTTP/1.1 POST"] = 1 }, asked {})
  end)

  it("reads over HTTP/1.1 when the option says so", function()
    assert.same({ ["HTTP/1.1 GET"] = 1, ["HTTP/1.1 POST"] = 1 }, asked { http2 = false })
  end)
end)
