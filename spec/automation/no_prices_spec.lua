-- charge_by without prices, and with a feed that fails at some moment: one stretch before the time, at the cost of an ordinary night,
-- and the sentence says why.

local fleet = require "fleet"
local months = require "spec.support.fixtures.month"

local zone = "Europe/Berlin"
local tariff = assert(fleet.tariff.from_rows { currency = "EUR", name = "q", time_zone = zone, rows = {
  { from = "00:00", to = "01:00", price = 0.3 }, { from = "01:00", to = "04:00", price = 0.1 },
  { from = "04:00", to = "24:00", price = 0.3 },
} })

-- A June of charge_by with this option tariff. Returns the report, the notifications, and the reasons.
local function june(prices, more)
  local notified = {}
  local report = months.of { from = "2026-06-01", days = more and more.days or 30, tariff = tariff,
    habits = { { "18:00", "plug" }, { "07:30", "leave", miles = 60 } }, automation = function(car)
      local given = { car = car, ready_by = "07:00", level = 80, tariff = prices, zone = zone, wake = true,
        notify = function(event) notified[#notified + 1] = event.text end }
      for name, value in pairs(more or {}) do if name ~= "days" then given[name] = value end end
      return fleet.automation.charge_by(given)
    end }
  return report, table.concat(notified, "\n"), months.said(report)
end

local function without_zone() return (assert(fleet.tariff.flat { price = 0.3, currency = "EUR" })) end

describe("charge_by", function()
  for what, case in pairs {
    ["no tariff"] = { nil, "there are no prices" },
    ["a feed that raises"] = { function() error("the exchange is closed", 0) end, "no new prices: the exchange is closed" },
    ["a feed that gives nil and why"] = { function() return nil, "no answer yet" end, "no new prices: no answer yet" },
    ["a feed that gives nothing"] = { function() end, "no new prices: it gave none" },
    ["a feed that gives text"] = { function() return "0.30" end, "no new prices: it gave a string, not a tariff object" },
    ["a tariff without a zone"] = { without_zone, "no new prices: its tariff has no time_zone" },
  } do
    for _, schedules in ipairs { true, false } do
      it("is ready with " .. what .. ", by " .. (schedules and "schedules" or "commands") .. ", in one stretch a night", function()
        local report, notified, reasons = june(case[1], { schedules = schedules })
        assert.same({ 30, 30 }, { report:ready_days(80) })
        assert.is_true(report.calls.data <= 150, tostring(report.calls.data))
        assert.is_true(report:sent() <= 30 * 3 + 5, tostring(report:sent()))
        assert.is_true(report.usd <= (schedules and 0.3 or 1), tostring(report.usd))
        assert.matches(case[2], reasons, 1, true)
        assert.matches("in the last hours", reasons, 1, true)
        assert.is_nil(string.find(reasons, "it is cheapest", 1, true))
        local count = select(2, string.gsub(notified, "no new prices", ""))
        assert.is_true(case[1] == nil and count == 0 or case[1] ~= nil and count >= 29 and count <= 31, tostring(count))
        assert.is_nil(string.find(notified, "too short", 1, true))
      end)
    end
  end

  it("says nothing of prices where they are there", function()
    local _, notified, reasons = june(function() return tariff end, { days = 3 })
    assert.equal("", notified)
    assert.is_nil(string.find(reasons, "prices", 1, true))
  end)

  -- The feed fails from one moment to another.
  local function failing(from, to)
    from, to = fleet.time(from), fleet.time(to)
    return function(now)
      if now >= from and now < to then error("away", 0) end
      return tariff
    end
  end

  it("keeps the last prices until midnight", function()
    local _, notified, reasons = june(failing("2026-06-02T17:00:00+02:00", "2026-06-02T23:30:00+02:00"), { days = 3 })
    assert.matches(
      "charging until 19:12, then 01:00-04:00 tonight, ready by 07:00, about 2.21 EUR: from 60 % to 80 %; "
        .. "no new prices: away; the last ones hold until midnight",
      reasons, 1, true)
    assert.equal("no new prices: away; the last ones hold until midnight", notified)
  end)

  for hour = 0, 23, 3 do
    it("is ready when the feed fails from hour " .. hour .. " for nine hours", function()
      local from = fleet.time "2026-06-02T00:00:00+02:00" + hour * 3600
      for _, schedules in ipairs { true, false } do
        local report = june(function(now)
          if now >= from and now < from + 9 * 3600 then return nil, "away" end
          return tariff
        end, { days = 4, schedules = schedules })
        assert.same({ 4, 4 }, { report:ready_days(80) })
        assert.is_true(report.calls.data <= 40, tostring(report.calls.data))
        assert.same({}, months.wasted(report))
      end
    end)
  end
end)
