-- fleet status, the first screen, and output that fits the terminal.

local cli = require "spec.support.harness.cli"

local env = { FLEET_TOKEN = "canary-token-4711" }
local vin = "5YJ3E1EA7KF000001"

local function answers(replies)
  return function(request)
    for part, body in pairs(replies) do
      if string.find(request.url, part, 1, true) then return { status = 200, body = body, headers = {} } end
    end
    return { status = 404, body = "{}", headers = {} }
  end
end

local car = '{"vin":"' .. vin .. '","display_name":"Blue","state":"%s"}'
local site = '{"energy_site_id":2252147638651584,"site_name":"Home","resource_type":"battery"}'

local function products(state)
  return '{"response":[' .. string.format(car, state) .. "," .. site .. '],"count":2}'
end

local live = '{"response":{"percentage_charged":54.2,"solar_power":3200,"grid_power":-1234,"load_power":null,"island_status":"on_grid"}}'

describe("fleet status", function()
  it("shows what cars and sites say, and leaves out what they do not", function()
    local result = cli.run({ "status" }, { env = env, http = answers {
      ["/products"] = products "online", ["/vehicle_data"] = '{"response":{"charge_state":{"battery_level":71,"charging_state":"Charging",'
        .. '"charge_limit_soc":80,"minutes_to_full_charge":65},"climate_state":null,"vehicle_state":{"locked":"yes"}}}',
      ["/live_status"] = live,
    } })
    assert.equal("", result.err)
    assert.equal("Blue  online  71 %, charging to 80 %, 1:05 h left\n"
      .. "Home  site    battery 54 %, solar 3.2 kW, grid 1.2 kW sold\n", result.out)
  end)

  it("looks live at no car that is asleep, and at none with --free", function()
    for _, case in ipairs { { "asleep", "status" }, { "online", "status", "--free" } } do
      local asked = {}
      local http = answers { ["/products"] = products(case[1]), ["/live_status"] = live }
      local result = cli.run({ case[2], case[3] }, { env = env, http = function(request)
        asked[#asked + 1] = string.match(request.url, "[^/]+$")
        return http(request)
      end })
      assert.equal(0, result.status)
      assert.same({ "products", "live_status" }, asked)
    end
  end)

  it("says what failed of one car beside the others", function()
    local result = cli.run({ "status" }, { env = env, http = answers { ["/products"] = products "online", ["/live_status"] = live } })
    assert.equal(0, result.status)
    assert.matches("Blue  online  .*404", result.out)
    assert.matches("battery 54 %%", result.out)
  end)

  it("prints lists as lists in JSON, also empty ones", function()
    local result = cli.run({ "status", "--json" }, { env = env, http = answers { ["/products"] = '{"response":[],"count":0}' } })
    assert.equal('{"sites":[],"vehicles":[]}\n', result.out)
    result = cli.run({ "vehicles", "--json" }, { env = env, http = answers { ["/vehicles"] = '{"response":[],"count":0}' } })
    assert.equal("[]\n", result.out)
  end)

  it("shows the one car or site that is named, and reads no other", function()
    local asked = {}
    local reply = answers {
      ["/products"] = products "online", ["/live_status"] = live, ["/vehicle_data"] = '{"response":{"charge_state":{"battery_level":71}}}',
    }
    local function status(...)
      asked = {}
      local result = cli.run({ "status", ... }, { env = env, http = function(request)
        asked[#asked + 1] = string.match(request.url, "([%a_]+)[^/]*$")
        return reply(request)
      end })
      assert.equal("", result.err)
      return result.out
    end
    for _, name in ipairs { "Blue", "blue", vin, "000001" } do
      assert.equal("Blue  online  71 %\n", status(name))
      assert.same({ "products", "vehicle_data" }, asked)
    end
    for _, name in ipairs { "home", "2252147638651584" } do
      assert.matches("^Home  site  battery 54 %%[^\n]*\n$", status(name))
      assert.same({ "products", "live_status" }, asked)
    end
  end)

  it("names the cars and sites of the account for a name that is none of them", function()
    local http = answers { ["/products"] = products "online" }
    local result = cli.run({ "status", "Blu" }, { env = env, http = http })
    assert.equal(16, result.status)
    assert.matches("no car or energy site is called 'Blu', did you mean 'Blue'? The account has Blue (" .. vin
      .. ") and Home (2252147638651584)", result.err, 1, true)
    http = answers { ["/products"] = '{"response":[' .. string.format(car, "online") .. "," .. string.format(car, "online") .. "]}" }
    assert.matches("'Blue' may be several", cli.run({ "status", "Blue" }, { env = env, http = http }).err, 1, true)
  end)

  it("takes one name, and no parameter", function()
    for _, words in ipairs { { "status", "Blue", "Red" }, { "status", "free=true" } } do
      local result = cli.run(words, { env = env })
      assert.equal(2, result.status)
      assert.matches("fleet help status", result.err, 1, true)
    end
  end)
end)

describe("fleet without a verb", function()
  it("is one screen with status 0, and names where the rest is", function()
    for _, words in ipairs { {}, { "help" }, { "--help" } } do
      local result = cli.run(words)
      assert.equal(0, result.status)
      local _, lines = string.gsub(result.out, "\n", "")
      assert.is_true(lines <= 24, lines)
      assert.matches("fleet help all", result.out, 1, true)
    end
    assert.equal(2, cli.run({ "nonsense" }).status)
  end)
end)

local function widest(text)
  local most = 0
  for line in string.gmatch(text, "[^\n]+") do most = math.max(most, select(2, string.gsub(line, "[^\128-\191]", ""))) end
  return most
end

describe("output", function()
  it("of help fits the terminal", function()
    local verbs = require "fleet.cli.verbs"
    for name in pairs(verbs.by_name) do
      local words = { "help" }
      for word in string.gmatch(name, "[^.]+") do words[#words + 1] = word end
      for _, columns in ipairs { 60, 80, 200 } do
        local out = cli.run(words, { columns = columns }).out
        local longest = 0 -- a word cannot be wrapped
        for word in string.gmatch(out, "%S+") do longest = math.max(longest, #word) end
        assert.is_true(widest(out) <= math.max(math.min(columns, 100), longest + 32), name .. " at " .. columns .. "\n" .. out)
      end
    end
    assert.is_true(widest(cli.run({ "help", "all" }, { columns = 80 }).out) <= 80)
  end)

  it("of lists shows what people look for, fitted to the terminal, and all members with --wide", function()
    local long = string.rep("x", 70)
    local list = '{"response":[{"vin":"' .. vin .. '","display_name":"' .. long .. '","state":"online","id":1,"api_version":85},'
      .. '{"vin":"5YJ3E1EA7KF000002","display_name":"Red","state":"asleep","id":2,"api_version":85}],"count":2}'
    local http = answers { ["/vehicles"] = list }
    local out = cli.run({ "vehicles" }, { env = env, http = http, columns = 60 }).out
    assert.is_true(widest(out) <= 60, out)
    assert.matches("^display_name +state +vin\n", out)
    assert.matches("5YJ3E1EA7KF000002", out, 1, true)
    out = cli.run({ "vehicles" }, { env = env, http = http }).out
    assert.matches(long, out, 1, true)
    assert.is_nil(string.find(out, "api_version", 1, true))
    out = cli.run({ "vehicles", "--wide" }, { env = env, http = http, columns = 60 }).out
    assert.matches("api_version", out, 1, true)
    assert.matches(long, out, 1, true)
  end)

  it("is coloured on a terminal only, and never with NO_COLOR", function()
    local function doctor(terminal, more)
      local variables = { FLEET_TOKEN = "canary-token-4711", NO_COLOR = more }
      return cli.run({ "doctor" }, { env = variables, terminal = terminal, http = answers {} }).out
    end
    assert.matches("\27[", doctor(true), 1, true)
    assert.is_nil(string.find(doctor(true, "1"), "\27[", 1, true))
    assert.is_nil(string.find(doctor(false), "\27[", 1, true))
  end)
end)
