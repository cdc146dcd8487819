-- Tariffs as a site tells them: zeros left out, any currency, members that are not known, the older form.

local core = require "fleet.core"
local fleet = require "fleet"
local seam = require "spec.support.fixtures.host_http"

local tariff = fleet.tariff

local function read(name)
  local file = assert(io.open("spec/support/fixtures/energy/" .. name .. ".json", "rb"))
  local value = core.json_decode(file:read "*a")
  file:close()
  return value
end

-- What the service makes of a tariff: members that are zero are gone.
local function stored(t)
  local function without_zeros(value)
    if type(value) ~= "table" then return value end
    local out = {}
    for name, part in pairs(value) do
      if part ~= 0 or name == "ALL" then out[name] = without_zeros(part) end
    end
    return out
  end
  return without_zeros(core.json_decode(t:encode()))
end

local function rows(list)
  return assert(tariff.from_rows { currency = "EUR", name = "x", utility = "u", rows = list })
end

describe("a week that is read back without its zeros", function()
  local prices = {}
  for i = 1, 168 do prices[i] = i / 1000 end
  local weeks = {
    monday_alone = { { days = "mon", price = 0.1 }, { days = "tue-sun", price = 0.3 } },
    over_the_week_end = { { days = "sat-mon", price = 0.1 }, { days = "tue-fri", price = 0.3 } },
    sunday_and_monday = { { days = "sun,mon", price = 0.1 }, { days = "tue-sat", price = 0.3 } },
    monday_by_hours = {
      { days = "mon", from = "00:00", to = "06:00", price = 0.1 }, { days = "mon", from = "06:00", to = "24:00", price = 0.2 },
      { days = "tue-sun", price = 0.3 },
    },
    over_midnight = {
      { days = "sun", from = "22:00", to = "06:00", price = 0.1 }, { days = "mon", from = "06:00", to = "22:00", price = 0.2 },
      { days = "mon", from = "22:00", to = "24:00", price = 0.3 }, { days = "tue-sat", price = 0.3 },
      { days = "sun", from = "00:00", to = "22:00", price = 0.3 },
    },
    daily = { { from = "06:00", to = "22:00", price = 0.3 }, { from = "22:00", to = "06:00", price = 0.1 } },
    weekdays = { { days = "mon-fri", price = 0.3 }, { days = "sat,sun", price = 0.1 } },
    of_168_prices = prices,
  }

  for name, given in pairs(weeks) do
    it("is the week that was sent: " .. name, function()
      local week = given ~= prices and rows(given) or
        assert(tariff.from_rows { currency = "EUR", name = "x", utility = "u", prices = prices })
      local content = stored(week)
      assert.is_true(tariff.check(content).valid)
      assert.is_true(tariff.stored_as(content, week))
      local free, charged = stored(week), stored(week)
      free.daily_charges = nil -- a charge of nothing a day is left out, too
      assert.is_true(tariff.stored_as(free, week))
      charged.daily_charges = { { name = "Charge", amount = 0.5 } }
      assert.is_false(tariff.stored_as(charged, week))
      assert.is_true(assert(tariff.new(content)) == week)
    end)
  end

  it("is read so on the selling side, and in one season of two", function()
    local both = rows { { days = "mon", price = 0.3, sell = 0.1 }, { days = "tue-sun", price = 0.4, sell = 0.2 } }
    assert.is_true(tariff.stored_as(stored(both), both))
  end)

  it("costs Monday's price on Monday", function()
    local t = assert(tariff.new(read "tariff-monday-zeros-dropped"))
    assert.equal("OFF_PEAK", t:price({ year = 2026, month = 6, day = 8 }).buy.label)
    assert.equal("ON_PEAK", t:price({ year = 2026, month = 6, day = 9 }).buy.label)
  end)

  it("is a mistake where neither reading covers it once", function()
    local content = read "tariff-monday-zeros-dropped"
    content.seasons.AllYear.tou_periods.ON_PEAK.periods[1].fromDayOfWeek = 2
    local report = tariff.check(content)
    assert.is_false(report.valid)
    assert.equal("period_overlap", report.problems[1].kind)
    content = read "tariff-monday-zeros-dropped"
    content.seasons.AllYear.tou_periods.ON_PEAK.periods[1].toDayOfWeek = 5
    assert.equal("period_overlap", tariff.check(content).problems[1].kind)
  end)

  it("is not sent again, and shows when it is read back", function()
    local week, content = rows(weeks.monday_alone), nil
    local site, requests = seam.site(function(request)
      if request.method == "POST" then
        content = stored(week)
        return seam.answer '{"response":{"code":201,"message":"Updated"}}'
      end
      return seam.answer(core.json_encode({ response = { tariff_content_v2 = content } }, "periods daily_charges"))
    end)
    assert.is_true(assert(site:time_of_use_settings(week, { read_back = true, timeout = 3 })).changed)
    local before = #requests
    assert.is_false(assert(site:time_of_use_settings(week)).changed)
    assert.equal("GET", requests[before + 1].method)
    assert.is_nil(requests[before + 2])
  end)
end)

describe("what a site returns", function()
  it("needs no known currency, whole or in part", function()
    for _, name in ipairs { "site-info-tariff-without-currency", "site-info-tariff-aud" } do
      local reply = read(name)
      for _, given in ipairs { reply, reply.response } do
        assert.is_true(tariff.check(given).valid)
        assert.equal(0.4, assert(tariff.new(given)):price({ year = 2026, month = 1, day = 1, hour = 17 }).buy.price)
      end
      local content = reply.response.tariff_content_v2
      assert.is_false(tariff.check(content).valid)
      assert.is_true(tariff.check(content, { stored = true }).valid)
      assert.is_true(tariff.check(content, { any_currency = true }).valid)
      assert(tariff.new(content, { stored = true }))
      assert.is_nil((tariff.new(content)))
    end
  end)

  it("keeps members that are not known, and is encoded as it was read", function()
    local content = read "site-info-tariff-aud".response.tariff_content_v2
    content.future = { a = 1.25, list = { 1, 2 } }
    content.seasons.Summer.tou_periods.ON_PEAK.periods[1].note = "x"
    local t = assert(tariff.new(content, { stored = true }))
    assert.same(content, core.json_decode(t:encode()))
    assert.same({ a = 1.25, list = { 1, 2 } }, t.future)
    assert.equal(0.4, t:price({ year = 2026, month = 1, day = 1, hour = 17 }).buy.price)
    local problems = tariff.check(content, { any_currency = true }).problems
    assert.same({ "unknown_key", "unknown_key" }, { problems[1].kind, problems[2].kind })
    assert.is_nil((tariff.new(content, { any_currency = true })))
  end)

  it("raises nothing, whatever it contains", function()
    for _, odd in ipairs { {}, { tariff_content_v2 = {} }, { response = {} }, { response = { tariff_content_v2 = { seasons = 5 } } },
      { tou_settings = "x" }, { response = "x" }, { tariff_content_v2 = { seasons = { A = { tou_periods = { B = { periods = "x" } } } } } },
      { tariff_content_v2 = { energy_charges = { A = 5 }, seasons = { A = 5 } } }, { components = {} },
      { tariff_content_v2 = { currency = {}, version = "1", daily_charges = "x", sell_tariff = 5 } } } do
      assert.is_false(tariff.check(odd).valid)
      assert.is_nil((tariff.new(odd, { stored = true })))
    end
    assert.is_false(tariff.stored_as({ seasons = 5 }, rows { { price = 1 } }))
  end)

  it("in the older form has one problem, which says so", function()
    local older = read "older-tariff-content"
    for _, given in ipairs { older, older.tou_settings, older.tou_settings.tariff_content, { response = older.tou_settings } } do
      local report = tariff.check(given)
      assert.equal(1, #report.problems)
      assert.matches("older tariff_content", tostring(report.problems[1]))
    end
    local plan = core.tariff(older.tou_settings.tariff_content) -- as the simulator reads what it was sent
    assert.same({}, plan:weeks "buy")
    assert.is_nil((plan:price("buy", 1, 1, 0, 0)))
    plan:close()
    local flat = { energy_charges = { ALL = { ALL = 0.2 } }, seasons = { ALL = { fromMonth = 1, fromDay = 1, toMonth = 12, toDay = 31 } } }
    assert.equal("older_form", tariff.check(flat).problems[1].kind)
  end)

  it("in the new form is not taken for the older one by a mistake", function()
    local content = read "site-info-tariff-aud".response.tariff_content_v2
    content.energy_charges.Summer = { OFF_PEAK = 0.1, ON_PEAK = 0.2 }
    for _, problem in ipairs(tariff.check(content).problems) do assert.is_not.equal("older_form", problem.kind) end
    content = { currency = "EUR", energy_charges = { ALL = { rates = { ALL = 0.2 }, typo = 5 } },
      seasons = { ALL = { fromMonth = 1, fromDay = 1, toMonth = 12, toDay = 31 } } }
    assert.equal("unknown_key", tariff.check(content).problems[1].kind)
  end)
end)

describe("force", function()
  local gap = { name = "x", currency = "EUR", seasons = { S = { fromMonth = 1, fromDay = 1, toMonth = 12, toDay = 31,
    tou_periods = { A = { periods = { { fromDayOfWeek = 0, toDayOfWeek = 6, fromHour = 1, toHour = 0 } } } } } },
    energy_charges = { S = { rates = { A = 0.1 } } }, daily_charges = {} }

  it("sends a tariff with problems as it is, and the refusal names it", function()
    local site, requests = seam.site '{"response":{"code":201,"message":"Updated"}}'
    local value, err, kind = site:time_of_use_settings(gap)
    assert.same({ nil, "invalid", "not_sent" }, { value, kind, err.outcome })
    assert.matches("force = true", tostring(err))
    assert.is_true(#err.problems > 0)
    assert.equal(0, #requests)
    assert.is_true(assert(site:time_of_use_settings(gap, { force = true })).changed)
    assert.same({ tou_settings = { tariff_content_v2 = gap } }, core.json_decode(requests[1].body))
    assert.matches('"daily_charges":%[%]', requests[1].body)
  end)

  it("sends members that are not known", function()
    local site, requests = seam.site '{"response":{"code":201,"message":"Updated"}}'
    local content = read "site-info-tariff-aud".response.tariff_content_v2
    content.future = 7
    assert(site:time_of_use_settings({ tariff_content_v2 = content }, { force = true }))
    assert.equal(7, core.json_decode(requests[1].body).tou_settings.tariff_content_v2.future)
    local t = assert(tariff.new(content, { stored = true }))
    assert(site:time_of_use_settings(t, { force = true }))
    assert.same({ tou_settings = { tariff_content_v2 = content } }, core.json_decode(requests[2].body))
  end)

  it("can be read back or settled where the tariff cannot be read", function()
    local site = seam.site(function(request)
      return seam.answer(request.method == "POST" and '{"response":{"code":201}}' or '{"response":{"tariff_content_v2":{"name":"y"}}}')
    end)
    local value, err = site:time_of_use_settings(gap, { force = true, read_back = true, timeout = 1 })
    assert.same({ nil, "unknown" }, { value, err.outcome })
  end)
end)
