-- The command line: words to arguments, options by precedence, secrets, results, failures, statuses.

local core = require "fleet.core"
local rows = require "fleet.call.rows"
local verbs = require "fleet.cli.verbs"
local cli = require "spec.support.harness.cli"
local virtual = require "spec.support.harness.virtual"

local vin = "5YJ3E1EA7KF000001"
local env = { FLEET_TOKEN = "canary-token-4711" }

local function body_of(request)
  return request.body and core.json_decode(request.body)
end

-- Runs a command line against a service that answers so; returns the result and the requests.
local function run(line, answer, given)
  local http, requests = cli.service(answer or '{"response":{"result":true,"reason":""}}')
  local words = type(line) == "table" and line or {}
  if type(line) == "string" then
    for word in string.gmatch(line, "%S+") do words[#words + 1] = word end
  end
  given = given or {}
  given.http, given.env = http, given.env or env
  return cli.run(words, given), requests
end

local files = {}

local function temporary(text)
  local path = os.tmpname()
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  files[#files + 1] = path
  return path
end

teardown(function()
  for _, path in ipairs(files) do os.remove(path) end
end)

describe("words become arguments", function()
  local cases = {
    { "set_charge_limit VIN percent=80", { percent = 80 } },
    { "set_temps VIN driver_temp=21.5 passenger_temp=20", { driver_temp = 21.5, passenger_temp = 20 } },
    { "set_sentry_mode VIN on=off", { on = false } },
    { "set_sentry_mode VIN on=YES", { on = true } },
    { "set_sentry_mode vin=VIN on=true", { on = true } },
    { "actuate_trunk VIN which_trunk=rear", { which_trunk = "rear" } },
    { "remote_seat_heater_request VIN seat_position=front_left level=high", { seat_position = 0, level = 3 } },
    { "remote_seat_heater_request VIN seat_position=0 level=3", { seat_position = 0, level = 3 } },
    { "remote_seat_heater_request VIN heater=front_right level=1", { seat_position = 1, level = 1 } },
    { "set_valet_mode VIN on=false", { on = false } },
    { "set_preconditioning_max VIN on=yes manual_override=socdoors", { on = true, manual_override = "socdoors" } },
    { "navigation_gps_request VIN lat=1 lon=2", { lat = 1, lon = 2, order = 0 } },
    { "navigation_waypoints_request VIN waypoints=refId:a,refId:b", { waypoints = "refId:a,refId:b" } },
    { { "navigation_request", vin, "value=Unter den Linden", "timestamp_ms=5" }, { type = "share_ext_content_raw", locale = "en-US",
      timestamp_ms = "5", value = { ["android.intent.extra.TEXT"] = "Unter den Linden" } } },
    { { "navigation_request", vin, 'value={"android.intent.extra.TEXT":"Berlin"}', "timestamp_ms=5" },
      { type = "share_ext_content_raw", locale = "en-US", timestamp_ms = "5", value = { ["android.intent.extra.TEXT"] = "Berlin" } } },
    { "fleet_status VIN,VIN", { vins = { vin, vin } } },
    { "fleet_status VIN VIN", { vins = { vin, vin } } },
    { "fleet_status vins=VIN", { vins = { vin } } },
    { "pricing model=m3 year=2026 new=true", { model = "m3", year = 2026, new = true } },
    { { "pricing", '{"model":"my"}' }, { model = "my" } },
    { { "take_drivenote", vin, "note=Ida = 1" }, { note = "Ida = 1" } },
  }
  for _, case in ipairs(cases) do
    local line = case[1]
    it(type(line) == "table" and table.concat(line, " ") or line, function()
      if type(line) == "string" then line = string.gsub(line, "VIN", vin) end
      local result, requests = run(line)
      assert.equal(0, result.status, result.err)
      assert.same(case[2], body_of(requests[1]))
    end)
  end

  it("a telemetry configuration that every vehicle skipped ends as refused, with the reply as it came", function()
    local config = '{"hostname":"t.example.com","port":443,"ca":"x","fields":{"Soc":{"interval_seconds":60}}}'
    for updated, reply in pairs {
      [0] = '{"response":{"updated_vehicles":0,"skipped_vehicles":{"missing_key":["' .. vin .. '"]}}}',
      [1] = '{"response":{"updated_vehicles":1,"skipped_vehicles":{"missing_key":["' .. vin .. '"]}}}',
    } do
      for _, more in ipairs { false, "--json" } do
        local line = { "create_fleet_telemetry_config", "vins=" .. vin, "config=" .. config, "--force" }
        line[#line + 1] = more or nil
        local result = run(line, reply)
        assert.equal(updated == 0 and require("fleet.cli.failure").exit "refused" or 0, result.status, result.err)
        assert.truthy(string.find(result.out, "missing_key", 1, true))
        assert.equal(updated == 0 and not more, string.find(result.err, "no vehicle took it", 1, true) ~= nil)
      end
    end
    assert.equal(0, run({ "delete_fleet_telemetry_config", vin }, '{"response":{"updated_vehicles":0}}').status)
  end)

  it("a group of rows is written with a space or a dot", function()
    for _, line in ipairs { "user me", "user.me" } do
      local result, requests = run(line, '{"response":{"email":"a@example.com"}}')
      assert.equal(0, result.status)
      assert.truthy(string.find(requests[1].url, "/api/1/users/me", 1, true))
    end
  end)

  it("a list, an object or bytes may come from a file or from standard input", function()
    local list = temporary(vin .. "\n" .. vin .. "\n")
    local _, requests = run { "fleet_status", "@" .. list }
    assert.same({ vins = { vin, vin } }, body_of(requests[1]))
    _, requests = run({ "pricing", "-" }, nil, { stdin = '{"model":"ms"}\n' })
    assert.same({ model = "ms" }, body_of(requests[1]))
    local bytes = temporary("\0\1\n")
    _, requests = run({ "signed_command", vin, "@" .. bytes }, '{"response":"AAEC"}')
    assert.same({ routable_message = "AAEK" }, body_of(requests[1]))
  end)

  local mistakes = {
    { "vehicls", "did you mean 'vehicles'" },
    { "charging", "needs one of: history, invoice, sessions" },
    { "charging histry", "did you mean 'charging history'" },
    { "set_charge_limit", "needs percent=" },
    { "signed_command", "needs MESSAGE" },
    { "set_charge_limit VIN", "needs percent=" },
    { "set_charge_limit VIN percnt=80", "did you mean 'percent'" },
    { "set_charge_limit VIN percent=much", "'percent' must be a number, got 'much'" },
    { "set_charge_limit VIN percent=101", "'percent' must be 50 to 100" },
    { "set_charge_limit VIN percent=0x50", "'percent' must be a number" },
    { "set_charge_limit VIN percent=80 percent=70", "is given twice" },
    { "set_charge_limit VIN 80", "name=value, such as percent=80" },
    { "set_charge_limit VIN", "needs percent=" },
    { "add_charge_schedule VIN days_of_week=all enabled=yes lat=1 lon=2 start_enabled=yes end_enabled=no", "needs start_time=" },
    { "set_scheduled_charging VIN enable=true --force", "needs time=" },
    { "remote_seat_heater_request VIN heater=0 seat_position=1 level=1", "is given twice" },
    { "honk", "did you mean 'honk_horn'" },
    { "set_charge_limit VIN perc=80", "did you mean 'percent'" },
    { "vehicles --timeout 1e400", "'--timeout' must be a number" },
    { "wake VIN x", "takes no 'x'" },
    { "set_sentry_mode VIN on=perhaps", "must be true or false" },
    { "remote_seat_heater_request VIN seat_position=front_lft level=high", "did you mean 'front_left'" },
    { "create_fleet_telemetry_config vins=VIN config={", "must be JSON text, @file or -" },
    { "create_fleet_telemetry_config vins=VIN config=@/nowhere/at/all", "/nowhere/at/all" },
    { "create_fleet_telemetry_config vins=- config=-", "standard input is taken already" },
    { "signed_command VIN !!", "@file, - or base64" },
    { "vehicles --jsn=1", "did you mean '--json'" },
    { "vehicles --timeout", "'--timeout' needs a value" },
    { "vehicles --timeout soon", "'--timeout' must be a number" },
    { "vehicles --timeout 0", "'timeout' must be 0.001 to 4000000" },
    { "vehicles --region na --region eu", "is given twice" },
    { "vehicles --region nx", "did you mean 'na'" },
    { "vehicles --output x", "not one of 'vehicles'" },
    { "set_charge_limit VIN --percent 80", "a parameter is written percent=VALUE" },
    { "set_charge_limit VIN --frobnicate-it=80", "a parameter is written frobnicate_it=VALUE" },
    { "lokc VIN", "try door_lock, door_unlock" },
    { "climat VIN", "try auto_conditioning_start, auto_conditioning_stop, set_temps" },
    { "vehicles --base-url http://example.com", "https" },
    { "keygen", "needs PATH" },
    { "keygen a b", "takes no 'b'" },
    { "version x=1", "takes no 'x='" },
  }
  for _, case in ipairs(mistakes) do
    it("refuses: " .. case[1], function()
      local result, requests = run((string.gsub(case[1], "VIN", vin)))
      assert.equal(2, result.status, result.out .. result.err)
      assert.truthy(string.find(result.err, case[2], 1, true), result.err)
      assert.equal("", result.out)
      assert.equal(0, #requests)
    end)
  end

end)

describe("secrets", function()
  local function pin_of(words, given)
    local result, requests = run(words, nil, given)
    return result, requests[1] and body_of(requests[1]).pin
  end
  local line = { "speed_limit_activate", vin, "pin=4711" }

  it("are refused as plain arguments, and not repeated", function()
    for _, words in ipairs {
      line, { "vehicles", "--client-secret", "4711-canary" }, { "vehicles", "--token=4711-canary" },
      { "set_valet_mode", vin, "on=true", "password=4711" }, { "redeem_invitation", "code=4711-canary" },
    } do
      local result, requests = run(words)
      assert.equal(2, result.status)
      assert.equal(0, #requests)
      assert.truthy(string.find(result.err, "is a secret", 1, true))
      assert.falsy(string.find(result.err .. result.out, "4711", 1, true))
    end
  end)

  it("come from a file, standard input, the environment or a prompt", function()
    local from = {
      { { "speed_limit_activate", vin, "pin=@" .. temporary("4711\n") }, {} },
      { { "speed_limit_activate", vin, "pin=-" }, { stdin = "4711\n" } },
      { { "speed_limit_activate", vin }, { env = { FLEET_TOKEN = "t-o-k-e-n", FLEET_PIN = "4711" } } },
      { { "speed_limit_activate", vin }, { answer = "4711" } },
      { { "speed_limit_activate", vin, "pin=" }, { answer = "4711" } },
    }
    for _, case in ipairs(from) do
      local result, pin = pin_of(case[1], case[2])
      assert.equal(0, result.status, result.err)
      assert.equal("4711", pin)
    end
  end)

  it("that are missing are a usage error", function()
    local result, pin = pin_of { "speed_limit_activate", vin }
    assert.equal(2, result.status)
    assert.is_nil(pin)
    assert.truthy(string.find(result.err, "FLEET_PIN", 1, true))
  end)

  it("that a switch needs are asked for only when it is on", function()
    local _, requests = run({ "set_valet_mode", vin, "on=true" }, nil, { answer = "4711" })
    assert.same({ on = true, password = "4711" }, body_of(requests[1]))
    _, requests = run({ "set_valet_mode", vin, "on=false" }, nil, { answer = "4711" })
    assert.same({ on = false }, body_of(requests[1]))
  end)

  it("a pair that the store refused is reported, even without --verbose", function()
    local out = {}
    local function write(_, ...) out[#out + 1] = table.concat { ... } end
    local world = { write = write, flush = function() return true end }
    local log
    require("fleet.cli.main").main({ "products" }, {
      getenv = function(name) return env[name] end, stdout = world, stderr = world, terminal = function() return false end,
      new = function(options)
        log = options.log
        options.http = cli.service('{"response":[]}')
        return require("fleet").new(options)
      end,
    })
    local before = #out
    log { method = "GET", path = "/api/1/products", status = 200 }
    assert.equal(before, #out)
    log { kind = "store", message = "the new pair could not be saved" }
    assert.truthy(string.find(table.concat(out), "fleet: the new pair could not be saved\n", 1, true))
  end)

  it("never reach an output", function()
    finally(virtual.install().restore)
    local leaking = function() return 500, '{"error":"bad token canary-token-4711 for pin 4711"}' end
    for _, json in ipairs { "--json", "--verbose" } do
      local result = run({ "speed_limit_activate", vin, "pin=-", json }, leaking, { stdin = "4711" })
      assert.equal(28, result.status)
      assert.falsy(string.find(result.out .. result.err, "4711", 1, true), result.out .. result.err)
    end
  end)
end)

describe("options of the client", function()
  local function options_of(words, given)
    given.env.FLEET_TOKEN = given.env.FLEET_TOKEN or "a-token"
    local result = run(words, '{"response":[]}', given)
    assert.equal(0, result.status, result.err)
    return result.options
  end
  local file

  before_each(function()
    file = temporary('{"region":"cn","timeout":7,"client_id":"from-file","hosts":["a.example.com"]}')
  end)

  it("come from the flag, else the environment, else the file, else the row", function()
    local given = { env = { FLEET_REGION = "eu", FLEET_TIMEOUT = "8.5" } }
    local found = options_of({ "products", "--config", file, "--timeout", "9" }, given)
    assert.equal(9, found.timeout)
    assert.equal("eu", found.region)
    assert.equal("from-file", found.client_id)
    assert.same({ "a.example.com" }, found.hosts)
    found = options_of({ "products", "--config", file }, given)
    assert.equal(8.5, found.timeout)
    assert.is_nil(options_of({ "products" }, { env = {} }).timeout)
  end)

  it("are read by type: lists, switches, numbers", function()
    local found = options_of({ "products", "--scopes", "openid,user_data", "--insecure-http", "--max-response=1000000" }, { env = {} })
    assert.same({ "openid", "user_data" }, found.scopes)
    assert.equal(true, found.insecure_http)
    assert.equal(1000000, found.max_response)
    assert.equal(false, options_of({ "products", "--insecure_http=false" }, { env = {} }).insecure_http)
  end)

  it("the file is looked for where the environment says, and may be absent", function()
    local directory = os.tmpname()
    os.remove(directory)
    assert(os.execute("mkdir -p '" .. directory .. "/fleet'"))
    finally(function() os.execute("rm -r '" .. directory .. "'") end)
    assert.is_nil(options_of({ "products" }, { env = { XDG_CONFIG_HOME = directory } }).client_id)
    local handle = assert(io.open(directory .. "/fleet/config.json", "w"))
    handle:write('{"client_id":"here"}')
    handle:close()
    assert.equal("here", options_of({ "products" }, { env = { XDG_CONFIG_HOME = directory } }).client_id)
  end)

  it("a file that is named and missing, or no JSON object, is a mistake", function()
    for _, words in ipairs {
      { "products", "--config", "/nowhere/at/all" }, { "products", "--config", temporary("region=eu") },
      { "products", "--config", temporary("7") }, { "products", "--config", temporary('{"regoin":"eu"}') },
    } do
      local result, requests = run(words)
      assert.equal(2, result.status, result.err)
      assert.equal(0, #requests)
    end
  end)

  it("a wrong value in the environment names the variable", function()
    local result = run("products", nil, { env = { FLEET_TOKEN = "t", FLEET_TIMEOUT = "soon" } })
    assert.equal(2, result.status)
    assert.truthy(string.find(result.err, "FLEET_TIMEOUT", 1, true))
  end)

  it("what is learned outlasts the process, unless the user gives the token", function()
    local home = os.tmpname()
    os.remove(home)
    finally(function() os.execute("rm -rf '" .. home .. "'") end)
    local result = cli.run({ "products" }, { env = { HOME = home }, http = cli.service("{}") })
    assert.equal(home .. "/.local/state/fleet", result.options.store)
    assert.is_nil(options_of({ "products" }, { env = { HOME = home } }).store)
    assert.equal(home .. "/s", options_of({ "products" }, { env = { HOME = home, FLEET_STORE = home .. "/s" } }).store)
  end)
end)

describe("options of a call", function()
  it("reach the call", function()
    local asked = 0
    local result, requests = run("charge_start " .. vin .. " --strict --json", function()
      asked = asked + 1
      return 200, '{"response":{"result":false,"reason":"is_charging"}}'
    end)
    assert.equal(1, #requests)
    assert.equal("refused", result.json.kind)
    result = run("info " .. vin .. " --raw", '{"response":{"a":1}}')
    assert.equal('{"response":{"a":1}}', (string.gsub(result.out, "\n$", "")))
  end)
end)

describe("results", function()
  it("a command says that it was done, or that nothing was to do", function()
    assert.equal("done (plain)\n", run("honk_horn " .. vin).out)
    local result = run("charge_start " .. vin, '{"response":{"result":false,"reason":"is_charging"}}')
    assert.equal("nothing to do: is_charging (plain)\n", result.out)
    assert.equal(0, result.status)
  end)

  it("a record is aligned, units where a row knows them, sections indented", function()
    local result = run("vehicle_data " .. vin,
      '{"response":{"vin":"V","state":"online","charge_state":{"charge_limit_soc":80,"x":[1,2]},"empty":[]}}')
    assert.equal(table.concat({
      "vin    V", "state  online", "empty  none", "charge_state", "  charge_limit_soc  80 percent",
      "  x                 1, 2", "",
    }, "\n"), result.out)
  end)

  it("a list of records is a table", function()
    local result = run("products", '{"response":[{"id":"1","name":"a"},{"id":"22","name":"bb"}]}')
    assert.equal("name  id\na     1\nbb    22\n", result.out)
  end)

  it("columns that do not fit are counted, not cut off in silence", function()
    local members = { '"id":"1"' }
    for i = 2, 30 do members[i] = string.format('"member_%02d":"value"', i) end
    local record = "{" .. table.concat(members, ",") .. "}"
    local out = run("products", '{"response":[' .. record .. "," .. record .. "]}").out
    assert.truthy(string.find(out, "more members: --json shows all", 1, true))
  end)

  it("what a terminal would obey is shown, not sent", function()
    local result = run("user me", '{"response":{"name":"a\\u001b]0;evil\\u0007b\\u009bc\\nd"}}')
    assert.equal("name  a\\x1b]0;evil\\x07b\\x9bc\\x0ad\n", result.out)
  end)

  it("a walk over pages gives all records, and shows its progress on a terminal only", function()
    local function page(request)
      local first = string.find(request.url, "page=1&", 1, true)
      return 200, first and '{"response":[{"vin":"A"},{"vin":"B"}],"pagination":{"current":1,"next":2}}'
        or '{"response":[{"vin":"C"}],"pagination":{"current":2}}'
    end
    local result, requests = run("vehicles page_size=2 --json", page, { terminal = true })
    assert.equal(2, #requests)
    assert.same({ { vin = "A" }, { vin = "B" }, { vin = "C" } }, result.json)
    assert.truthy(string.find(result.err, "3 records", 1, true))
    assert.equal("", (run("vehicles page_size=2", page)).err)
  end)

  it("an empty list is an empty list in JSON too", function()
    assert.equal("[]\n", run("vehicles --json", '{"response":[]}').out)
    local record = '{"id":"7","tokens":[],"vin":"5YJ3E1EA7KF000001","options":{},"inner":{"list":[[],{}]}}'
    assert.equal('[{"id":"7","inner":{"list":[[],{}]},"options":{},"tokens":[],"vin":"5YJ3E1EA7KF000001"}]\n',
      run("vehicles --json", '{"response":[' .. record .. "]}").out)
    assert.equal("none\n", run("vehicles", '{"response":[]}').out)
  end)

  it("bytes are written as they are", function()
    assert.equal("%PDF-1.4\0x", run("charging invoice abc", "%PDF-1.4\0x").out)
  end)
end)

describe("failures", function()
  local cases = {
    { 401, "", "auth" }, { 403, '{"error":"missing scopes"}', "scope" }, { 404, "", "not_found" }, { 429, "", "rate_limited" },
    { 408, '{"error":"vehicle is offline or asleep"}', "asleep" }, { 412, "", "unsupported" },
    { 412, '{"error":"must be registered in the current region"}', "unregistered" }, { 500, "", "service" },
    { 200, "<html>", "protocol" },
  }
  local exits = {}
  for _, kind in ipairs(core.kinds()) do exits[kind.name] = kind.exit end

  -- Repeats pause; a fast clock keeps them short, and no deadline comes near.
  local loop = require("fleet").loop
  before_each(function()
    loop.speed = 200
    loop.clock = function()
      local mono, wall = core.clock()
      return mono * 200, wall
    end
  end)
  after_each(function() loop.speed, loop.clock = 1, core.clock end)

  for _, case in ipairs(cases) do
    it(string.format("%d %s ends with the status of its kind, '%s'", case[1], case[2], case[3]), function()
      local answer = function() return case[1], case[2] end
      local result = run("info " .. vin .. " --timeout 60 --json", answer)
      assert.equal(case[3], result.json.kind)
      assert.equal(exits[case[3]], result.status)
      assert.equal("string", type(result.json.message))
      assert.equal("", result.err)
      result = run("info " .. vin .. " --timeout 60", answer)
      assert.equal(exits[case[3]], result.status)
      assert.equal("", result.out)
      assert.equal("fleet: ", string.sub(result.err, 1, 7))
    end)
  end

  it("every kind has a status of its own, and none is 0, 1, 2 or 130", function()
    local seen = { [0] = "done", [1] = "internal", [2] = "usage", [130] = "interrupted" }
    for name, exit in pairs(exits) do
      assert.is_nil(seen[exit], name)
      seen[exit] = name
    end
  end)

  it("an unknown outcome names the verb and the fields that show what became of the call", function()
    local sentences = {
      ["set_charge_limit " .. vin .. " percent=70"] = "'fleet vehicle_data " .. vin .. " endpoints=charge_state' shows charge_limit_soc.",
      ["add_charge_schedule " .. vin .. " id=1 enabled=true start_enabled=true start_time=60 end_enabled=false lat=1 lon=1 "
        .. "days_of_week=mon"] = "endpoints=charge_schedule_data' shows charge_schedules.",
      ["backup 1234567890 backup_reserve_percent=30"] = "'fleet site_info 1234567890' shows backup_reserve_percent.",
      ["honk_horn " .. vin] = "does not show it, and a repeat would act again.", ["wake_up " .. vin] = "look: fleet status " .. vin,
      ["remote_seat_cooler_request " .. vin .. " seat_position=front_left seat_cooler_level=low"] = "A repeat is safe",
      ["create_invitation " .. vin] = "look: fleet invitations " .. vin,
    }
    for line, wanted in pairs(sentences) do
      local result = run(line, function() return 503, "" end)
      assert.matches("It may have been done", result.err, 1, true)
      assert.matches(wanted, result.err, 1, true)
    end
    assert.is_nil(string.find(run("door_lock " .. vin, function() return 404, "" end).err, "may have been done", 1, true))
  end)

  it("names what to read for every settle column", function()
    for _, row in ipairs(require("fleet.call.rows").all()) do
      if row.settle then
        local sentence = require("fleet.cli.reading_back").sentence(row, "ID")
        local verb = string.match(sentence, "'fleet ([%w_]+) ID[^']*' shows [%w_.]+")
        assert.truthy(verb and verbs.by_name[verb], row.name .. ": " .. sentence)
      end
    end
  end)

  it("a delay is in the message", function()
    local result
    local http = function() return { status = 429, headers = { ["retry-after"] = "61" }, body = "" } end
    result = cli.run({ "info", vin, "--json" }, { env = env, http = http })
    assert.equal(61, result.json.retry_after)
    result = cli.run({ "info", vin }, { env = env, http = http })
    assert.truthy(string.find(result.err, "Try again in 61 s.", 1, true))
  end)

  it("a mistake is JSON too when JSON is asked for", function()
    local result = run("vehicls --json")
    assert.equal("usage", result.json.kind)
    assert.equal(2, result.status)
    assert.equal("", result.err)
  end)

  it("what is not foreseen ends with 1 and says where", function()
    local result = cli.run({ "vehicles", "--json" }, { env = env, new = function() return nil + 1 end })
    assert.equal(1, result.status)
    assert.equal("internal", result.json.kind)
  end)
end)

describe("verbs", function()
  it("have one name each, a sentence and options that agree", function()
    local types = {}
    for _, verb in pairs(verbs.by_name) do
      assert.truthy(verb.doc and verb.run, verb.name)
      for name, option in pairs(verb.options) do
        assert.equal(name, option.name)
        assert.equal(types[name] or option.type, option.type, name)
        types[name] = option.type
      end
    end
    assert.equal(#rows.all(), #verbs.rows)
  end)

  it("are all named by the help, and each explains itself", function()
    local all = run("help all").out
    for name, verb in pairs(verbs.by_name) do
      assert.truthy(string.find(all, verbs.spoken(name), 1, true), name)
      local words = { "help" }
      for word in string.gmatch(name, "[^.]+") do words[#words + 1] = word end
      local result = run(words)
      assert.equal(0, result.status, name .. result.err)
      assert.truthy(string.find(result.out, "fleet " .. verbs.spoken(name), 1, true), name)
      assert.truthy(verb.row or #result.out > 40)
    end
  end)

  it("help lists options and statuses", function()
    local text = run("help flags").out
    for _, option in ipairs(core.options()) do
      assert.equal(not option.lua_only, string.find(text, "%-%-" .. string.gsub(option.name, "_", "%%-") .. "%f[ \n]") ~= nil, option.name)
    end
    text = run("help statuses").out
    for _, kind in ipairs(core.kinds()) do assert.truthy(string.find(text, kind.name, 1, true)) end
  end)

  it("version, endpoints and commands print tables and JSON", function()
    assert.truthy(run("version --json").json.fleet)
    assert.truthy(run("--version").out)
    assert.equal(#core.endpoints(), #run("endpoints --json").json)
    assert.equal(#core.commands(), #run("commands --json").json)
    assert.truthy(string.find(run("commands").out, "honk_horn", 1, true))
  end)
end)

describe("keygen", function()
  it("writes a key with mode 0600 and never over a file", function()
    local path = os.tmpname()
    os.remove(path)
    finally(function() os.remove(path) end)
    local result = run { "keygen", path, "--json" }
    assert.equal(0, result.status, result.out)
    assert.truthy(string.find(result.json.public_key, "BEGIN PUBLIC KEY", 1, true))
    local pipe = io.popen("stat -c %a '" .. path .. "'")
    assert.equal("600", pipe:read("*l"))
    pipe:close()
    assert.falsy(string.find(result.out, "PRIVATE", 1, true))
    assert.equal("conflict", run({ "keygen", path, "--json" }).json.kind)
  end)
end)

describe("tariff", function()
  local good, bad = "spec/vectors/tariffs/01-flat-all.json", "spec/vectors/tariffs/invalid/period-gap.json"
  local other = "spec/vectors/tariffs/02-two-season-tou.json"

  it("check ends with 0 for a good tariff, as check's table in JSON", function()
    local result = run("tariff check " .. good .. " --json")
    assert.equal(0, result.status)
    assert.same({ valid = true, problems = {}, normalisations = {}, warnings = {} }, result.json)
  end)

  it("check ends non-zero for problems, with kind and message beside them in JSON", function()
    local result = run("tariff check " .. bad .. " --json")
    assert.equal(34, result.status)
    assert.equal("invalid", result.json.kind)
    assert.equal("string", type(result.json.message))
    assert.equal(7, #result.json.problems)
    assert.equal("period_gap", result.json.problems[1].kind)
    result = run("tariff check " .. bad)
    assert.truthy(string.find(result.out, "14:00-15:00", 1, true))
    assert.equal(34, result.status)
  end)

  it("takes standard input, and site_info as it is read", function()
    local file = assert(io.open(good, "rb"))
    local text = file:read("*a")
    file:close()
    assert.equal(0, run("tariff check -", nil, { stdin = text }).status)
    assert.equal(0, run("tariff check -", nil, { stdin = '{"tou_settings":{"tariff_content_v2":' .. text .. "}}" }).status)
    local result, requests = run("tariff check 1234567890", '{"response":{"tariff_content_v2":' .. text .. "}}")
    assert.equal(0, result.status)
    assert.equal(1, #requests)
    assert.equal("not_found", run("tariff check 1234567890 --json", '{"response":{"id":"x"}}').json.kind)
  end)

  it("show, plot and diff", function()
    assert.truthy(string.find(run("tariff show " .. other).out, "ON_PEAK", 1, true))
    assert.truthy(run("tariff show " .. other .. " --json").json.seasons)
    assert.equal("<svg", string.sub(run("tariff plot " .. other).out, 1, 4))
    assert.equal("no difference\n", run("tariff diff " .. good .. " " .. good).out)
    assert.truthy(#run("tariff diff " .. good .. " " .. other .. " --json").json > 3)
    assert.equal(34, run("tariff show " .. bad).status)
  end)

  it("of a site, or in a reply of one, needs no currency", function()
    for _, name in ipairs { "site-info-tariff-without-currency", "site-info-tariff-aud" } do
      local path = "spec/support/fixtures/energy/" .. name .. ".json"
      local file = assert(io.open(path, "rb"))
      local reply = file:read("*a")
      file:close()
      for _, verb in ipairs { "check", "show", "plot" } do
        assert.equal(0, run("tariff " .. verb .. " 1234567890", reply).status, verb)
        assert.equal(0, run("tariff " .. verb .. " " .. path).status, verb)
      end
      assert.equal(0, run("tariff diff 1234567890 " .. path, reply).status)
      local bare = core.json_encode(core.json_decode(reply).response.tariff_content_v2, "daily_charges periods")
      assert.equal(34, run("tariff check -", nil, { stdin = bare }).status)
      assert.equal(0, run("tariff check - --any-currency", nil, { stdin = bare }).status)
      assert.equal(0, run("tariff show -", nil, { stdin = bare }).status)
    end
    local result = run("tariff show 1234567890", '{"response":{"tariff_content_v2":{"name":"x"}}}')
    assert.equal(34, result.status)
    assert.falsy(string.find(result.err, "It was not sent", 1, true), result.err)
    result = run("tariff check spec/support/fixtures/energy/older-tariff-content.json --json")
    assert.same({ "older_form" }, { result.json.problems[1].kind, result.json.problems[2] })
  end)

  it("a file that cannot be read is named with its cause", function()
    local missing = cli.run { "tariff", "check", "/nowhere/t.json" }
    assert.equal(2, missing.status)
    assert.matches("^fleet: cannot read /nowhere/t.json: No such file or directory\n", missing.err)
    assert.matches("^fleet: cannot read /tmp: Is a directory\n", cli.run({ "tariff", "check", "/tmp" }).err)
  end)

  it("a file that is missing or no tariff is a mistake", function()
    assert.equal(2, run("tariff check -", nil, { stdin = '{"response":{"id":"x"}}' }).status)
    assert.equal(2, run("tariff check /nowhere/at/all").status)
    assert.equal(2, run("tariff check -", nil, { stdin = "7" }).status)
  end)
end)
