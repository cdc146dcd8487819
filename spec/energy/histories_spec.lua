-- Energy histories by local dates over HTTP: which requests leave, and how their answers are joined. Which
-- ranges there are is the subject of history_spec.

local fleet = require "fleet"
local recorder = require "spec.support.servers.recorder"

local server, client, site

setup(function() server = recorder.start() end)
before_each(function()
  client = fleet.new { base_url = server.url, token = "t0ken" }
  site = client:energy_site("7")
end)
after_each(function() client:close() end)
teardown(function() server:stop() end)

local function decoded(text)
  return (string.gsub(text, "%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end))
end

-- The ranges asked for, as "start end".
local function asked()
  local list = {}
  for _, request in ipairs(server:records()) do
    local query = decoded(request.query)
    local first, last = string.match(query, "start_date=([^&]+)"), string.match(query, "end_date=([^&]+)")
    list[#list + 1] = first and first .. " " .. last or string.match(request.path, "[^/]+$")
  end
  return list
end

local function series(...)
  local items = {}
  for i, day in ipairs { ... } do
    items[i] = string.format('{"timestamp":"%s","solar_energy_exported":%d}', day, i)
  end
  return { on = "GET /api/1/energy_sites/7/calendar_history",
    body = '{"response":{"period":"day","time_series":[' .. table.concat(items, ",") .. "]}}" }
end

local berlin = "Europe/Berlin"

describe("a history", function()
  local paths = { charge_history = "telemetry_history" }

  local function answered(name, body, params)
    server:script { { on = "GET /api/1/energy_sites/7/" .. (paths[name] or "calendar_history"), body = body } }
    return site[name](site, params or { start_date = "2026-03-28T00:00:00+01:00", end_date = "2026-03-29T00:00:00+01:00" })
  end

  it("of energy has a list, whatever was left out of the reply", function()
    for _, body in ipairs { '{"response":{"serial_number":"","period":"day"}}', '{"response":null}', '{"response":{}}',
      '{"response":{"time_series":null}}', '{"response":{"time_series":[]}}', '{"response":{"time_series":[null]}}' } do
      for _, params in ipairs { false, { day = "2026-03-28", time_zone = berlin } } do
        assert.same({}, assert(answered("energy_history", body, params or nil)).time_series, body)
      end
    end
    local value, _, kind = answered("energy_history", '{"response":{"time_series":"x"}}')
    assert.same({ nil, "protocol" }, { value, kind })
  end)

  for _, name in ipairs { "energy_history", "backup_history", "charge_history" } do
    it("takes a day in place of a range: " .. name, function()
      assert(answered(name, '{"response":{}}', { day = "2026-03-29", time_zone = berlin }))
      assert.same({ "2026-03-29T00:00:00+01:00 2026-03-29T23:59:59+02:00" }, asked())
      assert.has_error(function() site[name](site, { day = "2026-03-29", start_date = "2026-03-29" }) end)
      assert.has_error(function() site[name](site, { day = "2026-02-30" }) end)
    end)
  end

  it("names the ends of its range where another history's names are given", function()
    assert.error_matches(function() site:energy_history { startTime = "2026-03-28" } end, "here it is 'start_date'")
    assert.error_matches(function() site:charge_history { date_to = "2026-03-28" } end, "here it is 'end_date'")
    assert.error_matches(function() client.charging:history { start_date = 0 } end, "here it is 'startTime'")
    assert.error_matches(function() client.charging:sessions { endTime = 0 } end, "here it is 'date_to'")
    assert.error_matches(function() site:live_status { startTime = 0 } end, "startTime")
  end)

  it("that the service no longer offers is not supported", function()
    server:script { { status = 410, body = '{"error":"No longer supported: use another address","error_description":""}', times = 0 } }
    local _, err, kind = site:energy_history { day = "2026-03-28", time_zone = berlin }
    assert.equal("unsupported", kind)
    assert.matches("no longer", tostring(err))
  end)

  it("says whose zone it is that cannot be read", function()
    server:script { { on = "GET /api/1/energy_sites/7/site_info",
      body = '{"response":{"installation_time_zone":"Mars/Base"}}', times = 0 } }
    local _, err, kind = site:energy_history { day = "2026-03-28" }
    assert.equal("invalid", kind)
    assert.matches("the site's installation_time_zone: there is no time zone 'Mars/Base'", tostring(err), 1, true)
  end)
end)

describe("a history by local dates", function()
  it("asks for whole days, also those of 23 and 25 hours", function()
    for day, range in pairs {
      ["2026-03-28"] = "2026-03-28T00:00:00+01:00 2026-03-28T23:59:59+01:00",
      ["2026-03-29"] = "2026-03-29T00:00:00+01:00 2026-03-29T23:59:59+02:00",
      ["2026-10-25"] = "2026-10-25T00:00:00+02:00 2026-10-25T23:59:59+01:00",
    } do
      server:script { series(day) }
      assert(site:energy_history { day = day, period = "day", time_zone = berlin })
      assert.are.same({ range }, asked())
    end
  end)

  it("is split into requests that suit the period, and joined in their order", function()
    server:script { series("a", "b"), series("b", "c"), series("d") }
    local found = assert(site:energy_history { start_date = "2026-03-28", end_date = "2026-03-31",
      period = "day", time_zone = berlin })
    assert.are.same({ "2026-03-28T00:00:00+01:00 2026-03-28T23:59:59+01:00",
      "2026-03-29T00:00:00+01:00 2026-03-29T23:59:59+02:00",
      "2026-03-30T00:00:00+02:00 2026-03-30T23:59:59+02:00" }, asked())
    local days = {}
    for i, item in ipairs(found.time_series) do days[i] = item.timestamp end
    assert.are.same({ "a", "b", "c", "d" }, days)
    assert.are.equal("day", found.period)
  end)

  it("takes the site's own zone when the caller names none, and asks for it once", function()
    local info = { on = "GET /api/1/energy_sites/7/site_info",
      body = '{"response":{"installation_time_zone":"America/New_York"}}' }
    server:script { info, series("a"), series("b") }
    assert(site:energy_history { day = "2026-01-15", period = "day" })
    assert(client:energy_site("7"):energy_history { day = "2026-07-15", period = "day" })
    assert.are.same({ "site_info", "2026-01-15T00:00:00-05:00 2026-01-15T23:59:59-05:00",
      "2026-07-15T00:00:00-04:00 2026-07-15T23:59:59-04:00" }, asked())
    assert.is_truthy(string.find(decoded(server:records()[2].query), "time_zone=America/New_York", 1, true))
  end)

  it("says that a zone is needed when the site names none, or an unknown one", function()
    for body, asks in pairs { ['{"response":{"installation_time_zone":""}}'] = 1, ['{"response":{}}'] = 1,
      ['{"response":{"installation_time_zone":"Mars/Olympus"}}'] = 1 } do
      client:close()
      client = fleet.new { base_url = server.url, token = "t0ken" }
      server:script { { body = body, times = 0 } }
      local found, err, kind = client:energy_site("7"):energy_history { day = "2026-01-15" }
      assert.are.same({ nil, "invalid" }, { found, kind }, tostring(err))
      assert.are.equal(asks, #server:records())
    end
  end)

  it("ends with the first request that fails", function()
    server:script { series("a"), { status = 403, body = '{"error":"forbidden"}', times = 0 } }
    local found, err, kind = site:energy_history { start_date = "2026-01-01", end_date = "2026-01-05",
      period = "day", time_zone = berlin }
    assert.are.same({ nil, "forbidden" }, { found, kind })
    assert.are.equal("7", err.site)
    assert.are.equal(2, #server:records())
  end)

  it("of nothing is empty, not a failure", function()
    server:script { { body = '{"response":null}', times = 0 } }
    assert.are.same({ time_series = {} }, (site:energy_history { start_date = "2026-01-01", end_date = "2026-01-03",
      period = "day", time_zone = berlin }))
    assert.are.same({}, (site:backup_history { start_date = "2026-01-01", end_date = "2026-03-01",
      time_zone = berlin }))
  end)

  it("keeps within the time of the whole call", function()
    local slow = series("a")
    slow.delay, slow.times = 0.05, 0
    server:script { slow }
    local found, err, kind = site:energy_history({ start_date = "2026-01-01", end_date = "2026-12-31",
      period = "day", time_zone = berlin },
      { timeout = 0.2 })
    assert.are.same({ nil, "timeout" }, { found, kind }, tostring(err))
    assert.is_true(#server:records() <= 5)
  end)

  it("gives bytes only of what is one request", function()
    local one = series("a")
    server:script { one }
    assert.are.equal(one.body, (site:energy_history({ day = "2026-01-01", period = "day",
      time_zone = berlin }, { raw = true })))
    server:script {}
    assert.has_error(function()
      site:energy_history({ start_date = "2026-01-01", end_date = "2026-01-03", period = "day",
        time_zone = berlin }, { raw = true })
    end)
    assert.are.equal(0, #server:records())
  end)

  it("leaves times with an offset as they were given", function()
    server:script { series("a") }
    assert(site:energy_history { start_date = "2026-03-01T00:00:00+01:00",
      end_date = "2026-04-01T00:00:00+02:00", period = "day" })
    assert.are.same({ "2026-03-01T00:00:00+01:00 2026-04-01T00:00:00+02:00" }, asked())
  end)

  it("has the caller's mistakes raised before anything is asked", function()
    server:script {}
    for _, wrong in ipairs { { day = "2026-02-30" }, { day = "tomorrow" },
      { day = "2026-01-01", period = "hour" },
      { day = "2026-01-01", zone = berlin },
        { start_date = "2026-01-02", end_date = "2026-01-01", time_zone = berlin } } do
      assert.has_error(function() site:energy_history(wrong) end)
    end
    assert.are.equal(0, #server:records())
  end)
end)
