-- `fleet mqtt` as a command: the two commands of the manual, how it ends, and what it refuses.

local fleet = require "fleet"
local cli = require "spec.support.harness.cli"
local core = require "fleet.core"
local files = require "spec.support.harness.files"
local links = require "fleet.mqtt.link"
local mosquitto = require "spec.support.servers.mosquitto"
local process = require "spec.support.harness.process"

local quote = process.quote
local vin = "5YJSFLEE9KF000002"
local library = links.library()

describe("fleet mqtt", function()
  if not library or not mosquitto.installed() then
    pending(library and mosquitto.missing or "fleet was built without libmosquitto")
    return
  end

  local script = [[
    export HOME=%s PATH="$PWD/lua/fleet/cli:$PATH"
    unset XDG_CONFIG_HOME XDG_STATE_HOME FLEET_BASE_URL
    eval "$(fleet sim --env)" || exit 1
    FLEET_MQTT_USER=anna FLEET_MQTT_PASSWORD=s3cret fleet mqtt --options examples/mqtt.json --broker mqtt://127.0.0.1:%d >"$HOME/out" 2>&1 &
    bridge=$!
    read -r line
    kill -TERM $bridge
    wait $bridge
    echo $? >"$HOME/status"
    eval "$(fleet sim stop --env)"
  ]]

  it("runs the example against the simulator, takes a command, and ends by SIGTERM", function()
    local directory, broker = process.temporary "mqtt", mosquitto.start { password = "s3cret" }
    local shell = assert(io.popen("cd " .. quote(process.root) .. " && timeout 60 bash -c " ..
      quote(string.format(script, quote(directory), broker.port)), "w"))
    local heard = {}
    local listener = links.new {
      library = library, broker = { host = "127.0.0.1", port = broker.port, user = "anna", password = "s3cret" },
      on_message = function(topic, payload) heard[topic] = payload end, on_state = function() end,
    }
    listener:listen { "#" }
    local function wait(topic)
      local ends = core.clock() + 20
      while not heard[topic] and core.clock() < ends do fleet.sleep(0.02) end
      return heard[topic]
    end
    fleet.run(function()
      fleet.spawn(function() listener:run() end)
      assert.is_string(wait("fleet/" .. vin .. "/battery"), files.find(directory .. "/out"))
      local config = core.json_decode(wait("homeassistant/device/fleet_" .. vin .. "/config"))
      assert.equal("The red one", config.device.name)
      assert.equal("Garage", config.device.suggested_area)
      wait "fleet/bridge/default/availability"
      fleet.sleep(0.2)
      listener:say("fleet/" .. vin .. "/charge_limit/set", "66")
      local answer = core.json_decode(wait("fleet/" .. vin .. "/charge_limit/set/result") or "{}")
      assert.equal("done", answer.outcome)
      shell:write "\n"
      shell:close()
      local ends = core.clock() + 20
      while heard["fleet/bridge/default/availability"] ~= "offline" and core.clock() < ends do fleet.sleep(0.02) end
      assert.equal("offline", heard["fleet/bridge/default/availability"])
      listener:stop()
    end)
    assert.equal("0\n", files.read(directory .. "/status"))
    local out = files.read(directory .. "/out")
    assert.matches("2 cars: about %d+%.%d%d USD a month", out)
    assert.not_matches("s3cret", out)
    broker.stop()
    process.execute("rm -rf " .. quote(directory))
  end)

  -- Nothing of these reaches a network.
  local function refused(arguments, env)
    env = env or {}
    env.FLEET_BASE_URL, env.FLEET_TOKEN = "http://127.0.0.1:1", "t"
    local words = { "mqtt" }
    for _, word in ipairs(arguments) do words[#words + 1] = word end
    local result = cli.run(words, { env = env })
    assert.equal(2, result.status, result.err)
    return result.err
  end

  it("refuses what is wrong, and a password in the open", function()
    local directory = process.temporary "mqtt"
    local function options(text)
      local path = files.write(directory .. "/options.json", text)
      process.execute("chmod 600 " .. quote(path))
      return "--options=" .. path
    end
    assert.matches("needs %-%-broker", refused {})
    assert.matches("cannot be 'http://x'", refused { "--broker=http://x" })
    assert.matches("wake", refused { options '{"broker":"mqtt://h","wake":"sometimes"}' })
    assert.matches("topik", refused { options '{"broker":"mqtt://h","topik":"a"}' })
    assert.matches("not JSON", refused { options "{" })
    assert.matches("does not belong", refused { options '{"broker":"mqtt://h","password":"s3cret"}' })
    assert.not_matches("s3cret", refused { options '{"broker":"mqtt://h","password":"s3cret"}' })
    assert.not_matches("s3cret", refused { "--broker=mqtt://anna:s3cret@h" })
    assert.not_matches("s3cret", refused { "--broker=mqtt://h", "--password=s3cret" })
    assert.matches("discovery", refused { "--broker=mqtt://h", "--discovery=both" })
    assert.matches("takes no 'extra'", refused { "extra" })
    process.execute("rm -rf " .. quote(directory))
  end)
end)
