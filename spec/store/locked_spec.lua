-- A file store whose lock another process keeps, and the locks of its records.
local core = require "fleet.core"
local fleet = require "fleet"
local seam = require "spec.support.fixtures.host_http"
local support = require "spec.support.fixtures.stores"
local open = require("fleet.store").file

describe("a store that another process keeps locked", function()
  local path, holder

  before_each(function()
    path = support.directory()
    assert(open(path)):put("k", "v", { durable = true })
  end)
  after_each(function()
    if holder then holder:close() end
    holder = nil
    support.remove(path)
  end)

  -- As a command that was stopped at a terminal does, or a backup.
  local function hold()
    holder = assert(io.popen(("flock %s/lock sh -c 'echo held >%s/held; cat >/dev/null'"):format(path, path), "w"))
    for _ = 1, 3000 do
      local file = io.open(path .. "/held")
      if file then return file:close() end
      core.pause(0.01)
    end
    error "the lock is not held"
  end

  local function release()
    holder:close()
    holder = nil
  end

  it("does not stop the loop: other tasks go on, and the write is made when the lock is free", function()
    local store = assert(open(path))
    hold()
    local turns = 0
    fleet.run(function()
      local written = fleet.spawn(function() return assert(store:put("k", "w", { generation = select(2, store:get("k")) })) end)
      for _ = 1, 20 do
        fleet.sleep(0.001)
        turns = turns + 1
      end
      release()
      written:wait()
    end)
    assert.equal(20, turns)
    assert.equal("w", (store:get("k")))
  end)

  it("is waited for no longer than the call has time, and says what to do", function()
    local car, requests = seam.car({ seam.done }, { store = path, budgets = { per_day = { command = 3 } } })
    hold()
    local started = core.clock()
    local err, kind
    fleet.run(function() err, kind = select(2, car:honk_horn { timeout = 0.3 }) end)
    assert.is_true(core.clock() - started < 15)
    assert.equal("store", kind)
    assert.matches("another process keeps the store locked: end it", err.message)
    assert.equal("not_sent", err.outcome)
    assert.equal(0, #requests)
    release()
    fleet.run(function() assert(car:honk_horn()) end)
  end)

  it("leaves a lease to a task that was cancelled while it waited, which releases it then", function()
    local store = assert(open(path))
    local lease = assert(store:lease("k", 60))
    assert(store:put("k", "held back", { lease = lease }))
    for i = 1, 3 do store:put("k", "again " .. i) end -- the first is written at once
    hold()
    fleet.run(function()
      local task = fleet.spawn(function() return lease:release() end)
      fleet.sleep(0.05)
      task:cancel()
      pcall(task.wait, task)
    end)
    assert.equal("busy", select(3, assert(open(path)):lease("k", 60)))
    release()
    assert.is_true(lease:release())
    assert(assert(open(path)):lease("k", 60)):release()
  end)
end)

describe("the lock of a key", function()
  local path, clock, store

  before_each(function()
    path, clock = support.directory(), support.clock()
    store = assert(open(path, { clock = clock.read }))
  end)
  after_each(function()
    store:close()
    support.remove(path)
  end)

  local function files()
    return #assert(core.directory_list(path))
  end

  local function exists(key, ending)
    local file = io.open(path .. "/" .. core.sha256(key) .. (ending or ""))
    if file then file:close() end
    return file ~= nil
  end

  local function use(key)
    local lease = assert(store:lease(key, 60))
    local generation = assert(store:put(key, "claimed", { lease = lease, ttl = 600, generation = 0, durable = true }))
    lease:release()
    return generation
  end

  it("exists as long as its record", function()
    for i = 1, 40 do use("proxy/" .. i) end
    assert.is_true(exists("proxy/1", ".lease"))
    local before = files()
    assert.is_true(before > 80)
    clock.advance(700)
    use("proxy/last")
    assert.same({ false, false }, { exists("proxy/1"), exists("proxy/1", ".lease") })
    assert.equal(3, files()) -- the store's lock, the last record and its lock
  end)

  it("goes with a record that is deleted, also under its lease, and where none was written", function()
    local generation = use "proxy/a"
    assert.is_true(store:delete("proxy/a", generation))
    assert.is_false(exists("proxy/a", ".lease"))
    local lease = assert(store:lease("proxy/a", 60))
    generation = assert(store:put("proxy/a", "claimed", { lease = lease, ttl = 600, generation = 0, durable = true }))
    assert.is_true(store:delete("proxy/a", generation))
    assert.is_true(exists("proxy/a", ".lease"))
    lease:release()
    assert.is_false(exists("proxy/a", ".lease"))
    assert(store:lease("proxy/b", 60)):release()
    assert.is_false(exists("proxy/b", ".lease"))
  end)

  it("is not taken from its holder when the record ends", function()
    use "proxy/a"
    local lease = assert(store:lease("proxy/a", 60))
    clock.advance(700)
    use "proxy/b"
    assert.is_false(exists "proxy/a")
    assert.is_true(lease:renew())
    assert.equal("busy", select(3, store:lease("proxy/a", 60)))
    assert.is_truthy(store:put("proxy/a", "new", { lease = lease, generation = 0 }))
    lease:release()
    assert.is_true(exists("proxy/a", ".lease"))
  end)

  it("counts on beyond every fence that there was, also after it went", function()
    local last = 0
    for round = 1, 5 do
      for _ = 1, round do
        local lease = assert(store:lease("k", 60))
        assert.is_true(lease.fence > last)
        last = lease.fence
        if round % 2 == 0 then assert(store:put("k", "v", { lease = lease })) end
        lease:release()
      end
      store:delete("k")
      if round == 3 then store:put("other", "v") end
    end
  end)

  it("of a process that ended goes, with what has ended, in the process that follows and writes such records", function()
    for i = 1, 300 do use("proxy/" .. i) end
    store:put("token/a/user", "pair", { durable = true })
    store:put("count/a", "x", { ttl = 86400 })
    store:close()
    local left = assert(io.open(path .. "/" .. core.sha256("orphan") .. ".lease", "w"))
    left:close()
    clock.advance(700)
    store = assert(open(path, { clock = clock.read }))
    for _ = 1, 8 do
      assert(store:put("state/own", "1", { ttl = 600 }))
      clock.advance(1)
    end
    assert.same({ true, true, true }, { exists "token/a/user", exists "count/a", exists "state/own" })
    assert.is_false(exists("orphan", ".lease"))
    assert.equal(4, files()) -- and the store's own
  end)

  it("of a process that lives, and what that holds, is left alone by another one whose clock is ahead", function()
    use "proxy/a"
    local lease = assert(store:lease("proxy/b", 60))
    clock.wall = clock.wall + 3 * 365 * 86400
    local other = assert(open(path, { clock = clock.read }))
    assert(other:put("state/x", "1", { ttl = 600 }))
    assert.same({ true, true }, { exists "proxy/a", exists("proxy/b", ".lease") })
    assert.equal("claimed", (store:get("proxy/a")))
    assert.is_true(lease:renew())
    lease:release()
    other:close()
  end)
end)
