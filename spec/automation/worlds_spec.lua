-- charge_by in random worlds: 12 of ten days here, 2,000 of a month in `make torture` (spec/torture/worlds.lua). Numbers that once broke
-- something come first.

local worlds = require "spec.support.fixtures.worlds"

local count = tonumber(os.getenv("FLEET_WORLDS") or "12")

-- 1: the end of the check-in ended charging. 3: a plan by command was taken over by schedules that were never written. 8: a plan that began
-- before the car came hid when it comes. 20: a look before the car was home counted as the look of the night. 56: a car that had
-- charged by hand and slept was never looked at again. 61: the hour that the clock repeats was taken for the owner's hand. 160: one long
-- first night, and a check-in before the car usually comes: it charged in the dear evening, and nobody looked.
local kept = { 1, 3, 8, 20, 56, 61, 160 }

-- What broke later than in ten days, { number, days }. 7: a check-in at which the service was down was taken for a car that is not there.
-- 11: a car that came while its schedule was under way did not begin.
local longer = { { 7, 14 }, { 11, 28 } }

-- Owners who interfere every other day. 7, 18: charging that the owner had begun between two looks was taken for the plan's. 27: a start
-- two minutes before the check-in was taken for the check-in. 59: a start after our own one was taken for ours.
local handled = { 7, 18, 27, 59 }

-- Started and stopped. 9: the day of 25 hours was taken for one of 24, and the car charged an hour in the dear evening. 103: a car that
-- never sleeps was found hours after it came. 105: one that had left unseen was taken to be at the plug still. 111: two scraps of a plan
-- were left out, and nothing of it was left.
local started = { 9, 103, 105, 111 }

local function check(seed, kind, days)
  local world = worlds[kind or "of"](seed, days)
  local broken, ratio, usd = worlds.broken(world, worlds.rehearse(world))
  if broken then broken = string.format("world %d: %s; shrunk: %s", seed, broken, worlds.shrunk(world)) end
  assert.is_nil(broken)
  return ratio, usd
end

describe("charge_by in random worlds", function()
  for _, seed in ipairs(kept) do
    it("keeps what once broke in world " .. seed, function() check(seed) end)
  end

  for _, one in ipairs(longer) do
    it("keeps what once broke in world " .. one[1] .. " of " .. one[2] .. " days", function() check(one[1], "of", one[2]) end)
  end

  for _, seed in ipairs(handled) do
    it("leaves the owner his hand in world " .. seed, function() check(seed, "handled") end)
  end

  it("comes within 3 % of the optimum also where it starts and stops the car", function()
    local ratios = 0
    for _, seed in ipairs(started) do ratios = ratios + check(seed, "started") end
    assert.is_true(ratios / #started <= 1.03, tostring(ratios / #started))
  end)

  it("comes within 3 % of the optimum with the one time of day of older firmware", function()
    local ratios = 0
    for seed = 1, 3 do ratios = ratios + check(seed, "older") end
    assert.is_true(ratios / 3 <= 1.03, tostring(ratios / 3))
  end)

  it("wakes nobody without leave", function()
    for seed = 1, 3 do
      local world = worlds.of(seed)
      world.wake = false
      assert.is_nil(worlds.rehearse(world).calls.wake)
    end
  end)

  it("is ready on every feasible day, obeys the owner, its cap and sleep, and comes within 3 % of the optimum on average", function()
    local ratios, dollars = 0, 0
    for seed = 101, 100 + count do
      local ratio, usd = check(seed)
      ratios, dollars = ratios + ratio, dollars + usd
    end
    assert.is_true(ratios / count <= 1.03, tostring(ratios / count))
    assert.is_true(dollars / count <= 0.25, tostring(dollars / count)) -- ten days each, of which two or three are for learning
  end)
end)
