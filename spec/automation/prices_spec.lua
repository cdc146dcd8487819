-- The three examples that turn published prices into a tariff, on the days on which the clock changes: 23 and 25 hours, 92 and 100 quarter
-- hours. A price is compared at its own moment, not by its place in a list.

local fleet = require "fleet"

-- The function that an example returns; what it prints is not wanted here.
local function example(name)
  local quiet = setmetatable({ print = function() end }, { __index = _G })
  local chunk
  if setfenv then -- luacheck: ignore
    chunk = setfenv(assert(loadfile("examples/" .. name .. ".lua")), quiet) -- luacheck: ignore
  else
    chunk = assert(loadfile("examples/" .. name .. ".lua", "t", quiet))
  end
  return chunk()
end

local spring, autumn = "2026-03-29T00:00:00+01:00", "2026-10-25T00:00:00+02:00"

local function numbered(count)
  local list = {}
  for i = 1, count do list[i] = i end
  return list
end

describe("prices of a day-ahead market", function()
  local spot = example "prices_spot"

  for _, case in ipairs {
    { "23 hours", spring, 23, 3600, "2026-03-30T00:00:00+02:00" }, { "92 quarter hours", spring, 92, 900, "2026-03-30T00:00:00+02:00" },
    { "25 hours", autumn, 25, 3600, "2026-10-26T00:00:00+01:00" }, { "100 quarter hours", autumn, 100, 900, "2026-10-26T00:00:00+01:00" },
    { "24 hours", "2026-05-11T00:00:00+02:00", 24, 3600, "2026-05-12T00:00:00+02:00" },
    { "96 quarter hours", "2026-05-11T00:00:00+02:00", 96, 900, "2026-05-12T00:00:00+02:00" },
  } do
    it("of " .. case[1] .. " are paid at their own moments", function()
      local begins, count, step = fleet.time(case[2]), case[3], case[4]
      local days = { { date = case[2], prices = numbered(count) }, { date = case[5], prices = numbered(24) } }
      local tariff = assert(spot(begins, days, 0))
      local per_hour, repeated = 3600 / step, count * step == 25 * 3600
      for i = 1, count do
        local at = begins + (i - 1) * step
        local wanted = i
        local hour = math.floor((i - 1) / per_hour)
        if repeated and hour == 2 then wanted = i + per_hour end -- the dearer of the two
        assert.near(wanted / 100, tariff:price(at + 1).buy.price, 1e-9, tostring(i))
      end
    end)
  end

  it("of one day are no tariff while the next one is not published", function()
    assert.is_nil((spot(fleet.time(spring) + 6 * 3600, { { date = spring, prices = numbered(23) } }, 0)))
  end)
end)

describe("half-hourly rates", function()
  local half_hourly = example "prices_half_hourly"

  for name, from in pairs { summer = "2026-07-01T00:00:00Z", winter = "2026-01-10T00:00:00Z", spring = "2026-03-29T00:00:00Z",
    autumn = "2026-10-24T23:00:00Z" } do
    it("of a day in " .. name .. " are paid at their own moments", function()
      local rates, begins = {}, fleet.time(from)
      for i = 0, 51 do
        local at = begins + i * 1800
        table.insert(rates, 1, { value_inc_vat = i + 1, valid_from = os.date("!%Y-%m-%dT%H:%M:%SZ", at) })
      end
      local tariff = assert(half_hourly(begins, rates))
      for i = 0, name == "spring" and 45 or name == "autumn" and 49 or 47 do
        local wanted = i + 1
        if name == "autumn" and (i == 2 or i == 3) then wanted = wanted + 2 end -- 01:00 comes twice
        assert.near(wanted / 100, tariff:price(begins + i * 1800 + 1).buy.price, 1e-9, tostring(i))
      end
    end)
  end
end)

describe("prices of a plain file", function()
  it("go by the clock on the wall, also where it changes", function()
    local tariff = assert(example "prices_csv"("00:00;0,19\n05:00;0,31\n17:00;0,42\n21:00;0,26\n", "Europe/Berlin", "EUR"))
    for text, price in pairs {
      ["2026-03-29T01:59:00+01:00"] = 0.19, ["2026-03-29T04:59:00+02:00"] = 0.19, ["2026-03-29T05:00:00+02:00"] = 0.31,
      ["2026-10-25T02:30:00+02:00"] = 0.19, ["2026-10-25T02:30:00+01:00"] = 0.19, ["2026-10-25T05:00:00+01:00"] = 0.31,
    } do assert.near(price, tariff:price(fleet.time(text)).buy.price, 1e-9, text) end
  end)
end)
