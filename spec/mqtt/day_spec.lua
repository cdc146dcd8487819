-- A day of a simulated house: what was said, what was billed and what was woken, against the record that is kept.

local days = require "spec.support.fixtures.mqtt_day"
local options = require "fleet.mqtt.options"
local schedule = require "fleet.mqtt.schedule"

local function text_of(differences)
  local shown = {}
  for i = 1, math.min(#differences, 20) do shown[i] = differences[i] end
  if #differences > 20 then shown[21] = "… " .. #differences .. " in all" end
  shown[#shown + 1] = "if that is meant: make mqtt-day"
  return table.concat(shown, "\n")
end

describe("a day of a house", function()
  local lines, house

  setup(function() lines, house = days.record() end)

  it("goes as it is recorded", function()
    local differences = days.differences(days.recorded(), lines)
    assert.is_true(#differences == 0, text_of(differences))
  end)

  it("costs what it should, wakes no car, and publishes little", function()
    assert.is_nil(house.calls.wake)
    assert.is_nil(house.calls.command)
    assert.same({}, house.commands)
    assert.is_true(house.calls.data >= 15 and house.calls.data <= 60, tostring(house.calls.data))
    local month = schedule.month(options.read { client = house.client, broker = "mqtt://b" }, 1)
    assert.is_true(house.calls.data <= month.looks / 30 * 2, house.calls.data .. " of " .. month.looks / 30)
    local of_car = 0
    for _, message in ipairs(house.broker.log) do
      if string.find(message.topic, "fleet/" .. require("spec.support.fixtures.mqtt_house").vin, 1, true) then of_car = of_car + 1 end
    end
    assert.is_true(of_car <= 600, tostring(of_car))
    assert.is_truthy(house:says "battery")
    assert.is_string(house:says "seen")
  end)
end)

describe("the comparison with a record", function()
  it("names what differs, and how often", function()
    assert.same({}, days.differences({ "a", "b", "b" }, { "b", "a", "b" }))
    assert.same({ "- b", "+ c", "+ c" }, days.differences({ "a", "b", "b" }, { "a", "b", "c", "c" }))
  end)

  it("notices another car", function()
    local differences = days.differences(days.recorded(), (days.record { sleep_after = 1e9 }))
    local text = table.concat(differences, "\n")
    assert.matches("\n%+ [%d:]+\tlook\t200", "\n" .. text)
    assert.matches("%- in all\tbilled calls\t38", text)
  end)
end)
