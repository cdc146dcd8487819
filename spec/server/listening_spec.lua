-- How fleet.server is reached and left: TLS and certificates, who asks, handing the place to another server, going quiet, and
-- room for others when all places are taken.
local server = require("fleet.server")
local garbage = require("spec.support.harness.garbage")
local client = require("spec.support.harness.miniclient")
local files = require("spec.support.harness.files")
local miniloop = require("spec.support.harness.miniloop")
local nginx = require("spec.support.servers.nginx")
local process = require("spec.support.harness.process")

describe("fleet.server", function()
  local loop, opened

  local function open(options)
    options.loop = options.loop or loop
    local s = assert(server.new(options))
    opened[#opened + 1] = s
    return s, { port = s:port(), path = options.unix }
  end

  local function get(where, headers)
    return loop:run(function() return client.request(where, "GET", "/", headers) end)
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

  local function tell_peer(request)
    local address, uid, certificate = request:peer()
    request:respond(200, nil, ("%s|%s|%s"):format(tostring(address), tostring(uid), tostring(certificate)))
  end

  describe("a request's peer", function()
    it("is an address on TCP", function()
      local _, where = open({ on_request = tell_peer })
      assert.equal("127.0.0.1|nil|nil", get(where).body)
    end)

    it("is a user on a Unix socket", function()
      local path = os.tmpname()
      os.remove(path)
      local _, where = open({ unix = path, on_request = tell_peer })
      local pipe = io.popen("id -u")
      local me = pipe:read("l")
      pipe:close()
      assert.equal("nil|" .. me .. "|nil", get(where).body)
    end)

    it("is nil once the connection has gone", function()
      local held
      local s, where = open({ on_request = function(request) held = request end })
      loop:run(function()
        local c = client.connect(where)
        c:write(client.bytes("GET", "/"))
        c:flush()
        while not held do require("cqueues").poll(0.001) end
        s:close()
        c:close()
      end)
      assert.is_nil((held:peer()))
    end)
  end)

  describe("a body with two lengths", function()
    local function send(bytes)
      local _, where = open({ on_request = function(request) request:respond(200, nil, request.body) end })
      return loop:run(function()
        local c = client.connect(where)
        local reply = client.exchange(c, bytes)
        c:close()
        return reply
      end)
    end

    it("is refused", function()
      local reply = send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
      assert.equal(400, reply.status)
    end)

    it("is refused where both are a Content-Length, or each a coding", function()
      for _, lines in ipairs {
        "Content-Length: 3\r\nContent-Length: 4\r\n", "Content-Length: 4\r\nX: y\r\ncontent-length: 3\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n",
      } do
        assert.equal(400, send("POST / HTTP/1.1\r\nHost: h\r\n" .. lines .. "\r\n3\r\nabc\r\n0\r\n\r\n").status)
      end
    end)

    it("is refused with a coding that is not undone", function()
      assert.equal(400, send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n").status)
    end)

    it("but one in chunks is taken", function()
      assert.equal("abc", send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n").body)
    end)
  end)

  describe("TLS", function()
    local directory, texts

    setup(function()
      directory = process.temporary("server-tls")
      nginx.certificates(directory)
      texts = function(name) return files.read(directory .. "/" .. name) end
    end)

    local function with_tls(more)
      local options = { on_request = tell_peer, certificate = texts("server.pem"), certificate_key = texts("server.key") }
      for name, value in pairs(more or {}) do options[name] = value end
      local _, where = open(options)
      return where
    end

    -- curl in the background, because the server runs in this process.
    local function curl(where, arguments)
      local out = directory .. "/out"
      os.remove(out .. ".done")
      process.execute(("(cd %s; curl -s -o out -w '%%{http_code}' --max-time 10 %s https://127.0.0.1:%d/ >code 2>&1; mv code out.done) &")
        :format(process.quote(directory), arguments, where.port))
      loop:run(function()
        while not files.find(out .. ".done") do require("cqueues").poll(0.01) end
      end)
      local code = files.read(out .. ".done")
      return code, code == "200" and files.read(out) or nil
    end

    it("serves with a given certificate", function()
      local code, body = curl(with_tls(), "--cacert ca.pem")
      assert.same({ "200", "127.0.0.1|nil|nil" }, { code, body })
    end)

    it("is not plain HTTP", function()
      assert.is_nil(get(with_tls()))
    end)

    it("does not speak TLS 1.1", function()
      assert.equal("000", (curl(with_tls(), "--cacert ca.pem --tls-max 1.1 --ciphers DEFAULT@SECLEVEL=0")))
    end)

    it("names the client whose certificate its authority signed", function()
      local where = with_tls({ client_ca = texts("ca.pem") })
      assert.equal("127.0.0.1|nil|other", (select(2, curl(where, "--cacert ca.pem --cert other.pem --key other.key"))))
    end)

    it("has no name for an untrusted certificate, nor without one", function()
      local where = with_tls({ client_ca = texts("stranger.pem") })
      assert.equal("127.0.0.1|nil|nil", (select(2, curl(where, "--cacert ca.pem --cert other.pem --key other.key"))))
      assert.equal("127.0.0.1|nil|nil", (select(2, curl(where, "--cacert ca.pem"))))
    end)

    it("with another certificate's key gives nil and an error", function()
      local s, err = server.new({
        loop = loop, on_request = tell_peer, certificate = texts("server.pem"), certificate_key = texts("other.key"),
      })
      assert.is_nil(s)
      assert.matches("certificate", tostring(err))
    end)

    it("needs certificate and key together", function()
      assert.has_error(function() server.new({ loop = loop, on_request = tell_peer, certificate = "x" }) end,
        "options 'certificate' and 'certificate_key' belong together")
      assert.has_error(function() server.new({ loop = loop, on_request = tell_peer, client_ca = "x" }) end,
        "option 'client_ca' needs 'certificate'")
    end)
  end)

  describe("a server that takes another's place", function()
    it("gets the new connections, while the old one ends what it has", function()
      local held
      local old, where = open({ on_request = function(request) held = request end })
      loop:run(function()
        local c = client.connect(where)
        c:write(client.bytes("GET", "/"))
        c:flush()
        while not held do require("cqueues").poll(0.001) end
        local fresh = open({ takes_over = old, on_request = function(request) request:respond(200, nil, "fresh") end })
        assert.equal(where.port, fresh:port())
        assert.equal("fresh", client.request(where, "GET", "/").body)
        held:respond(200, nil, "old")
        local reply = client.exchange(c, "")
        assert.same({ "old", "close" }, { reply.body, reply.headers.connection:lower() })
        c:close()
        while old:connections() > 0 do require("cqueues").poll(0.001) end
        old:close()
        assert.equal("fresh", client.request(where, "GET", "/").body)
      end)
    end)

    it("keeps the path of a Unix socket, whichever of the two ends", function()
      local path = os.tmpname()
      os.remove(path)
      local old = open({ unix = path, on_request = function() end })
      local fresh = open({ takes_over = old, on_request = function(request) request:respond(200, nil, "fresh") end })
      old:close()
      assert.equal("fresh", get({ path = path }).body)
      fresh:close()
      assert.is_nil(files.find(path))
      assert.is_nil(io.open(path))
    end)

    it("that cannot be started leaves it where it is", function()
      local old, where = open({ on_request = function(request) request:respond(200, nil, "old") end })
      assert.is_nil((server.new({ loop = loop, takes_over = old, on_request = function() end, certificate = "x", certificate_key = "y" })))
      assert.equal("old", get(where).body)
    end)

    it("that cannot be started leaves its socket file alone", function()
      local path = os.tmpname()
      os.remove(path)
      local old = open({ unix = path, on_request = function(request) request:respond(200, nil, "old") end })
      assert.is_nil((server.new({ loop = loop, takes_over = old, on_request = function() end, certificate = "x", certificate_key = "y" })))
      assert.equal("old", get({ path = path }).body)
      old:close()
    end)

    it("cannot take it from one that does not listen any more", function()
      local old = open({ on_request = function() end })
      old:quiet()
      local s, err = server.new({ loop = loop, takes_over = old, on_request = function() end })
      assert.is_nil(s)
      assert.matches("does not listen", tostring(err))
    end)
  end)

  describe("a quiet server", function()
    it("takes no more connections and ends what it has", function()
      local held
      local s, where = open({ on_request = function(request) held = request end })
      loop:run(function()
        local c = client.connect(where)
        c:write(client.bytes("GET", "/"))
        c:flush()
        while not held do require("cqueues").poll(0.001) end
        s:quiet()
        s:quiet()
        assert.is_false((pcall(client.connect, where)))
        held:respond(200, nil, "last")
        assert.equal("last", client.exchange(c, "").body)
        assert.is_nil(c:read("*l"))
        c:close()
      end)
    end)
  end)

  describe("when all places are taken", function()
    local function taken(arrival)
      local _, where = open({ max_connections = 3, arrival = arrival, on_request = function(r) r:respond(200, nil, "served") end })
      return where
    end

    it("connections that ask for nothing make room for one that does", function()
      local where = taken(600)
      loop:run(function()
        local silent = {}
        for i = 1, 3 do silent[i] = client.connect(where) end
        assert.equal("served", client.request(where, "GET", "/").body)
        for i = 1, 3 do silent[i]:close() end
      end)
    end)

    it("those that wait for an answer do not", function()
      local held = {}
      local _, where = open({ max_connections = 2, arrival = 600, on_request = function(r) held[#held + 1] = r end })
      loop:run(function()
        local waiting = {}
        for i = 1, 2 do
          waiting[i] = client.connect(where)
          waiting[i]:write(client.bytes("GET", "/"))
          waiting[i]:flush()
        end
        while #held < 2 do require("cqueues").poll(0.001) end
        local third = client.connect(where)
        require("cqueues").poll(1.5) -- longer than the patience with those that ask for nothing
        for i = 1, 2 do
          held[i]:respond(200, nil, "served")
          assert.equal("served", client.exchange(waiting[i], "").body)
          waiting[i]:close()
        end
        third:close()
      end)
    end)
  end)

  it("refuses a descriptor that is no listening socket", function()
    local s, err, kind = server.new({ loop = loop, fd = 1, on_request = function() end })
    assert.same({ nil, "invalid" }, { s, kind })
    assert.matches("descriptor 1 is not a listening socket", tostring(err), 1, true)
  end)
end)
