-- The next time of day on the clock of a wall, however it is asked for.

local core = require "fleet.core"
local generators = require "spec.support.fixtures.generator"
local local_time = require "fleet.automation.local_time"

-- Clocks change in these days, in Sydney with half an hour on Lord Howe Island.
local spans = {
  { "Europe/Berlin", "2026-03-28T00:00:00Z" }, { "Europe/Berlin", "2026-10-24T00:00:00Z" }, { "America/New_York", "2026-03-07T00:00:00Z" },
  { "Australia/Lord_Howe", "2026-04-04T00:00:00Z" },
}

describe("the next moment of a time of day", function()
  for _, span in ipairs(spans) do
    it("is the same for who has asked before as for who asks for the first time: " .. span[1] .. " from " .. span[2], function()
      local g, from = generators.new(7), require("fleet").time(span[2])
      local zone, different = local_time.zone(span[1]), {}
      for _ = 1, 3000 do
        local at, minutes = from + g.below(3 * 86400), g.pick { 0, 60, 120, 150, 420, 1439 }
        local moment = local_time.next(zone, at, minutes)
        assert.equal(local_time.next(core.zone(span[1]), at, minutes), moment)
        assert.is_true(moment > at and moment - at <= 25.5 * 3600)
        different[moment] = true
      end
      local count = 0
      for _ in pairs(different) do count = count + 1 end
      assert.is_true(count >= 18, tostring(count))
    end)
  end
end)
