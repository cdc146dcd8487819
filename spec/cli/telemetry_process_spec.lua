-- The way of the manual as processes: a simulator whose cars stream, a receiver, and a driving car's values.

local core = require "fleet.core"
local files = require "spec.support.harness.files"
local markdown = require "spec.support.harness.markdown"
local process = require "spec.support.harness.process"
local sim_process = require "spec.support.servers.sim_process"

local BLUE = "5YJ3FLEE9RF000001"
local directory

setup(function() directory = process.temporary "stream" end)
teardown(function() process.execute("rm -rf " .. process.quote(directory)) end)

-- The first of three ports in a row that are free now.
local function free_port()
  local loop, servers = require("fleet").loop, {}
  local function listens(port)
    local server = require("fleet.server").new { loop = loop, host = "127.0.0.1", port = port, on_request = function() end }
    servers[#servers + 1] = server
    return server and server:port()
  end
  local port, free
  repeat
    port = assert(listens(0))
    free = listens(port + 1) and listens(port + 2)
  until free
  for _, server in ipairs(servers) do server:close() end
  return port
end

local preface = [[
FLEET=%s DIRECTORY=%s PORT=%d
export HOME=$DIRECTORY XDG_CONFIG_HOME=$DIRECTORY XDG_STATE_HOME=$DIRECTORY TMPDIR=$DIRECTORY
unset XDG_RUNTIME_DIR
cd "$DIRECTORY"
rm -f said records
fleet() { eval "$FLEET" '"$@"'; }
]]

-- In a shell of its own, whose trap ends what the lines began.
local function shell(lines)
  return sim_process.shell("(\n" .. string.format(preface, process.quote(sim_process.fleet), process.quote(directory), free_port())
    .. lines .. "\n) 2>&1")
end

local function json_lines(path)
  local list = {}
  for line in string.gmatch(files.read(path), "[^\n]+") do list[#list + 1] = assert(core.json_decode(line)) end
  return list
end

-- The block below a heading of the page (nil: the first one), with a port that is free.
local function block_of_page(heading)
  local _, blocks = markdown.parts(files.read(process.root .. "/doc/manual/telemetry.md"))
  for _, block in ipairs(blocks) do
    if block.language == "sh" and (not heading or block.heading == heading) then
      return (string.gsub(block.text, "fleet telemetry (%a+)", function(verb)
        if verb == "setup" or verb == "watch" then return "fleet telemetry " .. verb .. " --port $PORT" end
      end))
    end
  end
end

describe("the page on telemetry", function()
  it("shows a driving car's values by its first block", function()
    local watched
    local lines = string.gsub(block_of_page(nil), "\nfleet telemetry watch ([^\n]*)", function(words)
      watched = words
      return ""
    end)
    assert.equal("--port $PORT Blue", watched)
    local out, status = shell("trap 'kill $pid; wait $pid; fleet sim stop >/dev/null' EXIT\n" .. lines .. [[

      eval "exec $FLEET telemetry watch --port $PORT Blue" >seen 2>&1 & pid=$!
      tries=0; until grep -q 'VehicleSpeed [1-9]' seen || [ $tries -gt 400 ]; do sleep 0.1; tries=$((tries + 1)); done
      cat seen
    ]])
    assert.equal(0, status, out)
    assert.matches("streaming: " .. BLUE, out)
    assert.matches("fleet: receives on port %d+ for 1 vehicle, until Ctrl%-C", out)
    assert.matches("%d%d:%d%d:%d%d 000001  connected from 127.0.0.1", out)
    assert.matches("000001  [^\n]*Gear D   [^\n]*VehicleSpeed %d+ mph", out)
  end)

  it("shows an automation by the stream", function()
    local lines = string.gsub(block_of_page "Automations", "\nfleet run ([^\n]*)", function(words)
      assert.equal("examples/streamed.lua --explain", words)
      return ""
    end)
    local example = string.gsub(files.read(process.root .. "/examples/streamed.lua"), "port = 8443", 'port = tonumber(os.getenv "PORT")')
    files.write(directory .. "/streamed.lua", example)
    local out, status = shell("export PORT; trap 'kill $pid; wait $pid; fleet sim stop >/dev/null' EXIT\n" .. lines .. [[

      eval "exec $FLEET run streamed.lua --explain" >seen 2>&1 & pid=$!
      tries=0; until grep -q 'keep_limit: ' seen || [ $tries -gt 200 ]; do sleep 0.1; tries=$((tries + 1)); done
      cat seen
    ]])
    assert.equal(0, status, out)
    assert.is_truthy(string.find(out, "keep_limit: waits for the car to connect to the receiver of telemetry", 1, true)
      or string.find(out, "keep_limit: the charge limit is 80 %, as wanted", 1, true), out)
  end)
end)

describe("fleet telemetry", function()
  it("shows a driving car's values after five commands", function()
    local out, status = shell [[
      eval "$(fleet sim --env --telemetry)" || exit 1
      trap 'kill $pid; wait $pid; echo "serve ended with $?"; fleet sim stop >/dev/null' EXIT
      fleet telemetry certificate localhost >/dev/null || exit 2
      eval "exec $FLEET telemetry serve --port $PORT" >records 2>said & pid=$!
      tries=0; until grep -q receives said || [ $tries -gt 200 ]; do sleep 0.1; tries=$((tries + 1)); done
      fleet telemetry setup Blue --template everything --port $PORT --yes --wait 60 || exit 3
      fleet telemetry setup Blue --template everything --port $PORT --yes --json 2>/dev/null || exit 7
      fleet sim event unplug Blue >/dev/null || exit 4
      fleet sim event drive Blue >/dev/null || exit 5
      tries=0; until grep -q '"VehicleSpeed":[1-9]' records || [ $tries -gt 300 ]; do sleep 0.1; tries=$((tries + 1)); done
      fleet telemetry check --port $PORT || exit 6
      fleet telemetry setup Red --port $PORT --yes --wait 5; echo "Red $?"
      tries=0; until fleet cost --json | grep -q '"signal":[1-9]' || [ $tries -gt 50 ]; do sleep 0.1; tries=$((tries + 1)); done
      fleet cost
    ]]
    assert.equal(0, status, out)
    assert.matches("is in use: if your receiver listens there", out)
    assert.matches("%.%.%. ?000001 has adopted it", (string.gsub(out, "…", "... ")))
    assert.matches("000002 was skipped: unsupported_hardware", out)
    assert.matches("every vehicle was skipped", out)
    assert.matches("adopted: " .. BLUE .. "\nNo record was seen here: the output of the receiver on port %d+ shows it.", out)
    assert.not_matches("streaming: ", out, 1, true)
    assert.matches('"adopted":["' .. BLUE .. '"]', out, 1, true)
    assert.matches('"streaming":[]', out, 1, true)
    assert.matches("%d+ signals", out)
    assert.matches("Red [1-9]", out)
    assert.matches("serve ended with 0", out)
    local speed, location, connected
    for _, record in ipairs(json_lines(directory .. "/records")) do
      if record.topic == "connectivity" then connected = connected or record.type == "connected" and record.vin end
      speed = record.values and record.values.VehicleSpeed or speed
      location = record.values and record.values.Location or location
    end
    assert.equal(BLUE, connected)
    assert.is_true(speed > 5)
    assert.near(52.52, location.latitude, 0.2)
  end)

  it("serve writes to a Redis, and acknowledges what is stored there", function()
    local redis = require "spec.support.servers.redis"
    if redis.missing() then return pending(redis.missing()) end
    local server = redis.start()
    local out, status = shell("REDIS=" .. process.quote(server.address) .. " SOCKET=" .. process.quote(server.path) .. [[

      eval "$(fleet sim --env --telemetry)" || exit 1
      trap 'kill $pid; wait $pid; echo "serve ended with $?"; fleet sim stop >/dev/null' EXIT
      fleet telemetry certificate localhost >/dev/null || exit 2
      eval "exec $FLEET telemetry serve --port $PORT --output redis --redis $REDIS" >records 2>said & pid=$!
      tries=0; until grep -q receives said || [ $tries -gt 200 ]; do sleep 0.1; tries=$((tries + 1)); done
      fleet telemetry setup Blue --port $PORT --yes --wait 60 >/dev/null || exit 3
      tries=0; until redis-cli -s "$SOCKET" exists telemetry:5YJ3FLEE9RF000001 | grep -q 1 || [ $tries -gt 300 ]; do
        sleep 0.1; tries=$((tries + 1)); done
      redis-cli -s "$SOCKET" hget telemetry:5YJ3FLEE9RF000001:values Soc
      cat said
      fleet telemetry serve --output redis; echo "no address $?"
      fleet telemetry serve --output kafka; echo "unknown $?"
    ]])
    server.stop()
    assert.equal(0, status, out)
    assert.matches('{"v":62', out, 1, true)
    assert.not_matches("failed", out)
    assert.matches("needs %-%-redis=ADDRESS.-no address 2", out)
    assert.matches("not 'kafka'.-unknown 2", out)
    assert.equal("", files.read(directory .. "/records"))
  end)

  it("serve takes the address of a connection from a listed load balancer, and rejects a connection without it", function()
    local out, status = shell [[
      eval "$(fleet sim --env --telemetry)" || exit 1
      trap 'kill $pid; wait $pid; fleet sim stop >/dev/null' EXIT
      fleet telemetry certificate localhost >/dev/null || exit 2
      eval "exec $FLEET telemetry serve --port $PORT --proxy-protocol 192.0.2.1,127.0.0.0/8" >records 2>said & pid=$!
      tries=0; until grep -q receives said || [ $tries -gt 200 ]; do sleep 0.1; tries=$((tries + 1)); done
      printf 'PROXY TCP4 203.0.113.9 127.0.0.1 5000 %s\r\nnot TLS' "$PORT" | curl -s --max-time 2 telnet://127.0.0.1:$PORT
      curl -s -k --max-time 2 https://127.0.0.1:$PORT/
      tries=0; until grep -q 127.0.0.1 records || [ $tries -gt 200 ]; do sleep 0.1; tries=$((tries + 1)); done
      cat records said
      fleet telemetry serve --port $PORT --proxy-protocol nowhere; echo "no address $?"
    ]]
    assert.equal(0, status, out)
    assert.matches('"address":"203.0.113.9"[^\n]*"type":"refused"', out)
    assert.matches('"address":"127.0.0.1"[^\n]*"type":"refused"', out)
    assert.matches("no address [1-9]", out)
  end)

  it("serve is TeslaMate's streaming host", function()
    local out, status = shell [[
      eval "$(fleet sim --env --telemetry)" || exit 1
      trap 'kill $pid; wait $pid; echo "serve ended with $?"; fleet sim stop >/dev/null' EXIT
      fleet telemetry certificate localhost >/dev/null || exit 2
      eval "exec $FLEET telemetry serve --port $PORT --output lines,teslamate --teslamate 127.0.0.1:$((PORT + 1))" >records 2>said & pid=$!
      tries=0; until grep -q receives said || [ $tries -gt 200 ]; do sleep 0.1; tries=$((tries + 1)); done
      curl -s -i -N --max-time 2 -H 'Connection: Upgrade' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13' \
        -H 'Sec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==' "http://127.0.0.1:$((PORT + 1))/streaming/" | head -1
      fleet telemetry serve --port $((PORT + 2)) --output teslamate --teslamate 127.0.0.1:$((PORT + 1)); echo "in use $?"
      fleet telemetry serve --output teslamate --teslamate here; echo "no address $?"
      cat said
    ]]
    assert.equal(0, status, out)
    assert.matches("HTTP/1.1 101", out)
    assert.matches("cannot listen on 127.0.0.1, port %d+: Address already in use\nAnother program listens there.-in use [1-9]", out)
    assert.not_matches("This shell points at a simulator", out)
    assert.matches("is an address and a port.-no address 2", out)
    assert.matches("serve ended with 0", out)
  end)

  it("setup says what a vehicle's firmware is too old for, and errors what the vehicle reports then", function()
    files.write(directory .. "/garage.json", core.json_encode { accounts = { { email = "a@example.com" } },
      vehicles = { { vin = BLUE, owner = "a@example.com", state = "online", firmware_version = "2024.38.1" } } })
    local out, status = shell [[
      eval "$(fleet sim --env --telemetry --garage garage.json)" || exit 1
      trap 'fleet sim stop >/dev/null' EXIT
      fleet telemetry setup --port $PORT --yes --wait 60 || exit 2
      fleet telemetry errors || exit 3
    ]]
    assert.equal(0, status, out)
    assert.matches("…000001: its firmware 2024.38.1 is too old for ChargerVoltage (from 2024.44.32), ", out, 1, true)
    assert.not_matches("the configuration:", out, 1, true)
    assert.matches("unsupported_field: field ChargerVoltage is not supported\n    -> the vehicle's firmware or hardware", out, 1, true)
  end)

  it("setup is a receiver itself where none runs, and says why no record comes", function()
    local out, status = shell [[
      eval "$(fleet sim --env --telemetry)" || exit 1
      trap 'fleet sim stop >/dev/null' EXIT
      fleet telemetry setup Blue --port $PORT --yes --wait 60 || exit 2
      fleet telemetry setup Blue --port $PORT; echo "asked $?"
      fleet sim event sleep Blue
      fleet telemetry setup Blue --port $PORT --yes --wait 3; echo "asleep $?"
      fleet telemetry setup Blue --port $PORT --yes; echo "not awaited $?"
      fleet sim set Blue telemetry_configs=5 state=online
      fleet delete_fleet_telemetry_config Blue >/dev/null
      fleet telemetry setup Blue --port $PORT --yes --wait 3; echo "full $?"
    ]]
    assert.equal(0, status, out)
    assert.matches("made a private authority and a certificate for localhost", out)
    assert.matches("first record of …000001: ", out)
    assert.matches("nothing was sent; %-%-yes sends it.-asked [1-9]", out)
    assert.matches("it is asleep: it connects when it wakes.-asleep [1-9]", out)
    assert.matches("asleep: …000001. A vehicle adopts the configuration when it wakes.-not awaited [1-9]", out)
    assert.matches("was skipped: max_configs.-full [1-9]", out)
  end)
end)
