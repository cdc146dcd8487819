-- A host's finaliser may close a store that is in use, and may read it.

local fleet = require "fleet"
local finalisers = require "spec.support.harness.finalisers"
local process = require "spec.support.harness.process"
local redis = require "spec.support.servers.redis"
local stores = require "spec.support.fixtures.stores"

describe("a finaliser of the host's and a file store", function()
  local directory

  before_each(function() directory = process.temporary("finalisers") end)
  after_each(function() process.execute("rm -rf " .. process.quote(directory)) end)

  local function open() return assert(fleet.store.file(directory)) end

  for name, use in pairs {
    lease = function(store)
      local lease = store:lease("k", 5)
      if lease then lease:release() end
    end,
    reserve = function(store)
      local ticket = store:reserve("k", 100)
      if ticket then ticket:close() end
    end,
    add = function(store) store:add("c", { a = 1, b = 2 }, {}) end,
    totals = function(store) store:add("c", {}, {}) end,
    ["put and flush"] = function(store)
      store:put("k", "v")
      store:flush()
    end,
  } do
    it("that it closes harms nothing: " .. name, function()
      finalisers.closing(open, use)
    end)
  end

  it("that it reads gives no caller another's record", function()
    local store = open()
    local a, b = string.rep("a", 3000), string.rep("b", 3000)
    store:put("a", a, { durable = true })
    store:put("b", b, { durable = true })
    finalisers.among(function() assert(store:get("b") == b) end, function() assert.equal(a, store:get("a")) end)
    store:close()
  end)

  it("that it reads changes no totals", function()
    local store, amounts = open(), {}
    for i = 1, 60 do amounts["counter_" .. i] = i end
    assert(store:add("c", amounts, {}))
    store:put("k", string.rep("z", 3000), { durable = true })
    finalisers.among(function() store:get("k") end, function() assert.same(amounts, store:add("c", {}, {})) end)
    store:close()
  end)
end)

local missing = redis.missing()
describe("a finaliser of the host's and a Redis store", function()
  if missing then return pending("the Redis store is not tried: " .. missing) end
  local server

  setup(function() server = redis.start() end)
  teardown(function() server.stop() end)

  local function open() return assert(fleet.store.redis { address = server.address, settle = 0, prefix = "t/" }) end

  it("that it closes while it connects harms nothing, and keeps no connection", function()
    local first = open() -- the loop has descriptors of its own
    first:get "k"
    first:close()
    local before = stores.descriptors()
    finalisers.closing(open, function(store)
      local value, err = store:get "k"
      assert(value ~= nil or err == 0 or err.kind == "closed", tostring(err))
    end, 300)
    assert.equal(before, stores.descriptors())
  end)

  it("whose connection it closes takes no more of the reply", function()
    local function connect() return assert(require("fleet.redis").connect { path = server.path }) end
    finalisers.closing(connect, function(connection)
      local settings
      connection:send("CONFIG", "GET", "*")
      repeat
        connection:step()
        settings = connection:take()
      until settings
      assert(#settings > 100)
    end, 300)
  end)
end)
