-- Each mistake on a command line is answered with what to do: for every verb, whatever its row says.

local cli = require "spec.support.harness.cli"
local row_verb = require "fleet.cli.row_verb"
local verbs = require "fleet.cli.verbs"

local vin, site = "5YJ3E1EA7KF000001", "1234567890"
local env = { FLEET_TOKEN = "canary-token-4711" }

local function run(...)
  return cli.run({ ... }, { env = env, http = cli.service('{"response":[]}') })
end

-- The verb's words, then further ones.
local function run_verb(name, ...)
  local words = {}
  for word in string.gmatch(name, "[^.]+") do words[#words + 1] = word end
  for i = 1, select("#", ...) do words[#words + 1] = (select(i, ...)) end
  return cli.run(words, { env = env, http = cli.service('{"response":[]}') })
end

local function points_to(result, name, given)
  assert.equal(2, result.status, name .. " " .. given .. ": " .. result.err)
  assert.matches("See 'fleet help " .. string.gsub(verbs.spoken(name), "%p", "%%%0") .. "'", result.err, nil, name .. " " .. given)
end

describe("a mistake", function()
  it("in an option points to the help of the verb", function()
    for name in pairs(verbs.by_name) do points_to(run_verb(name, "--no-such-option"), name, "--no-such-option") end
  end)

  it("in the name of a parameter points to the help of the verb", function()
    for name, verb in pairs(verbs.by_name) do
      if verb.row and not verb.row.flags.body_as_given then
        points_to(run_verb(name, verb.row.handle == "site" and site or vin, "no_such_name=1"), name, "no_such_name=1")
      end
    end
  end)

  it("in a value points to the help of the verb", function()
    local wrong = { number = "abc", integer = "1.5", boolean = "perhaps", object = "{", tariff = "{", bytes = "?" }
    local tried = 0
    for name, verb in pairs(verbs.by_name) do
      for _, param in ipairs(verb.row and select(2, row_verb.parameters(verb.row)) or {}) do
        local text = param.secret and "1234" or not param.choices and not param.member and wrong[param.type]
        if text then
          points_to(run_verb(name, verb.row.handle == "site" and site or vin, param.name .. "=" .. text), name, param.name .. "=" .. text)
          tried = tried + 1
        end
      end
    end
    assert.is_true(tried > 50)
  end)

  it("in the second word of a verb names what may follow the first", function()
    assert.matches("unknown verb 'tariff chek', did you mean 'tariff check'? 'tariff' is followed by one of: check, diff",
      run("tariff", "chek").err, 1, true)
    assert.matches("unknown verb 'tariff zzz': 'tariff' is followed by one of: check, diff", run("tariff", "zzz").err, 1, true)
    assert.equal(2, run("tariff").status)
  end)

  it("in the name of an event or a fault names the nearest one, before a simulator is looked for", function()
    for _, case in ipairs { { "event", "plugg", "plug" }, { "fault", "executed503", "executed_503" } } do
      local result = run("sim", case[1], case[2])
      assert.matches(string.format("unknown %s '%s', did you mean '%s'?", case[1], case[2], case[3]), result.err, 1, true)
      assert.matches("See 'fleet help sim " .. case[1] .. "'", result.err, 1, true)
    end
    assert.matches("FLEET_SIM_CONTROL", run("sim", "event", "plug").err, 1, true) -- a known one goes on
    assert.matches("Names: .*unplug", run("help", "sim", "event").out)
  end)
end)

describe("options before and between the words of a verb", function()
  it("leave it known, and so which options it takes", function()
    assert.equal(0, run("--json", "tariff", "--config", os.tmpname(), "check", "--help").status)
    assert.matches("See 'fleet help sim stop'", run("sim", "--no-such-option", "stop").err, 1, true)
    assert.matches("sim stop", run("sim", "--all", "stop", "--help").out, 1, true)
  end)
end)

describe("a cure on the command line", function()
  it("is in its words, not in Lua's", function()
    for _, kind in ipairs(require("fleet.core").kinds()) do
      local out = run("explain", kind.name).out
      for _, pattern in ipairs { "client[:.]%l", "%f[%a]car:%l", "%f[%a]err%.%l", "%l =%s" } do
        assert.is_nil(string.find(out, pattern), kind.name .. ": " .. out)
      end
    end
  end)

  it("shows a long value as a file", function()
    local out = run("help", "time_of_use_settings").out
    assert.matches("fleet time_of_use_settings 1234567890 @tariff.json", out, 1, true)
    assert.is_nil(string.find(out, "energy_charges", 1, true))
    assert.matches("lat=52.52", run("help", "add_charge_schedule").out, 1, true) -- no file where there is none
  end)

  it("names prices in dollars in every help", function()
    for name in pairs(verbs.by_name) do
      assert.is_nil(string.find(require("fleet.cli.help").text(verbs.by_name[name]), "priced", 1, true), name)
    end
  end)
end)

describe("a mistake in Lua", function()
  local fleet = require "fleet"

  it("names the function that was called, and what gives the id", function()
    assert.error_matches(function() fleet.run(3) end, "^[^\n]*run: a function is needed, got number$")
    assert.error_matches(function() fleet.spawn(3) end, "spawn: a function is needed, got number")
    local client = fleet.new { token = "canary-token-4711" }
    assert.error_matches(function() client:vehicle "Blue" end, "client:vehicles%(%) lists the vehicles")
    assert.error_matches(function() client:energy_site "Home" end, "client:energy_sites%(%) lists the sites")
    assert.equal(vin, client:vehicle(vin).vin)
    client:close()
  end)
end)
