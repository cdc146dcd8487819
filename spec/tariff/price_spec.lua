-- What a moment costs, what a window costs, and its cheapest hours.

local core = require "fleet.core"
local tariff = require "fleet.tariff"
local samples = require "spec.support.fixtures.tariff_samples"

local function object(name, zone)
  return assert(tariff.new(samples.read(name), { time_zone = zone }))
end

local function at(year, month, day, hour, min)
  return { year = year, month = month, day = day, hour = hour, min = min }
end

describe("the price of a moment", function()
  local cases = {
    { "01-flat-all.json", at(2026, 7, 4, 12), 0.2185, "AllYear", "ALL" },
    { "02-two-season-tou.json", at(2026, 7, 1, 15, 59), 0.401, "Summer", "PARTIAL_PEAK" },
    { "02-two-season-tou.json", at(2026, 7, 1, 16), 0.512, "Summer", "ON_PEAK" },
    { "02-two-season-tou.json", at(2026, 7, 1, 20, 59), 0.512, "Summer", "ON_PEAK" },
    { "02-two-season-tou.json", at(2026, 7, 1, 21), 0.401, "Summer", "PARTIAL_PEAK" },
    { "02-two-season-tou.json", at(2026, 7, 2), 0.268, "Summer", "OFF_PEAK" },
    { "02-two-season-tou.json", at(2026, 9, 30, 23, 59), 0.401, "Summer", "PARTIAL_PEAK" },
    { "02-two-season-tou.json", at(2026, 10, 1), 0.259, "Winter", "OFF_PEAK" },
    { "02-two-season-tou.json", at(2026, 12, 31, 23, 59), 0.259, "Winter", "OFF_PEAK" },
    { "02-two-season-tou.json", at(2027, 5, 31, 17), 0.387, "Winter", "ON_PEAK" },
    { "03-four-season-weekday-weekend.json", at(2028, 2, 29, 17), 0.41, "Winter", "ON_PEAK" },
    { "03-four-season-weekday-weekend.json", at(2027, 2, 28, 17), 0.21, "Winter", "OFF_PEAK" }, -- a Sunday
    { "03-four-season-weekday-weekend.json", at(2027, 3, 1, 6, 59), 0.115, "Spring", "SUPER_OFF_PEAK" },
    { "05-demand-charges.json", at(2026, 11, 21, 15), 0.083, "AllYear", "OFF_PEAK" }, -- a Saturday
    { "06-as-read-back-zero-fields-omitted.json", at(2026, 1, 1, 0, 29), 0.11, "Summer", "PERIOD_00_00" },
    { "06-as-read-back-zero-fields-omitted.json", at(2026, 1, 1, 23, 59), 0.26, "Summer", "PERIOD_20_00" },
  }
  for _, case in ipairs(cases) do
    it(string.format("%s %d-%d-%d %d:%d", case[1], case[2].year, case[2].month, case[2].day, case[2].hour or 0, case[2].min or 0),
      function()
        assert.same({ buy = { price = case[3], season = case[4], label = case[5] } }, object(case[1]):price(case[2]))
      end)
  end

  it("has both sides where there is a selling side", function()
    assert.same({
      buy = { price = 0.512, season = "Summer", label = "ON_PEAK" }, sell = { price = 0.44, season = "Summer", label = "ON_PEAK" },
    }, object("04-solar-export-sell-tariff.json"):price(at(2026, 8, 1, 17)))
  end)

  it("is the price as sent, the negative too", function()
    assert.equal(-0.031, object("invalid/negative-price.json"):price(at(2026, 11, 20, 3)).buy.price)
  end)

  it("of 29 February is that of the 28th's season when no season names the day", function()
    local t = samples.read("02-two-season-tou.json")
    t.seasons.Winter.toMonth, t.seasons.Winter.toDay = 2, 28
    t.seasons.Summer.fromMonth, t.seasons.Summer.fromDay = 3, 1
    assert.equal("Winter", assert(tariff.new(t)):price(at(2028, 2, 29)).buy.season)
    assert.equal("Summer", assert(tariff.new(t)):price(at(2027, 3, 1)).buy.season)
  end)

  it("takes UTC seconds by the zone of the site", function()
    local t = object("02-two-season-tou.json", "America/Los_Angeles")
    assert.equal("ON_PEAK", t:price(core.time("2026-07-01T23:00:00Z")).buy.label)
    assert.equal("PARTIAL_PEAK", t:price(core.time("2026-07-01T22:59:59Z")).buy.label)
    assert.equal("America/Los_Angeles", t:time_zone())
  end)

  it("refuses what is no time", function()
    local t = object("02-two-season-tou.json")
    local mistakes = {
      at(2026, 2, 29), at(2026, 13, 1), at(2026, 1, 1, 25), at(2026, 1, 1, 0, 60), { year = 2026 }, "now", 1780000000, true,
    }
    for i = 1, #mistakes do assert.has_error(function() t:price(mistakes[i]) end) end
    assert.has_error(function() t.price({}, at(2026, 1, 1)) end)
    local ok, err, kind = tariff.new(samples.two_seasons(), { time_zone = "Europe/Nowhere" })
    assert.is_nil(ok)
    assert.is_truthy(err)
    assert.is_string(kind)
    assert.has_error(function() tariff.new(samples.two_seasons(), { timezone = "Europe/Berlin" }) end)
  end)
end)

describe("segments", function()
  it("follow each other with one price each", function()
    local t = object("02-two-season-tou.json")
    local found = t:segments(at(2026, 9, 30, 12), at(2026, 10, 1, 17))
    local text = {}
    for i, s in ipairs(found) do
      text[i] = string.format("%02d-%02d %02d:%02d %s %s", s.from.month, s.from.day, s.from.hour, s.from.min, s.buy.season, s.buy.label)
    end
    assert.same({
      "09-30 12:00 Summer OFF_PEAK", "09-30 15:00 Summer PARTIAL_PEAK", "09-30 16:00 Summer ON_PEAK",
      "09-30 21:00 Summer PARTIAL_PEAK", "10-01 00:00 Winter OFF_PEAK", "10-01 16:00 Winter ON_PEAK",
    }, text)
    assert.same(at(2026, 10, 1, 17, 0), found[#found].to)
  end)

  it("of one price over midnight are one", function()
    assert.equal(1, #object("01-flat-all.json"):segments(at(2026, 1, 1), at(2027, 1, 1)))
  end)

  it("of a whole day end with it, though it has 23 hours or 25", function()
    local t = assert(tariff.from_rows { currency = "EUR", time_zone = "Europe/Berlin", rows = {
      { days = "sun", price = 0.1 }, { days = "mon-sat", price = 0.2 },
    } })
    local sundays = { { "2026-03-29T00:00:00+01:00", 23 }, { "2026-10-25T00:00:00+02:00", 25 }, { "2026-11-22T00:00:00+01:00", 24 } }
    for _, day in ipairs(sundays) do
      local from = core.time(day[1])
      local found = t:segments(from, from + 30 * 3600)
      assert.same({ 2, from, from + day[2] * 3600, 0.1, 0.2 },
        { #found, found[1].from, found[1].to, found[1].buy.price, found[2].buy.price }, day[1])
    end
  end)

  it("begin and end where asked, to the second", function()
    local t = object("02-two-season-tou.json", "Europe/Berlin")
    local from = core.time("2026-07-01T13:59:30Z") -- 15:59:30
    local found = t:segments(from, from + 60)
    assert.same({ { from, from + 30, "PARTIAL_PEAK" }, { from + 30, from + 60, "ON_PEAK" } }, {
      { found[1].from, found[1].to, found[1].buy.label }, { found[2].from, found[2].to, found[2].buy.label },
    })
  end)

  it("refuse a window that ends before it begins, mixes kinds or never ends", function()
    local t = object("02-two-season-tou.json", "Europe/Berlin")
    assert.has_error(function() t:segments(2, 2) end)
    assert.has_error(function() t:segments(2, 1) end)
    assert.has_error(function() t:segments(0, at(2026, 1, 1)) end)
    assert.has_error(function() t:segments(at(2026, 1, 1), 1e9) end)
    assert.has_error(function() t:segments(0, 1e12) end)
    assert.has_error(function() t:segments(0 / 0, 1e9) end)
    assert.has_error(function() t:segments(1e12, 1e12 + 60) end)
  end)
end)

-- A tariff whose price is the hour on the wall: a wrong hour shows at once.
local function hourly(zone)
  local prices = {}
  for hour = 0, 23 do prices[hour + 1] = (hour + 1) / 100 end
  return assert(tariff.from_rows { currency = "EUR", prices = prices, time_zone = zone })
end

describe("on the days when clocks change", function()
  local changes = {
    { "Europe/Berlin", "2026-03-29", 23, 2, 0 }, { "Europe/Berlin", "2026-10-25", 25, 2, 2 },
    { "America/New_York", "2026-03-08", 23, 2, 0 }, { "America/New_York", "2026-11-01", 25, 1, 2 },
    { "Australia/Lord_Howe", "2026-10-04", 23.5, 2, 0.5 }, { "Australia/Lord_Howe", "2026-04-05", 24.5, 1, 1.5 },
    { "Asia/Tokyo", "2026-03-29", 24, 2, 1 },
  }
  for _, case in ipairs(changes) do
    local zone_name, date, hours, hour, lasts = case[1], case[2], case[3], case[4], case[5]
    it(string.format("%s %s has %s hours, and hour %d lasts %s", zone_name, date, hours, hour, lasts), function()
      local t, zone = hourly(zone_name), core.zone(zone_name)
      local from, to = zone:day(date)
      local total, of_hour = 0, 0
      for _, s in ipairs(t:segments(from, to)) do
        for utc = s.from, s.to - 60, 60 do
          assert.equal(zone:localtime(utc).hour + 1, math.floor(s.buy.price * 100 + 0.5))
          assert.equal(s.buy.price, t:price(utc).buy.price)
          if zone:localtime(utc).hour == hour then of_hour = of_hour + 60 end
          total = total + 60
        end
      end
      assert.equal(hours * 3600, total)
      assert.equal(lasts * 3600, of_hour)
    end)
  end
end)

describe("the cheapest hours", function()
  local t = object("03-four-season-weekday-weekend.json", "Europe/Berlin")
  local from, to = core.time("2026-11-20T18:00:00+01:00"), core.time("2026-11-21T08:00:00+01:00") -- Friday evening

  local function texts(parts)
    local out = {}
    for i, p in ipairs(parts) do
      out[i] = core.time_text(p.from, 3600):sub(12, 16) .. "-" .. core.time_text(p.to, 3600):sub(12, 16) .. " " .. p.price
    end
    return out
  end

  it("are the least expensive ones, in the order of time", function()
    local found = t:cheapest { hours = 10, from = from, to = to }
    assert.same({ "21:00-23:00 0.21", "00:00-08:00 0.115" }, texts(found))
    assert.equal(10, found.hours)
    assert.is_true(math.abs(found.mean - (2 * 0.21 + 8 * 0.115) / 10) < 1e-12)
  end)

  it("of equal price are the earliest", function()
    assert.same({ "00:00-02:00 0.115" }, texts(t:cheapest { hours = 2, from = from, to = to }))
  end)

  it("of equal price at two times are those of the first", function()
    local prices = {}
    for hour = 0, 23 do prices[hour + 1] = (hour == 9 or hour == 3 or hour == 15) and 0.1 or 0.2 end
    local day = assert(tariff.from_rows { currency = "EUR", prices = prices, time_zone = "Etc/UTC" })
    local midnight = core.time("2026-11-20T00:00:00Z")
    local found = day:cheapest { hours = 2, from = midnight, to = midnight + 86400 }
    local hours = {}
    for i, part in ipairs(found) do hours[i] = { (part.from - midnight) / 3600, (part.to - midnight) / 3600 } end
    assert.same({ { 3, 4 }, { 9, 10 } }, hours)
  end)

  it("may be asked for in one stretch", function()
    local night = t:cheapest { hours = 9, from = from, to = to, contiguous = true }
    assert.same({ "23:00-00:00 0.21", "00:00-08:00 0.115" }, texts(night))
  end)

  it("are fewer than asked in a short window", function()
    assert.equal(14, t:cheapest { hours = 20, from = from, to = to }.hours)
    assert.equal(14, t:cheapest { hours = 20, from = from, to = to, contiguous = true }.hours)
  end)

  it("in one stretch cost no more than any other stretch", function()
    local year = hourly("Europe/Berlin")
    local best = year:cheapest { hours = 5, from = from, to = to, contiguous = true }
    for start = from, to - 5 * 3600, 900 do
      local cost = 0
      for _, s in ipairs(year:segments(start, start + 5 * 3600)) do cost = cost + (s.to - s.from) * s.buy.price end
      assert.is_true(best.mean * 5 * 3600 <= cost + 1e-6)
    end
  end)

  it("refuse a length that is none", function()
    for _, hours in ipairs { 0, -1, 0 / 0, 1 / 0, "2", 0.0001 } do
      assert.has_error(function() t:cheapest { hours = hours, from = from, to = to } end)
    end
    assert.has_error(function() t:cheapest { hour = 2, from = from, to = to } end)
  end)
end)
