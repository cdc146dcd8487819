-- `fleet sim` as a shell meets it: one in the background, orders to it, and its end.
local process = require "spec.support.harness.process"
local sim_process = require "spec.support.servers.sim_process"

describe("fleet sim", function()
  local home

  before_each(function() home = process.temporary("sim-env") end)

  after_each(function() process.execute("rm -rf " .. process.quote(home)) end)

  -- Runs lines of a shell in which `fleet` is the command; → its output, errors included, and its status.
  local function shell(lines)
    local head = string.format("fleet() { %s \"$@\"; }; exec 2>&1; export XDG_RUNTIME_DIR=%s XDG_CONFIG_HOME=%s XDG_STATE_HOME=%s\n",
      sim_process.fleet, process.quote(home), process.quote(home), process.quote(home))
    return sim_process.shell("(" .. head .. lines .. "\n)")
  end

  local function left_over()
    return (sim_process.shell("ls -A " .. process.quote(home)))
  end

  it("--env points a shell at one in the background, signed in and with a paired key, until it is stopped", function()
    local out, status = shell [[
      export FLEET_TOKEN=somebody-elses
      eval "$(fleet sim --env)" || exit 1
      fleet vehicles --json | grep -o '"vin":"[^"]*"'
      fleet honk_horn 5YJ3FLEE9RF000001
      ls -d "$XDG_RUNTIME_DIR"/fleet-sim-*/store >/dev/null && echo stored
      address=$FLEET_BASE_URL
      eval "$(fleet sim stop --env)"
      echo "left: $(env | grep -v '^FLEET_BUILD=\|^FLEET_SPEC_' | grep -c ^FLEET_)"
      FLEET_TOKEN=x fleet vehicles --base-url "$address" --timeout 5 || echo gone
    ]]
    assert.equal(0, status, out)
    assert.matches('"vin":"5YJ3FLEE9RF000001"\n"vin":"5YJSFLEE9KF000002"\n', out, 1, true)
    assert.matches("done %(signed%)", out)
    assert.matches("stored\nleft: 0\n", out, 1, true)
    assert.matches("connect.-gone\n$", out)
    assert.equal("", left_over())
  end)

  it("takes orders: events, faults, time, fields; a vehicle by its name or the end of its VIN", function()
    local out, status = shell [[
      eval "$(fleet sim --env --speed 0)" || exit 1
      fleet sim event plug Red start=false || exit 2
      fleet sim set 0002 charge_state.battery_level=33 charge_state.charge_limit_soc=70 || exit 3
      fleet vehicle_data 5YJSFLEE9KF000002 endpoints=charge_state --json |
        grep -o '"charging_state":"[^"]*"\|"battery_level":[0-9]*\|"charge_limit_soc":[0-9]*' | sort
      fleet sim advance 60 --json | grep -o '"now":'
      fleet sim fault rate_limit:2 retry_after=1 row=vehicles || exit 4
      fleet vehicles; echo "status $?"
      fleet sim event plug nobody; echo "status $?"
      fleet sim event fly Red; echo "status $?"
      fleet sim stop
    ]]
    assert.equal(0, status, out)
    assert.matches('"battery_level":33\n"charge_limit_soc":70\n"charging_state":"Stopped"\n"now":\n', out, 1, true)
    assert.matches("429.-status 1[0-9]\n", out)
    assert.matches("no vehicle nobody.-status [1-9]", out)
    assert.matches("unknown event 'fly'.-status [1-9]", out)
  end)

  it("says what is missing when no simulator is known, and what an order takes", function()
    for line, wanted in pairs {
      ["fleet sim event plug"] = "FLEET_SIM_CONTROL", ["fleet sim stop"] = "fleet sim %-%-env",
      ["fleet sim event"] = "takes an event", ["fleet sim advance soon"] = "seconds", ["fleet sim fault"] = "NAME:TIMES",
    } do
      local out, status = shell(line)
      assert.equal(2, status, line .. ": " .. out)
      assert.matches(wanted, out)
    end
  end)

  it("event pair_key takes the key of the configuration, a file, and says where there is none", function()
    local out, status = shell [[
      eval "$(fleet sim --env)" || exit 1
      fleet sim event remove_key Blue || exit 2
      fleet honk_horn Blue; echo "without $?"
      fleet sim event pair_key Blue || exit 3
      fleet honk_horn Blue || exit 4
      fleet sim event remove_key Blue || exit 5
      fleet keygen "$XDG_CONFIG_HOME/other.pem" >/dev/null || exit 6
      fleet sim event pair_key Blue public_key=@"$XDG_CONFIG_HOME/other.pem"; echo "private half $?"
      FLEET_KEY="$XDG_CONFIG_HOME/other.pem" fleet honk_horn Blue || exit 7
      FLEET_KEY= fleet sim event pair_key Blue; echo "no key $?"
      fleet sim event pair_key Blue public_key=@/nowhere/key.pem; echo "no file $?"
      eval "$(fleet sim stop --env)"
      rm -f "$XDG_CONFIG_HOME/other.pem"*
    ]]
    assert.equal(0, status, out)
    assert.matches("without 24\n", out)
    assert.matches("private half 0\n.*done %(signed%)", out)
    assert.matches("public_key=@FILE: no key is configured.*no key 2\n", out)
    assert.matches("cannot read /nowhere/key.pem.*no file 2\n", out)
  end)

  it("lists the simulators of the machine and ends them all; one that has ended can still be left", function()
    local out, status = shell [[
      fleet sim list
      eval "$(fleet sim --env)" || exit 1
      first=$FLEET_SIM_DIRECTORY
      eval "$(fleet sim --env)" || exit 2
      fleet sim list
      fleet sim list --json | grep -o '"running":true' | wc -l
      fleet sim stop --all || exit 3
      fleet sim list --json
      eval "$(fleet sim stop --env)" || exit 4
      echo "left: ${FLEET_SIM_CONTROL:-nothing}"
      [ ! -e "$first" ] && echo removed
    ]]
    assert.equal(0, status, out)
    assert.matches("^no simulator was started", out)
    assert.matches("the earlier simulator of this shell is still running", out, 1, true)
    assert.matches("running, this shell uses it.*\n2\nstopped: 2 simulators\n", out)
    assert.matches('To leave it: eval "$(fleet sim stop --env)"\n[]\n', out, 1, true)
    assert.matches("left: nothing\nremoved\n$", out)
    assert.equal("", left_over())
  end)

  it("is what a shell points at by each variable alone: setup refuses, and stop --env leaves it", function()
    local out, status = shell [[
      eval "$(fleet sim --env)" || exit 1
      control=$FLEET_SIM_CONTROL directory=$FLEET_SIM_DIRECTORY token=$FLEET_SIM_TOKEN store=$FLEET_STORE
      unset FLEET_SIM_CONTROL FLEET_SIM_TOKEN
      fleet sim advance 1 && echo "found by its directory"
      for name in FLEET_SIM_CONTROL=$control FLEET_SIM_DIRECTORY=$directory FLEET_SIM_TOKEN=$token FLEET_STORE=$store; do
        (unset FLEET_SIM_DIRECTORY FLEET_STORE; export "$name"; fleet setup --yes --config "$XDG_CONFIG_HOME/c.json" 2>&1) |
          grep -o 'points at a simulator (.* is set)'
      done
      eval "$(fleet sim stop --env)" || exit 2
      echo "left: ${FLEET_STORE:-nothing}"
      FLEET_SIM_DIRECTORY=$directory
      export FLEET_SIM_DIRECTORY
      fleet doctor | grep -o '^FIX simulator .*which has ended'
      eval "$(fleet sim stop --env)" || exit 3
      echo "then: ${FLEET_SIM_DIRECTORY:-nothing}"
      fleet sim stop --env; echo "none $?"
    ]]
    assert.equal(0, status, out)
    assert.matches("found by its directory\n", out)
    for _, name in ipairs { "CONTROL", "DIRECTORY", "TOKEN" } do
      assert.matches("points at a simulator (FLEET_SIM_" .. name .. " is set)\n", out, 1, true)
    end
    assert.matches("points at a simulator (FLEET_STORE is set)\nleft: nothing\n", out, 1, true)
    assert.matches("FIX simulator [^\n]*which has ended\nthen: nothing\n", out)
    assert.matches("no simulator: .*none 2\n", out)
  end)

  it("is never what setup writes down; the doctor names it, and a configuration that holds one", function()
    local out, status = shell [[
      eval "$(fleet sim --env)" || exit 1
      fleet setup --yes --config "$XDG_CONFIG_HOME/c.json"; echo "setup $?"
      fleet doctor | grep '^-   simulator'
      printf '{"base_url":"%s","auth_url":"%s","client_id":"simulator"}' "$FLEET_BASE_URL" "$FLEET_AUTH_URL" >"$XDG_CONFIG_HOME/c.json"
      chmod 600 "$XDG_CONFIG_HOME/c.json"
      fleet sim stop >/dev/null
      fleet doctor | grep '^FIX simulator'
      eval "$(fleet sim stop --env)"
      fleet setup --yes --config "$XDG_CONFIG_HOME/c.json"; echo "setup $?"
      fleet doctor --config "$XDG_CONFIG_HOME/c.json" | grep -A1 '^FIX configuration'
      rm -f "$XDG_CONFIG_HOME/c.json"
    ]]
    assert.equal(0, status, out)
    assert.matches('this shell points at a simulator.-eval "%$%(fleet sim stop %-%-env%)".-setup 2\n%-   simulator', out)
    assert.matches("FIX simulator [^\n]*which has ended", out)
    assert.matches("holds a simulator's address %(http://127.-remove it.-setup 2\n", out)
    assert.matches("FIX configuration [^\n]*holds a simulator's address.-remove the file", out)
  end)

  it("--env that cannot start says why, prints no lines for the shell, and leaves nothing", function()
    local garage = home .. "/garage.json"
    process.execute("printf %s '{\"vehicels\":[]}' >" .. process.quote(garage))
    local out, status = shell("lines=$(fleet sim --env --garage " .. process.quote(garage) .. "); echo \"status $? [$lines]\"")
    assert.equal(0, status)
    assert.matches("did you mean 'vehicles'", out, 1, true)
    assert.matches("status [1-9]%d* %[%]", out)
    assert.equal("garage.json\n", left_over())
  end)

  it("ends by itself without calls, and keeps running while calls arrive", function()
    local out = shell [[
      fleet sim --idle 1 >"$XDG_RUNTIME_DIR/line" &
      pid=$!
      wait $pid; echo "ended with $?"
    ]]
    assert.matches("ended with 0\n$", out)
  end)

  it("in a program is not ended by an order", function()
    local sim = assert(require("fleet.sim").new())
    local done, err = require("fleet.sim.test_browser").control(sim, { stop = true })
    assert.is_nil(done)
    assert.matches("ends with the program", err.message)
    sim:close()
  end)
end)
