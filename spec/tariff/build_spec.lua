-- Tariffs written out, compared, built from prices, and as the service will keep them.

local core = require "fleet.core"
local tariff = require "fleet.tariff"
local samples = require "spec.support.fixtures.tariff_samples"

local function object(name)
  return assert(tariff.new(samples.read(name)))
end

local valid = { "01-flat-all.json", "02-two-season-tou.json", "03-four-season-weekday-weekend.json",
  "04-solar-export-sell-tariff.json", "05-demand-charges.json", "06-as-read-back-zero-fields-omitted.json" }

describe("a tariff object", function()
  it("shows the content of the tariff with every member, and is a copy", function()
    local given = samples.read("06-as-read-back-zero-fields-omitted.json")
    local t = assert(tariff.new(given))
    assert.same({ fromDayOfWeek = 0, toDayOfWeek = 6, fromHour = 0, fromMinute = 0, toHour = 0, toMinute = 30 },
      t.seasons.Summer.tou_periods.PERIOD_00_00.periods[1])
    assert.equal(0, t.seasons.Summer.tou_periods.PERIOD_20_00.periods[1].toHour)
    assert.equal(0, t.monthly_charges)
    assert.same({ { name = "Charge", amount = 0 } }, t.daily_charges)
    given.energy_charges.Summer.rates.PERIOD_00_00 = 9
    assert.equal(0.11, t.energy_charges.Summer.rates.PERIOD_00_00)
  end)

  it("leaves out seasons that are not in use", function()
    local t = object("06-as-read-back-zero-fields-omitted.json")
    assert.is_nil(t.seasons.Winter)
    assert.is_nil(t.energy_charges.Winter)
  end)

  it("writes both charge sections with ALL and every season", function()
    local given = samples.two_seasons()
    given.demand_charges, given.energy_charges.ALL = nil, nil
    local t = assert(tariff.new(given))
    assert.same({ ALL = { rates = { ALL = 0 } }, Summer = { rates = {} }, Winter = { rates = {} } }, t.demand_charges)
    assert.equal(0, t.energy_charges.ALL.rates.ALL)
  end)

  it("gives a season called ALL its dates", function()
    local t = assert(tariff.new { currency = "EUR", seasons = { ALL = {} }, energy_charges = { ALL = { rates = { ALL = 0.2 } } } })
    assert.same({ fromMonth = 1, fromDay = 1, toMonth = 12, toDay = 31, tou_periods = {} }, t.seasons.ALL)
  end)

  it("names itself and shows no secret", function()
    assert.equal("fleet.tariff (Residential flat)", tostring(object("01-flat-all.json")))
    assert.is_true(tariff.is(object("01-flat-all.json")))
    assert.is_false(tariff.is(samples.read("01-flat-all.json")))
    assert.equal("fleet.tariff", getmetatable(object("01-flat-all.json")).__name)
  end)
end)

describe("encode", function()
  for _, name in ipairs(valid) do
    it(name .. " comes back as the same tariff, valid and complete", function()
      local t = object(name)
      local back = assert(core.json_decode(t:encode()))
      assert.same({}, t:diff(back))
      assert.same({}, tariff.check(back).problems)
      assert.equal(t:encode(), assert(tariff.new(back)):encode())
    end)
  end

  it("distinguishes an empty list from an empty object", function()
    local given = samples.read("01-flat-all.json")
    given.daily_charges = {}
    local text = assert(tariff.new(given)):encode()
    assert.matches('"daily_charges":[]', text, 1, true)
    assert.matches('"daily_demand_charges":{}', text, 1, true)
    assert.matches('"tou_periods":{}', text, 1, true)
    assert.matches('"AllYear":{"rates":{}}', text, 1, true)
  end)

  it("writes zeros, and midnight as 0", function()
    local text = object("06-as-read-back-zero-fields-omitted.json"):encode()
    assert.matches('"PERIOD_20_00":{"periods":[{"fromDayOfWeek":0,"fromHour":20,"fromMinute":0,"toDayOfWeek":6,"toHour":0,"toMinute":0}]}',
      text, 1, true)
  end)

  it("is found through the metatable, where request bodies are written", function()
    local t = object("01-flat-all.json")
    assert.equal(t:encode(), getmetatable(t).encode(t))
  end)
end)

-- One label for all minutes, which are sold at another price each: the longest list of labels there is.
describe("a week of minutes", function()
  it("is normalised to a label per price, numbered around a label that has such a name", function()
    local rows, names = {}, { "mon", "tue", "wed", "thu", "fri", "sat", "sun" }
    for i = 0, 10079 do
      local minute = i % 1440
      local from = string.format("%02d:%02d", math.floor(minute / 60), minute % 60)
      local to = string.format("%02d:%02d", math.floor((minute + 1) / 60), (minute + 1) % 60)
      rows[i + 1] = { days = names[math.floor(i / 1440) + 1], from = from, to = to, price = 0.1, label = i == 0 and "X_3" or "X",
        sell = (20000 + i) / 1e5 }
    end
    local t = assert(tariff.from_rows { currency = "EUR", rows = rows }):normalised()
    local rates = t.energy_charges.AllYear.rates
    local count = 0
    for _ in pairs(rates) do count = count + 1 end
    assert.equal(10080, count)
    assert.same({ 0.2, 0.20001, 0.20002, 0.20003, 0.30079 }, { rates.X_3, rates.X, rates.X_2, rates.X_4, rates.X_10080 })
  end)
end)

describe("diff", function()
  it("sees no difference in what has none", function()
    local a = object("02-two-season-tou.json")
    local b = samples.two_seasons()
    local list = b.seasons.Winter.tou_periods.OFF_PEAK.periods
    list[1], list[2] = list[2], list[1]
    list[1].fromMinute, list[1].toHour, list[1].toMinute = nil, 24, nil
    b.monthly_charges, b.demand_charges.Summer, b.version = nil, {}, 1.0
    b.seasons.Spare = {}
    assert.same({}, a:diff(b))
    assert.same({}, a:diff(a))
  end)

  it("names each place with both values", function()
    local b = samples.two_seasons()
    b.energy_charges.Summer.rates.ON_PEAK = 0.6
    b.seasons.Summer.toDay, b.seasons.Winter.fromMonth, b.seasons.Winter.fromDay = 29, 9, 30
    b.seasons.Summer.tou_periods.ON_PEAK.periods[1].toHour = 20
    b.seasons.Summer.tou_periods.PARTIAL_PEAK.periods[2].fromHour = 20
    b.name = "Other"
    local paths = {}
    for _, d in ipairs(object("02-two-season-tou.json"):diff(b)) do paths[d.path] = { d.from, d.to } end
    assert.same({ 0.512, 0.6 }, paths["energy_charges.Summer.rates.ON_PEAK"])
    assert.same({ 30, 29 }, paths["seasons.Summer.toDay"])
    assert.same({ "Two season time of use", "Other" }, paths.name)
    assert.same({ true, nil }, paths["seasons.Summer.tou_periods.ON_PEAK.periods.0-6 16:00-21:00"])
    assert.same({ nil, true }, paths["seasons.Summer.tou_periods.ON_PEAK.periods.0-6 16:00-20:00"])
  end)

  it("of two that mean the same is empty, and the two are equal", function()
    local given = samples.read("02-two-season-tou.json")
    local periods = given.seasons.Summer.tou_periods.PARTIAL_PEAK.periods
    periods[1], periods[2] = periods[2], periods[1]
    given.monthly_charges, given.daily_demand_charges, given.sell_tariff = nil, core.null, {}
    local same, other = assert(tariff.new(given)), object("02-two-season-tou.json")
    assert.same({}, same:diff(other))
    assert.is_true(same == other)
    given.energy_charges.Summer.rates.ON_PEAK = 0.6
    assert.is_false(assert(tariff.new(given)) == other)
  end)

  it("with an invalid tariff is refused", function()
    local d, err, kind = object("02-two-season-tou.json"):diff(samples.read("invalid/period-gap.json"))
    assert.is_nil(d)
    assert.equal("period_gap", err.problems[1].kind)
    assert.equal("invalid", kind)
    assert.has_error(function() object("02-two-season-tou.json"):diff("text") end)
  end)
end)

describe("normalised", function()
  it("makes negative prices 0", function()
    local n = object("invalid/negative-price.json"):normalised()
    assert.equal(0, n.energy_charges.Winter.rates.OFF_PEAK)
    assert.same({}, n:report().normalisations)
  end)

  it("raises a label that buys below selling all the time", function()
    local t = object("invalid/buy-below-sell.json")
    assert.same({ { path = "energy_charges.Summer.rates.OFF_PEAK", from = 0.268, to = 0.3 } }, t:diff(t:normalised()))
  end)

  it("splits a label that is below for some hours only", function()
    local given = samples.read("04-solar-export-sell-tariff.json")
    given.sell_tariff.energy_charges.Winter.rates.OFF_PEAK = 0.3
    local n = assert(tariff.new(given)):normalised()
    assert.same({ ON_PEAK = 0.387, OFF_PEAK = 0.3 }, n.energy_charges.Winter.rates)
    given.sell_tariff.energy_charges.Summer.rates.ON_PEAK = 0.6
    given.seasons.Summer.tou_periods.ON_PEAK.periods[1].fromHour = 15
    given.seasons.Summer.tou_periods.PARTIAL_PEAK.periods[1] = { toDayOfWeek = 6, fromHour = 21 }
    given.seasons.Summer.tou_periods.PARTIAL_PEAK.periods[2] = nil
    n = assert(tariff.new(given)):normalised()
    assert.equal(0.512, n:price({ year = 2026, month = 7, day = 1, hour = 15 }).buy.price)
    assert.equal(0.6, n:price({ year = 2026, month = 7, day = 1, hour = 16 }).buy.price)
    assert.same({ ON_PEAK = 0.512, ON_PEAK_2 = 0.6, PARTIAL_PEAK = 0.401, OFF_PEAK = 0.268 }, n.energy_charges.Summer.rates)
  end)

  it("splits a season that meets two selling seasons", function()
    local given = samples.read("01-flat-all.json")
    given.sell_tariff = samples.read("04-solar-export-sell-tariff.json").sell_tariff
    local n = assert(tariff.new(given)):normalised()
    assert.same({}, n:report().normalisations)
    assert.equal(0.44, n:price({ year = 2026, month = 7, day = 1, hour = 17 }).buy.price)
    assert.equal(0.2185, n:price({ year = 2026, month = 12, day = 1, hour = 17 }).buy.price)
  end)

  it("keeps the zone and demand prices", function()
    local given = samples.read("05-demand-charges.json")
    given.sell_tariff = { seasons = { ALL = {} }, energy_charges = { ALL = { rates = { ALL = 0.1 } } } }
    local n = assert(tariff.new(given, { time_zone = "Europe/Berlin" })):normalised()
    assert.equal("Europe/Berlin", n:time_zone())
    assert.same({ ON_PEAK = 14.25, OFF_PEAK = 0 }, n.demand_charges.AllYear.rates)
    assert.same({ ON_PEAK = 0.121, OFF_PEAK = 0.1 }, n.energy_charges.AllYear.rates)
  end)
end)

describe("a currency that the app is not known to show", function()
  local given = { price = 0.3, currency = "AUD" }

  it("is refused, and taken with a warning when the caller insists", function()
    local content = {}
    for k, v in pairs(assert(tariff.flat { price = 0.3, currency = "USD" })) do content[k] = v end
    content.currency = given.currency
    local t, err = tariff.new(content)
    assert.is_nil(t)
    assert.equal("bad_currency", err.problems[1].kind)
    t = assert(tariff.new(content, { any_currency = true }))
    assert.equal("AUD", t.currency)
    assert.equal("bad_currency", t:report().warnings[#t:report().warnings].kind)
    content.seasons.AllYear.toMonth = 11
    assert.is_nil((tariff.new(content, { any_currency = true })))
  end)
end)

describe("flat", function()
  it("is one price under ALL", function()
    local t = assert(tariff.flat { price = 0.2185, sell = 0.05, currency = "USD", name = "Flat", daily = 0.42 })
    assert.same({
      buy = { price = 0.2185, season = "AllYear", label = "ALL" }, sell = { price = 0.05, season = "AllYear", label = "ALL" },
    }, t:price { year = 2026, month = 2, day = 28, hour = 5 })
    assert.same({}, t:report().warnings)
    assert.equal(0.42, t.daily_charges[1].amount)
  end)

  it("refuses what it does not know", function()
    assert.has_error(function() tariff.flat { currency = "USD" } end)
    assert.has_error(function() tariff.flat { price = 1, curency = "USD" } end)
    local t, _, kind = tariff.flat { price = 1, currency = "XAU" }
    assert.is_nil(t)
    assert.equal("invalid", kind)
  end)
end)

describe("from_rows", function()
  local function two_seasons(change)
    local options = {
      currency = "USD", name = "Two season time of use", utility = "Harbor Electric", code = "TOU-2S", daily = 0.35,
      seasons = { Summer = { from = "06-01", to = "09-30" }, Winter = { from = "10-01", to = "05-31" } },
      rows = {
        { season = "Summer", from = "16:00", to = "21:00", price = 0.512 },
        { season = "Summer", from = "15:00", to = "16:00", price = 0.401 },
        { season = "Summer", from = "21:00", to = "00:00", price = 0.401 },
        { season = "Summer", from = "00:00", to = "15:00", price = 0.268 },
        { season = "Winter", from = "16:00", to = "21:00", price = 0.387 },
        { season = "Winter", from = "21:00", to = "16:00", price = 0.259 },
      },
    }
    if change then change(options) end
    return tariff.from_rows(options)
  end

  it("makes the published two-season sample of six rows", function()
    assert.same({}, assert(two_seasons()):diff(samples.two_seasons()))
  end)

  it("reports how prices became labels", function()
    local _, groups = two_seasons()
    assert.same({ side = "buy", season = "Summer", label = "OFF_PEAK", price = 0.268, low = 0.268, high = 0.268,
      minutes = 7 * 900 }, groups[1])
    assert.equal(5, #groups)
  end)

  it("takes days by name, and makes ranges of days that are alike", function()
    local t = assert(tariff.from_rows { currency = "EUR", rows = {
      { days = "mon-fri", from = "08:00", to = "20:00", price = 0.4 },
      { days = { "sun", "mon", "tue", "wed", "thu" }, from = "20:00", to = "08:00", price = 0.2 },
      { days = "fri", from = "20:00", to = "08:00", price = 0.2 },
      { days = "sat-sun", from = "08:00", to = "20:00", price = 0.2 },
      { days = "Saturday", from = "20:00", to = "08:00", price = 0.2 },
    } })
    assert.equal("OFF_PEAK", t:price({ year = 2026, month = 11, day = 21, hour = 3 }).buy.label) -- Saturday: Friday's night
    for _, label in pairs(t.seasons.AllYear.tou_periods) do
      for _, p in ipairs(label.periods) do
        assert.is_true((p.fromDayOfWeek == 0 and p.toDayOfWeek == 4) or (p.fromDayOfWeek == 5 and p.toDayOfWeek == 6)
          or (p.fromDayOfWeek == 0 and p.toDayOfWeek == 6))
      end
    end
  end)

  it("keeps labels that are given, and a sell price makes a selling side", function()
    local t = assert(tariff.from_rows { currency = "EUR", rows = {
      { from = "08:00", to = "20:00", price = 0.4, sell = 0.1, label = "HT" },
      { from = "20:00", to = "08:00", price = 0.2, sell = 0.1, label = "NT" },
    } })
    assert.same({ HT = 0.4, NT = 0.2 }, t.energy_charges.AllYear.rates)
    assert.same({ price = 0.1, season = "AllYear", label = "ALL" }, t:price({ year = 2026, month = 1, day = 1 }).sell)
  end)

  it("makes no label that a row already has for another price", function()
    local t, groups = tariff.from_rows { currency = "EUR", rows = {
      { from = "08:00", to = "20:00", price = 0.4, label = "PRICE_1" }, { from = "20:00", to = "08:00", price = 0.2 },
    } }
    assert.same({ PRICE_1 = 0.4, PRICE__1 = 0.2 }, t.energy_charges.AllYear.rates)
    assert.equal("PRICE__1", groups[2].label)
  end)

  it("with hours missing is refused with the gap, not made flat", function()
    local t, err = tariff.from_rows { currency = "EUR", rows = { { days = "mon-fri", from = "08:00", to = "20:00", price = 0.4 } } }
    assert.is_nil(t)
    assert.equal("period_gap", err.problems[1].kind)
  end)

  it("with a gap between two times of one price is refused, too", function()
    local rows = { { from = "00:00", to = "08:00", price = 0.2 }, { from = "10:00", to = "24:00", price = 0.2 } }
    local t, err = tariff.from_rows { currency = "EUR", rows = rows }
    assert.is_nil(t)
    assert.equal("period_gap", err.problems[1].kind)
    rows[3] = { from = "08:00", to = "10:00", price = 0.2 }
    assert.truthy(tariff.from_rows { currency = "EUR", rows = rows })
  end)

  it("of 48 half hours makes the same price of every minute", function()
    local prices = {}
    for i = 1, 48 do prices[i] = (i * 37 % 48) / 100 - 0.05 end
    local t, groups = tariff.from_rows { currency = "GBP", prices = prices, name = "Live" }
    assert.equal(48, #groups)
    for i = 1, 48 do
      local when = { year = 2026, month = 1, day = 1 + i % 28, hour = math.floor((i - 1) / 2), min = (i - 1) % 2 * 30 + 29 }
      assert.equal(prices[i], assert(t):price(when).buy.price)
    end
    assert.equal("PRICE_01", groups[1].label)
  end)

  it("of quarter hours and of a whole week does so too", function()
    for _, n in ipairs { 24, 96, 168, 336, 672 } do
      local prices = {}
      for i = 1, n do prices[i] = i / 1000 end
      local t = assert(tariff.from_rows { currency = "EUR", prices = prices })
      local step = n > 100 and 10080 / n or 1440 / n
      for _, i in ipairs { 1, 2, n - 1, n } do
        local minute = (i - 1) * step
        local day, hour = 16 + math.floor(minute / 1440), math.floor(minute % 1440 / 60) -- 16 November 2026 is a Monday
        local when = { year = 2026, month = 11, day = day, hour = hour, min = minute % 60 }
        assert.equal(prices[i], t:price(when).buy.price)
      end
    end
  end)

  it("groups into as few labels as asked, moves prices least, and says by how much", function()
    local prices = {}
    for i = 1, 48 do prices[i] = ({ 0.10, 0.11, 0.30, 0.31 })[math.floor((i - 1) / 12) + 1] end
    local t, groups = tariff.from_rows { currency = "GBP", prices = prices, labels = 2 }
    assert.same({ OFF_PEAK = 0.105, ON_PEAK = 0.305 }, assert(t).energy_charges.AllYear.rates)
    assert.same({ 0.10, 0.11 }, { groups[1].low, groups[1].high })
  end)

  -- The least squared error of so many groups of the sorted prices from a place on, by trying all.
  local function least(prices, from, groups)
    local best, sum, square = math.huge, 0, 0
    for to = from, #prices - groups + 1 do
      sum, square = sum + prices[to], square + prices[to] ^ 2
      local rest = to == #prices and 0 or groups > 1 and least(prices, to + 1, groups - 1) or math.huge
      best = math.min(best, square - sum ^ 2 / (to - from + 1) + rest)
    end
    return best
  end

  it("groups no worse than the best of all groupings", function()
    for most = 1, 6 do
      local prices, moved = {}, 0
      for i = 1, 12 do prices[i] = i * i * (7 + most) % 101 / 100 end
      local _, groups = tariff.from_rows { currency = "GBP", prices = prices, step = 120, labels = most }
      for _, price in ipairs(prices) do
        for _, group in ipairs(groups) do
          if price >= group.low and price <= group.high then moved = moved + (price - group.price) ^ 2 end
        end
      end
      table.sort(prices)
      assert.near(least(prices, 1, most), moved, 1e-8)
    end
  end)

  it("groups a price for every minute of the week", function()
    local prices = {}
    for i = 1, 10080 do prices[i] = i * 7919 % 10007 / 1e5 end
    assert(tariff.from_rows { currency = "EUR", prices = prices, labels = 1e300 })
    local t, groups = tariff.from_rows { currency = "EUR", prices = prices, labels = 1000 }
    assert.is_truthy(t)
    assert.equal(1000, #groups)
  end)

  it("of equal prices is flat under ALL", function()
    local prices = {}
    for i = 1, 24 do prices[i] = 0.2 end
    local t = assert(tariff.from_rows { currency = "EUR", prices = prices })
    assert.same({ ALL = 0.2 }, t.energy_charges.AllYear.rates)
    assert.same({}, t:report().warnings)
  end)

  local function spot(from, count, minutes)
    local list, start = {}, core.time(from)
    for i = 1, count do list[i] = { start = start + (i - 1) * minutes * 60, price = i / 100 } end
    return list
  end

  local function berlin(from, count)
    return assert(tariff.from_rows { currency = "EUR", spot = spot(from, count, 60), time_zone = "Europe/Berlin" })
  end

  it("of spot prices lies on the wall clock of the zone", function()
    local t = berlin("2026-11-20T13:00:00Z", 24)
    assert.equal(0.01, t:price(core.time("2026-11-20T13:30:00Z")).buy.price)
    assert.equal(0.24, t:price(core.time("2026-11-21T12:59:00Z")).buy.price)
    assert.equal(0.01, t:price({ year = 2026, month = 1, day = 1, hour = 14 }).buy.price)
  end)

  it("of a day of 25 hours has the mean of the hour that comes twice, of 23 hours the price before the gap", function()
    local long = berlin("2026-10-25T00:00:00+02:00", 25)
    assert.equal(0.035, long:price({ year = 2026, month = 1, day = 1, hour = 2 }).buy.price)
    assert.equal(0.25, long:price({ year = 2026, month = 1, day = 1, hour = 23 }).buy.price)
    local short = berlin("2026-03-29T00:00:00+01:00", 23)
    assert.equal(0.02, short:price({ year = 2026, month = 1, day = 1, hour = 2, min = 59 }).buy.price)
    assert.equal(0.03, short:price({ year = 2026, month = 1, day = 1, hour = 3 }).buy.price)
  end)

  it("in a zone that is not known is refused", function()
    local t, err = tariff.from_rows { currency = "EUR", spot = spot("2026-11-20T00:00:00Z", 24, 60), time_zone = "Europe/Nowhere" }
    assert.is_nil(t)
    assert.is_truthy(err)
  end)

  local mistakes = {
    ["no source"] = {},
    ["two sources"] = { prices = { 1 }, rows = {} },
    ["no rows"] = { rows = {} },
    ["13 prices"] = { prices = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 } },
    ["a price that is text"] = { prices = { "1", 1 }, step = 720 },
    ["a price that is no number"] = { prices = { 0 / 0, 1 }, step = 720 },
    ["a label that is no text"] = { rows = { { price = 1, label = 5 } } },
    ["a season that is no text"] = { rows = { { price = 1, season = true } } },
    ["a name that holds a zero byte"] = { rows = { { price = 1, label = "A\0B" } } },
    ["rows that are no list"] = { rows = "00:00" },
    ["dates of a season that are none"] = { seasons = { Summer = "06-01" }, rows = { { season = "Summer", price = 1 } } },
    ["an unknown member of a row"] = { rows = { { form = "00:00", price = 1 } } },
    ["a row without price"] = { rows = { { from = "00:00" } } },
    ["a time that is none"] = { rows = { { from = "25:00", price = 1 } } },
    ["a day that is none"] = { rows = { { days = "funday", price = 1 } } },
    ["two rows at one time"] = { rows = { { price = 1 }, { days = "wed", from = "03:00", to = "04:00", price = 2 } } },
    ["a label with two prices"] = { rows = { { to = "12:00", price = 1, label = "A" }, { from = "12:00", price = 2, label = "A" } } },
    ["a season without dates"] = { seasons = {}, rows = { { season = "Summer", price = 1 } } },
    ["spot prices without a zone"] = { spot = { { start = 0, price = 1 }, { start = 3600, price = 1 } } },
    ["a moment without spot prices"] = { rows = { { price = 1 } }, from = 0 },
    ["no labels at all"] = { labels = 0, prices = { 1 } },
    ["an unknown option"] = { price = { 1 } },
  }
  for name, options in pairs(mistakes) do
    it("refuses " .. name, function()
      options.currency = "EUR"
      assert.has_error(function() tariff.from_rows(options) end)
    end)
  end
end)

describe("what is missing in a list", function()
  local function message(options)
    options.currency = "EUR"
    return (string.gsub(tostring(select(2, pcall(tariff.from_rows, options))), "^.*: fleet%.", "fleet."))
  end

  it("is named by its place, and no price is made up for it", function()
    local prices = {}
    for i = 1, 24 do prices[i] = i / 100 end
    prices[7] = nil
    assert.equal("fleet.tariff.from_rows: price 7 is not a number", message { prices = prices })
    assert.equal("fleet.tariff.from_rows: price 2 is not a number", message { prices = { 0.1, core.null }, step = 720 })
    assert.equal("fleet.tariff.from_rows: 'nil' is no day; write mon, tue, wed, thu, fri, sat or sun",
      message { rows = { { price = 0.1, days = { "mon", nil, "wed" } } } })
  end)

  it("is refused in a feed", function()
    local spot = {}
    for i = 1, 24 do spot[i] = { start = 1774220400 + i * 3600, price = 0.1 } end
    spot[5] = nil
    local t, err = tariff.from_rows { currency = "EUR", time_zone = "Europe/Berlin", spot = spot }
    assert.is_nil(t)
    assert.matches("spot price 5 must be", tostring(err), 1, true)
  end)

  it("may be null in a row, as in a tariff: it is absent", function()
    local t = assert(tariff.from_rows { currency = "EUR", rows = {
      { price = 0.2, sell = core.null, label = core.null, from = core.null, days = core.null, season = core.null },
    } })
    assert.is_nil(t:price({ year = 2026, month = 1, day = 1 }).sell)
    assert.equal("fleet.tariff.from_rows: row 1 has no 'price'", message { rows = { { price = core.null } } })
    assert.is_nil(assert(tariff.flat { price = 0.2, sell = core.null, currency = "EUR" }).sell_tariff)
  end)
end)
