local support = require "spec.support.fixtures.stores"
local memory = require("fleet.store").memory

describe("fleet.store.memory", function()
  local clock, store

  before_each(function()
    clock = support.clock()
    store = memory { clock = clock.read }
  end)

  it("ends a lease with its ttl, so that a task that died does not block the others for ever", function()
    assert(store:lease("k", 60))
    clock.advance(59)
    assert.equal("busy", select(3, store:lease("k", 60)))
    clock.advance(1)
    assert.is_truthy(store:lease("k", 60))
  end)

  it("drops expired keys, even when they are never read", function()
    for i = 1, 3 do store:put("state/" .. i, "1", { ttl = 600 + i }) end
    clock.advance(602)
    store:put("state/new", "1", { ttl = 600 })
    local left = {}
    for key in pairs(store.acts.records) do left[#left + 1] = key end
    table.sort(left)
    assert.same({ "state/3", "state/new" }, left)
  end)

  it("lets an expired lease continue until another is taken", function()
    local lease = assert(store:lease("k", 60))
    clock.advance(61)
    assert.is_truthy(store:put("k", "1", { lease = lease }))
    assert.is_true(lease:renew())
    clock.advance(61)
    local other = assert(store:lease("k", 60))
    assert.equal("conflict", select(3, lease:renew()))
    assert.equal("conflict", select(3, store:put("k", "2", { lease = lease })))
    assert.is_true(lease:release())
    assert.equal("busy", select(3, store:lease("k", 60)))
    assert.is_truthy(store:put("k", "3", { lease = other }))
  end)

  it("an addition takes memory for the counters that it adds, and not for as many as it may", function()
    local function add(times)
      for _ = 1, times do assert(store:add("count", { command = 1, ["command/10"] = 1 })) end
    end
    add(10)
    collectgarbage()
    collectgarbage("stop")
    local before = collectgarbage("count")
    add(100)
    local each = (collectgarbage("count") - before) * 1024 / 100
    collectgarbage("restart")
    assert.is_true(each < 2000, each .. " bytes")
    assert.equal(110, store:add("count", {}).command)
  end)

  it("shares nothing with another memory store", function()
    store:put("k", "1")
    assert.is_nil((memory():get("k")))
  end)
end)
