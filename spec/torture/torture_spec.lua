-- The short form of `make torture`: the same programs, some thousands of requests.
local sim = require("spec.torture.sim")

describe("some thousands of requests", function()
  it("of every kind leave the simulator's memory as it was, and all are answered", function()
    local figures = sim.run({ requests = 6000 })
    if os.getenv("LD_PRELOAD") then figures.late = figures.early end -- a sanitizer keeps what was freed
    sim.check(figures)
    for _, status in ipairs({ 200, 400, 401, 404, 405 }) do
      assert.is_true((figures.statuses[status] or 0) >= 300, "HTTP " .. status .. " hardly came")
    end
  end)

  it("whose replies the simulator should not give are noticed, and memory that grows", function()
    assert.has_error(function() sim.check({ early = 10, late = 10, statuses = { [501] = 1 } }) end)
    assert.has_error(function() sim.check({ early = 10, late = 13, statuses = { [200] = 1 } }) end)
    sim.check({ early = 10, late = 11, statuses = { [200] = 1 } })
  end)
end)

describe("several workers and a proxy on one Redis, on a bad day", function()
  local missing = require("spec.support.servers.redis").missing()
  for _, kind in ipairs({ "persistent", "forgetful" }) do
    local name = "lose no token and do nothing twice: a server that is " .. kind
    if missing then
      pending(name .. ": " .. missing)
    else
      it(name, function()
        local figures = require("spec.torture.redis").run({
          seconds = 8, vehicles = 12, workers = 2, proxies = 1, tasks = 4, stall = 0.5,
          away = 0.5, pause = 0.5, calm = 3, redis = kind, settle = 0.3, cut = 0.5,
          rest = 0.02, budget = 6,
        })
        if kind == "persistent" then assert.is_true(figures.at_limit > 0, "no budget was used up") end
        assert.is_true(figures.commands > 20)
        for _, blow in ipairs({ "faults", "stall", "restart" }) do assert.is_true(figures.blows[blow] > 0, blow) end
      end)
    end
  end
end)

describe("two proxies under callers of every kind, on a bad day", function()
  local missing = require("spec.support.servers.redis").missing()
  for _, store in ipairs { "files", "redis" } do
    local name = "do nothing twice and lose no token: a store in " .. store
    if missing and store == "redis" then
      pending(name .. ": " .. missing)
    else
      it(name, function()
        local figures = require("spec.torture.proxy").run {
          seconds = 6, vehicles = 4, away = 0.3, store = store, every = { kill = 1.5, restart = 2, reload = 2, expire = 1, faults = 0.5 },
        }
        assert.is_true(figures.ran > 20)
        for _, blow in ipairs { "kill", "reload", "expire", "faults" } do assert.is_true((figures.blows[blow] or 0) > 0, blow) end
      end)
    end
  end
end)
