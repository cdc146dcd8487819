-- The bridge in virtual time: when it looks, what it costs, several of them, and automations in its process.

local fleet = require "fleet"
local core = require "fleet.core"
local control = require "fleet.sim.control"
local houses = require "spec.support.fixtures.mqtt_house"
local options = require "fleet.mqtt.options"
local schedule = require "fleet.mqtt.schedule"

local unpack = require("fleet.util.compat").unpack
local vin = houses.vin

local function run(given, fn)
  houses.new(given):run(fn)
end

local function seen_at(house, section)
  local text = house:says("attributes/" .. section)
  return text and core.json_decode(text)
end

describe("looks", function()
  it("at a sleeping car publish its state and nothing else", function()
    run({ vehicle = { state = "asleep" } }, function(house)
      house:start()
      fleet.sleep(7200)
      assert.equal("asleep", house:says "state")
      assert.is_nil(house:says "battery")
      assert.is_nil(house:says "lock")
      assert.same({}, house.calls)
    end)
  end)

  it("at a car that is awake and idle are so few that it falls asleep", function()
    run({}, function(house)
      house:start()
      fleet.sleep(4 * 3600)
      assert.equal("asleep", house:says "state")
      assert.equal("60", house:says "battery")
      assert.same({ data = 1 }, house.calls)
    end)
  end)

  it("come at once when the car has come awake, and close together while it charges", function()
    run({ vehicle = { state = "asleep", charge_state = { battery_level = 40, charge_limit_soc = 80 } } }, function(house)
      house:start()
      fleet.sleep(3600)
      assert.same({}, house.calls)
      control.event(house.service, "online", vin)
      control.event(house.service, "plug", vin)
      fleet.sleep(700)
      assert.equal("ON", house:says "charging")
      assert.is_true(house.calls.data <= 3)
      fleet.sleep(3600)
      assert.is_true(house.calls.data >= 11 and house.calls.data <= 15, tostring(house.calls.data))
      assert.is_true(tonumber(house:says "battery") > 40)
    end)
  end)

  it("that change nothing say when they were made, and nothing else", function()
    run({ vehicle = { sleep_after = 1e9 } }, function(house)
      house:start { idle_every = 100, longest_idle = 100, site_every = 100, site_info_every = 100, energy_every = 1e9 }
      fleet.sleep(30)
      assert.equal("2026-06-01T10:00:00Z", house:says "seen")
      assert.is_nil(house:says "attributes/charge_state")
      local live = {
        solar_power = 1000, battery_power = -500, load_power = 500, grid_power = 0, percentage_charged = 50, energy_left = 6750,
      }
      house.after = function(request, answer)
        if not string.find(request.url, "/live_status", 1, true) then return nil end
        local body = core.json_decode(answer.body)
        for name, value in pairs(live) do body.response[name] = value end
        return { status = 200, headers = answer.headers, body = core.json_encode(body) }
      end
      fleet.sleep(200)
      local first, others = #house.broker.log, {}
      fleet.sleep(1000)
      for i = first + 1, #house.broker.log do
        local topic = house.broker.log[i].topic
        local moves = string.find(topic, "/seen$") or string.find(topic, "_temperature$") or string.find(topic, "account", 1, true)
        if not moves then others[#others + 1] = topic end
      end
      assert.same({}, others)
      assert.is_true(house:says "seen" > "2026-06-01T10:15:00Z")
    end)
  end)

  it("at the list back off while nothing changes, and wait longer after failures", function()
    run({ vehicle = { state = "asleep" } }, function(house)
      local lists = 0
      house.before = function(request)
        if string.find(request.url, "/products", 1, true) then lists = lists + 1 end
      end
      house:start()
      fleet.sleep(3600)
      assert.is_true(lists >= 7 and lists <= 9, tostring(lists))
      house.down = true
      lists = 0
      fleet.sleep(7200)
      assert.is_true(lists >= 3 and lists <= 24, tostring(lists))
      house.down = false
      fleet.sleep(3700)
      assert.equal("asleep", house:says "state")
    end)
  end)

  it("publish as unknown what was known and is missing now", function()
    run({}, function(house)
      house:start { idle_every = 100 }
      fleet.sleep(10)
      assert.equal("60", house:says "battery")
      house.after = function(request, answer)
        if not string.find(request.url, "/vehicle_data", 1, true) then return nil end
        local body = core.json_decode(answer.body)
        body.response.charge_state.battery_level = nil
        return { status = 200, headers = answer.headers, body = core.json_encode(body) }
      end
      fleet.sleep(150)
      assert.equal("None", house:says "battery")
    end)
  end)

  it("at a site are free", function()
    run({ vehicle = { state = "asleep" } }, function(house)
      house:start()
      fleet.sleep(600)
      local topic = "fleet/" .. houses.site .. "/"
      assert.is_truthy(tonumber(house.broker.retained[topic .. "solar_power"]))
      assert.equal("0.4", house.broker.retained[topic .. "price_buy"]) -- noon has passed in Berlin
      assert.same({}, house.calls)
    end)
  end)
end)

describe("replies with other values than they should have", function()
  local odd = { core.null, true, 7, -1, "x", {}, { 1 }, { x = 1 } }

  local function paths_of(value, path, list)
    if path[1] then list[#list + 1] = path end
    for name, part in pairs(type(value) == "table" and value or {}) do
      local longer = { unpack(path) }
      longer[#longer + 1] = name
      paths_of(part, longer, list)
    end
    return list
  end

  local function put(value, path, other)
    if #path == 0 then return other end
    local at = value
    for i = 1, #path - 1 do at = at[path[i]] end
    at[path[#path]] = other
    return value
  end

  local parts = { "/products", "/vehicle_data", "/live_status", "/site_info" }

  it("never end the bridge, and are logged in its words", function()
    run({ vehicle = { sleep_after = 1e9, charge_state = { charging_state = "Charging", conn_charge_cable = "IEC" } } }, function(house)
      local damage, count = {}, 0
      house.after = function(request, answer)
        for _, part in ipairs(parts) do
          if string.find(request.url, part, 1, true) and answer.status == 200 then
            local body = core.json_decode(answer.body)
            local left = damage[part] or paths_of(part == "/products" and body.response[1] or body.response, {}, {})
            damage[part] = left
            local path = left[math.floor(count / #odd) % #left + 1]
            count = count + 1
            if part == "/products" then path = { 1, unpack(path) } end
            body.response = put(body.response, path, odd[count % #odd + 1])
            return { status = 200, headers = answer.headers, body = core.json_encode(body) }
          end
        end
      end
      local bridge = house:start {
        look_every = 1, longest_look = 1, live_every = 1, idle_every = 1, longest_idle = 1, site_every = 1, site_info_every = 1,
        location = true,
      }
      fleet.sleep(1500)
      assert.equal("publishing", bridge.state)
      local log = table.concat(bridge.logged, "\n")
      assert.not_matches("attempt to", log)
      assert.not_matches("%.lua:", log)
      assert.is_true(count > 2000, tostring(count))
      house.after = nil
      fleet.sleep(3700)
      assert.equal("online", house:says "state")
      assert.is_truthy(tonumber(house:says "battery"))
    end)
  end)

  it("where there should be a list or an object are a failure as any other: it is looked again", function()
    run({ vehicle = { sleep_after = 1e9 } }, function(house)
      local value
      house.after = function(request, answer)
        for _, part in ipairs(parts) do
          if value ~= nil and string.find(request.url, part, 1, true) then
            return { status = 200, headers = answer.headers, body = core.json_encode { response = value } }
          end
        end
      end
      local bridge = house:start()
      for _, other in ipairs { core.null, true, 7, "x", { core.null }, { 7 }, { { 7 } } } do
        value = other
        fleet.sleep(3700)
      end
      value = nil
      fleet.sleep(7300)
      assert.equal("publishing", bridge.state)
      assert.not_matches("attempt to", table.concat(bridge.logged, "\n"))
      assert.same({ "online", "60" }, { house:says "state", house:says "battery" })
    end)
  end)

  it("skip an invalid record, and log it once", function()
    run({}, function(house)
      house.after = function(request, answer)
        if not string.find(request.url, "/products", 1, true) then return nil end
        local body = core.json_decode(answer.body)
        for _, vin_of in ipairs { "5yj3flee9rf000001", "a/b", "#", "+", 7, {} } do
          table.insert(body.response, { vin = vin_of, display_name = {}, state = "online", id_s = "1" })
        end
        for _, id in ipairs { "x/y", -1, 1.5, {} } do table.insert(body.response, { energy_site_id = id, site_name = 7 }) end
        return { status = 200, headers = answer.headers, body = core.json_encode(body) }
      end
      local bridge = house:start()
      fleet.sleep(700)
      assert.equal("60", house:says "battery")
      local left_out = 0
      for _, text in ipairs(bridge.logged) do
        if string.find(text, "left out", 1, true) then left_out = left_out + 1 end
      end
      assert.equal(10, left_out, table.concat(bridge.logged, '\n'))
      for topic in pairs(house.broker.retained) do assert.not_matches("[#+]", topic) end
    end)
  end)
end)

describe("a bridge that starts again", function()
  local function config_of(house, id)
    local text = house.broker.retained["homeassistant/device/fleet_" .. (id or vin) .. "/config"]
    return text, text and core.json_decode(text)
  end

  it("publishes at once what the previous bridge published, also for a sleeping car and to an empty broker", function()
    local worlds = { { forgets = false }, { forgets = true } }
    for _, world in ipairs(worlds) do
      run({ vehicle = { sleep_after = 300 } }, function(house)
        local bridge = house:start()
        fleet.sleep(1000)
        assert.equal("asleep", house:says "state")
        local message, before = config_of(house), {}
        for topic, payload in pairs(house.broker.retained) do before[topic] = payload end
        house:stop(bridge)
        if world.forgets then house.broker.retained = {} end
        local first = #house.broker.log
        house:start({}, house:new_client())
        fleet.sleep(3)
        for i = first + 1, #house.broker.log do
          local one = house.broker.log[i]
          if one.topic == "homeassistant/device/fleet_" .. vin .. "/config" then assert.equal(message, one.payload) end
        end
        for topic, payload in pairs(before) do
          if string.find(topic, vin, 1, true) then assert.equal(payload, house.broker.retained[topic], topic) end
        end
        assert.same({ "asleep", "60" }, { house:says "state", house:says "battery" })
        assert.same({ data = 1 }, house.calls)
      end)
    end
  end)

  it("does not say again what has become too old meanwhile", function()
    run({ vehicle = { sleep_after = 300 } }, function(house)
      local bridge = house:start { live_expires = 3600 }
      fleet.sleep(1000)
      house:stop(bridge)
      fleet.sleep(3600)
      house:start({ live_expires = 3600 }, house:new_client())
      fleet.sleep(3)
      assert.same({ "asleep", "None" }, { house:says "state", house:says "battery" })
      assert.is_table(select(2, config_of(house)).components.seat_heater_left)
    end)
  end)

  it("takes back what it does not offer any more: place, commands, automations", function()
    run({ vehicle = { sleep_after = 300 } }, function(house)
      local ensure = fleet.automation.ensure {
        car = house.client:vehicle(vin), name = "limit", settings = { set_charge_limit = { percent = 80 } },
      }
      local bridge = house:start { location = true, automations = { ensure } }
      fleet.sleep(1000)
      assert.matches("latitude", house:says "attributes/location")
      assert.is_string(house:says "automation_limit")
      house:stop(bridge)
      local first = #house.broker.log
      bridge = house:start({ commands = false }, house:new_client())
      fleet.sleep(20)
      assert.is_nil(house:says "attributes/location")
      for i = first + 1, #house.broker.log do assert.not_matches("latitude", house.broker.log[i].payload) end
      assert.is_nil(house:says "automation_limit")
      local components = select(2, config_of(house)).components
      local gone = { location = "device_tracker", automation_limit = "switch", lock = "lock", horn = "button", windows = "cover" }
      for name, platform in pairs(gone) do
        assert.same({ platform = platform }, components[name], name)
      end
      assert.equal("sensor", components.lock_sensor.platform)
      house:stop(bridge)
      house:start({}, house:new_client())
      fleet.sleep(20)
      components = select(2, config_of(house)).components
      assert.is_string(components.lock.command_topic)
      assert.same({ platform = "sensor" }, components.lock_sensor)
    end)
  end)

  it("clears the messages of the other form of discovery before its own", function()
    run({}, function(house)
      local bridge = house:start()
      fleet.sleep(30)
      for _, form in ipairs { "component", "device", false } do
        house:stop(bridge)
        local first = #house.broker.log
        bridge = house:start({ discovery = form }, house:new_client())
        fleet.sleep(30)
        local kinds, late = {}, false
        for topic in pairs(house.broker.retained) do
          local kind = string.match(topic, "^homeassistant/(%w+)")
          if kind then kinds[kind == "device" and "device" or "component"] = true end
        end
        assert.same(form and { [form] = true } or {}, kinds)
        for i = first + 1, #house.broker.log do
          local one = house.broker.log[i]
          local is_car = string.find(one.topic, "^homeassistant/.*" .. vin)
          if is_car and one.payload == "" then assert.is_false(late) elseif is_car then late = true end
        end
        assert.equal("60", house:says "battery")
      end
    end)
  end)
end)

describe("the energy of a site", function()
  local function of_site(house, name) return tonumber(house.broker.retained["fleet/" .. houses.site .. "/energy_" .. name] or "") end

  it("is published in kWh since midnight, costs nothing, and never decreases within a day", function()
    run({ vehicle = { state = "asleep" } }, function(house)
      house:start()
      fleet.sleep(10)
      for _, name in ipairs { "solar", "from_grid", "to_grid", "battery_in", "battery_out", "home" } do
        assert.is_number(of_site(house, name), name)
      end
      local solar, home = of_site(house, "solar"), of_site(house, "home")
      fleet.sleep(7200)
      assert.is_true(of_site(house, "solar") > solar and of_site(house, "home") > home)
      solar = of_site(house, "solar")
      local entries
      house.after = function(request, answer)
        if not string.find(request.url, "kind=energy", 1, true) then return nil end
        return { status = 200, headers = answer.headers, body = core.json_encode { response = { period = "day", time_series = entries } } }
      end
      entries = { { timestamp = "2026-06-01T12:00:00+02:00", solar_energy_exported = solar * 500, grid_energy_imported = core.null } }
      fleet.sleep(400)
      assert.equal(solar, of_site(house, "solar"))
      assert.equal("None", house.broker.retained["fleet/" .. houses.site .. "/energy_from_grid"])
      fleet.sleep(12 * 3600) -- another day
      assert.is_true(of_site(house, "solar") < solar)
      assert.is_nil(house.calls.data)
    end)
  end)
end)

describe("a sum that only grows", function()
  it("does not publish a small step back, which hosts would count as a restart of the sum", function()
    run({ vehicle = { sleep_after = 1e9, charge_state = { charge_energy_added = 10 } } }, function(house)
      house:start { idle_every = 10, longest_idle = 10 }
      fleet.sleep(5)
      local said = {}
      for _, value in ipairs { 12.3, 12.25, 12.4, 3, 2.9, 3.1 } do
        control.set(house.service, vin, { charge_state = { charge_energy_added = value } })
        fleet.sleep(20)
        said[#said + 1] = house:says "energy_added"
      end
      assert.same({ "12.3", "12.3", "12.4", "3", "3", "3.1" }, said)
    end)
  end)
end)

describe("wall connectors", function()
  it("are entities of their site", function()
    run({ vehicle = { state = "asleep" } }, function(house)
      local list = { { din = "1529455-02-D--ABC123", wall_connector_power = 7200, wall_connector_state = 1, vin = vin } }
      house.after = function(request, answer)
        if not string.find(request.url, "/live_status", 1, true) then return nil end
        local body = core.json_decode(answer.body)
        body.response.wall_connectors = list
        return { status = 200, headers = answer.headers, body = core.json_encode(body) }
      end
      house:start()
      fleet.sleep(10)
      local base = "fleet/" .. houses.site .. "/wall_connector_1529455_02_D__ABC123_"
      assert.same({ "7200", vin, "1" }, {
        house.broker.retained[base .. "power"], house.broker.retained[base .. "vehicle"], house.broker.retained[base .. "state"],
      })
      local config = core.json_decode(house.broker.retained["homeassistant/device/fleet_" .. houses.site .. "/config"])
      assert.equal("W", config.components["wall_connector_1529455_02_D__ABC123_power"].unit_of_measurement)
      list = {}
      fleet.sleep(1300)
      assert.equal("None", house.broker.retained[base .. "power"])
    end)
  end)
end)

describe("the text for what is not known", function()
  it("is an option", function()
    run({}, function(house)
      house:start { idle_every = 100, unknown = "UNDEF" }
      fleet.sleep(10)
      house.after = function(request, answer)
        if not string.find(request.url, "/vehicle_data", 1, true) then return nil end
        local body = core.json_decode(answer.body)
        body.response.charge_state.battery_level = nil
        return { status = 200, headers = answer.headers, body = core.json_encode(body) }
      end
      fleet.sleep(150)
      assert.equal("UNDEF", house:says "battery")
    end)
  end)
end)

describe("what was last read too long ago", function()
  it("is withdrawn from the broker by the bridge", function()
    run({}, function(house)
      house:start { live_expires = 7200 }
      local function of_site(name) return house.broker.retained["fleet/" .. houses.site .. "/" .. name] end
      fleet.sleep(10)
      assert.same({ "60", "online", "ON" }, { house:says "battery", house:says "state", of_site "grid" })
      house.before = function() return nil, "the service is away", false end
      fleet.sleep(2300)
      assert.same({ "60", "online", "ON" }, { house:says "battery", house:says "state", of_site "grid" })
      fleet.sleep(5000)
      assert.same({ "None", "None", "None" }, { house:says "battery", house:says "state", of_site "grid" })
      house.before = nil
      fleet.sleep(3700)
      assert.equal("ON", of_site "grid")
    end)
  end)
end)

describe("the wall clock set by years", function()
  it("changes nothing of when the bridge looks", function()
    run({}, function(house)
      local clock, jump = fleet.loop.clock, 0
      fleet.loop.clock = function()
        local mono, wall = clock()
        return mono, wall + jump
      end
      house:start { live_expires = 86400 }
      fleet.sleep(10)
      for _, seconds in ipairs { 20 * 365 * 86400, -20 * 365 * 86400 } do
        jump = seconds
        local lists = 0
        house.after = function(request)
          if string.find(request.url, "/products", 1, true) then lists = lists + 1 end
        end
        fleet.sleep(3000)
        assert.is_true(lists >= 4 and lists <= 8, tostring(lists))
        assert.equal("60", house:says "battery")
      end
    end)
  end)
end)

describe("the broker", function()
  it("is reached as the options say, and gets the will", function()
    run({}, function(house)
      house:start {
        broker = "mqtts://broker.example:8884", broker_ca_file = "/ca.pem", cert_file = "/own.pem", key_file = "/own.key", user = "anna",
        password = "s3cret", mqtt_id = "fleet-1", keepalive = 15, topic = "cars",
      }
      fleet.sleep(1)
      assert.same({
        host = "broker.example", address = "broker.example", port = 8884, tls = true, keepalive = 15, user = "anna", password = "s3cret",
        ca_file = "/ca.pem",
        cert_file = "/own.pem", key_file = "/own.key", client_id = "fleet-1", will_topic = "cars/bridge/default/availability",
        will = "offline",
      }, next(house.broker.connections).options)
      assert.equal("online", house.broker.retained["cars/bridge/default/availability"])
    end)
  end)
end)

describe("the published tariff and account", function()
  it("is what holds now, with a price of selling where there is one", function()
    local tariff = houses.tariff()
    tariff.sell_tariff = houses.tariff()
    tariff.sell_tariff.version = nil
    tariff.sell_tariff.energy_charges.Year.rates = { OFF_PEAK = 0.05, ON_PEAK = 0.1 }
    local site = { components = { battery = true, solar = true }, battery_count = 1, tariff_content_v2 = tariff }
    run({ start = 1780308000 - 6 * 3600, energy_site = site, vehicle = { state = "asleep" } }, function(house)
      house:start()
      local function says(name) return house.broker.retained["fleet/" .. houses.site .. "/" .. name] end
      fleet.sleep(60)
      assert.same({ "OFF_PEAK", "0.2", "0.05" }, { says "tariff", says "price_buy", says "price_sell" })
      local config = core.json_decode(house.broker.retained["homeassistant/device/fleet_" .. houses.site .. "/config"])
      assert.equal("EUR/kWh", config.components.price_sell.unit_of_measurement)
      assert.is_nil(config.components.price_sell.expire_after) -- the bridge withdraws what is too old
      fleet.sleep(6 * 3600) -- noon has passed in Berlin
      assert.same({ "ON_PEAK", "0.4", "0.1" }, { says "tariff", says "price_buy", says "price_sell" })
      assert.matches("^0%.%d$", house.broker.retained["fleet/account_default/token_age"])
    end)
  end)
end)

describe("a tariff in another currency, or without one", function()
  for _, currency in ipairs { "AUD", false } do
    it("has its prices: " .. tostring(currency), function()
      local tariff = houses.tariff()
      tariff.currency = currency or nil
      local site = { components = { battery = true }, battery_count = 1, tariff_content_v2 = tariff }
      run({ start = 1780308000 - 6 * 3600, energy_site = site, vehicle = { state = "asleep" } }, function(house)
        house:start()
        fleet.sleep(60)
        assert.equal("0.2", house.broker.retained["fleet/" .. houses.site .. "/price_buy"])
      end)
    end)
  end
end)

describe("the cost of the schedule", function()
  it("is logged at the start and published", function()
    run({}, function(house)
      local bridge = house:start()
      fleet.sleep(2)
      local text = table.concat(bridge.logged, "\n")
      assert.matches("1 cars: about %d+%.%d%d USD a month", text)
      local shown = house.broker.retained["fleet/account_default/schedule_cost"]
      assert.matches("^%d+%.%d+$", shown)
      assert.is_truthy(string.find(text, "about " .. string.format("%.2f", shown), 1, true))
    end)
  end)

  it("follows the options", function()
    local function month(more)
      local given = { client = true, broker = "mqtt://b" }
      for name, value in pairs(more) do given[name] = value end
      return schedule.month(options.read(given), 1)
    end
    local default = month {}
    assert.is_true(month({ live_every = 60 }).usd > default.usd)
    assert.is_true(month({ idle_every = 7200 }).usd < default.usd)
    assert.equal(default.usd * 3, schedule.month(options.read { client = true, broker = "mqtt://b" }, 3).usd)
    assert.is_true(default.most > default.usd)
    local odd = month({ look_every = 0.5, idle_every = 2.25 }).text
    assert.matches("every 0.5 to 600 s, free; .*: every 300 s while it is busy, else after 2.25 s", odd)
    assert.is_true(month({ idle_every = 1e-9, longest_idle = 1e-9 }).usd > 1e6) -- and soon
    local restless = month { idle_every = 1, longest_idle = 1 }
    assert.is_true(restless.most >= restless.usd)
  end)
end)

describe("a budget", function()
  it("holds: no look is made beyond it, and what is left is shown", function()
    local busy = { charge_state = { battery_level = 20, charge_limit_soc = 80, conn_charge_cable = "IEC", charging_state = "Charging" } }
    run({ vehicle = busy, client = { budgets = { per_day = { data = 3 }, usd_per_month = 5 } } }, function(house)
      local bridge = house:start()
      fleet.sleep(3 * 3600)
      assert.same({ data = 3 }, house.calls)
      assert.matches("budget", table.concat(bridge.logged, "\n"))
      assert.equal("0.006", house.broker.retained["fleet/account_default/cost_month"])
      assert.equal("4.994", house.broker.retained["fleet/account_default/budget_left"])
      local attributes = core.json_decode(house.broker.retained["fleet/account_default/attributes/account"])
      assert.equal(0, attributes.budgets["per_day.data"].left)
      assert.equal("online", house:says "state")
    end)
  end)

  it("that there is none is no entity", function()
    run({}, function(house)
      house:start()
      fleet.sleep(200)
      local config = core.json_decode(house.broker.retained["homeassistant/device/fleet_account_default/config"])
      assert.is_nil(config.components.budget_left)
      assert.is_table(config.components.cost_month)
      assert.equal("0.002", house.broker.retained["fleet/account_default/cost_month"])
    end)
  end)
end)

describe("several bridges", function()
  it("of which one is cut off and whose will comes late: the publishing one stays online", function()
    run({}, function(house)
      house:start()
      fleet.sleep(5)
      local topic = "fleet/bridge/default/availability"
      house.broker.publish(topic, "offline", true)
      fleet.sleep(1)
      assert.equal("online", house.broker.retained[topic])
    end)
  end)

  it("of one account publish one at a time; the other takes over", function()
    run({}, function(house)
      local first = house:start()
      fleet.sleep(15)
      local messages = #house.broker.log
      local second = house:start({}, house:new_client())
      fleet.sleep(30)
      assert.equal("publishing", first.state)
      assert.equal("waiting", second.state)
      assert.matches("another bridge publishes", second.logged[1])
      assert.is_true(#house.broker.log - messages <= 20, "nothing is doubled")
      house:ask(vin .. "/horn/set", "PRESS")
      assert.equal(1, house:sent "honk_horn")
      house:stop(first)
      fleet.sleep(15)
      assert.equal("publishing", second.state)
      assert.equal("online", house.broker.retained["fleet/bridge/default/availability"])
      house:ask(vin .. "/horn/set", { value = "PRESS", id = "n" })
      assert.equal(2, house:sent "honk_horn")
    end)
  end)

  it("stop publishing when the lease is lost", function()
    run({}, function(house)
      local bridge = house:start()
      fleet.sleep(5)
      local renew = bridge.context.store.lease
      assert.is_truthy(renew)
      local taken = assert(house.store:lease("mqtt/default/other", 10))
      taken:release()
      bridge.session.lost = { message = "another process holds the lease" }
      bridge.session.rouse "end"
      fleet.sleep(3)
      assert.matches("another bridge has taken over", table.concat(bridge.logged, "\n"))
      assert.equal("publishing", bridge.state) -- there was no other bridge: it took the lease again
    end)
  end)

  it("refuse to run twice", function()
    run({}, function(house)
      local bridge = house:start()
      fleet.sleep(1)
      assert.has_error(function() bridge:run() end)
      assert.has_error(function() bridge:run { progres = print } end)
    end)
  end)
end)

describe("the bridge", function()
  it("says that it is there once it hears commands, not before", function()
    run({}, function(house)
      local topic = "fleet/bridge/default/availability"
      house.before = function(request)
        if string.find(request.url, "/products", 1, true) then return nil, "the service is away", false end
      end
      house:start()
      fleet.sleep(30)
      assert.is_nil(house.broker.retained[topic])
      house.before = nil
      fleet.sleep(200)
      assert.equal("online", house.broker.retained[topic])
    end)
  end)
end)

describe("a broker that goes away", function()
  it("finds everything again when it is back, and the looks go on", function()
    run({}, function(house)
      house:start()
      fleet.sleep(5)
      house.broker.down = true
      house.broker.drop()
      house.broker.retained = {}
      fleet.sleep(60)
      house.broker.down = false
      fleet.sleep(70)
      assert.equal("60", house:says "battery")
      assert.equal("online", house.broker.retained["fleet/bridge/default/availability"])
      assert.is_string(house.broker.retained["homeassistant/device/fleet_" .. vin .. "/config"])
    end)
  end)

  it("gets the answers of meanwhile", function()
    run({}, function(house)
      house:start()
      fleet.sleep(5)
      house.broker.deaf = true
      house.broker.publish("fleet/" .. vin .. "/horn/set", "PRESS", false)
      fleet.sleep(5)
      assert.equal(0, #house.broker.said("fleet/" .. vin .. "/horn/set/result"))
      house.broker.deaf = false
      house.broker.drop()
      fleet.sleep(5)
      assert.equal(1, #house.broker.said("fleet/" .. vin .. "/horn/set/result"))
      assert.equal(1, house:sent "honk_horn")
    end)
  end)
end)

describe("automations", function()
  local function with_ensure(fn)
    run({ vehicle = { charge_state = { charge_limit_soc = 90 }, sleep_after = 1e9 } }, function(house)
      local car = house.client:vehicle(vin)
      local ensure = fleet.automation.ensure { car = car, name = "limit", settings = { set_charge_limit = { percent = 70 } } }
      local bridge = house:start { automations = { ensure } }
      fn(house, bridge, ensure)
    end)
  end

  it("run in the process, say why, and are switched", function()
    with_ensure(function(house)
      fleet.sleep(60)
      assert.equal(1, house:sent "set_charge_limit")
      assert.equal("ON", house:says "automation_limit")
      assert.matches("limit, .*: ", house:says "automation_limit_why")
      local attributes = seen_at(house, "automation_limit")
      assert.equal("ensure", attributes.kind)
      assert.equal(1, attributes.commands_today)
      assert.matches("^2026%-06%-01T", attributes.next_decision)
      local config = core.json_decode(house.broker.retained["homeassistant/device/fleet_" .. vin .. "/config"])
      assert.equal("switch", config.components.automation_limit.platform)
      assert.equal("done", house:ask(vin .. "/automation_limit/set", "OFF").outcome)
      assert.equal("OFF", house:says "automation_limit")
      assert.equal("switched off", house:says "automation_limit_why")
      control.set(house.service, vin, { charge_state = { charge_limit_soc = 90 }, state = "online" })
      fleet.sleep(5 * 3600)
      assert.equal(1, house:sent "set_charge_limit")
      assert.equal("not_sent", house:ask(vin .. "/automation_limit/set", "MAYBE").outcome)
      assert.equal("done", house:ask(vin .. "/automation_limit/set", "ON").outcome)
      control.event(house.service, "online", vin)
      fleet.sleep(4 * 3600)
      assert.equal(2, house:sent "set_charge_limit")
    end)
  end)

  it("show the stretches of time that they plan", function()
    with_ensure(function(house, _, ensure)
      fleet.sleep(60)
      ensure.state.memory.plan = { { from = houses.START, to = houses.START + 3600 } }
      fleet.sleep(60)
      assert.same({ { from = "2026-06-01T10:00:00Z", to = "2026-06-01T11:00:00Z" } }, seen_at(house, "automation_limit").plan)
    end)
  end)

  it("that were switched off stay off over a restart", function()
    with_ensure(function(house, bridge, ensure)
      fleet.sleep(5)
      assert.equal("done", house:ask(vin .. "/automation_limit/set", "OFF").outcome)
      local before = house:sent "set_charge_limit"
      house:stop(bridge)
      control.set(house.service, vin, { charge_state = { charge_limit_soc = 90 } })
      house:start { automations = { ensure } }
      fleet.sleep(7200)
      assert.equal("OFF", house:says "automation_limit")
      assert.equal(before, house:sent "set_charge_limit")
    end)
  end)

  it("do not run where it cannot be read which of them are switched off", function()
    houses.new():run(function(house)
      local car = house.client:vehicle(vin)
      local ensure = fleet.automation.ensure { car = car, name = "limit", settings = { set_charge_limit = { percent = 70 } } }
      local bridge = house:bridge { automations = { ensure } }
      local store = bridge.context.store
      local function get(_, key)
        if key:find("/automations", 1, true) then return nil, { kind = "store", message = "away" }, "store" end
        return store:get(key)
      end
      bridge.context.store = setmetatable({ get = get }, { __index = function(_, name)
        return type(store[name]) == "function" and function(_, ...) return store[name](store, ...) end or store[name]
      end })
      local done, _, kind = bridge:run()
      bridge.context.store = store
      assert.same({ nil, "store" }, { done, kind })
      assert.same({}, house.commands)
    end)
  end)

  it("must be automations, with names of their own", function()
    run({}, function(house)
      assert.has_error(function() house:bridge { automations = { {} } } end)
      local car = house.client:vehicle(vin)
      local function one() return fleet.automation.ensure { car = car, settings = { set_charge_limit = { percent = 70 } } } end
      assert.has_error(function() house:bridge { automations = { one(), one() } } end)
    end)
  end)
end)

describe("options", function()
  local function read(more)
    local given = { client = true, broker = "mqtt://b" }
    for name, value in pairs(more) do given[name] = value end
    return options.read(given)
  end

  it("are checked", function()
    for _, wrong in ipairs {
      { brokr = 1 }, { topic = "a/+" }, { topic = "a\255" }, { discovery_prefix = "a\0" },
      { keepalive = 4 }, { keepalive = 5.5 }, { topic = "" }, { discovery = "both" }, { wake = "sometimes" }, { look_every = 0 },
      { commands = "some" }, { commands = { "no_such" } }, { vehicles = "5YJ" }, { location = 1 }, { names = "x" },
    } do
      assert.has_error(function() read(wrong) end, nil, core.json_encode(wrong))
    end
    assert.has_error(function() options.read { broker = "mqtt://b" } end)
    assert.has_error(function() options.read { client = true } end)
  end)

  it("have a broker's address", function()
    assert.same({ host = "b", port = 1883 }, options.address "mqtt://b")
    assert.same({ host = "b.example", port = 8883, tls = true }, options.address "mqtts://b.example/")
    assert.same({ host = "::1", port = 1 }, options.address "mqtt://[::1]:1")
    assert.same({ host = "/run/mosquitto.sock", port = 0 }, options.address "mqtt+unix:/run/mosquitto.sock")
    for _, wrong in ipairs { "b", "http://b", "mqtt://", "mqtt://b:99999", "mqtt://b:0", "mqtt://a b", "mqtt+unix:relative" } do
      assert.has_error(function() options.address(wrong) end)
    end
  end)

  it("never hold a password in the address, and do not show one", function()
    local ok, text = pcall(options.address, "mqtt://anna:s3cret@b")
    assert.is_false(ok)
    assert.not_matches("s3cret", text)
    ok, text = pcall(options.address, "mqt://anna:s3cret@b")
    assert.is_false(ok)
    assert.not_matches("s3cret", text)
  end)
end)
