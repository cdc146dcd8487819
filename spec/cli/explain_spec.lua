-- fleet explain, err.help and the manual's page say the same.

local core = require "fleet.core"
local remedies = require "fleet.cli.remedies"
local cli = require "spec.support.harness.cli"

describe("the causes of an error", function()
  it("is written down for every kind, and for nothing that is no kind", function()
    local kinds = {}
    for _, kind in ipairs(core.kinds()) do
      kinds[kind.name] = true
      assert.is_true(#(remedies[kind.name] or {}) > 0, kind.name)
    end
    for name in pairs(remedies) do assert.is_true(kinds[name], name) end
  end)

  it("is in the committed page", function()
    local file = assert(io.open(require("spec.support.harness.process").root .. "/doc/manual/troubleshooting.md"))
    assert.is_true(file:read "a" == require("doc.generate.troubleshooting").markdown(), "run make doc")
    file:close()
  end)

  it("is found from the page's index, whatever the kind", function()
    local index = string.match(require("doc.generate.troubleshooting").markdown(), "## Which section%?(.-)\n## ")
    for _, kind in ipairs(core.kinds()) do
      assert.matches(string.format("[%s](#%s)", kind.name, kind.name), index, 1, true)
    end
  end)

  it("is named by err.help, for kinds only and for nothing else of an err", function()
    local err = core.err { kind = "asleep", message = "asleep" }
    assert.equal("fleet explain asleep", err.help)
    assert.is_nil(err.outcome)
    assert.is_nil(rawget(err, "help"))
    local index = getmetatable(err).__index
    assert.is_nil(index(5, "help"))
    assert.is_nil(index({}, "help"))
    assert.is_nil(index(err, 5))
  end)
end)

describe("fleet explain", function()
  local function run(line)
    local words = {}
    for word in string.gmatch(line, "%S+") do words[#words + 1] = word end
    return cli.run(words)
  end

  it("shows causes and remedies of a kind", function()
    local result = run "explain key_not_paired"
    assert.equal(0, result.status)
    assert.matches("fleet pair VIN", result.out, 1, true)
    assert.equal("asleep", run("explain asleep --json").json[1].kind)
  end)

  it("shows what a reason and a fault mean, and of which kind they are", function()
    assert.matches("The charger gives no power: check the charger.", run("explain no_power").out, 1, true)
    assert.matches("fleet explain key_not_paired", run("explain 3").out, 1, true)
    assert.matches("fleet explain key_not_paired", run("explain UNKNOWN_KEY_ID").out, 1, true)
  end)

  it("finds the row's word in what another program prints, in whatever letters", function()
    local function titles(text)
      local list = {}
      for i, entry in ipairs(cli.run({ "explain", text, "--json" }).json) do list[i] = entry.title end
      return table.concat(list, "; ")
    end
    for text, wanted in pairs {
      MESSAGEFAULT_ERROR_INSUFFICIENT_PRIVILEGES = "fault 7, INSUFFICIENT_PRIVILEGES",
      insufficient_privileges = "fault 7, INSUFFICIENT_PRIVILEGES",
      ["vehicle busy or finishing wake-up"] = "reason 'busy or finishing wake-up'",
      ["car could not execute command: is_charging"] = "reason 'is_charging'",
      ["Error: car could not execute command: IS_CHARGING."] = "reason 'is_charging'",
      GENERICERROR_unauthorized = "reason 'GENERICERROR_UNAUTHORIZED'", ["HTTP 503"] = "HTTP status 503",
      too_far_from_vehicle = "reason 'too_far_from_vehicle'", cloud_manager_error = "reason 'cloud_manager_error'",
      ["config_manager_error (x509)"] = "reason 'config_manager_error'",
      ["vehicle unavailable: vehicle is offline or asleep"] = "reason 'vehicle is offline or asleep'",
      ["HTTP 408 vehicle unavailable: vehicle is offline or asleep"] = "reason 'vehicle is offline or asleep'",
      ["vehicle unavailable"] = "HTTP status 408 with the text 'vehicle unavailable'", ["HTTP 408"] = "HTTP status 408",
    } do
      assert.equal(wanted, titles(text))
    end
    assert.matches("^unregistered", titles "kind=unregistered")
  end)

  it("finds no word inside another word", function()
    for _, text in ipairs { "discharging", "mis_chargings", "abc", "7", "INSUFFICIENTPRIVILEGES" } do
      local result = cli.run { "explain", text }
      local found = result.status == 0 and result.out or ""
      assert.is_nil(string.find(found, "is_charging", 1, true), text)
      assert.is_true(text == "7" or result.status == 2, text)
    end
  end)

  it("gives operation_timedout the kind that the client gives it, whatever the status", function()
    local kind = cli.run({ "explain", "operation_timedout", "--json" }).json[1].kind
    for _, status in ipairs { 200, 408, 500, 503 } do
      local result = cli.run({ "honk_horn", "5YJ3E1EA7KF000001", "--json" }, { env = { FLEET_TOKEN = "canary-token-4711" },
        http = function() return { status = status, headers = {}, body = '{"response":null,"error":"operation_timedout"}' } end })
      assert.equal(kind, result.json.kind, status)
    end
  end)

  it("shows the meaning of an HTTP status, and of each text that it comes with", function()
    local result = run "explain 412"
    assert.matches("HTTP status 412\n", result.out, 1, true)
    assert.matches("with the text 'must be called through'", result.out, 1, true)
    assert.matches("fleet explain unregistered", result.out, 1, true)
    assert.same({ "unsupported", "unregistered" }, { run("explain 412 --json").json[1].kind, run("explain 412 --json").json[2].kind })
    assert.matches("fleet explain rate_limited", run("explain 429").out, 1, true)
    for _, none in ipairs { "0", "418.5", "200" } do assert.is_nil(string.find(run("explain " .. none).out, "HTTP", 1, true), none) end
  end)

  it("names the nearest for what it does not know", function()
    local result = run "explain key_not_pared"
    assert.equal(2, result.status)
    assert.matches("did you mean 'key_not_paired'", result.err, 1, true)
    assert.equal(2, run("explain").status)
  end)
end)

describe("fleet help", function()
  local argv, verbs, options = require "fleet.cli.argv", require "fleet.cli.verbs", require "fleet.cli.options"
  local examples = require "fleet.cli.examples"

  local function words_of(line)
    local words = {}
    for word in string.gmatch(line, "%S+") do words[#words + 1] = word end
    return words
  end

  it("gives an example for every verb that is no row, which names that verb and options that it has", function()
    for _, verb in ipairs(verbs.list) do
      local words = words_of(examples.of_verb(verb))
      assert.equal("fleet", table.remove(words, 1))
      local line = argv.split(words, verbs.options_of(words))
      assert.equal(verb, (verbs.find(line.words)), verb.name)
      assert.has_no.errors(function() options.check(line.options, verb.options, verb.name) end)
    end
  end)

  it("groups the verbs by task, and keeps its columns where letters have several bytes", function()
    local page = require("fleet.cli.help").page { "all" }
    local set_up, services = string.find(page, "Set up and sign in", 1, true), string.find(page, "Services, which", 1, true)
    assert.is_true(set_up < string.find(page, "  login", 1, true) and string.find(page, "  login", 1, true) < services)
    local function column(start)
      local line = string.match(page, "\n(  " .. start .. "[^\n]+)")
      return #string.gsub(string.match(line, "^(.-%S)%s%s+%S"), "[\128-\191]", "") + #string.match(line, "^.-%S(%s%s+)%S")
    end
    assert.equal(column "sim stop", column "sim set")
  end)
end)
