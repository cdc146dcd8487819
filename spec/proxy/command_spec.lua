-- `fleet proxy` as processes: what it says, how it ends, what a hang-up reads again, sockets that systemd opens, its units.
local core = require "fleet.core"
local files = require "spec.support.harness.files"
local needs = require "spec.support.harness.needs"
local process = require "spec.support.harness.process"
local sim_process = require "spec.support.servers.sim_process"

local VIN = "5YJ3FLEE9RF000001"

describe("fleet proxy", function()
  local home

  before_each(function() home = process.temporary("proxy-cli") end)
  after_each(function() process.execute("rm -rf " .. process.quote(home)) end)

  -- Lines of a shell that has a simulator, `fleet`, `start NAME ARGUMENTS…` for a proxy in the background (its first line in
  -- $home/NAME, its pid in $pid), and `honk` for curl to its socket. Everything ends with the shell.
  local head = [[
    exec 2>&1
    fleet() { @FLEET@ "$@"; }
    home=@HOME@; export XDG_RUNTIME_DIR=$home XDG_CONFIG_HOME=$home XDG_STATE_HOME=$home
    eval "$(fleet sim --env)" || exit 1
    start() {
      name=$1; shift
      @FLEET@ proxy "$@" >"$home/$name" 2>"$home/$name.err" & pid=$!
      all="$all $pid"
      until [ -s "$home/$name" ] || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
    }
    honk() { curl -s --max-time 20 -o /dev/null -w '%{http_code}\n' -X POST "$@" http://localhost/api/1/vehicles/@VIN@/command/honk_horn; }
    socket="--unix-socket $home/fleet-proxy.sock"
    trap 'exec 2>/dev/null; kill -9 $all; fleet sim stop >/dev/null' EXIT
  ]]

  local function shell(lines)
    local values = { ["@FLEET@"] = sim_process.fleet, ["@HOME@"] = process.quote(home), ["@VIN@"] = VIN }
    local text = (head .. lines):gsub("@%u+@", values)
    return sim_process.shell("timeout 100 bash -c " .. process.quote(text))
  end

  it("listens on a private socket, says so first, and ends with what is under way at SIGTERM", function()
    local out, status = shell [[
      start one
      cat "$home/one"
      stat -c %a "$home/fleet-proxy.sock"
      fleet sim fault slow seconds=1 row=signed_command message=command >/dev/null
      honk $socket >"$home/slow" & slow=$!
      until curl -s $socket http://localhost/metrics | grep -q '^fleet_proxy_in_flight [12]'; do sleep 0.05; done
      kill -TERM $pid
      wait $pid; echo "status $?"
      wait $slow; cat "$home/slow"
      ls "$home"/*.sock 2>/dev/null || echo gone
      cat "$home/one.err"
    ]]
    assert.equal(0, status, out)
    local first, rest = out:match("^([^\n]+)\n(.*)$")
    assert.matches("^http%+unix:/.*/fleet%-proxy%.sock$", core.json_decode(first).url)
    assert.matches('^600\nstatus 0\n200\ngone\n{"command":"honk_horn",.*"outcome":"done".*"vin":"0001","who":"local"}\n$', rest)
  end)

  it("refuses an address beyond loopback before it listens, and names it", function()
    local out = shell [[
      fleet proxy --listen 0.0.0.0:0; echo "status $?"
      fleet proxy --listen "[::]:0" --secret-file "$home/s"; echo "status $?"
      fleet proxy --listen 192.0.2.1:80 --certificate c --certificate-key k; echo "status $?"
    ]]
    for address in ("0.0.0.0:0 [::]:0 192.0.2.1:80"):gmatch("%S+") do
      assert.matches("'" .. address .. "' is not this machine alone", out, 1, true)
    end
    assert.equal(3, select(2, out:gsub("status 2\n", "")))
  end)

  it("ends with a sentence where it has no key, no place, or one that is taken", function()
    local out = shell [[
      start one
      fleet proxy; echo "status $?"
      XDG_RUNTIME_DIR= fleet proxy; echo "status $?"
      FLEET_KEY= fleet proxy --listen unix:$home/other; echo "status $?"
      echo '[1]' >"$home/callers"; chmod 600 "$home/callers"
      fleet proxy --listen unix:$home/other --callers "$home/callers"; echo "status $?"
      chmod 644 "$home/callers"
      fleet proxy --listen unix:$home/other --callers "$home/callers"; echo "status $?"
    ]]
    assert.matches("in use.-status %d+\n", out)
    assert.matches("give %-%-listen.-status 2\n", out)
    assert.matches("has no key.-status 2\n", out)
    assert.matches("not a JSON object of callers.-status 2\n.*0600.-status 2\n$", out)
    assert.is_nil(out:find("status 0", 1, true))
    assert.is_nil(out:find("traceback", 1, true))
  end)

  it("reads callers, secret and audit file again at SIGHUP, and keeps what runs where they are wrong", function()
    local out, status = shell [[
      echo '{"one":{"secret":"one-one-one-one-one"}}' >"$home/callers"; chmod 600 "$home/callers"
      start tcp --listen 127.0.0.1:0 --callers "$home/callers" --audit "$home/audit"
      url=$(sed 's/.*"url":"\([^"]*\)".*/\1/' "$home/tcp")
      path=/api/1/vehicles/@VIN@/command/honk_horn
      as() { curl -s --max-time 20 -o /dev/null -w '%{http_code}\n' -X POST -H "Authorization: Bearer $1" "$url$path"; }
      as one-one-one-one-one
      as two-two-two-two-two
      echo '{"two":{"secret":"two-two-two-two-two"}}' >"$home/callers"
      mv "$home/audit" "$home/audit.1"
      kill -HUP $pid
      until grep -q 'again' "$home/tcp.err"; do sleep 0.05; done
      as one-one-one-one-one
      as two-two-two-two-two
      echo '{"three":{"sceret":"x"}}' >"$home/callers"
      kill -HUP $pid
      until grep -q 'kept what runs' "$home/tcp.err"; do sleep 0.05; done
      as two-two-two-two-two
      grep -c '"who":"one"' "$home/audit.1"
      grep -c '"who":"two"' "$home/audit"
    ]]
    assert.equal(0, status, out)
    assert.equal("200\n401\n401\n200\n200\n1\n2\n", out)
  end)

  it("loses no request while it reads again under load", function()
    local out, status = shell [[
      start one --audit "$home/audit"
      for caller in 1 2 3 4; do
        (for i in $(seq 15); do honk $socket; done >"$home/load.$caller") & loads="$loads $!"
      done
      for i in 1 2 3 4 5; do sleep 0.1; kill -HUP $pid; done
      wait $loads
      cat "$home"/load.* | sort | uniq -c
      grep -c '"outcome":"done"' "$home/audit"
    ]]
    assert.equal(0, status, out)
    assert.matches("^%s*60 200\n60\n$", out)
  end)

  needs("systemd-socket-activate", it, pending)("takes a socket that systemd opened, by the rules of its kind", function()
    local out, status = shell [[
      systemd-socket-activate -l "$home/activated" -E XDG_STATE_HOME -E FLEET_BASE_URL -E FLEET_AUTH_URL -E FLEET_TOKEN_URL \
        -E FLEET_CLIENT_ID -E FLEET_CLIENT_SECRET -E FLEET_STORE -E FLEET_KEY -E LUA_PATH -E LUA_CPATH -E PATH \
        @FLEET@ proxy --listen systemd >"$home/first" 2>"$home/err" & pid=$!
      all="$all $pid"
      until [ -S "$home/activated" ]; do sleep 0.05; done
      honk --unix-socket "$home/activated"
      cat "$home/first"
      ls "$home/fleet/proxy-secret" 2>/dev/null || echo no secret
      fleet proxy --listen systemd; echo "status $?"
    ]]
    assert.equal(0, status, out)
    assert.matches('^200\n{[^\n]*}\nno secret\n[^\n]*LISTEN_FDS.-status 2\n$', out)
  end)

  needs("systemd-analyze", it, pending)("has units that systemd understands, and that leave the service little", function()
    for _, name in ipairs { "fleet-proxy.service", "fleet-proxy.socket", "fleet-telemetry.service" } do
      local text = files.read("doc/packaging/" .. name)
      text = text:gsub("/usr/local/bin/fleet", process.root .. "/lua/fleet/cli/fleet")
      files.write(home .. "/" .. name, text)
    end
    local out, status = sim_process.shell(("cd %s; systemd-analyze verify --man=no fleet-proxy.service fleet-proxy.socket "
      .. "fleet-telemetry.service 2>&1"):format(process.quote(home)))
    assert.same({ "", 0 }, { out, status })
    for _, name in ipairs { "fleet-proxy.service", "fleet-telemetry.service" } do
      out, status = sim_process.shell(("systemd-analyze security --offline=true --no-pager --threshold=15 %s/%s 2>&1")
        :format(process.quote(home), name))
      assert.equal(0, status, out:sub(-300))
    end
    status = select(2, sim_process.shell(("cd %s; sed -i '/^Protect\\|^Private\\|^System/d' fleet-proxy.service; "
      .. "systemd-analyze security --offline=true --no-pager --threshold=15 fleet-proxy.service 2>&1"):format(process.quote(home))))
    assert.are_not.equal(0, status)
  end)

  it("has an example that runs", function()
    local path = process.quote(process.root .. "/lua/fleet/cli")
    local out, status = sim_process.shell("PATH=" .. path .. ":$PATH timeout 60 sh examples/proxy.sh 2>/dev/null")
    assert.equal(0, status, out)
    local done = '{"response":{"result":true,"reason":""}}\n'
    assert.equal(done .. "without the secret: 401\n" .. done:rep(3), out:sub(1, #done * 4 + #"without the secret: 401\n"))
    assert.matches('"repeated":true', out)
  end)
end)
