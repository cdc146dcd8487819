local cqueues = require "cqueues"
local server = require("fleet.server")
local client = require("spec.support.harness.miniclient")
local garbage = require("spec.support.harness.garbage")
local miniloop = require("spec.support.harness.miniloop")
local process = require "spec.support.harness.process"

describe("fleet.server", function()
  local loop, opened

  local function open(options)
    options.loop = options.loop or loop
    local s = assert(server.new(options))
    opened[#opened + 1] = s
    return s, { port = s:port(), path = options.unix }
  end

  local function echo(request)
    request:respond(200, { ["Content-Type"] = "text/plain" }, request.method .. " " .. request.path .. " " .. request.body)
  end

  local function get(where, method, target, headers, body)
    return loop:run(function() return client.request(where, method or "GET", target or "/", headers, body) end)
  end

  -- The reply to a request that nobody answers, and that request. On a machine that stands still the time limit may be over before it
  -- has arrived: then with more.
  local function unanswered()
    for _, timeout in ipairs { 0.05, 2, 20 } do
      local held
      local reply = get((select(2, open { timeout = timeout, on_request = function(request) held = request end })))
      if held then return reply, held end
    end
    error "it never arrived"
  end

  before_each(function()
    loop, opened = miniloop.new(), {}
  end)

  after_each(function()
    for _, s in ipairs(opened) do s:close() end
    opened, loop = nil, nil
    garbage.collect()
    assert.equal(0, server.live_objects())
  end)

  describe("the head of a request with a large body", function()
    local large = ("x"):rep(5000)

    it("comes first: who is refused by it is answered before the body is sent", function()
      local heads, requests = {}, {}
      local _, where = open {
        on_request = function(request) requests[#requests + 1] = #request.body; request:respond(200, nil, "read") end,
        on_head = function(request)
          heads[#heads + 1] = request.body
          if request.path == "/refused" then request:respond(401, nil, "who are you?") end
        end,
      }
      local refused = loop:run(function()
        local connection = client.connect(where)
        local reply = client.exchange(connection, "POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n")
        connection:close()
        return reply
      end)
      assert.same({ 401, "who are you?", "close" }, { refused.status, refused.body, refused.headers.connection:lower() })
      assert.same({ {}, { "" } }, { requests, heads })
      assert.equal("read", get(where, "POST", "/", nil, large).body)
      assert.equal("read", get(where, "POST", "/", nil, ("x"):rep(4096)).body) -- a small one is read at once
      assert.same({ { 5000, 4096 }, { "", "" } }, { requests, heads })
    end)

    it("decides whether a client that waits for it gets a 100", function()
      local _, where = open {
        on_request = function(request) request:respond(200, nil, tostring(#request.body)) end,
        on_head = function(request) if request.path == "/refused" then request:respond(401) end end,
      }
      local function ask(path)
        return loop:run(function()
          local connection = client.connect(where)
          connection:write("POST " .. path .. " HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\nExpect: 100-continue\r\n\r\n")
          connection:flush()
          local status = (connection:read("*l") or ""):match("^HTTP/1%.1 (%d+)")
          local reply
          if status == "100" then
            connection:read("*l")
            reply = client.exchange(connection, large)
          end
          connection:close()
          return { status, reply and reply.status, reply and reply.body }
        end)
      end
      assert.same({ "100", 200, "5000" }, ask("/"))
      assert.same({ "401" }, ask("/refused"))
    end)

    it("comes first for chunks, too, which do not say their size", function()
      local heads = 0
      local _, where = open { on_request = echo, on_head = function() heads = heads + 1 end }
      local reply = loop:run(function()
        local connection = client.connect(where)
        local answer = client.exchange(connection, "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
        connection:close()
        return answer
      end)
      assert.same({ "POST /a {}", 1 }, { reply.body, heads })
    end)

    it("that its handler keeps is answered no more: its body is on the way", function()
      local kept
      local _, where = open { on_request = echo, on_head = function(request) kept = request end }
      assert.equal(200, get(where, "POST", "/", nil, large).status)
      assert.error_matches(function() kept:respond(200) end, "answered already")
    end)

    it("whose handler fails is answered with 500", function()
      local s, where = open {
        loop = { watch = function() return { close = function() end } end }, on_request = echo, on_head = function() error "it fails" end,
      }
      loop:run(function()
        local connection = client.connect(where)
        connection:write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n")
        connection:flush()
        local raised
        while not raised do
          cqueues.sleep(0.005)
          local ran, message = pcall(s.step, s)
          raised = not ran and message
        end
        assert.matches("it fails", raised)
        assert.equal(500, client.exchange(connection, "").status)
        connection:close()
      end)
    end)

    for _, asks in ipairs { true, false } do
      it("is answered with 503 where too many bodies arrive, " .. (asks and "asked or" or "not asked and") .. " counted", function()
        local held = {}
        local _, where = open {
          max_body = 6000, max_bodies = 11000, on_head = asks and function() end or nil,
          on_request = function(request)
            held[#held + 1] = request
            if request.path == "/now" then request:respond(200) end
          end,
        }
        loop:run(function()
          local first, second = client.connect(where), client.connect(where)
          for _, connection in ipairs { first, second } do
            connection:write(client.bytes("POST", "/", nil, large))
            connection:flush()
          end
          while #held < 2 do cqueues.sleep(0.01) end
          assert.equal(503, client.request(where, "POST", "/now", nil, large).status)
          assert.equal(200, client.request(where, "POST", "/now", nil, "small").status)
          held[1]:respond(200)
          held[2]:respond(200)
          client.exchange(first, "")
          client.exchange(second, "")
          assert.equal(200, client.request(where, "POST", "/now", nil, large).status)
          first:close()
          second:close()
        end)
      end)
    end
  end)

  describe("a request", function()
    it("arrives with method, raw path and query, lower-case headers and body", function()
      local seen
      local _, where = open({ on_request = function(request)
        seen = request
        echo(request)
      end })
      local reply = get(where, "POST", "/a%2Fb?x=%3B&y", { ["X-Two"] = "Value" }, "hello")
      assert.same({ 200, "POST /a%2Fb hello", "text/plain" }, { reply.status, reply.body, reply.headers["content-type"] })
      assert.same({ "POST", "/a%2Fb", "x=%3B&y", "hello" }, { seen.method, seen.path, seen.query, seen.body })
      assert.same({ "Value", "localhost" }, { seen.headers["x-two"], seen.headers.host })
    end)

    it("comes with a table of its fields, for handlers that read all of them", function()
      local fields
      local _, where = open({ on_request = function(request, given)
        fields = given
        echo(request)
      end })
      get(where, "POST", "/a?b", { ["X-Two"] = "Value" }, "hello")
      assert.same({ "POST", "/a", "b", "hello", "Value" }, {
        fields.method, fields.path, fields.query, fields.body, fields.headers["x-two"],
      })
    end)

    it("has an empty query and body when it sends none", function()
      local seen
      local _, where = open({ on_request = function(request)
        seen = request
        echo(request)
      end })
      get(where)
      assert.same({ "", "" }, { seen.query, seen.body })
    end)

    it("joins a header that came twice", function()
      local seen
      local _, where = open({ on_request = function(request)
        seen = request.headers["x-a"]
        echo(request)
      end })
      loop:run(function()
        local s = client.connect(where)
        client.exchange(s, "GET / HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nx-a: 2\r\n\r\n")
        s:close()
      end)
      assert.equal("1, 2", seen)
    end)

    it("may come in chunks", function()
      local _, where = open({ on_request = echo })
      local reply = loop:run(function()
        local s = client.connect(where)
        local r = client.exchange(s, "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" ..
          "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
        s:close()
        return r
      end)
      assert.equal("POST /c abcde", reply.body)
    end)

    it("may be followed by others on the same connection", function()
      local _, where = open({ on_request = echo })
      loop:run(function()
        local s = client.connect(where)
        for i = 1, 50 do
          assert.equal("GET /" .. i .. " ", client.exchange(s, client.bytes("GET", "/" .. i)).body)
        end
        s:close()
      end)
    end)
  end)

  describe("an answer", function()
    it("may come later, in any order", function()
      local waiting, bodies = {}, {}
      local _, where = open({ on_request = function(request)
        waiting[#waiting + 1] = request
        if #waiting < 3 then return end
        for i = 3, 1, -1 do waiting[i]:respond(200, nil, waiting[i].path) end
      end })
      local function ask(path)
        return function() bodies[path] = client.request(where, "GET", path).body end
      end
      loop:all({ ask("/1"), ask("/2"), ask("/3") })
      assert.same({ ["/1"] = "/1", ["/2"] = "/2", ["/3"] = "/3" }, bodies)
    end)

    it("may come outside step()", function()
      local held
      local _, where = open({ on_request = function(request) held = request end })
      local reply
      loop:run(function()
        local s = client.connect(where)
        s:write(client.bytes("GET", "/"))
        s:flush()
        while not held do require("cqueues").poll(0.001) end
        assert.is_true(held:respond(201, nil, "late"))
        reply = client.exchange(s, "")
        s:close()
      end)
      assert.same({ 201, "late" }, { reply.status, reply.body })
    end)

    it("outside step() leaves at once where it is the first, and with the next step where it is not", function()
      local held, streams = {}, {}
      local s, where = open({ on_request = function(request) held[#held + 1] = request end })
      local function arrived(i)
        return (streams[i]:recv(-1000) or ""):match("^HTTP/1.1 (%d+)")
      end
      loop:run(function()
        for i = 1, 3 do
          streams[i] = client.connect(where)
          streams[i]:write(client.bytes("GET", "/"))
          streams[i]:flush()
          while #held < i do cqueues.poll(0.001) end
        end
        for i = 1, 3 do held[i]:respond(200 + i) end
        assert.same({ "201" }, { arrived(1), arrived(2), arrived(3) })
        s:step()
        assert.same({ "202", "203" }, { arrived(2), arrived(3) })
        for i = 1, 3 do streams[i]:close() end
      end)
    end)

    it("is given once: a second one raises", function()
      local message
      local _, where = open({ on_request = function(request)
        request:respond(204)
        message = select(2, pcall(request.respond, request, 200))
      end })
      assert.equal(204, get(where).status)
      assert.matches("answered already", message)
    end)

    it("that is given after the server stopped listening ends the connection", function()
      local held = {}
      local s, where = open({ on_request = function(request) held[1] = request end })
      loop:run(function()
        local connection = client.connect(where)
        connection:write("GET /late HTTP/1.1\r\nHost: localhost\r\n\r\n")
        connection:flush()
        while not held[1] do cqueues.sleep(0.01) end
        s:quiet()
        assert.is_true(held[1]:respond(201, nil, "late"))
        local reply = client.exchange(connection, "")
        assert.same({ 201, "late", "close" }, { reply.status, reply.body, reply.headers.connection:lower() })
        connection:close()
      end)
    end)

    it("may have a list of values for a header", function()
      local _, where = open({ on_request = function(request)
        request:respond(200, { ["X-One"] = { "a", "b" } }, "")
      end })
      assert.equal("b", get(where).headers["x-one"])
    end)

    for name, case in pairs({
      ["a status that is not final"] = { { 100 }, "final status" },
      ["a header name with a space"] = { { 200, { ["a b"] = "c" } }, "token" },
      ["a header value with a line break"] = { { 200, { a = "b\r\nc: d" } }, "control characters" },
      ["a header value with NUL"] = { { 200, { a = "b\0c" } }, "control characters" },
      ["a header value in a list with a line break"] = { { 200, { a = { "b", "c\n" } } }, "control characters" },
      ["an unknown option"] = { { 200, nil, "", { dealy = 1 } }, "did you mean 'delay'" },
      ["a negative delay"] = { { 200, nil, "", { delay = -1 } }, "'delay'" },
    }) do
      it("with " .. name .. " raises and leaves the request open", function()
        local message
        local _, where = open({ on_request = function(request)
          message = select(2, pcall(request.respond, request, table.unpack(case[1], 1, 4)))
          request:respond(200)
        end })
        assert.equal(200, get(where).status)
        assert.matches(case[2], message)
      end)
    end

    it("that never comes is a 503 at the time limit, and a later one is refused", function()
      local reply, held = unanswered()
      assert.equal(503, reply.status)
      local ok, err, kind = held:respond(200)
      assert.same({ nil, "closed" }, { ok, kind })
      assert.matches("time limit", tostring(err))
    end)

    it("to a client that has gone is not an error and does not end the process", function()
      local held
      local s, where = open({ on_request = function(request) held = request end })
      loop:run(function()
        local c = client.connect(where)
        c:write(client.bytes("GET", "/"))
        c:flush()
        while not held do require("cqueues").poll(0.001) end
        c:close()
      end)
      held:respond(200, nil, ("x"):rep(1e6))
      s:step()
      assert.equal(503, (unanswered()).status)
    end)

    it("of a handler that fails is a 500, and the error comes out of step()", function()
      local s, where
      s, where = open({
        loop = { watch = function() return { close = function() end } end },
        on_request = function() error("mistake in a handler", 0) end,
      })
      local message
      loop:run(function()
        local c = client.connect(where)
        c:write(client.bytes("GET", "/"))
        c:flush()
        while not message do
          require("cqueues").poll(0.001)
          message = select(2, pcall(s.step, s))
        end
        assert.equal(500, client.exchange(c, "").status)
        c:close()
      end)
      assert.equal("mistake in a handler", message)
    end)
  end)

  describe("a bad line", function()
    local function answering(manner, body)
      return select(2, open({ on_request = function(request) request:respond(200, nil, body or "0123456789", manner) end }))
    end

    it("can be a connection that closes without a reply", function()
      local _, where = open({ on_request = function(request) request:drop() end })
      assert.is_nil(get(where))
    end)

    it("can be a reply that comes later", function()
      assert.equal("0123456789", get(answering({ delay = 0.02 })).body)
    end)

    it("can be a drop that comes later", function()
      local _, where = open({ on_request = function(request) request:drop(0.01) end })
      assert.is_nil(get(where))
    end)

    it("can be a reply in pieces, whole in the end", function()
      local body = ("abcdefghij"):rep(1000)
      local reply = get(answering({ piece = 1500, every = 0.001 }, body))
      assert.same({ true, body }, { reply.whole, reply.body })
    end)

    it("can be a reply that ends early, also in pieces, also at once", function()
      for cut, piece in pairs({ [4] = 0, [5] = 2, [0] = 0 }) do
        local reply = get(answering({ cut = cut, piece = piece, every = 0.001 }))
        assert.same({ false, ("0123456789"):sub(1, cut) }, { reply.whole, reply.body })
      end
    end)
  end)

  describe("limits", function()
    it("take a body of max_body bytes and answer 413 to one more, announced or in chunks", function()
      local _, where = open({ max_body = 10, on_request = echo })
      assert.equal("POST / 0123456789", get(where, "POST", "/", nil, "0123456789").body)
      assert.equal(413, get(where, "POST", "/", nil, "0123456789a").status)
      local chunked = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n0123456789a\r\n0\r\n\r\n"
      assert.equal(413, loop:run(function() return client.exchange(client.connect(where), chunked) end).status)
    end)

    it("end a connection whose chunks never end", function()
      local _, where = open({ max_body = 1000, on_request = echo })
      local reply = loop:run(function()
        local s = client.connect(where)
        s:write("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ = 1, 100 do s:write("3e8\r\n" .. ("x"):rep(1000) .. "\r\n") end
        local r = client.exchange(s, "")
        s:close()
        return r
      end)
      assert.is_nil(reply and reply.status == 200 or nil)
    end)

    it("leave room for the headers of a client with long tokens, and for the next request of its connection", function()
      local _, where = open({ on_request = function(r)
        r:respond(200, { ["X-Seen"] = ("y"):rep(1000) }, tostring(#r.headers["x-big"]))
      end })
      for _ = 1, 3 do assert.equal("8000", get(where, "GET", "/", { ["X-Big"] = ("x"):rep(8000) }).body) end
    end)

    it("refuse headers that are too large", function()
      local called = false
      local _, where = open({ on_request = function(r)
        called = true
        echo(r)
      end })
      local reply = get(where, "GET", "/", { ["X-Big"] = ("x"):rep(70000) })
      assert.is_false(called)
      assert.is_true(reply == nil or reply.status >= 400)
    end)

    -- Sends a text a byte at a time for as long as somebody listens; what came back before the end of the connection.
    local function trickle(where, sent, rest)
      return loop:run(function()
        local s = client.connect(where)
        s:write(sent)
        for byte in rest:gmatch(".") do
          if not s:write(byte) or not s:flush() or s:eof() then break end
          s:settimeout(0.01)
          if s:fill(1, 0.01) then break end
          s:clearerr()
        end
        s:settimeout(10)
        local reply = s:read("*l")
        s:close()
        return reply
      end)
    end

    it("give headers one deadline, however steadily their bytes come, and the first line too", function()
      local called = 0
      local function count(r)
        called = called + 1
        echo(r)
      end
      local _, where = open({ timeout = 0.3, on_request = count })
      local _, patient = open({ timeout = 30, on_request = count })
      local slow = "X-Slow: " .. ("x"):rep(2000)
      assert.is_nil(trickle(where, "GET / HTTP/1.1\r\nHost: h\r\n", slow))
      assert.is_nil(trickle(where, "", "GET /" .. ("x"):rep(2000)))
      assert.is_nil(trickle(where, "", ("\r\n"):rep(1000)))
      assert.equal(0, called)
      assert.matches("200", trickle(patient, "GET / HTTP/1.1\r\nHost: h\r\n", "X-Slow: x\r\n\r\n"), 1, true)
      assert.equal(1, called)
    end)

    it("end a connection that stays silent after a reply, and serve one that does not", function()
      -- A reply that was asked for too late, because the machine stood still: then with more time.
      local function served(timeout)
        local _, where = open({ timeout = timeout, on_request = echo })
        return loop:run(function()
          local s = client.connect(where)
          local last = { status = 200 }
          for _ = 1, 3 do
            last = last and client.exchange(s, client.bytes("GET", "/"))
            if last then assert.equal(200, last.status) end
          end
          if last then assert.is_nil(s:read("*l")) end
          s:close()
          return last
        end)
      end
      assert.is_truthy(served(0.3) or served(2) or served(8))
    end)

    it("keep connections that are too many waiting until there is room", function()
      local _, where = open({ max_connections = 2, on_request = echo })
      local done = 0
      local function one()
        assert.equal(200, client.request(where, "GET", "/").status)
        done = done + 1
      end
      loop:all({ one, one, one, one, one, one })
      assert.equal(6, done)
    end)

    it("hold for 1,000 requests in flight, with poll(2) for 400", function()
      local waiting, good = {}, 0
      local most = require("fleet.core").build().poller == "poll" and 400 or 1000 -- select(2): descriptors below 1,024
      local _, where = open({ max_connections = 1010, on_request = function(request)
        waiting[#waiting + 1] = request
        if #waiting == most then
          for _, r in ipairs(waiting) do r:respond(200, nil, r.path) end
        end
      end })
      local list = {}
      for i = 1, most do
        list[i] = function()
          if client.request(where, "GET", "/" .. i).body == "/" .. i then good = good + 1 end
        end
      end
      loop:all(list, 60)
      assert.equal(most, good)
    end)
  end)

  describe("closing", function()
    it("answers what waits with 503 and may happen twice", function()
      local held
      local s, where = open({ on_request = function(request) held = request end })
      loop:run(function()
        local c = client.connect(where)
        c:write(client.bytes("GET", "/"))
        c:flush()
        while not held do require("cqueues").poll(0.001) end
        s:close()
        s:close()
        assert.equal(503, client.exchange(c, "").status)
        c:close()
      end)
      assert.matches("closed", tostring(s))
      local ok, _, kind = held:respond(200)
      assert.same({ nil, "closed" }, { ok, kind })
    end)

    it("may happen inside a handler", function()
      local s, where
      s, where = open({ on_request = function(request)
        request:respond(200, nil, "bye")
        s:close()
      end })
      local reply = get(where)
      assert.is_true(reply == nil or reply.status == 200)
    end)

    it("ends replies that are on their way in pieces", function()
      local asked = false
      local s, where = open({ on_request = function(request)
        asked = true
        request:respond(200, nil, "0123456789", { piece = 1, every = 3600 })
      end })
      loop:run(function()
        local c = client.connect(where)
        c:write(client.bytes("GET", "/"))
        c:flush()
        while not asked do require("cqueues").poll(0.001) end
        require("cqueues").poll(0.01)
        s:close()
        assert.is_false(client.exchange(c, "").whole)
        c:close()
      end)
    end)

    it("makes every method raise", function()
      local s = open({ on_request = echo })
      s:close()
      assert.has_error(function() s:port() end, "fleet.server is closed")
      assert.has_error(function() s:step() end, "fleet.server is closed")
    end)
  end)

  describe("the process", function()
    -- What happens to a state or a fork is seen from outside: each script ends by itself and says so.
    local function script(text)
      local path = os.tmpname()
      local f = io.open(path, "w")
      f:write([[
        local server, client = require("fleet.server"), require("spec.support.harness.miniclient")
        local loop = require("spec.support.harness.miniloop").new()
        local held
        local s = assert(server.new({ loop = loop, unix = UNIX, on_request = function(r) held = r end }))
        local c = client.connect({ port = s:port(), path = UNIX })
        c:write(client.bytes("GET", "/"))
        c:flush()
        while not held do loop.controller:step(0.1) end
      ]], text)
      f:close()
      local pipe = io.popen(process.lua .. " " .. path .. " 2>&1; echo $?")
      local out = pipe:read("a")
      pipe:close()
      os.remove(path)
      return out
    end

    it("may end with requests that wait", function()
      assert.equal("0\n", script("os.exit(0, true)"))
      assert.equal("0\n", script("os.exit(0, false)"))
    end)

    it("may collect a server with requests that wait", function()
      assert.equal("0\n", script([[
        loop.controller = nil
        s, held, loop = nil, nil, nil
        require("spec.support.harness.garbage").collect()
        assert(server.live_objects() == 0)
      ]]))
    end)

    it("may fork: the child's handles are refused, and its end does no harm", function()
      assert.equal("child 0\n503\n0\n", script([[
        print("child " .. require("probe_fork")(function()
          local ok, message = pcall(s.step, s)
          assert(not ok and message:find("before fork", 1, true), message)
          held:respond(200, nil, "of the child")
          s:close()
          s, held = nil, nil
          require("spec.support.harness.garbage").collect()
        end))
        s:close()
        print(client.exchange(c, "").status)
      ]]))
    end)
  end)

  describe("options", function()
    for name, case in pairs({
      ["no loop"] = { { on_request = echo }, "'loop'" },
      ["no handler"] = { { loop = {} }, "'on_request'" },
      ["a misspelt name"] = { { loop = {}, on_request = echo, prot = 1 }, "did you mean 'port'" },
      ["a port out of range"] = { { loop = {}, on_request = echo, port = 70000 }, "'port'" },
      ["a body limit that is no integer"] = { { loop = {}, on_request = echo, max_body = 1.5 }, "'max_body'" },
      ["a time limit of nothing"] = { { loop = {}, on_request = echo, timeout = 0 }, "'timeout'" },
    }) do
      it("with " .. name .. " raise", function()
        local ok, message = pcall(server.new, case[1])
        assert.is_false(ok)
        assert.matches(case[2], message, 1, true)
      end)
    end

    it("with a port in use give nil and an error", function()
      local _, where = open({ on_request = echo })
      local s, err, kind = server.new({ loop = loop, port = where.port, on_request = echo })
      assert.same({ nil, "network" }, { s, kind })
      assert.matches("in use", tostring(err))
    end)

    it("with a name for a host give nil and an error that says what to give", function()
      local _, err, kind = server.new({ loop = loop, host = "localhost", on_request = echo })
      assert.equal("invalid", kind)
      assert.matches("numeric", tostring(err))
    end)

    it("with a loop whose watch fails close the port again", function()
      assert.has_error(function()
        server.new({ loop = { watch = function() error("no", 0) end }, on_request = echo })
      end, "no")
    end)
  end)

  describe("a Unix socket", function()
    local path

    before_each(function()
      path = os.tmpname()
      os.remove(path)
    end)

    after_each(function() os.remove(path) end)

    local function mode()
      local pipe = io.popen("stat -c '%F %a' " .. path .. " 2>/dev/null")
      local text = pipe:read("a")
      pipe:close()
      return text
    end

    it("serves, is private, and is gone after close", function()
      local s, where = open({ unix = path, on_request = echo })
      assert.equal("socket 600\n", mode())
      assert.equal("GET /x ", get(where, "GET", "/x").body)
      s:close()
      assert.equal("", mode())
    end)

    it("replaces one that a dead process left", function()
      local listener = assert(require("cqueues.socket").listen({ path = path }))
      assert(listener:listen())
      listener:close() -- the file stays, as it does after a kill
      assert.matches("socket", mode())
      assert.equal(200, get((select(2, open({ unix = path, on_request = echo })))).status)
    end)

    it("never replaces a living one", function()
      local _, where = open({ unix = path, on_request = echo })
      local s, err = server.new({ loop = loop, unix = path, on_request = echo })
      assert.is_nil(s)
      assert.matches("in use", tostring(err))
      assert.equal(200, get(where).status)
    end)

    it("never replaces a file", function()
      io.open(path, "w"):close()
      assert.is_nil((server.new({ loop = loop, unix = path, on_request = echo })))
      assert.matches("regular", mode())
    end)

    it("that another process has replaced stays on close", function()
      local s = open({ unix = path, on_request = echo })
      os.remove(path)
      io.open(path, "w"):close()
      s:close()
      assert.matches("regular", mode())
    end)

    it("refuses a path that is too long", function()
      local _, _, kind = server.new({ loop = loop, unix = "/" .. ("x"):rep(200), on_request = echo })
      assert.equal("invalid", kind)
    end)
  end)
end)
