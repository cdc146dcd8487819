-- `fleet doctor`, `pair`, `jws`, `region`: what they look at and what they say. The service is a function.

local unregistered = '{"error":"Account 1 must be registered in the current region"}'
local cli = require "spec.support.harness.cli"
local core = require "fleet.core"
local fleet = require "fleet"
local keys = require "fleet.cli.doctor.keys"
local stores = require "spec.support.fixtures.stores"

local vin, other_vin = "5YJ3E1EA7KF000001", "5YJ3E1EA7KF000002"
local key_text

local directory

local function run_shell(command)
  assert(os.execute(command))
end

local function write(name, text, mode)
  local path = directory .. "/" .. name
  os.remove(path)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  run_shell("chmod " .. (mode or "600") .. " '" .. path .. "'")
  return path
end

setup(function()
  local key = core.key.generate()
  local hex = string.gsub(key:public_bytes(), ".", function(c) return string.format("%02x", string.byte(c)) end)
  key_text = { pem = key:public_pem(), hex = hex }
  local path = os.tmpname()
  os.remove(path)
  assert(key:save(path))
  local file = assert(io.open(path))
  key_text.private = file:read("a")
  file:close()
  os.remove(path)
end)
before_each(function() directory = stores.directory() end)
after_each(function() stores.remove(directory) end)

local function http_date(at)
  return os.date("!%a, %d %b %Y %H:%M:%S GMT", math.floor(at))
end

-- A service where all is well; changes: path pattern → reply in place of its own.
local function service(changes)
  local _, wall = core.clock()
  local list = '{"response":[{"vin":"' .. vin .. '"},{"vin":"' .. other_vin
    .. '","display_name":"Red car","id_s":"100002"}],"pagination":{"next":null},"count":2}'
  local status = '{"response":{"key_paired_vins":["' .. vin .. '","' .. other_vin .. '"],"unpaired_vins":[],"vehicle_info":{}}}'
  local well = {
    { "/status$", { status = 200, body = "ok", headers = { Date = http_date(wall) } } },
    { "/users/region$", { body = '{"response":{"region":"na","fleet_api_base_url":"https://service.example"}}' } },
    { "/oauth2/", { body = '{"access_token":"partner","expires_in":28800}' } },
    { "public_key%?", { body = '{"response":{"public_key":"' .. key_text.hex .. '"}}' } },
    { "%.public%-key%.pem$", { body = key_text.pem } },
    { "/vehicles%?", { body = list } }, { "/vehicles$", { body = list } }, { "/fleet_status$", { body = status } },
  }
  return function(request)
    for _, case in ipairs(well) do
      if string.find(request.url, case[1]) then
        local reply = changes and changes[case[1]] or case[2]
        if reply == "down" then return nil, "no route", false end
        return { status = reply.status or 200, headers = reply.headers or {}, body = reply.body or "" }
      end
    end
    error("no request was expected: " .. request.url)
  end
end

local function configured(more)
  local members = {
    base_url = "https://service.example", client_id = "app", client_secret = "canary-secret", domain = "app.example.com",
    key = write("key.pem", key_text.private), store = directory .. "/store", scopes = { "openid", "offline_access", "vehicle_cmds" },
  }
  for name, value in pairs(more or {}) do members[name] = value or nil end
  return write("config.json", core.json_encode(members, "scopes"))
end

local function sign_in(record)
  local store = assert(require("fleet.store").file(directory .. "/store"))
  local _, wall = core.clock()
  local whole = {
    access_token = "a", refresh_token = "r", expires_at = wall + 3600, saved_at = wall, refreshed_at = wall,
    scope = "openid offline_access vehicle_cmds",
  }
  for name, value in pairs(record or {}) do whole[name] = value or nil end
  assert(store:put("token/default/user", core.json_encode(whole), { durable = true }))
  store:close()
end

-- The report's lines by name.
local function examine(argv, changes, env)
  local words = { "doctor", "--config", directory .. "/config.json", "--json" }
  for _, word in ipairs(argv or {}) do words[#words + 1] = word end
  local result = cli.run(words, { http = service(changes), env = env or {} })
  assert.is_table(result.json, result.err .. result.out)
  local lines = {}
  for _, line in ipairs(result.json.checks or {}) do lines[line.name] = line end
  return lines, result
end

describe("the doctor", function()
  it("finds nothing where all is well, and ends with 0", function()
    configured()
    sign_in()
    local lines, result = examine()
    assert.equal(0, result.status, result.out)
    assert.is_true(result.json.ok)
    local names = {}
    for name, line in pairs(lines) do
      names[#names + 1] = name
      assert.is_true(line.ok, name .. ": " .. line.message)
    end
    table.sort(names)
    assert.same({ "account", "budget", "certificates", "clock", "comparison", "configuration", "domain", "hosted key", "key",
      "pairing " .. vin, "pairing " .. other_vin, "registration", "scopes", "service", "sign-in", "store" }, names)
    assert.is_nil(string.find(result.out, "canary", 1, true))
  end)

  it("shows what was spent, and which budget is used up", function()
    configured { budgets = { usd_per_month = 10, per_day = { command = 2 } } }
    sign_in()
    local lines = examine()
    assert.is_true(lines.budget.ok)
    assert.matches("^0%.00%d USD spent in %d%d%d%d%-%d%d$", lines.budget.message)
    assert.is_true(lines["budget usd_per_month"].ok)
    assert.matches("of 10%.000 USD used$", lines["budget usd_per_month"].message)
    assert.equal("0 calls of 2 calls used", lines["budget per_day.command"].message)
    local store = assert(require("fleet.store").file(directory .. "/store"))
    local wall = os.time()
    assert(store:add(os.date("!count/default/%Y-%m", wall), { [os.date("!command/%d", wall)] = 2 }))
    store:close()
    lines = examine()
    assert.is_false(lines["budget per_day.command"].ok)
    assert.equal("2 calls of 2 calls used: such calls are refused", lines["budget per_day.command"].message)
  end)

  local redis = require "spec.support.servers.redis"
  local missing = redis.missing()
  local look_at_redis = missing and function(name) pending(name .. ": " .. missing) end or it

  look_at_redis("asks a Redis store how durable it is", function()
    local server = redis.start { settings = { "appendonly yes", "appendfsync always" } }
    finally(server.stop)
    configured { store = server.address }
    local lines = examine()
    for _, name in ipairs { "store", "store durability", "store eviction", "store clock" } do
      assert.is_true(lines[name].ok, lines[name].message)
    end
    server.cli("config set appendfsync everysec")
    server.cli("config set maxmemory-policy allkeys-lru")
    lines = examine()
    assert.is_false(lines["store durability"].ok)
    assert.matches("the last second", lines["store durability"].message)
    assert.matches("maxmemory%-policy noeviction", lines["store eviction"].fix)
  end)

  look_at_redis("compares the clock of this machine with the store's, which every machine does", function()
    local server = redis.start()
    configured { store = server.address }
    local clock = fleet.loop.clock
    finally(function()
      fleet.loop.clock = clock
      server.stop()
    end)
    for off, ahead in pairs { [-30] = "30 s behind", [30] = "30 s ahead of" } do
      function fleet.loop.clock()
        local mono, wall = clock()
        return mono, wall + off
      end
      local line = examine()["store clock"]
      assert.is_false(line.ok)
      assert.matches("this machine is " .. ahead .. " the server", line.message)
      assert.matches("set the clocks", line.fix)
    end
    fleet.loop.clock = clock
    assert.is_true(examine()["store clock"].ok)
  end)

  look_at_redis("tells the budgets as the shared store counts them, of the account, of the key and of the application", function()
    local server = redis.start()
    finally(server.stop)
    configured { store = server.address, budgets = { per_day = { wake = 2 }, usd_per_key_month = 1, usd_per_application_day = 0.002 } }
    local names = { "budget per_day.wake", "budget usd_per_key_month", "budget usd_per_application_day" }
    local lines = examine()
    for _, name in ipairs(names) do assert.is_true(lines[name].ok, lines[name].message) end
    local store = assert(require("fleet.store").open(server.address))
    local month, day = os.date("!%Y-%m"), os.date("!/%d")
    local key = assert(fleet.key.load(directory .. "/key.pem"))
    assert(store:add("count/default/" .. month, { ["wake" .. day] = 2, wake = 2 }))
    assert(store:add("count-key/" .. key:fingerprint() .. "/" .. month, { wake = 51 }))
    assert(store:add("count-application/app/" .. month, { ["command" .. day] = 2 }))
    store:close()
    lines = examine()
    for _, name in ipairs(names) do assert.is_false(lines[name].ok, lines[name].message) end
  end)

  look_at_redis("says that a Redis store does not answer, and why", function()
    configured { store = "redis+unix:" .. directory .. "/nothing?timeout=0.2" }
    local lines = examine()
    assert.is_false(lines.store.ok)
    assert.matches("No such file", lines.store.message)
    configured { store = "redis://10.0.0.1" }
    assert.matches("plain TCP", examine().store.message)
  end)

  -- what is wrong, the line that says so, its cause, what to do
  local cases = {
    { "not signed in", "sign-in", nil, "fleet login", prepare = function() configured() end },
    { "not signed in, and no application", "sign-in", nil, "fleet setup", prepare = function()
      configured { client_id = false, client_secret = false }
    end },
    { "the sign-in cannot be refreshed", "sign-in", nil, "offline_access", prepare = function()
      configured()
      sign_in { refresh_token = false }
    end },
    { "a scope was not granted", "scopes", nil, "missing%-scopes", prepare = function()
      configured { scopes = { "openid", "energy_cmds" } }
      sign_in()
    end },
    { "the configuration is open to others", "configuration", nil, "chmod 600", prepare = function()
      run_shell("chmod 644 '" .. configured() .. "'")
      sign_in()
    end },
    { "the configuration is no JSON", "configuration", nil, "mend it", prepare = function()
      write("config.json", "region=eu")
    end, env = { FLEET_TOKEN = "t", FLEET_BASE_URL = "https://service.example" } },
    { "an option is wrong", "options", nil, "mend it", prepare = function() configured { regoin = "eu" } end },
    { "the file of certificates holds none", "certificates", nil, "%-%-ca%-file", prepare = function()
      configured { ca_file = write("ca.pem", "hello") }
      sign_in()
    end },
    { "the file of certificates is absent", "certificates", nil, "%-%-ca%-file", prepare = function()
      configured { ca_file = "/nowhere/at/all" }
      sign_in()
    end },
    { "the store is open to others", "store", nil, "by its owner only", prepare = function()
      configured()
      sign_in()
      run_shell("chmod 755 '" .. directory .. "/store'")
    end },
    { "a file of the store is open to others", "store", nil, "by its owner only", prepare = function()
      configured()
      sign_in()
      run_shell("chmod 644 '" .. directory .. "'/store/*")
    end },
    { "the store is a file", "store", nil, "name a directory", prepare = function()
      write("store", "x")
      configured()
    end },
    { "the service cannot be reached", "service", nil, "network", changes = { ["/status$"] = "down" } },
    { "the clock is behind", "clock", nil, "set the clock", changes = { ["/status$"] = { headers = { Date = http_date(4e9) } } } },
    { "the clock is ahead", "clock", nil, "set the clock", changes = { ["/status$"] = { headers = { Date = http_date(1e9) } } } },
    { "the application is not registered in the account's region", "account", nil, "fleet setup",
      changes = { ["/users/region$"] = { status = 412, body = unregistered } } },
    { "a scope is missing for the account's region", "account", nil, "fleet login %-%-prompt%-missing%-scopes %-%-scopes %S+,user_data",
      changes = { ["/users/region$"] = { status = 403, body = '{"error":"Unauthorized missing scopes"}' } } },
    { "the account lives elsewhere", "account", nil, "discover", changes = { ["/users/region$"] = { status = 421, body = "{}" } } },
    { "cause 1: there is no key here", "key", "no_key", "fleet keygen", prepare = function()
      configured { key = false }
      sign_in()
    end },
    { "cause 1: the key here is a certificate's", "key", "no_key", "private key of the application", prepare = function()
      configured { key = write("tls.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n") }
      sign_in()
    end },
    { "cause 1: the key here is open to others", "key", "no_key", ".", prepare = function()
      configured { key = write("open.pem", key_text.private, "644") }
      sign_in()
    end },
    { "cause 2: nothing is hosted", "hosted key", "not_hosted", "put the public key there",
      changes = { ["%.public%-key%.pem$"] = { status = 404 } } },
    { "cause 2: a TLS certificate is hosted", "hosted key", "not_hosted", "fleet keygen",
      changes = { ["%.public%-key%.pem$"] = { body = "-----BEGIN CERTIFICATE-----" } } },
    { "cause 3: the domain is not registered", "registration", "not_registered", "another domain",
      changes = { ["public_key%?"] = { status = 404, body = '{"error":"not_found"}' } } },
    { "cause 4: the hosted key was replaced", "comparison", "replaced", "host the public half",
      changes = { ["%.public%-key%.pem$"] = "another" } },
    { "cause 5: the key here is another", "comparison", "wrong_key", "private key that belongs to it", prepare = function()
      configured { key = write("other.pem", key_text.other) }
      sign_in()
    end },
    { "cause 6: the owner has not accepted", "pairing " .. vin, "not_accepted", "opens https",
      changes = { ["/fleet_status$"] = { body = '{"response":{"unpaired_vins":["' .. vin .. '"],"key_paired_vins":[]}}' } } },
  }

  local another
  setup(function()
    another = core.key.generate()
    local path = os.tmpname()
    os.remove(path)
    assert(another:save(path))
    local file = assert(io.open(path))
    key_text.other = file:read("a")
    file:close()
    os.remove(path)
  end)
  teardown(function() another:close() end)

  for _, case in ipairs(cases) do
    it("reports when " .. case[1], function()
      if case.prepare then case.prepare() else configured(); sign_in() end
      local changes = case.changes
      local hosted = "%.public%-key%.pem$"
      if changes and changes[hosted] == "another" then changes = { [hosted] = { body = another:public_pem() } } end
      local lines, result = examine(nil, changes, case.env)
      local line = assert(lines[case[2]], result.out)
      assert.is_false(line.ok, line.message)
      assert.equal(case[3], line.cause)
      assert.matches(case[4], line.fix)
      assert.equal("invalid", result.json.kind)
      assert.equal(34, result.status)
      assert.is_nil(string.find(result.out, "canary", 1, true))
    end)
  end

  it("says of a paired vehicle that the key here is not the paired one", function()
    configured { key = write("other.pem", key_text.other) }
    sign_in()
    assert.equal("wrong_key", examine()["pairing " .. vin].cause)
  end)

  it("looks at the vehicles that are named, and at no other", function()
    configured()
    sign_in()
    local lines = examine { other_vin }
    assert.is_nil(lines["pairing " .. vin])
    assert.is_true(lines["pairing " .. other_vin].ok)
  end)

  it("separates vehicles that the account only drives from its own, and continues with its own", function()
    configured()
    sign_in()
    local not_ours = { status = 404, body = '{"response":null,"error":"not_found"}' }
    local function listed(access)
      return { body = '{"response":[{"vin":"' .. vin .. '","access_type":"' .. access .. '"},{"vin":"' .. other_vin ..
        '","access_type":"OWNER"}],"pagination":{"next":null},"count":2}' }
    end
    local lines, result = examine(nil, { ["/vehicles%?"] = listed "DRIVER" })
    assert.is_nil(lines["pairing " .. vin].ok)
    assert.matches(vin .. ": this account is a driver of it: pairing and telemetry belong to the owner's account",
      lines["pairing " .. vin].message, 1, true)
    assert.is_true(lines["pairing " .. other_vin].ok)
    assert.equal(0, result.status)
    lines = examine(nil, { ["/vehicles%?"] = listed "OWNER", ["/fleet_status$"] = not_ours })
    for _, one in ipairs { vin, other_vin } do
      assert.is_false(lines["pairing " .. one].ok)
      assert.matches(one, lines["pairing " .. one].message, 1, true)
      assert.matches("is a driver of it", lines["pairing " .. one].fix, 1, true)
    end
  end)

  it("looks at further regions", function()
    configured { base_url = false }
    sign_in()
    local lines = examine { "--regions", "eu,cn" }
    assert.is_true(lines["registration eu"].ok)
    assert.is_true(lines["registration cn"].ok)
    local report = { lines = {}, key = { bytes = "own" } }
    keys.registrations(report, "app.example.com", {
      { name = "eu", registered = { missing = true } }, { name = "cn", registered = { bytes = "other" } },
      { name = "na", registered = { problem = "no network" } },
    })
    assert.same({ "not_registered", "replaced" }, { report.lines[1].cause, report.lines[2].cause })
    assert.is_nil(report.lines[3].ok)
  end)

  it("prints a line each for a person, and what to do below those that need it", function()
    configured()
    local result = cli.run({ "doctor", "--config", directory .. "/config.json" }, { http = service() })
    assert.matches("ok  configuration +", result.out)
    assert.matches("FIX sign%-in +not signed in\n +%-> run 'fleet login'\n", result.out)
    assert.matches("^fleet: doctor: 1 thing to mend\n", result.err)
  end)

  it("takes vehicles by VIN, by name and by the end of the VIN", function()
    configured()
    sign_in()
    for _, word in ipairs { other_vin, "red car", "0002", "100002" } do
      local lines, result = examine { word }
      assert.equal(0, result.status, result.out)
      assert.truthy(lines["pairing " .. other_vin])
      assert.is_nil(lines["pairing " .. vin])
    end
    for word, sentence in pairs { lower = "no vehicle is called 'lower'", F00000 = "no vehicle", ["100009"] = "no vehicle" } do
      local lines, result = examine { vin, word }
      assert.is_true(result.status > 0)
      assert.matches(sentence, lines.vehicles.message, 1, true)
      assert.matches("name it by its VIN", lines.vehicles.fix, 1, true)
    end
  end)

  it("refuses what is no region", function()
    for _, words in ipairs { { "doctor", "--regions", "mars" }, { "doctor", "a=b" } } do
      assert.equal(2, cli.run(words, { http = service() }).status)
    end
  end)
end)

describe("pair", function()
  it("prints the address, with a VIN and without", function()
    configured()
    local options = { "--config", directory .. "/config.json" }
    assert.matches("/_ak/app%.example%.com\n$", cli.run({ "pair", table.unpack(options) }, { http = service() }).out)
    local result = cli.run({ "pair", vin, "--json", table.unpack(options) }, { http = service() })
    assert.matches("/_ak/app%.example%.com%?vin=" .. vin .. "$", result.json.url)
    assert.is_nil(result.json.paired)
  end)

  it("waits until the service says paired, at most for the given time", function()
    configured()
    sign_in()
    local options = { "--config", directory .. "/config.json", "--wait", "0.01" }
    assert.is_true(cli.run({ "pair", vin, "--json", table.unpack(options) }, { http = service() }).json.paired)
    local unpaired = { ["/fleet_status$"] = { body = '{"response":{"unpaired_vins":["' .. vin .. '"]}}' } }
    assert.equal("timeout", cli.run({ "pair", vin, "--json", table.unpack(options) }, { http = service(unpaired) }).json.kind)
    local silent = { ["/fleet_status$"] = { body = '{"response":{}}' } }
    assert.equal("protocol", cli.run({ "pair", vin, "--json", table.unpack(options) }, { http = service(silent) }).json.kind)
  end)

  it("needs a domain, and a VIN to wait for", function()
    configured { domain = false }
    local options = { "--config", directory .. "/config.json" }
    assert.matches("%-%-domain", cli.run({ "pair", table.unpack(options) }, { http = service() }).err)
    assert.matches("needs VIN", cli.run({ "pair", "--wait", "5", table.unpack(options) }, { http = service() }).err)
    assert.equal(2, cli.run({ "pair", vin, "again", table.unpack(options) }, { http = service() }).status)
  end)
end)

describe("jws", function()
  local function sign(words, stdin, http)
    local argv = { "jws", "--key", write("key.pem", key_text.private), table.unpack(words) }
    return cli.run(argv, { stdin = stdin, http = http, env = http and { FLEET_TOKEN = "t", FLEET_BASE_URL = "https://service.example" } })
  end
  local function claims(result)
    local public = assert(core.key.public_bytes(key_text.pem))
    return assert(core.jws_verify(string.match(result.out, "^%S+"), public))
  end

  it("signs claims from the command line, a file and standard input, and the key's owner can verify them", function()
    assert.equal(1, claims(sign { '{"a":1}' }).a)
    assert.equal(2, claims(sign { "@" .. write("claims", '{"a":2}\n') }).a)
    assert.equal(3, claims(sign({ "-" }, '{"a":3}')).a)
    assert.matches("%." .. vin .. "%.Other$", claims(sign { '{"a":1}', "--vin", vin, "--app", "Other" }).aud)
  end)

  it("takes the vehicle by name and by the end of its VIN, looking through the account only then", function()
    for _, word in ipairs { "red car", "0002", "100002", other_vin } do
      local asked = 0
      local answer = service()
      local result = sign({ '{"a":1}', "--vin", word }, nil, function(request)
        asked = asked + 1
        return answer(request)
      end)
      assert.matches("%." .. other_vin .. "%.", claims(result).aud)
      assert.equal(word ~= other_vin, asked > 0)
    end
    local result = sign({ "{}", "--vin", "green" }, nil, service())
    assert.matches("no vehicle is called 'green'", result.err, 1, true)
  end)

  it("checks a telemetry configuration first, alone or with its vehicles", function()
    local config = '{"hostname":"x","fields":{}}'
    for _, text in ipairs { config, '{"vins":["' .. vin .. '"],"config":' .. config .. "}" } do
      local result = sign { text }
      assert.equal(34, result.status)
      assert.matches("%-%-force", result.err)
      assert.equal("x", claims(sign { text, "--force" }).hostname)
    end
  end)

  it("refuses what is no object, and to sign without a key", function()
    for _, words in ipairs { { "5" }, { "{" }, {} } do assert.equal(2, sign(words).status) end
    assert.matches("%-%-key", cli.run({ "jws", "{}" }).err)
  end)
end)

describe("region --discover", function()
  it("asks the regions and shows the one that answers", function()
    local asked = {}
    local result = cli.run({ "region", "--discover", "--json" }, { env = { FLEET_TOKEN = "t" }, http = function(request)
      asked[#asked + 1] = string.match(request.url, "^https://[^/]+")
      if #asked == 1 then return { status = 412, headers = {}, body = unregistered } end
      return { status = 200, headers = {}, body = '{"response":{"region":"eu","fleet_api_base_url":"' .. asked[2] .. '"}}' }
    end })
    assert.same({ region = "eu", base_url = asked[2] }, result.json)
    assert.equal(2, #asked)
  end)
end)
