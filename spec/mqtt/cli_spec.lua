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

  -- $HOME/over exists as soon as the bridge has ended, by itself or by the line that the shell waits for.
  local script = [[
    export HOME=%s PATH="$PWD/lua/fleet/cli:$PATH"
    unset XDG_CONFIG_HOME XDG_STATE_HOME FLEET_BASE_URL
    trap 'eval "$(fleet sim stop --env)"; echo >"$HOME/over"' EXIT
    eval "$(fleet sim --env 2>"$HOME/out")" || exit 1
    {
      FLEET_MQTT_USER=anna FLEET_MQTT_PASSWORD=s3cret fleet mqtt --options examples/mqtt.json --broker %s://127.0.0.1:%d >"$HOME/out" 2>&1 &
      echo $! >"$HOME/pid"
      wait $!
      echo $? >"$HOME/status"
      echo >"$HOME/over"
    } &
    read -r line
    kill -TERM "$(cat "$HOME/pid")"
    wait $!
  ]]

  local directory, broker

  before_each(function()
    directory, broker = process.temporary "mqtt", mosquitto.start { password = "s3cret" }
  end)
  after_each(function()
    broker.stop()
    process.execute("rm -rf " .. quote(directory))
  end)

  -- Runs fn(wait, listener, stop) beside the two commands of the manual. wait(topic, text): what the listener heard there; raises
  -- with what the bridge printed as soon as that has ended. stop(): ends the bridge by SIGTERM.
  local function beside_bridge(scheme, fn)
    local shell = assert(io.popen("cd " .. quote(process.root) .. " && timeout 60 bash -c " ..
      quote(string.format(script, quote(directory), scheme, broker.port)), "w"))
    local heard = {}
    local listener = links.new {
      library = library, broker = { host = "127.0.0.1", port = broker.port, user = "anna", password = "s3cret" },
      on_message = function(topic, payload) heard[topic] = payload end, on_state = function() end,
    }
    listener:listen { "#" }
    local function wait(topic, text)
      local ends = core.clock() + 30
      while heard[topic] ~= (text or heard[topic] or "") do
        local over = not text and files.find(directory .. "/over") or core.clock() > ends
        if over then error("fleet mqtt says nothing on " .. topic .. ": " .. files.read(directory .. "/out"), 0) end
        fleet.sleep(0.02)
      end
      return heard[topic]
    end
    local function stop()
      if shell then
        shell:write "\n"
        shell:close()
      end
      shell = nil
    end
    local ok, failure = fleet.run(function()
      fleet.spawn(function() listener:run() end)
      local ok, failure = pcall(fn, wait, listener, stop)
      listener:stop()
      return ok, failure
    end)
    stop()
    assert(ok, failure)
  end

  it("runs the example against the simulator, takes a command, and ends by SIGTERM", function()
    beside_bridge("mqtt", function(wait, listener, stop)
      wait("fleet/" .. vin .. "/battery")
      local config = core.json_decode(wait("homeassistant/device/fleet_" .. vin .. "/config"))
      assert.equal("The red one", config.device.name)
      assert.equal("Garage", config.device.suggested_area)
      wait("fleet/bridge/default/availability", "online")
      listener:say("fleet/" .. vin .. "/charge_limit/set", "66")
      local answer = core.json_decode(wait("fleet/" .. vin .. "/charge_limit/set/result"))
      assert.equal("done", answer.outcome)
      stop()
      wait("fleet/bridge/default/availability", "offline")
    end)
    assert.equal("0\n", files.read(directory .. "/status"))
    local out = files.read(directory .. "/out")
    assert.matches("2 cars: about %d+%.%d%d USD a month", out)
    assert.not_matches("s3cret", out)
  end)

  it("is not waited for when it ends at once: its output is in the error", function()
    local ok, failure = pcall(beside_bridge, "http", function(wait) wait("fleet/" .. vin .. "/battery") end)
    assert.is_false(ok)
    assert.matches("says nothing on fleet/" .. vin .. "/battery: .*cannot be 'http://127", failure)
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
    local absent = refused { "--options=" .. directory .. "/absent.json" }
    assert.matches("%-%-options: there is no file [^\n]*/absent%.json\n", absent)
    assert.not_matches("configuration", absent)
    assert.matches("does not belong", refused { options '{"broker":"mqtt://h","password":"s3cret"}' })
    assert.not_matches("s3cret", refused { options '{"broker":"mqtt://h","password":"s3cret"}' })
    assert.not_matches("s3cret", refused { "--broker=mqtt://anna:s3cret@h" })
    assert.not_matches("s3cret", refused { "--broker=mqtt://h", "--password=s3cret" })
    assert.matches("discovery", refused { "--broker=mqtt://h", "--discovery=both" })
    assert.matches("takes no 'extra'", refused { "extra" })
  end)
end)
