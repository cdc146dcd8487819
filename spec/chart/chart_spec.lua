-- Energy flow of a day or a month; what did not arrive stays visible as missing.

local core = require "fleet.core"
local chart = require "fleet.chart"
local flow = require "fleet.energy.series"

-- Steps of so many minutes from a local midnight; values(i) gives the item's members or nil for no item.
local function history(from, count, minutes, values)
  local first, series = core.time(from), {}
  for i = 1, count do
    local item = values(i)
    if item then
      item.timestamp = core.time_text(first + (i - 1) * minutes * 60, 3600)
      series[#series + 1] = item
    end
  end
  return { period = "day", time_series = series }
end

local function sunny(i)
  return { solar_energy_exported = i * 10, grid_energy_imported = 100, consumer_energy_imported_from_grid = 100,
    consumer_energy_imported_from_solar = i * 10, grid_energy_exported_from_solar = 0 }
end

local function row(read, name)
  for _, one in ipairs(read.rows) do
    if one.name == name then return one end
  end
end

describe("a history as rows", function()
  it("sums the parts of a quantity", function()
    local home = row(assert(flow.read(history("2026-02-03T00:00:00+01:00", 24, 60, sunny))), "home")
    assert.equal(110, home[1])
    assert.equal(24 * 100 + 10 * 24 * 25 / 2, home.total)
    assert.equal(0, home.missing)
  end)

  it("leaves out what the site does not have", function()
    local read = assert(flow.read(history("2026-02-03T00:00:00+01:00", 24, 60, sunny)))
    assert.is_nil(row(read, "battery out"))
    assert.is_nil(row(read, "generator"))
    assert.equal(0, row(read, "grid out").total)
  end)

  it("keeps a missing value missing, and a missing step too", function()
    local read = assert(flow.read(history("2026-02-03T00:00:00+01:00", 24, 60, function(i)
      local item = sunny(i)
      if i == 5 then item.solar_energy_exported = nil end
      return not (i == 10 or i == 11) and item or nil
    end)))
    assert.equal(24, #read.steps)
    local solar = row(read, "solar")
    assert.same({ false, false, false, 120 }, { solar[5], solar[10], solar[11], solar[12] })
    assert.equal(3, solar.missing)
    assert.equal(2, row(read, "home").missing)
    assert.equal(10 * (24 * 25 / 2 - 5 - 10 - 11), solar.total)
  end)

  it("leaves out entries without a time and says how many, on the day on which an hour comes twice", function()
    local function given()
      return { period = "day", time_series = {
        { timestamp = "2025-10-26T02:00:00+02:00", solar_energy_exported = 1000, grid_energy_imported = 10 },
        { timestamp = "2025-10-26T02:00:00+01:00", solar_energy_exported = 2000, grid_energy_imported = 20 },
        { solar_energy_exported = 3, grid_energy_imported = 30 }, { timestamp = "", solar_energy_exported = 4 }, { timestamp = 5 },
        { timestamp = {} }, core.null, "x", { timestamp = "2025-10-26T03:00:00+01:00", solar_energy_exported = 5000 },
      } }
    end
    local read = assert(flow.read(given()))
    assert.same({ 3, 6 }, { #read.steps, read.untimed })
    assert.same({ 1000, 2000, 5000 }, { row(read, "solar")[1], row(read, "solar")[2], row(read, "solar")[3] })
    assert.same({ 30, 1 }, { row(read, "grid in").total, row(read, "grid in").missing })
    assert.matches("2025%-10%-26 %(6 entries without a time left out%): a full bar is 5.00 kWh in an hour", assert(chart.text(given())))
    assert.matches("6 entries without a time left out", assert(chart.svg(given())))
    local none, err = chart.text { time_series = { { solar_energy_exported = 1 } } }
    assert.is_nil(none)
    assert.matches("no entry of the history has a time", tostring(err))
    assert.is_nil((chart.text { time_series = "x" }))
  end)

  it("names the length of a step with its article", function()
    local function words(count, minutes)
      return string.match(assert(chart.text(history("2026-02-03T00:00:00+01:00", count, minutes, sunny))), "kWh in ([^,]*),")
    end
    assert.same({ "a day", "an hour", "15 min", "2 days", "a month" },
      { words(3, 1440), words(24, 60), words(40, 15), words(3, 2880), words(3, 31 * 1440) })
  end)

  it("gives no sum in which a value is missing", function()
    local read = assert(flow.read(history("2026-02-03T00:00:00+01:00", 24, 60, function(i) return i ~= 2 and sunny(i) or nil end)))
    local joined = flow.joined(read, 3)
    assert.same({ false, 150 }, { row(joined, "solar")[1], row(joined, "solar")[2] })
    assert.equal(8, #joined.steps)
    assert.equal(3 * 3600, joined.seconds)
  end)

  it("counts days of 23 and 25 hours as days", function()
    local series = {}
    for _, one in ipairs { "03-27+01", "03-28+01", "03-29+01", "03-30+02", "04-01+02" } do
      local date, offset = string.match(one, "^(.*)(%+%d%d)$")
      series[#series + 1] = { timestamp = "2026-" .. date .. "T00:00:00" .. offset .. ":00", solar_energy_exported = 1000 }
    end
    local solar = row(assert(flow.read { time_series = series }), "solar")
    assert.same({ 1000, 1000, 1000, 1000, false, 1000 }, { solar[1], solar[2], solar[3], solar[4], solar[5], solar[6] })
    assert.equal(1, solar.missing)
  end)

  it("counts the quarter hours of a day of 25 hours", function()
    local read = assert(flow.read(history("2026-10-25T00:00:00+02:00", 100, 15, sunny)))
    assert.equal(100, #read.steps)
    assert.equal(0, row(read, "solar").missing)
  end)

  it("puts items in the order of time", function()
    local h = history("2026-02-03T00:00:00+01:00", 3, 60, sunny)
    h.time_series[1], h.time_series[3] = h.time_series[3], h.time_series[1]
    assert.equal(10, row(assert(flow.read(h)), "solar")[1])
  end)
end)

describe("a chart", function()
  local day = history("2026-02-03T00:00:00+01:00", 96, 15, function(i) return i ~= 40 and sunny(i) or nil end)

  it("as text has a line per quantity, its sum and what is missing", function()
    local text = assert(chart.text(day))
    assert.matches("^2026%-02%-03: a full bar is %d+%.%d+ kWh in 30 min", text)
    assert.matches("solar .*·.* 46.2 kWh, 1 missing\n", text)
    assert.matches("\n            00    03    06    09    12    15    18    21\n", text)
    assert.is_nil(string.find(assert(chart.text(day, { ascii = true })), "[\128-\255]"))
  end)

  it("as text distinguishes nothing, little and missing", function()
    local text = assert(chart.text({ time_series = {
      { timestamp = "2026-02-03T00:00:00Z", solar_energy_exported = 0 },
      { timestamp = "2026-02-03T01:00:00Z", solar_energy_exported = 1 },
      { timestamp = "2026-02-03T02:00:00Z", grid_energy_imported = 0 },
      { timestamp = "2026-02-03T03:00:00Z", solar_energy_exported = 1000 },
    } }, { ascii = true }))
    local bars = string.gsub(" .?#", ".", function(c) return string.rep(c, 12) end)
    assert.matches("solar       " .. bars .. "  1.0 kWh, 1 missing", text, 1, true)
  end)

  it("as a picture shades the steps of which not all arrived", function()
    local svg = assert(chart.svg(day))
    assert.equal(1, select(2, string.gsub(svg, 'class="gap"', "")))
    assert.matches("solar 46.2 (1 missing)", svg, 1, true)
    assert.matches("prefers-color-scheme: dark", svg, 1, true)
    local whole = assert(chart.svg(history("2026-02-03T00:00:00+01:00", 96, 15, sunny)))
    assert.is_nil(string.find(whole, 'class="gap"', 1, true))
  end)

  it("of nothing is refused, not drawn", function()
    for _, h in ipairs { {}, { time_series = {} }, { time_series = { { timestamp = "2026-02-03T00:00:00Z" } } },
      { time_series = { { timestamp = "yesterday", solar_energy_exported = 1 } } } } do
      for _, draw in ipairs { chart.text, chart.svg } do
        local text, err, kind = draw(h)
        assert.is_nil(text)
        assert.equal("invalid", kind)
        assert.equal("invalid", err.kind)
      end
    end
    assert.has_error(function() chart.text("history") end)
    assert.has_error(function() chart.svg(day, { width = 1 }) end)
  end)
end)
