-- The discovery messages, checked against the documentation of the receiver.

local fleet = require "fleet"
local core = require "fleet.core"
local discovery = require "fleet.mqtt.discovery"
local entities = require "fleet.mqtt.entities"
local houses = require "spec.support.fixtures.mqtt_house"
local schema = require "spec.support.fixtures.discovery_schema"
local values = require "fleet.mqtt.values"

local vin, site = houses.vin, houses.site

local function with_house(given, fn)
  houses.new(given):run(function(house)
    local bridge = house:start(given and given.bridge)
    fleet.sleep(2)
    fn(house, bridge)
  end)
end

-- The discovery messages that lie at the broker, decoded.
local function found(house)
  local messages, count = {}, 0
  for topic, payload in pairs(house.broker.retained) do
    if string.find(topic, "^homeassistant/") then messages[topic], count = core.json_decode(payload), count + 1 end
  end
  return messages, count
end

local function assert_sound(messages)
  local problems = {}
  for topic, message in pairs(messages) do
    for _, problem in ipairs(schema.problems(topic, message)) do problems[#problems + 1] = problem end
  end
  assert.same({}, problems)
end

-- Domoticz reads no templates of a climate entity (hardware/MQTTAutoDiscover.cpp): plain payloads reach it.
local function has_climate_template(component)
  for option in pairs(component) do
    if string.find(option, "_command_template$") then return true end
  end
  return false
end

local car_topic = "homeassistant/device/fleet_" .. vin .. "/config"

describe("discovery", function()
  it("is one message per car, site and account, as documented", function()
    local rare = {
      climate_state = { seat_heater_third_row_left = 0, seat_heater_third_row_right = 0 },
      vehicle_state = { sun_roof_state = "closed", sun_roof_percent_open = 0 },
    }
    with_house({ vehicle = rare, bridge = { location = true } }, function(house)
      local messages, count = found(house)
      assert.equal(3, count)
      assert_sound(messages)
      local components = messages[car_topic].components
      for _, row in ipairs(entities.car) do assert.equal(not row.plain, components[row.name] ~= nil, row.name) end
      local house_site = messages["homeassistant/device/fleet_" .. site .. "/config"].components
      for _, row in ipairs(entities.site) do
        local has_none = row.name == "price_sell" or row.name == "vpp_reserve"
        if not has_none then assert.is_table(house_site[row.name], row.name) end
      end
      assert.equal("EUR/kWh", house_site.price_buy.unit_of_measurement)
      assert.equal(16, components.charging_amps.max)
    end)
  end)

  it("is one message per entity where a host wants that", function()
    with_house({ bridge = { discovery = "component" } }, function(house)
      local messages, count = found(house)
      assert_sound(messages)
      assert.is_true(count >= 60, tostring(count))
      assert.is_table(messages["homeassistant/sensor/fleet_" .. vin .. "/battery/config"])
      assert.is_false(has_climate_template(messages["homeassistant/climate/fleet_" .. vin .. "/climate/config"]))
    end)
  end)

  it("offers nothing to change where nothing may be changed, and no place unless asked", function()
    with_house({ bridge = { commands = false } }, function(house)
      local messages = found(house)
      assert_sound(messages)
      local text = house.broker.retained[car_topic]
      assert.not_matches("command_topic", text)
      assert.is_nil(messages[car_topic].components.location)
      assert.equal("sensor", messages[car_topic].components.charge_limit_sensor.platform)
    end)
  end)

  it("gives no topic to two rows, and no id to two entities", function()
    with_house({}, function(house)
      local seen = {}
      for topic, message in pairs((found(house))) do
        for name, component in pairs(message.components) do
          assert.is_nil(seen[component.unique_id], topic .. " " .. name)
          seen[component.unique_id] = true
        end
      end
    end)
    local topics = {}
    for _, row in ipairs(entities.car) do
      assert.is_nil(topics[values.topic(row)], values.topic(row))
      topics[values.topic(row)] = true
    end
  end)

  it("takes names and areas from the options", function()
    with_house({ bridge = { names = { [vin] = "The old one", [vin .. "/battery"] = "Charge" }, areas = { [vin] = "Garage" } } },
      function(house)
        local message = found(house)[car_topic]
        assert.same({ "The old one", "Garage" }, { message.device.name, message.device.suggested_area })
        assert.equal("Charge", message.components.battery.name)
        assert.equal("Range", message.components.range.name)
      end)
  end)

  it("has the bridge's will as availability", function()
    with_house({}, function(house, bridge)
      local topic = found(house)[car_topic].availability[1].topic
      assert.equal("online", house.broker.retained[topic])
      house:stop(bridge)
      assert.equal("offline", house.broker.retained[topic])
    end)
  end)

  it("ends for a car that leaves, and nothing of it stays at the broker", function()
    with_house({}, function(house)
      local seen = 0
      house.after = function(request, answer)
        if not string.find(request.url, "/api/1/products", 1, true) then return nil end
        seen = seen + 1
        local body = core.json_decode(answer.body)
        for i = #body.response, 1, -1 do
          if body.response[i].vin == vin then table.remove(body.response, i) end
        end
        return { status = 200, headers = answer.headers, body = core.json_encode(body) }
      end
      fleet.sleep(150)
      assert.equal(1, seen)
      assert.is_string(house.broker.retained[car_topic]) -- one list may be wrong
      fleet.sleep(700)
      for topic in pairs(house.broker.retained) do assert.not_matches(vin, topic) end
      assert.is_string(house.broker.retained["homeassistant/device/fleet_" .. site .. "/config"])
    end)
  end)

  it("ends for a car that left while no bridge was here", function()
    houses.new():run(function(house)
      house:stop((function()
        local bridge = house:start()
        fleet.sleep(2)
        return bridge
      end)())
      assert.is_string(house.broker.retained[car_topic])
      house:start { vehicles = {} }
      fleet.sleep(8)
      for topic in pairs(house.broker.retained) do assert.not_matches(vin, topic) end
    end)
  end)
end)

describe("the check of discovery messages", function()
  it("notices what is wrong", function()
    with_house({}, function(house)
      local function problems(change)
        local message = core.json_decode(house.broker.retained[car_topic])
        change(message, message.components)
        return #schema.problems(car_topic, message)
      end
      assert.equal(0, problems(function() end))
      for i, change in ipairs {
        function(_, c) c.battery.payload_press = "x" end, function(_, c) c.battery.state_topic = nil end,
        function(_, c) c.range.unit_of_measurement = "furlong" end, function(_, c) c.lock.platform = "padlock" end,
        function(m) m.origin = nil end, function(m) m.device.identifiers = nil end, function(_, c) c.state.options = nil end,
        function(_, c) c.climate.modes[1] = "heat_cool" end, function(_, c) c.horn.command_topic = "a/#" end,
        function(_, c) c.charge_limit.min = 200 end, function(_, c) c.plug.device_class = "socket" end,
      } do
        assert.is_true(problems(change) > 0, "change " .. i)
      end
    end)
  end)
end)

describe("the same check", function()
  -- Every component of every message, broken in each way that its kind can be.
  local function ways(platform, component)
    local list = { { "unknown_option", "x" }, { "unique_id", nil }, { "name", nil }, { "entity_category", "main" } }
    for _, option in ipairs(schema.components[platform].needs) do list[#list + 1] = { option, nil } end
    for option in pairs(component) do
      if string.find(option, "_topic$") then list[#list + 1] = { option, "a/+/b" } end
      if string.find(option, "_template$") then list[#list + 1] = { option, "value" } end
    end
    if component.device_class then list[#list + 1] = { "device_class", "nonsense" } end
    return list
  end

  local function assert_noticed(topic, message, component, platform, where)
    for _, way in ipairs(ways(platform, component)) do
      local kept = component[way[1]]
      component[way[1]] = way[2]
      assert.is_true(#schema.problems(topic, message) > 0, where .. " with " .. way[1] .. " = " .. tostring(way[2]))
      component[way[1]] = kept
    end
    assert.same({}, schema.problems(topic, message))
  end

  it("notices each way in which one component can be broken", function()
    with_house({ bridge = { location = true } }, function(house)
      local checked = 0
      for topic, message in pairs((found(house))) do
        for name, component in pairs(message.components) do
          assert_noticed(topic, message, component, component.platform, name)
          checked = checked + 1
        end
        for _, part in ipairs { "device", "origin", "components" } do
          local kept = message[part]
          message[part] = nil
          assert.is_true(#schema.problems(topic, message) > 0, topic .. " without " .. part)
          message[part] = kept
        end
      end
      assert.is_true(checked >= 60, tostring(checked))
    end)
  end)

  it("notices it in messages of one entity, too", function()
    with_house({ bridge = { discovery = "component" } }, function(house)
      local topic = "homeassistant/sensor/fleet_" .. vin .. "/battery/config"
      local message = found(house)[topic]
      assert_noticed(topic, message, message, "sensor", "battery")
    end)
  end)
end)

describe("values", function()
  local row = {}
  for _, one in ipairs(entities.car) do row[values.topic(one)] = one end

  it("that are unknown are not published, and never as zero", function()
    for _, data in ipairs { {}, { charge_state = {} }, { charge_state = { battery_level = core.null } } } do
      assert.is_nil(values.text(row.battery, data))
      assert.is_nil(values.text(row.plug, data))
      assert.is_nil(values.text(row.charging, data))
    end
    assert.is_nil(values.text(row.lock, { vehicle_state = {} }))
    assert.is_nil(values.text(row.battery, { charge_state = { battery_level = 0 / 0 } }))
    assert.is_nil(values.text(row.charging_state, { charge_state = { charging_state = "<invalid>" } }))
    assert.is_nil(values.text(row["climate/preset_mode"], { climate_state = { climate_keeper_mode = "party" } }))
    assert.equal("0", values.text(row.battery, { charge_state = { battery_level = 0 } }))
  end)

  it("are written as hosts read them", function()
    assert.equal("12.5", values.text(row.range, { charge_state = { battery_range = 12.50 } }))
    assert.equal("ON", values.text(row.door_driver_front, { vehicle_state = { df = 1 } }))
    assert.equal("OFF", values.text(row.door_driver_front, { vehicle_state = { df = 0 } }))
    assert.equal("ON", values.text(row.charging, { charge_state = { charging_state = "Starting" } }))
    local long = values.text({ from = "a.b", component = "sensor" }, { a = { b = string.rep("é", 200) } })
    assert.equal(254, #long)
    assert.equal("é", string.sub(long, -2))
  end)

  it("have a point, whatever the host's locale writes", function()
    local format = string.format
    string.format = function(...) return (string.gsub(format(...), "%.", ",")) end -- luacheck: ignore 122
    local text = values.text(row.range, { charge_state = { battery_range = 12.50 } })
    string.format = format -- luacheck: ignore 122
    assert.equal("12.5", text)
  end)

  it("need a place before a position is published", function()
    assert.is_nil(values.location { drive_state = {} })
    assert.is_nil(values.location { drive_state = { latitude = core.null, longitude = 1 } })
    assert.is_nil(values.location { drive_state = { latitude = 0, longitude = 0 } }) -- what is said where the place is withheld
    assert.equal(52.5, values.location({ drive_state = { latitude = 52.5, longitude = 13 } }).latitude)
  end)

  it("come back from hosts as the call that the row names, and every one of them exists", function()
    local rows = require "fleet.call.rows"
    for _, kind in ipairs { "car", "site" } do
      for _, one in ipairs(entities[kind]) do
        for payload, call in pairs(one.calls or {}) do
          assert.is_table(rows.by_name[call[1]], one.name)
          assert.equal(call[1], values.call(one, payload).name)
        end
        if one.call then assert.is_table(rows.by_name[one.call], one.name) end
      end
    end
    assert.is_nil((values.call(row.battery, "5")))
    assert.is_true(discovery.has({ allowed = function() return true end }, { data = {} }, row.horn))
  end)
end)
