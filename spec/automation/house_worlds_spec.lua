-- The automations beside charge_by in random worlds: 4 of six days each here, 2,000 of a month in `make torture`
-- (spec/torture/worlds.lua).

local worlds = require "spec.support.fixtures.house_worlds"

local count = tonumber(os.getenv("FLEET_WORLDS") or "4")

local function check(kind, seed)
  local world = worlds.of(kind, seed)
  local broken = worlds.broken(world, worlds.rehearse(world))
  if broken then broken = string.format("%s in world %d: %s", kind, seed, broken) end
  assert.is_nil(broken)
end

-- What once broke something. keep_limit 1: the limit of last week, set again, counted as driven away already. surplus_charge
-- 4: the record of a sleeping car was looked at every two minutes by day. left_open 202: two commands of one decision were
-- below the cap each. storm_ready 121: after the storm the record of a sleeping car was looked at every ten minutes. keep_limit 193, 254:
-- the owner set, between two looks, another limit and the one of before: nobody can tell that from a limit that was never changed.
local kept = { keep_limit = { 1, 3, 193, 254 }, surplus_charge = { 4 }, left_open = { 202, 204 }, storm_ready = { 121 } }

for _, kind in ipairs(worlds.kinds) do
  describe(kind .. " in random worlds", function()
    for _, seed in ipairs(kept[kind] or {}) do
      it("keeps what once broke in world " .. seed, function() check(kind, seed) end)
    end

    it("respects the owner's changes, keeps the cap, wakes no car without permission and costs what it says", function()
      for seed = 101, 100 + count do check(kind, seed) end
    end)
  end)
end

it("a world in which a rule is broken is reported", function()
  local world = worlds.of("keep_limit", 1)
  local report = worlds.rehearse(world)
  world.cap = 0
  table.insert(report.commands, { at = report.from + 7200, name = "set_charge_limit", params = {}, result = true })
  assert.matches("more commands than the cap", worlds.broken(world, report), 1, true)
  world.cap, world.wake, report.calls.wake = 1000, false, 1
  table.remove(report.commands)
  assert.equal("a wake without leave", worlds.broken(world, report))
  report.haste, report.calls.wake = "it waits", nil
  assert.equal("decides without rest: it waits", worlds.broken(world, report))
  report.usd, report.haste = 9, nil
  assert.matches("calls for 9.00 USD", worlds.broken(world, report), 1, true)
  world.hands = { { what = "limit", at = report.from + 3600 } }
  table.insert(report.commands, 1, { at = report.from + 7200, name = "set_charge_limit", params = {}, result = true })
  assert.matches("after the owner's limit", worlds.broken(world, report), 1, true)
end)
