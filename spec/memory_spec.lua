-- Memory stays flat: 100,000 requests over the wire, and what a client and a request cost.

local core = require "fleet.core"
local fleet = require "fleet"
local nginx = require "spec.support.nginx"
local seam = require "spec.support.seam"

local function resident()
  local file = io.open("/proc/self/statm")
  local _, pages = file:read("n", "n")
  file:close()
  return pages * 4096
end

local function settled()
  for _ = 1, 3 do collectgarbage() end
  return collectgarbage("count") * 1024
end

describe("memory", function()
  local server
  setup(function() server = nginx.start {} end)
  teardown(function() server.stop() end)

  -- Under a sanitizer freed memory is kept back on purpose, and everything takes longer.
  local slow = os.getenv "LD_PRELOAD" or os.getenv "VALGRIND"

  it("stays flat over 100,000 requests", function()
    local client = fleet.new { token = "a-token", base_url = server.url }
    local function requests(total)
      local left = total
      fleet.run(function()
        for _ = 1, 64 do
          fleet.spawn(function()
            while left > 0 do
              left = left - 1
              assert(client.user:me())
            end
          end)
        end
      end)
    end
    local total = slow and 2000 or 100000
    requests(total / 10)
    local lua, live, rss = settled(), core.live(), resident()
    requests(total - total / 10)
    local lua_after = settled()
    assert.equal(live, core.live())
    assert.is_true(lua_after - lua < 64 * 1024, "Lua grew by " .. lua_after - lua)
    if not slow then assert.is_true(resident() - rss < 2e6, "the process grew by " .. resident() - rss) end
    client:close()
  end)

  it("stays flat over failures of every kind", function()
    local texts = { "", "{", "<html>", '{"error":"x"}', '{"response":{"id":12345678901234567890}}' }
    local car, _, client = seam.car(function(_, n)
      if n % 7 == 0 then return nil, "broken", false end
      return { status = ({ 200, 404, 400, 429 })[n % 4 + 1], body = texts[n % #texts + 1] }
    end, { log = function() end })
    local function calls(n)
      for _ = 1, n do
        pcall(car.set_charge_limit, car, { precent = 5 })
        car:info { timeout = 0.1 }
        car:set_charge_limit({ percent = 80 }, { timeout = 0.1, idempotent = false })
      end
      fleet.drain()
    end
    calls(500)
    local before, live = settled(), core.live()
    calls(slow and 200 or 3000)
    local grown = settled() - before
    assert.equal(live, core.live())
    -- the seam keeps every request, so that specs can look at them: two tables and some text each
    assert.is_true(grown < (slow and 200 or 3000) * 2 * 1600, grown)
    client:close()
  end)

  it("of clients and handles comes back when they are forgotten, closed or not", function()
    local function many(n)
      for i = 1, n do
        local client = fleet.new { token = "a-token", account = "account " .. i }
        client:vehicle(seam.vin)
        if i % 2 == 0 then client:close() end
      end
    end
    many(100)
    local before, live = settled(), core.live()
    many(500)
    local grown = settled() - before
    assert.is_true(grown < 500 * 64, grown)
    assert.equal(live, core.live())
  end)
end)
