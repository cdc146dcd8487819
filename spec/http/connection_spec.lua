-- What lies on a connection before a request is written is never its reply, and a fit connection is used again.

local arrived = require "spec.support.harness.arrived"
local probe = require "probe_http"
local hostile_server = require "spec.support.servers.hostile_server"
local hostile_tls = require "spec.support.servers.hostile_tls"
local needs = require "spec.support.harness.needs"
local nginx = require "spec.support.servers.nginx"
local process = require "spec.support.harness.process"

local server, http, other

setup(function() server = hostile_server.start() end)
teardown(function() server.stop() end)

before_each(function() http, other = assert(probe.http()), assert(probe.http()) end)
after_each(function()
  http:close()
  other:close()
end)

local function exchange(request, client)
  client = client or http
  if request[1] then request.url = server.url .. request[1] end
  assert(client:submit(request))
  local limit = probe.now() + 60
  while probe.now() < limit do
    local response = client:take()
    if response then return response end
    client:step(1)
  end
  error("the request did not end")
end

-- By a connection of its own, so that nothing happens on the one that is looked at.
local function count(id)
  return tonumber(exchange({ "/count/" .. id }, other).body)
end

local fresh_id = 0
local function fresh()
  fresh_id = fresh_id + 1
  return "connection" .. fresh_id
end

local function wait_until_sent(id)
  repeat until count(id) == 1
  arrived(server.port)
end

local methods = {
  { name = "a GET", method = "GET" },
  { name = "a POST with a body", method = "POST", body = "{}" },
  { name = "a POST without a body", method = "POST" },
  { name = "a DELETE", method = "DELETE" },
}

local unasked = { ["200"] = "a good reply", ["408"] = "a 408", half = "half a reply", close = "the end" }

-- Asks on a connection on which something waits. Returns what came back for the second request, and how often the server
-- carried that one out.
local function second(when, what, request, turn, proxy)
  local first, id = fresh(), fresh()
  local url = proxy and "http://elsewhere.invalid" or server.url
  assert.equal("asked", exchange({ url = url .. ("/unasked/%s/%s/%s"):format(when, what, first), proxy = proxy }).body)
  wait_until_sent(first)
  if turn then http:step(0) end
  local response = exchange {
    url = url .. "/answer/" .. id, method = request.method, body = request.body, proxy = proxy,
  }
  return response, count(id)
end

describe("one reply", function()
  for what, name in pairs(unasked) do
    for _, when in ipairs { "at", "later" } do
      for _, request in ipairs(methods) do
        for _, turn in ipairs { false, true } do
          it(("holds for %s where %s waits (%s%s)"):format(request.name, name, when, turn and ", with a turn" or ""), function()
            local response, executed = second(when, what, request, turn)
            assert.equal("ok", response.failure)
            assert.equal("done", response.body)
            assert.equal(1, executed)
          end)
        end
      end
    end
  end

  it("holds through a proxy", function()
    for _, turn in ipairs { false, true } do
      for what in pairs(unasked) do
        local response, executed = second("later", what, methods[2], turn, server.url)
        assert.equal("done", response.body)
        assert.equal(1, executed)
      end
    end
  end)

  it("holds for each of many at once", function()
    local ids = {}
    for i = 1, 40 do
      ids[i] = fresh()
      assert(http:submit { url = server.url .. "/unasked/later/200/" .. ids[i] })
    end
    local left = 40
    while left > 0 do
      http:step(1)
      while http:take() do left = left - 1 end
    end
    for i = 1, 40 do
      wait_until_sent(ids[i])
      ids[i] = fresh()
      assert(http:submit { url = server.url .. "/answer/" .. ids[i], method = "POST", body = "{}" })
    end
    left = 40
    while left > 0 do
      http:step(1)
      local response = http:take()
      while response do
        assert.equal("done", response.body)
        left, response = left - 1, http:take()
      end
    end
    for i = 1, 40 do assert.equal(1, count(ids[i])) end
  end)

  it("keeps the request's time limit on its second connection", function()
    local sent
    for _, timeout in ipairs { 0.2, 2, 10 } do -- on a machine that stands still it may be over before anything is sent
      if sent then break end
      local first = fresh()
      exchange { "/unasked/later/200/" .. first }
      wait_until_sent(first)
      local response = exchange { "/silent/" .. fresh(), method = "POST", timeout = timeout }
      assert.equal("timeout", response.failure)
      sent = response.sent
    end
    assert.is_true(sent)
  end)

  it("can be given up while the second connection is made", function()
    local first = fresh()
    exchange { "/unasked/later/200/" .. first }
    wait_until_sent(first)
    local transfer = assert(http:submit { url = server.url .. "/answer/" .. fresh(), method = "POST" })
    http:step(0)
    http:cancel(transfer)
    local response = http:take()
    assert.equal("cancelled", response.failure)
    assert.is_false(response.sent)
  end)
end)

describe("one reply over TLS", function()
  local secure

  setup(function() secure = hostile_tls.start() end)
  teardown(function() secure.stop() end)

  for _, how in ipairs { "later", "record" } do
    for _, turn in ipairs { false, true } do
      for _, proxy in ipairs { false, true } do
        it(("holds where a reply waits: %s%s%s"):format(how, turn and ", with a turn" or "", proxy and ", proxy" or ""), function()
          local function ask(path, method)
            return exchange {
              url = secure.url .. path, method = method, body = method and "{}", ca_file = secure.ca_file,
              proxy = proxy and server.url or nil,
            }
          end
          assert.equal("asked", ask("/" .. how).body)
          if how == "later" then secure.later() end
          if turn then http:step(0) end
          assert.equal("done", ask("/answer", "POST").body)
          assert.equal("done", ask("/answer", "POST").body)
        end)
      end
    end
  end
end)

describe("a connection", function()
  local function connections()
    return tonumber(exchange({ "/connections" }, other).body)
  end

  for _, request in ipairs(methods) do
    it("serves " .. request.name .. " again and again", function()
      local before = connections()
      for _ = 1, 20 do
        assert.equal("done", exchange { "/answer/" .. fresh(), method = request.method, body = request.body }.body)
      end
      assert.equal(before + 1, connections())
    end)
  end

  it("serves many requests at once, again and again", function()
    local before = connections()
    for _ = 1, 5 do
      for _ = 1, 50 do assert(http:submit { url = server.url .. "/gather/1", method = "POST" }) end
      local left = 50
      while left > 0 do
        http:step(1)
        while http:take() do left = left - 1 end
      end
    end
    assert.is_true(connections() - before <= 50)
  end)

  needs("nginx", it, pending)("serves TLS again, on which session tickets arrive", function()
    local secure = nginx.start { tls = "server" }
    local function connection()
      local request = { url = secure.url .. "/connection", method = "POST", ca_file = secure.directory .. "/ca.pem" }
      return exchange(request).body:match("^%d+ ")
    end
    local first = connection()
    for _ = 1, 10 do assert.equal(first, connection()) end
    secure.stop()
  end)

  it("that rested for longer than the request accepts is not used, and a younger one is", function()
    local before = connections()
    exchange { "/ok" }
    process.execute("sleep 0.1")
    exchange { "/answer/" .. fresh(), method = "POST", idle_limit = 0.05 }
    assert.equal(before + 1 + 1, connections())
    exchange { "/answer/" .. fresh(), method = "POST", idle_limit = 30 }
    assert.equal(before + 2, connections())
  end)

  needs("nginx", it, pending)("over a Unix socket serves one request", function()
    local plain = nginx.start {}
    local function connection()
      return exchange({ url = "http://localhost/connection", unix_path = plain.unix }).body
    end
    assert.not_equal(connection(), connection())
    plain.stop()
  end)
end)
