-- What somebody meets who has just installed it: no configuration, a wrong key, a missing scope, a vehicle called by its name.

local core = require "fleet.core"
local cli = require "spec.support.harness.cli"
local files = require "spec.support.harness.files"
local process = require "spec.support.harness.process"
local sims = require "spec.support.servers.sim_process"

local blue, red = "5YJ3FLEE9RF000001", "5YJSFLEE9KF000002"
local env = { FLEET_TOKEN = "canary-token-4711" }
local directory

setup(function() directory = process.temporary("new_user") end)
teardown(function() process.execute("rm -rf " .. process.quote(directory)) end)

local function kind_status(name)
  for _, kind in ipairs(core.kinds()) do
    if kind.name == name then return kind.exit end
  end
end

local function split(line)
  local words = {}
  for word in string.gmatch(line, "%S+") do words[#words + 1] = word end
  return words
end

-- An account with vehicles; anything else is done.
local function account(records)
  local requests = {}
  return function(request)
    requests[#requests + 1] = request
    if string.find(request.url, "/vehicles%f[?%z]") or string.find(request.url, "/products%f[?%z]") then
      return { status = 200, headers = {}, body = core.json_encode { response = records, count = #records } }
    end
    local body = string.find(request.url, "/revoke", 1, true) and '{"response":"ok"}' or '{"response":{"result":true,"reason":""}}'
    return { status = 200, headers = {}, body = body }
  end, requests
end

local both = { { vin = blue, id_s = "100001", display_name = "Blue" }, { vin = red, id_s = "100002", display_name = "Red car" } }

local function paths_of(requests)
  local list = {}
  for i, request in ipairs(requests) do list[i] = string.match(request.url, "/api/1/([^?]*)") end
  return list
end

describe("a client that cannot be made", function()
  local function made_with(name, value)
    return cli.run({ "vehicles" }, { env = { FLEET_TOKEN = "x", [name] = value, XDG_CONFIG_HOME = "/nowhere" } })
  end

  it("is reported as a sentence, with the status of its kind, and no trace", function()
    local garbage, shared = directory .. "/garbage.pem", directory .. "/shared.pem"
    files.write(garbage, "-----BEGIN nonsense")
    assert(core.key.generate()):save(shared)
    process.execute("chmod 600 " .. process.quote(garbage) .. "; chmod 644 " .. process.quote(shared))
    for _, case in ipairs {
      { "FLEET_KEY", "/nowhere/key.pem" }, { "FLEET_KEY", garbage }, { "FLEET_KEY", shared }, { "FLEET_STORE", garbage },
    } do
      local result = made_with(case[1], case[2])
      assert.is_true(result.status >= 10, case[2] .. " " .. result.err)
      assert.matches("^fleet: ", result.err)
      assert.matches("'fleet doctor' looks at each", result.err, 1, true)
      assert.is_nil(string.find(result.err, "traceback", 1, true), result.err)
      assert.is_nil(string.find(result.err, "%.lua:%d"), result.err)
    end
  end)

  it("is JSON too when JSON is asked for", function()
    local result = cli.run({ "vehicles", "--json" }, { env = { FLEET_TOKEN = "x", FLEET_KEY = "/nowhere/key.pem" } })
    assert.equal("store", result.json.kind)
    assert.equal(kind_status "store", result.status)
  end)
end)

describe("what to type next", function()
  local function refused(status, body, given, line)
    given = given or {}
    given.http = function() return { status = status, headers = {}, body = body } end
    given.env = given.env or env
    return cli.run(split(line or "vehicles"), given)
  end

  it("without any configuration it is fleet setup", function()
    local result = cli.run({ "vehicles" }, { env = { XDG_CONFIG_HOME = "/nowhere", XDG_STATE_HOME = directory .. "/none" } })
    assert.equal(kind_status "auth", result.status)
    assert.matches("fleet setup", result.err, 1, true)
    assert.matches('eval "$(fleet sim --env)"', result.err, 1, true)
    assert.is_nil(string.find(result.err, "authorize", 1, true)) -- the API's names are of no use here
    for _, line in ipairs { "charging sessions", "refresh", "pricing" } do
      local other = cli.run(split(line), { env = { XDG_CONFIG_HOME = "/nowhere", XDG_STATE_HOME = directory .. "/none" } })
      assert.matches("No application is configured: run 'fleet setup'", other.err, 1, true)
      assert.is_nil(string.find(other.err, "client_id", 1, true))
      assert.is_nil(string.find(other.err, "business_login{", 1, true))
    end
    result = cli.run({ "login" }, { env = { XDG_CONFIG_HOME = "/nowhere" } })
    assert.equal(2, result.status)
    assert.matches("fleet setup", result.err, 1, true)
  end)

  it("with an application and no token it is fleet login", function()
    local given = { env = { FLEET_CLIENT_ID = "app", XDG_CONFIG_HOME = "/nowhere", XDG_STATE_HOME = directory .. "/none" } }
    for _, line in ipairs { "vehicles", "token info" } do
      local result = cli.run(split(line), given)
      assert.equal(kind_status "auth", result.status, line)
      assert.matches("Sign in with 'fleet login'", result.err, 1, true)
    end
  end)

  it("with a token from outside it is another token, not a sign-in alone", function()
    local result = refused(401, '{"error":"invalid bearer token"}')
    assert.equal(kind_status "auth", result.status)
    assert.matches("give a new one", result.err, 1, true)
  end)

  it("a missing scope names the command that asks for it", function()
    local own = { FLEET_CLIENT_ID = "app", FLEET_CLIENT_SECRET = "canary-secret-4711" }
    local function hint(given, scope)
      local text = ""
      local out = { write = function(_, ...) text = text .. table.concat { ... } end }
      local failure = require "fleet.cli.failure"
      failure.report({ stderr = out }, core.err { kind = "scope", message = "m", scope = scope }, { given = given })
      return text
    end
    assert.matches("fleet login --prompt-missing-scopes\n", hint({ client_secret = "s" }, "energy_cmds"), 1, true)
    assert.matches("fleet login\n", hint({}, "energy_cmds"), 1, true)
    assert.matches("--scopes openid,energy_cmds", hint({ scopes = { "openid" } }, "energy_cmds"), 1, true)
    assert.matches("application's own", hint({}, "vehicle_specs"), 1, true)
    own.FLEET_TOKEN = "canary-token-4711"
    local result = refused(403, '{"error":"Unauthorized missing scopes"}', { env = own })
    assert.equal(kind_status "scope", result.status)
    assert.matches("give one with this scope", result.err, 1, true)
  end)

  it("a key that is not paired names fleet pair and the vehicle", function()
    local result = refused(403, '{"error":"Tesla Vehicle Command Protocol required"}', nil, "honk_horn " .. red)
    assert.equal(kind_status "key_not_paired", result.status)
    assert.matches("fleet pair " .. red, result.err, 1, true)
  end)
end)

describe("help of a group", function()
  it("lists its verbs and ends with 0", function()
    for _, line in ipairs { "tariff --help", "token --help", "charging -h", "help tariff", "help user" } do
      local result = cli.run(split(line))
      local group = string.match(string.gsub(line, "help ", ""), "^%a+")
      assert.equal(0, result.status, line .. result.err)
      assert.matches("  " .. group .. " %l+", result.out)
    end
  end)

  it("of a word that is no group is still a mistake", function()
    assert.equal(2, cli.run({ "tarif", "--help" }).status)
    assert.equal(2, cli.run({ "help", "charging", "histry" }).status)
    assert.equal(2, cli.run({ "tariff" }).status)
  end)
end)

describe("a vehicle", function()
  local function run(line, records)
    local http, requests = account(records or both)
    return cli.run(type(line) == "table" and line or split(line), { env = env, http = http }), paths_of(requests)
  end

  it("is meant by its VIN, without a look at the account", function()
    local result, paths = run("honk_horn " .. red)
    assert.equal(0, result.status, result.err)
    assert.same({ "vehicles/" .. red .. "/command/honk_horn" }, paths)
  end)

  it("is meant by its name, by the end of its VIN and by the id of its record", function()
    for _, word in ipairs { "red car", "Red car", "0002", "f000002", "100002" } do
      local result, paths = run { "honk_horn", word }
      assert.equal(0, result.status, result.err)
      assert.same({ "products", "vehicles/" .. red .. "/command/honk_horn" }, paths)
    end
    local result, paths = run "honk_horn vin=blue"
    assert.equal(0, result.status, result.err)
    assert.equal("vehicles/" .. blue .. "/command/honk_horn", paths[2])
  end)

  it("is found beside one whose record has odd values", function()
    for _, odd in ipairs { {}, true, 7 } do
      for _, record in ipairs { { vin = red, display_name = odd }, { vin = odd, id_s = "9", display_name = "Red" } } do
        local result, paths = run("honk_horn blue", { record, both[1] })
        assert.equal(0, result.status, result.err)
        assert.equal("vehicles/" .. blue .. "/command/honk_horn", paths[2])
        assert.not_matches("attempt to", run("honk_horn green", { record, both[1] }).err)
      end
    end
  end)

  it("is the only one when none is named", function()
    local result, paths = run("set_charge_limit percent=80", { both[1] })
    assert.equal(0, result.status, result.err)
    assert.equal("vehicles/" .. blue .. "/command/set_charge_limit", paths[2])
    result, paths = run("revoke_invitation 5", { both[1] })
    assert.equal(0, result.status, result.err)
    assert.equal("vehicles/" .. blue .. "/invitations/5/revoke", paths[2])
  end)

  it("is not guessed: two that fit, none that fits, two where none is named", function()
    local cases = {
      { "honk_horn", "name the vehicle after the verb, as in 'fleet honk_horn Blue': the account has Blue ("
        .. blue .. "), Red car", "invalid" },
      { "honk_horn F000", "no vehicle is called 'F000'", "not_found" },
      { "honk_horn 02", "no vehicle is called '02'", "not_found" },
      { "honk_horn green", "no vehicle is called 'green', and no VIN ends so: the account has", "not_found" },
      { "honk_horn Bleu", "did you mean 'Blue'? The account has Blue (", "not_found" },
    }
    for _, case in ipairs(cases) do
      local result, paths = run(case[1])
      assert.equal(kind_status(case[3]), result.status, result.err)
      assert.matches(case[2], result.err, 1, true)
      assert.same({ "products" }, paths)
    end
    local twins = { { vin = blue, display_name = "Blue" }, { vin = red, display_name = "Blue" } }
    local result, paths = run("honk_horn blue", twins)
    assert.matches("give more of the VIN", result.err, 1, true)
    assert.same({ "products" }, paths)
  end)

  it("of a list is found, too, with one look for all", function()
    local http, requests = account(both)
    local result = cli.run({ "fleet_status", "blue", "0002" }, { env = env, http = http })
    assert.equal(0, result.status, result.err)
    assert.equal(2, #requests)
    assert.same({ vins = { blue, red } }, core.json_decode(requests[2].body))
  end)
end)

describe("an energy site", function()
  local home, cabin = { energy_site_id = 1234567890, site_name = "Home" }, { energy_site_id = "77", site_name = "Cabin" }

  local function run(line, products)
    local http, requests = account(products)
    return cli.run(split(line), { env = env, http = http }), paths_of(requests)
  end

  it("is meant by its id without a look, by its name, or by nothing where there is one only", function()
    local _, paths = run("live_status 1234567890", { home, cabin })
    assert.same({ "energy_sites/1234567890/live_status" }, paths)
    _, paths = run("live_status cabin", { home, cabin, both[1] })
    assert.same({ "products", "energy_sites/77/live_status" }, paths)
    _, paths = run("live_status", { both[1], home })
    assert.same({ "products", "energy_sites/1234567890/live_status" }, paths)
    _, paths = run("backup backup_reserve_percent=20", { home })
    assert.same({ "products", "energy_sites/1234567890/backup" }, paths)
  end)

  it("is not guessed: two, none, none that fits, odd records", function()
    for _, case in ipairs {
      { "live_status", { home, cabin },
        "name the energy site after the verb, as in 'fleet live_status 1234567890': the account has Home (1234567890), Cabin (77)" },
      { "live_status", { both[1] }, "the account has no energy site" },
      { "live_status green", { home }, "no energy site is called 'green': the account has Home (1234567890)" },
      { "live_status home", { home, { energy_site_id = 5, site_name = "HOME" } }, "give the id" },
      { "live_status home", { { id = "1", site_name = {} }, { id = "2", site_name = "home" } }, "no energy site" },
    } do
      local result, paths = run(case[1], case[2])
      assert.matches(case[3], result.err, 1, true)
      assert.same({ "products" }, paths)
      assert.is_true(result.status >= 10)
    end
  end)
end)

describe("names of vehicles", function()
  it("are looked up in the list of vehicles where the account gives no products", function()
    for _, answer in ipairs {
      { status = 404, headers = {}, body = '{"error":"not found"}' },
      { status = 200, headers = {}, body = '{"response":[{"energy_site_id":5}],"count":1}' },
    } do
      local serve, requests = account(both)
      local result = cli.run({ "honk_horn", "blue" }, { env = env, http = function(request)
        local reply = serve(request)
        return string.find(request.url, "/products", 1, true) and answer or reply
      end })
      assert.equal(0, result.status, result.err)
      local paths = paths_of(requests)
      assert.same({ "products", "vehicles", "vehicles/" .. blue .. "/command/honk_horn" }, paths, answer.body)
    end
  end)

  it("are not looked up twice where the service is disturbed", function()
    local requests = {}
    local result = cli.run({ "honk_horn", "blue" }, { env = env, http = function(request)
      requests[#requests + 1] = request
      return { status = 500, headers = {}, body = "" }
    end })
    assert.equal(kind_status "service", result.status)
    for _, path in ipairs(paths_of(requests)) do assert.equal("products", path) end
  end)
end)

describe("signing in", function()
  local services = require "spec.support.servers.sim_process"
  local sim
  setup(function() sim = services.start() end)
  teardown(function() sim.stop() end)

  -- Signs in with a pasted address; the person does not grant the scopes named in without. Returns output and status.
  local function login(more, without)
    local name = directory .. "/login" .. tostring(math.random(1e9))
    process.execute("mkfifo " .. process.quote(name))
    local pipe = assert(io.popen(sim.env .. "FLEET_CLIENT_ID=app FLEET_CLIENT_SECRET=canary-secret-4711 "
      .. "FLEET_REDIRECT_URI=https://app.example.com/back " .. sims.fleet .. " login " .. (more or "") .. " <" .. process.quote(name)
      .. " 2>&1; echo status $?", "r"))
    local writer = assert(io.open(name, "w"))
    local lines = { pipe:read("l"), pipe:read("l") }
    local url = string.match(lines[2], "(http%S+)$")
    local kept = string.gsub(url, "([?&]scope=)([^&]*)", function(head, scopes)
      for _, scope in ipairs(without or {}) do scopes = string.gsub(scopes, "%%20" .. scope .. "%f[^%w_]", "") end
      return head .. scopes
    end)
    local out = sims.shell("env -u LD_PRELOAD curl -s -m 20 -o /dev/null -w '%{redirect_url}' " .. process.quote(kept) .. "; echo")
    writer:write(string.match(out, "^%S+"), "\n")
    writer:close()
    local rest = pipe:read("a")
    pipe:close()
    return rest, url
  end

  it("asks for all scopes of an owner, and says what was granted", function()
    local out, url = login()
    for _, scope in ipairs(require("fleet.cli.scopes").owner) do
      assert.matches(scope, url, 1, true)
      assert.matches(scope, string.match(out, "granted: ([^\n]*)"), 1, true)
    end
    assert.is_nil(string.find(out, "not granted", 1, true), out)
    assert.matches("status 0\n$", out)
  end)

  it("asks for the configured ones only", function()
    local out, url = login("--scopes openid,offline_access,vehicle_cmds")
    assert.is_nil(string.find(url, "energy_cmds", 1, true))
    assert.is_nil(string.find(out, "not granted", 1, true))
  end)

  it("says what was not granted, and how to ask again", function()
    local out = login("", { "energy_cmds", "vehicle_location" })
    assert.matches("not granted: vehicle_location energy_cmds: ", out, 1, true)
    assert.matches("fleet login --prompt-missing-scopes", out, 1, true)
    assert.matches("status 0\n$", out)
  end)
end)
