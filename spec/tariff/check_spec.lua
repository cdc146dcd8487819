-- What is wrong with a tariff, told completely and in the words of reference/tariffs.

local core = require "fleet.core"
local tariff = require "fleet.tariff"
local samples = require "spec.support.fixtures.tariff_samples"

local function check(change, base)
  local t = base and samples.read(base) or samples.two_seasons()
  change(t)
  return tariff.check(t)
end

local function periods(t, season, label)
  return t.seasons[season].tou_periods[label].periods
end

-- The only entry of the list, or of that kind in it.
local function only(list, kind)
  local found = kind and samples.of_kind(list, kind) or list
  assert.equal(1, #found)
  return found[1]
end

local function problem(change, base)
  return only(check(change, base).problems)
end

local function same_problem(wanted, change, base)
  assert.same(wanted, problem(change, base))
end

describe("the samples", function()
  for name, expected in pairs(samples.expected()) do
    it(name .. " gives what is expected of it", function()
      local report = tariff.check(samples.read(name))
      assert.equal(expected.valid, report.valid)
      assert.same(expected.problems, report.problems)
      assert.same(expected.normalisations, report.normalisations)
    end)
  end

  it("gives the same report whatever the order of the members", function()
    local text = samples.text("invalid/period-gap.json")
    local first = tariff.check(assert(core.json_decode(text)))
    for _ = 1, 20 do
      local shuffled, t = {}, assert(core.json_decode(text))
      for key, value in pairs(t) do shuffled[key] = value end
      assert.same(first, tariff.check(shuffled))
    end
  end)
end)

describe("every problem is reported", function()
  it("in one pass", function()
    local report = check(function(t)
      t.currency = "XAU"
      t.colour = "red"
      t.seasons.Summer.toDay = 29
      t.seasons.Winter.tou_periods.ON_PEAK.periods[1].fromHour = 17
      t.energy_charges.Winter.rates.PARTIAL_PEAK = 0.3
      t.energy_charges.Summer.rates.OFF_PEAK = nil
      t.energy_charges.Summer.rates.ON_PEAK = -1
    end)
    local kinds = {}
    for _, p in ipairs(report.problems) do kinds[p.kind] = (kinds[p.kind] or 0) + 1 end
    assert.same({
      bad_currency = 1, unknown_key = 1, season_gap = 1, period_gap = 7, price_without_period = 1, period_without_price = 1,
    }, kinds)
    assert.equal("negative_price", only(report.normalisations).kind)
  end)

  it("on the selling side as on the buying side", function()
    same_problem({ kind = "price_without_period", side = "sell", charges = "energy_charges", season = "Winter", label = "ON_PEAK" },
      function(t) t.sell_tariff.energy_charges.Winter.rates.ON_PEAK = 0.1 end, "04-solar-export-sell-tariff.json")
    assert.equal(7, #check(function(t)
      t.sell_tariff.seasons.Winter.tou_periods.OFF_PEAK.periods[1].toHour = 23
    end, "04-solar-export-sell-tariff.json").problems)
  end)

  it("for demand charges as for energy charges", function()
    same_problem({ kind = "price_without_period", side = "buy", charges = "demand_charges", season = "AllYear", label = "MID_PEAK" },
      function(t) t.demand_charges.AllYear.rates.MID_PEAK = 2 end, "05-demand-charges.json")
    same_problem({ kind = "period_without_price", side = "buy", charges = "demand_charges", season = "AllYear", label = "OFF_PEAK" },
      function(t) t.demand_charges.AllYear.rates.OFF_PEAK = nil end, "05-demand-charges.json")
    local report = check(function(t) t.demand_charges.AllYear.rates.ON_PEAK = -1 end, "05-demand-charges.json")
    assert.same({ kind = "negative_price", side = "buy", charges = "demand_charges", season = "AllYear", label = "ON_PEAK",
      price = -1, becomes = 0 }, only(report.normalisations))
  end)
end)

describe("seasons", function()
  local function dates(t, season, from_month, from_day, to_month, to_day)
    local s = t.seasons[season]
    s.fromMonth, s.fromDay, s.toMonth, s.toDay = from_month, from_day, to_month, to_day
  end

  it("a gap over new year is one gap", function()
    same_problem({ kind = "season_gap", side = "buy", from = "12-20", to = "01-10" }, function(t)
      dates(t, "Summer", 1, 11, 5, 31)
      dates(t, "Winter", 6, 1, 12, 19)
    end)
  end)

  it("an overlap over new year is one overlap", function()
    same_problem({ kind = "season_overlap", side = "buy", seasons = { "Summer", "Winter" }, from = "12-25", to = "01-05" }, function(t)
      dates(t, "Summer", 12, 25, 5, 31)
      dates(t, "Winter", 6, 1, 1, 5)
    end)
  end)

  it("a day in three seasons names all three", function()
    local p = check(function(t)
      dates(t, "Summer", 1, 1, 12, 31)
      dates(t, "Winter", 7, 4, 7, 4)
      t.seasons.Third = { fromMonth = 7, fromDay = 4, toMonth = 7, toDay = 4, tou_periods = t.seasons.Winter.tou_periods }
      t.energy_charges.Third = t.energy_charges.Winter
    end).problems[1]
    assert.same({ kind = "season_overlap", side = "buy", seasons = { "Summer", "Third", "Winter" }, from = "07-04", to = "07-04" }, p)
  end)

  it("29 February belongs to the season of the 28th when none names it, and a warning says so", function()
    local report = check(function(t)
      dates(t, "Summer", 3, 1, 9, 30)
      dates(t, "Winter", 10, 1, 2, 28)
    end)
    assert.same({}, report.problems)
    assert.same({ kind = "leap_day", side = "buy", season = "Winter" }, only(report.warnings))
  end)

  it("a gap that begins after 28 February begins on 1 March", function()
    local p = check(function(t)
      dates(t, "Summer", 3, 10, 9, 30)
      dates(t, "Winter", 10, 1, 2, 28)
    end).problems[1]
    assert.same({ kind = "season_gap", side = "buy", from = "03-01", to = "03-09" }, p)
  end)

  it("two seasons may not both have 29 February", function()
    same_problem({ kind = "season_overlap", side = "buy", seasons = { "Summer", "Winter" }, from = "02-29", to = "02-29" }, function(t)
      dates(t, "Summer", 2, 29, 9, 30)
      dates(t, "Winter", 10, 1, 2, 29)
    end)
  end)

  it("a tariff needs one", function()
    for _, seasons in ipairs { {}, { Summer = {} }, { Summer = { fromMonth = 0, fromDay = 0, toMonth = 0, toDay = 0 } } } do
      same_problem({ kind = "season_gap", side = "buy", from = "01-01", to = "12-31" }, function(t)
        t.seasons, t.energy_charges, t.demand_charges = seasons, { ALL = { rates = { ALL = 0.2 } } }, {}
      end)
    end
  end)

  it("one called ALL needs no dates", function()
    for _, season in ipairs { {}, { tou_periods = { ALL = { periods = { { toDayOfWeek = 6 } } } } } } do
      assert.same({}, check(function(t)
        t.seasons, t.energy_charges, t.demand_charges = { ALL = season }, { ALL = { rates = { ALL = 0.2 } } }, {}
      end).problems)
    end
  end)

  it("that are not in use are read back empty and need no price", function()
    assert.same({}, check(function(t)
      t.seasons.Spare = { fromMonth = 0, tou_periods = {} }
      t.energy_charges.Spare, t.demand_charges.Spare = {}, {}
      t.sell_tariff = {}
    end).problems)
  end)

  it("that are not in use may not have prices", function()
    same_problem({ kind = "price_without_period", side = "buy", charges = "energy_charges", season = "Spare", label = "ON_PEAK" },
      function(t)
        t.seasons.Spare = {}
        t.energy_charges.Spare = { rates = { ON_PEAK = 1 } }
      end)
  end)

  it("must begin and end on real days", function()
    local report = check(function(t) t.seasons.Winter.fromDay, t.seasons.Winter.fromMonth = 31, 9 end)
    assert.same({ kind = "bad_value", side = "buy", season = "Winter", path = "seasons.Winter.fromDay", value = "09-31",
      expected = "a day of the year, month and day" }, report.problems[1])
    assert.equal("season_gap", report.problems[2].kind)
  end)
end)

describe("periods", function()
  local function whole_winter(list)
    return function(t)
      t.seasons.Winter.tou_periods = { OFF_PEAK = { periods = list } }
      t.energy_charges.Winter.rates = { OFF_PEAK = 0.2 }
    end
  end

  local covering = {
    ["0:00 to 0:00 is a whole day"] = { { toDayOfWeek = 6 } },
    ["24:00 is the end of a day"] = { { toDayOfWeek = 6, toHour = 24 } },
    ["one minute makes a difference nowhere"] = { { toDayOfWeek = 6, toMinute = 1 }, { toDayOfWeek = 6, fromMinute = 1 } },
    ["an end before the start lies in the next day"] =
      { { toDayOfWeek = 6, fromHour = 22, toHour = 6 }, { toDayOfWeek = 6, fromHour = 6, toHour = 22 } },
    ["an end at the start is a day later"] = { { toDayOfWeek = 6, fromHour = 7, toHour = 7 } },
    ["a range of days may wrap over Sunday"] =
      { { fromDayOfWeek = 5, toDayOfWeek = 0 }, { fromDayOfWeek = 1, toDayOfWeek = 4 } },
    ["Sunday night runs into Monday"] =
      { { fromDayOfWeek = 0, toDayOfWeek = 6, fromHour = 21, toHour = 16 }, { toDayOfWeek = 6, fromHour = 16, toHour = 21 } },
    ["a missing toDayOfWeek is Sunday"] = { {} },
  }
  for name, list in pairs(covering) do
    it(name, function() assert.same({}, check(whole_winter(list)).problems) end)
  end

  it("a gap of one minute is reported to the minute", function()
    same_problem({ kind = "period_gap", side = "buy", season = "Winter", span = "Wed 23:59-24:00", minutes = 1 }, whole_winter {
      { toDayOfWeek = 1 }, { fromDayOfWeek = 2, toDayOfWeek = 2, toHour = 23, toMinute = 59 }, { fromDayOfWeek = 3, toDayOfWeek = 6 },
    })
  end)

  it("a gap over midnight is reported day by day", function()
    local report = check(whole_winter {
      { toDayOfWeek = 0, toHour = 22 }, { fromDayOfWeek = 1, toDayOfWeek = 1, fromHour = 2 }, { fromDayOfWeek = 2, toDayOfWeek = 6 },
    })
    assert.equal(2, #report.problems)
    assert.equal("Mon 22:00-24:00", report.problems[1].span)
    assert.equal("Tue 00:00-02:00", report.problems[2].span)
  end)

  it("two of one label may not overlap either", function()
    local p = check(whole_winter { { toDayOfWeek = 6 }, { fromDayOfWeek = 3, toDayOfWeek = 3, fromHour = 4, toHour = 5 } }).problems
    assert.same({ kind = "period_overlap", side = "buy", season = "Winter", labels = { "OFF_PEAK", "OFF_PEAK" },
      span = "Thu 04:00-05:00", minutes = 60 }, only(p))
  end)

  it("cover nothing in a season without any, unless ALL has a price", function()
    assert.equal(7, #check(function(t)
      t.seasons.Winter.tou_periods = {}
      t.energy_charges.Winter.rates = {}
    end).problems)
    assert.same({}, check(function(t)
      t.seasons.Winter.tou_periods = {}
      t.energy_charges.Winter.rates = { ALL = 0.2 }
    end).problems)
  end)

  it("thousands over each other are reported quickly, sixteen names at a time", function()
    local report = check(function(t)
      for i = 1, 3000 do
        t.seasons.Winter.tou_periods["L" .. i] =
          { periods = { { toDayOfWeek = 6, toHour = math.floor(i % 1440 / 60), toMinute = i % 60 } } }
        t.energy_charges.Winter.rates["L" .. i] = 1
      end
    end)
    assert.is_true(#report.problems > 1000)
    for _, p in ipairs(report.problems) do assert.is_true(#p.labels <= 16) end
  end)
end)

describe("prices", function()
  it("under ALL of the season serve the labels that have none", function()
    assert.same({}, check(function(t)
      t.energy_charges.Summer.rates = { ON_PEAK = 0.5, ALL = 0.2 }
    end).problems)
  end)

  it("under ALL of the tariff serve seasons without prices of their own", function()
    assert.same({}, check(function(t)
      t.energy_charges = { ALL = { rates = { ALL = 0.2 } }, Summer = { rates = {} } }
    end).problems)
    assert.same({}, check(function(t)
      t.energy_charges = { ALL = { rates = { ON_PEAK = 0.5, PARTIAL_PEAK = 0.3, OFF_PEAK = 0.2 } } }
    end).problems)
  end)

  it("ALL: 0 beside priced seasons is a filler and serves no season's energy", function()
    local report = check(function(t) t.energy_charges.Winter.rates = {} end)
    assert.equal(2, #samples.of_kind(report.problems, "period_without_price"))
    assert.same({}, check(function(t)
      t.energy_charges.Winter.rates = {}
      t.energy_charges.ALL.rates.ALL = 0.2
    end).problems)
  end)

  it("of a season that does not exist have no period", function()
    same_problem({ kind = "price_without_period", side = "buy", charges = "energy_charges", season = "Sumer", label = "ON_PEAK" },
      function(t) t.energy_charges.Sumer = { rates = { ON_PEAK = 1 } } end)
  end)

  it("under ALL for a label of no season have no period", function()
    same_problem({ kind = "price_without_period", side = "buy", charges = "energy_charges", season = "ALL", label = "MID_PEAK" },
      function(t) t.energy_charges.ALL.rates.MID_PEAK = 1 end)
  end)

  it("a label whose list of periods is empty has none", function()
    same_problem({ kind = "price_without_period", side = "buy", charges = "energy_charges", season = "Winter", label = "PARTIAL_PEAK" },
      function(t)
        t.seasons.Winter.tou_periods.PARTIAL_PEAK = { periods = {} }
        t.energy_charges.Winter.rates.PARTIAL_PEAK = 0.3
      end)
  end)

  it("below nothing count as nothing when they are compared with selling", function()
    local report = check(function(t) t.energy_charges.Summer.rates.OFF_PEAK = -1 end, "invalid/buy-below-sell.json")
    assert.same({ "negative_price", "buy_below_sell" }, { report.normalisations[1].kind, report.normalisations[2].kind })
    assert.equal(0, report.normalisations[2].buy)
    report = check(function(t)
      t.energy_charges.Summer.rates.OFF_PEAK, t.sell_tariff.energy_charges.Summer.rates.OFF_PEAK = -2, -1
    end, "invalid/buy-below-sell.json")
    assert.same({}, samples.of_kind(report.normalisations, "buy_below_sell"))
  end)

  it("equal on both sides are fine", function()
    local report = check(function(t) t.sell_tariff.energy_charges.Summer.rates.OFF_PEAK = 0.268 end, "invalid/buy-below-sell.json")
    assert.same({}, report.normalisations)
  end)
end)

describe("the members", function()
  local bad = {
    { "seasons.Summer.tou_periods.ON_PEAK.periods[1].toHour", 25, "a whole number from 0 to 24", "ON_PEAK",
      function(t, v) periods(t, "Summer", "ON_PEAK")[1].toHour = v end },
    { "seasons.Summer.tou_periods.ON_PEAK.periods[1].fromHour", 24, "a whole number from 0 to 23", "ON_PEAK",
      function(t, v) periods(t, "Summer", "ON_PEAK")[1].fromHour = v end },
    { "seasons.Summer.tou_periods.ON_PEAK.periods[1].fromMinute", 0.5, "a whole number from 0 to 59", "ON_PEAK",
      function(t, v) periods(t, "Summer", "ON_PEAK")[1].fromMinute = v end },
    { "seasons.Summer.tou_periods.ON_PEAK.periods[1].toDayOfWeek", 7, "a whole number from 0 to 6", "ON_PEAK",
      function(t, v) periods(t, "Summer", "ON_PEAK")[1].toDayOfWeek = v end },
    { "seasons.Summer.tou_periods.ON_PEAK.periods[1].fromHour", "16", "a whole number from 0 to 23", "ON_PEAK",
      function(t, v) periods(t, "Summer", "ON_PEAK")[1].fromHour = v end },
    { "seasons.Summer.tou_periods.ON_PEAK.periods[1]", "16-21", "an object", "ON_PEAK",
      function(t, v) periods(t, "Summer", "ON_PEAK")[1] = v end },
    { "seasons.Summer.tou_periods.ON_PEAK.periods[1]", "24:30", "24:00 at the latest", "ON_PEAK", function(t)
      local p = periods(t, "Summer", "ON_PEAK")[1]
      p.toHour, p.toMinute = 24, 30
    end },
    { "seasons.Summer.toMonth", 13, "a whole number from 0 to 12", nil, function(t, v) t.seasons.Summer.toMonth = v end },
    { "energy_charges.Summer.rates.ON_PEAK", "0.5", "a price", "ON_PEAK",
      function(t, v) t.energy_charges.Summer.rates.ON_PEAK = v end },
  }
  for i, case in ipairs(bad) do
    it(string.format("%s refuses %s (%d)", case[1], tostring(case[2]), i), function()
      local report = check(function(t) case[5](t, case[2]) end)
      assert.same({ kind = "bad_value", side = "buy", season = "Summer", label = case[4], path = case[1], value = case[2],
        expected = case[3] }, report.problems[1])
    end)
  end

  it("outside of the seasons are checked as well", function()
    local values = { name = 5, utility = true, version = "1", monthly_charges = "0", daily_demand_charges = "x", seasons = 3,
      energy_charges = "none" }
    for name, value in pairs(values) do
      local first = check(function(t) t[name] = value end).problems[1]
      assert.same({ kind = "bad_value", side = "buy", path = name, value = value }, {
        kind = first.kind, side = first.side, path = first.path, value = first.value })
    end
    same_problem({ kind = "bad_value", side = "buy", path = "daily_charges[1].amount", value = "1", expected = "a number" },
      function(t) t.daily_charges[1].amount = "1" end)
  end)

  it("a price must be a finite number", function()
    for _, value in ipairs { 1 / 0, -1 / 0, 0 / 0 } do
      local p = check(function(t) t.energy_charges.Summer.rates.ON_PEAK = value end).problems[1]
      assert.same({ "bad_value", "string" }, { p.kind, type(p.value) })
    end
  end)

  it("that no tariff has are reported with the nearest known one", function()
    same_problem({ kind = "unknown_key", side = "buy", path = "", key = "sell_tarif", nearest = "sell_tariff" },
      function(t) t.sell_tarif = {} end)
    same_problem({ kind = "unknown_key", side = "buy", season = "Summer", label = "ON_PEAK", key = "toHours", nearest = "toHour",
      path = "seasons.Summer.tou_periods.ON_PEAK.periods[1]" }, function(t) periods(t, "Summer", "ON_PEAK")[1].toHours = 21 end)
    assert.equal("sell_tariff", problem(function(t) t.sell_tariff.version = 1 end, "04-solar-export-sell-tariff.json").path)
    assert.equal("unknown_key", check(function(t) t[1] = "x" end).problems[1].kind)
    assert.equal("unknown_key", check(function(t) t.energy_charges["a\0b"] = { rates = {} } end).problems[1].kind)
  end)

  it("of the older form are reported as such", function()
    local report = check(function(t)
      t.seasons.Summer.tou_periods.ON_PEAK = t.seasons.Summer.tou_periods.ON_PEAK.periods
    end)
    assert.matches("older tariff_content", report.problems[1].expected)
    assert.matches("list of periods", check(function(t)
      t.seasons.Summer.tou_periods.ON_PEAK.periods = { fromHour = 16, toHour = 21 }
    end).problems[1].expected)
  end)

  it("are reported in the order of their paths", function()
    local report = check(function(t)
      for i = 2, 11 do periods(t, "Summer", "ON_PEAK")[i] = { fromHour = 24 } end
      t.energy_charges.Summer.rates.ON_PEAK, t.version, t.utility = "x", "1", 5
    end)
    local paths = {}
    for i, p in ipairs(report.problems) do paths[i] = p.path and (string.match(p.path, "%[%d+%]") or p.path) end
    assert.same({ "energy_charges.Summer.rates.ON_PEAK", "[10]", "[11]", "[2]", "[3]", "[4]", "[5]", "[6]", "[7]", "[8]", "[9]", "utility",
      "version" }, paths)
  end)

  it("that are null are absent", function()
    assert.same({}, check(function(t)
      t.sell_tariff, t.code, t.daily_charges, t.seasons.Spare = core.null, core.null, core.null, core.null
      periods(t, "Summer", "OFF_PEAK")[1].fromHour = core.null
    end).problems)
  end)

  it("the currency is USD, EUR or GBP, and the selling side is never asked", function()
    for _, currency in ipairs { "USD", "EUR", "GBP" } do
      assert.same({}, check(function(t) t.currency = currency end).problems)
    end
    for _, currency in ipairs { "AUD", "usd", "" } do
      same_problem({ kind = "bad_currency", value = currency }, function(t) t.currency = currency end)
    end
    same_problem({ kind = "bad_currency", value = "" }, function(t) t.currency = nil end)
    same_problem({ kind = "bad_currency", value = "" }, function(t) t.currency = core.null end)
    assert.same({}, check(function(t) t.sell_tariff.currency = "XAU" end, "04-solar-export-sell-tariff.json").problems)
  end)

  it("a tariff that is no table is the caller's mistake", function()
    for _, value in ipairs { "text", 5, true } do
      assert.has_error(function() tariff.check(value) end)
    end
    assert.has_error(function() tariff.check() end)
  end)
end)

describe("warnings", function()
  it("name the labels that the app does not show", function()
    local report = tariff.check(samples.read("06-as-read-back-zero-fields-omitted.json"))
    local warning = only(report.warnings, "labels_not_shown")
    assert.equal(5, #warning.labels)
    assert.equal("PERIOD_00_00", warning.labels[1])
    assert.same({}, tariff.check(samples.two_seasons()).warnings)
  end)

  it("recommend ALL where every period costs the same", function()
    local report = check(function(t)
      for _, block in pairs(t.energy_charges) do
        for label in pairs(block.rates) do block.rates[label] = 0.25 end
      end
    end)
    assert.same({ kind = "all_recommended", side = "buy", price = 0.25 }, only(report.warnings))
    assert.same({}, tariff.check(samples.read("01-flat-all.json")).warnings)
  end)

  it("name the day ranges that the app repeats", function()
    local report = check(function(t)
      local list = periods(t, "Summer", "ON_PEAK")
      list[1].toDayOfWeek = 2
      list[2] = { fromDayOfWeek = 3, toDayOfWeek = 6, fromHour = 16, toHour = 21 }
    end)
    assert.same({ kind = "day_ranges", side = "buy", ranges = { "Mon-Wed", "Thu-Sun" } }, only(report.warnings))
    assert.same({}, tariff.check(samples.read("03-four-season-weekday-weekend.json")).warnings)
  end)

  it("show where toDayOfWeek is missing", function()
    local report = check(function(t) periods(t, "Summer", "ON_PEAK")[1].toDayOfWeek = nil end)
    assert.same({ kind = "missing_to_day_of_week", side = "buy", season = "Summer", label = "ON_PEAK" }, only(report.warnings))
  end)

  it("show where the demand section is missing", function()
    for _, missing in ipairs { {}, core.null } do
      local report = check(function(t) t.demand_charges = missing end)
      assert.is_true(report.valid)
      assert.same({ kind = "missing_charges", side = "buy", charges = "demand_charges" }, only(report.warnings))
    end
  end)
end)

describe("sentences", function()
  it("every entry prints itself", function()
    for name in pairs(samples.expected()) do
      local report = tariff.check(samples.read(name))
      for _, list in ipairs { report.problems, report.normalisations, report.warnings } do
        for _, entry in ipairs(list) do assert.is_true(#tostring(entry) > 20) end
      end
    end
  end)

  it("the same gap on all days is one line", function()
    local text = tariff.explain(tariff.check(samples.read("invalid/period-gap.json")))
    assert.equal("problem: season Summer, buying: no period covers Mon-Sun 14:00-15:00; lengthen a period or add one", text)
  end)

  it("a day that two overlapping periods cover is reported once", function()
    local t = samples.read("invalid/buy-below-sell.json")
    for _, side in ipairs { t, t.sell_tariff } do
      for _, one in pairs(side.seasons) do
        for _, label in pairs(one.tou_periods or {}) do label.periods[#label.periods + 1] = label.periods[1] end
      end
    end
    local entry = assert(tariff.check(t).normalisations[1])
    assert.is_truthy(string.find(tostring(entry), "on Mon-Sun 00:00-15:00;", 1, true), tostring(entry))
  end)

  it("only a report is explained; an entry that no kind describes is its kind", function()
    assert.has_error(function() tariff.explain("valid") end, "fleet.tariff.explain: the report must be a table, got a string")
    assert.equal("problem: another", tariff.explain { problems = { { kind = "another" } } })
    assert.equal("", tariff.explain {})
  end)

  it("a refused tariff carries its report and names the first problems", function()
    local t, err, kind = tariff.new(samples.read("invalid/bad-currency.json"))
    assert.is_nil(t)
    assert.equal("invalid", kind)
    assert.equal("invalid", err.kind)
    assert.equal("bad_currency", err.problems[1].kind)
    assert.matches("XAU", tostring(err))
  end)
end)
