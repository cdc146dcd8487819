local core = require "fleet.core"
local history = require "fleet.energy.date_ranges"

local berlin = assert(core.zone("Europe/Berlin"))

local function ranges(params, zone)
  local out = {}
  for _, range in ipairs(history.ranges(params, zone or berlin)) do out[#out + 1] = range.start_date .. " " .. range.end_date end
  return out
end

local function seconds(range)
  return core.time(range.end_date) + 1 - core.time(range.start_date)
end

describe("history.ranges", function()
  local days = {
    { "Europe/Berlin", "2026-03-29", "2026-03-29T00:00:00+01:00", "2026-03-29T23:59:59+02:00", 23 },
    { "Europe/Berlin", "2026-10-25", "2026-10-25T00:00:00+02:00", "2026-10-25T23:59:59+01:00", 25 },
    { "Europe/Berlin", "2026-07-01", "2026-07-01T00:00:00+02:00", "2026-07-01T23:59:59+02:00", 24 },
    { "Australia/Lord_Howe", "2024-10-06", "2024-10-06T00:00:00+10:30", "2024-10-06T23:59:59+11:00", 23.5 },
    { "America/Sao_Paulo", "2018-11-04", "2018-11-04T01:00:00-02:00", "2018-11-04T23:59:59-02:00", 23 },
    { "America/New_York", "2026-12-31", "2026-12-31T00:00:00-05:00", "2026-12-31T23:59:59-05:00", 24 },
  }
  for _, case in ipairs(days) do
    it(("asks for the %g hours of %s in %s"):format(case[5], case[2], case[1]), function()
      local found = history.ranges({ day = case[2] }, assert(core.zone(case[1])))
      assert.same({ { start_date = case[3], end_date = case[4] } }, found)
      assert.equal(case[5] * 3600, seconds(found[1]))
    end)
  end

  it("makes one request per day of a range with period day, each with its own offsets", function()
    assert.same({
      "2026-03-28T00:00:00+01:00 2026-03-28T23:59:59+01:00",
      "2026-03-29T00:00:00+01:00 2026-03-29T23:59:59+02:00",
      "2026-03-30T00:00:00+02:00 2026-03-30T23:59:59+02:00",
    }, ranges { start_date = "2026-03-28", end_date = "2026-03-31", period = "day" })
  end)

  it("cuts at the ends of months and years where the period is one", function()
    assert.same({
      "2025-12-15T00:00:00+01:00 2025-12-31T23:59:59+01:00", "2026-01-01T00:00:00+01:00 2026-01-31T23:59:59+01:00",
      "2026-02-01T00:00:00+01:00 2026-02-09T23:59:59+01:00",
    }, ranges { start_date = "2025-12-15", end_date = "2026-02-10", period = "month" })
    assert.same({ "2024-07-01T00:00:00+02:00 2024-12-31T23:59:59+01:00", "2025-01-01T00:00:00+01:00 2025-06-30T23:59:59+02:00" },
      ranges { start_date = "2024-07-01", end_date = "2025-07-01", period = "year" })
    assert.equal(1, #ranges { start_date = "2015-01-01", end_date = "2026-01-01", period = "lifetime" })
    assert.equal(2, #ranges { start_date = "2026-01-01", end_date = "2026-01-15", period = "week" })
  end)

  it("covers every second of a long range once", function()
    for _, split in ipairs { 1, 7, 31, 366 } do
      local at = core.time("2024-12-31T23:00:00Z")
      for _, range in ipairs(history.ranges({ start_date = "2025-01-01", end_date = "2027-01-01", split = split }, berlin)) do
        assert.equal(at, core.time(range.start_date))
        at = core.time(range.end_date) + 1
      end
      assert.equal(core.time("2026-12-31T23:00:00Z"), at)
    end
  end)

  it("asks for at most 31 days at once without a period", function()
    assert.equal(12, #ranges { start_date = "2026-01-01", end_date = "2027-01-01" })
  end)

  it("asks nothing about a day that the zone skipped", function()
    assert.same({}, ranges({ day = "2011-12-30" }, assert(core.zone("Pacific/Apia"))))
  end)

  it("sends explicit times as they were given", function()
    local given = { start_date = "2026-03-29T00:00:00Z", end_date = "2026-04-29T12:34:56.7+05:30", period = "day" }
    assert.same({ { start_date = given.start_date, end_date = given.end_date } }, history.ranges(given))
    assert.is_false(history.local_dates(given))
    assert.same({ {} }, history.ranges({ period = "lifetime" }))
  end)

  it("takes a date beside a time or alone as one request", function()
    assert.same({ { start_date = "2026-03-29T00:00:00+01:00" } }, history.ranges({ start_date = "2026-03-29" }, berlin))
    assert.same({ { start_date = "2026-03-29T00:00:00Z", end_date = "2026-03-29T23:59:59+02:00" } },
      history.ranges({ start_date = "2026-03-29T00:00:00Z", end_date = "2026-03-30" }, berlin))
  end)

  local refused = {
    { { day = "2026-02-29" }, "bad argument 'day'" },
    { { day = "yesterday" }, "bad argument 'day'" },
    { { day = "2026-03-29", start_date = "2026-03-29" }, "takes the place of" },
    { { start_date = "2026-03-29", end_date = "2026-03-29" }, "one day is day = \"2026-03-29\"" },
    { { start_date = "2026-03-30", end_date = "2026-03-29" }, "must be later than start_date" },
    { { start_date = "2026-13-01", end_date = "2026-03-29" }, "bad argument 'start_date'" },
    { { start_date = "2026-03-01", end_date = "2026-04-31" }, "bad argument 'end_date'" },
    { { end_date = "2026-04-31" }, "bad argument 'end_date'" },
  }
  for _, case in ipairs(refused) do
    it("raises: " .. case[2] .. " for " .. tostring(case[1].day or case[1].end_date), function()
      local ok, text = pcall(history.ranges, case[1], berlin)
      assert.is_false(ok)
      assert.matches(case[2], text, 1, true)
    end)
  end
end)

describe("history.join", function()
  local function at(...)
    local list = {}
    for i, stamp in ipairs { ... } do list[i] = { timestamp = stamp } end
    return list
  end

  it("puts the series of several replies in one, each entry once", function()
    local joined = history.join { { period = "day", time_series = at("a", "b") }, { period = "day", time_series = at("b", "c") } }
    assert.same({ period = "day", time_series = at("a", "b", "c") }, joined)
  end)

  it("counts joined events", function()
    assert.same({ events = at("a", "b"), total_events = 2 },
      history.join { { events = at("a"), total_events = 1 }, { events = at("b"), total_events = 1 } })
  end)

  it("keeps two equal charges of one reply and drops one that the next reply repeats", function()
    local charge = { charge_start_time = { seconds = 1 }, charge_duration = { seconds = 2 }, energy_added_wh = 3 }
    local joined = history.join { { charge_history = { charge, charge } }, { charge_history = { charge } } }
    assert.equal(2, #joined.charge_history)
  end)

  it("takes a missing or null reply as nothing", function()
    assert.same({ time_series = at("a") }, history.join({ nil, { time_series = at("a") }, core.null or false }, 3))
    assert.same({}, history.join({}, 0))
  end)

  it("keeps an empty list, and members it does not know", function()
    assert.same({ time_series = {}, serial_number = "x" }, history.join { { time_series = {}, serial_number = "x" }, {} })
  end)
end)
