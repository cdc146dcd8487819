-- Requests against a server that misbehaves (spec/support/servers/hostile_server.lua) and one that does not (nginx).

local probe = require "probe_http"
local garbage = require "spec.support.harness.garbage"
local needs = require "spec.support.harness.needs"
local rude = require "spec.support.servers.hostile_server"
local nginx = require "spec.support.servers.nginx"
local process = require "spec.support.harness.process"

local server, http
local unix_path = process.temporary("http") .. "/socket"

setup(function() server = rude.start(unix_path) end)
teardown(function()
  server.stop()
  process.execute("rm -rf " .. process.quote((unix_path:gsub("/socket$", ""))))
end)

before_each(function() http = assert(probe.http()) end)
after_each(function()
  http:close()
  garbage.collect()
  assert.equal(0, probe.live())
end)

-- Steps until a request has finished; a minute is more than any of them may last.
local function finish(client)
  local limit = probe.now() + 60
  while probe.now() < limit do
    local response = client:take()
    if response then return response end
    client:step(1)
  end
  error("the request did not end")
end

local function exchange(request)
  if request[1] then request.url = server.url .. request[1] end
  assert(http:submit(request))
  return finish(http)
end

-- With a time-out that is over too early. On a machine that stands still it may be over before anything is sent, which is told
-- truly and is not the case that is looked at: then with more time. shown: what else must have come first.
local function timed_out(request, shown)
  for _, timeout in ipairs { 0.3, 2, 10 } do
    request.timeout = timeout
    local response = exchange(request)
    assert.equal("timeout", response.failure)
    assert.is_true(response.seconds > timeout - 0.01) -- libcurl counts in whole milliseconds, from another moment
    if response.sent and (not shown or shown(response)) then return response end
  end
  error "it never came so far"
end

local function count(id)
  return tonumber(exchange { "/count/" .. id }.body)
end

local function echo(request)
  request[1] = request[1] or "/echo"
  return exchange(request).body
end

local fresh_id = 0
local function fresh()
  fresh_id = fresh_id + 1
  return "id" .. fresh_id
end

-- The failure and the message of a request that another process makes.
local function elsewhere(before, chunk, url, ca_file)
  local pipe = io.popen(before .. " exec " .. process.lua .. " -e " .. process.quote(([[
    local http = require("probe_http").http()
    %s
    assert(http:submit { url = %q, ca_file = %q })
    repeat http:step(1); response = http:take() until response
    io.write(response.failure, " ", response.message)]]):format(chunk, url, ca_file or "")))
  local text = pipe:read("a")
  pipe:close()
  return text
end

local writes = {
  { name = "a POST with a body", method = "POST", body = "{}" },
  { name = "a POST without a body", method = "POST" },
  { name = "a DELETE", method = "DELETE" },
}

local function copy(request, more)
  local new = {}
  for name, value in pairs(request) do new[name] = value end
  for name, value in pairs(more) do new[name] = value end
  return new
end

describe("a request", function()
  it("brings back status, headers and body", function()
    local response = exchange { "/status/418" }
    assert.equal("ok", response.failure)
    assert.equal(418, response.status)
    assert.equal("status 418", response.body)
    assert.equal("retry-after: 7\ncontent-length: 10\n", response.headers)
    assert.equal("", response.message)
    assert.is_true(response.sent)
    assert.is_true(response.seconds > 0)
  end)

  it("forgets the headers of replies that come before the true one", function()
    local response = exchange { "/interim" }
    assert.equal(200, response.status)
    assert.equal("x-late: 1\nx-spaces: a b\nx-empty: \ncontent-length: 4\n", response.headers)
  end)

  it("leaves trailers out", function()
    local response = exchange { "/trailers" }
    assert.equal("ok", response.body)
    assert.equal(200, response.status)
    assert.equal("transfer-encoding: chunked\nx-true: 1\n", response.headers)
  end)

  it("sends the lines it was given and nothing that they do not ask for", function()
    local head = echo { headers = { "Authorization: Bearer abc", "X-Odd: a:b\tc" } }
    assert.truthy(head:find("GET /echo HTTP/1.1\r\n", 1, true))
    assert.truthy(head:find("\r\nAuthorization: Bearer abc\r\nX-Odd: a:b\tc\r\n", 1, true))
    assert.truthy(head:find("\r\nAccept-Encoding: gzip\r\n", 1, true))
    for _, line in ipairs { "Cookie", "Expect", "User%-Agent", "Content%-Type", "Content%-Length" } do
      assert.falsy(head:find("\r\n" .. line .. ":"))
    end
  end)

  it("sends a body with its length, never waiting for permission", function()
    local body = ("x"):rep(3e6)
    local text = echo { method = "POST", body = body, headers = { "Content-Type: application/json" } }
    assert.truthy(text:find("\r\nContent-Length: 3000000\r\n", 1, true))
    assert.truthy(text:find("\r\nContent-Type: application/json\r\n", 1, true))
    assert.falsy(text:find("\r\nExpect:", 1, true))
    assert.equal(body, text:sub(-3e6))
  end)

  it("sends a body with any bytes in it", function()
    local body = "\0\1\r\n\255"
    assert.equal(body, echo { method = "POST", body = body }:sub(-#body))
  end)

  it("says a length of zero for a POST without body, and nothing for a DELETE", function()
    local post, delete = echo { method = "POST" }, echo { method = "DELETE" }
    assert.truthy(post:find("^POST /echo HTTP/1.1\r\n"))
    assert.truthy(post:find("\r\nContent-Length: 0\r\n", 1, true))
    assert.falsy(post:find("Content-Type", 1, true))
    assert.truthy(delete:find("^DELETE /echo HTTP/1.1\r\n"))
    assert.falsy(delete:find("Content-", 1, true))
  end)

  it("does not carry anything over to the next one", function()
    echo { method = "POST", body = "secret", headers = { "Authorization: Bearer abc" }, timeout = 1 }
    echo { method = "DELETE", body = "secret" }
    local head = echo {}
    assert.truthy(head:find("^GET "))
    assert.falsy(head:find("secret", 1, true))
    assert.falsy(head:find("Authorization", 1, true))
    assert.falsy(head:find("Content-", 1, true))
  end)

  it("keeps the path as it was written", function()
    assert.truthy(echo { "/echo/../vehicles/%2e%2e?a=b" }:find("^GET /echo/../vehicles/%%2e%%2e%?a=b HTTP"))
  end)

  it("uses a connection again", function()
    local before = tonumber(exchange { "/connections" }.body)
    for _ = 1, 20 do exchange { "/ok" } end
    assert.equal(before, tonumber(exchange { "/connections" }.body))
  end)

  it("goes over a Unix socket", function()
    local response = exchange { url = "http://localhost/ok", unix_path = unix_path }
    assert.equal("fine", response.body)
    assert.equal("fine", exchange { "/ok" }.body) -- the next one does not
  end)

  for _, status in ipairs { "301", "302", "303", "307", "308" } do
    it("does not follow a redirect: " .. status, function()
      local response = exchange { "/redirect/" .. status, method = "POST", body = "{}" }
      assert.equal(tonumber(status), response.status)
      assert.truthy(response.headers:find("location: /answer/redirected\n", 1, true))
      assert.equal(0, count("redirected"))
    end)
  end

  it("unpacks gzip", function()
    assert.equal(("\0"):rep(5000), exchange { "/gzip/5000" }.body)
  end)

  it("is carried out a thousand at a time", function()
    for _ = 1, 1000 do assert(http:submit { url = server.url .. "/gather/1000", timeout = 60 }) end
    assert.equal(1000, http:in_flight())
    for _ = 1, 1000 do assert.equal("all here", finish(http).body) end
    assert.equal(0, http:in_flight())
  end)

  it("asks for its own address, whatever the one before it on its handle asked for", function()
    local other = rude.start()
    local long = ("x"):rep(300)
    for _, case in ipairs {
      { server.url, "/echo/a" }, { server.url, "/echo/b/../c//d" }, { server.url, "/echo/a%2Fb%2fc" }, { server.url, "/echo/d" },
      { server.url, "/echo/e?f=%3B&g" }, { server.url, "/echo/h" }, { other.url, "/echo/h" }, { server.url, "/echo/" .. long },
      { server.url, "/echo/i#j", "/echo/i" }, { server.url, "/echo/k" }, { other.url, "/echo/l?" }, { other.url, "/echo/m;n=o" },
      { (other.url:gsub("127.0.0.1", "localhost")), "/echo/m" }, { other.url, "/echo/m" },
    } do
      local line = exchange({ url = case[1] .. case[2] }).body
      assert.equal("GET " .. (case[3] or case[2]) .. " HTTP/1.1", line:match "^[^\r\n]*")
      assert.truthy(line:find("Host: " .. case[1]:match "//(.*)" .. "\r\n", 1, true), line)
    end
    for _, target in ipairs { "?p/echo/a", "?p/echo/b", "#p/echo/a", "#p/echo/b" } do -- the path is "/"
      assert.equal("no such act", exchange({ url = other.url .. target }).body)
    end
    other.stop()
  end)
end)

describe("a request is refused at once", function()
  local function refuses(request, words)
    local transfer, err, kind = http:submit(request)
    assert.is_nil(transfer)
    assert.equal("invalid", kind)
    assert.truthy(err.message:find(words, 1, true), err.message)
  end

  local bad_lines = {
    "X: a\r\nY: b", "X: a\nb", "X: a\rb", "X: \1", "X: \127", "no colon", ": no name", "bad name: x", "X\r: a",
    "",
  }
  for _, line in ipairs(bad_lines) do
    it(("for the header line %q, which it does not quote"):format(line), function()
      refuses({ url = server.url, headers = { "Good: 1", line } }, 'header line 2 is not "Name: value"')
    end)
  end

  it("for a control character or DEL at any place of a header's value, and for no other character", function()
    for place = 0, 24 do
      for _, character in ipairs { "\1", "\31", "\127", "\r", "\n" } do
        local line = "X-Token: " .. ("a"):rep(place) .. character .. ("b"):rep(24 - place)
        refuses({ url = server.url, headers = { line } }, 'header line 1 is not "Name: value"')
      end
    end
    local text = echo { headers = { "X-Token: " .. ("a"):rep(9) .. "\t ~" .. ("b"):rep(12) } }
    assert.truthy(text:find("X-Token: aaaaaaaaa\t ~bbbbbbbbbbbb\r\n", 1, true))
  end)

  for _, url in ipairs {
    "", "localhost/ok", "ftp://localhost/", "file:///etc/passwd", "http://a b/", "http://a/\r\nX: y",
    "http://h/\195\164", "javascript:1",
  } do
    it(("for the address %q"):format(url), function() refuses({ url = url }, "not an http or https address") end)
  end

  it("for a method that no row uses", function()
    refuses({ url = server.url, method = "TRACE" }, "method is not known")
  end)

  it("for a body of a GET", function() refuses({ url = server.url, body = "" }, "takes no body") end)

  for _, seconds in ipairs { 0, -1, 0 / 0, math.huge } do
    it("for a time limit of " .. seconds, function()
      refuses({ url = server.url, timeout = seconds }, "time limit")
    end)
  end
end)

describe("one delivery", function()
  for _, request in ipairs(writes) do
    it("holds for " .. request.name .. " on a kept connection that dies", function()
      local id = fresh()
      exchange { "/ok" }
      local response = exchange(copy(request, { "/drop_if_reused/" .. id }))
      assert.equal("empty", response.failure)
      assert.is_true(response.sent)
      assert.equal(0, response.status)
      assert.equal(1, count(id))
    end)

    it("holds for " .. request.name .. " on a new connection that dies", function()
      local id = fresh()
      local response = exchange(copy(request, { "/drop/" .. id }))
      assert.equal("empty", response.failure)
      assert.is_true(response.sent)
      assert.equal(1, count(id))
    end)

    it("holds for " .. request.name .. " that is never answered", function()
      timed_out(copy(request, { "/silent/" .. fresh() }))
    end)

    it("lets " .. request.name .. " pass when all is well", function()
      local id = fresh()
      exchange { "/ok" }
      assert.equal("done", exchange(copy(request, { "/answer/" .. id })).body)
      assert.equal(1, count(id))
    end)
  end

  it("does not stop libcurl from asking again for what changes nothing, which the server notices", function()
    local id = fresh()
    exchange { "/ok" }
    assert.equal("done", exchange { "/drop_if_reused/" .. id }.body)
    assert.equal(2, count(id))
  end)

  it("holds for each of many at once", function()
    local ids = {}
    for _ = 1, 50 do assert(http:submit { url = server.url .. "/ok" }) end
    for _ = 1, 50 do finish(http) end
    for i = 1, 50 do
      ids[i] = fresh()
      local request = { url = server.url .. "/drop_if_reused/" .. ids[i], method = "POST" }
      if i % 2 == 0 then request.body = "{}" end
      assert(http:submit(request))
    end
    for _ = 1, 50 do finish(http) end
    for _, id in ipairs(ids) do assert.equal(1, count(id)) end
  end)
end)

describe("a failure is reported as", function()
  local function fails(failure, sent, request, shown)
    local response = failure == "timeout" and sent and timed_out(request, shown) or exchange(request)
    assert.equal(failure, response.failure)
    assert.equal(sent, response.sent)
    assert.truthy(#response.message > 10)
    for _, secret in ipairs { "127.0.0.1", "localhost", "invalid", "token", ":%d%d" } do
      assert.falsy(response.message:find(secret), response.message)
    end
    return response
  end

  it("resolve: a name without an address", function()
    fails("resolve", false, { url = "http://" .. ("a"):rep(64) .. ".invalid/token" }) -- no label is that long
  end)

  it("connect: no server listens", function()
    fails("connect", false, { url = server.refused_url .. "/token" })
  end)

  it("connect: the proxy cannot be reached", function()
    fails("connect", false, { "/ok", proxy = server.refused_url })
  end)

  it("connect: the connection was not made in time", function()
    fails("connect", false, { url = server.deaf_url:gsub("http:", "https:"), connect_timeout = 0.1 })
  end)

  it("connect: there is no such socket", function()
    fails("connect", false, { url = "http://localhost/", unix_path = unix_path .. ".not" })
  end)

  it("tls: the other side speaks something else", function()
    fails("tls", false, { url = server.url:gsub("http:", "https:") })
  end)

  it("timeout: the whole time passed before a reply", function()
    fails("timeout", true, { "/late/60" })
  end)

  it("timeout: bytes go on trickling when the time is over", function()
    local function begun(response) return response.status == 200 end
    assert.truthy(fails("timeout", true, { "/trickle" }, begun).body)
  end)

  it("timeout: before the connection stood", function()
    fails("timeout", false, { url = server.deaf_url:gsub("http:", "https:"), timeout = 0.1 })
  end)

  it("empty: the server closes before it reads", function()
    fails("empty", true, { url = server.rude_url })
  end)

  it("cut: fewer bytes than the length says", function()
    assert.equal("only this", fails("cut", true, { "/truncated" }).body)
  end)

  it("cut: the last chunk does not come", function() fails("cut", true, { "/truncated_chunks" }) end)

  it("cut: no HTTP", function() fails("cut", true, { "/garbage" }) end)

  it("cut: gzip that is none", function() fails("cut", true, { "/broken_gzip" }) end)

  it("too_large: one byte more than allowed, and not for one less", function()
    assert.equal("ok", exchange { "/large/1000", max_response = 1000 }.failure)
    fails("too_large", true, { "/large/1001", max_response = 1000 })
  end)

  it("too_large: a body without end", function()
    fails("too_large", true, { "/unending", max_response = 1e6 })
  end)

  it("too_large: much behind little gzip", function()
    assert.equal(1e6, #exchange { "/gzip/1000000", max_response = 1e6 }.body)
    fails("too_large", true, { "/gzip/50000000", max_response = 1e6 })
  end)

  it("too_large: headers without end", function() fails("too_large", true, { "/headers" }) end)

  it("too_large: one header beyond what libcurl takes", function()
    assert.equal("ok", exchange { "/long_header/60000" }.failure)
    fails("too_large", true, { "/long_header/70000" })
    fails("too_large", true, { "/long_header/200000" })
  end)

  it("cut: two lengths, or one that is none; the same one twice is no harm", function()
    assert.equal("fine", exchange { "/lengths/4" }.body)
    assert.equal("fine", exchange { "/lengths/4/04/4" }.body)
    for _, lengths in ipairs { "4/5", "5/4", "4/2", "4_5", "4_4", "-4", "4x", "x" } do
      local response = fails("cut", true, { "/lengths/" .. lengths, timeout = 60 })
      assert.truthy(response.message:find("length$") or response.message:find("reply$"), response.message)
    end
  end)

  it("cancelled: at the caller's wish, before and after it was sent", function()
    local early = assert(http:submit { url = server.url .. "/late/20" })
    http:cancel(early)
    local response = finish(http)
    assert.equal("cancelled", response.failure)
    assert.is_false(response.sent)
    local id = fresh()
    local late = assert(http:submit { url = server.url .. "/silent/" .. id, method = "POST" })
    repeat http:step(0.02) until server.count(id) == 1
    http:cancel(late)
    http:cancel(late) -- too late to change anything
    response = finish(http)
    assert.equal("cancelled", response.failure)
    assert.is_true(response.sent)
    assert.equal(late, response.transfer)
  end)

  it("local: an address that libcurl cannot use", function()
    fails("local", false, { url = "http://user:token@[::/" })
  end)

  it("local: an address with a user name", function()
    fails("local", false, { url = server.url:gsub("//", "//user:token@") })
  end)

  it("local: no descriptors are left", function()
    local fill = "files = {} repeat local file = io.open('/dev/null') files[#files + 1] = file until not file"
    local text = elsewhere("ulimit -n 24;", fill, server.url)
    assert.equal("local the request could not be started: no memory or no descriptors left", text)
  end)
end)

-- The signal would end the process: the run handles it everywhere else.
local function spared(name, fn)
  it(name, function()
    local watchdog = require "probe_watchdog"
    watchdog.default_sigpipe(true)
    finally(function() watchdog.default_sigpipe(false) end)
    fn()
  end)
end

describe("a server that is gone", function()
  spared("while a large body is sent ends the request, and the host never sees SIGPIPE", function()
    for _ = 1, 20 do
      local response = exchange { url = server.rude_url, method = "POST", body = ("x"):rep(4000000) }
      assert.is_not_equal("ok", response.failure)
    end
    assert.equal("default", probe.sigpipe())
  end)
end)

describe("a request through a proxy", function()
  -- Its way to the proxy may be TLS, and the thread that asks for the proxy's address has what was held when it was made.
  it("holds SIGPIPE as long as it runs, also for an address that is plain HTTP", function()
    local child = io.popen("exec " .. process.lua .. " -e " .. process.quote(string.format([[
      io.write(io.open("/proc/self/stat"):read("*n"), "\n")
      io.flush()
      local client = require("fleet").new { token = "t", base_url = "http://127.0.0.1:9/silent", proxy = "%s", timeout = 60 }
      client:vehicle("5YJ3FLEE9RF000001"):info()
    ]], server.url)))
    local pid = child:read("*n")
    local held
    for _ = 1, 3000 do
      local status = io.open("/proc/" .. pid .. "/status")
      local mask = status and status:read("a"):match("SigBlk:%s*(%x+)")
      if status then status:close() end
      held = mask and math.floor(tonumber(mask, 16) / 2 ^ 12) % 2 == 1
      if held or not mask then break end
      os.execute("sleep 0.01")
    end
    os.execute("kill " .. pid)
    child:close()
    assert.is_true(held)
  end)
end)

describe("the environment's proxy", function()
  local names = { "http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY" }
  before_each(function() for _, name in ipairs(names) do probe.setenv(name, server.refused_url) end end)
  after_each(function() for _, name in ipairs(names) do probe.setenv(name) end end)

  it("is ignored", function() assert.equal("fine", exchange { "/ok" }.body) end)

  it("is honoured when the request says so, and not by the next one", function()
    assert.equal("connect", exchange { "/ok", environment_proxy = true }.failure)
    assert.equal("fine", exchange { "/ok" }.body)
  end)

  it("cannot make exceptions from the proxy that was asked for", function()
    probe.setenv("no_proxy", "*")
    assert.equal("connect", exchange { "/ok", proxy = server.refused_url }.failure)
    probe.setenv("no_proxy")
  end)
end)

describe("a proxy", function()
  it("is asked for the whole address", function()
    local head = exchange { url = "http://elsewhere.invalid/echo", proxy = server.url }.body
    assert.truthy(head:find("GET http://elsewhere.invalid/echo HTTP/1.1\r\nHost: elsewhere.invalid\r\n", 1, true))
  end)
end)

describe("the client", function()
  it("can be closed with requests in every state", function()
    local other = probe.http()
    for _, path in ipairs { "/late/20", "/ok", "/silent/x", "/trickle", "/large/1000000" } do
      for _ = 1, 5 do assert(other:submit { url = server.url .. path, method = "POST", body = "secret" }) end
    end
    assert(other:submit { url = "http://" .. ("a"):rep(64) .. ".invalid/" })
    assert(other:submit { url = server.deaf_url:gsub("http:", "https:") })
    for _ = 1, 20 do other:step(0.02) end
    assert(other:take(true)) -- taken and not dropped
    assert(other:submit { url = server.url .. "/ok" }) -- not begun
    other:close()
    other:close()
  end)

  it("gives up one request and not the others", function()
    local first = assert(http:submit { url = server.url .. "/late/20" })
    local second = assert(http:submit { url = server.url .. "/ok" })
    http:step(0.05)
    http:drop(first)
    assert.equal(1, http:in_flight())
    assert.equal(second, finish(http).transfer)
    local third = assert(http:submit { url = server.url .. "/ok" })
    repeat http:step(1) until http:timeout() == 0 -- finished, not taken
    http:drop(third)
    assert.is_nil(http:take())
    assert.equal(0, http:in_flight())
  end)

  it("asks for no time while it has nothing to do", function()
    assert.equal(-1, http:timeout())
    assert(http:submit { url = server.url .. "/ok" })
    assert.equal(0, http:timeout())
    finish(http)
    assert.equal(-1, http:timeout())
  end)

  needs("nginx", it, pending)("does not spin when a server ends an idle connection", function()
    local quick = nginx.start { keepalive = "50ms" }
    assert(http:submit { url = quick.url .. "/file" })
    assert.equal(200, finish(http).status)
    local steps, limit = 0, probe.now() + 0.4
    while probe.now() < limit do
      http:step(limit - probe.now())
      steps = steps + 1
    end
    assert.is_true(steps < 10)
    assert(http:submit { url = quick.url .. "/file", method = "POST", body = "{}" })
    assert.equal("ok", finish(http).failure) -- a closed connection is seen before it is used
    quick.stop()
  end)

  it("opens nothing that a child process inherits", function()
    if _VERSION < "Lua 5.3" then return pending "the shell that looks is not this process's child there" end
    exchange { "/ok" }
    local ours = { ["anon_inode:[eventpoll]"] = "epoll", ["anon_inode:[timerfd]"] = "timer" }
    for line in io.lines("/proc/net/tcp") do
      local inode = line:match(("%s*%S+"):rep(9) .. "%s+(%d+)") -- the tenth column
      if inode then ours["socket:[" .. inode .. "]"] = "connection" end
    end
    local function open_files(whose)
      local seen, pipe = {}, io.popen("readlink /proc/" .. whose .. "/fd/*")
      for link in pipe:lines() do if ours[link] then seen[ours[link]] = true end end
      pipe:close()
      return seen
    end
    local seen = open_files("$PPID")
    assert.is_true(seen.connection)
    if require("fleet.core").poller == "epoll" then assert.is_true(seen.epoll and seen.timer) end
    assert.same({}, open_files("self"))
  end)
end)

needs("nginx", describe, pending)("TLS", function()
  local secure

  setup(function() secure = nginx.start { tls = "server" } end)
  teardown(function() secure.stop() end)

  local function get(more)
    local usual = { url = secure.url .. "/file", ca_file = secure.directory .. "/ca.pem" }
    assert(http:submit(copy(usual, more or {})))
    return finish(http)
  end

  it("trusts the authority it was given", function()
    assert.equal(200, get().status)
    assert.equal(200, get({ url = secure.url:gsub("localhost", "127.0.0.1") .. "/file" }).status)
  end)

  it("trusts no other authority", function()
    local response = get { ca_file = secure.directory .. "/stranger.pem" }
    assert.equal("tls", response.failure)
    assert.is_false(response.sent)
    assert.truthy(response.message:find("certificate"))
  end)

  it("does not trust it unless the caller gave it, whatever the environment says", function()
    probe.setenv("SSL_CERT_FILE", secure.directory .. "/ca.pem")
    probe.setenv("CURL_CA_BUNDLE", secure.directory .. "/ca.pem")
    assert(http:submit { url = secure.url .. "/file" })
    assert.equal("tls", finish(http).failure)
    probe.setenv("SSL_CERT_FILE")
    probe.setenv("CURL_CA_BUNDLE")
  end)

  it("is not shared between a request that trusts and one that does not", function()
    assert.equal(200, get().status)
    assert(http:submit { url = secure.url .. "/file" })
    assert.equal("tls", finish(http).failure)
    assert.equal(200, get().status)
  end)

  it("refuses a certificate for another name", function()
    local other = nginx.start { tls = "other" }
    assert(http:submit { url = other.url .. "/file", ca_file = other.directory .. "/ca.pem" })
    local response = finish(http)
    assert.equal("tls", response.failure)
    assert.falsy(response.message:find("localhost"))
    other.stop()
  end)

  it("names a file of authorities that cannot be read", function()
    local response = get { ca_file = secure.directory .. "/nothing.pem" }
    assert.equal("tls", response.failure)
    assert.truthy(response.message:find("certificate file", 1, true))
  end)

  it("says when the machine's clock was never set", function()
    local preload = ("export LD_PRELOAD=\"$LD_PRELOAD %s/lib/probe_clock.so\";"):format(process.build)
    local text = elsewhere(preload, "", secure.url, secure.directory .. "/ca.pem")
    assert.truthy(text:find("^tls .*not yet valid; this machine's clock says 1970: set it$"), text)
    assert.falsy(get({ ca_file = secure.directory .. "/stranger.pem" }).message:find("clock"))
  end)

  it("survives in the parent when a forked child lets go of the client", function()
    local before = get { url = secure.url .. "/connection" }.body
    assert(http:submit { url = secure.url .. "/file", ca_file = secure.directory .. "/ca.pem" })
    assert.equal(3, http:fork())
    assert.equal(200, finish(http).status)
    local after = get { url = secure.url .. "/connection" }.body
    assert.equal(before:match("^%d+ "), after:match("^%d+ ")) -- the same connection
    assert.equal("1 3", before:match("%d+$") .. " " .. after:match("%d+$")) -- its third request
  end)
end)
