-- How often a call waits for a Redis store: rate limits, budgets and the vehicle's session are asked in one write.

local async = require "fleet.async"
local fleet = require "fleet"
local redis = require "spec.support.servers.redis"
local services = require "spec.support.servers.service"

local missing = redis.missing()
if missing then
  pending("round trips to Redis are not counted: " .. missing)
  return
end

local vin = "5YJ3E1EA7KF000001"

describe("waits for a Redis store", function()
  local server, service, key, client, store, waits
  local await_for = async.await_for

  lazy_setup(function()
    key = fleet.key.generate()
    local public = key:public_bytes():gsub(".", function(c) return ("%02x"):format(c:byte()) end)
    server = redis.start()
    service = services.start { vehicles = { { vin = vin, keys = { public } } } }
    store = assert(fleet.store.redis { address = server.address, settle = 0, prefix = "trips/" })
    assert(store:put("x", "y"))
    local link = store.acts.link
    function async.await_for(promise, ...)
      for i = link.first, link.last do
        if link.queue[i].promise == promise then waits = waits + 1 end
      end
      return await_for(promise, ...)
    end
  end)
  lazy_teardown(function()
    async.await_for = await_for
    store:close()
    service:stop()
    server.stop()
  end)
  before_each(function() waits = 0 end)
  after_each(function() client:close() end)

  -- A car of a client of its own, which has made the call twice.
  local function warm(method, options)
    options.store, options.key, options.commands = store, key, options.commands or "signed"
    client = service:client(options)
    service:sign_in(client)
    local car = client:vehicle(vin)
    for _ = 1, 2 do assert(car[method](car)) end
    return car
  end

  local function waits_of(car, method)
    waits = 0
    for _ = 1, 10 do assert(car[method](car)) end
    return waits / 10
  end

  local budgets = {
    usd_per_month = 100, per_day = { command = 1000 }, per_vehicle_day = { command = 1000 }, usd_per_key_month = 100,
    usd_per_application_month = 100,
  }
  local pacing = { command = 1000, data = 1000 }
  for name, options in pairs {
    ["without budgets"] = {}, ["with budgets of account, vehicle, key and application"] = { budgets = budgets },
    ["with rate limits"] = { pacing = pacing }, ["with both"] = { budgets = budgets, pacing = pacing },
  } do
    it("are two for a warm signed command " .. name, function()
      assert.equal(2, waits_of(warm("honk_horn", options), "honk_horn"))
    end)
  end

  it("is one for a read with both, and none without", function()
    assert.equal(1, waits_of(warm("vehicle_data", { budgets = budgets, pacing = pacing }), "vehicle_data"))
    client:close()
    assert.equal(0, waits_of(warm("vehicle_data", {}), "vehicle_data"))
  end)

  it("are none for taking back what was not billed", function()
    local attempts = 0
    local car = warm("vehicle_data", { budgets = budgets, account = "unbilled", metrics = function() attempts = attempts + 1 end })
    local before = client:cost {}.calls.data
    service:control { fault = "error_500", times = 1 }
    waits, attempts = 0, 0
    assert(car:vehicle_data())
    assert.same({ 2, 2 }, { attempts, waits })
    assert.equal(before + 1, client:cost {}.calls.data)
  end)

  it("is one for a command that a budget or a rate limit forbids, which leaves the vehicle to others", function()
    for kind, options in pairs {
      budget = { budgets = { per_day = { command = 3 } }, account = "beyond" },
      rate_limited = { pacing = { command = 2 }, account = "often", timeout = 20 },
    } do
      local car = warm("honk_horn", options)
      local value, err, why
      repeat
        waits = 0
        value, err, why = car:honk_horn()
      until not value
      assert.equal(kind, why)
      assert.equal("not_sent", err.outcome)
      assert.equal(1, waits)
      local other = assert(fleet.store.redis { address = server.address, settle = 0, prefix = "trips/" })
      local lease = assert(other:lease("session/" .. key:fingerprint() .. "/" .. vin .. "/infotainment", 60))
      lease:release()
      other:close()
      client:close()
    end
  end)

  it("waits for its turn without the vehicle's session, and then sends", function()
    local car = warm("honk_horn", { pacing = { command = 6 }, account = "later" })
    for _ = 3, 6 do assert(store:pace("pace/later/command/" .. vin, { most = 6, now = 0, within = 9 })) end
    local other = assert(fleet.store.redis { address = server.address, settle = 0, prefix = "trips/" })
    local sleep, waited = async.sleep, {}
    finally(function() async.sleep = sleep end)
    function async.sleep(seconds) -- the ten seconds until its turn pass at once
      waited[#waited + 1] = seconds
      assert(other:lease("session/" .. key:fingerprint() .. "/" .. vin .. "/infotainment", 60)):release()
    end
    local value = fleet.spawn(function() return assert(car:honk_horn()) end):wait()
    assert.equal(1, #waited)
    assert.is_true(waited[1] > 0 and waited[1] <= 10, waited[1])
    assert.equal("signed", value.via)
    other:close()
  end)
end)
