-- What a client with commands = "proxy" makes of the answers of other signing proxies: the vendor's, its older versions, hosted
-- ones and those that reach the vehicle by Bluetooth. Written by hand from doc/protocol.md#proxy-replies.

local cjson = require "cjson"
local fleet = require "fleet"
local recorder = require "spec.support.servers.recorder"

require "spec.support.harness.quick"(fleet)

local server, client, car

setup(function() server = recorder.start() end)
before_each(function()
  client = fleet.new { base_url = server.url, proxy_url = server.url, commands = "proxy", token = "t0ken" }
  car = client:vehicle "5YJ3E1EA7KF000001"
end)
after_each(function() client:close() end)
teardown(function() server:stop() end)

local function ask(status, body, command, params)
  server:script { { status = status, body = type(body) == "table" and cjson.encode(body) or body, times = 0 } }
  local value, err
  if params then value, err = car[command](car, params) else value, err = car[command or "honk_horn"](car) end
  return value, err, #server:records()
end

local function failed(text) return { response = cjson.null, error = text, error_description = "" } end
local function refused(reason) return { response = { result = false, reason = reason }, error = "", error_description = "" } end

local function described(...)
  local value, err, count = ask(...)
  if value then return "changed = " .. tostring(value.changed) .. " " .. value.reason end
  return ("%s %s %s %d"):format(err.kind, err.outcome, tostring(err.reason), count)
end

describe("the answer of another signing proxy", function()
  it("names the vehicle's fault beside HTTP 500: a refusal is sent once, also of what may be repeated", function()
    for _, call in ipairs { { "honk_horn" }, { "set_charge_limit", { percent = 80 } } } do
      local function said(text) return described(500, failed(text), call[1], call[2]) end
      assert.equal("forbidden refused INSUFFICIENT_PRIVILEGES 1", said "MESSAGEFAULT_ERROR_INSUFFICIENT_PRIVILEGES")
      assert.equal("unsupported refused INVALID_COMMAND 1", said "MESSAGEFAULT_ERROR_INVALID_COMMAND")
      assert.equal("key_not_paired refused UNKNOWN_KEY_ID 1", said "MESSAGEFAULT_ERROR_UNKNOWN_KEY_ID")
      assert.matches("^key_not_paired refused .* 1$",
        said "vehicle rejected request: your public key has not been paired with the vehicle")
      assert.matches("^busy refused .* 1$", said "vehicle busy or finishing wake-up")
      assert.equal("protocol unknown unrecognized error code 29 1", said "unrecognized error code 29")
    end
    local _, err = ask(500, failed "MESSAGEFAULT_ERROR_INSUFFICIENT_PRIVILEGES")
    assert.equal(7, err.fault)
    assert.matches("%(HTTP 500%)%. The role of the key", err.message)
    _, err = ask(500, failed "unrecognized error code 29")
    assert.matches("%(HTTP 500%)%. The vehicle gave a fault that is not known here%.", err.message)
  end)

  it("says nothing certain: the outcome is unknown, and only what sets a value is repeated", function()
    assert.equal("timeout unknown context deadline exceeded 1", described(500, failed "context deadline exceeded"))
    assert.equal("timeout unknown context deadline exceeded 3",
      described(500, failed "context deadline exceeded", "set_charge_limit", { percent = 80 }))
    assert.equal("service unknown something new 1", described(500, failed "something new"))
    assert.equal("service unknown  1", (described(500, "", "honk_horn"):gsub("nil", "")))
  end)

  it("that the vehicle sleeps is a refusal with 500, 503 and 408", function()
    for _, status in ipairs { 408, 500, 503 } do
      assert.matches("^asleep refused .* 1$", described(status, failed "vehicle unavailable: vehicle is offline or asleep"))
    end
  end)

  it("finds a word of the security domain at every place", function()
    for _, reason in ipairs { "vcsec could not execute command: genericError:GENERICERROR_UNAUTHORIZED",
      "vcsec could not execute command: genericError: GENERICERROR_UNAUTHORIZED", "GENERICERROR_UNAUTHORIZED (no more)" } do
      assert.equal("forbidden refused GENERICERROR_UNAUTHORIZED 1", described(200, refused(reason), "door_lock"))
    end
    assert.equal("changed = false GENERICERROR_ALREADY_ON",
      described(200, refused "vcsec could not execute command: genericError: GENERICERROR_ALREADY_ON", "door_lock"))
  end)

  it("of before 2025-03 calls the reason `string`", function()
    local old = { response = { result = false, string = "car could not execute command: is_charging" }, error = "" }
    assert.equal("changed = false is_charging", described(200, old, "charge_start"))
    local value = ask(200, old, "charge_start")
    assert.is_nil(value.string)
    old.response.string = "car could not execute command: disconnected"
    assert.equal("refused refused disconnected 1", described(200, old, "charge_start"))
  end)

  it("with result false beside an error status is the vehicle's, or the radio's, refusal", function()
    assert.equal("offline refused vehicle not in range 1", described(503, refused "vehicle not in range", "charge_start"))
    assert.equal("refused refused a new reason 1", described(503, refused "a new reason", "charge_start"))
    assert.equal("changed = false is_charging", described(503, refused "is_charging", "charge_start"))
    assert.equal("refused refused nil 1", described(503, refused(nil), "charge_start"))
    assert.equal("timeout unknown operation_timedout 1", described(503, refused "operation_timedout", "charge_start"))
    assert.equal("forbidden refused INSUFFICIENT_PRIVILEGES 1",
      described(200, refused "MESSAGEFAULT_ERROR_INSUFFICIENT_PRIVILEGES", "charge_start"))
    assert.equal("changed = false is_charging",
      described(500, failed "car could not execute command: is_charging", "charge_start"))
  end)

  it("with result true is done, whatever the reason says, but not beside an error", function()
    assert.matches("^changed = true ", described(200, { response = { result = true, reason = "successfully processed." } }))
    assert.matches("^protocol unknown", described(200, { response = { result = true, reason = "" }, error = "odd" }))
    assert.matches("^service unknown", described(503, { response = { result = true, reason = "" } }))
  end)

  it("that it does not know the command is a refusal", function()
    assert.matches("^unsupported refused command not implemented 1$",
      described(501, failed "command not implemented", "remote_boombox", { sound = 0 }))
  end)

  it("of a hosted proxy asks for the pairing in its own words, which are kept", function()
    local text = "Your vehicle has not been paired with the hoster key. Open https://www.example.com/_ak/hoster.example.com"
    assert.matches("^key_not_paired refused .* 1$", described(500, failed(text), "charge_stop"))
    local _, err = ask(500, failed(text), "charge_stop")
    assert.truthy(err.message:find(text, 1, true))
  end)
end)
