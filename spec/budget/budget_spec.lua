-- Budgets: what the service bills is counted, and what is beyond a limit is not sent.

local fleet = require "fleet"
local seam = require "spec.support.fixtures.host_http"
local support = require "spec.support.fixtures.stores"
local virtual = require "spec.support.harness.virtual"

local WALL = 1773136800 -- 2026-03-10T10:00:00Z
local data = '{"response":{"id_s":"1","vin":"5YJ3E1EA7KF000001","state":"online"}}'

describe("budgets", function()
  local time
  before_each(function() time = virtual.install(WALL) end)
  after_each(function() time.restore() end)

  local function refusal(value, err, kind)
    assert.is_nil(value)
    assert.equal("budget", kind)
    assert.equal("budget", err.kind)
    return err
  end

  it("count by class, day and vehicle what the service bills, and only that", function()
    local answers = {
      data, { status = 404, headers = {}, body = "{}" }, { status = 500, headers = {}, body = "" }, seam.done,
      '{"response":{"result":false,"reason":"disconnected"}}',
    }
    local car, _, client = seam.car(answers)
    assert(car:vehicle_data {})
    assert.equal("not_found", select(3, car:vehicle_data {}))
    car:honk_horn() -- 500: not billed
    assert(car:honk_horn())
    assert.equal("refused", select(3, car:honk_horn()))
    local cost = assert(client:cost {})
    assert.same({ data = 2, command = 2 }, cost.calls)
    assert.near(2 / 500 + 2 / 1000, cost.usd, 1e-12)
    assert.equal("2026-03", cost.month)
    assert.same({ { date = "2026-03-10", calls = { data = 2, command = 2 }, usd = cost.usd } }, cost.days)
    assert.same({ { vin = seam.vin, calls = { data = 2, command = 2 }, usd = cost.usd } }, cost.vehicles)
    assert.same({}, cost.budgets)
    assert.same({ "not stated", "a stored copy of Tesla's page on billing and limits" }, { cost.prices.date, cost.prices.source })
    assert.is_nil(cost.prices.own)
  end)

  it("count repeats, and what waking needs: each request that was answered is billed", function()
    local asleep = true
    local car, requests, client = seam.car(function(request)
      if request.path:find("wake_up") then asleep = false end
      if asleep and request.path:find("vehicle_data") then
        return { status = 408, headers = {}, body = '{"error":"vehicle unavailable: vehicle is offline or asleep"}' }
      end
      return seam.answer(data)
    end)
    assert(car:vehicle_data({}, { wake = true }))
    assert.is_true(#requests >= 3)
    assert.same({ data = 2, wake = 1 }, client:cost {}.calls)
  end)

  it("bill specifications only where they are known, and energy not at all", function()
    local car, _, client = seam.car { '{"response":{}}', '{"response":{"vin":"x"}}', '{"response":{}}' }
    car:specs()
    car:specs()
    client:energy_site("1234567890"):live_status()
    assert.same({ specs = 1 }, client:cost {}.calls)
  end)

  it("refuse what is beyond them before it is sent, and say how much and until when", function()
    local car, requests = seam.car({ seam.done }, { budgets = { per_day = { command = 2 } } })
    assert(car:honk_horn())
    assert(car:honk_horn())
    local err = refusal(car:honk_horn())
    assert.equal(2, #requests)
    assert.equal("not_sent", err.outcome)
    assert.same({ data = 0, command = 2, wake = 0, signal = 0, specs = 0 }, err.budget.calls)
    assert.equal("per_day.command", err.budget.limit)
    assert.equal(2, err.budget.spent)
    assert.equal(WALL - WALL % 86400 + 86400, err.budget.resets_at)
    assert.equal(14 * 3600, err.retry_after)
    assert.matches("honk_horn: the budget 'per_day.command' is used up %(2 of 2 calls%) until 2026%-03%-11T00:00:00Z", err.message)
    time.advance(14 * 3600)
    assert(car:honk_horn())
  end)

  it("let other classes and free calls pass", function()
    local car, _, client = seam.car({ seam.done, '{"response":{"state":"online"}}' }, { budgets = { per_day = { command = 1 } } })
    assert(car:honk_horn())
    refusal(car:honk_horn())
    assert(car:info())
    assert(client:energy_site("1234567890"):live_status())
  end)

  it("limit dollars of a month over all classes, and begin anew with the month", function()
    local car, requests, client = seam.car({ data, seam.done }, { budgets = { usd_per_month = 0.003 } })
    assert(car:vehicle_data {}) -- 0.002
    assert(car:honk_horn()) -- 0.001
    local err = refusal(car:honk_horn())
    assert.near(0.003, err.budget.spent, 1e-12)
    assert.equal("month", err.budget.period)
    assert.equal(21 * 86400 + 14 * 3600, err.retry_after)
    assert.equal(2, #requests)
    assert.near(0, client:cost {}.budgets[1].left, 1e-12)
    time.advance(22 * 86400)
    assert(car:honk_horn())
  end)

  it("limit each vehicle by itself", function()
    local car, _, client = seam.car({ seam.done }, { budgets = { per_vehicle_day = { command = 1 } } })
    local other = client:vehicle("5YJ3E1EA7KF000002")
    assert(car:honk_horn())
    refusal(car:honk_horn())
    assert(other:honk_horn())
    refusal(other:honk_horn())
    assert.same({ command = 1 }, client:cost { vehicle = seam.vin }.calls)
    assert.same({ command = 2 }, client:cost {}.calls)
  end)

  it("limit a virtual key and an application across accounts", function()
    local key = fleet.key.generate()
    local cases = { { "usd_per_application_day", { client_id = "app" } }, { "usd_per_key_month", { key = key, commands = "plain" } } }
    for _, case in ipairs(cases) do
      local store = fleet.store.memory()
      local function car_of(account)
        local options = { store = store, account = account, budgets = { [case[1]] = 0.001 } }
        for name, value in pairs(case[2]) do options[name] = value end
        return (seam.car({ seam.done }, options))
      end
      assert(car_of("a"):honk_horn())
      local err = refusal(car_of("b"):honk_horn())
      assert.equal(case[1], err.budget.limit)
    end
  end)

  it("send beyond them with force, which is counted", function()
    local car, requests, client = seam.car({ seam.done }, { budgets = { per_day = { command = 1 } } })
    assert(car:honk_horn())
    refusal(car:honk_horn())
    assert(car:honk_horn { force = true })
    assert.equal(2, #requests)
    assert.same({ command = 2 }, client:cost {}.calls)
    refusal(car:honk_horn())
  end)

  it("take back what was not billed, and keep what may have been", function()
    local answer
    local function http()
      if answer == "unsent" then return nil, "no route", false end
      if answer == "lost" then return nil, "connection lost", true end
      return { status = answer, headers = {}, body = "{}" }
    end
    local car, _, client = seam.car(http, { budgets = { per_day = { data = 5 } }, timeout = 1 })
    for _, case in ipairs { { 500, 0 }, { "unsent", 0 }, { 400, 1 }, { "lost", 2 } } do
      answer = case[1]
      car:vehicle_data({}, { timeout = 5 })
      time.advance(2)
      local before = client:cost {}.calls.data or 0
      assert.is_true(before >= case[2], tostring(answer) .. " " .. before)
      if case[2] == 0 then assert.equal(0, before) end
    end
  end)

  it("warn at 80 %, once", function()
    local events = {}
    local car = seam.car({ seam.done }, { budgets = { per_day = { command = 10 } }, log = function(event)
      if event.name then events[#events + 1] = event end
    end })
    for _ = 1, 7 do assert(car:honk_horn()) end
    assert.same({}, events)
    for _ = 1, 3 do assert(car:honk_horn()) end
    assert.equal(1, #events)
    assert.equal("budget_warning", events[1].name)
    assert.equal("per_day.command", events[1].limit)
    assert.equal(8, events[1].spent)
  end)

  it("give dollars without the digits that sums of prices leave", function()
    local car, _, client = seam.car({ seam.done }, { budgets = { usd_per_day = 0.35 } })
    for _ = 1, 33 do assert(car:honk_horn()) end
    local cost = client:cost {}
    assert.same({ 0.033, 0.317 }, { cost.usd, cost.budgets[1].left })
    assert.equal("[0.033,0.317]", require("fleet.core").json_encode { cost.usd, cost.budgets[1].left })
    assert.equal(0.323, require("fleet.budget.prices").rounded(0.32299999999999995))
  end)

  it("take other prices", function()
    local car, _, client = seam.car({ seam.done }, { budgets = { usd_per_day = 1 }, prices = { command = 0.5 } })
    assert(car:honk_horn())
    assert(car:honk_horn())
    refusal(car:honk_horn())
    assert.equal(1, client:cost {}.usd)
    assert.same({ command = 0.5 }, client:cost {}.prices.own)
  end)

  it("refuse where the store cannot count, unless forced", function()
    local own = support.own(fleet.store.memory())
    local car, requests = seam.car({ seam.done }, { store = own, budgets = { usd_per_day = 1 } })
    own.add = function() return nil, "out of order" end
    local value, err, kind = car:honk_horn()
    assert.is_nil(value)
    assert.equal("store", kind)
    assert.equal("not_sent", err.outcome)
    assert.equal(0, #requests)
    assert(car:honk_horn { force = true })
  end)

  it("send nothing where a store counts what is no number", function()
    for _, total in ipairs { 0 / 0, 1 / 0, "3" } do
      local own = support.own(fleet.store.memory())
      function own.add(_, _, amounts)
        local totals = {}
        for name in pairs(amounts) do totals[name] = total end
        return totals
      end
      local car, requests = seam.car({ seam.done }, { store = own, budgets = { per_day = { command = 3 } } })
      assert.equal("store", select(3, car:honk_horn()))
      assert.equal(0, #requests)
    end
    local limits = require "fleet.budget.limits"
    local read = limits.read { per_day = { command = 3 } }
    assert.equal("per_day.command", limits.judge(read.account, { ["command/1"] = 0 / 0 }, "/1", { command = 1 }, "command").name)
  end)

  it("outlast the client, and are read by the next", function()
    local path = support.directory()
    local function car_of()
      return seam.car({ seam.done }, { store = path, budgets = { per_day = { command = 3 } } })
    end
    for _ = 1, 3 do
      local car, _, client = car_of()
      assert(car:honk_horn())
      client:close()
    end
    local car, _, client = car_of()
    refusal(car:honk_horn())
    client:close()
    support.remove(path)
  end)

  for _, jump in ipairs { -3 * 365 * 86400, -86400, 86400, 3 * 365 * 86400 } do
    it(("hold for the day that goes on when the wall clock is set by %d s and back"):format(jump), function()
      local path = support.directory()
      local car, requests, client = seam.car({ seam.done }, { store = path, budgets = { per_day = { command = 3 } } })
      assert(car:honk_horn())
      assert(car:honk_horn())
      time.jump(jump)
      assert(car:honk_horn())
      local err = refusal(car:honk_horn())
      assert.near(14 * 3600, err.retry_after, 1)
      time.advance(60)
      refusal(car:honk_horn())
      time.jump(-jump)
      refusal(car:honk_horn())
      assert.equal(3, #requests)
      time.advance(14 * 3600)
      assert(car:honk_horn())
      client:close()
      support.remove(path)
    end)
  end

  it("begin anew with the day also after the wall clock was set, and go by it then", function()
    local car, requests = seam.car({ seam.done }, { budgets = { per_day = { command = 1 }, per_vehicle_day = { command = 5 } } })
    assert(car:honk_horn())
    time.jump(3 * 365 * 86400)
    refusal(car:honk_horn())
    time.advance(14 * 3600)
    assert(car:honk_horn())
    refusal(car:honk_horn())
    assert.equal(2, #requests)
  end)

  it("begin anew when the day has ended by the monotonic clock, at whatever time of the other day that is", function()
    local car, requests = seam.car({ seam.done }, { budgets = { per_day = { command = 1 } } })
    assert(car:honk_horn())
    time.jump(3 * 365 * 86400 + 6 * 3600) -- 16:00
    time.advance(9 * 3600)
    refusal(car:honk_horn())
    time.advance(5 * 3600)
    assert(car:honk_horn())
    assert.equal(2, #requests)
  end)

  it("take back what was not billed under each day that counts it", function()
    local fails = { status = 500, headers = {}, body = "" }
    local car = seam.car({ seam.done, fails, fails, fails, seam.done }, { budgets = { per_day = { command = 2 } } })
    assert(car:honk_horn())
    time.jump(86400)
    for _ = 1, 3 do car:honk_horn() end
    assert(car:honk_horn())
    refusal(car:honk_horn())
  end)

  it("without budgets, count in memory, and write at most every second and at close", function()
    local store = fleet.store.memory()
    local car, _, client = seam.car({ seam.done }, { store = store })
    local key = "count/default/2026-03"
    assert(car:honk_horn())
    assert.same({ command = 1, ["command/10"] = 1 }, (store:add(key, {})))
    for _ = 1, 5 do assert(car:honk_horn()) end
    assert.equal(1, store:add(key, {}).command)
    time.advance(1)
    assert(car:honk_horn())
    assert.equal(7, store:add(key, {}).command)
    assert(car:honk_horn())
    client:close()
    assert.equal(8, store:add(key, {}).command)
  end)

  it("without budgets, write a few of many vehicles at each call, and lose none", function()
    local inner = fleet.store.memory()
    local own, adds = support.own(inner), 0
    function own.add(_, ...)
      adds = adds + 1
      return inner:add(...)
    end
    local car, _, client = seam.car({ seam.done }, { store = own })
    assert(car:honk_horn())
    local vehicles, most = 100, 0
    local function call(i)
      local before = adds
      assert(client:vehicle(string.format("5YJ3E1EA7KF%06d", 100 + i)):honk_horn())
      most = math.max(most, adds - before)
    end
    for i = 1, vehicles do call(i) end
    time.advance(1)
    for i = 1, vehicles do call(i) end
    assert.is_true(most <= 16) -- 8 vehicles, and the list in which each is named
    assert.is_true(adds > vehicles)
    assert.equal(2 * vehicles + 1, client:cost {}.calls.command)
    local counted = {}
    for _, one in ipairs(client:cost {}.vehicles) do counted[one.calls.command] = (counted[one.calls.command] or 0) + 1 end
    assert.same({ 1, vehicles }, counted)
  end)

  it("without budgets, name many vehicles in one addition, each of them once, before it is counted", function()
    local inner = fleet.store.memory()
    local own, named, lists = support.own(inner), {}, 0
    function own.add(_, key, amounts, options)
      local vin = string.match(key, "^count/default/2026%-03/(%w+)$")
      if vin then assert.equal(1, named[vin], vin) end
      if string.find(key, "/vehicles/", 1, true) and next(amounts) then lists = lists + 1 end
      for name, amount in pairs(string.find(key, "/vehicles/", 1, true) and amounts or {}) do named[name] = (named[name] or 0) + amount end
      return inner:add(key, amounts, options)
    end
    local _, _, client = seam.car({ seam.done }, { store = own })
    local vehicles = 300
    for round = 1, 2 do
      for i = 1, vehicles do assert(client:vehicle(string.format("5YJ3E1EA7KF%06d", i)):honk_horn()) end
      if round == 1 then time.advance(1) end
    end
    assert.equal(2 * vehicles, client:cost {}.calls.command)
    assert.equal(vehicles, #client:cost {}.vehicles)
    for _, amount in pairs(named) do assert.equal(1, amount) end
    assert.is_true(lists <= 20, lists .. " additions to the lists") -- each of ten begins with one vehicle
    client:close()
  end)

  it("write what is left of a month that ends while it is written under that month", function()
    local store = fleet.store.memory()
    local car, _, client = seam.car({ seam.done }, { store = store })
    for i = 1, 40 do assert(client:vehicle(string.format("5YJ3E1EA7KF%06d", 100 + i)):honk_horn()) end
    time.advance(1)
    assert(car:honk_horn())
    time.advance(22 * 86400)
    assert(car:honk_horn())
    assert.equal(41, client:cost { month = "2026-03" }.calls.command)
    assert.equal(1, client:cost { month = "2026-04" }.calls.command)
    assert.equal(41, #client:cost { month = "2026-03" }.vehicles)
    client:close()
  end)

  it("lose no count where the store fails for a while", function()
    local inner = fleet.store.memory()
    local own, broken = support.own(inner), true
    function own.add(_, ...)
      if broken then return nil, "out of order" end
      return inner:add(...)
    end
    local car, _, client = seam.car({ seam.done }, { store = own })
    for _ = 1, 3 do
      assert(car:honk_horn())
      time.advance(2)
    end
    broken = false
    assert.same({ command = 3 }, client:cost {}.calls)
  end)

  it("refuse wrong questions about the cost", function()
    local _, _, client = seam.car({ seam.done })
    assert.error_matches(function() client:cost { months = "2026-03" } end, "did you mean 'month'?")
    assert.error_matches(function() client:cost { month = "2026-13" } end, "must be as")
    assert.same({}, client:cost { month = "2026-02" }.days)
    client:close()
  end)
end)

describe("budgets of several processes", function()
  local redis = require "spec.support.servers.redis"
  local missing = redis.missing()

  local function sent_by_eight(store)
    local outputs = support.processes(8, [[
      local seam = require "spec.support.fixtures.host_http"
      local car, requests, client = seam.car({ seam.done }, { store = (...), budgets = {
        per_day = { command = 100 }, usd_per_month = 10 } })
      for _ = 1, 30 do
        local value, err, kind = car:honk_horn()
        assert(value or kind == "budget", err)
      end
      client:close()
      print(#requests)
    ]], { store })
    local sent = 0
    for _, text in ipairs(outputs) do sent = sent + assert(tonumber(text), text) end
    return sent
  end

  it("are never overshot: eight processes with one directory send exactly what is allowed", function()
    local path = support.directory()
    assert.equal(100, sent_by_eight(path))
    support.remove(path)
  end)

  local with_redis = missing and function(name) pending(name .. ": " .. missing) end or it
  with_redis("nor by eight with one Redis", function()
    local server = redis.start()
    finally(server.stop)
    assert.equal(100, sent_by_eight(server.address))
  end)
end)
