-- Rate limits kept by a bucket in the store: calls wait for their turn, or say at once how long it would be.

local bucket = require "fleet.util.bucket"
local fleet = require "fleet"
local seam = require "spec.support.fixtures.host_http"
local virtual = require "spec.support.harness.virtual"

describe("a bucket", function()
  it("lets a minute's calls go at once, then one by one", function()
    local state = bucket.full(3, 1000)
    local function take(now)
      local after, wait = bucket.take(state, now)
      state = after
      return wait
    end
    for _ = 1, 3 do assert.equal(0, take(1000)) end
    for turn = 1, 4 do assert.near(20 * turn, take(1000), 1e-9) end
    assert.near(20, take(1080), 1e-9)
    assert.near(0, select(2, bucket.take(state, 1200)), 1e-9)
  end)

  it("holds no more than a minute's calls, however long it rested", function()
    local state = bucket.full(3, 0)
    for _ = 1, 3 do state = bucket.take(state, 1e6) end
    assert.near(20, select(2, bucket.take(state, 1e6)), 1e-9)
  end)

  it("rests after a 429, and goes on one at a time, at the limit that the reply names", function()
    local rested = bucket.rest(bucket.full(30, 1000), 1000, 50, 6)
    assert.equal(6, rested.most)
    local first, wait = bucket.take(rested, 1000)
    assert.near(50, wait, 1e-9)
    local second, longer = bucket.take(first, 1010)
    assert.near(50, longer, 1e-9) -- 40 s of rest, then a sixth of a minute
    assert.near(10, select(2, bucket.take(second, 1060)), 1e-9)
    assert.equal(30, bucket.rest(bucket.full(30, 0), 0, 1, 100).most)
  end)

  it("is the same after it was text, and full where the text says nothing", function()
    local state = bucket.rest(bucket.take(bucket.full(30, 1773136800.125), 1773136800.125), 1773136801, 17)
    assert.same(state, bucket.decode(bucket.encode(state), 30, 1773136801))
    for _, text in ipairs { "", "x", "1 2", "1 2 3 4 5", "nan 1 2" } do
      assert.same(bucket.full(30, 1000), bucket.decode(text, 30, 1000))
    end
    assert.same(bucket.full(30, 1000), bucket.decode("0 999999999000 30000", 30, 1000)) -- a clock that is years ahead
    assert.equal(5, bucket.decode("0 1000 30000", 5, 1000).most)
    assert.equal(1050, bucket.decode("0 1050000 30000", 30, 1000).at) -- as an earlier version wrote it
  end)

  it("rests no longer than was asked, where a process reads it whose clock is behind", function()
    local asked = bucket.encode(bucket.rest(bucket.full(30, 5000), 5000, 50))
    assert.near(50, select(2, bucket.take(bucket.decode(asked, 30, 5000), 5000)), 1e-9)
    assert.near(50, select(2, bucket.take(bucket.decode(asked, 30, 1400), 1400)), 1e-9)
    local used = bucket.encode(bucket.take(bucket.full(30, 5000), 5000))
    assert.near(0, select(2, bucket.take(bucket.decode(used, 30, 1400), 1400)), 1e-9)
  end)
end)

describe("pacing", function()
  local time
  before_each(function() time = virtual.install(1773136800) end)
  after_each(function() time.restore() end)

  local function asleep_at(count, car)
    local start = time.now()
    for _ = 1, count do assert(car:wake_up()) end
    return time.now() - start
  end

  local online = '{"response":{"state":"online"}}'

  it("waits for the turn within the call's time", function()
    local car, requests = seam.car({ online }, { pacing = {} })
    assert.near(20, asleep_at(4, car), 0.1)
    assert.equal(4, #requests)
  end)

  it("says at once how long it would be, where the time does not suffice, and sends nothing", function()
    local car, requests = seam.car({ online }, { pacing = {} })
    asleep_at(3, car)
    local start = time.now()
    local value, err, kind = car:wake_up { timeout = 10 }
    assert.is_nil(value)
    assert.equal("rate_limited", kind)
    assert.near(20, err.retry_after, 0.1)
    assert.equal("not_sent", err.outcome)
    assert.near(start, time.now(), 0.01)
    assert.equal(3, #requests)
    assert.near(20, asleep_at(1, car), 0.1) -- the refused call took no turn
  end)

  it("leaves other vehicles, classes and accounts alone", function()
    local store = fleet.store.memory()
    local car, _, client = seam.car({ online }, { pacing = {}, store = store })
    local other = seam.car({ online }, { pacing = {}, store = store, account = "b" })
    asleep_at(3, car)
    assert.equal(0, asleep_at(3, client:vehicle("5YJ3E1EA7KF000002")))
    assert.equal(0, asleep_at(3, other))
    local start = time.now()
    assert(car:vehicle_data {})
    assert(car:info())
    assert.equal(start, time.now())
  end)

  it("is shared by the clients of a store, and keeps the order of those that wait", function()
    local store, order = fleet.store.memory(), {}
    local one = seam.car({ online }, { pacing = {}, store = store })
    local two = seam.car({ online }, { pacing = {}, store = store })
    asleep_at(3, one)
    fleet.run(function()
      local tasks = {}
      for i = 1, 3 do
        tasks[i] = fleet.spawn(function()
          local car = i % 2 == 0 and one or two
          assert(car:wake_up { timeout = 100 })
          order[#order + 1] = i .. "@" .. math.floor(time.now() - 1000 + 0.5)
        end)
      end
      for i = 1, 3 do tasks[i]:wait() end
    end)
    assert.same({ "1@20", "2@40", "3@60" }, order)
  end)

  it("counts in no budget what is cancelled while it waits, or comes too late", function()
    local car, requests, client = seam.car({ online }, { pacing = {}, budgets = { per_day = { wake = 4 } } })
    asleep_at(3, car)
    fleet.run(function()
      local task = fleet.spawn(function() return car:wake_up { timeout = 100 } end)
      fleet.sleep(1)
      task:cancel()
      pcall(task.wait, task)
    end)
    assert.equal("rate_limited", select(3, car:wake_up { timeout = 10 }))
    assert.same({ wake = 3 }, client:cost {}.calls)
    assert(car:wake_up { timeout = 100 })
    assert.equal("budget", select(3, car:wake_up { timeout = 100 }))
    assert.equal(4, #requests)
  end)

  it("takes a limit of one's own", function()
    local car = seam.car({ online }, { pacing = { wake = 60 } })
    assert.equal(0, asleep_at(60, car))
    assert.near(1, asleep_at(1, car), 0.1)
  end)

  it("lets no call start before the time that a 429 named", function()
    local store, refuse = fleet.store.memory(), true
    local function answer()
      if not refuse then return seam.answer(online) end
      return { status = 429, headers = { ["Retry-After"] = "90", ["ratelimit-limit"] = "2" }, body = "Retry in 90 seconds" }
    end
    local car, requests = seam.car(answer, { pacing = {}, store = store })
    assert.equal("rate_limited", select(3, car:vehicle_data {}))
    refuse = false
    local other, more = seam.car(answer, { pacing = {}, store = store })
    local _, err, kind = other:vehicle_data {}
    assert.equal("rate_limited", kind)
    assert.near(90, err.retry_after, 0.1)
    assert.equal(1, #requests + #more)
    time.advance(90)
    assert(other:vehicle_data {})
    assert.near(30, select(2, other:vehicle_data({}, { timeout = 1 })).retry_after, 0.1)
  end)

  for _, jump in ipairs { -3 * 365 * 86400, -3600, 3600, 3 * 365 * 86400 } do
    it(("waits as long when the wall clock is set by %d s"):format(jump), function()
      local refuse = true
      local function answer()
        if not refuse then return seam.answer(online) end
        return { status = 429, headers = { ["Retry-After"] = "90" }, body = "Retry in 90 seconds" }
      end
      local car = seam.car(answer, { pacing = {} })
      local other = seam.car({ online }, { pacing = {} })
      asleep_at(3, other)
      car:vehicle_data {}
      refuse = false
      time.advance(10)
      time.jump(jump)
      assert.near(80, select(2, car:vehicle_data {}).retry_after, 0.1)
      assert.near(10, asleep_at(1, other), 0.1)
    end)
  end

  it("does nothing without the option", function()
    local car, requests = seam.car({ { status = 429, headers = { ["retry-after"] = "90" }, body = "" }, online })
    car:vehicle_data {}
    assert(car:vehicle_data {})
    assert.equal(0, asleep_at(50, car))
    assert.equal(52, #requests)
  end)

  it("does not let one vehicle's limit hold up the others of fleet.map", function()
    local car, _, client = seam.car({ online }, { pacing = {}, timeout = 5 })
    asleep_at(3, car)
    local start = time.now()
    local results = fleet.map({ car, client:vehicle("5YJ3E1EA7KF000002") }, function(one) return one:wake_up() end, { concurrency = 1 })
    assert.equal("rate_limited", results[1].err.kind)
    assert.is_true(results[2].ok)
    assert.equal(start, time.now())
  end)

  it("gives the places of fleet.map to others while one vehicle waits", function()
    local car, _, client = seam.car({ online }, { pacing = {} })
    local list = { car, car, car, car, client:vehicle("5YJ3E1EA7KF000002") }
    local done = {}
    fleet.map(list, function(one)
      local value, err = one:wake_up()
      done[#done + 1] = one.vin:sub(-1) .. "@" .. math.floor(time.now() - 1000 + 0.5)
      return value, err
    end, { concurrency = 1 })
    assert.same({ "1@0", "1@0", "1@0", "2@0", "1@20" }, done)
  end)
end)
