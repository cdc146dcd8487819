-- What an err says beside its kind: the service's name of the exchange, what it says of single fields, the scope to ask for, and its
-- own words, of which only secrets are left out.

local cjson = require "cjson"
local core = require "fleet.core"
local fleet = require "fleet"
local recorder = require "spec.support.servers.recorder"
local seam = require "spec.support.fixtures.host_http"

require "spec.support.harness.quick"(fleet)

local vin = "5YJ3E1EA7KF000001"
local server, client, car

setup(function() server = recorder.start() end)
before_each(function()
  client = fleet.new { base_url = server.url, token = "t0ken" }
  car = client:vehicle(vin)
end)
after_each(function() client:close() end)
teardown(function() server:stop() end)

local function answer(status, body, headers)
  server:script { { status = status, body = type(body) == "table" and cjson.encode(body) or body, headers = headers, times = 0 } }
end

describe("err.request_id", function()
  it("is that of the header, else that of the body", function()
    local body = { response = cjson.null, error = "not_found", txid = "cece28b7" }
    answer(404, body)
    assert.equal("cece28b7", (select(2, car:info())).request_id)
    answer(404, body, { "X-Txid: a-1", "X-Request-Id: b-2" })
    assert.equal("a-1", (select(2, car:info())).request_id)
    answer(404, "", { "X-Request-Id: b-2" })
    assert.equal("b-2", (select(2, car:info())).request_id)
    answer(404, { error = "not_found", referenceID = "r-3" })
    assert.equal("r-3", (select(2, car:honk_horn())).request_id)
  end)

  it("is absent where none came, or what came is none", function()
    for _, txid in ipairs { 7, {}, "", "two words", ("x"):rep(101), "\27[31m" } do
      answer(404, { error = "not_found", txid = txid })
      assert.is_nil((select(2, car:info())).request_id)
    end
    answer(404, "")
    assert.is_nil((select(2, car:info())).request_id)
  end)
end)

describe("err.messages", function()
  it("has what the service says of single fields, and so has the message", function()
    answer(422, { error = "invalid_request", messages = { percent = { "must be between 50 and 100" }, a = { "is odd", "is new" } } })
    local _, err = car:set_charge_limit { percent = 80 }
    assert.same({ percent = { "must be between 50 and 100" }, a = { "is odd", "is new" } }, err.messages)
    assert.equal("set_charge_limit: invalid_request (HTTP 422): a: is odd, is new; percent: must be between 50 and 100", err.message)
  end)

  it("takes a text in the place of a list, and leaves out what is neither", function()
    answer(400, { error = "bad", messages = { percent = "is odd", b = 7, c = { 8, "is new" } } })
    local _, err = car:set_charge_limit { percent = 80 }
    assert.same({ percent = { "is odd" }, c = { "is new" } }, err.messages)
    for _, messages in ipairs { "text", 7, { 1, 2 }, cjson.empty_array } do
      answer(422, { error = "bad", messages = messages })
      _, err = car:set_charge_limit { percent = 80 }
      assert.is_nil(err.messages)
      assert.equal("set_charge_limit: bad (HTTP 422)", err.message)
    end
  end)

  it("shows no secret, and no endless text", function()
    answer(422, { error = "bad", messages = { password = { "7391 is no PIN" }, long = { ("ä"):rep(1000) } } })
    local _, err = car:set_valet_mode { on = true, password = "7391" }
    assert.equal("[redacted] is no PIN", err.messages.password[1])
    assert.is_true(#err.message < 450)
    assert.is_nil(err.message:find("7391", 1, true))
    assert.is_truthy(utf8.len(err.message))
  end)
end)

describe("err.scope", function()
  it("is the lesser scope where either does", function()
    answer(403, { error = "Unauthorized missing scopes" })
    assert.equal("vehicle_charging_cmds", (select(2, car:set_charging_amps { charging_amps = 16 })).scope)
    assert.equal("vehicle_cmds", (select(2, car:honk_horn())).scope)
  end)
end)

describe("a web page in the place of an answer", function()
  local page = '<!DOCTYPE html><html><body>Your scope EXCEEDED_LIMIT Protocol required</body></html>'

  it("is not searched for words, and is reported", function()
    answer(403, page)
    local _, err = car:info()
    assert.equal("forbidden", err.kind)
    assert.equal("info: a web page came in place of an answer (HTTP 403); " ..
      "a firewall or proxy before the service refused, not the service", err.message)
    answer(503, page)
    _, err = car:honk_horn()
    assert.same({ "service", "unknown" }, { err.kind, err.outcome })
    assert.is_nil(err.message:find("firewall", 1, true))
  end)
end)

describe("the closed owner interface", function()
  it("is named, whatever it answers", function()
    for host, closed in pairs { ["owner-api.teslamotors.com"] = true, ["api.example.com"] = false } do
      for _, reply in ipairs { { 403, '{"error":"forbidden"}' }, { 403, "<html></html>" },
        { 412, '{"error":"something"}' }, { 404, "" } } do
        local other = seam.client({ { status = reply[1], headers = {}, body = reply[2] } }, { base_url = "https://" .. host })
        local _, err = other:vehicle(vin):info()
        assert.equal(closed, err.message:find("closed owner interface", 1, true) ~= nil, err.message)
        other:close()
      end
    end
    answer(412, { error = "Endpoint is only available on fleetapi. Visit https://docs.example.com" })
    local _, err = car:info()
    assert.equal("unsupported", err.kind)
    local _, count = err.message:gsub("closed owner interface", "")
    assert.equal(1, count)
  end)
end)

describe("the service's words", function()
  it("stay, also behind the word bearer", function()
    for _, text in ipairs { "invalid bearer token", "Bearer authentication is needed", "the bearer does not match", "no bearer" } do
      answer(401, { error = text })
      local _, err = car:info()
      assert.equal(text, err.reason)
      assert.equal(text, core.redact(text, {}))
    end
  end)

  it("lose what looks like a token", function()
    for _, token in ipairs { "abcdefghijklmnopqrstuvwx", "abc1def2ghi3", "ab.cd.ef-0123456789", "abcd1234+/==" } do
      assert.equal("the Bearer [redacted] is no good", core.redact("the bearer " .. token .. " is no good", {}))
    end
    assert.equal("the bearer [redacted] is no good", core.redact("the bearer t0ken is no good", { "t0ken" }))
  end)
end)
