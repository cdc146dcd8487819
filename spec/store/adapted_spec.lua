-- A store of the caller's: looked at when the client is made, and never believed afterwards.
local core = require "fleet.core"
local fleet = require "fleet"
local stores = require "fleet.store"
local support = require "spec.support.fixtures.stores"
local adapt = require "fleet.store.adapted"

-- A caller's store whose method does something else.
local function with(method, fn)
  local own = support.own(stores.memory())
  own[method] = fn
  return adapt(own), own
end

describe("a caller's own store", function()
  it("is refused with the name of what it lacks, when the client is made", function()
    assert.error_matches(function() fleet.new { token = "t", store = {} } end, "it has no function 'get'")
    for _, name in ipairs { "get", "put", "delete", "reserve", "lease" } do
      for _, wrong in ipairs { false, 5, "x" } do
        local own = support.own(stores.memory())
        own[name] = wrong or nil
        assert.error_matches(function() fleet.new { token = "t", store = own } end, "it has no function '" .. name .. "'")
      end
    end
    for _, name in ipairs { "flush", "due", "add" } do
      local own = support.own(stores.memory())
      own[name] = 5
      assert.error_matches(function() fleet.new { token = "t", store = own } end, "its '" .. name .. "' is no function")
    end
    assert.error_matches(function() adapt(5) end, "a store expected, got number")
  end)

  it("is adapted once, and ours not at all", function()
    local ours = stores.memory()
    assert.equal(ours, adapt(ours))
    local adapted = adapt(support.own(ours))
    assert.equal(adapted, adapt(adapted))
  end)

  it("counts by comparing where it has no 'add', also when others come in between", function()
    local inner, meddled = stores.memory(), 0
    local own = support.own(inner)
    function own.put(_, ...)
      meddled = meddled + 1
      if meddled <= 3 then inner:add("k", { theirs = 1 }) end
      return inner:put(...)
    end
    assert.same({ n = 2 }, (adapt(own):add("k", { n = 2 })))
    assert.same({ n = 2, theirs = 3 }, (inner:add("k", {})))
    function own.put(_, ...)
      inner:add("k", { theirs = 1 })
      return inner:put(...)
    end
    local totals, err, kind = adapt(own):add("k", { n = 1 })
    assert.is_nil(totals)
    assert.equal("store", kind)
    assert.matches("others have kept changing", err.message)
  end)

  it("counts with its own 'add', whose answer is checked", function()
    local store, own = with("add", function(_, _, amounts) return { n = amounts.n + 40 } end)
    assert.same({ n = 42 }, (store:add("k", { n = 2 })))
    for _, wrong in ipairs { 5, {}, { n = "1" } } do
      function own.add() return wrong end
      local totals, err, kind = store:add("k", { n = 1 })
      assert.is_nil(totals)
      assert.equal("store", kind)
      assert.matches("'add' returned", err.message)
    end
    function own.add() error("no counting today") end
    assert.equal("store", select(3, store:add("k", { n = 1 })))
    function own.add() return nil, "out of order" end
    assert.equal("store", select(3, store:add("k", { n = 1 })))
  end)

  it("may do without flush and due, and answer nil alone for a key that is not there", function()
    local store, own = with("get", function() return nil end)
    own.flush, own.due = nil, nil
    assert.same({ nil, 0 }, { store:get("k") })
    assert.is_true(store:flush())
    assert.is_nil(store:due())
  end)

  local answers = {
    { "get", function() return 5, 1 end, "'get' returned a number: a string or nil expected" },
    { "get", function() return "v" end, "a generation %(number%) after the value" },
    { "put", function() return true end, "'put' returned a boolean: a generation" },
    { "put", function() return 0 / 0 end, "a generation %(number%) expected" },
    { "put", function() return require("fleet").null end, "'put' returned a userdata: a generation" },
    { "put", function() return "OK" end, "'put' returned a string: a generation" },
    { "put", function() return {} end, "'put' returned a table: a generation" },
    { "get", function() return "v", 1 / 0 end, "a generation %(number%) after the value" },
    { "lease", function() return { renew = print, release = print, fence = 0 / 0 } end, "a lease with the number 'fence'" },
    { "add", function() return { n = 0 / 0 } end, "the total of 'n'" },
    { "reserve", function() return {} end, "a ticket with the function 'close'" },
    { "reserve", function() return 5 end, "a ticket expected" },
    { "reserve", function() return require("fleet").null end, "'reserve' returned a userdata: a ticket expected" },
    { "lease", function() return require("fleet").null end, "'lease' returned a userdata: a lease expected" },
    { "lease", function() return { renew = print } end, "a lease with the function 'release'" },
    { "lease", function() return { renew = print, release = print } end, "a lease with the number 'fence'" },
    { "get", function() return nil, "the disk is gone" end, "'get' failed: the disk is gone" },
    { "put", function() return nil end, "'put' failed: nil" },
    { "delete", function() return false, "no" end, "'delete' failed: no" },
    { "get", function() error("it broke") end, "'get' raised an error: .*it broke" },
    { "lease", function() error({}) end, "'lease' raised an error" },
  }
  local arguments = { get = { "k" }, put = { "k", "v" }, delete = { "k" }, reserve = { "k", 1 }, lease = { "k", 1 },
    add = { "k", { n = 1 } } }
  for i, case in ipairs(answers) do
    it(("makes a failure of the store of odd answer %d of %s"):format(i, case[1]), function()
      local store = with(case[1], case[2])
      local done, err, kind = store[case[1]](store, table.unpack(arguments[case[1]]))
      assert.is_nil(done)
      assert.equal("store", kind)
      assert.equal("store", err.kind)
      assert.matches(case[3], err.message)
    end)
  end

  it("passes on an err and its kind", function()
    local own_err = core.err { kind = "busy", message = "later" }
    local store = with("lease", function() return nil, own_err, "busy" end)
    assert.same({ nil, own_err, "busy" }, { store:lease("k", 1) })
  end)

  it("does not repeat in an err what it was to store", function()
    local store = with("put", function(_, _, value) error("cannot store " .. value) end)
    local _, err = store:put("token/x/user", "the secret value")
    assert.is_nil(err.message:find("secret", 1, true))
  end)

  it("lets a cancelled task end", function()
    local store = with("get", function() fleet.sleep(10) end)
    local raised
    local task = fleet.spawn(function()
      local ok, err = pcall(store.get, store, "k")
      raised = not ok and err
      error(err, 0)
    end)
    fleet.sleep(0.01)
    task:cancel()
    fleet.sleep(0.01)
    assert.equal("cancelled", raised.kind)
  end)

  it("gets its own lease and ticket back, and none of our options", function()
    local seen
    local store, own = with("put", function(_, _, _, options)
      seen = options
      return 1
    end)
    local lease_of, reserve_of, own_lease, own_ticket = own.lease, own.reserve, nil, nil
    function own.lease(...)
      own_lease = lease_of(...)
      return own_lease
    end
    function own.reserve(...)
      own_ticket = reserve_of(...)
      return own_ticket
    end
    local lease, ticket = assert(store:lease("k", 60)), assert(store:reserve("k", 1))
    assert(store:put("k", "v", { lease = lease, ticket = ticket, durable = true, ttl = 5, behind = true }))
    assert.same({ lease = own_lease, ticket = own_ticket, durable = true, ttl = 5 }, seen)
  end)
end)
