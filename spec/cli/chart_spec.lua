-- fleet chart: what is asked for, and that a month is drawn day by day.

local cli = require "spec.support.harness.cli"
local unpack = require("fleet.util.compat").unpack

local function entry(date)
  return string.format('{"timestamp":"%sT00:00:00+01:00","solar_energy_exported":1000,"consumer_energy_imported_from_solar":1000}', date)
end

-- A service whose entries cover what the period says, or a day.
local function service(month_as_days, asked)
  return function(request)
    local path = request.url:gsub("^https?://[^/]+", "")
    if path:find("site_info", 1, true) then
      return { status = 200, headers = {}, body = '{"response":{"installation_time_zone":"Europe/Berlin"}}' }
    end
    asked[#asked + 1] = path:match("period=(%a+)")
    local list = { entry("2026-01-01") }
    if asked[#asked] == "day" or month_as_days then
      for day = 2, 31 do list[day] = entry(string.format("2026-01-%02d", day)) end
    end
    return { status = 200, headers = {}, body = '{"response":{"time_series":[' .. table.concat(list, ",") .. "]}}" }
  end
end

local function chart(month_as_days)
  local asked = {}
  local result = cli.run({ "chart", "7", "month=2026-01", "--json" },
    { http = service(month_as_days, asked), env = { FLEET_TOKEN = "a-token" } })
  assert.equal(0, result.status, result.err)
  return #result.json.time_series, asked
end

describe("fleet chart", function()
  local products = '{"response":[{"energy_site_id":7,"site_name":"Home"}],"count":1}'

  local function drawn(...)
    local asked = {}
    local history = service(true, asked)
    return cli.run({ "chart", ... }, { env = { FLEET_TOKEN = "a-token" }, http = function(request)
      if request.url:find("/products", 1, true) then return { status = 200, headers = {}, body = products } end
      return history(request)
    end }), asked
  end

  it("takes the account's only site, or one by its name", function()
    for _, words in ipairs { { "month=2026-01" }, { "home", "month=2026-01" }, { "7", "month=2026-01" } } do
      local result, asked = drawn(unpack(words))
      assert.equal(0, result.status, result.err)
      assert.same({ "month" }, asked)
    end
  end)

  it("names the site or file that is not there", function()
    assert.matches("no energy site is called 'Garage': the account has Home (7)", drawn("Garage").err, 1, true)
    assert.matches("october.json", drawn("october.json").err, 1, true)
  end)
end)

describe("fleet chart of a month", function()
  it("asks for the days where the month came as one sum", function()
    local count, asked = chart(false)
    assert.equal(31, count)
    assert.same({ "month", "day" }, asked)
  end)

  it("takes the days where they came at once", function()
    local count, asked = chart(true)
    assert.equal(31, count)
    assert.same({ "month" }, asked)
  end)
end)
