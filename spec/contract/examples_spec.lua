-- Every file of examples/ runs as its own process, with no network or against a simulator, and prints what it
-- should. An example without a line here fails.

local cjson = require "cjson"
local needs = require "spec.support.harness.needs"
local process = require "spec.support.harness.process"
local services = require "spec.support.servers.service"

local vin, old = "5YJ3FLEE9RF000001", "5YJSFLEE9KF000002"

-- file → what it prints, and what it needs: a signed-in token, or an application and a person who signs in.
local runs = {
  ["budgets.lua"] = { needs = "token", "^warning\tat least 80 %% of the budget 'per_vehicle_day%.command' is spent: 2 of 2 calls\n"
    .. "per_vehicle_day%.command\t2 of 2\tnot_sent\n0%.003 USD\t3 commands\nfleet_billed_total{class=\"command\"} 3\n$" },
  ["client_and_vehicle.lua"] = { "the vehicle received:\tset_charge_limit\t80\n", "was done:\ttrue\n",
    "again:\tnil\t%S",
    "signed again:\ttrue\n$" },
  ["commands.lua"] = { "^limit\tsigned\tdone\nlimit again\tsigned\talready so\nlimit\tplain\tdone\n",
    "\nunlock\tunknown\tbut looking says done\nlock\tsigned\tdone\ncharge\t%d+ %%\n$" },
  ["cqueues.lua"] = { needs = "token", "the host goes on while the calls wait", "fleet%.vehicle", "online" },
  ["demo.lua"] = { "token received", "VIN " .. vin, "signed horn: +done %(signed, answer authenticated%)",
    'curl, POST [^\n]*honk_horn\nis answered {"response":{"result":true,"reason":""}}\n',
    "energy now: solar %d+ W", "80 %% +Complete .* EUR",
    "\nproblem: season Year, buying: no period covers",
    "nothing was left behind%.\nTo try it" },
  ["first_light.lua"] = { needs = "token", vin .. "\t[^\n]*\tonline", old .. "\t[^\n]*\tonline",
    "charge limit 80 %%: ",
    "Maple Street\tsolar %-?[%d%.]+ W\tbattery %-?[%d%.]+ W\n$" },
  ["keys.lua"] = { "without the passphrase:\tnil\t%S", "fingerprint:\t%x+\n%-%-%-%-%-BEGIN PUBLIC KEY",
    "existing file:\tnil\t%S" },
  ["many_machines.lua"] = { "gets\tbusy\n", "late write\tconflict\nstored\tthe newer pair\ncalls of both\t3\n",
    "store durability\ttrue\t", "store eviction\ttrue\t", "store clock\ttrue\t[^\n]*\n$" },
  ["outcome.lua"] = { needs = "token", "^the door is open\tnow\n$" },
  ["server.lua"] = { "^GET /api/1/vehicles/5YJ3E1EA7KF000001\nonline\n$" },
  ["sign_in.lua"] = { needs = "app", "/oauth2/v3/authorize%?response_type=code&client_id=app",
    "signed in; refresh by 20%d%d%-%d%d%-%d%d\n$" },
  ["automation.lua"] = { "^$" }, -- a file for `fleet run`
  ["automation_charge_by.lua"] = { "\nready +on 31 of 31 days\n$", "charged +%d+%.%d kWh" },
  ["automation_charge_home_battery.lua"] = { "\nsent +reserve 14 times, tariff 14 times\n$" },
  ["automation_keep_limit.lua"] = { "\nset back +1 times\n$" },
  ["automation_left_open.lua"] = { "\nwarned +2 times\n$" },
  ["automation_precondition_by.lua"] = { "\nwarm +on 10 of 10 mornings\n$" },
  ["automation_storm_ready.lua"] = { "\n14 13:00\tbackup\n14 13:00\tset_charge_limit\n" },
  ["storm_warning.lua"] = { "^gale%-force winds in Example County\t2026%-07%-16 01:00 UTC\nnil\n$" },
  ["automation_ensure.lua"] = { "\nset +%d+ times\n$" },
  ["automation_surplus_charge.lua"] = { "kWh, of which %d+%.%d from the roof" },
  ["automation_tariff_sync.lua"] = { "\nsent +%d+ tariffs\n$" },
  ["prices_csv.lua"] = { "^0%.42\n$" },
  ["prices_half_hourly.lua"] = { "^48 rates, 0%.22 at 00:00\nan hour later some are missing\n$" },
  ["prices_spot.lua"] = { "^0%.36 now, 0%.2%d at 00:15\n$" },
  ["streamed.lua"] = { "^$" }, -- a file for `fleet run`
  ["stores.lua"] = { "^second\tanother process wrote the key\ntrue\t%d+\n$" },
  ["tables.lua"] = { "\nhonk_horn +POST +/api/1/vehicles/{vin}/command/honk_horn +command\n", "^vehicles " },
  ["tariff_check.lua"] = { "^problem: season Summer[^\n]* 15:00%-16:00", "\nTwo seasons", "0%.512  ON_PEAK" },
  ["tariff_prices.lua"] = { "^now 0%.34 EUR per kWh %(ON_PEAK%)\n",
    "charge from 4%.0 h on, for 0%.22 EUR per kWh\n$" },
  ["tariff_spot.lua"] = { "SUPER_OFF_PEAK  0%.12185 replaces", "%d+ bytes to send\n$" },
  ["tasks.lua"] = { needs = "token", "fleet%.vehicle [^\n]*\tonline\nfleet%.vehicle [^\n]*\tonline\n$" },
  ["telemetry.lua"] = { "client_ca: not Tesla's", "\nconnected\t" .. vin .. "\twifi\n", "record\tV\t71.5 %%\n",
    "Soc has become\t71.5\n",
    "connected\ttrue\tknown since\tless than a minute\n" },
  ["time.lua"] = { "^1774762200\t1774762200\n23%.0 hours\t2026%-03%-29T00:00:00%+01:00\n" ..
    "2026%-10%-25T02:30:00%+02:00\trepeated\n$" },
}

local service, environment

local function exported(values)
  local list = {}
  for name, value in pairs(values) do list[#list + 1] = name .. "=" .. process.quote(value) end
  return table.concat(list, " ") .. " "
end

setup(function()
  service = services.start {
    vehicles = { { vin = vin, vehicle_command_protocol_required = false },
      { vin = old, vehicle_command_protocol_required = false } },
    energy_sites = { { energy_site_id = 1000001, site_name = "Maple Street" } },
  }
  local fleet = require "fleet"
  local store = fleet.store.memory()
  service:sign_in(service:client { store = store }):close()
  local token = cjson.decode((store:get "token/default/user")).access_token
  local at = service.addresses
  environment = {
    token = { FLEET_BASE_URL = at.base_url, FLEET_TOKEN = token, FLEET_VIN = vin },
    app = { FLEET_BASE_URL = at.base_url, FLEET_AUTH_URL = at.auth_url, FLEET_TOKEN_URL = at.token_url,
      FLEET_CLIENT_ID = "app",
      FLEET_CLIENT_SECRET = "app-secret", FLEET_REDIRECT_URI = "https://app.example.com/callback" },
  }
end)
teardown(function() service:stop() end)

local content = require("spec.support.harness.files").read

-- The shell lines of `fleet sim --env`, and what ends that simulator.
local function simulator()
  local directory = process.temporary("sim-env")
  local prefix = "XDG_RUNTIME_DIR=" .. process.quote(directory) .. " "
  local command = prefix .. process.lua .. " lua/fleet/cli/fleet sim "
  assert(os.execute(command .. "--env >" .. process.quote(directory .. "/lines")))
  return directory .. "/lines", function()
    process.execute(command .. "stop --all >" .. process.quote(directory .. "/stopped"))
    process.execute("rm -r " .. process.quote(directory))
  end
end

-- Runs the example in the source's folder, with nothing to read, or with a person who signs in. Returns
-- whether it ended well, and what it printed.
local function run(name, setup_name)
  local directory = process.temporary("example")
  local out = process.quote(directory .. "/out")
  local command = exported(environment[setup_name] or {}) .. "timeout 60 " .. process.lua .. " examples/" .. name
  if setup_name == "app" then
    local back = process.quote(directory .. "/back")
    process.execute("mkfifo " .. back)
    command = "set -o pipefail; " .. command .. " <" .. back .. " 2>&1 | " .. process.lua .. " spec/support/fixtures/consent.lua " ..
      out .. " 1<>" .. back
  else
    command = command .. " </dev/null >" .. out .. " 2>&1"
  end
  local ok = os.execute("bash -c " .. process.quote(command))
  local text = content(directory .. "/out")
  process.execute("rm -r " .. process.quote(directory))
  return ok, text
end

local function examples()
  local list, pipe = {}, io.popen("ls examples")
  for name in pipe:lines() do
    if string.find(name, "%.lua$") then list[#list + 1] = name end
  end
  pipe:close()
  return list
end

-- The blocks of Lua in a document.
local function blocks(path)
  local list = {}
  for block in string.gmatch(content(path), "\n```lua\n(.-)\n```") do list[#list + 1] = block end
  return list
end

describe("the first script of README.md", function()
  it("runs unchanged, with the configuration file of a person", function()
    local directory = process.temporary("readme")
    process.execute("mkdir " .. process.quote(directory .. "/fleet"))
    local files = require "spec.support.harness.files"
    files.write(directory .. "/fleet/config.json", cjson.encode {
      base_url = environment.token.FLEET_BASE_URL, token = environment.token.FLEET_TOKEN,
    })
    files.write(directory .. "/script.lua", blocks("README.md")[1])
    process.execute("chmod 600 " .. process.quote(directory .. "/fleet/config.json"))
    local out = directory .. "/out"
    local command = "XDG_CONFIG_HOME=%s timeout 60 " .. process.lua .. " %s </dev/null >%s 2>&1"
    local ok = os.execute(string.format(command, process.quote(directory), process.quote(directory .. "/script.lua"), process.quote(out)))
    local text = content(out)
    process.execute("rm -r " .. process.quote(directory))
    assert.is_true(ok, text)
    assert.matches("\tonline\t%d+ %%\n", text)
    assert.is_nil(string.find(text, ".lua:", 1, true), text)
  end)

  it("is all the Lua that README.md has", function()
    assert.are.equal(1, #blocks "README.md")
  end)
end)

describe("examples/", function()
  it("has a run for every file, and a file for every run", function()
    local known = {}
    for name in pairs(runs) do known[#known + 1] = name end
    table.sort(known)
    assert.are.same(known, examples())
  end)

  it("runs unchanged in a shell that points at the simulator, every file", function()
    local lines, stop = simulator()
    local failed = {}
    for _, name in ipairs(examples()) do
      if name ~= "many_machines.lua" then -- needs a Redis
        local out = lines .. ".out"
        local ok = os.execute("bash -c " .. process.quote(string.format(". %s; timeout 60 %s examples/%s </dev/null >%s 2>&1",
          process.quote(lines), process.lua, name, process.quote(out))))
        if ok ~= true and ok ~= 0 then failed[#failed + 1] = name .. ": " .. content(out) end
      end
    end
    stop()
    assert.same({}, failed)
  end)

  it("says where a simulator comes from in a shell that has none", function()
    local directory = process.temporary("no-sim")
    local out = process.quote(directory .. "/out")
    local without = string.format("env -u FLEET_BASE_URL -u FLEET_TOKEN -u FLEET_STORE XDG_CONFIG_HOME=%s XDG_STATE_HOME=%s ",
      process.quote(directory), process.quote(directory))
    local ok = os.execute(string.format("%s %s examples/first_light.lua >%s 2>&1", without, process.lua, out))
    local text = content(directory .. "/out")
    process.execute("rm -r " .. process.quote(directory))
    assert.is_false(ok == true or ok == 0)
    assert.matches("fleet sim", text, 1, true)
  end)

  for _, name in ipairs(examples()) do
    local with = name == "many_machines.lua" and needs("redis-server", it, pending) or it
    with(name .. " runs as it stands and prints what it should", function()
      local wanted = assert(runs[name], "no run line")
      local ok, text = run(name, wanted.needs)
      assert.is_true(ok, text)
      for _, pattern in ipairs(wanted) do assert.matches(pattern, text) end
    end)
  end
end)
