-- The connection to a broker and the link that keeps one, against a real Mosquitto.

local fleet = require "fleet"
local core = require "fleet.core"
local links = require "fleet.mqtt.link"
local garbage = require("spec.support.harness.garbage")
local files = require "spec.support.harness.files"
local mosquitto = require "spec.support.servers.mosquitto"
local process = require "spec.support.harness.process"

local library = links.library()
local there = library and mosquitto.installed()

describe("the link to an MQTT broker", function()
  if not there then
    pending(library and mosquitto.missing or "fleet was built without libmosquitto")
    return
  end

  local broker, open

  local function settle(condition)
    local ends = core.clock() + 60
    while not condition() do
      assert(core.clock() < ends, "it never came to that")
      fleet.sleep(0.005)
    end
  end

  -- Links run until they are stopped: what fails in fn must not leave one behind, for which fleet.run would wait.
  local function run(fn)
    fleet.run(function()
      local ok, failure = pcall(fn)
      for _, one in ipairs(open) do one.link:stop() end
      if not ok then error(failure, 0) end
    end)
  end

  local function connected(l, heard)
    settle(function() return heard.state end)
    assert(heard.state == "connected", "the broker cannot be reached: " .. tostring(heard.err))
    return l
  end

  -- A link that runs, and what it has heard.
  local function link(given)
    local heard = { states = {}, told_at = {}, messages = {} }
    local options = { host = "127.0.0.1", port = broker and broker.port, client_id = "spec-" .. tostring(#open + 1), keepalive = 30 }
    for name, value in pairs(given.broker or {}) do options[name] = value end
    local l = links.new {
      library = given.library or library, broker = options,
      on_message = function(topic, payload, retained)
        heard.messages[#heard.messages + 1] = { topic = topic, payload = payload, retained = retained }
        heard[topic] = payload
      end,
      on_state = function(state, err)
        if state == "listening" then return end
        heard.states[#heard.states + 1], heard.state, heard.err = state, state, err or heard.err
        heard.told_at[#heard.states] = core.clock()
      end,
    }
    l:listen(given.topics or {})
    open[#open + 1] = { link = l, task = fleet.spawn(function() l:run() end) }
    return l, heard
  end

  before_each(function() open, broker = {}, nil end)

  after_each(function()
    fleet.run(function()
      for _, one in ipairs(open) do
        one.link:stop()
        one.task:wait()
      end
    end)
    if broker then broker.stop() end
    open = nil
    garbage.collect()
    assert.equal(0, library.live_objects())
  end)

  it("says what is retained, and hears what comes", function()
    broker = mosquitto.start()
    run(function()
      local first, _ = link {}
      first:set("house/a", "1")
      first:set("house/b", "")
      settle(function() return first.connected and first:waiting() == 0 end)
      local _, heard = link { topics = { "house/+" } }
      settle(function() return heard["house/a"] end)
      assert.same({ { topic = "house/a", payload = "1", retained = true } }, heard.messages)
      first:set("house/a", "2")
      first:say("house/c", "once")
      settle(function() return heard["house/c"] end)
      assert.equal("2", heard["house/a"])
      assert.is_false(heard.messages[3].retained)
      first:clear("house/a")
      settle(function() return heard["house/a"] == "" end)
      settle(function() return first:waiting() == 0 end)
      assert.is_nil(first.wanted["house/a"])
      for _, one in ipairs(open) do one.link:stop() end
    end)
  end)

  it("clears a topic twice in a row", function()
    broker = mosquitto.start()
    run(function()
      local l, heard = link { broker = { most = 1 } } -- so that the second waits while the first is confirmed
      connected(l, heard)
      l:set("house/a", "1")
      l:clear("house/a")
      l:clear("house/a")
      settle(function() return l:waiting() == 0 end)
      l:clear("house/a")
      l:clear("house/a")
      l:set("house/b", "1")
      settle(function() return l:waiting() == 0 end)
      assert.is_nil(l.wanted["house/a"])
    end)
  end)

  it("publishes the same twice only on request", function()
    broker = mosquitto.start()
    run(function()
      local l = link {}
      settle(function() return l.connected end)
      l:set("house/a", "1")
      l:set("house/a", "1")
      settle(function() return l:waiting() == 0 end)
      assert.equal(1, l.sent)
      l:set("house/a", "1", true)
      settle(function() return l:waiting() == 0 end)
      assert.equal(2, l.sent)
      l:stop()
    end)
  end)

  it("goes through TLS with an authority of one's own, and through no other", function()
    broker = mosquitto.start { tls = "server", password = "s3cret" }
    local broker_options = { host = "localhost", tls = true, ca_file = broker.directory .. "/ca.pem", user = "anna", password = "s3cret" }
    run(function()
      connected(link { broker = broker_options })
      broker_options.ca_file = broker.directory .. "/stranger.pem"
      local _, bad = link { broker = broker_options }
      settle(function() return bad.state end)
      assert.equal("lost", bad.state)
      assert.equal("tls", bad.err.kind)
      assert.matches("certificate verify failed", bad.err.message)
      for _, one in ipairs(open) do one.link:stop() end
    end)
  end)

  -- Of the addresses that stand for a name here only the second has a broker.
  local two = library and { open = library.open, addresses = function() return { "127.0.0.2", "127.0.0.1" } end }

  it("tries all addresses of the broker's name, without a pause between them", function()
    broker = mosquitto.start()
    run(function()
      local l, heard = link { library = two, broker = { host = "broker.example" } }
      connected(l, heard)
      assert.same({ "connected" }, heard.states)
    end)
  end)

  it("wants the certificate of the name, whichever of its addresses it connects to", function()
    broker = mosquitto.start { tls = "server" }
    run(function()
      local ca = broker.directory .. "/ca.pem"
      local l, heard = link { library = two, broker = { host = "localhost", tls = true, ca_file = ca } }
      connected(l, heard)
      local _, wrong = link { library = two, broker = { host = "broker.example", tls = true, ca_file = ca } }
      settle(function() return wrong.state end)
      assert.same({ "lost", "tls" }, { wrong.state, wrong.err.kind })
    end)
  end)

  it("announces the name to the server, not the address", function()
    broker = mosquitto.start { tls = "server" }
    local directory, port = broker.directory, require("spec.support.servers.nginx").free_port()
    local server = process.start("sh -c " .. process.quote(([[
      cd %s || exit 1
      mkfifo silence
      exec 3<>silence # it ends with its input
      openssl s_server -accept 127.0.0.1:%d -cert other.pem -key other.key -cert2 server.pem -key2 server.key -servername localhost \
        >seen 2>&1 <&3 & pid=$!
      until grep -qs ACCEPT seen; do kill -0 $pid || exit 1; sleep 0.02; done
      echo ready >"$1"
      read -r line
      kill $pid]]):format(process.quote(directory), port)) .. " sh")
    run(function()
      local _, heard = link { library = two, broker = { host = "localhost", port = port, tls = true, ca_file = directory .. "/ca.pem" } }
      settle(function() return heard.state or string.find(files.read(directory .. "/seen"), "MQTT", 1, true) end)
      assert.is_nil(heard.state)
    end)
    server.stop()
  end)

  it("says that a host has no address", function()
    run(function()
      local _, heard = link { broker = { host = "a..b", port = 1883 } }
      settle(function() return heard.state end)
      assert.same({ "lost", "network" }, { heard.state, heard.err.kind })
      assert.matches("the broker's host a..b has no address", heard.err.message, 1, true)
      local found = assert(library.addresses "127.0.0.1")
      assert.same({ "127.0.0.1" }, found)
    end)
  end)

  it("refuses a certificate of another name", function()
    broker = mosquitto.start { tls = "other" }
    run(function()
      local l, heard = link { broker = { host = "localhost", tls = true, ca_file = broker.directory .. "/ca.pem" } }
      settle(function() return heard.state end)
      assert.equal("lost", heard.state)
      assert.equal("tls", heard.err.kind)
      l:stop()
    end)
  end)

  it("reports a wrong password, without showing it", function()
    broker = mosquitto.start { password = "s3cret" }
    run(function()
      local l, heard = link { broker = { user = "anna", password = "wrong-word" } }
      settle(function() return heard.state end)
      assert.equal("auth", heard.err.kind)
      assert.not_matches("wrong%-word", tostring(heard.err))
      l:stop()
    end)
  end)

  it("reaches a broker at a Unix socket", function()
    broker = mosquitto.start()
    run(function()
      local l, heard = link { broker = { host = broker.path, port = 0 } }
      settle(function() return heard.state end)
      assert.equal("connected", heard.state)
      l:stop()
    end)
  end)

  it("gives up a connection that no server accepts, with TLS too, and waits between the tries", function()
    broker = { port = require("spec.support.servers.nginx").free_port(), stop = function() end }
    run(function()
      local tries = {}
      for i, tls in ipairs { false, true } do tries[i] = select(2, link { broker = { tls = tls or nil } }) end
      for _, heard in ipairs(tries) do
        settle(function() return heard.states[2] end)
        assert.same({ "lost", "lost", "network" }, { heard.states[1], heard.states[2], heard.err.kind })
        assert.is_true(heard.told_at[2] - heard.told_at[1] >= 0.9) -- a second, or longer where the machine stood still
      end
      for _, one in ipairs(open) do one.link:stop() end
    end)
  end)

  it("publishes everything again to a broker that came back", function()
    broker = mosquitto.start()
    run(function()
      local l, heard = link {}
      l:set("house/a", "1")
      settle(function() return l.connected and l:waiting() == 0 end)
      broker.stop()
      settle(function() return heard.state == "lost" end)
      l:set("house/b", "old")
      l:set("house/b", "new")
      l:say("house/answer", "kept")
      broker = mosquitto.start { port = broker.port }
      local other, listener = link { topics = { "house/+" } }
      settle(function() return listener["house/answer"] and listener["house/a"] and listener["house/b"] end)
      assert.equal("new", listener["house/b"])
      assert.equal("1", listener["house/a"])
      l:stop()
      other:stop()
    end)
  end)

  it("sends more than may be unconfirmed, and keeps a bounded number of answers", function()
    broker = mosquitto.start()
    run(function()
      local l = link { broker = { most = 5 } }
      for i = 1, 300 do l:set("house/" .. i, tostring(i)) end
      for i = 1, 1100 do l:say("house/answer", tostring(i)) end
      assert.equal(100, l.dropped)
      settle(function() return l.connected and l:waiting() == 0 end)
      assert.equal(1300, l.sent)
      local other, heard = link { topics = { "house/#" } }
      settle(function() return #heard.messages == 300 end)
      l:stop()
      other:stop()
    end)
  end)

  it("leaves its will when it dies, and not when it leaves", function()
    broker = mosquitto.start()
    run(function()
      local _, heard = link { topics = { "house/+" } }
      local dying = link { broker = { will_topic = "house/will", will = "gone" } }
      settle(function() return dying.connected and heard.state end)
      local connection = dying.connection
      dying.watch:close()
      dying.connection, dying.connected, dying.watch = nil, false, nil
      connection:close() -- the socket ends without a word
      settle(function() return heard["house/will"] end)
      assert.equal("gone", heard["house/will"])
      dying:stop()
      local leaving = link { broker = { will_topic = "house/second", will = "gone" } }
      settle(function() return leaving.connected end)
      leaving:stop()
      open[#open].task:wait()
      fleet.sleep(0.05)
      assert.is_nil(heard["house/second"])
      for _, one in ipairs(open) do one.link:stop() end
    end)
  end)

  it("ends a connection that brings more than can be handled", function()
    broker = mosquitto.start()
    run(function()
      local flood = {}
      local l = link { broker = { most = 2000 } }
      settle(function() return l.connected end)
      local connection = assert(library.open { host = "127.0.0.1", port = broker.port, client_id = "deaf" })
      flood.watch = fleet.loop.watch(connection:fd(), "rw", function(what) connection:ready(what) end)
      settle(function() return connection:take() == "connected" end)
      connection:subscribe("flood/#")
      settle(function() return connection:take() == "subscribed" end)
      for i = 1, 1100 do l:set("flood/" .. i, "x") end
      settle(function() return not connection:fd() end)
      flood.watch:close()
      local messages, name, err = 0, connection:take()
      while name == "message" do
        messages = messages + 1
        name, err = connection:take()
      end
      assert.equal("ended", name)
      assert.equal("busy", err.kind)
      assert.equal(1000, messages)
      connection:close()
      l:stop()
    end)
  end)

  it("is refused in a forked child, whose end leaves the parent's connection alone", function()
    broker = mosquitto.start { tls = "server" }
    local probe = require "probe_fork"
    run(function()
      local l = link { broker = { host = "localhost", tls = true, ca_file = broker.directory .. "/ca.pem" } }
      settle(function() return l.connected end)
      local status = probe(function()
        local ok, message = pcall(l.connection.publish, l.connection, "house/a", "child", true)
        assert(not ok and string.find(message, "before fork", 1, true), message)
        l.connection:close()
      end)
      assert.equal(0, status)
      l:set("house/a", "parent")
      settle(function() return l:waiting() == 0 end)
      assert.is_true(l.connected)
      l:stop()
    end)
  end)

  it("checks its options", function()
    assert.has_error(function() library.open { port = 1 } end)
    assert.has_error(function() library.open { host = "h", client_id = "c", portt = 1 } end)
    assert.has_error(function() library.open { host = "h", client_id = "c", port = 70000 } end)
    assert.has_error(function() library.open { host = "h", client_id = "c", will_topic = "t" } end)
  end)
end)

describe("without libmosquitto", function()
  it("one sentence says what is missing", function()
    local loaded, path, cpath = package.loaded["fleet.mosquitto"], package.path, package.cpath
    package.loaded["fleet.mosquitto"], package.cpath, package.path = nil, "", ""
    local found, err, kind = links.library()
    package.loaded["fleet.mosquitto"], package.cpath, package.path = loaded, cpath, path
    assert.is_nil(found)
    assert.equal("unsupported", kind)
    assert.matches("needs libmosquitto", err.message)
  end)
end)

describe("a message that comes", function()
  local probe = require "probe_mqtt"
  if not probe then
    pending "libmosquitto's header is missing"
    return
  end

  it("is passed on whole, or not at all when it is too long", function()
    assert.same({ "message", "abc", 3, "" }, { probe.message("abc", -1) })
    assert.same({ "message", "", 0, "" }, { probe.message("", -1) })
    local most = string.rep("x", 65536)
    assert.same({ "message", most, 65536, "" }, { probe.message(most, -1) })
    local name, payload, size = probe.message(most .. "y", -1)
    assert.same({ "message", 65537 }, { name, size })
    assert.is_nil(payload)
  end)

  it("for which there is no memory ends the connection: nothing is passed on in part", function()
    local succeeding = 0
    while true do
      local name, payload, _, kind = probe.message(string.rep("x", 1000), succeeding)
      if name == "message" then
        assert.equal(1000, #payload)
        break
      end
      assert.same({ "ended", "service" }, { name, kind })
      succeeding = succeeding + 1
    end
    assert.equal(3, succeeding) -- the event, its topic and its payload
  end)
end)
