-- The Redis store against a redis-server: what breaks, what comes back, what is kept, and who gets in. What it shares with
-- other stores is in spec/contract/stores_spec.lua.

local core = require "fleet.core"
local fleet = require "fleet"
local files = require "spec.support.harness.files"
local redis = require "spec.support.servers.redis"
local stores = require "spec.support.fixtures.stores"

local missing = redis.missing()
if missing then
  pending("the Redis store is not tried: " .. missing)
  return
end

local live = require("fleet.redis").live_objects
local seal = require "fleet.store.sealed"
local servers, opened = {}, {}
local before -- what other specs have left open

local function start(options)
  before = before or live()
  servers[#servers + 1] = redis.start(options)
  return servers[#servers]
end

local function open(address, options)
  local own = { address = address, settle = 0, prefix = "t/" }
  for name, value in pairs(options or {}) do own[name] = value end
  opened[#opened + 1] = assert(fleet.store.redis(own))
  return opened[#opened]
end

local function put_away()
  for _, store in ipairs(opened) do store:close() end
  for _, server in ipairs(servers) do server.stop() end
  servers, opened = {}, {}
  local left = live()
  assert.is_true(left <= (before or left), left .. " connections are left")
end

local function acts(store) -- below the checks of the contract
  return store.acts
end

-- What is sent on a connection of the store's own, in place of what the store would send.
local function link_of(store)
  return acts(store).link
end

-- What must fail is given a short time, what must succeed a long one.
local function be_patient(store)
  link_of(store).timeout = 10
end

-- What fails in a short time. On a machine that stands still the time may be over before the server has said what is looked for,
-- and then it gets more. f() → value, err; returns err.
local function failing(store, said, f)
  for _, timeout in ipairs { 0.3, 2, 10 } do
    link_of(store).timeout = timeout
    local value, err = f()
    assert.is_nil(value)
    if err.message:find(said) or timeout == 10 then
      assert.matches(said, err.message)
      return err
    end
  end
end

describe("the address of a Redis store", function()
  local good = {
    ["redis+unix:/run/redis.sock"] = "redis+unix:/run/redis.sock", ["redis+unix:///run/redis.sock"] = "redis+unix:/run/redis.sock",
    ["redis://127.0.0.1"] = "redis://127.0.0.1:6379", ["redis://localhost:7000/3"] = "redis://localhost:7000/3",
    ["redis://[::1]:7000"] = "redis://[::1]:7000", ["rediss://fleet@redis.example.com:6380/1"] = "rediss://redis.example.com:6380/1",
    ["redis://10.0.0.1?insecure_plain_tcp=1"] = "redis://10.0.0.1:6379",
  }
  for text, label in pairs(good) do
    it("may be " .. text, function()
      local store = assert(fleet.store.open(text))
      assert.equal("fleet.store.redis (" .. label .. ")", tostring(store))
      store:close()
    end)
  end

  local bad = {
    ["redis://10.0.0.1"] = "plain TCP carries tokens", ["redis://redis.example.com/0"] = "use rediss://redis.example.com",
    ["redis://127.0.0.1.example.com"] = "plain TCP", ["redis://:secret@127.0.0.1"] = "a password does not belong in an address",
    ["redis:127.0.0.1"] = "an address is", ["redis+unix:socket"] = "an address is", ["redis://127.0.0.1/a"] = "an address is",
    ["redis://127.0.0.1?colour=red"] = "unknown parameter 'colour'", ["redis://127.0.0.1?timeout=x"] = "'timeout' is a number",
    ["redis://127.0.0.1?replicas=-1"] = "'replicas'", ["redis://127.0.0.1:65536"] = "'port'",
    ["redis+unix:/run/a%00b"] = "an address is", ["redis://a%0Ab@127.0.0.1"] = "an address is",
  }
  for text, why in pairs(bad) do
    it("is refused as " .. text, function()
      assert.error_matches(function() fleet.store.open(text) end, why)
    end)
  end

  it("keeps a mistaken password out of what it says", function()
    local _, said = pcall(fleet.store.open, "redis://me:hush@127.0.0.1")
    assert.is_nil(tostring(said):find("hush", 1, true))
  end)

  it("takes options beside it, and no unknown ones", function()
    assert.error_matches(function() fleet.store.redis { address = "redis://127.0.0.1", colour = 1 } end, "unknown option 'colour'")
    assert.error_matches(function() fleet.store.redis { prefix = "x" } end, "an address is")
    assert.error_matches(function() fleet.store.redis("redis://127.0.0.1", { timeout = 0 }) end, "timeout")
  end)
end)

describe("without hiredis", function()
  it("one sentence says what is missing", function()
    local loaded = package.loaded["fleet.redis"]
    package.loaded["fleet.redis"], package.preload["fleet.redis"] = nil, function() error("not found") end
    local store, err, kind = fleet.store.open("redis://127.0.0.1")
    package.loaded["fleet.redis"], package.preload["fleet.redis"] = loaded, nil
    assert.is_nil(store)
    assert.equal("store", kind)
    assert.matches("install libhiredis%-dev and build again", err.message)
  end)
end)

describe("getting in", function()
  after_each(put_away)

  local function with_password(options)
    local server = start { settings = { "requirepass hush", "save \"\"" } }
    return open(server.address, options)
  end

  local function password_file(text, mode)
    local path = os.tmpname()
    files.write(path, text)
    os.execute("chmod " .. mode .. " " .. path)
    finally(function() os.remove(path) end)
    return path
  end

  it("takes the password of a file that is ours alone", function()
    assert.is_truthy(with_password({ password_file = password_file("hush\n", "600") }):put("k", "v"))
  end)

  it("refuses one that others can read", function()
    local _, err, kind = with_password({ password_file = password_file("hush\n", "644") }):put("k", "v")
    assert.equal("store", kind)
    assert.matches("open to others: chmod 600", err.message)
  end)

  it("takes the password of the environment", function()
    local server = start { settings = { "requirepass hush", "save \"\"" } }
    local code = [[
      local fleet = require "fleet"
      local store = fleet.store.redis { address = ..., password_env = "FLEET_TEST_PASSWORD", settle = 0 }
      local version, err = store:put("k", "v")
      print(version and version > 0 or err.message)
    ]]
    assert.equal("true\n", (stores.process(code, { server.address }, "FLEET_TEST_PASSWORD=hush exec %s")))
    local output = stores.process(code, { server.address }, "exec %s")
    assert.matches("the environment holds no password of Redis in FLEET_TEST_PASSWORD", output)
  end)

  it("says at once that the password is missing or wrong, and says no password", function()
    local server = start { settings = { "requirepass hush", "save \"\"" } }
    for _, options in ipairs { {}, { password = "guess" } } do
      local _, err, kind = open(server.address, options):get("k")
      assert.equal("store", kind)
      assert.matches("refuses: ", err.message)
      assert.is_nil(err.message:find("guess", 1, true))
    end
  end)

  it("speaks TLS with a server whose certificate is believed, and with no other", function()
    local server = start { tls = "server" }
    local store = open(server.address, { ca_file = server.directory .. "/ca.pem" })
    local long = ("x"):rep(200000)
    assert.is_truthy(store:put("k", long))
    assert.equal(long, (store:get("k")))
    local numeric = server.address:gsub("localhost", "127.0.0.1")
    assert.equal(long, (open(numeric, { ca_file = server.directory .. "/ca.pem" }):get("k")))
    local _, err = open(server.address, { ca_file = server.directory .. "/stranger.pem" }):get("k")
    assert.matches("certificate of Redis is not believed", err.message)
    _, err = open(server.address):get("k")
    assert.matches("certificate of Redis is not believed", err.message)
  end)

  it("is kept whatever others left in OpenSSL's queue of errors", function()
    local server = start { tls = "server" }
    local store = open(server.address, { ca_file = server.directory .. "/ca.pem" })
    require("probe_openssl_errors")()
    assert.is_truthy(store:put("k", "v"))
    local attempt = link_of(store).attempt
    for _ = 1, 5 do
      require("probe_openssl_errors")()
      assert.equal("v", (store:get("k")))
    end
    assert.equal(attempt, link_of(store).attempt)
  end)

  it("compares the name in the certificate", function()
    local server = start { tls = "server" }
    os.execute(("cd %s && cp other.pem server.pem && cp other.key server.key"):format(server.directory))
    server.kill()
    server.again()
    local _, err = open(server.address, { ca_file = server.directory .. "/ca.pem" }):get("k")
    assert.matches("certificate of Redis is not believed", err.message)
  end)

  it("does not fall back to plain TCP where no TLS is spoken", function()
    local server = start { port = true }
    local _, err, kind = open("rediss://localhost:" .. server.port, { timeout = 0.3 }):get("k")
    assert.equal("store", kind)
    assert.matches("did not answer within", err.message)
  end)

  it("serves on plain TCP of this machine, in a database of its own", function()
    local server = start { port = true }
    open(server.tcp .. "/3"):put("k", "three")
    assert.is_nil((open(server.tcp .. "/4"):get("k")))
    assert.equal("three", (open(server.tcp .. "/3"):get("k")))
  end)
end)

describe("a connection that breaks", function()
  after_each(put_away)

  it("is made anew, and what was not answered is asked again", function()
    local server = start { settings = { "appendonly yes", "appendfsync always" } }
    local store = open(server.address)
    assert.is_truthy(store:put("k", "1", { durable = true }))
    server.kill()
    local answer
    local task = fleet.spawn(function() answer = store:put("k", "2", { durable = true }) end)
    fleet.spawn(function()
      fleet.sleep(0.1)
      server.again()
    end):wait()
    task:wait()
    assert.is_truthy(answer)
    assert.equal("2", (store:get("k")))
  end)

  it("fails what cannot be asked in time, and says why; afterwards all is well", function()
    local server = start { settings = { "appendonly yes", "appendfsync always" } }
    local store = open(server.address, { timeout = 0.2 })
    assert.is_truthy(open(server.address):put("k", "1"))
    server.kill()
    local _, err, kind = store:get("k")
    assert.equal("store", kind)
    assert.matches("does not answer: ", err.message)
    server.again()
    be_patient(store)
    assert.equal("1", (assert(store:get("k"))))
  end)

  it("is given up when a server hangs, and works again when the server continues", function()
    local server = start()
    local store = open(server.address, { timeout = 0.2 })
    assert.is_truthy(open(server.address):put("k", "1"))
    server.signal("STOP")
    local put, err = store:put("k", "2", { generation = 1 })
    assert.is_nil(put)
    assert.matches("does not answer", err.message)
    server.signal("CONT")
    be_patient(store)
    assert.equal("1", (store:get("k")))
  end)

  it("never raises SIGPIPE", function()
    local server = start()
    local output, how = stores.process([[
      local fleet = require "fleet"
      local address, pid = ...
      local store = fleet.store.redis { address = address, settle = 0, timeout = 10 }
      assert(store:put("k", "1"))
      store.acts.link.timeout = 0.2
      os.execute("kill -9 " .. pid)
      for _ = 1, 3 do print(select(3, store:put("k", ("x"):rep(1000000)))) end
    ]], { server.address, files.read(server.directory .. "/pid"):match("%d+") })
    assert.same({ "store\nstore\nstore\n", "exit 0" }, { output, how })
  end)

  -- The server does what is asked next, and the connection ends before its answer is read.
  local function lose_the_next_answer(store)
    local link = link_of(store)
    local connection = link.connection
    link.connection = setmetatable({}, { __index = function(_, name)
      if name == "step" then return function() return nil, { kind = "store", message = "cut" } end end
      if name == "take" then return function() return nil end end
      return function(_, ...) return connection[name](connection, ...) end
    end })
  end

  it("adds once when the answer to an addition is lost", function()
    local store = open(start().address)
    store:add("count/x", { n = 1 })
    lose_the_next_answer(store)
    assert.same({ n = 2 }, (store:add("count/x", { n = 1 })))
    assert.same({ n = 2 }, (store:add("count/x", {})))
  end)

  it("adds each of two where the server had thrown the scripts away only for the first", function()
    local server = start()
    local store = open(server.address)
    store:add("count/x", { n = 1 })
    local text = require("fleet.store.redis.scripts").add.text
    files.write(server.directory .. "/add.lua", text)
    server.cli("script flush")
    server.signal("STOP")
    local first = fleet.spawn(function() return store:add("count/x", { n = 1 }) end)
    fleet.sleep(0.01)
    server.signal("CONT")
    server.cli("-x script load <" .. server.directory .. "/add.lua") -- another process meets it
    assert(store:add("count/x", { n = 1 }))
    assert(first:wait())
    assert.same({ n = 3 }, (store:add("count/x", {})))
  end)

  it("leaves nothing of a process in the counters: the number of its last addition expires within the hour", function()
    local server = start()
    for _ = 1, 5 do open(server.address):add("count/x", { n = 1 }) end
    assert.equal("c:n\ng\n", server.cli("--raw hkeys t/count/x | sort"))
    local clients = 0
    for key in server.cli("--raw keys 't/client/*'"):gmatch("%S+") do
      local left = tonumber(server.cli("--raw pttl " .. key))
      assert.is_true(left > 0 and left <= 3600000, left)
      clients = clients + 1
    end
    assert.equal(5, clients)
  end)

  it("does not take its own write for another process's when the answer is lost", function()
    local store = open(start().address)
    local first = store:put("k", "1")
    lose_the_next_answer(store)
    local second = assert(store:put("k", "2", { generation = first }))
    assert.same({ "2", second }, { store:get("k") })
    lose_the_next_answer(store)
    local lease = assert(store:lease("k", 60))
    assert.is_truthy(store:put("k", "3", { lease = lease }))
  end)

  it("continues after the server lost the scripts", function()
    local server = start()
    local store = open(server.address)
    store:put("k", "1")
    server.cli("script flush")
    assert.is_truthy(store:put("k", "2"))
    assert.equal("2", (store:get("k")))
  end)

  it("lets many tasks wait for it, and a cancelled one leaves alone", function()
    local server = start()
    local store = open(server.address)
    store:put("k", "0")
    server.signal("STOP")
    local tasks, sum = {}, 0
    for i = 1, 20 do
      tasks[i] = fleet.spawn(function()
        assert(store:add("n", { n = 1 }, { ttl = 60 }))
        sum = sum + 1
      end)
    end
    fleet.sleep(0.02)
    tasks[7]:cancel()
    server.signal("CONT")
    for i, task in ipairs(tasks) do
      if i ~= 7 then task:wait() end
    end
    assert.equal(19, sum)
  end)
end)

describe("what answers", function()
  -- One that says what the spec wants, on a Unix socket.
  local function saying(bytes, timeout)
    local socket = require "cqueues.socket"
    local path = os.tmpname()
    os.remove(path)
    local listener = assert(socket.listen { path = path })
    assert(listener:listen())
    finally(function() os.remove(path) end)
    local store = open("redis+unix:" .. path, { timeout = timeout })
    local task = fleet.spawn(function() return store:get("k") end)
    fleet.sleep(0.01)
    local peer = assert(listener:accept(30))
    peer:setmode("bn", "bn")
    peer:write(bytes)
    peer:flush()
    local value, err, kind = task:wait()
    peer:close()
    listener:close()
    return value, err, kind
  end
  after_each(put_away)

  it("may be a node of a Redis Cluster: it is refused, with what to do instead", function()
    for _, word in ipairs { "MOVED 3999 127.0.0.1:6381", "CROSSSLOT Keys in request don't hash to the same slot" } do
      local _, err, kind = saying("-" .. word .. "\r\n", 30)
      assert.equal("store", kind)
      assert.matches("a node of a Redis Cluster, which is not supported: name a server of its own", err.message)
    end
  end)

  local nonsense = {
    "HTTP/1.1 400 Bad Request\r\n\r\n", "*1000000000\r\n", "$99999999999\r\n", "+OK", "*-5\r\n", "*2\r\n:1\r\n",
    ("*1\r\n"):rep(40) .. ":1\r\n", ":1\r\n:2\r\n:3\r\n", "-ERR no\r\n", "\0\0\0\0", ("+x\r\n"):rep(40),
  }
  for i, bytes in ipairs(nonsense) do
    it(("may be nonsense (%d): that is a failure of the store"):format(i), function()
      local value, err, kind = saying(bytes, 0.3)
      assert.is_nil(value)
      assert.equal("store", kind)
      assert.is_string(err.message)
    end)
  end
end)

describe("an answer that is none of the command's", function()
  after_each(put_away)

  -- What follows on this connection is answered so.
  local function answers_with(store, reply)
    local link = link_of(store)
    local connection = link.connection
    link.connection = setmetatable({}, { __index = function(_, name)
      if name == "take" then
        return function()
          local real, err = connection:take()
          if real == nil then return real, err end
          return reply
        end
      end
      return function(_, ...) return connection[name](connection, ...) end
    end })
  end

  local odd = {
    null = false, number = 5, zero = 0, negative = -1, status = "OK", text = "k", empty = "", digits_too_many = ("9"):rep(20), no_list = {},
    numbers = { 5 }, texts = { "a" }, nulls = { false, false, false, false }, deep = { { {} }, { {} }, { {} } }, pair = { "a", "b" },
    unfit_record = { 0, "value", 0 }, unfit_absence = { 0, false, 7 }, unfit_mark = { 2, "value", 7 }, unfit_lease = { "7", 0, "value", 7 },
    unfit_generation = { 0, "value", -7 }, inner_error = { 0, "value", { error = "ERR" } }, total = { "data", 7 }, half_total = { "data" },
  }
  local calls = {
    get = function(store) return store:get("token/a/user") end,
    put = function(store) return store:put("token/a/user", "pair", { durable = true }) end,
    delete = function(store) return store:delete("token/a/user") end,
    lease = function(store) return store:lease("token/a/user", 60) end,
    add = function(store) return store:add("count/x", { data = 1 }) end,
    pace = function(store) return store:pace("pace/x", { most = 5, now = 1, within = 5 }) end,
    reserve = function(store) return store:reserve("token/a/user", 100) end,
  }
  local right = { put = "number", add = "no_list" } -- a list of no totals may be answered, but lacks the one that was asked for

  for method, call in pairs(calls) do
    it("to " .. method .. " is a failure of the store, and the connection is made anew", function()
      local server = start()
      for name, reply in pairs(odd) do
        local store = open(server.address)
        assert(store:put("k", "v"))
        answers_with(store, reply)
        local ran, value, err, kind = pcall(call, store)
        assert.is_true(ran, name .. ": " .. tostring(value))
        if method ~= "put" or name ~= right.put then
          assert.is_nil(value, name)
          assert.same({ "store", "store" }, { kind, err.kind }, name)
        end
        if name ~= right[method] then assert.equal("v", (store:get("k")), name) end
      end
    end)
  end

  it("to the renewal or the end of a lease is a failure, too", function()
    local store = open(start().address)
    local lease = assert(store:lease("k", 60))
    answers_with(store, false)
    assert.equal("store", select(3, lease:renew()))
    assert.is_truthy(store:put("x", "y"))
    answers_with(store, { 1 })
    assert.equal("store", select(3, lease:release()))
  end)

  it("to a new pair's write leaves the pair unsaved, used and offered again", function()
    local accounts = require "spec.support.fixtures.accounts"
    local tokens = require "fleet.oauth.tokens"
    for _, reply in ipairs { false, "OK", {} } do
      local clock, authority = accounts.clock(), accounts.server()
      local store = open(start().address)
      local account = accounts.account(authority, store, clock)
      assert(tokens.exchange_code(account, { code = "good-code", redirect_uri = "https://x.example/cb" }))
      local put = acts(store).put
      acts(store).put = function(self, ...)
        acts(store).put = put
        answers_with(store, reply)
        return put(self, ...)
      end
      local done, err = tokens.refresh(account)
      assert.is_true(done)
      assert.equal("store", err.kind)
      assert.is_true(tokens.info(account).user.unsaved)
      clock.advance(2)
      assert.equal("a2", tokens.access(account, "user"))
      assert.is_false(tokens.info(account).user.unsaved)
    end
  end)

  it("to the commands with which a connection begins is a failure, or a setting that is not known", function()
    local handshake = require "fleet.store.redis.handshake"
    local scripts = require "fleet.store.redis.scripts"
    local place = { label = "redis", settle = 0 }
    for name, reply in pairs(odd) do
      local link = { handshake = { { "CONFIG", "GET", "save" }, { "PING" } }, settings = {}, place = place }
      assert.is_true(handshake.take(link, reply), name)
      assert.same({}, link.settings)
      for _, words in ipairs { { "AUTH", "x" }, { "SELECT", "1" }, { "SCRIPT", "LOAD", scripts.get.text }, { "EVAL" } } do
        if not (reply == "OK" and (words[1] == "AUTH" or words[1] == "SELECT")) then
          link.handshake = { words, { "PING" } }
          local took, err = handshake.take(link, reply)
          assert.is_nil(took, words[1] .. " " .. name)
          assert.equal("store", err.kind)
        end
      end
    end
  end)
end)

describe("a record that a server threw away", function()
  after_each(put_away)

  local function evict(server, key) -- as maxmemory-policy allkeys-lru does
    assert.matches("1", server.cli("del t/" .. key))
  end

  it("is given back by a process that knows it, to all others too", function()
    local server = start()
    local store, other = open(server.address), open(server.address)
    local generation = assert(store:put("token/a/user", "pair", { durable = true }))
    evict(server, "token/a/user")
    assert.same({ "pair", generation }, { store:get("token/a/user") })
    assert.same({ "pair", generation }, { other:get("token/a/user") })
    evict(server, "token/a/user")
    local lease = assert(other:lease("token/a/user", 60))
    assert.same({ "pair", generation }, { other:get("token/a/user") })
    local newer = assert(other:put("token/a/user", "newer", { lease = lease, durable = true, generation = generation }))
    lease:release()
    evict(server, "token/a/user")
    assert.same({ "newer", newer }, { other:get("token/a/user") })
    assert.same({ "newer", newer }, { store:get("token/a/user") })
  end)

  it("is not given back once it was deleted, by any process, also where the server had thrown it away before", function()
    local server = start()
    local store, other, third = open(server.address), open(server.address), open(server.address)
    store:put("token/a/user", "pair", { durable = true })
    assert.equal("pair", (third:get("token/a/user")))
    assert.is_true(other:delete("token/a/user"))
    assert.same({ nil, 0 }, { store:get("token/a/user") })
    assert.same({ nil, 0 }, { store:get("token/a/user") })
    store:put("token/a/user", "next", { durable = true })
    evict(server, "token/a/user")
    assert.is_true(other:delete("token/a/user"))
    assert.same({ nil, 0 }, { store:get("token/a/user") })
    assert.same({ nil, 0 }, { third:get("token/a/user") })
    local left = tonumber(server.cli("--raw pttl t/token/a/user"))
    assert.is_true(left > 89 * 86400000 and left <= 90 * 86400000, left)
  end)

  it("is not given back by a process that looked for it just before it was deleted", function()
    local server = start()
    local store, other = open(server.address), open(server.address)
    local generation = assert(store:put("token/a/user", "pair", { durable = true }))
    evict(server, "token/a/user")
    assert.is_true(other:delete("token/a/user"))
    local scripts = require "fleet.store.redis.scripts"
    local answer = assert(link_of(store):call(scripts.restore, "t/token/a/user", "0", "pair", string.format("%.0f", generation), "1", ""))
    assert.same({ 1, false, 0 }, answer)
    assert.is_nil((other:get("token/a/user")))
  end)

  it("is not given back after its time", function()
    local server = start()
    local store = open(server.address)
    store:put("proxy/x", "claimed", { generation = 0, ttl = 600, durable = true })
    evict(server, "proxy/x")
    assert.equal("claimed", (store:get("proxy/x")))
    acts(store).kept["proxy/x"].ends = 0
    evict(server, "proxy/x")
    assert.same({ nil, 0 }, { store:get("proxy/x") })
  end)

  it("is created anew after a deletion, and leaves no mark then", function()
    local server = start()
    local store = open(server.address)
    store:put("k", "1")
    store:delete("k")
    assert.is_truthy(store:put("k", "2", { generation = 0 }))
    assert.equal("g\nv\nw\n", server.cli("--raw hkeys t/k | sort"))
    assert.matches("-1", server.cli("--raw pttl t/k"))
  end)
end)

-- Until a store gives leases: those who held some have had their turn.
local function wait_until_quiet(store)
  for _ = 1, 600 do
    if store:lease("another", 60) then return end
    fleet.sleep(0.05)
  end
  error "it gives no lease"
end

describe("a lease", function()
  after_each(put_away)

  it("ends with its time: the stalled holder's late write conflicts", function()
    local server = start()
    local slow, quick = open(server.address), open(server.address)
    quick:put("k", "before") -- what has a value does not go with its lease
    local old = assert(slow:lease("k", 60))
    assert.equal("busy", select(3, quick:lease("k", 60)))
    server.cli("hset t/k u 0") -- its time has passed
    local new = assert(quick:lease("k", 60))
    assert.is_true(new.fence > old.fence)
    assert.is_truthy(quick:put("k", "new", { lease = new }))
    assert.equal("conflict", select(3, slow:put("k", "late", { lease = old })))
    assert.equal("conflict", select(3, old:renew()))
    old:release()
    assert.equal("new", (quick:get("k")))
    assert.equal("busy", select(3, slow:lease("k", 60)))
  end)

  it("brings the record with it, once", function()
    local server = start()
    local store, other = open(server.address), open(server.address)
    store:put("k", "1")
    local lease = assert(store:lease("k", 60))
    other:put("k", "2")
    assert.equal("1", (store:get("k")))
    assert.equal("2", (store:get("k")))
    lease:release()
  end)

  it("keeps what is put behind until it is released, and writes it then", function()
    local server = start()
    local store, other = open(server.address), open(server.address)
    local lease = assert(store:lease("k", 60))
    local generation = assert(store:put("k", "1", { lease = lease, behind = true }))
    assert.same({ "1", generation }, { store:get("k") })
    assert.is_nil((other:get("k")))
    assert.equal(1, store:due())
    lease:release()
    assert.is_true(store:flush())
    assert.is_nil(store:due())
    assert.same({ "1", generation }, { other:get("k") })
    assert(other:lease("k", 60)):release()
  end)

  it("writes what was put behind when the store is closed", function()
    local server = start()
    local store = open(server.address)
    local lease = assert(store:lease("k", 60))
    store:put("k", "1", { lease = lease, behind = true })
    store:close()
    assert.equal("1", (open(server.address):get("k")))
  end)

  it("outlives a server that comes back without its data: no other process gets it in between", function()
    local server = start()
    local said = {}
    local holder = open(server.address, { warn = function(text) said[#said + 1] = text end })
    holder:get("k")
    local lease = assert(holder:lease("k", 60))
    server.kill()
    server.again()
    local other = open(server.address, { settle = 2 })
    assert.equal("busy", select(3, other:lease("k", 60)))
    assert.is_truthy(holder:put("k", "still mine", { lease = lease }))
    assert.matches("came back without its data", said[#said])
    wait_until_quiet(other)
    assert.equal("busy", select(3, other:lease("k", 60)))
    lease:release()
    assert.is_truthy(other:lease("k", 60))
  end)
end)

describe("leases and a server that comes back with an older snapshot", function()
  after_each(put_away)
  local snapshots = { settings = { "save 3600 1000000" } }

  it("are taken again by their owners, before another process gets one", function()
    local server = start(snapshots)
    local holder = open(server.address)
    holder:put("k", "v")
    link_of(holder):call(false, "SAVE")
    local lease = assert(holder:lease("k", 60))
    link_of(holder).owner.has_memories = function() return false end -- it comes back later
    server.kill()
    server.again()
    local other = open(server.address, { settle = 2 })
    assert.equal("busy", select(3, other:lease("k", 60)))
    assert.is_truthy(holder:put("k", "still mine", { lease = lease }))
    wait_until_quiet(other)
    assert.equal("busy", select(3, other:lease("k", 60)))
    lease:release()
    assert.is_truthy(other:lease("k", 60))
  end)

  it("are not left with the holder before, nor taken from the one after", function()
    local server = start(snapshots)
    local early, late = open(server.address), open(server.address)
    early:put("k", "v")
    local first = assert(early:lease("k", 60))
    link_of(early):call(false, "SAVE")
    first:release()
    local second = assert(late:lease("k", 60))
    server.kill()
    server.again()
    assert.is_truthy(late:put("k", "late", { lease = second }))
    assert.equal(second.owner .. "\n", server.cli("--raw hget t/k o"))
    server.cli("hset t/k u 0")
    local third = assert(early:lease("k", 60))
    server.cli("client kill type normal skipme yes")
    assert.equal("conflict", select(3, late:put("k", "too late", { lease = second })))
    assert.is_truthy(early:put("k", "third", { lease = third }))
  end)
end)

describe("a server in whose place another comes", function()
  after_each(put_away)

  it("learns of released leases: a replica that took its place may not have them", function()
    local server = start()
    local store, other = open(server.address), open(server.address)
    local lease = assert(store:lease("token/a/user", 90))
    lease:release()
    server.cli("hset t/token/a/user o " .. lease.owner .. " u 99999999999999") -- as the replica has it
    assert.equal("busy", select(3, other:lease("token/a/user", 90)))
    link_of(store).connection:close()
    link_of(store).connection, link_of(store).state = nil, "down"
    assert.is_truthy(store:put("x", "y"))
    assert.is_truthy(other:lease("token/a/user", 90))
  end)
end)

describe("a server that comes back without its data", function()
  after_each(put_away)

  it("is given back what was put to last, with the time that it has left, and what is claimed of a car", function()
    local server = start()
    local store, other = open(server.address), open(server.address)
    store:put("proxy/x", "claimed", { generation = 0, ttl = 600, durable = true })
    store:put("proxy/x", "answered", { ttl = 600 })
    store:put("proxy/y", "over", { generation = 0, ttl = 0.01, durable = true })
    store:put("plain/z", "1", { ttl = 600 })
    store:put("claims/a/1", "mine")
    other:get("claims/a/1")
    store:delete("claims/a/2")
    server.kill()
    server.again()
    link_of(store).owner.has_memories = function() return false end
    assert.is_truthy(other:put("x", "y"))
    assert.is_truthy(store:put("x", "y"))
    local fresh = open(server.address)
    assert.equal("claimed", (fresh:get("proxy/x")))
    assert.equal("conflict", select(3, fresh:put("proxy/x", "again", { generation = 0 })))
    local left = tonumber(server.cli("--raw pttl t/proxy/x"))
    assert.is_true(left > 500000 and left <= 600000, left)
    assert.equal("mine", (fresh:get("claims/a/1")))
    for _, key in ipairs { "proxy/y", "plain/z", "claims/a/2" } do assert.is_nil((fresh:get(key))) end
  end)

  it("gets back the tokens that a process remembers, the newest of them", function()
    local server = start()
    local writer, reader, idle = open(server.address), open(server.address), open(server.address)
    writer:put("token/a/user", "first", { durable = true })
    assert.equal("first", (idle:get("token/a/user")))
    writer:put("token/a/user", "second", { durable = true })
    writer:put("region/a", "not kept")
    assert.equal("second", (reader:get("token/a/user")))
    writer:close()
    link_of(idle).owner.has_memories = function() return false end -- it comes back last
    server.kill()
    server.again()
    assert.is_truthy(reader:put("x", "y"))
    assert.is_truthy(idle:put("x", "z"))
    local fresh = open(server.address)
    assert.equal("second", (fresh:get("token/a/user")))
    assert.is_nil((fresh:get("region/a")))
  end)

  it("gets them back from an idle process, too", function()
    local server = start()
    local store = open(server.address)
    store:put("token/a/user", "pair", { durable = true })
    server.kill()
    server.again()
    local fresh = open(server.address)
    for _ = 1, 1500 do
      if fresh:get("token/a/user") then break end
      fleet.sleep(0.02)
    end
    assert.equal("pair", (fresh:get("token/a/user")))
  end)

  it("is given back the newest token where it came back with an older one, and nothing that was deleted since", function()
    local server = start { settings = { "save 3600 1000000" } }
    local store, other = open(server.address), open(server.address)
    for _, name in ipairs { "a", "b" } do store:put("token/" .. name .. "/user", "first", { durable = true }) end
    link_of(store):call(false, "SAVE")
    store:put("token/a/user", "second", { durable = true })
    other:delete("token/b/user")
    link_of(store):call(false, "SAVE")
    store:put("token/a/user", "third", { durable = true })
    server.kill()
    server.again()
    assert.is_truthy(store:put("x", "y"))
    local fresh = open(server.address)
    assert.equal("third", (fresh:get("token/a/user")))
    assert.is_nil((fresh:get("token/b/user")))
  end)

  it("is not given back what was deleted", function()
    local server = start()
    local store = open(server.address)
    store:put("token/a/user", "pair", { durable = true })
    store:delete("token/a/user")
    server.kill()
    server.again()
    assert.is_truthy(store:put("x", "y"))
    assert.is_nil((store:get("token/a/user")))
  end)
end)

describe("a reservation", function()
  after_each(put_away)

  it("keeps the room in a full memory: its put succeeds where no other does", function()
    local server = start { settings = { "save \"\"", "maxmemory-policy noeviction" } }
    local store = open(server.address)
    local lease = assert(store:lease("token/a/user", 60))
    local ticket = assert(store:reserve("token/a/user", 20000))
    server.cli("config set maxmemory 1")
    assert.matches("OOM", select(2, store:put("k", "v")).message)
    assert.equal("store", select(3, store:reserve("token/b/user", 20000)))
    assert.equal("store", select(3, store:put("token/c/user", ("t"):rep(20000), { durable = true })))
    assert.is_truthy(store:put("token/a/user", ("t"):rep(20000), { durable = true, lease = lease, ticket = ticket }))
    ticket:close()
    lease:release()
  end)
end)

describe("what is left of a restart", function()
  after_each(put_away)

  local function survives(settings)
    local server = start { settings = settings }
    local store = open(server.address)
    assert(store:put("k", "v", { durable = true }))
    store:close()
    server.kill()
    server.again()
    return (open(server.address):get("k")) == "v"
  end

  it("is all, where each write is synced", function()
    assert.is_true(survives { "appendonly yes", "appendfsync always" })
  end)

  it("is nothing, where nothing is kept; the warning says so", function()
    assert.is_false(survives { "save \"\"" })
  end)

  local function warnings(settings)
    local said = {}
    local store = open(start { settings = settings }.address, { warn = function(text) said[#said + 1] = text end })
    store:get("k")
    return table.concat(said, "\n")
  end

  it("is reported as soon as the store connects", function()
    assert.equal("", warnings { "appendonly yes", "appendfsync always" })
    assert.matches("loses everything when", warnings { "save \"\"" })
    assert.matches("loses everything since its last snapshot", warnings { "save 60 1" })
    assert.matches("loses the last second or two", warnings { "appendonly yes" })
    assert.matches("maxmemory%-policy allkeys%-lru", warnings { "maxmemory-policy allkeys-lru" })
  end)

  it("may rely on replicas: what they have not confirmed has not been written", function()
    local first = start { port = true }
    local store = open(first.address, { replicas = 1 })
    local err = failing(store, "0 of 1 replicas", function() return store:put("k", "1", { durable = true }) end)
    assert.equal("store", err.kind)
    local second = start { settings = { "save \"\"", "replicaof 127.0.0.1 " .. first.port } }
    for _ = 1, 600 do
      if second.cli("info replication"):find("master_link_status:up", 1, true) then break end
      fleet.sleep(0.05)
    end
    be_patient(store)
    assert.is_truthy(store:put("k", "2", { durable = true }))
    first.kill()
    second.cli("replicaof no one")
    assert.equal("2", (open(second.address):get("k")))
  end)

  it("may rely on replicas: when too few confirm in time, that is reported", function()
    local store = open(start().address, { replicas = 1 })
    local link = link_of(store)
    local call_both = link.call_both
    function link.call_both(self, put, wait)
      wait[4] = "60000" -- longer than the store waits for it
      return call_both(self, put, wait)
    end
    local err = failing(store, "wrote it, but did not say how many replicas have it", function()
      return store:put("k", "1", { durable = true })
    end)
    assert.equal("store", err.kind)
  end)

  it("waits for another to take a replica's place", function()
    local first = start { port = true }
    local second = start { settings = { "save \"\"", "replicaof 127.0.0.1 " .. first.port } }
    local store = open(second.address)
    failing(store, "READONLY", function() return store:put("k", "1") end)
    second.cli("replicaof no one")
    be_patient(store)
    assert.is_truthy(store:put("k", "1"))
  end)
end)

describe("secrets in Redis", function()
  after_each(put_away)

  it("are sealed with the store's key", function()
    local server = start()
    local key = assert(core.store_key(("5a"):rep(32)))
    local store = seal(open(server.address), key)
    assert(store:put("token/a/user", "very secret"))
    assert(store:put("region/a", "https://example.com"))
    local seen = server.cli("--raw hgetall t/token/a/user")
    assert.is_nil(seen:find("very secret", 1, true))
    assert.matches("https://example.com", server.cli("--raw hgetall t/region/a"))
    assert.equal("very secret", (store:get("token/a/user")))
  end)
end)

describe("a Redis store in a forked child", function()
  after_each(put_away)

  it("is closed there, and the parent keeps its connection", function()
    local server = start()
    local output = stores.process([[
      local fleet, fork = require "fleet", require "probe_fork"
      local store = fleet.store.redis { address = ..., settle = 0 }
      assert(store:put("k", "1"))
      fork(function()
        local _, err, kind = store:get("k")
        print(kind, err.message)
        store:close()
      end)
      print((store:get("k")))
    ]], { server.address })
    assert.equal("closed\tthe store was opened before fork: open a new one\n1\n", output)
  end)
end)

describe("findings for an operator", function()
  after_each(put_away)

  it("is how durable it is, whether it forgets, and whether the clocks agree", function()
    local good = start { settings = { "appendonly yes", "appendfsync always" } }
    for _, found in ipairs(assert(open(good.address):findings())) do assert.is_true(found.ok, found.message) end
    local bad = start { settings = { "save \"\"", "maxmemory-policy allkeys-random" } }
    local found = assert(open(bad.address):findings())
    assert.same({ false, false, true }, { found[1].ok, found[2].ok, found[3].ok })
    for i = 1, 2 do assert.is_string(found[i].fix) end
  end)
end)
