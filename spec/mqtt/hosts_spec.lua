-- Hosts that read discovery and do not run here: what their sources and documents ask of the messages, as rules.
--   Domoticz: hardware/MQTTAutoDiscover.cpp, September 2025: one message per entity, plain values, numbers by atof
--   openHAB: the documents and classes of the binding org.openhab.binding.mqtt.homeassistant, 2025

local fleet = require "fleet"
local core = require "fleet.core"
local houses = require "spec.support.fixtures.mqtt_house"

local vin, site = houses.vin, houses.site

local function words(text)
  local set = {}
  for word in string.gmatch(text, "%S+") do set[word] = true end
  return set
end

local hosts = {
  domoticz = {
    shows = words "sensor binary_sensor switch lock cover select climate button number",
    skips = words "device_tracker update event",
    needs = { sensor = "state_topic", binary_sensor = "state_topic", switch = "command_topic", lock = "command_topic",
      cover = "command_topic", select = "command_topic", climate = "temperature_command_topic", button = "command_topic",
      number = "state_topic" },
    no_templates = words "climate",
  },
  openhab = {
    shows = words "sensor binary_sensor switch lock cover select climate button number update device_tracker event", skips = {},
    needs = { sensor = "state_topic", binary_sensor = "state_topic", lock = "command_topic", number = "command_topic",
      select = "command_topic", button = "command_topic", switch = "command_topic" },
    no_templates = {},
  },
}

local function with_house(options, fn)
  houses.new({ vehicle = { charge_state = { conn_charge_cable = "IEC", charging_state = "Stopped" } } }):run(function(house)
    house:start(options)
    fleet.sleep(1)
    fn(house)
  end)
end

-- What a host would complain of, one line each.
local function complaints(host, retained)
  local list = {}
  for topic, payload in pairs(retained) do
    local kind, node, object = string.match(topic, "^homeassistant/([%w_]+)/([%w_-]+)/([%w_-]+)/config$")
    if string.find(topic, "^homeassistant/") and not (kind and node and object) then list[#list + 1] = "cannot read " .. topic end
    if kind and not host.shows[kind] and not host.skips[kind] then list[#list + 1] = "does not know " .. topic end
    local message = kind and core.json_decode(payload) or {}
    local needed = kind and host.needs[kind]
    if needed and not message[needed] then list[#list + 1] = topic .. " has no " .. needed end
    for name in pairs(message) do
      if host.no_templates[kind] and string.find(name, "_template$") then list[#list + 1] = topic .. " has " .. name end
    end
  end
  return list
end

describe("a host that is not run here", function()
  for name, host in pairs(hosts) do
    it(name .. " can read every discovery message", function()
      with_house({ discovery = "component", location = true }, function(house)
        assert.same({}, complaints(host, house.broker.retained))
      end)
    end)
  end

  it("is one whose rules notice the form of one message per device", function()
    with_house({}, function(house) assert.equal(3, #complaints(hosts.domoticz, house.broker.retained)) end)
    local wrong = { ["homeassistant/climate/a/b/config"] = '{"mode_command_template":"x"}', ["homeassistant/siren/a/b/config"] = "{}" }
    assert.equal(3, #complaints(hosts.domoticz, wrong))
  end)

  it("sends plain values, which are taken; others are refused with a sentence", function()
    with_house({ discovery = "component" }, function(house)
      for topic, payload in pairs {
        [vin .. "/climate/temperature"] = "21.0", [vin .. "/climate/mode"] = "auto", [vin .. "/charge_limit"] = "70",
        [vin .. "/charging"] = "ON", [vin .. "/lock"] = "LOCK", [vin .. "/windows"] = "OPEN", [vin .. "/horn"] = "PRESS",
        [vin .. "/overheat_protection"] = "fan_only", [site .. "/mode"] = "autonomous", [site .. "/reserve"] = "35",
      } do
        local answer = house:ask(topic .. "/set", payload)
        assert.equal("done", answer and answer.outcome, topic .. ": " .. tostring(answer and answer.message))
      end
      local answer = house:ask(vin .. "/frunk/set", "CLOSE") -- hosts that know no cover without it offer it
      assert.equal("not_sent", answer.outcome)
      assert.matches("'CLOSE' is none of OPEN, PRESS", answer.message, 1, true)
    end)
  end)

  it("openhab is given its own word for what is not known", function()
    local quiet = houses.new {}
    quiet:run(function(house)
      house:start { discovery = "component", unknown = "UNDEF", live_expires = 600 }
      fleet.sleep(1)
      assert.equal("60", house:says "battery")
      require("fleet.sim.control").event(house.service, "sleep", vin)
      fleet.sleep(1300)
      assert.equal("UNDEF", house:says "battery")
      for _, message in ipairs(house.broker.log) do assert.not_equal("None", message.payload, message.topic) end
    end)
  end)
end)
