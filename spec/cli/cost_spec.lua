-- fleet cost: what was spent, for a person, for a program and as a picture.

local cli = require "spec.support.harness.cli"
local seam = require "spec.support.fixtures.host_http"
local support = require "spec.support.fixtures.stores"
local virtual = require "spec.support.harness.virtual"

describe("fleet cost", function()
  local time, path
  before_each(function()
    time, path = virtual.install(1773136800), support.directory()
    local car, _, client = seam.car({ seam.done, '{"response":{"state":"online"}}' }, { store = path })
    assert(car:honk_horn())
    assert(car:vehicle_data {})
    time.advance(86400)
    assert(client:vehicle("5YJ3E1EA7KF000002"):vehicle_data {})
    client:close()
  end)
  after_each(function()
    time.restore()
    support.remove(path)
  end)

  local function run(words)
    local arguments = { "cost", "--store", path }
    for _, word in ipairs(words) do arguments[#arguments + 1] = word end
    return cli.run(arguments, {
      env = { FLEET_TOKEN = "a-token" }, http = function() error("nothing is asked") end,
      new = function(options)
        options.budgets = { usd_per_month = 1, per_day = { data = 50 } }
        options.http = function() error("nothing is asked") end
        return require("fleet").new(options)
      end,
    })
  end

  it("shows what was spent, by day and vehicle, against the budgets", function()
    local result = run {}
    assert.equal(0, result.status, result.err)
    assert.equal([[
2026-03  0.005 USD: 2 reads, 1 command

Budgets
  per_day.data                1 of 50, 49 left
  usd_per_month               0.005 USD of 1.000 USD, 0.995 USD left

Days
  2026-03-10           0.003 USD  1 read, 1 command
  2026-03-11           0.002 USD  1 read

Vehicles
  5YJ3E1EA7KF000001    0.003 USD  1 read, 1 command
  5YJ3E1EA7KF000002    0.002 USD  1 read

Prices: a stored copy of Tesla's page on billing and limits (date not stated)
]], result.out)
  end)

  it("prints JSON, of another month and of one vehicle", function()
    local json = run({ "--json" }).json
    assert.near(0.005, json.usd, 1e-12)
    assert.equal(2, #json.days)
    assert.equal(2, #json.vehicles)
    local one = run({ "--json", "--vehicle", seam.vin }).json
    assert.near(0.003, one.usd, 1e-12)
    assert.is_nil(one.vehicles)
    assert.equal(0, run({ "--json", "--month", "2026-02" }).json.usd)
    assert.equal(2, run({ "--month", "2026-2" }).status)
  end)

  it("draws the month", function()
    local result = run { "--output", path .. "/cost.svg" }
    assert.equal(0, result.status, result.err)
    local file = assert(io.open(path .. "/cost.svg"))
    local picture = file:read("a")
    file:close()
    assert.matches("2026%-03, account default: 0%.005 USD of 1%.00 USD", picture)
    assert.matches("2026%-03%-10: 1 command, 0%.001 USD", picture)
    local _, bars = picture:gsub('<rect class="data"[^>]*><title>', "")
    assert.equal(2, bars)
  end)

  it("draws the picture of the manual", function()
    local read = require("spec.support.harness.files").read
    local drawn = require("fleet.chart.cost").svg(require("spec.support.fixtures.cost_month")())
    assert.is_true(read "doc/manual/pictures/cost.svg" == drawn, "make look")
  end)
end)
