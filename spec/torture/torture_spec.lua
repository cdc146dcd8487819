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

describe("some hundred cars that stream", function()
  local stream = require "spec.torture.stream"

  it("lose nothing while one reads nothing, the certificate is renewed, and some come back", function()
    local options = { cars = 200, messages = 20 }
    stream.check(stream.run(options), options)
  end)

  it("whose messages are lost, doubled or answered wrongly are noticed", function()
    local options = { cars = 3, messages = 2 }
    local good = { received = 9, deaf = 5, lost = 0, doubled = 0, wrong = 0, ended = 0 }
    stream.check(good, options)
    for name, value in pairs { received = 8, lost = 1, doubled = 1, wrong = 1, ended = 1, deaf = 20000 } do
      local bad = { received = 9, deaf = 5, lost = 0, doubled = 0, wrong = 0, ended = 0 }
      bad[name] = value
      assert.has_error(function() stream.check(bad, options) end)
    end
  end)
end)

it("of many cars that stream a lost message, a wrong answer, or a budget exceeded is noticed", function()
  local many = require "spec.torture.stream_many"
  local function figures(changes)
    local all = { cars = 10, sent = 9, received = 9, acknowledged = 9, wrong = 0, ended = 0, memory = 23, cpu = 50 }
    for name, value in pairs(changes) do all[name] = value end
    return all
  end
  many.check(figures {})
  for name, value in pairs { received = 8, acknowledged = 8, wrong = 1, ended = 1 } do
    assert.has_error(function() many.check(figures { [name] = value }) end)
  end
  many.check_budgets(figures {})
  assert.error_matches(function() many.check_budgets(figures { memory = 24.5 }) end, "24.5 KB")
  assert.error_matches(function() many.check_budgets(figures { cpu = 1e5 + 1e3 }) end, "1.01 seconds of CPU")
end)

describe("cars that stream to a receiver with a Redis, both killed at any moment", function()
  local killed = require "spec.torture.stream_killed"
  local missing = require("spec.support.servers.redis").missing()

  if missing then
    pending("lose nothing that was acknowledged: " .. missing)
  else
    it("lose nothing that was acknowledged", function()
      local figures = killed.run { seconds = 6, cars = 10, receiver_every = 1, redis_every = 1.5 }
      killed.check(figures)
      assert.is_true(figures.stored > 0)
    end)
  end

  it("that lose a message, or wait for ever, are noticed", function()
    killed.check { lost = 0, unanswered = 0 }
    assert.has_error(function() killed.check { lost = 1, unanswered = 0 } end)
    assert.has_error(function() killed.check { lost = 0, unanswered = 1 } end)
  end)
end)

describe("some hundred cars that come back at once", function()
  local many = require "spec.torture.stream_many"

  it("are all taken, and nothing that they send is lost", function()
    many.check(many.run { cars = many.possible(300), seconds = 3 })
  end)

  it("are fewer on a machine that is too small, which says so", function()
    local cars, why = many.possible(1e9)
    assert.is_true(cars < 1e9)
    assert.matches("ulimit %-n is %d+: raise it to", why)
  end)
end)

-- A day in which little was done because the machine stood still shows nothing: a longer one is tried. What must never happen is
-- checked in each of them. Returns the figures, and what has not come in the longest.
local function long_enough(run, options, lacking)
  local figures, lacks, seconds = nil, nil, options.seconds
  for _, factor in ipairs { 1, 3, 9 } do
    options.seconds = seconds * factor
    figures = run(options)
    lacks = lacking(figures)
    if not lacks then break end
  end
  return figures, lacks
end

local function lacking_of(figures, names)
  for _, name in ipairs(names) do
    if (figures.blows[name] or 0) == 0 then return name end
  end
end

describe("several workers and a proxy on one Redis, on a bad day", function()
  local missing = require("spec.support.servers.redis").missing()
  for _, kind in ipairs({ "persistent", "forgetful" }) do
    local name = "lose no token and do nothing twice: a server that is " .. kind
    if missing then
      pending(name .. ": " .. missing)
    else
      it(name, function()
        local _, lacks = long_enough(require("spec.torture.redis").run, {
          seconds = 8, vehicles = 12, workers = 2, proxies = 1, tasks = 4, stall = 0.5,
          away = 0.5, pause = 0.5, calm = 3, redis = kind, settle = 0.3, cut = 0.5,
          rest = 0.02, budget = 6,
        }, function(figures)
          return kind == "persistent" and figures.at_limit == 0 and "a budget that was used up"
            or figures.commands <= 20 and "commands" or lacking_of(figures, { "faults", "stall", "restart" })
        end)
        assert.is_falsy(lacks)
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
        local _, lacks = long_enough(require("spec.torture.proxy").run, {
          seconds = 6, vehicles = 4, away = 0.3, store = store, every = { kill = 1.5, restart = 2, reload = 2, expire = 1, faults = 0.5 },
        }, function(figures)
          return figures.ran <= 20 and "commands" or lacking_of(figures, { "kill", "reload", "expire", "faults" })
        end)
        assert.is_falsy(lacks)
      end)
    end
  end
end)

describe("a day that was too short", function()
  local function run_of(commands)
    local asked = {}
    return function(options)
      asked[#asked + 1] = options.seconds
      return { commands = commands[#asked], blows = {} }
    end, asked
  end
  local function few(figures) return figures.commands <= 20 and "commands" end

  it("is followed by longer ones, and reported when none was long enough", function()
    local run, asked = run_of { 5, 30 }
    local figures, lacks = long_enough(run, { seconds = 8 }, few)
    assert.same({ 30, false, { 8, 24 } }, { figures.commands, lacks, asked })
    run, asked = run_of { 5, 6, 7 }
    assert.equal("commands", select(2, long_enough(run, { seconds = 1 }, few)))
    assert.equal(3, #asked)
    assert.equal("kill", lacking_of({ blows = { faults = 1 } }, { "faults", "kill" }))
  end)
end)
