-- The instant of a change belongs to what follows. In a file of its own: a mistake here makes the questions about local times,
-- which walk from change to change, walk for ever.
local core = require "fleet.core"

describe("a change of local time", function()
  local zone = assert(core.zone "Europe/Berlin")

  -- The instant, the offsets before and at it, and the change that follows: listed in the zone's file, and by its rule.
  local changes = {
    { "listed", 528253200, 7200, 3600, 543978000 },
    { "by rule", 2531955600, 3600, 7200, 2550704400 },
  }
  for _, row in ipairs(changes) do
    it("begins at its instant, not after it: " .. row[1], function()
      assert.equal(row[3], zone:offset(row[2] - 1))
      assert.equal(row[4], zone:offset(row[2]))
    end)

    it("is not the change after itself: " .. row[1], function()
      assert.equal(row[2], zone:next(row[2] - 1))
      assert.equal(row[5], zone:next(row[2]))
    end)
  end
end)
