-- The store contract, tried on every store that lua/fleet/store holds, and on what a client puts around one: a seal, and the
-- checks of a store of the caller's.
local core = require "fleet.core"
local support = require "spec.support.fixtures.stores"
local adapt = require "fleet.store.adapted"
local seal = require "fleet.store.sealed"

local samples, names = support.samples()
local store_key = assert(core.store_key(("5a"):rep(32)))

local function around(sample, wrap)
  return function(options)
    local store, again, clean = sample(options)
    local function clean_up() -- a caller's own is not closed with what is put around it
      store:close()
      if clean then clean() end
    end
    return wrap(store), again and function() return wrap(again()) end, clean_up
  end
end

local kinds = {}

local function add_kinds(name)
  kinds[#kinds + 1] = { name = name, sample = samples[name], label = "fleet%.store%." .. name }
  kinds[#kinds + 1] = {
    name = name .. ", sealed", label = "fleet%.store%." .. name,
    sample = around(samples[name], function(store) return seal(store, store_key) end),
  }
  kinds[#kinds + 1] = {
    name = name .. ", as a caller's own", label = "fleet%.store %(the caller's%)",
    sample = around(samples[name], function(store) return adapt(support.own(store)) end),
  }
end

for _, name in ipairs(names) do
  local missing = support.missing(name)
  if missing then
    describe("the store contract, kept by " .. name, function()
      pending("is not tried: " .. missing)
    end)
  else
    add_kinds(name)
  end
end

teardown(support.stop)

for _, tried in ipairs(kinds) do
  describe("the store contract, kept by " .. tried.name, function()
    local clock, store, again, clean

    before_each(function()
      clock = support.clock()
      store, again, clean = tried.sample { clock = clock.read }
    end)
    after_each(function()
      store:close()
      if clean then clean() end
    end)

    it("gives nil and generation 0 for a key that is not there", function()
      assert.same({ nil, 0 }, { store:get("absent") })
    end)

    it("gives back any bytes under any key", function()
      local every = {}
      for byte = 0, 255 do every[#every + 1] = string.char(byte) end
      local bytes = table.concat(every)
      for _, key in ipairs { "token/default/user", "a", ("x"):rep(512), "../../etc/passwd", "ä /%00", "lock" } do
        for _, value in ipairs { "", bytes, ("long"):rep(50000) } do
          local generation = assert(store:put(key, value, { durable = true }))
          assert.same({ value, generation }, { store:get(key) })
        end
      end
    end)

    it("separates keys", function()
      store:put("a/b", "1")
      store:put("a", "2")
      store:put("A/B", "3")
      assert.same({ "1", "2", "3" }, { (store:get("a/b")), (store:get("a")), (store:get("A/B")) })
    end)

    it("gives every put a larger generation, also after a delete", function()
      local last = 0
      for _, durable in ipairs { true, false, true } do
        local generation = assert(store:put("k", "v", { durable = durable }))
        assert.is_true(generation > last)
        last = generation
        assert.is_true(store:delete("k"))
      end
    end)

    it("compares the generation and writes in one step", function()
      local first = assert(store:put("k", "1", { generation = 0 }))
      local second = assert(store:put("k", "2", { generation = first }))
      local put, err, kind = store:put("k", "3", { generation = first })
      assert.is_nil(put)
      assert.equal("conflict", kind)
      assert.equal("conflict", err.kind)
      assert.same({ "2", second }, { store:get("k") })
    end)

    it("creates only, with generation 0", function()
      assert.is_truthy(store:put("k", "1", { generation = 0 }))
      assert.equal("conflict", select(3, store:put("k", "2", { generation = 0 })))
      assert.equal("1", (store:get("k")))
    end)

    it("compares with a deferred write of a moment ago", function()
      store:put("k", "1")
      local generation = assert(store:put("k", "2"))
      assert.equal("conflict", select(3, store:put("k", "3", { generation = generation - 1 })))
      assert.is_truthy(store:put("k", "3", { generation = generation }))
      assert.equal("3", (store:get("k")))
    end)

    it("deletes, or only when no other process wrote in between", function()
      local generation = store:put("k", "1")
      assert.equal("conflict", select(3, store:delete("k", generation + 1)))
      assert.is_true(store:delete("k", generation))
      assert.same({ nil, 0 }, { store:get("k") })
      assert.equal("conflict", select(3, store:delete("k", generation)))
      assert.is_true(store:delete("k"))
    end)

    it("forgets a value after its ttl, and not before", function()
      for _, durable in ipairs { true, false } do
        store:put("state/x", "1", { ttl = 600, durable = durable })
        clock.advance(599)
        assert.equal("1", (store:get("state/x")))
        clock.advance(1)
        assert.same({ nil, 0 }, { store:get("state/x") })
        assert.is_truthy(store:put("state/x", "2", { generation = 0 }))
        store:delete("state/x")
      end
    end)

    for _, jump in ipairs { -3 * 365 * 86400, -3600, 3600, 3 * 365 * 86400 } do
      it(("keeps what it was given for its ttl, not longer and not shorter, when the wall clock is set by %d s"):format(jump), function()
        for _, durable in ipairs { true, false } do
          store:put("state/x", "1", { ttl = 600, durable = durable, generation = 0 })
          store:add("count/x", { data = 3 }, { ttl = 900 })
          clock.advance(300)
          clock.wall = clock.wall + jump
          clock.advance(299)
          assert.equal("1", (store:get("state/x")))
          assert.equal("conflict", select(3, store:put("state/x", "2", { generation = 0 })))
          clock.advance(1)
          assert.same({ nil, 0 }, { store:get("state/x") })
          assert.is_truthy(store:put("state/x", "2", { generation = 0 }))
          assert.same({ data = 4 }, store:add("count/x", { data = 1 }, { ttl = 900 }))
          clock.wall = clock.wall - jump
          assert.same({ data = 5 }, store:add("count/x", { data = 1 }, { ttl = 900 }))
          clock.advance(900)
          assert.same({}, store:add("count/x", {}))
          store:delete("state/x")
        end
      end)
    end

    it("takes a put with the ticket of its reservation", function()
      local ticket = assert(store:reserve("k", 5000))
      assert.is_nil((store:get("k")))
      local value = ("x"):rep(5000)
      assert.is_truthy(store:put("k", value, { durable = true, ticket = ticket }))
      assert.equal(value, (store:get("k")))
      ticket:close()
      assert.equal(value, (store:get("k")))
    end)

    it("changes nothing by a reservation that is given back", function()
      store:put("k", "1", { durable = true })
      assert(store:reserve("k", 100)):close()
      assert.equal("1", (store:get("k")))
    end)

    it("adds to counters of one key and gives their totals", function()
      assert.same({ data = 1 }, (store:add("count/a/2026-11", { data = 1 })))
      assert.same({ data = 3, ["data/22"] = 2 }, (store:add("count/a/2026-11", { data = 2, ["data/22"] = 2 })))
      assert.same({ wake = -1 }, (store:add("count/a/2026-11", { wake = -1 })))
      assert.same({ data = 1 }, (store:add("count/b/2026-11", { data = 1 })))
    end)

    it("gives all totals where nothing is added, and changes nothing by that", function()
      assert.same({}, (store:add("k", {})))
      assert.same({ nil, 0 }, { store:get("k") })
      store:add("k", { a = 1 })
      assert.same({ ["b/c"] = 0, d = 2 }, (store:add("k", { ["b/c"] = 0, d = 2 }))) -- nothing added makes no counter
      assert.same({ a = 1, d = 2 }, (store:add("k", {})))
      assert.same({ a = 1, d = 2 }, (store:add("k", {})))
    end)

    it("counts whole numbers exactly, far up and below zero", function()
      store:add("k", { n = 4503599627370497 })
      assert.same({ n = 4503599627370498 }, (store:add("k", { n = 1 })))
      assert.same({ n = -1 }, (store:add("k", { n = -4503599627370499 })))
    end)

    it("forgets counters after their ttl, and counts on from nothing", function()
      store:add("k", { n = 5 }, { ttl = 60 })
      clock.advance(59)
      assert.same({ n = 6 }, (store:add("k", { n = 1 }, { ttl = 60 })))
      clock.advance(60)
      assert.same({}, (store:add("k", {})))
      assert.same({ n = 1 }, (store:add("k", { n = 1 })))
    end)

    it("removes counters with their key", function()
      store:add("k", { n = 5 })
      assert.is_true(store:delete("k"))
      assert.same({ n = 1 }, (store:add("k", { n = 1 })))
    end)

    it("refuses to count on what is no set of counters", function()
      for _, text in ipairs { "n", "n 1", "n 1\nm x\n", "\n", "n 99999999999999999\n" } do
        store:put("k", text)
        local totals, err, kind = store:add("k", { n = 1 })
        assert.is_nil(totals)
        assert.equal("store", kind)
        assert.matches("counters", err.message)
        assert.equal(text, (store:get("k")))
      end
    end)

    it("gives tokens of a bucket at its rate, and none that come too late", function()
      local function pace(within)
        local _, wall = clock.read()
        return store:pace("pace/a", { most = 3, now = wall, within = within })
      end
      for _ = 1, 3 do assert.equal(0, pace(0)) end
      assert.near(20, pace(30), 0.2)
      assert.near(40, pace(30), 0.2) -- too late: it is not taken
      assert.near(40, pace(50), 0.2)
      clock.advance(20)
      assert.near(40, pace(1), 0.2)
      clock.advance(1000)
      for _ = 1, 3 do assert.equal(0, pace(0)) end
      assert.near(20, pace(0), 0.2)
    end)

    it("gives no token before the time that a bucket rests, and then at the limit that was named", function()
      local function pace(more)
        local _, now = clock.read()
        local step = { most = 30, now = now }
        for name, value in pairs(more) do step[name] = value end
        return store:pace("pace/b", step)
      end
      assert.equal(0, pace { within = 0 })
      assert.is_number(pace { rest = 50, named = 6 })
      assert.near(50, pace { within = 60 }, 0.2)
      assert.near(60, pace { within = 1 }, 0.2)
      clock.advance(60)
      assert.near(0, pace { within = 1 }, 0.2)
      assert.is_truthy((store:get("pace/b")):find("^%-?%d+ %d+ 6000"))
      clock.advance(1000)
      assert.is_nil((store:get("pace/b"))) -- full, which needs no record
    end)

    it("starts an operation to wait for later, and completes it also when no caller waits", function()
      local _, wall = clock.read()
      local first = store:begin("add", "counters", { n = 1 }, {}, true)
      local wait = store:begin("pace", "pace/c", { most = 3, now = wall, within = 0 })
      store:begin("add", "counters", { n = 1 })
      assert.same({ n = 3 }, (store:add("counters", { n = 1 })))
      assert.is_truthy(first().n)
      assert.equal(0, wait())
      assert.error_matches(function() store:begin("pace", "pace/c", { most = 0, now = 0, within = 0 }) end, "most above 0")
    end)

    it("leases a key to one at a time, without waiting", function()
      local lease = assert(store:lease("k", 60))
      local other, err, kind = store:lease("k", 60)
      assert.is_nil(other)
      assert.equal("busy", kind)
      assert.equal("busy", err.kind)
      assert.is_true(lease:release())
      assert.is_true(lease:release())
      assert(store:lease("k", 60)):release()
    end)

    it("leases different keys at once", function()
      local one, two = assert(store:lease("a", 60)), assert(store:lease("b", 60))
      one:release()
      two:release()
    end)

    it("counts leases: the fence grows with each", function()
      local last = 0
      for _ = 1, 5 do
        local lease = assert(store:lease("k", 60))
        assert.is_true(lease.fence > last)
        assert.equal(lease.fence, math.floor(lease.fence))
        last = lease.fence
        assert.is_truthy(store:put("k", "v", { lease = lease, durable = true }))
        lease:release()
      end
    end)

    it("renews a lease that is held, and none that was released", function()
      local lease = assert(store:lease("k", 60))
      assert.is_true(lease:renew())
      lease:release()
      assert.equal("conflict", select(3, lease:renew()))
    end)

    it("refuses a put of one who lost the lease", function()
      local old = assert(store:lease("k", 60))
      assert.is_truthy(store:put("k", "old", { lease = old }))
      old:release()
      local new = assert(store:lease("k", 60))
      assert.equal("conflict", select(3, store:put("k", "late", { lease = old })))
      assert.is_truthy(store:put("k", "new", { lease = new }))
      assert.equal("new", (store:get("k")))
      new:release()
    end)

    it("says that it wants a colon", function()
      for _, method in ipairs { "get", "put", "add", "pace", "begin", "delete", "reserve", "lease", "flush", "due" } do
        assert.error_matches(function() store[method]("k", "1") end, "with a colon: store:" .. method)
      end
    end)

    it("says when it is due to write, and writes", function()
      store:put("a", "1")
      store:put("a", "2")
      local due = store:due()
      assert.is_true(due == nil or (due >= 0 and due <= 1))
      assert.is_true(store:flush())
      assert.is_nil(store:due())
    end)

    it("closes twice, prints without its contents, and refuses everything afterwards", function()
      store:put("token/x/user", "secret")
      assert.matches("^" .. tried.label, tostring(store))
      assert.is_nil(tostring(store):find("secret", 1, true))
      assert.is_true(store:close())
      assert.is_true(store:close())
      assert.matches("%(closed%)$", tostring(store))
      local calls = { { "get", "k" }, { "put", "k", "v" }, { "delete", "k" }, { "reserve", "k", 1 },
        { "lease", "k", 1 }, { "add", "k", {} }, { "pace", "k", { most = 1, now = 0, within = 0 } } }
      for _, call in ipairs(calls) do
        assert.equal("closed", select(3, store[call[1]](store, call[2], call[3])))
      end
      assert.equal("closed", select(3, store:begin("add", "k", {})()))
    end)

    local mistakes = {
      { "get" }, { "get", 1 }, { "get", "" }, { "get", "a\nb" }, { "get", ("x"):rep(513) }, { "put", "k" }, { "put", "k", 1 },
      { "put", "k", "v", 1 }, { "put", "k", "v", { generations = 1 } }, { "put", "k", "v", { ttl = "1" } },
      { "delete", "k", "1" }, { "reserve", "k" }, { "reserve", "k", -1 }, { "lease", "k" }, { "lease", "k", 0 / 0 },
      { "add" }, { "add", "k" }, { "add", "k", { 1 } }, { "add", "k", { n = 0.5 } }, { "add", "k", { n = 1 / 0 } },
      { "add", "k", { ["a b"] = 1 } }, { "add", "k", { [""] = 1 } }, { "add", "k", { n = "1" } }, { "add", "k", { n = 1 }, { ttl = "1" } },
      { "add", "k", { n = 1 }, { durable = true } },
      { "pace" }, { "pace", "k" }, { "pace", "k", { most = 1, now = 0 } }, { "pace", "k", { most = 0, now = 0, within = 0 } },
      { "pace", "k", { most = 1, now = 0, within = -1 } }, { "pace", "k", { most = 1, now = 0, within = 0, wait = 1 } },
    }
    for i, mistake in ipairs(mistakes) do
      it(("raises for mistake %d of %s"):format(i, mistake[1]), function()
        assert.error_matches(function() store[mistake[1]](store, mistake[2], mistake[3], mistake[4]) end,
          "bad argument #%d to '" .. mistake[1] .. "'")
      end)
    end

    it("raises for the lease or ticket of another key", function()
      local lease = assert(store:lease("a", 60))
      assert.error_matches(function() store:put("b", "v", { lease = lease }) end, "the lease is of another key")
      local ticket = assert(store:reserve("a", 1))
      assert.error_matches(function() store:put("b", "v", { ticket = ticket }) end, "the ticket is of another key")
      ticket:close()
      lease:release()
    end)

    it("adds what two openers add", function()
      if not again then return end
      local other = again()
      for i = 1, 20 do
        assert.equal(2 * i - 1, assert(store:add("k", { n = 1 })).n)
        assert.equal(2 * i, assert(other:add("k", { n = 1 })).n)
      end
      other:close()
    end)

    it("shows one opener what another wrote, and orders both", function()
      if not again then return end
      local other = again()
      local generation = assert(store:put("k", "1", { durable = true }))
      assert.same({ "1", generation }, { other:get("k") })
      assert.is_true(assert(other:put("k", "2", { generation = generation })) > generation)
      assert.equal("conflict", select(3, store:put("k", "3", { generation = generation })))
      local lease = assert(store:lease("k", 60))
      assert.equal("busy", select(3, other:lease("k", 60)))
      lease:release()
      local later = assert(other:lease("k", 60))
      assert.is_true(later.fence > lease.fence)
      later:release()
      other:close()
    end)
  end)
end

describe("fleet.store", function()
  local store = require "fleet.store"

  it("opens by name, and by text as the command line says it", function()
    assert.equal("fleet.store.memory", tostring(store.memory()))
    assert.equal("fleet.store.memory", tostring(store.open("memory")))
    local path = support.directory()
    assert.matches("^fleet.store.file %(.*" .. path:match("[^/]+$") .. "%)$", tostring(store.file(path)))
    assert.equal(tostring(store.file(path)), tostring(store.open(path)))
    assert.equal(tostring(store.file(path)), tostring(store.open("file:" .. path)))
    support.remove(path)
  end)

  it("knows no store without a file, nor a file without a store", function()
    assert.error_matches(function() return store.floppy end, "there is no store 'floppy'")
    assert.error_matches(function() return store.sealed end, "there is no store 'sealed'")
  end)
end)
