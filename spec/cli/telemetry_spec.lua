-- fleet telemetry certificate | check | cost | decode | errors in this process, and a whole way from nothing to a driving car's values.

local cli = require "spec.support.harness.cli"
local core = require "fleet.core"
local files = require "spec.support.harness.files"
local process = require "spec.support.harness.process"
local stream = require "fleet.stream"

local needs = require "spec.support.harness.needs"

local BLUE = "5YJ3FLEE9RF000001"
local needs_socket = needs("Lua's socket", it, pending)
local directory, env

before_each(function()
  directory = process.temporary "telemetry"
  env = { XDG_CONFIG_HOME = directory, HOME = directory, FLEET_TOKEN = "canary-token-4711" }
end)
after_each(function() process.execute("rm -rf " .. process.quote(directory)) end)

local function run(...) return cli.run({ "telemetry", ... }, { env = env }) end

local function path(name) return directory .. "/fleet/telemetry/" .. name end

local function issue(options)
  options.days = options.days or 30
  local certificate, key = assert(stream.issue(options))
  return { certificate = certificate, key = key }
end

describe("fleet telemetry certificate", function()
  it("makes an authority of ten years and a certificate that vehicles believe, with keys for their owner only", function()
    local result = run("certificate", "car.example.com", "--json")
    assert.equal(0, result.status, result.err)
    assert.is_true(result.json.new_authority)
    local ca, chain = files.read(path "authority.pem"), files.read(path "chain.pem")
    assert.is_true(stream.verify_server(chain, ca, "car.example.com"))
    local _, now = core.clock()
    assert.near(10 * 365.25 * 86400, stream.certificates(ca)[1].until_utc - now, 2 * 86400)
    for _, name in ipairs { "key.pem", "authority-key.pem" } do
      local _, facts = core.file_read(path(name), 10000)
      assert.equal(0, facts.mode % 64)
    end
  end)

  it("renews the certificate below the same authority", function()
    run("certificate", "car.example.com")
    local ca, first = files.read(path "authority.pem"), files.read(path "chain.pem")
    local result = run("certificate", "car.example.com")
    assert.matches("kept the authority", result.out)
    assert.equal(ca, files.read(path "authority.pem"))
    assert.is_not.equal(first, files.read(path "chain.pem"))
    assert.is_true(stream.verify_server(files.read(path "chain.pem"), ca, "car.example.com"))
  end)

  it("says when vehicles need a new configuration: after another host, not after the same", function()
    run("certificate", "car.example.com")
    assert.matches("need no new configuration", run("certificate", "car.example.com").out)
    assert.matches("for car.example.com. Vehicles that connect to that name need a new configuration",
      run("certificate", "other.example.com").out, 1, true)
  end)

  it("refuses a host with a scheme, an authority without its key, and a life beyond the authority's", function()
    assert.matches("https://car.example.com", run("certificate", "https://car.example.com").err, 1, true)
    assert.matches("the host 'car.example.com:8443': leave out the port", run("certificate", "car.example.com:8443").err, 1, true)
    run("certificate", "192.0.2.7")
    assert.same({ "192.0.2.7" }, stream.certificates(files.read(path "chain.pem"))[1].hosts)
    os.remove(path "authority-key.pem")
    assert.matches("belong together", run("certificate", "192.0.2.7").err)
    assert.equal(2, run("certificate", "192.0.2.7", "--days=9999").status)
    assert.equal(2, run("certificate").status)
  end)
end)

describe("fleet telemetry check", function()
  local function checked(...)
    local result = run("check", "--no-connection", "--json", ...)
    local lines = {}
    for _, line in ipairs(result.json.checks or {}) do lines[line.name] = line end
    return lines, result
  end

  -- A chain of three below a root, in the directory.
  local function put(given)
    local root = issue { subject = "Root CA", authority = true }
    local middle = issue { subject = "Middle CA", authority = true, issuer = root.certificate, issuer_key = root.key }
    local leaf = issue {
      subject = "leaf", host = "car.example.com", days = given.days, issuer = middle.certificate, issuer_key = middle.key,
    }
    process.execute("mkdir -p " .. process.quote(directory .. "/fleet/telemetry"))
    files.write(path "chain.pem", given.chain and given.chain(root, middle, leaf) or leaf.certificate .. middle.certificate)
    files.write(path "key.pem", given.key and given.key(root, leaf) or leaf.key)
    files.write(path "authority.pem", given.ca and given.ca(root, middle) or root.certificate)
    files.write(path "vehicle-ca.pem", root.certificate)
  end

  it("says that the maker's script calls a chain invalid that vehicles believe", function()
    put {}
    local lines = checked()
    assert.is_true(lines.chain.ok)
    assert.matches("check_server_cert.sh", lines.chain.message, 1, true)
    assert.is_true(lines.key.ok and lines.order.ok and lines.root.ok)
  end)

  for name, given in pairs {
    ["the key of another certificate"] = { { key = function(root) return root.key end }, "key", "does not belong" },
    ["a chain without its intermediate"] = { { chain = function(_, _, leaf) return leaf.certificate end }, "chain", "issuer" },
    ["a chain in the wrong order"] = { { chain = function(root, middle, leaf)
      return leaf.certificate .. root.certificate .. middle.certificate
    end }, "order", "follows it" },
    ["a ca without a root"] = { { ca = function(_, middle) return middle.certificate end }, "root", "no root" },
    ["a certificate that has ended"] = { { days = -1 }, "days", "has ended" },
  } do
    it("finds " .. name, function()
      put(given[1])
      local lines, result = checked()
      assert.is_false(lines[given[2]].ok)
      assert.matches(given[3], lines[given[2]].message)
      assert.is_string(lines[given[2]].fix)
      assert.is_not.equal(0, result.status)
    end)
  end

  it("finds another host name, and authorities that are not the maker's", function()
    put {}
    local lines = checked "--host=other.example.com"
    assert.matches("mismatch", lines.chain.message)
    assert.matches("names must include other.example.com", lines.chain.fix)
    assert.is_false(lines["vehicles' authorities"].ok)
    assert.matches("none is Tesla's: Root CA", lines["vehicles' authorities"].message)
    assert.matches("config/files/prod_ca.crt", lines["vehicles' authorities"].fix, 1, true)
  end)

  it("names a file that has no certificate", function()
    put { chain = function(_, _, leaf) return leaf.key end }
    local result = run("check", "--no-connection")
    assert.equal(2, result.status)
    assert.matches("--certificate: no certificate can be read in " .. path "chain.pem", result.err, 1, true)
  end)

  it("says which verb makes a file that is missing, and where the maker's file comes from", function()
    local result = run "check"
    assert.equal(2, result.status)
    assert.matches("fleet telemetry certificate HOST", result.err)
    put {}
    os.remove(path "vehicle-ca.pem")
    assert.matches("--client-ca", checked()["vehicles' authorities"].fix, 1, true)
  end)

  it("finds that nothing listens at the port", function()
    run("certificate", "localhost")
    local result = run("check", "--port=1")
    assert.matches("FIX port .*localhost:1", result.out)
    assert.matches("fleet telemetry serve", result.out)
    assert.not_matches("router", result.out)
  end)

  it("finds another certificate at the port, something without TLS, and its own certificate", function()
    local check = require "fleet.telemetry.check"
    local mine, other = issue { subject = "mine", host = "localhost" }, issue { subject = "other", host = "localhost" }
    local function port_line(served, failure)
      local fake = { resolve = function() return "127.0.0.1" end, certificates = stream.certificates, verify_server = stream.verify_server }
      function fake.client()
        return {
          step = function() return failure == nil, failure and { message = failure } end, connected = function() return served ~= nil end,
          chain = function() return served end, close = function() end,
        }
      end
      return check.way({ host = "localhost", port = 8443, certificate = mine.certificate, ca = mine.certificate, stream = fake })[2]
    end
    assert.is_true(port_line(mine.certificate).ok)
    local line = port_line(other.certificate)
    assert.is_false(line.ok)
    assert.matches("another certificate: other", line.message)
    line = port_line(nil, "TLS: wrong version number")
    assert.is_false(line.ok)
    assert.matches("a server without TLS answers there", line.fix)
  end)

  it("warns of an address of the local network, and not of a public one", function()
    local check = require "fleet.telemetry.check"
    local function name_line(address)
      local lines = check.way { host = address, port = 8443, certificate = "", ca = "", stream = {
        resolve = function(host) return host end, client = function() return nil, { message = "not tried" } end,
      } }
      return lines[1].ok
    end
    for _, address in ipairs { "192.168.1.5", "10.0.0.1", "172.16.0.1", "172.31.255.1", "169.254.1.1", "fd00::1", "fe80::1" } do
      assert.is_nil(name_line(address), address)
    end
    for _, address in ipairs { "192.0.2.1", "172.15.0.1", "172.32.0.1", "100.1.1.1", "2001:db8::1", "127.0.0.1" } do
      assert.is_true(name_line(address), address)
    end
  end)
end)

describe("fleet telemetry cost", function()
  it("prints the highest cost of a file: every field at its interval while the car is awake", function()
    local file = directory .. "/config.json"
    files.write(file, [[{"fields": {"Soc": {"interval_seconds": 60}, "Location": {"interval_seconds": 1}}}]])
    local result = run("cost", file, "--hours=1", "--json")
    assert.equal(3660, result.json.an_hour)
    assert.near(3660 * 365.25 / 12, result.json.a_month, 1)
    assert.near(0.74, result.json.usd_a_month, 0.01)
    assert.equal("Location", result.json.fields[1].name)
    assert.is_true(result.json.covered)
    local many = run("cost", file, "--hours=24", "--vehicles=10", "--json").json
    assert.is_false(many.covered)
    assert.near(many.a_month, result.json.a_month * 240, 100)
    assert.matches("Location.- 3600 signals an hour", run("cost", file).out)
    files.write(file, [[{"fields": {"Soc": {"interval_seconds": 60, "include_fields": ["Odometer", "Gear"]},
      "Location": {"interval_seconds": 0.1}}}]])
    assert.equal(60 * 3 + 7200, run("cost", file, "--json").json.an_hour) -- a message every half second at most
    files.write(file, [[{"fields": {"Sock": {"interval_seconds": 60}, "ChargerVoltage": {"interval_seconds": 60}}}]])
    assert.matches("firmware 2024.44.32 or newer: ChargerVoltage", run("cost", file).out, 1, true)
    assert.matches("FIX fields.Sock unknown field 'Sock', did you mean 'Soc'", run("cost", file).out, 1, true)
    assert.not_matches("FIX", run("cost", "everything").out)
  end)

  it("knows the templates, and refuses what is none", function()
    local list = run("cost", "--json").json.templates
    assert.same({ "charging", "solar", "presence", "everything" }, { list[1].name, list[2].name, list[3].name, list[4].name })
    for _, one in ipairs(list) do
      assert.equal(0, run("cost", one.name).status)
      local report = require("fleet.resources.telemetry_check").check(
        require("fleet.telemetry.templates").config(one.name, { hostname = "car.example.com", port = 443, ca = "x" }), 1773136800)
      assert.equal(1, #report.problems)
      assert.equal("ca", report.problems[1].where)
      assert.same({}, report.warnings)
    end
    assert.matches("did you mean 'charging'", run("cost", "chargin").err)
    assert.matches("cannot read the file missing.json", run("cost", "missing.json").err)
    files.write(directory .. "/list.json", "[]")
    assert.matches("no JSON object with the member 'fields'", run("cost", directory .. "/list.json").err)
  end)
end)

describe("the numbers of fleet telemetry cost", function()
  for _, case in ipairs {
    { "--hours=24", 0 }, { "--hours=24.5", 2 }, { "--hours=0", 2 }, { "--vehicles=1", 0 }, { "--vehicles=0", 2 },
  } do
    it((case[2] == 0 and "accept " or "reject ") .. case[1], function()
      assert.equal(case[2], run("cost", "charging", case[1]).status)
      assert.equal(case[2], run("cost", case[1]).status)
    end)
  end
end)

describe("a template", function()
  local templates = require "fleet.telemetry.templates"

  it("sends what has changed, once an hour all of it, and again what was not acknowledged", function()
    for _, name in ipairs(templates.names) do
      local config = templates.config(name)
      assert.equal("latest", config.delivery_policy)
      for _, options in pairs(config.fields) do assert.equal(3600, options.resend_interval_seconds) end
    end
  end)

  it("costs a signal per field and interval of at least half a second, 150,000 for a dollar", function()
    for _, one in ipairs(run("cost", "--json", "--hours=2", "--vehicles=3").json.templates) do
      local an_hour = 0
      for _, options in pairs(templates.config(one.name).fields) do an_hour = an_hour + 3600 / math.max(options.interval_seconds, 0.5) end
      assert.near(an_hour, one.an_hour, 1e-6)
      assert.near(an_hour * 2 * 3 * 365.25 / 12 / 150000, one.usd_a_month, 1e-6)
    end
  end)

  it("for a logger has what the power of a drive is computed from", function()
    local fields = templates.config("everything").fields
    assert.same({ 10, 10 }, { fields.PackVoltage.interval_seconds, fields.PackCurrent.interval_seconds })
  end)
end)

describe("fleet telemetry decode", function()
  local payload = stream.data_payload { at = 1773136800, signals = { { field = "Soc", value = 71.5 }, { field = "Gear", value = "D" } } }
  local message = stream.stream_message { topic = "V", txid = "tx-1", created_at = 1773136800, sender_id = "vehicle_device." .. BLUE,
    payload = payload }

  local function decoded(text)
    return cli.run({ "telemetry", "decode", "-", "--json" }, { env = env, stdin = text })
  end

  it("reads an envelope and a payload, as bytes, hex and base64", function()
    local hex = string.gsub(message, ".", function(c) return string.format("%02x", string.byte(c)) end)
    for _, text in ipairs { message, hex, hex .. "\n", core.base64(message), payload, core.base64(payload) } do
      local result = decoded(text)
      assert.equal(0, result.status, result.err)
      assert.same({ Soc = 71.5, Gear = "D" }, result.json.values)
    end
    assert.equal("tx-1", decoded(message).json.txid)
    assert.equal("tx-1", decoded(stream.acknowledgement("tx-1", "V")).json.acknowledged)
  end)

  it("refuses what is neither", function()
    local result = decoded "something else"
    assert.is_not.equal(0, result.status)
    assert.matches("neither a message", result.json.message)
  end)
end)

describe("fleet telemetry errors", function()
  it("shows what vehicles report, and what it means", function()
    local replies = { fleet_telemetry_errors = { fleet_telemetry_errors = {
      { name = "app", error = "x509: certificate signed by unknown authority", error_name = "config_manager_error", vin = BLUE,
        created_at = "2026-03-10T10:00:00Z" },
    } } }
    local function http(request)
      return { status = 200, headers = {}, body = core.json_encode { response = replies[string.match(request.url, "[^/]+$")] } }
    end
    local result = cli.run({ "telemetry", "errors", BLUE }, { env = env, http = http })
    assert.equal(0, result.status, result.err)
    assert.matches("config_manager_error: x509: certificate signed by unknown authority\n    %-> the receiver's chain", result.out)
    replies.fleet_telemetry_errors.fleet_telemetry_errors = {}
    assert.matches("no vehicle reports", cli.run({ "telemetry", "errors", BLUE }, { env = env, http = http }).out)
  end)

  for text, meaning in pairs {
    ["config_manager_error: x509: certificate is valid for a.example.com, not b.example.com"] = "does not name the hostname",
    ["config_manager_error: x509: certificate has expired or is not yet valid"] = "renews it",
    ["unsupported_field: field_name: Sock"] = "leave it out",
    ["unsuported_interval: field_name: Soc, requested: 10.000000, authorized: 60000"] = "shorter than the vehicle allows",
    ["config_manager_error: InvalidSignature: invalid mailbox public key: only NIST-P256 is supported"] = "pair the key",
    ["config_manager_error: crypto/ecdsa: verification error"] = "with another key than the vehicle knows",
    ["config_manager_error: websocket: EOF"] = "without TLS",
    ["config_manager_error: dial tcp: lookup car.example.com: no such host"] = "has no address",
    ["config_manager_error: dial tcp 192.0.2.1:443: connect: connection refused"] = "nothing listens",
    ["config_manager_error: dial tcp 192.0.2.1:443: i/o timeout"] = "nothing answers",
    ["config_manager_error: TLS: tlsv1 alert unknown ca"] = "does not trust the vehicle's certificate",
    ["config_manager_error: the receiver refused a message: incorrect message format"] = "could not read a message",
  } do
    it("explains " .. text, function() assert.matches(meaning, require("fleet.cli.telemetry.error_meanings").of(text), 1, true) end)
  end

  it("explains no error that it does not know", function()
    assert.is_nil(require("fleet.cli.telemetry.error_meanings").of "config_manager_error: something new")
  end)
end)

describe("a refused connection", function()
  local function text(reason)
    return require("fleet.cli.telemetry.receiving").connection_text { type = "refused", at = 1773136800, address = "192.0.2.7",
      reason = reason }
  end

  for reason, meaning in pairs {
    ["peer did not return a certificate"] = "a load balancer",
    ["unable to get local issuer certificate"] = "--client-ca lacks its authority",
    ["self-signed certificate in certificate chain"] = "--client-ca lacks its authority",
    ["it is not among 'vehicles'"] = "was started for",
    ["tlsv1 alert unknown ca"] = "does not trust the receiver's chain",
    ["wrong version number"] = "does not speak TLS",
  } do
    it("is explained: " .. reason, function()
      assert.matches("refused from 192.0.2.7: " .. reason .. ": ", text(reason), 1, true)
      assert.matches(meaning, text(reason), 1, true)
    end)
  end

  it("without a known reason has only the reason", function() assert.matches("192.0.2.7: something new$", text "something new") end)
end)

describe("the options of outputs", function()
  local function token_file()
    files.write(directory .. "/token", "a secret word\n")
    return directory .. "/token"
  end

  for _, option in ipairs { "--redis=redis://127.0.0.1", "--broker=mqtt://127.0.0.1", "--broker-ca-file=ca.pem",
    "--teslamate=127.0.0.1:8444", "--teslamate-token=@token" } do
    it("are rejected without their output: " .. option, function()
      if option == "--teslamate-token=@token" then option = "--teslamate-token=@" .. token_file() end
      local result = run("serve", "--any-vehicle", option)
      assert.equal(2, result.status)
      assert.matches("is an option of the output", result.err)
    end)
  end

  it("are accepted with it", function()
    local result = run("serve", "--any-vehicle", "--output=lines,teslamate", "--teslamate=127.0.0.1:0")
    assert.not_matches("is an option of the output", result.err)
    assert.matches("fleet telemetry certificate HOST", result.err)
  end)

  -- What TeslaMate hears that sends a token to the output of these arguments and variables.
  local function heard(arguments, variables, token)
    local receiving, fleet = require "fleet.cli.telemetry.receiving", require "fleet"
    local environment = { getenv = function(name) return variables[name] end, stderr = { write = function() end } }
    local given = require("fleet.cli.options").given(environment, receiving.output_options, arguments)
    given.output, given.teslamate, given.directory = "teslamate", "127.0.0.1:0", directory
    local context = { environment = environment, check = function(_, fn, ...) return fn(...) end }
    local output = assert(receiving.outputs(context, given)).outputs[1]
    local client = require("spec.support.servers.teslamate_client").connect { port = output.port }
    client:subscribe(BLUE, token)
    for _ = 1, 2000 do
      client:step()
      fleet.loop.step()
      if client.heard[1] then break end
      core.pause(0.001)
    end
    client:close()
    output:close()
    return client.heard[1].error_type or client.heard[1].msg_type
  end

  needs_socket("take TeslaMate's token from a file or the environment, never from the command line", function()
    local from_file = { teslamate_token = "@" .. token_file() }
    assert.equal("control:hello", heard(from_file, {}, "a secret word"))
    assert.equal("subscription_rejected", heard(from_file, {}, "another"))
    assert.equal("control:hello", heard({}, { FLEET_TESLAMATE_TOKEN = "a secret word" }, "a secret word"))
    assert.equal("subscription_rejected", heard({}, { FLEET_TESLAMATE_TOKEN = "a secret word" }, "another"))
    assert.equal("control:hello", heard({}, {}, "another"))
    local result = run("serve", "--any-vehicle", "--output=teslamate", "--teslamate-token=swordfish")
    assert.equal(2, result.status)
    assert.matches("FLEET_TESLAMATE_TOKEN", result.err)
    assert.not_matches("swordfish", result.err .. result.out)
  end)
end)
