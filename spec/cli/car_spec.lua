-- Verbs of a car's handle: locate, navigate, signed_data, wait_until; and a wake that is not paid for in vain.

local cli = require "spec.support.harness.cli"
local core = require "fleet.core"
local fleet = require "fleet"
local process = require "spec.support.harness.process"

local BLUE = "5YJ3FLEE9RF000001"
local env = { FLEET_TOKEN = "canary-token-4711" }
local directory, key_file

setup(function()
  directory = process.temporary("car")
  key_file = directory .. "/key.pem"
  local key = fleet.key.generate()
  assert(key:save(key_file))
  key:close()
end)
teardown(function() process.execute("rm -rf " .. process.quote(directory)) end)

-- A service with one car. replies: by the last word of the path, a body or a function of how often it was asked.
local function service(replies)
  local asked, paths = {}, {}
  return function(request)
    local path = string.match(request.url, "/api/1/([^?]*)")
    local word = string.match(path, "[^/]+$")
    asked[word], paths[#paths + 1] = (asked[word] or 0) + 1, path
    local body = replies[word]
    if type(body) == "function" then body = body(asked[word], request) end
    if type(body) == "table" and body.status then return { status = body.status, headers = {}, body = body.body } end
    return { status = body and 200 or 404, headers = {}, body = body and core.json_encode { response = body } or '{"error":"no"}' }
  end, paths
end

local products = { { vin = BLUE, id_s = "100001", display_name = "Blue", state = "online" } }

describe("fleet locate", function()
  it("prints the position of the named car, or of the only one", function()
    local replies = { products = products, vehicle_data = { drive_state = { latitude = 52.5, longitude = 13.25, heading = 90 } } }
    for _, words in ipairs { { "locate" }, { "locate", "blue" }, { "locate", BLUE } } do
      local http = service(replies)
      local result = cli.run(words, { env = env, http = http })
      assert.equal(0, result.status, result.err)
      assert.matches("^52.500000, 13.250000, heading 90 degrees", result.out)
    end
    local result = cli.run({ "locate", BLUE, "--json" }, { env = env, http = service(replies) })
    assert.equal(52.5, result.json.lat)
  end)

  it("fails where the place is withheld, and takes one vehicle and no parameters", function()
    local result = cli.run({ "locate", BLUE }, { env = env, http = service { vehicle_data = { drive_state = { power = 0 } } } })
    assert.equal("forbidden", cli.run({ "locate", BLUE, "--json" }, { env = env, http = service {
      vehicle_data = { drive_state = { power = 0 } } } }).json.kind)
    assert.matches("withheld", result.err, 1, true)
    for _, words in ipairs { { "locate", BLUE, BLUE }, { "locate", BLUE, "a=b" } } do
      assert.equal(2, cli.run(words, { env = env }).status)
    end
  end)
end)

describe("fleet navigate", function()
  local function routes(count)
    if count == 1 then return { drive_state = {} } end
    return { drive_state = { active_route_destination = "Main Street 1", active_route_minutes_to_arrival = 12,
      active_route_miles_to_arrival = 3.5 } }
  end

  it("sends the address to the car that is named, or to the only one", function()
    for _, words in ipairs { { "navigate", "Main Street 1" }, { "navigate", "blue", "Main Street 1" } } do
      local sent
      local http = service { products = products, vehicle_data = routes, navigation_request = function(_, request)
        sent = request.body
        return { result = true, reason = "" }
      end }
      local result = cli.run(words, { env = env, http = http })
      assert.equal(0, result.status, result.err)
      assert.matches("^going to Main Street 1, 12 minutes, 3.5 miles\n", result.out)
      assert.matches("Main Street 1", sent, 1, true)
    end
  end)

  it("wants the address in one word", function()
    for _, words in ipairs { { "navigate" }, { "navigate", "blue", "Main", "Street" }, { "navigate", "blue", "to=x" } } do
      local result = cli.run(words, { env = env })
      assert.equal(2, result.status)
    end
  end)
end)

describe("fleet signed_data", function()
  it("takes sections with blanks or commas, and names those that it does not know", function()
    for _, case in ipairs {
      { { "signed_data" }, "needs a section: charge, " }, { { "signed_data", BLUE }, "needs a section" },
      { { "signed_data", BLUE, "chrage" }, "did you mean 'charge'" }, { { "signed_data", BLUE, "charge", "x=1" }, "takes no 'x='" },
    } do
      local result = cli.run(case[1], { env = env })
      assert.equal(2, result.status)
      assert.matches(case[2], result.err, 1, true)
    end
    local result = cli.run({ "signed_data", BLUE, "charge,climate", "drive" }, { env = env, http = service {} })
    assert.matches("it needs a key", result.err, 1, true)
  end)
end)

describe("fleet wait_until", function()
  local function run(words, level)
    table.insert(words, 1, "wait_until")
    return cli.run(words, { env = env, http = service {
      products = products,
      vehicle_data = { charge_state = { battery_level = level, charging_state = "Charging", charge_port_open = true } },
    } })
  end

  it("ends when the field has the value: a word, a number, true or false, or a bound", function()
    for text, wanted in pairs {
      ["state=online"] = "state is online\n", ["charge_state.battery_level=80"] = "charge_state.battery_level is 80\n",
      ["charge_state.charging_state=Charging"] = "charge_state.charging_state is Charging\n",
      ["charge_state.charge_port_open=true"] = "charge_state.charge_port_open is true\n",
      ["charge_state.battery_level>=80"] = "charge_state.battery_level is 80\n",
      ["charge_state.battery_level<81"] = "charge_state.battery_level is 80\n",
    } do
      local result = run({ "blue", text }, 80)
      assert.equal(0, result.status, result.err)
      assert.equal(wanted, result.out)
    end
    assert.equal(0, run({ "state=online" }, 80).status)
  end)

  it("does not end before, and says so", function()
    for _, text in ipairs { "charge_state.battery_level=8", "charge_state.battery_level>80", "charge_state.charging_state>5",
      "charge_state.no_field=nil" } do
      local result = run({ BLUE, text, "--timeout=0.01", "--every=0.01" }, 80)
      assert.matches("has not become so within", result.err, 1, true)
    end
    for _, words in ipairs { { BLUE }, {}, { BLUE, "a>b" }, { BLUE, "x", "state=online" }, { "a=b", "c=d" } } do
      assert.equal(2, run(words, 80).status)
    end
  end)
end)

describe("a command with --wake, of a client with a key", function()
  local function run(state, status, more, given)
    local http, paths = service {
      products = { { vin = BLUE, id_s = "100001", display_name = "Blue", state = state } }, fleet_status = status,
      wake_up = function() return { status = 503, body = "" } end,
    }
    local words = { "honk_horn", BLUE, "--wake", "--timeout=0.01" }
    for _, word in ipairs(more or {}) do words[#words + 1] = word end
    local result = cli.run(words, { env = given or { FLEET_TOKEN = "canary-token-4711", FLEET_KEY = key_file }, http = http })
    return result, table.concat(paths, " ")
  end
  local function status_of(paired, unpaired, required)
    local info = { [BLUE] = { vehicle_command_protocol_required = required } }
    return { key_paired_vins = paired, unpaired_vins = unpaired, vehicle_info = info }
  end
  local unpaired = status_of({}, { BLUE }, true)

  it("is not woken for where the key is not on a sleeping vehicle", function()
    local result, paths = run("asleep", unpaired)
    assert.equal(24, result.status, result.err)
    assert.matches("was not woken. --force", result.err, 1, true)
    assert.matches("It was not sent.", result.err, 1, true)
    assert.equal("products vehicles/fleet_status", paths)
  end)

  it("goes on where the vehicle is online, takes plain commands, has the key, cannot be looked up, or with --force", function()
    local plain, paired = status_of({}, { BLUE }, false), status_of({ BLUE }, {}, true)
    for _, case in ipairs { { "online", unpaired }, { "asleep", plain }, { "asleep", paired }, { "asleep", nil },
      { "asleep", unpaired, { "--force" } }, { "asleep", unpaired, { "--commands=plain" } }, { "asleep", unpaired, {}, env } } do
      local result, paths = run(case[1], case[2], case[3], case[4])
      assert.is_nil(string.find(result.err, "was not woken", 1, true))
      local sent = string.find(paths, "honk_horn", 1, true) or string.find(paths, "signed_command", 1, true)
      assert.is_truthy(sent or string.find(paths, "wake_up", 1, true), paths)
    end
  end)
end)

describe("a call that takes more than a moment", function()
  it("shows a line on a terminal, which is emptied at the end, and none elsewhere", function()
    local clock, wait = fleet.loop.clock, fleet.loop.wait
    local now = 1000
    local function run(terminal)
      return cli.run({ "honk_horn", BLUE, "--wake" }, { env = env, terminal = terminal, http = function()
        fleet.sleep(5)
        return { status = 200, headers = {}, body = '{"response":{"result":true,"reason":""}}' }
      end })
    end
    fleet.loop.clock = function() return now, now end
    fleet.loop.wait = function(seconds) now = now + math.max(seconds or 0, 0.01) end
    local shown, silent = run(true), run(false)
    fleet.loop.clock, fleet.loop.wait = clock, wait
    assert.equal(0, shown.status, shown.err)
    assert.matches("honk_horn: waking the vehicle if it sleeps, 2 s", shown.err, 1, true)
    assert.matches("4 s", shown.err, 1, true)
    assert.matches("\r\27%[K$", shown.err)
    assert.equal("", silent.err)
  end)
end)
