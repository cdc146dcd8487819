-- A week of each automation by looks and by the stream: the car is as ready, the same is commanded, and it costs less. The month is in
-- doc/manual/rehearsal.md.

local months = require "spec.support.fixtures.streamed_months"

describe("a week by the stream beside a week by looks:", function()
  for _, one in ipairs(months.list) do
    it(one.name, function()
      local looks, stream = months.compared(one, 7)
      if one.amps_follow then looks.commands.set_charging_amps, stream.commands.set_charging_amps = nil, nil end
      assert.same(looks.commands, stream.commands)
      assert.same({ looks.ready, looks.days, 0 }, { stream.ready, stream.days, looks.signals })
      assert.is_true(looks.days == 7 and stream.signals > 0)
      assert.is_true(stream.looks < looks.looks, stream.looks .. " looks by the stream, " .. looks.looks .. " without")
      assert.is_true(stream.wakes <= looks.wakes, stream.wakes .. " wakes by the stream, " .. looks.wakes .. " without")
      local most = one.saves_nothing and looks.usd * 1.25 or looks.usd
      assert.is_true(stream.usd < most, stream.usd .. " USD by the stream, " .. looks.usd .. " without")
    end)
  end
end)
