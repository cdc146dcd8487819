-- The core's check and prices against an oracle that walks every minute of the week and every day of the year.

local oracle = require "spec.support.fixtures.tariff_oracle"
local tariff = require "fleet.tariff"

local function side_of(t, name)
  return name == "buy" and t or t.sell_tariff
end

-- ---- what the oracle sees, and what the report says, as sets of text ----

local function seen_days(out, t, name)
  for _, date in ipairs(oracle.days()) do
    local seasons = oracle.seasons_of(side_of(t, name), date[1], date[2])
    local key = string.format("%s %02d-%02d ", name, date[1], date[2])
    if #seasons == 0 then out[key .. "gap"] = true end
    if #seasons > 1 then out[key .. table.concat(seasons, "+")] = true end
  end
  local leap = name .. " 02-29 gap" -- belongs to the season of the 28th, if there is one
  if not out[name .. " 02-28 gap"] then out[leap] = nil end
end

local function seen_minutes(out, t, name)
  for season, one in pairs(side_of(t, name).seasons) do
    local week = oracle.week(one)
    for minute = 0, 10079 do
      if #week[minute] ~= 1 then
        local found = #week[minute] == 0 and "gap" or table.concat(week[minute], "+")
        out[string.format("%s %s %d %s", name, season, minute, found)] = true
      end
    end
  end
end

local function reported_days(out, p)
  local days, from, to = oracle.days(), nil, nil
  for i, date in ipairs(days) do
    local text = string.format("%02d-%02d", date[1], date[2])
    if text == p.from then from = i end
    if text == p.to then to = i end
  end
  local i = from
  while true do
    out[string.format("%s %02d-%02d %s", p.side, days[i][1], days[i][2], p.seasons and table.concat(p.seasons, "+") or "gap")] = true
    if i == to then return end
    i = i % 366 + 1
  end
end

local function reported_minutes(out, p)
  local count = 0
  oracle.minutes(p.span, function(minute)
    local key = string.format("%s %s %d %s", p.side, p.season, minute, p.labels and table.concat(p.labels, "+") or "gap")
    assert.is_nil(out[key], "reported twice: " .. key)
    out[key] = true
    count = count + 1
  end)
  assert.equal(count, p.minutes)
end

local function compare(t)
  local seen, reported = {}, {}
  for _, name in ipairs { "buy", "sell" } do
    seen_days(seen, t, name)
    seen_minutes(seen, t, name)
  end
  for _, p in ipairs(tariff.check(t).problems) do
    if p.kind == "season_gap" or p.kind == "season_overlap" then reported_days(reported, p)
    elseif p.kind == "period_gap" or p.kind == "period_overlap" then reported_minutes(reported, p)
    else error("the random tariffs have no " .. p.kind) end
  end
  for key in pairs(seen) do assert(reported[key], "not reported: " .. key) end
  for key in pairs(reported) do assert(seen[key], "reported wrongly: " .. key) end
  return next(seen) ~= nil
end

-- ---- whole years of prices ----

local function season_on(side, date)
  return oracle.seasons_of(side, date.month, date.day)[1] or oracle.seasons_of(side, 2, 28)[1]
end

-- What each minute of the week of each season should have. Minutes of one label share what they have.
local function wanted_of(side)
  local out = {}
  for name in pairs(side.seasons) do
    local week, by_label, wanted = oracle.week(side.seasons[name]), {}, {}
    for minute = 0, 10079 do
      local label = week[minute][1]
      by_label[label] = by_label[label] or { season = name, label = label, price = oracle.price(side, name, label) }
      wanted[minute] = by_label[label]
    end
    out[name] = wanted
  end
  return out
end

local function check_moment(at, wanted, date, minute)
  if at.price == wanted.price and at.season == wanted.season and at.label == wanted.label then return end
  error(string.format("%02d-%02d minute %d: expected %s/%s %s, got %s/%s %s", date.month, date.day, minute, wanted.season,
    wanted.label, wanted.price, at.season, at.label, at.price))
end

-- Every segment's answer holds for every minute in it, and the segments follow each other without a gap.
local function check_year(t, year, weekday)
  local wanted = { buy = wanted_of(t), sell = wanted_of(t.sell_tariff) }
  local segments = assert(tariff.new(t)):segments({ year = year, month = 1, day = 1 }, { year = year + 1, month = 1, day = 1 })
  assert.same({ year = year, month = 1, day = 1, hour = 0, min = 0 }, segments[1].from)
  local i, total = 1, 0
  local checked, buy, sell -- what was compared last: the next minute is often the same
  for _, day in ipairs(oracle.days()) do
    local date = { month = day[1], day = day[2] }
    local buys, sells = wanted.buy[season_on(t, date)], wanted.sell[season_on(t.sell_tariff, date)]
    if year % 4 == 0 or date.month ~= 2 or date.day ~= 29 then
      for minute = 0, 1439 do
        local to = segments[i].to
        if to.month == date.month and to.day == date.day and to.hour * 60 + to.min == minute and total > 0 then
          i = i + 1
          assert.same(to, segments[i].from)
        end
        local b, s = buys[weekday * 1440 + minute], sells[weekday * 1440 + minute]
        if checked ~= segments[i] or b ~= buy or s ~= sell then
          check_moment(segments[i].buy, b, date, minute)
          check_moment(segments[i].sell, s, date, minute)
          checked, buy, sell = segments[i], b, s
        end
        total = total + 1
      end
      weekday = (weekday + 1) % 7
    end
  end
  assert.equal(#segments, i)
  return total
end

-- Raised minutes of the report against the two prices of every minute of every day's season pair.
local function check_raises(t)
  local reported, seen = {}, {}
  for _, n in ipairs(tariff.check(t).normalisations) do
    for _, span in ipairs(n.spans) do
      oracle.minutes(span, function(minute)
        reported[string.format("%s %s %d %s %s %s %s", n.buy_season, n.sell_season, minute, n.buy_label, n.sell_label, n.buy,
          n.buy_becomes)] = true
      end)
    end
  end
  local pairs_done, buys, sells = {}, wanted_of(t), wanted_of(t.sell_tariff)
  for _, date in ipairs(oracle.days()) do
    local buy = oracle.seasons_of(t, date[1], date[2])[1]
    local sell = oracle.seasons_of(t.sell_tariff, date[1], date[2])[1]
    local key = tostring(buy) .. "/" .. tostring(sell)
    if buy and sell and not pairs_done[key] then
      pairs_done[key] = true
      for minute = 0, 10079 do
        local b, s = buys[buy][minute], sells[sell][minute]
        if b.price < s.price then
          seen[string.format("%s %s %d %s %s %s %s", buy, sell, minute, b.label, s.label, b.price, s.price)] = true
        end
      end
    end
  end
  for key in pairs(seen) do assert(reported[key], "not reported: " .. key) end
  for key in pairs(reported) do assert(seen[key], "reported wrongly: " .. key) end
  return next(seen) ~= nil
end

describe("against a minute-by-minute oracle", function()
  it("every gap and overlap is reported, minute for minute and day for day, and nothing else is", function()
    local faulty = 0
    for seed = 1, 12 do
      assert.is_false(compare(oracle.tariff(seed, true)))
      for _, t in ipairs { oracle.tariff(seed), oracle.damaged(seed) } do
        if compare(t) then faulty = faulty + 1 end
      end
    end
    assert.is_true(faulty > 12)
  end)

  it("every minute of a common and of a leap year has the oracle's price, season and label", function()
    assert.equal(365 * 1440, check_year(oracle.tariff(3, true), 2025, 2)) -- begins on a Wednesday
    assert.equal(366 * 1440, check_year(oracle.tariff(4, true), 2028, 5)) -- and on a Saturday
  end)

  it("every minute at which buying is below selling is reported with both prices", function()
    local raised = 0
    for seed = 1, 12 do
      if check_raises(oracle.tariff(seed, true)) then raised = raised + 1 end
    end
    assert.is_true(raised > 5)
  end)

  it("a normalised tariff is valid, needs no change and has the higher of both prices at every moment", function()
    for seed = 1, 12 do
      local t = assert(tariff.new(oracle.tariff(seed, true)))
      local n = t:normalised()
      assert.same({}, n:report().normalisations)
      local from, to = { year = 2027, month = 1, day = 1 }, { year = 2028, month = 1, day = 1 }
      for _, s in ipairs(t:segments(from, to)) do
        assert.equal(math.max(s.buy.price, s.sell.price), n:price(s.from).buy.price)
      end
      for _, s in ipairs(n:segments(from, to)) do
        local before = t:price(s.from)
        assert.equal(math.max(before.buy.price, before.sell.price), s.buy.price)
        assert.equal(before.sell.price, s.sell.price)
      end
    end
  end)
end)
