-- The application's domain, its hosted key, and the comparison of the key's four places.

local core = require "fleet.core"
local domains = core.hostname
local fleet = require "fleet"
local hosted_key = require "fleet.registration.well_known_key"
local findings = require "fleet.registration.findings"
local pairing = require "fleet.registration.pairing"
local recorder = require "spec.support.servers.recorder"
local seam = require "spec.support.fixtures.host_http"

local vin = "5YJ3E1EA7KF000001"

describe("a domain", function()
  it("is taken as the service takes it", function()
    for _, text in ipairs { "app.example.com", "a-1.example", "xn--bcher-kva.example", "1.example.co.uk",
      string.rep("a", 63) .. ".example" } do
      assert.is_nil((domains.problem(text)), text)
    end
  end)

  local wrong = {
    { "https://app.example.com", "leave out the scheme", "app.example.com" },
    { "https://App.Example.com/path?x=1", "leave out the scheme", "app.example.com" },
    { "app.example.com/", "leave out the path", "app.example.com" },
    { "app.example.com/key.pem", "leave out the path", "app.example.com" },
    { "app.example.com:8443", "leave out the port", "app.example.com" },
    { "me@app.example.com", "before the @", "app.example.com" },
    { "app.example.com?x", "follows the name", "app.example.com" },
    { "App.example.com", "small letters", "app.example.com" },
    { "app.example.com.", "the dot at its end", "app.example.com" },
    { " app.example.com", "the spaces", "app.example.com" },
    { "*.example.com", "without %*" }, { "bücher.example", "xn%-%-" }, { "app_1.example", "letters, digits, dots" },
    { "192.0.2.1", "not an address" }, { "https://[::1]/", "the scheme" }, { "localhost", "a dot is missing" }, { "", "is empty" },
    { "  ", "is empty" }, { "app..example", "between two dots" }, { ".example", "at its beginning" },
    { "-app.example", "hyphen" }, { "app-.example", "hyphen" }, { string.rep("a", 64) .. ".example", "63" },
    { string.rep("abc.", 64) .. "example", "253" }, { "app.example\n", "the spaces", "app.example" }, { 1, "text" }, { nil, "text" },
  }
  for i = 1, #wrong do
    local case = wrong[i]
    it("that is " .. core.json_encode(case[1] or "absent") .. " is refused, with what was meant", function()
      local problem, guess = domains.problem(case[1])
      assert.matches(case[2], problem)
      assert.equal(case[3], guess)
    end)
  end

  it("that is wrong raises wherever one is given, before anything is sent", function()
    local client, requests = seam.client(seam.done, { client_id = "app", client_secret = "s" })
    for _, call in ipairs {
      function() client.partner:register { domain = "https://app.example.com" } end,
      function() client.partner:check { domain = "https://app.example.com" } end,
      function() client:pairing_url { domain = "https://app.example.com" } end,
      function() fleet.new { domain = "https://app.example.com" } end,
    } do
      assert.error_matches(call, "did you mean 'app.example.com'?", 1, true)
    end
    assert.equal(0, #requests)
  end)

  it("of fleet.new serves the pairing address", function()
    local client = fleet.new { domain = "app.example.com" }
    assert.matches("/_ak/app%.example%.com$", client:pairing_url())
    assert.matches("/_ak/other%.example%?vin=" .. vin .. "$", client:pairing_url { domain = "other.example", vin = vin })
    assert.error_matches(function() fleet.new({}):pairing_url() end, "'domain' must be")
  end)
end)

-- ---- the hosted file ----

local key, other = core.key.generate(), core.key.generate()

teardown(function()
  key:close()
  other:close()
end)

describe("what is hosted", function()
  local function answer(status, body, headers)
    return { status = status, body = body or "", headers = headers or "" }
  end

  it("is the public key, as 65 bytes", function()
    assert.same({ bytes = key:public_bytes() }, hosted_key.judge(answer(200, key:public_pem())))
  end)

  local cases = {
    { "a redirect", answer(301, "", "location: https://www.example/x\27[2J\n"), "redirect to https://www.example/x %[2J %(HTTP 301%)",
      "not followed" },
    { "a missing file", answer(404), "no file is there %(HTTP 404%)", "put the public key there" },
    { "a password or a robots' gate", answer(403), "cannot be read without a login %(HTTP 403%)", "robots" },
    { "a failing server", answer(502, "<html>"), "the server failed %(HTTP 502%)", "look at the server" },
    { "a web page", answer(200, "\n<!doctype html>"), "a web page", "fleet keygen" },
    { "an empty file", answer(200), "not a public key", "fleet keygen" },
    { "a private key", answer(200, "-----BEGIN EC PRIVATE KEY-----"), "anyone who reads it can command the vehicles", "." },
    { "a TLS certificate", answer(200, "-----BEGIN CERTIFICATE-----"), "this is a certificate", "fleet keygen" },
    { "a name without address", { failure = "resolve" }, "no address", "spelling" },
    { "a closed port", { failure = "connect" }, "nothing answers", "https" },
    { "a bad certificate", { failure = "tls", message = "self-signed" }, "cannot be verified %(self%-signed%)", "whole chain" },
    { "silence", { failure = "timeout" }, "in time", "server" },
    { "a large file", { failure = "too_large" }, "too large", "PEM" },
    { "a cut answer", { failure = "cut" }, "not arrive whole", "server" },
  }
  for _, case in ipairs(cases) do
    it("is not " .. case[1], function()
      local found = hosted_key.judge(case[2])
      assert.is_nil(found.bytes)
      assert.matches(case[3], found.problem)
      assert.matches(case[4], found.fix)
      assert.is_nil(string.find(found.problem, "%c"))
    end)
  end
end)

describe("fetching the hosted key", function()
  local server, client
  setup(function() server = recorder.start() end)
  teardown(function() server:stop() end)
  before_each(function()
    client = fleet.new { base_url = server.url, token = "canary-token", client_secret = "canary-secret", client_id = "app" }
  end)
  after_each(function() client:close() end)

  local function fetch(rule)
    server:script { rule }
    return hosted_key.fetch(core.context(client), "app.example.com", { url = server.url .. "/key.pem" }), server:records()
  end

  it("sends no token and no cookie, once", function()
    local found, requests = fetch { body = key:public_pem() }
    assert.equal(key:public_bytes(), found.bytes)
    assert.equal(1, #requests)
    assert.same({ "GET", "/key.pem" }, { requests[1].method, requests[1].path })
    assert.is_nil(string.find(core.json_encode(requests[1].headers), "canary", 1, true))
    assert.is_nil(requests[1].headers.authorization)
  end)

  it("follows no redirect", function()
    local found, requests = fetch { status = 302, headers = { "Location: " .. server.url .. "/elsewhere" } }
    assert.matches("redirect", found.problem)
    assert.equal(1, #requests)
  end)

  it("reads no more than a key file can be", function()
    assert.matches("too large", fetch({ body = key:public_pem() .. string.rep(" ", 70000) }).problem)
  end)

  it("goes to the vendor's path of the domain over https", function()
    local urls = {}
    local mine = seam.client(function(request)
      urls[#urls + 1] = request
      return { status = 200, body = key:public_pem() }
    end)
    assert.equal(key:public_bytes(), hosted_key.fetch(core.context(mine), "app.example.com").bytes)
    assert.equal("https://app.example.com" .. core.vendors()[1].key_path, urls[1].url)
    assert.same({}, urls[1].headers)
    assert.matches("scheme", hosted_key.fetch(core.context(mine), "https://app.example.com").problem)
    assert.equal(1, #urls)
  end)

  it("takes another address over https, or on this machine", function()
    for _, url in ipairs { "http://app.example.com/k", "ftp://127.0.0.1/k", "https://a@b/k",
      "http://127.0.0.1.example/k", 5, "http://localhost\n/" } do
      assert.error_matches(function() hosted_key.fetch(core.context(client), "app.example.com", { url = url }) end, "'key_url' must be")
    end
  end)
end)

-- ---- the comparison ----

describe("the key's places", function()
  local K, O, T = { bytes = key:public_bytes() }, { bytes = other:public_bytes() }, { bytes = core.key.generate():public_bytes() }

  local function causes(facts)
    facts.domain, facts.region = facts.domain or "app.example.com", "region na"
    if facts.hosted then facts.hosted.url = "https://app.example.com/key" end
    local found = {}
    for _, line in ipairs(findings.findings(facts)) do
      assert.is_string(line.message)
      if line.ok == false then
        found[#found + 1] = line.cause
        assert.is_string(line.fix)
      end
    end
    return table.concat(found, " ")
  end

  local cases = {
    { "all agree", { key = K, hosted = K, registered = K }, "" },
    { "nothing is registered to be compared", { key = K, hosted = K }, "" },
    { "there is no key here", { hosted = K, registered = K }, "no_key" },
    { "the key here is unusable", { key = { problem = "RSA" }, hosted = K, registered = K }, "no_key" },
    { "nothing is hosted", { key = K, hosted = { problem = "404", fix = "." }, registered = K }, "not_hosted" },
    { "nothing is registered", { key = K, hosted = K, registered = { missing = true } }, "not_registered" },
    { "registration cannot be looked at", { key = K, hosted = K, registered = { problem = "no network" } }, "" },
    { "the hosted file was replaced", { key = K, hosted = O, registered = K }, "replaced" },
    { "the key was replaced and not registered again", { key = K, hosted = K, registered = O }, "replaced" },
    { "another key is here", { key = O, hosted = K, registered = K }, "wrong_key" },
    { "another key is here than hosted", { key = O, hosted = K }, "wrong_key" },
    { "all three differ", { key = K, hosted = O, registered = T }, "replaced" },
    { "the domain is misspelt", { key = K, domain = "https://app.example.com" }, "not_hosted" },
    { "nothing is right", { hosted = { problem = "404", fix = "." }, registered = { missing = true } },
      "no_key not_hosted not_registered" },
  }
  for _, case in ipairs(cases) do
    it("are distinguished when " .. case[1], function() assert.equal(case[3], causes(case[2])) end)
  end

  it("name the pair that differs by fingerprints", function()
    local lines = findings.findings { domain = "app.example.com", region = "na", key = K, registered = O }
    local text = lines[#lines].message
    assert.is_truthy(string.find(text, string.sub(key:fingerprint(), 1, 16), 1, true), text)
    assert.is_truthy(string.find(text, string.sub(other:fingerprint(), 1, 16), 1, true), text)
  end)

  it("name six causes, and the lines no other", function()
    local names = {}
    for i, cause in ipairs(findings.causes) do names[i] = cause.name end
    assert.same({ "no_key", "not_hosted", "not_registered", "replaced", "wrong_key", "not_accepted" }, names)
  end)

  it("read the registered key in the forms in which services write it", function()
    local hex = string.gsub(key:public_bytes(), ".", function(c) return string.format("%02x", string.byte(c)) end)
    assert.same({ bytes = K.bytes }, findings.registered { public_key = hex })
    assert.same({ bytes = K.bytes }, findings.registered { public_key = key:public_pem() })
    assert.same({ missing = true }, findings.registered {})
    assert.same({ missing = true }, findings.registered(nil, { kind = "not_found" }))
    assert.same({ missing = true }, findings.registered(nil, { kind = "unregistered" }))
    assert.equal("no way", findings.registered(nil, { kind = "network", message = "no way" }).problem)
    assert.matches("no public key", findings.registered { public_key = "04ab" }.problem)
  end)
end)

describe("the pairing of a vehicle", function()
  local function line(status, lines, facts)
    return pairing.line(vin, status, lines or {}, facts or {})
  end
  local function info(more)
    return { [vin] = more }
  end

  it("comes from fleet_status", function()
    assert.is_true(line({ key_paired_vins = { vin } }).ok)
    local unpaired = line({ unpaired_vins = { vin } }, {}, { link = "https://pair.example" })
    assert.same({ false, "not_accepted" }, { unpaired.ok, unpaired.cause })
    assert.matches("https://pair.example", unpaired.fix)
    assert.is_nil(line({ key_paired_vins = {}, unpaired_vins = {} }).ok)
    assert.is_nil(line({}).ok)
  end)

  it("is not what is missing where the key here is another than the paired one", function()
    local wrong = { { ok = true }, { ok = false, cause = "wrong_key", fix = "give it" } }
    local found_line = line({ key_paired_vins = { vin } }, wrong)
    assert.same({ false, "wrong_key", "give it" }, { found_line.ok, found_line.cause, found_line.fix })
    assert.is_true(line({ key_paired_vins = { vin } }, { { ok = false, cause = "not_hosted" } }).ok)
  end)

  it("is not needed by a vehicle that takes plain commands", function()
    assert.is_true(line({ unpaired_vins = { vin }, vehicle_info = info { vehicle_command_protocol_required = false } }).ok)
    assert.is_false(line({ unpaired_vins = { vin }, vehicle_info = info { vehicle_command_protocol_required = true } }).ok)
  end)

  it("needs room in the vehicle and a granted scope first", function()
    assert.matches("holds 20", line({ unpaired_vins = { vin }, vehicle_info = info { total_number_of_keys = 20 } }).fix)
    assert.matches("the owner opens", line({ unpaired_vins = { vin }, vehicle_info = info { total_number_of_keys = 19 } }).fix)
    assert.matches("must first grant", line({ unpaired_vins = { vin } }, {}, { scopes = { "openid" } }).fix)
    assert.matches("the owner opens", line({ unpaired_vins = { vin } }, {}, { scopes = { "vehicle_cmds" } }).fix)
  end)
end)

describe("partner:check", function()
  local function check(registered, hosted, options)
    local client = seam.client(function(request)
      if string.find(request.url, "public_key?", 1, true) then return registered end
      if string.find(request.url, "/oauth2/", 1, true) then return { status = 200, body = '{"access_token":"p"}' } end
      return hosted
    end, { client_id = "app", client_secret = "s", domain = "app.example.com", key = options and options.key or key })
    return client.partner:check()
  end
  local hex = string.gsub(key:public_bytes(), ".", function(c) return string.format("%02x", string.byte(c)) end)
  local known = { status = 200, body = '{"response":{"public_key":"' .. hex .. '"}}' }

  it("fetches both and compares them with the client's key", function()
    local report = check(known, { status = 200, body = key:public_pem() })
    assert.is_true(report.ok)
    report = check(known, { status = 200, body = key:public_pem() }, { key = other })
    assert.is_false(report.ok)
    assert.equal("wrong_key", report.lines[#report.lines].cause)
    report = check({ status = 404, body = '{"error":"not_found"}' }, { status = 404, body = "" })
    assert.same({ "not_hosted", "not_registered" }, { report.lines[3].cause, report.lines[4].cause })
  end)

  it("raises for options that it does not know", function()
    local client = seam.client(seam.done)
    assert.error_matches(function() client.partner:check { domian = "app.example.com" } end, "did you mean 'domain'")
  end)
end)

describe("a key that is not on the vehicle", function()
  it("says where the owner adds it", function()
    local client = seam.client('{"response":{"result":false,"reason":"vehicle_command_protocol: public key has not been paired"}}')
    local _, err, kind = client:vehicle(seam.vin):honk_horn()
    assert.equal("key_not_paired", kind)
    assert.matches("client:pairing_url", err.message, 1, true)
  end)
end)
