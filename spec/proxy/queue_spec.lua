-- The queue of the proxy: one at a time per vehicle, callers in turn, bounded.
local fleet = require "fleet"
local queues = require "fleet.proxy.queue"
local virtual = require "spec.support.harness.virtual"

describe("the proxy's queue", function()
  local time

  before_each(function() time = virtual.install() end)
  after_each(function() time.restore() end)

  -- Runs jobs { caller, vin, source } that take a second each, all asked for at once; → the callers in the order in which they began.
  local function order(queue, jobs, seconds)
    local began = {}
    fleet.run(function()
      local tasks = {}
      for i, job in ipairs(jobs) do
        tasks[i] = fleet.spawn(function()
          if not queue:enter(job[2] or "A", job[1], seconds or 100, job[3]) then
            began[#began + 1] = "-" .. job[1]
            return
          end
          began[#began + 1] = job[1]
          fleet.sleep(1)
          queue:leave(job[2] or "A")
        end)
      end
      for _, task in ipairs(tasks) do task:wait() end
    end)
    return table.concat(began, " ")
  end

  local function empty(queue)
    assert.is_nil(next(queue.places))
    assert.equal(0, queue.waiting)
  end

  it("serves callers round-robin", function()
    local queue = queues.new()
    assert.equal("a a b c a a a", order(queue, { { "a" }, { "a" }, { "a" }, { "a" }, { "a" }, { "b" }, { "c" } }))
    empty(queue)
  end)

  it("serves vehicles beside each other", function()
    local queue = queues.new()
    local before = time.now()
    order(queue, { { "a", "A" }, { "a", "B" }, { "a", "C" } })
    assert.equal(1, time.now() - before)
    empty(queue)
  end)

  it("refuses at once what finds it full, for one vehicle or for all", function()
    local queue = queues.new { waiting_per_vin = 2, waiting = 3 }
    assert.equal("a -a a a", order(queue, { { "a" }, { "a" }, { "a" }, { "a" } }))
    assert.equal("a a -a -a a a a", order(queue, { { "a", "A" }, { "a", "B" }, { "a", "A" }, { "a", "A" }, { "a", "B" }, { "a", "B" },
      { "a", "A" } }))
    empty(queue)
  end)

  it("serves sources round-robin, and their callers beneath: invented names bring nothing", function()
    local queue = queues.new()
    local jobs = { { "a", nil, "x" }, { "b", nil, "x" }, { "c", nil, "x" }, { "d", nil, "x" }, { "b", nil, "x" }, { "e", nil, "y" },
      { "e", nil, "y" } }
    assert.equal("a b e c e d b", order(queue, jobs))
    empty(queue)
  end)

  it("that one source has filled has room for another, at the first one's cost", function()
    local queue = queues.new { waiting_per_vin = 3, waiting = 100 }
    local jobs = { { "a", nil, "x" }, { "b", nil, "x" }, { "c", nil, "x" }, { "d", nil, "x" }, { "e", nil, "x" }, { "f", nil, "y" } }
    assert.equal("a -e -d b f c", order(queue, jobs))
    empty(queue)
    jobs[#jobs + 1], jobs[#jobs + 2] = { "g", nil, "y" }, { "h", nil, "z" }
    assert.equal("a -e -g -d -c b f h", order(queue, jobs))
    empty(queue)
  end)

  it("that many sources have filled is full", function()
    local queue = queues.new { waiting_per_vin = 2, waiting = 100 }
    assert.equal("a -d b c", order(queue, { { "a" }, { "b" }, { "c" }, { "d" } }))
    empty(queue)
  end)

  it("gives up after its time, and passes over who gave up", function()
    local queue = queues.new()
    assert.equal("a b -c -d", order(queue, { { "a" }, { "b" }, { "c" }, { "d" } }, 1.5))
    empty(queue)
  end)

  it("passes over a task that was cancelled", function()
    local queue, began = queues.new(), {}
    fleet.run(function()
      assert(queue:enter("A", "a", 10))
      local gone = fleet.spawn(function() queue:enter("A", "b", 10) end)
      local next_one = fleet.spawn(function()
        began[#began + 1] = queue:enter("A", "c", 10)
        queue:leave("A")
      end)
      fleet.sleep(0.1)
      gone:cancel()
      fleet.sleep(0.1)
      queue:leave("A")
      next_one:wait()
    end)
    assert.same({ true }, began)
    empty(queue)
  end)
end)
