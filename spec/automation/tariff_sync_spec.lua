-- tariff_sync over a simulated October: only differences are sent, with pacing.

local fleet = require "fleet"
local months = require "spec.support.fixtures.month"

local function curve(day)
  local prices = {}
  for hour = 0, 23 do prices[hour + 1] = 0.2 + (hour % 6) * 0.01 * (day % 3 + 1) end
  return { currency = "EUR", name = "Day " .. day % 3, time_zone = "Europe/Berlin", prices = prices, labels = 4 }
end

local function rehearse(options, more)
  local given = { from = "2026-10-01", days = 31, tariff = nil, habits = {}, automation = function(_, site)
    local own = { site = site, every = 3600 }
    for name, value in pairs(options) do own[name] = value end
    return fleet.automation.tariff_sync(own)
  end }
  for name, value in pairs(more or {}) do given[name] = value end
  return months.of(given)
end

local function day_of(now) return math.floor(now / 86400) end

describe("tariff_sync over October 2026", function()
  it("sends each day's prices once, and none that are in force", function()
    local month = rehearse { prices = function(now) return curve(day_of(now)) end }
    assert.equal(32, month:sent("time_of_use_settings")) -- 31 local days touch 32 days of UTC
    assert.is_nil(month.calls.data)
    assert.equal(0, month.usd)
  end)

  it("sends once what does not change", function()
    assert.equal(1, rehearse({ prices = curve(1) }, { days = 9 }):sent())
  end)

  it("delays changes that come too fast", function()
    local month = rehearse({ prices = function(now) return curve(math.floor(now / 3600)) end, min_gap = 21600 }, { days = 4 })
    assert.is_true(month:sent() <= 4 * 4 + 1, tostring(month:sent()))
    assert.matches("new prices wait: the last change was sent less than 6 hours ago", months.said(month))
  end)

  it("never sends what the app would flag, and says what is wrong", function()
    local month = rehearse({ prices = { currency = "XYZ", time_zone = "Europe/Berlin", prices = curve(1).prices } }, { days = 2 })
    assert.equal(0, month:sent())
    assert.matches("no prices to send: .*currency", months.said(month))
  end)

  it("sends prices in another currency, and from rows of several seasons", function()
    local prices = { currency = "AUD", time_zone = "Europe/Berlin", prices = curve(1).prices }
    assert.equal(1, rehearse({ prices = prices, any_currency = true }, { days = 2 }):sent())
    local rows = { { season = "S", price = 0.2 }, { season = "W", price = 0.3 } }
    local seasons = { S = { from = "04-01", to = "09-30" }, W = { from = "10-01", to = "03-31" } }
    assert.equal(1, rehearse({ prices = { currency = "EUR", rows = rows, seasons = seasons } }, { days = 2 }):sent())
  end)

  it("keeps the old prices while none arrive", function()
    local month = rehearse({ prices = function(now)
      if now > fleet.time("2026-10-02T00:00:00Z") then return nil, "the exchange is silent" end
      return curve(1)
    end }, { days = 3 })
    assert.equal(1, month:sent())
    assert.matches("no prices to send: the exchange is silent", months.said(month))
  end)

  it("restores prices that another person changed, after a day", function()
    local function meddle(world) world.site.info.tariff_content_v2 = nil end
    local month = rehearse({ prices = curve(1) }, { days = 4, habits = { { "12:00", meddle, date = "2026-10-02" } } })
    assert.equal(2, month:sent())
  end)

  it("tries again after the service was down", function()
    local month = rehearse({ prices = curve(1) }, { days = 2, start = fleet.time("2026-10-01T08:00:00+02:00"), habits = {
      { "08:01", "service_down", date = "2026-10-01" }, { "09:30", "service_up", date = "2026-10-01" },
    } })
    assert.equal(1, month:sent())
  end)
end)
