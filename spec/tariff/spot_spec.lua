-- Spot prices of a feed as a tariff: whole days and weeks only, by the wall clock of the site.

local fleet = require "fleet"

local HOUR = 3600

-- Prices from a moment on, in steps of so many minutes: the first costs 0.01.
local function feed(from, count, minutes)
  local list, start = {}, fleet.time(from)
  for i = 1, count do list[i] = { start = start + (i - 1) * minutes * 60, price = i / 100 } end
  return list
end

local function without(list, ...)
  for _, i in ipairs { ... } do table.remove(list, i) end
  return list
end

local function tariff(spot, more)
  local options = { currency = "EUR", name = "Spot", time_zone = "Europe/Berlin", spot = spot }
  for name, value in pairs(more or {}) do options[name] = value end
  return fleet.tariff.from_rows(options)
end

local function refused(text, spot, more)
  local made, err, kind = tariff(spot, more)
  assert.is_nil(made, text)
  assert.equal("invalid", kind)
  assert.matches(text, tostring(err), 1, true)
end

local function price(t, hour, min)
  return t:price({ year = 2026, month = 1, day = 1, hour = hour, min = min or 0 }).buy.price
end

local midnight = "2026-06-10T00:00:00+02:00"

describe("spot prices", function()
  it("are taken in hours, half hours, quarters and five minutes, and may change from one to the other once", function()
    for _, minutes in ipairs { 60, 30, 15, 5 } do
      local t = assert(tariff(feed(midnight, 1440 / minutes, minutes)))
      assert.equal(24 * 60 / minutes / 100, price(t, 23, 59))
    end
    local mixed = feed(midnight, 12, 60)
    for _, one in ipairs(feed("2026-06-10T12:00:00+02:00", 48, 15)) do mixed[#mixed + 1] = one end
    local t = assert(tariff(mixed))
    assert.same({ 0.12, 0.01, 0.48 }, { price(t, 11, 59), price(t, 12), price(t, 23, 59) })
  end)

  it("with a missing price are refused with its hour", function()
    refused("2026-06-10 05:00 to 2026-06-10 06:00", without(feed(midnight, 24, 60), 6))
    refused("2026-06-10 00:30 to 2026-06-10 00:45", without(feed(midnight, 96, 15), 3))
    refused("2026-06-10 00:15 to 2026-06-10 00:30", without(feed(midnight, 96, 15), 2))
    refused("2026-06-10 23:30 to 2026-06-10 23:45", without(feed(midnight, 96, 15), 95))
    refused("2026-06-10 12:00 to 2026-06-10 12:30", without(feed(midnight, 96, 15), 50, 49))
    refused("2026-06-10 00:30 to 2026-06-10 00:45", without(feed(midnight, 96, 15), 5, 3))
    refused("2026-06-11 00:00", without(feed(midnight, 24, 60), 1))
    refused("2026-06-10 23:00 to 2026-06-11 00:00", without(feed(midnight, 24, 60), 24))
    local every_second, thirds = {}, {}
    for i, one in ipairs(feed(midnight, 24, 60)) do if i % 2 == 1 then every_second[#every_second + 1] = one end end
    refused("2026-06-10 01:00 to 2026-06-10 02:00", every_second)
    for i, one in ipairs(feed(midnight, 96, 15)) do if i % 4 > 0 then thirds[#thirds + 1] = one end end
    refused("2026-06-10 00:45 to 2026-06-10 01:00", thirds)
    refused("minutes", feed(midnight, 32, 45))
  end)

  it("of a week with a missing hour are refused with the hour", function()
    assert(tariff(feed("2026-06-08T00:00:00+02:00", 168, 60)))
    refused("2026-06-10 02:00 to 2026-06-10 03:00", without(feed("2026-06-08T00:00:00+02:00", 168, 60), 51))
    refused("2026-06-14 23:00 to 2026-06-15 00:00", without(feed("2026-06-08T00:00:00+02:00", 168, 60), 168))
  end)

  it("hold as long as they say", function()
    local blocks = feed(midnight, 6, 240)
    refused("2026-06-10 01:00 to 2026-06-10 04:00", blocks)
    for _, one in ipairs(blocks) do one.minutes = 240 end
    assert.equal(0.02, price(assert(tariff(blocks)), 7, 59))
    blocks[2].minutes = 180
    refused("2026-06-10 07:00 to 2026-06-10 08:00", blocks)
    blocks[2].minutes = 300
    refused("spot price 3 begins before the one before it ends", blocks)
  end)

  it("of more than a day are refused by their hours, or one day is taken from a moment on", function()
    for _, hours in ipairs { 25, 26, 34, 48, 72, 170 } do refused(hours .. " hours", feed(midnight, hours, 60)) end
    for _, hours in ipairs { 12, 22, 23 } do refused("no spot price covers", feed(midnight, hours, 60)) end
    local from = fleet.time "2026-06-10T14:17:30+02:00"
    local t = assert(tariff(feed(midnight, 48, 60), { from = from }))
    assert.same({ 0.15, 0.24, 0.25, 0.38 }, { price(t, 14), price(t, 23), price(t, 0), price(t, 13, 59) })
    refused("2026-06-11 10:00 to 2026-06-11 14:00", feed(midnight, 34, 60), { from = from })
    refused("2026-06-09 14:17 to 2026-06-10 00:00", feed(midnight, 48, 60), { from = from - 24 * HOUR })
    assert.has_error(function() tariff(feed(midnight, 24, 60), { from = "now" }) end)
    assert(tariff(without(feed(midnight, 72, 60), 70, 5), { from = from })) -- the prices that are missing are not asked for
    refused("2026-06-10 15:00 to 2026-06-10 16:00", without(feed(midnight, 72, 60), 16), { from = from })
  end)

  it("follow the clock where it changes: a mean only of the hour that it repeats", function()
    local long = assert(tariff(feed("2026-10-25T00:00:00+02:00", 25, 60)))
    assert.same({ 0.02, 0.035, 0.05 }, { price(long, 1), price(long, 2), price(long, 3) })
    local short = assert(tariff(feed("2026-03-29T00:00:00+01:00", 23, 60)))
    assert.same({ 0.02, 0.02, 0.03 }, { price(short, 1), price(short, 2), price(short, 3) })
  end)

  it("of the 24 hours around a change of the clock have each hour of one day", function()
    local spring = assert(tariff(feed("2026-03-28T14:00:00+01:00", 24, 60)))
    assert.equal(0.01, price(spring, 14)) -- the 24th hour is that of the next day
    refused("2026-10-25 13:00 to 2026-10-25 14:00", feed("2026-10-24T14:00:00+02:00", 24, 60))
    local fall = assert(tariff(feed("2026-10-24T14:00:00+02:00", 36, 60), { from = fleet.time "2026-10-24T14:00:00+02:00" }))
    assert.same({ 0.01, 0.25, 0.135 }, { price(fall, 14), price(fall, 13), price(fall, 2) })
  end)

  it("that begin some seconds late begin with their minute", function()
    for _, late in ipairs { 1, 29, -1, 0.25 } do
      local spot = feed(midnight, 48, 30)
      for _, one in ipairs(spot) do one.start = one.start + late end
      local t = assert(tariff(spot))
      assert.same({ 0.01, 0.02, 0.03, 0.48 }, { price(t, 0, 29), price(t, 0, 30), price(t, 1), price(t, 23, 59) }, late)
    end
  end)

  it("may bring sell prices", function()
    local spot = feed(midnight, 24, 60)
    for _, one in ipairs(spot) do one.sell = one.price / 2 end
    local t = assert(tariff(spot))
    assert.equal(0.03, t:price({ year = 2026, month = 1, day = 1, hour = 5 }).sell.price)
    assert.has_error(function() tariff(spot, { sell_prices = { 0.1 }, step = 1440 }) end)
    spot[7].sell = nil
    refused("spot price 7 has no sell price", spot)
  end)

  it("of a feed that are no prices are an error and raise nothing", function()
    refused("spot price 1 must be", { 5, 6 })
    refused("there is no spot price", {})
    refused("one spot price is no day", feed(midnight, 1, 60))
    refused("does not begin after", { feed(midnight, 2, 60)[2], feed(midnight, 2, 60)[1] })
    for _, odd in ipairs { { start = "x" }, { price = "0.1" }, { price = 0 / 0 }, { price = math.huge }, { start = 1e300 }, { sell = "x" },
      { minutes = "60" }, { minutes = -5 }, { start = -1e18 } } do
      local spot = feed(midnight, 24, 60)
      for name, value in pairs(odd) do spot[3][name] = value end
      refused("spot price 3 must be", spot)
    end
  end)

  it("in another currency need the caller's word", function()
    refused("AUD", feed(midnight, 24, 60), { currency = "AUD" })
    assert(tariff(feed(midnight, 24, 60), { currency = "AUD", any_currency = true }))
    assert.is_nil((fleet.tariff.flat { price = 1, currency = "AUD" }))
    assert.equal("AUD", assert(fleet.tariff.flat { price = 1, currency = "AUD", any_currency = true }).currency)
    assert(fleet.tariff.flat { price = 1, any_currency = true })
  end)
end)

describe("a row", function()
  it("whose price is text is refused by what it is", function()
    local function message(row)
      local _, err = pcall(fleet.tariff.from_rows, { currency = "EUR", rows = { row } })
      return tostring(err)
    end
    assert.matches("row 1: 'price' must be a number, got a string", message { price = "0.125" }, 1, true)
    assert.matches("row 1: 'sell' must be a number, got a string", message { price = 0.1, sell = "0.1" }, 1, true)
    assert.matches("row 1 has no 'price'", message {}, 1, true)
  end)
end)
