-- Commands over MQTT: each message is carried out at most once, and answered.

local fleet = require "fleet"
local core = require "fleet.core"
local houses = require "spec.support.fixtures.mqtt_house"
local requests = require "fleet.mqtt.requests"

local vin, site = houses.vin, houses.site

-- A house whose bridge has looked once.
local function with_house(given, fn)
  houses.new(given):run(function(house)
    local bridge = house:start(given and given.bridge)
    fleet.sleep(1)
    fn(house, bridge)
  end)
end

describe("a command of an entity", function()
  it("is sent and answered, and the entity shows it", function()
    with_house({}, function(house)
      local answer = house:ask(vin .. "/charge_limit/set", "70")
      assert.equal("done", answer.outcome)
      assert.is_true(answer.changed)
      assert.equal("set_charge_limit", answer.command)
      assert.equal("70", house:says "charge_limit")
      assert.equal(70, house.car.sections.charge_state.charge_limit_soc)
      assert.equal(1, house:sent "set_charge_limit")
    end)
  end)

  it("may be any of those that the rows have", function()
    with_house({ vehicle = { charge_state = { conn_charge_cable = "IEC", charging_state = "Stopped" } } }, function(house)
      local asked = {
        { "charging", "ON", "ON" }, { "lock", "UNLOCK", "UNLOCKED" }, { "sentry", "ON", "ON" }, { "climate/mode", "auto", "auto" },
        { "climate/temperature", "22.5", "22.5" }, { "climate/preset_mode", "dog", "dog" }, { "seat_heater_left", "high", "high" },
        { "defrost", "ON", "ON" }, { "charging_amps", "8", "8" }, { "horn", "PRESS" }, { "trunk", "PRESS" }, { "frunk", "PRESS" },
        { "lights", "PRESS" }, { "windows_vent", "PRESS" }, { "charge_port_close", "PRESS", nil, "refused" },
      }
      for _, one in ipairs(asked) do
        local answer = house:ask(vin .. "/" .. one[1] .. "/set", one[2])
        assert.equal(one[4] or "done", answer and answer.outcome, one[1] .. ": " .. tostring(answer and answer.message))
        if one[3] then assert.equal(one[3], house:says(one[1]), one[1]) end
      end
      assert.equal(22.5, house.car.sections.climate_state.driver_temp_setting)
      assert.equal(22.5, house.car.sections.climate_state.passenger_temp_setting)
    end)
  end)

  it("of a site goes to the site", function()
    with_house({}, function(house)
      assert.equal("done", house:ask(site .. "/reserve/set", "35").outcome)
      assert.equal("done", house:ask(site .. "/mode/set", "autonomous").outcome)
      assert.equal("done", house:ask(site .. "/storm/set", "OFF").outcome)
      local info = house.service.sites[1].info
      assert.same({ 35, "autonomous", false },
        { info.backup_reserve_percent, info.default_real_mode, info.user_settings.storm_mode_enabled })
      assert.equal("35", house.broker.retained["fleet/" .. site .. "/reserve"])
    end)
  end)

  it("is refused where its value is none, and nothing is sent", function()
    with_house({}, function(house)
      for topic, payload in pairs {
        [vin .. "/charge_limit/set"] = "120", [vin .. "/charging_amps/set"] = "7.5", [vin .. "/lock/set"] = "OPEN",
        [vin .. "/seat_heater_left/set"] = "max", [vin .. "/nothing/set"] = "1", [vin .. "/battery/set"] = "50",
        [vin .. "/climate/temperature/set"] = "nan", [site .. "/reserve/set"] = "0x10",
      } do
        local answer = house:ask(topic, payload)
        assert.equal("not_sent", answer.outcome, topic)
        assert.is_false(answer.changed)
      end
      assert.same({}, house.commands)
    end)
  end)

  it("to a sleeping car is refused and does not wake it; the state shown meanwhile is withdrawn", function()
    with_house({ vehicle = { vehicle_state = { sentry_mode = false } } }, function(house)
      assert.equal("OFF", house:says "sentry")
      house.service:advance(0)
      require("fleet.sim.control").event(house.service, "sleep", vin)
      local answer = house:ask(vin .. "/sentry/set", "ON")
      assert.equal("refused", answer.outcome)
      assert.is_truthy(answer.reason == "asleep" or answer.reason == "offline")
      assert.equal("asleep", house:says "state")
      assert.same({ "OFF", "ON", "OFF" }, house.broker.said("fleet/" .. vin .. "/sentry"))
      assert.equal(0, house.calls.wake or 0)
    end)
  end)

  it("wakes the car where the bridge was given leave and the message asks for it", function()
    with_house({ bridge = { wake = true } }, function(house)
      require("fleet.sim.control").event(house.service, "sleep", vin)
      assert.equal("refused", house:ask(vin .. "/sentry/set", "ON").outcome)
      assert.equal("refused", house:ask(vin .. "/sentry/set", { value = "ON", id = "w0" }).outcome)
      assert.equal(0, house.calls.wake or 0)
      local answer = house:ask(vin .. "/sentry/set", { value = "ON", wake = true, id = "w1" }, nil, 120)
      assert.equal("done", answer and answer.outcome)
      assert.equal(1, house.calls.wake)
    end)
  end)

  it("is not possible where nothing may be changed", function()
    with_house({ bridge = { commands = false } }, function(house)
      assert.is_nil(house:ask(vin .. "/sentry/set", "ON"))
      assert.is_nil(house:ask(vin .. "/command/honk_horn", "{}"))
      assert.same({}, house.commands)
    end)
  end)
end)

describe("a command by its name", function()
  it("takes parameters and an id, and answers with it", function()
    with_house({}, function(house)
      local answer = house:ask(vin .. "/command/set_charge_limit", { id = "r-1", at = houses.START, params = { percent = 66 } })
      assert.same({ "r-1", "done", true, "set_charge_limit" }, { answer.id, answer.outcome, answer.changed, answer.command })
      local same = house:ask(vin .. "/command/set_charge_limit", { id = "r-2", params = { percent = 66 } })
      assert.same({ "r-2", "done", false }, { same.id, same.outcome, same.changed })
      assert.equal("already_set", same.reason)
    end)
  end)

  it("says what is wrong with it", function()
    with_house({}, function(house)
      local asked = {
        { "set_charge_limit", { id = "a", params = { percentage = 66 } }, "percentage" },
        { "set_charge_limit", { id = "b", percent = 66 }, "unknown member" },
        { "no_such_thing", { id = "c" }, "no command" }, { "set_charge_limit", "66", "JSON object" },
        { "set_charge_limit", { id = "d", params = 5 }, "params" }, { "set_charge_limit", { id = "e", at = "now" }, "'at'" },
        { "vehicle_data", { id = "f" }, "no command" },
      }
      for _, one in ipairs(asked) do
        local answer = house:ask(vin .. "/command/" .. one[1], one[2])
        assert.equal("not_sent", answer.outcome)
        assert.matches(one[3], answer.message, 1, true)
      end
      assert.same({}, house.commands)
    end)
  end)

  it("with numbers beyond all bounds is refused as any other", function()
    with_house({}, function(house)
      for payload, part in pairs {
        ['{"at":1e300}'] = "ahead", ['{"at":-1e300}'] = "old", ['{"value":1e300}'] = "is not a number",
        ['{"value":-1e308}'] = "is not a number",
      } do
        local answer = house:ask(vin .. "/charge_limit/set", payload)
        assert.equal("not_sent", answer and answer.outcome, payload)
        assert.matches(part, answer.message, 1, true)
      end
      assert.equal("done", house:ask(vin .. "/charge_limit/set", '{"value":7.2e1}').outcome)
      assert.equal(1, house:sent "set_charge_limit")
    end)
  end)

  it("neither fills the store nor writes lines of its own into the log", function()
    with_house({}, function(house, bridge)
      local topic = vin .. "/charge_limit/set"
      assert.matches("128 bytes", house:ask(topic, { id = string.rep("x", 129), value = "70" }).message, 1, true)
      assert.equal("done", house:ask(topic, { id = string.rep("x", 128), value = "70" }).outcome)
      assert.equal("done", house:ask(topic, "71" .. string.rep(" ", 60000)).outcome)
      assert.matches("unknown member ' [31mx '", house:ask(topic, '{"\\u001b[31mx\\n":1}').message, 1, true)
      assert.is_nil(house:ask(vin .. "/" .. string.rep("x", 65480) .. "/set", "1"))
      assert.equal("not_sent", house:ask(vin .. "/" .. string.rep("x", 124) .. "/set", "1").outcome)
      assert.is_true(#house.store:get("mqtt/" .. core.context(house.client).config.account .. "/requests/" .. vin) < 2000)
      assert.is_true(#bridge.logged > 3)
      for _, text in ipairs(bridge.logged) do assert.is_nil(string.find(text, "%c")) end
    end)
  end)

  it("that is too long is refused and says so, also where its beginning would be one", function()
    with_house({}, function(house)
      local topic = vin .. "/charge_limit/set"
      local long = house:ask(topic, "71" .. string.rep(" ", 65535))
      assert.same({ "not_sent", false, "invalid" }, { long.outcome, long.changed, long.reason })
      assert.matches("has 65537 bytes: at most 65536 are taken", long.message, 1, true)
      local lost = "fleet/" .. topic
      house.broker.publish_too_long(lost, 100000)
      fleet.sleep(1)
      local said = house.broker.said(lost .. "/result")
      assert.matches("has 100000 bytes", core.json_decode(said[2]).message, 1, true)
      assert.same({}, house.commands)
      assert.equal("done", house:ask(topic, "71" .. string.rep(" ", 65534)).outcome)
      assert.equal(1, house:sent "set_charge_limit")
    end)
  end)

  it("that is no UTF-8 is refused, and its answer is", function()
    with_house({}, function(house)
      for _, bytes in ipairs { "\255", "\192\128", "\237\160\128", "\244\144\128\128", "\226\130", "\128" } do
        for _, payload in ipairs { bytes, '{"id":"' .. bytes .. '"}', '{"' .. bytes .. '":1}', '{"value":"' .. bytes .. '"}' } do
          local answer = house:ask(vin .. "/charge_limit/set", payload)
          assert.equal("the payload is not UTF-8", answer.message)
        end
      end
      local answer = house:ask(vin .. "/charge_limit/set", '{"id":"é€😀","value":"ü\\ud800"}')
      assert.same({ "é€😀", "not_sent" }, { answer.id, answer.outcome })
      assert.matches("'ü\239\191\189' is not a number", answer.message, 1, true)
      for _, message in ipairs(house.broker.log) do
        if string.find(message.topic, "/result$") then assert.is_true(core.utf8_valid(message.payload), message.payload) end
      end
      assert.same({}, house.commands)
    end)
  end)

  it("whose answer quotes what the service says in other bytes is answered in UTF-8", function()
    with_house({}, function(house)
      house.after = function(request, answer)
        if not string.find(request.url, "/command/honk_horn", 1, true) then return nil end
        return { status = 200, headers = answer.headers, body = '{"response":{"result":false,"reason":"caf\233"}}' }
      end
      local topic = "fleet/" .. vin .. "/horn/set"
      assert.equal("refused", house:ask(vin .. "/horn/set", "PRESS").outcome)
      assert.matches("caf\239\191\189", house.broker.said(topic .. "/result")[1], 1, true)
    end)
  end)

  it("must be among those that the bridge takes", function()
    with_house({}, function(house)
      local answer = house:ask(vin .. "/command/media_next_track", { id = "a" })
      assert.same({ "not_sent", "not_allowed" }, { answer.outcome, answer.reason })
      assert.equal(0, house:sent "media_next_track")
    end)
    with_house({ bridge = { commands = { "media_next_track" } } }, function(house)
      house:ask(vin .. "/command/media_next_track", { id = "a" })
      assert.equal(1, house:sent "media_next_track")
      assert.equal("not_allowed", house:ask(vin .. "/command/honk_horn", { id = "b" }).reason)
      assert.matches("no entity 'horn'", house:ask(vin .. "/horn/set", "PRESS").message)
      assert.matches("not among", house:ask(vin .. "/sentry/set", "ON").message)
      assert.equal(0, house:sent "honk_horn")
    end)
  end)
end)

describe("the parameters of a message", function()
  it("never become options of a call that takes none", function()
    with_house({ client = { budgets = { per_day = { command = 3 } } } }, function(house)
      local options = { { wake = true }, { force = true }, { idempotent = true }, { raw = true }, { timeout = 1 }, { auth = "x" } }
      for i, members in ipairs(options) do
        for _, name in ipairs { "honk_horn", "door_unlock", "wake_up", "remote_start_drive" } do
          local answer = house:ask(vin .. "/command/" .. name, { id = name .. i, params = members })
          assert.equal("not_sent", answer.outcome)
          assert.is_truthy(string.find(answer.message, "takes no parameters", 1, true) or answer.reason == "not_allowed", answer.message)
        end
      end
      assert.same({}, house.commands)
      assert.is_nil(house.calls.wake)
      assert.equal("done", house:ask(vin .. "/command/honk_horn", { id = "none", params = {} }).outcome)
    end)
  end)

  it("with a member that is an option, where a call takes parameters, are refused as any unknown one", function()
    with_house({}, function(house)
      local answer = house:ask(vin .. "/command/set_charge_limit", { id = "a", params = { percent = 70, force = true } })
      assert.same({ "not_sent", "invalid" }, { answer.outcome, answer.reason })
      assert.matches("force", answer.message, 1, true)
      assert.same({}, house.commands)
    end)
  end)
end)

describe("what becomes of a command", function()
  it("is an event and the last command of its car or site, and the log names it", function()
    with_house({ vehicle = { display_name = "Blue" } }, function(house, bridge)
      house:ask(vin .. "/charge_limit/set", "70")
      house:ask(vin .. "/charge_limit/set", "170")
      house:ask(site .. "/reserve/set", "30")
      local events = house.broker.said("fleet/" .. vin .. "/event")
      assert.same({ "done", "not_sent" }, { core.json_decode(events[1]).event_type, core.json_decode(events[2]).event_type })
      assert.matches("is not a number from 50 to 100", core.json_decode(events[2]).message)
      assert.is_nil(house.broker.retained["fleet/" .. vin .. "/event"])
      assert.equal("charge_limit: not_sent, '170' is not a number from 50 to 100", house:says "last_command")
      assert.equal("invalid", core.json_decode(house:says "attributes/command").reason)
      assert.equal("backup: done", house.broker.retained["fleet/" .. site .. "/last_command"])
      local log = table.concat(bridge.logged, "\n")
      assert.matches("Blue: set_charge_limit: done", log, 1, true)
      assert.matches("Blue: charge_limit: not_sent", log, 1, true)
    end)
  end)
end)

describe("a cover", function()
  it("opens and closes what is known to be in the other state, and shows its state", function()
    with_house({}, function(house)
      assert.same({ "closed", "closed", "closed", "closed" },
        { house:says "trunk", house:says "frunk", house:says "windows", house:says "charge_port" })
      assert.equal("not_known", house:ask(vin .. "/trunk/set", "CLOSE").reason)
      assert.equal("done", house:ask(vin .. "/trunk/set", "OPEN").outcome)
      assert.equal("open", house:says "trunk")
      assert.equal("done", house:ask(vin .. "/trunk/set", { value = "CLOSE", id = "at once" }).outcome)
      for _, id in ipairs { "one", "two" } do
        house.broker.publish("fleet/" .. vin .. "/trunk/set", '{"value":"OPEN","id":"' .. id .. '"}', false)
      end
      fleet.sleep(5)
      assert.equal("open", house:says "trunk") -- the second would have closed it
      assert.equal(3, house:sent "actuate_trunk")
      assert.equal("done", house:ask(vin .. "/windows/set", "OPEN").outcome)
      assert.equal("open", house:says "windows")
      fleet.sleep(60)
      assert.equal("not_known", house:ask(vin .. "/trunk/set", "OPEN").reason)
      assert.equal("done", house:ask(vin .. "/trunk/set", { value = "CLOSE", id = "c" }).outcome)
      assert.equal("done", house:ask(vin .. "/charge_port/set", "OPEN").outcome)
      assert.equal(4, house:sent "actuate_trunk")
      local row = {}
      for _, one in ipairs(require("fleet.mqtt.entities").car) do row[one.name] = one end
      local values = require "fleet.mqtt.values"
      local state = { fd_window = 0, fp_window = 0, rd_window = 0 }
      assert.is_nil(values.text(row.windows, { vehicle_state = state })) -- one is not known
      state.rd_window = 1
      assert.equal("open", values.text(row.windows, { vehicle_state = state }))
      assert.is_nil(values.text(row.trunk, { vehicle_state = { rt = "SNA" } }))
    end)
  end)
end)

describe("a trunk of a car that takes signed commands", function()
  local function signed_house(bridge, plg)
    local key = fleet.key.generate()
    return {
      bridge = bridge, client = { key = key },
      vehicle = { vehicle_command_protocol_required = true, keys = { { public_key = key:public_pem(), role = "OWNER" } },
        vehicle_config = { plg = plg ~= false } },
    }
  end

  it("is opened and closed by name, whatever is known of it, and never toggled", function()
    with_house(signed_house(), function(house)
      local lids = house.car.sections.vehicle_state
      lids.rt = 1 -- opened by hand: the bridge still shows it as closed
      local answer = house:ask(vin .. "/trunk/set", "OPEN")
      assert.same({ "done", "open_trunk", "signed" }, { answer.outcome, answer.command, answer.via })
      assert.same({ 1, "open" }, { lids.rt, house:says "trunk" })
      assert.equal("open_trunk", house:ask(vin .. "/trunk/set", { value = "OPEN", id = "again" }).command)
      assert.equal(1, lids.rt)
      answer = house:ask(vin .. "/trunk/set", "CLOSE")
      assert.same({ "done", "close_trunk", 0, "closed" }, { answer.outcome, answer.command, lids.rt, house:says "trunk" })
      assert.equal("open_trunk", house:ask(vin .. "/frunk/set", "OPEN").command)
      assert.equal(1, lids.ft)
      assert.equal("actuate_trunk", house:ask(vin .. "/trunk/set", "PRESS").command)
      assert.equal(1, lids.rt)
    end)
  end)

  it("without a motor is not closed by a toggle instead", function()
    with_house(signed_house(nil, false), function(house)
      assert.equal("done", house:ask(vin .. "/trunk/set", "OPEN").outcome)
      local answer = house:ask(vin .. "/trunk/set", "CLOSE")
      assert.same({ "refused", "close_trunk" }, { answer.outcome, answer.command })
      assert.equal(1, house.car.sections.vehicle_state.rt)
      assert.equal("open", house:says "trunk")
    end)
  end)

  it("is moved once: a lost answer is not followed by a second message", function()
    with_house(signed_house(), function(house)
      local lids = house.car.sections.vehicle_state
      assert.equal("done", house:ask(vin .. "/trunk/set", "OPEN").outcome)
      house.service.faults:add("drop_before", 1, { row = "close_trunk", message = "command" })
      house.broker.publish("fleet/" .. vin .. "/trunk/set", '{"value":"CLOSE","id":"lost"}', false)
      fleet.sleep(40)
      local answers = house.broker.said("fleet/" .. vin .. "/trunk/set/result")
      assert.equal("unknown", core.json_decode(answers[2]).outcome)
      assert.equal("not_done", core.json_decode(answers[3]).outcome)
      assert.same({ 1, "open" }, { lids.rt, house:says "trunk" })
    end)
  end)

  it("is toggled where only the toggle is among the bridge's commands and its state is known", function()
    with_house(signed_house { commands = { "actuate_trunk" } }, function(house)
      assert.equal("not_known", house:ask(vin .. "/trunk/set", "CLOSE").reason)
      local answer = house:ask(vin .. "/trunk/set", "OPEN")
      assert.same({ "done", "actuate_trunk", 1 }, { answer.outcome, answer.command, house.car.sections.vehicle_state.rt })
      local message = core.json_decode(house.broker.retained["homeassistant/device/fleet_" .. vin .. "/config"])
      assert.equal("cover", message.components.trunk.platform)
    end)
    with_house(signed_house { commands = { "open_trunk", "close_trunk" } }, function(house)
      assert.equal("open_trunk", house:ask(vin .. "/trunk/set", "OPEN").command)
      assert.equal("not_allowed", house:ask(vin .. "/trunk/set", "PRESS").reason)
      local message = core.json_decode(house.broker.retained["homeassistant/device/fleet_" .. vin .. "/config"])
      assert.equal("cover", message.components.trunk.platform)
    end)
    with_house({ bridge = { commands = { "open_trunk", "close_trunk" } } }, function(house) -- a plain car
      local answer = house:ask(vin .. "/trunk/set", "OPEN")
      assert.same({ "not_sent", "unsupported" }, { answer.outcome, answer.reason })
      assert.same({}, house.commands)
    end)
  end)
end)

describe("a command that is refused after one that was carried out", function()
  it("leaves what the first one set, although it was not read yet", function()
    with_house({}, function(house)
      assert.equal("done", house:ask(vin .. "/charge_limit/set", "70").outcome)
      house.service.faults:add("unregistered", 1, { row = "set_charge_limit" })
      assert.equal("refused", house:ask(vin .. "/charge_limit/set", "90").outcome)
      assert.equal("70", house:says "charge_limit")
      house.service.faults:add("unregistered", 1, { row = "charge_start" })
      assert.equal("refused", house:ask(vin .. "/charging/set", "ON").outcome) -- the first of its entity
      assert.equal("OFF", house:says "charging")
    end)
  end)
end)

describe("the bridge's option commands = \"all\"", function()
  it("takes every command of a car and a site by its name, also those that no entity sends", function()
    with_house({ bridge = { commands = "all" } }, function(house)
      local answer = house:ask(vin .. "/command/set_cabin_overheat_protection", { params = { on = true, fan_only = false } })
      assert.same({ "done", "set_cabin_overheat_protection" }, { answer.outcome, answer.command })
      assert.equal("done", house:ask(vin .. "/command/media_volume_up", "{}").outcome)
      assert.equal("done", house:ask(vin .. "/sentry/set", "ON").outcome)
      assert.equal("done", house:ask(site .. "/command/backup", { params = { backup_reserve_percent = 30 } }).outcome)
      assert.equal(1, house:sent "set_cabin_overheat_protection")
    end)
  end)

  it("does not take what hands out keys, reads, or does not exist", function()
    with_house({ bridge = { commands = "all" } }, function(house)
      local pem = fleet.key.generate():public_pem()
      assert.equal("not_allowed", house:ask(vin .. "/command/add_key", { params = { public_key = pem, role = "driver" } }).reason)
      assert.equal("not_allowed", house:ask(vin .. "/command/remove_key", { params = { public_key = pem } }).reason)
      for _, name in ipairs { "vehicle_data", "remove_driver", "no_such_command", "backup" } do
        local answer = house:ask(vin .. "/command/" .. name, "{}")
        assert.same({ "not_sent", "invalid" }, { answer.outcome, answer.reason }, name)
      end
      assert.same({}, house.commands)
    end)
    with_house({}, function(house) -- what the entities send, as it is without the option
      local answer = house:ask(vin .. "/command/media_volume_up", "{}")
      assert.same({ "not_sent", "not_allowed" }, { answer.outcome, answer.reason })
      assert.same({}, house.commands)
    end)
  end)
end)

describe("the bridge's leave to wake", function()
  it("true is what the entities of a car ask for, and no site is asked to wake", function()
    with_house({ bridge = { wake = true } }, function(house)
      local function components(id)
        return core.json_decode(house.broker.retained["homeassistant/device/fleet_" .. id .. "/config"]).components
      end
      assert.matches('"wake": true', components(vin).sentry.command_template, 1, true)
      assert.matches('"wake": true', components(vin).trunk.payload_open, 1, true)
      assert.not_matches("wake", components(site).reserve.command_template)
      assert.equal("done", house:ask(site .. "/reserve/set", { value = "31", id = "r", wake = true }).outcome)
      require("fleet.sim.control").event(house.service, "sleep", vin)
      local answer = house:ask(vin .. "/trunk/set", components(vin).trunk.payload_open, nil, 120)
      assert.equal("done", answer and answer.outcome)
      assert.equal(1, house.calls.wake)
    end)
    with_house({}, function(house)
      assert.not_matches('"wake": true', house.broker.retained["homeassistant/device/fleet_" .. vin .. "/config"], 1, true)
    end)
  end)
end)

describe("an empty message", function()
  it("clears what was retained, and asks for nothing", function()
    with_house({}, function(house)
      for _, rest in ipairs { "/command/honk_horn", "/command/door_unlock", "/horn/set", "/sentry/set" } do
        assert.is_nil(house:ask(vin .. rest, "", false, 1))
        assert.is_nil(house:ask(vin .. rest, "", true, 1))
      end
      assert.same({}, house.commands)
      assert.matches("JSON object", house:ask(vin .. "/command/honk_horn", " ").message)
      assert.equal("done", house:ask(vin .. "/command/honk_horn", "{}").outcome)
    end)
  end)
end)

describe("a message that comes again", function()
  it("while the queue is full gets one answer: that of the first", function()
    with_house({ client = { timeout = 100 } }, function(house)
      house.before = function(request)
        if string.find(request.url, "/command/honk_horn", 1, true) then fleet.sleep(1) end
      end
      local topic = "fleet/" .. vin .. "/command/honk_horn"
      for i = 1, 20 do house.broker.publish(topic, '{"id":"n' .. i .. '"}', false) end
      fleet.sleep(0.1)
      house.broker.publish(topic, '{"id":"n21"}', false)
      fleet.sleep(0.1)
      for i = 1, 21 do house.broker.publish(topic, '{"id":"n' .. i .. '"}', false) end
      fleet.sleep(60)
      local outcomes = {}
      for _, text in ipairs(house.broker.said(topic .. "/result")) do
        local answer = core.json_decode(text)
        outcomes[answer.id] = (outcomes[answer.id] or "") .. answer.outcome .. " "
      end
      for i = 1, 21 do assert.matches("^[don e]+$", outcomes["n" .. i], nil, nil, "n" .. i) end
      assert.equal(21, house:sent "honk_horn")
    end)
  end)

  it("when it is too old for a new one gets the answer of then", function()
    with_house({}, function(house)
      local request = { id = "late", at = houses.START, params = { percent = 70 } }
      assert.equal("done", house:ask(vin .. "/command/set_charge_limit", request).outcome)
      fleet.sleep(300)
      local answer = house:ask(vin .. "/command/set_charge_limit", request)
      assert.same({ "done", true }, { answer.outcome, answer.duplicate })
      request.id = "never came"
      assert.equal("old", house:ask(vin .. "/command/set_charge_limit", request).reason)
    end)
  end)

  it("with the id of another request is refused, however long ago that was", function()
    with_house({}, function(house)
      local function ask(name, params) return house:ask(vin .. "/command/" .. name, { id = "same", params = params }) end
      assert.equal("done", ask("set_charge_limit", { percent = 70 }).outcome)
      for _ = 1, 2 do
        for _, one in ipairs { { "honk_horn" }, { "set_charge_limit", { percent = 71 } } } do
          local answer = ask(one[1], one[2])
          assert.same({ "not_sent", false }, { answer.outcome, answer.changed })
          assert.matches("another request", answer.message)
        end
        assert.is_true(ask("set_charge_limit", { percent = 70 }).duplicate)
        for i = 1, 25 do house:ask(vin .. "/command/flash_lights", { id = "more" .. i }) end -- now it is a line of the past
      end
      assert.equal(0, house:sent "honk_horn")
      assert.equal(1, house:sent "set_charge_limit")
    end)
  end)

  it("is noted on the disk before the command is sent, and so is its answer", function()
    with_house({}, function(house, bridge)
      local store, puts = bridge.context.store, {}
      bridge.context.store = setmetatable({ put = function(_, key, text, given)
        if string.find(key, "/requests/", 1, true) then
          puts[#puts + 1] = { given.durable, house:sent "honk_horn", given.generation ~= nil }
        end
        return store:put(key, text, given)
      end }, { __index = function(_, name)
        return type(store[name]) == "function" and function(_, ...) return store[name](store, ...) end or store[name]
      end })
      house:ask(vin .. "/command/honk_horn", { id = "a" })
      house:ask(vin .. "/command/honk_horn", { id = "b" })
      bridge.context.store = store
      assert.same({ true, 0 }, { puts[1][1], puts[1][2] })
      assert.same({ { true, 1, true }, { true, 1, true }, { true, 2, true } }, { puts[2], puts[3], puts[4] })
    end)
  end)

  it("at two bridges at once is carried out by one of them", function()
    houses.new():run(function(house)
      local account = core.context(house.client)
      local request = { id = "same", topic = "t", command = "honk_horn" }
      local store = account.store
      local second
      account.store = setmetatable({ put = function(_, ...)
        if not second then
          second = "under way"
          second = requests.claim(account, vin, request, 60) -- the other bridge writes between the reading and the writing
        end
        return store:put(...)
      end }, { __index = function(_, name) return function(_, ...) return store[name](store, ...) end end })
      local first = requests.claim(account, vin, request, 60)
      account.store = store
      assert.is_true(second)
      assert.equal("same", first.id)
    end)
  end)

  it("is known to a bridge after an update from version 1.0", function()
    with_house({}, function(house)
      local account = core.context(house.client)
      local hash = string.sub(core.sha256 "old", 1, 32)
      local line = string.format("%012d %012d %-8s 1 %s\n", houses.START - 10, 999999999999, "done", hash)
      assert(house.store:put("mqtt/" .. account.config.account .. "/requests/" .. vin, core.json_encode { past = line .. line }, {}))
      assert.is_true(house:ask(vin .. "/command/honk_horn", { id = "old" }).duplicate)
      assert.equal("done", house:ask(vin .. "/command/honk_horn", { id = "new" }).outcome)
      assert.is_true(house:ask(vin .. "/command/honk_horn", { id = "old" }).duplicate)
      assert.equal(1, house:sent "honk_horn")
    end)
  end)

  it("is known whatever becomes of the wall clock meanwhile", function()
    with_house({}, function(house)
      local clock, jump = fleet.loop.clock, 0
      fleet.loop.clock = function()
        local mono, wall = clock()
        return mono, wall + jump
      end
      assert.equal("done", house:ask(vin .. "/command/honk_horn", { id = "h" }).outcome)
      for i = 1, 25 do house:ask(vin .. "/command/flash_lights", { id = "more" .. i }) end -- now the first is a line of the past
      assert.equal("done", house:ask(vin .. "/horn/set", "PRESS").outcome)
      for _, seconds in ipairs { 20 * 365 * 86400, 3600, -3600, -20 * 365 * 86400 } do
        jump = seconds
        assert.is_true(house:ask(vin .. "/command/honk_horn", { id = "h" }).duplicate, tostring(jump))
        assert.is_true(house:ask(vin .. "/horn/set", "PRESS").duplicate, tostring(jump))
        house:ask(vin .. "/command/flash_lights", { id = "after" .. seconds }) -- a new one forgets what is too old
      end
      assert.equal(2, house:sent "honk_horn")
      fleet.loop.clock = clock
    end)
  end)

  it("is refused with an id, a value or a leave to wake of another kind: a copy of it could not be known", function()
    with_house({ bridge = { wake = true } }, function(house)
      for _, member in ipairs { '"id":true', '"id":false', '"id":{}', '"id":["a"]',
        '"id":""', '"wake":"yes"', '"wake":1', '"value":{"a":1}' } do
        local answer = house:ask(vin .. "/command/honk_horn", "{" .. member .. "}")
        assert.equal("not_sent", answer.outcome, member)
        assert.matches("'" .. string.match(member, "%a+") .. "' must be", answer.message, 1, true)
      end
      assert.equal(0, house:sent "honk_horn")
      assert.equal("done", house:ask(vin .. "/command/honk_horn", '{"id":"a","wake":true,"value":7}').outcome)
    end)
  end)

  it("has an id that reads the same for all, or is refused", function()
    with_house({}, function(house)
      for _, id in ipairs { "12345678902345.5", "1e300", "0.1" } do
        local answer = house:ask(vin .. "/command/honk_horn", '{"id":' .. id .. "}")
        assert.equal("not_sent", answer.outcome)
        assert.matches("'id'", answer.message)
      end
      for _, id in ipairs { "1000000000000000", "9007199254740993" } do -- one is a number, the other none that Lua can keep
        assert.equal(id, house:ask(vin .. "/command/honk_horn", '{"id":' .. id .. "}").id)
      end
    end)
  end)

  it("is not carried out again: by its id, for as long as it is remembered", function()
    with_house({}, function(house)
      local first = house:ask(vin .. "/command/honk_horn", { id = "h1" })
      assert.equal("done", first.outcome)
      fleet.sleep(3600)
      local second = house:ask(vin .. "/command/honk_horn", { id = "h1" })
      assert.same({ "done", true, "h1" }, { second.outcome, second.duplicate, second.id })
      assert.equal(1, house:sent "honk_horn")
      house:ask(vin .. "/command/honk_horn", { id = "h2" })
      assert.equal(2, house:sent "honk_horn")
    end)
  end)

  it("is not carried out again after a thousand others, and the record stays bounded", function()
    with_house({}, function(house)
      local account = core.context(house.client)
      assert.equal("done", house:ask(vin .. "/command/honk_horn", { id = "first" }).outcome)
      for i = 1, 1000 do
        local request = { id = "n" .. i, topic = "fleet/" .. vin .. "/command/honk_horn", command = "honk_horn" }
        assert.is_true(requests.claim(account, vin, request, 60))
        requests.finish(account, vin, request, { id = request.id, command = "honk_horn", outcome = "done", changed = true })
      end
      fleet.sleep(70)
      local again = house:ask(vin .. "/command/honk_horn", { id = "first" })
      assert.same({ "done", true, true, "first", "honk_horn" },
        { again.outcome, again.changed, again.duplicate, again.id, again.command })
      assert.equal(houses.START + 1, again.at)
      assert.equal(1, house:sent "honk_horn")
      local record = house.store:get("mqtt/" .. account.config.account .. "/requests/" .. vin)
      assert.is_true(#record < 100000, tostring(#record))
    end)
  end)

  it("is known for a day", function()
    houses.new():run(function(house)
      local account = core.context(house.client)
      local function claim(id, at, bare)
        local request = { id = id, topic = "t", command = "honk_horn", bare = bare }
        fleet.sleep(math.max(0, houses.START + at - select(2, fleet.loop.clock())))
        local claimed = requests.claim(account, vin, request, 60)
        if claimed == true then requests.finish(account, vin, request, { outcome = "done", changed = true }) end
        return claimed
      end
      assert.is_true(claim("a", 0))
      assert.is_true(claim("b", 30000))
      assert.is_true(claim("bare", 40000, true))
      assert.equal("a", claim("a", 50000).id)
      for i = 1, 200 do assert.is_true(claim("n" .. i, 60000)) end
      assert.equal("done", claim("a", 86400).result.outcome)
      assert.is_true(claim("one more", 86402))
      assert.is_true(claim("a", 86403))
      assert.equal("done", claim("b", 86403).result.outcome)
      local record = house.store:get("mqtt/" .. account.config.account .. "/requests/" .. vin)
      assert.not_matches('"bare":true', record)
    end)
  end)

  it("is remembered for as long as it may be old", function()
    houses.new():run(function(house)
      local account = core.context(house.client)
      local function claim(id, at)
        local request = { id = id, topic = "t", command = "honk_horn", at = houses.START }
        fleet.sleep(math.max(0, houses.START + at - select(2, fleet.loop.clock())))
        local claimed = requests.claim(account, vin, request, 3 * 86400)
        if claimed == true then requests.finish(account, vin, request, { outcome = "refused", changed = false }) end
        return claimed
      end
      for i = 1, 200 do assert.is_true(claim("n" .. i, i)) end
      assert.same({ outcome = "refused", changed = false, at = houses.START + 1 }, claim("n1", 3 * 86400).result)
    end)
  end)

  it("keeps its place where more come than are kept: those that are refused as old go first, else nothing is taken up", function()
    with_house({}, function(house)
      local account = core.context(house.client)
      local store_key = "mqtt/" .. account.config.account .. "/requests/" .. vin
      local list = {}
      for i = 1, 5021 do list[i] = { id = "n" .. i, at = houses.START, result = { outcome = "done" } } end
      assert(house.store:put(store_key, core.json_encode { newest = list }, {}))
      local answer = house:ask(vin .. "/command/honk_horn", { id = "one more" })
      assert.same({ "not_sent", "busy" }, { answer.outcome, answer.reason })
      assert.is_true(house:ask(vin .. "/command/honk_horn", { id = "n1" }).duplicate)
      for i = 1, 1000 do list[i].sent_at = houses.START end
      assert(house.store:put(store_key, core.json_encode { newest = list }, {}))
      assert.equal("busy", house:ask(vin .. "/command/honk_horn", { id = "one more" }).reason)
      fleet.sleep(130)
      assert.equal("done", house:ask(vin .. "/command/honk_horn", { id = "one more" }).outcome)
      assert.is_true(house:ask(vin .. "/command/honk_horn", { id = "n5001" }).duplicate)
      assert.equal(1, house:sent "honk_horn")
    end)
  end)

  it("is refused where it became old behind others", function()
    with_house({ client = { timeout = 100 } }, function(house)
      house.before = function(request)
        if string.find(request.url, "/command/honk_horn", 1, true) then fleet.sleep(70) end
      end
      house.broker.publish("fleet/" .. vin .. "/command/honk_horn", '{"id":"slow"}', false)
      fleet.sleep(1)
      local answers = {}
      for _, name in ipairs { "flash_lights", "door_unlock" } do
        house.broker.publish("fleet/" .. vin .. "/command/" .. name,
          core.json_encode { id = name, at = name == "door_unlock" and houses.START or nil }, false)
      end
      fleet.sleep(100)
      for _, name in ipairs { "honk_horn", "flash_lights", "door_unlock" } do
        local said = house.broker.said("fleet/" .. vin .. "/command/" .. name .. "/result")
        local answer = core.json_decode(said[1])
        answers[#answers + 1] = answer.outcome .. " " .. tostring(answer.reason)
      end
      assert.same({ "done nil", "not_sent old", "not_sent old" }, answers)
    end)
  end)

  it("is not carried out twice while it is under way", function()
    with_house({}, function(house)
      local topic = "fleet/" .. vin .. "/command/honk_horn"
      for _ = 1, 3 do house.broker.publish(topic, '{"id":"same"}', false) end
      fleet.sleep(5)
      assert.equal(1, house:sent "honk_horn")
    end)
  end)

  it("without an id counts as a copy for ten seconds, unless another came between", function()
    with_house({}, function(house)
      house:ask(vin .. "/horn/set", "PRESS")
      assert.is_true(house:ask(vin .. "/horn/set", "PRESS").duplicate)
      assert.equal(1, house:sent "honk_horn")
      fleet.sleep(11)
      house:ask(vin .. "/horn/set", "PRESS")
      assert.equal(2, house:sent "honk_horn")
      for _, value in ipairs { "ON", "OFF", "ON" } do assert.is_nil(house:ask(vin .. "/sentry/set", value).duplicate) end
      assert.equal(3, house:sent "set_sentry_mode")
    end)
  end)

  it("is refused where it was retained", function()
    with_house({}, function(house)
      house.broker.publish("fleet/" .. vin .. "/command/honk_horn", '{"id":"later"}', true)
      fleet.sleep(1)
      assert.equal(1, house:sent "honk_horn")
      house.broker.drop()
      fleet.sleep(5)
      local said = house.broker.said("fleet/" .. vin .. "/command/honk_horn/result")
      assert.equal("retained", core.json_decode(said[#said]).reason)
      assert.equal(1, house:sent "honk_horn")
    end)
  end)

  it("is refused where it is old, or from ahead", function()
    with_house({}, function(house)
      local now = houses.START
      assert.equal("old", house:ask(vin .. "/command/honk_horn", { id = "a", at = now - 100 }).reason)
      assert.equal("old", house:ask(vin .. "/command/honk_horn", { id = "b", at = now + 1000 }).reason)
      assert.equal(0, house:sent "honk_horn")
      assert.equal("done", house:ask(vin .. "/command/honk_horn", { id = "c", at = now - 20 }).outcome)
    end)
  end)

  it("finds its answer after a restart", function()
    houses.new():run(function(house)
      local bridge = house:start()
      fleet.sleep(1)
      house:ask(vin .. "/command/honk_horn", { id = "h1" })
      house:stop(bridge)
      house:start()
      fleet.sleep(1)
      assert.is_true(house:ask(vin .. "/command/honk_horn", { id = "h1" }).duplicate)
      assert.equal(1, house:sent "honk_horn")
    end)
  end)
end)

describe("an unknown outcome", function()
  local function lose_answer(house, name, done)
    house.before = function(request)
      if not string.find(request.url, "/command/" .. name, 1, true) then return nil end
      house.before = nil
      if done then require("fleet.sim.rehearsal.service").serve(house, request) end
      return nil, "the answer was lost", true
    end
  end

  -- A command that may not be repeated by itself.
  it("is reported as unknown and not sent again", function()
    with_house({}, function(house)
      lose_answer(house, "actuate_trunk", true)
      local answer = house:ask(vin .. "/trunk/set", { id = "t", value = "PRESS" })
      assert.same({ "unknown", "t" }, { answer.outcome, answer.id })
      assert.is_nil(answer.changed)
      assert.equal("unknown", house:ask(vin .. "/trunk/set", { id = "t", value = "PRESS" }).outcome)
      assert.equal(1, house:sent "actuate_trunk")
    end)
  end)

  it("makes the entity unknown until a look has settled it", function()
    for _, done in ipairs { true, false } do
      with_house({}, function(house)
        local topic = vin .. "/lock/set"
        lose_answer(house, "door_unlock", done)
        house:ask(topic, { id = "u", value = "UNLOCK" })
        fleet.sleep(5)
        local results = house.broker.said("fleet/" .. topic .. "/result")
        assert.equal("unknown", core.json_decode(results[1]).outcome)
        local last = core.json_decode(results[2])
        assert.same({ done and "done" or "not_done", done, true }, { last.outcome, last.changed, last.settled })
        local said = house.broker.said("fleet/" .. vin .. "/lock")
        assert.same({ "LOCKED", "UNLOCKED", "None", done and "UNLOCKED" or "LOCKED" }, { said[1], said[2], said[3], said[4] })
      end)
    end
  end)
end)

describe("the store", function()
  it("that cannot note a request keeps it from being sent", function()
    with_house({}, function(house, bridge)
      local put = bridge.context.store.put
      local claim = requests.claim
      requests.claim = function() return nil, { message = "the disk is full" }, "store" end
      local answer = house:ask(vin .. "/horn/set", "PRESS")
      requests.claim = claim
      assert.is_truthy(put)
      assert.same({ "not_sent", "store" }, { answer.outcome, answer.reason })
      assert.equal(0, house:sent "honk_horn")
    end)
  end)

  it("that cannot be read keeps a request from being sent, and the bridge continues", function()
    with_house({}, function(house, bridge)
      local context = bridge.context
      local store = context.store
      local function get() return nil, { kind = "store", message = "the server is away" }, "store" end
      context.store = setmetatable({ get = get, put = function(_, ...) return store:put(...) end }, { __index = store })
      assert.same("store", house:ask(vin .. "/horn/set", "PRESS").reason)
      context.store = store
      assert.equal("done", house:ask(vin .. "/horn/set", "PRESS").outcome)
      assert.equal(1, house:sent "honk_horn")
    end)
  end)

  it("with a claim that has no answer answers unknown, and the command is never sent", function()
    houses.new():run(function(house)
      local account = core.context(house.client)
      local request = { id = "c1", topic = "fleet/" .. vin .. "/command/honk_horn", command = "honk_horn" }
      assert.is_true(requests.claim(account, vin, request, 60))
      house:start()
      fleet.sleep(2)
      local said = house.broker.said(request.topic .. "/result")
      assert.equal(1, #said)
      local answer = core.json_decode(said[1])
      assert.same({ "unknown", "c1", "crash" }, { answer.outcome, answer.id, answer.reason })
      assert.equal("unknown", house:ask(vin .. "/command/honk_horn", { id = "c1" }).outcome)
      assert.equal(0, house:sent "honk_horn")
    end)
  end)
end)

describe("many commands", function()
  it("of one car are carried out one after the other, and beyond a number refused", function()
    with_house({}, function(house)
      local topic = "fleet/" .. vin .. "/command/honk_horn"
      for i = 1, 30 do house.broker.publish(topic, core.json_encode { id = "m" .. i }, false) end
      fleet.sleep(10)
      local outcomes = {}
      for _, text in ipairs(house.broker.said(topic .. "/result")) do
        local answer = core.json_decode(text)
        local word = answer.outcome .. (answer.reason == "busy" and " busy" or "")
        outcomes[word] = (outcomes[word] or 0) + 1
      end
      assert.equal(30, (outcomes["done"] or 0) + (outcomes["not_sent busy"] or 0))
      assert.is_true((outcomes["not_sent busy"] or 0) >= 1)
      assert.equal(outcomes["done"], house:sent "honk_horn")
    end)
  end)
end)
