-- What was put behind under a lease is taken back under the next one, where nobody has written since.
local fork = require "probe_fork"
local support = require "spec.support.fixtures.stores"
local open = require("fleet.store").file

describe("a put behind", function()
  local path, clock, store, other, standing, last

  before_each(function()
    path, clock = support.directory(), support.clock()
    store, other = assert(open(path, { clock = clock.read })), assert(open(path, { clock = clock.read }))
    assert(store:put("first", "of a second"))
    local lease = assert(store:lease("k", 60))
    standing = assert(store:put("k", "reserved", { lease = lease }))
    last = assert(store:put("k", "true", { lease = lease, behind = true }))
    lease:release()
  end)
  after_each(function()
    store:close()
    other:close()
    support.remove(path)
  end)

  it("is forgotten where what it was to replace stands: that is read by everybody, and stays", function()
    assert.same({ "true", last }, { store:get("k") })
    local lease = assert(store:lease("k", 60))
    assert.is_true(store:take_back(lease, last, standing))
    for _, reader in ipairs { store, other } do assert.same({ "reserved", standing }, { reader:get("k") }) end
    assert(store:flush())
    assert.same({ "reserved", standing }, { other:get("k") })
    assert.is_nil((store:take_back(lease, last, standing)))
    lease:release()
  end)

  it("has a larger generation than the one before it that was taken back, and is written as usual", function()
    for _ = 1, 3 do
      local lease = assert(store:lease("k", 60))
      assert.is_true(store:take_back(lease, last, standing))
      local following = assert(store:put("k", "true again", { lease = lease, behind = true }))
      assert.is_true(following > last)
      assert.same({ "true again", following }, { store:get("k") })
      lease:release()
      last = following
    end
    assert(store:flush())
    assert.same({ "true again", last }, { other:get("k") })
  end)

  -- What happens before; what is read after, where it is not as it was.
  local cases = {
    ["that was written"] = { function() assert(store:flush()) end },
    ["over which another wrote"] = { function() assert(other:put("k", "theirs", { durable = true })) end, "theirs" },
    ["whose record another removed"] = { function() assert(other:delete("k")) end },
    ["over which a put of its own went"] = { function() assert(store:put("k", "mine", { durable = true })) end, "mine" },
    ["of another generation"] = { function() last = last + 1 end },
    ["that was to replace another generation"] = { function() standing = standing - 1 end },
  }
  for name, case in pairs(cases) do
    it(name .. " is not taken back", function()
      local act, read = case[1], case[2] or "true"
      act()
      local lease = assert(store:lease("k", 60))
      assert.same({ n = 1 }, table.pack((store:take_back(lease, last, standing))))
      assert.equal(read, (store:get("k")))
      lease:release()
    end)
  end

  -- Two processes hold the same back from then on, and either may write it.
  it("is not taken back after a fork, by the child or the parent, until what was held back is written", function()
    local function take_back()
      local lease = assert(store:lease("k", 60))
      local taken = store:take_back(lease, last, standing)
      lease:release()
      return taken
    end
    assert.equal(0, fork(function() assert(take_back() == nil) end))
    assert.is_nil(take_back())
    assert(store:flush())
    local lease = assert(store:lease("k", 60))
    standing = assert(store:put("k", "reserved", { lease = lease }))
    last = assert(store:put("k", "true", { lease = lease, behind = true }))
    lease:release()
    assert.is_true(take_back())
  end)

  it("is not taken back by another store, which does not hold it back", function()
    local lease = assert(other:lease("k", 60))
    assert.is_nil((other:take_back(lease, last, standing)))
    lease:release()
  end)

  it("is nothing that a store of another kind has to know", function()
    local memory = require("fleet.store").memory()
    local lease = assert(memory:lease("k", 60))
    assert.is_nil((memory:take_back(lease, 1, 1)))
    memory:close()
    assert.equal("closed", select(3, memory:take_back(lease, 1, 1)))
  end)
end)
