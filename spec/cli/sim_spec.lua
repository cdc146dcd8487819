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

  it("--env that cannot start says why, prints no lines for the shell, and leaves nothing", function()
    local garage = home .. "/garage.json"
    process.execute("printf %s '{\"vehicels\":[]}' >" .. process.quote(garage))
    local out, status = shell("lines=$(fleet sim --env --garage " .. process.quote(garage) .. "); echo \"status $? [$lines]\"")
    assert.equal(0, status)
    assert.matches("did you mean 'vehicles'", out, 1, true)
    assert.matches("status [1-9]%d* %[%]", out)
    assert.equal("garage.json\n", left_over())
  end)

  it("ends by itself when nobody calls it, and lives while somebody does", function()
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
