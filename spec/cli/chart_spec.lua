-- fleet chart: what is asked for, and that a month is drawn day by day.

local cli = require "spec.support.harness.cli"

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
