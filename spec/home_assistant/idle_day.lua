-- A day of a simulated house at rest, as the messages of the bridge: a JSON object { at, topic, payload } a line. The car sleeps, the
-- sun shines, the schedule is that of the options' defaults. Virtual time: it takes seconds.

local fleet = require "fleet"
local core = require "fleet.core"
local houses = require "spec.support.fixtures.mqtt_house"

local midnight = 1780264800 -- 2026-06-01T00:00 in Berlin

local house = houses.new { start = midnight, vehicle = { state = "asleep" } }
house:run(function()
  house:start { site_every = 60, location = true }
  fleet.sleep(86400)
  for _, message in ipairs(house.broker.log) do
    print(core.json_encode { at = message.at - midnight, topic = message.topic, payload = message.payload })
  end
end)
