-- The bridge in processes of their own, against a real Mosquitto and the simulator: killed between a command and its
-- answer, two of them at once, and a broker that goes away: for FLEET_AWAY seconds.

local fleet = require "fleet"
local core = require "fleet.core"
local files = require "spec.support.harness.files"
local links = require "fleet.mqtt.link"
local mosquitto = require "spec.support.servers.mosquitto"
local process = require "spec.support.harness.process"
local services = require "spec.support.servers.service"

local vin = "5YJSFLEE9KF000002"
local library = links.library()
local quote = process.quote

describe("the bridge as a process", function()
  if not library or not mosquitto.installed() then
    pending(library and mosquitto.missing or "fleet was built without libmosquitto")
    return
  end

  local service, broker, directory, children, listener

  setup(function()
    directory = process.temporary "bridge"
    service = services.start({ vehicles = { { vin = vin, vehicle_command_protocol_required = false } } },
      "--log " .. quote(directory .. "/calls"))
    local client = service:client { store = fleet.store.file(directory .. "/store") }
    service:sign_in(client):close()
    broker = mosquitto.start()
  end)
  teardown(function()
    broker.stop()
    service:stop()
    process.execute("rm -rf " .. quote(directory))
  end)

  -- The output of the processes.
  local function output()
    local parts = {}
    for i, child in ipairs(children) do parts[i] = files.find(child.out) or "" end
    return table.concat(parts, "\n--\n")
  end

  local function settle(what, condition, seconds)
    local ends = core.clock() + (seconds or 30)
    while not condition() do
      if core.clock() > ends then error("it never came to that: " .. what .. "\n" .. output(), 0) end
      fleet.sleep(0.01)
    end
  end

  local function start_child(name, options)
    local child = { out = directory .. "/" .. name }
    process.execute(string.format("cd %s; lua5.4 spec/support/fixtures/mqtt_child.lua %s %d %s %s >%s 2>&1 & echo $! >%s",
      quote(process.root), quote(core.json_encode(service.addresses)), broker.port, quote(directory .. "/store"),
      quote(core.json_encode(options or { max_age = 600 })), quote(child.out), quote(child.out .. ".pid")))
    child.pid = string.match(files.read(child.out .. ".pid"), "%d+")
    function child.kill(signal)
      os.execute("kill -" .. (signal or "KILL") .. " " .. child.pid .. " 2>/dev/null")
    end
    children[#children + 1] = child
    return child
  end

  -- A client at the broker that receives everything.
  local function listen()
    local heard = { all = {} }
    listener = links.new {
      library = library, broker = { host = "127.0.0.1", port = broker.port }, on_state = function() end,
      on_message = function(topic, payload)
        heard[topic] = payload
        heard.all[#heard.all + 1] = { topic = topic, payload = payload }
      end,
    }
    listener:listen { "fleet/#" }
    fleet.spawn(function() listener:run() end)
    settle("a listener", function() return listener.connected end)
    return heard
  end

  local function results(heard, topic)
    local list = {}
    for _, message in ipairs(heard.all) do
      if message.topic == topic then list[#list + 1] = core.json_decode(message.payload) end
    end
    return list
  end

  local function calls(name)
    local count = 0
    for line in string.gmatch(files.find(directory .. "/calls") or "", "[^\n]+") do
      if string.find(line, name, 1, true) then count = count + 1 end
    end
    return count
  end

  local function in_house(fn)
    children = {}
    local ok, failure = pcall(fleet.run, function()
      local fine, why = pcall(fn)
      for _, child in ipairs(children) do child.kill() end
      if listener then listener:stop() end
      if not fine then error(why, 0) end
    end)
    listener = nil
    if not ok then error(failure, 0) end
  end

  local availability = "fleet/bridge/default/availability"
  local topic = "fleet/" .. vin .. "/command/honk_horn"

  it("that is killed between a command and its answer answers unknown, and never sends again", function()
    in_house(function()
      local heard = listen()
      local first = start_child "first"
      settle("the battery", function() return heard["fleet/" .. vin .. "/battery"] end)
      service:control { fault = "slow", row = "honk_horn", seconds = 30 }
      listener:say(topic, '{"id":"killed"}')
      settle("the horn", function() return calls "honk_horn" == 1 end)
      first.kill()
      settle("the will", function() return heard[availability] == "offline" end)
      assert.same({}, results(heard, topic .. "/result"))
      start_child "second"
      settle("an answer", function() return results(heard, topic .. "/result")[1] end)
      local answer = results(heard, topic .. "/result")[1]
      assert.same({ "unknown", "killed", "crash" }, { answer.outcome, answer.id, answer.reason })
      settle("the second hears", function() return heard[availability] == "online" end)
      listener:say(topic, '{"id":"killed"}')
      settle("a second answer", function() return results(heard, topic .. "/result")[2] end)
      assert.is_true(results(heard, topic .. "/result")[2].duplicate)
      assert.equal(1, calls "honk_horn")
    end)
  end)

  it("waits while another publishes, and takes over when that is killed", function()
    in_house(function()
      local heard = listen()
      local first = start_child "third"
      settle("the first", function() return heard[availability] == "online" end)
      local second = start_child "fourth"
      settle("the second waits", function() return string.find(files.find(second.out) or "", "waiting for it to end", 1, true) end)
      local battery = #results(heard, "fleet/" .. vin .. "/battery")
      assert.is_true(battery >= 1)
      local other = "fleet/" .. vin .. "/command/flash_lights"
      listener:say(other, '{"id":"one"}')
      settle("an answer", function() return results(heard, other .. "/result")[1] end)
      heard[availability] = nil
      first.kill()
      settle("the second", function()
        return heard[availability] == "online" and string.find(files.find(second.out), "list of cars and sites", 1, true)
      end)
      listener:say(other, '{"id":"one"}')
      settle("the same answer", function() return results(heard, other .. "/result")[2] end)
      assert.equal(2, #results(heard, other .. "/result"))
      assert.is_true(results(heard, other .. "/result")[2].duplicate)
      assert.equal(1, calls "flash_lights")
    end)
  end)

  -- What comes while the broker is away: a message that says its time, and one that does not.
  local away = tonumber(os.getenv "FLEET_AWAY") or 1.2
  local often = {
    max_age = away / 2, keepalive = 5, look_every = 0.3, longest_look = 0.3, idle_every = 0.3, longest_idle = 0.3,
  }
  local timed, plain = "fleet/" .. vin .. "/command/door_lock", "fleet/" .. vin .. "/command/door_unlock"

  local function send_meanwhile(level)
    service:control { set = { [vin] = { charge_state = { battery_level = level } } } }
    listener:say(timed, core.json_encode { id = "timed" .. level, at = (select(2, fleet.loop.clock())) })
    listener:say(plain, core.json_encode { id = "plain" .. level })
    fleet.sleep(away)
  end

  local function assert_state(heard, level)
    settle("the level", function() return heard["fleet/" .. vin .. "/battery"] == tostring(level) end, 2 * away + 70)
    settle("availability", function() return heard[availability] == "online" end)
  end

  local function assert_answers(heard, level)
    settle("the answers", function() return results(heard, timed .. "/result")[1] and results(heard, plain .. "/result")[1] end, 20)
    fleet.sleep(0.3)
    local late, kept = results(heard, timed .. "/result"), results(heard, plain .. "/result")
    assert.same({ "not_sent", "old", "timed" .. level }, { late[1].outcome, late[1].reason, late[1].id })
    assert.same({ "done", "plain" .. level }, { kept[1].outcome, kept[1].id })
    for i, again in ipairs(kept) do assert.equal(i > 1 or nil, again.duplicate) end
  end

  -- What the listener had kept reached the broker before or after the bridge: lost, or taken up.
  local function assert_at_most_once(heard, locked, unlocked)
    fleet.sleep(0.3)
    assert.equal(locked, calls "door_lock")
    assert.is_true(calls "door_unlock" <= unlocked + 1)
    listener:say(plain, '{"id":"afterwards' .. unlocked .. '"}')
    settle("an answer", function()
      local last = results(heard, plain .. "/result")
      return last[#last] and last[#last].id == "afterwards" .. unlocked and last[#last].outcome == "done"
    end)
  end

  it("continues after the broker stopped for a while: what is late is refused, the rest carried out once, the state is right", function()
    in_house(function()
      local heard = listen()
      service:control { event = "online", vin = vin }
      local child = start_child("fifth", often)
      settle("the bridge", function() return heard[availability] == "online" and heard["fleet/" .. vin .. "/battery"] end)
      local locked, unlocked = calls "door_lock", calls "door_unlock"
      broker.signal "STOP"
      send_meanwhile(33)
      broker.signal "CONT"
      assert_state(heard, 33)
      if away > 20 then -- it noticed, and was not connected when the broker went on
        assert.matches("the broker was silent for too long", files.read(child.out))
        assert_at_most_once(heard, locked, unlocked)
      else
        assert_answers(heard, 33)
        assert.same({ locked, unlocked + 1 }, { calls "door_lock", calls "door_unlock" })
      end
    end)
  end)

  it("continues when the broker was killed and comes back empty: everything is published again", function()
    local dead = broker
    in_house(function()
      local heard = listen()
      service:control { event = "online", vin = vin }
      local child = start_child("sixth", often)
      settle("the bridge", function() return heard[availability] == "online" and heard["fleet/" .. vin .. "/battery"] end)
      local locked, unlocked = calls "door_lock", calls "door_unlock"
      broker.signal "KILL"
      settle("the loss", function() return string.find(files.read(child.out), "the broker: ", 1, true) and not listener.connected end)
      send_meanwhile(44)
      for name in pairs(heard) do heard[name] = nil end
      heard.all = {}
      broker = mosquitto.start { port = dead.port }
      assert_state(heard, 44)
      assert_at_most_once(heard, locked, unlocked)
      for _, name in ipairs { "lock", "charge_limit", "seen" } do
        assert.is_string(heard["fleet/" .. vin .. "/" .. name], name)
      end
    end)
    dead.stop() -- the bridge had inherited its end of the pipe
  end)
end)
