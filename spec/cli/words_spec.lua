-- Words that are no verbs: what other tools and people call it leads to the verb that does it.

local cli = require "spec.support.harness.cli"
local suggestions = require "fleet.cli.suggestions"
local verbs = require "fleet.cli.verbs"

local function said(...)
  local result = cli.run({ ... }, { env = { FLEET_TOKEN = "canary-token-4711" } })
  assert.equal(2, result.status)
  return string.match(result.err, "^fleet: ([^\n]*)")
end

describe("an unknown verb", function()
  it("names the verbs that do it, in the words of the trade and of other tools", function()
    for word, wanted in pairs {
      lock = "door_lock, door_unlock", unlock = "door_unlock, door_lock", ["climate-on"] = "auto_conditioning_start",
      climate_on = "auto_conditioning_start", Lock = "door_lock, door_unlock", state = "vehicle_data, info",
      ["seat-heater"] = "remote_seat_heater_request", battery = "vehicle_data, live_status", sites = "products",
      powerwall = "live_status, site_info, products", config = "setup, doctor", whoami = "user me, token info", cars = "vehicles",
      car = "vehicles, info, vehicle_data", location = "locate", signout = "logout",
    } do
      assert.equal(string.format("unknown verb '%s': try %s", word, wanted), said(word))
    end
    for _, word in ipairs { "trunk-open", "frunk-open" } do assert.matches("try .*trunk", said(word)) end
    assert.equal("unknown verb 'list-keys': try keys", said "list-keys")
    assert.equal("unknown verb 'lock': try door_lock, door_unlock", said("help", "lock"))
  end)

  it("is searched in the names and sentences of verbs", function()
    assert.matches("try warranty", said "warranty-info")
    assert.matches("try .*sun_roof_control", said "roof")
    assert.matches("take_drivenote", said "drivenote")
  end)

  it("that is one mistyped keeps its neighbour, and one that nothing fits gets none", function()
    assert.equal("unknown verb 'door_lok', did you mean 'door_lock'?", said "door_lok")
    assert.equal("unknown verb 'charging-start', did you mean 'charge_start'?", said "charging-start")
    assert.equal("unknown verb 'xyzzy'", said "xyzzy")
    assert.equal("unknown verb 'q'", said "q")
  end)

  it("has a suggestion that is a verb, for every word of the table", function()
    for word in pairs(suggestions.words) do
      assert.is_true(#suggestions.called(word, verbs.by_name) > 0, word)
    end
  end)
end)

describe("a parameter", function()
  it("with blanks around its sign is shown as one word", function()
    local wanted = "'set_charge_limit': a parameter is one word, without blanks: percent=80"
    assert.equal(wanted, said("set_charge_limit", "000001", "percent", "=", "80"))
  end)

  it("that is missing is shown in an example", function()
    assert.matches("needs percent= %(.-%), as in: fleet set_charge_limit %w+ percent=80$", said "set_charge_limit")
    assert.matches("as in: fleet window_control", said "window_control")
  end)
end)

describe("a word that is missing", function()
  it("is shown in an example, for every verb that names its words", function()
    for name, verb in pairs(verbs.by_name) do
      if verb.words and verb.words[1] then
        local result = cli.run { verbs.spoken(name):match "%S+", verbs.spoken(name):match "%S+ (.+)" }
        assert.equal(2, result.status, name)
        local wanted = string.format("'%s' needs %s, as in: fleet %s ", verbs.spoken(name), verb.words[1], verbs.spoken(name))
        assert.matches(wanted, result.err, 1, true)
      end
    end
    assert.matches("as in: fleet sim event plug", cli.run({ "sim", "event" }).err, 1, true)
    assert.matches("as in: fleet sim advance 3600", cli.run({ "sim", "advance", "soon" }).err, 1, true)
  end)

  it("of a row is named with the row as it is written", function()
    assert.matches("'charging invoice' needs ID", cli.run({ "charging", "invoice" }).err, 1, true)
    assert.matches("'pin' is missing and is a secret: give", cli.run({ "speed_limit_activate", "5YJ3E1EA7KF000001" }).err, 1, true)
  end)
end)

describe("an unknown option", function()
  it("is followed by those that there are, in order", function()
    local result = cli.run { "version", "--zzz" }
    assert.matches("'--config', '--help', '--json', '--verbose', '--version', '--wide'", result.err, 1, true)
  end)
end)

describe("fleet help", function()
  it("takes no parameter", function()
    assert.equal(2, cli.run({ "help", "verb=honk_horn" }).status)
    assert.equal(0, cli.run({ "help", "honk_horn" }).status)
  end)
end)

describe("--no-NAME", function()
  local function options(...)
    local result = cli.run({ "vehicles", ... }, { env = { FLEET_TOKEN = "canary-token-4711" }, http = cli.service '{"response":[]}' })
    return result.options, result.err
  end

  it("is --NAME=false of an option that is true or false", function()
    assert.is_false(options("--no-http2").http2)
    assert.is_false(options("--http2=false").http2)
    assert.is_nil(options().http2)
  end)

  it("is unknown for other options, and takes no value", function()
    for _, word in ipairs { "--no-timeout", "--no-http2=true", "--no-", "--no-such" } do
      assert.matches("unknown option", select(2, options(word)), 1, true)
    end
  end)
end)

describe("a failure of a verb that looks at this machine", function()
  it("is not explained by the kinds of calls", function()
    local result = cli.run({ "doctor" }, { env = { XDG_CONFIG_HOME = "/nowhere", HOME = "/nowhere" } })
    assert.equal(34, result.status)
    assert.is_nil(string.find(result.err, "fleet explain", 1, true), result.err)
    result = cli.run({ "vehicles" }, { env = { FLEET_TOKEN = "canary-token-4711", FLEET_KEY = "/nowhere/there/key.pem" } })
    assert.matches("'/nowhere/there/key.pem'", result.err, 1, true)
    assert.matches("fleet explain store", result.err, 1, true)
  end)

  it("says how to leave a simulator that may have ended", function()
    local result = cli.run({ "vehicles" }, { env = { FLEET_TOKEN = "canary-token-4711", FLEET_KEY = "/nowhere/there/key.pem",
      FLEET_SIM_CONTROL = "http://127.0.0.1:9/control" } })
    assert.matches('eval "$(fleet sim stop --env)"', result.err, 1, true)
  end)
end)
