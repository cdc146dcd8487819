-- Memory stays flat: 25,000 requests over the wire, with FLEET_ALL (`make torture`) 100,000, and what a client and a request cost.

local core = require "fleet.core"
local fleet = require "fleet"
local needs = require "spec.support.harness.needs"
local part = require "spec.support.harness.part"
local nginx = require "spec.support.servers.nginx"
local process = require "spec.support.harness.process"
local seam = require "spec.support.fixtures.host_http"

local function settled()
  for _ = 1, 3 do collectgarbage() end
  return collectgarbage("count") * 1024
end

local describe_with_nginx = needs("nginx", describe, pending)

describe_with_nginx("memory", function()
  local server
  setup(function() server = nginx.start {} end)
  teardown(function() server.stop() end)

  -- Under a sanitizer freed memory is kept back on purpose, and everything takes longer.
  local slow = os.getenv "LD_PRELOAD" or os.getenv "VALGRIND"

  local requests = part(100000, 25000)

  it("stays flat over " .. requests .. " requests", function()
    local script = process.quote(process.root .. "/spec/support/harness/flat.lua")
    local pipe = io.popen(process.lua .. " " .. script .. " " .. server.url .. " " .. (slow and 2000 or requests))
    local live, lua, resident = pipe:read("n", "n", "n")
    assert.is_true(pipe:close())
    assert.equal(0, live)
    assert.is_true(lua < 64 * 1024, "Lua grew by " .. lua)
    if not slow then assert.is_true(resident < 1e6, "the process grew by " .. resident) end
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
