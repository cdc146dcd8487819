-- What a reply means: kind and outcome of every status row and every reason row, through the client and over
-- HTTP, for a read, for a write that may be repeated and for a command that may not. The tables here are
-- written by hand from doc/protocol.md#statuses and #outcomes, apart from the rows.

local cjson = require "cjson"
local core = require "fleet.core"
local fleet = require "fleet"
local recorder = require "spec.support.servers.recorder"

require "spec.support.harness.quick"(fleet)

local vin = "5YJ3E1EA7KF000001"
local server, client, car, site

-- A client that has seen nothing yet: what was seen of a vehicle decides what an unclear 408 means.
local function renew()
  if client then client:close() end
  client = fleet.new { base_url = server.url, token = "t0ken" }
  car, site = client:vehicle(vin), client:energy_site("1")
end

setup(function() server = recorder.start() end)
before_each(renew)
teardown(function()
  client:close()
  server:stop()
end)

local calls = {
  read = function(options) return client.user:me(options) end,
  live = function(options) return car:vehicle_data(nil, options) end,
  idempotent = function(options) return site:backup({ backup_reserve_percent = 20 }, options) end,
  set = function(options) return car:set_charge_limit({ percent = 80 }, options) end,
  command = function(options) return car:honk_horn(options) end,
}

-- The client's answer to one scripted reply, and how often the service was asked.
local function ask(which, rule, options)
  rule.times = 0
  server:script { rule }
  local value, err, kind = calls[which](options)
  if err then assert.are.equal(err.kind, kind) end
  return value, err, #server:records()
end

local function described(which, rule, options)
  local value, err = ask(which, rule, options)
  return value == nil and err and err.kind .. " " .. tostring(err.outcome) or "done"
end

-- The same for a time-out. On a machine that stands still it may be over before anything is sent, which is told truly and is not
-- the case that is looked at: it is tried again with more time.
local function timed_out(which, rule)
  for _, seconds in ipairs { 0.1, 1, 10 } do
    local value, err, asked = ask(which, rule, { timeout = seconds })
    if asked > 0 then return value == nil and err and err.kind .. " " .. tostring(err.outcome) or "done" end
    assert.are.same({ nil, "timeout" }, { value, err.kind })
  end
  error "never sent"
end

local function failure(text, description)
  return cjson.encode { response = cjson.null, error = text, error_description = description or "" }
end

-- ---- status rows: status, body, kind, outcome of a write ----

local statuses = {
  { 400, failure("invalid_command"), "invalid", "refused" },
  { 401, "", "auth", "refused" },
  { 401, failure("token expired (401)"), "auth", "refused" },
  { 401, failure("mobile_access_disabled"), "forbidden", "refused", "mobile access" },
  { 401, failure("unknown user"), "forbidden", "refused", "sign in to the Tesla app" },
  { 402, failure("payment_required"), "limit_exceeded", "refused", "payment" },
  { 403, failure("account disabled: EXCEEDED_LIMIT"), "limit_exceeded", "refused", "billing limit" },
  { 403, failure("Tesla Vehicle Command Protocol required, please refer to the documentation"),
    "key_not_paired", "refused", "key" },
  { 403, failure("Unauthorized missing scopes"), "scope", "refused", "scope" },
  { 403, failure("location access not granted"), "forbidden", "refused", "location" },
  { 403, failure("forbidden"), "forbidden", "refused" },
  { 403, "", "forbidden", "refused" },
  { 404, failure("not_found"), "not_found", "refused" },
  { 405, failure("vehicle is currently in service"), "refused", "refused" },
  { 406, failure("not_acceptable"), "unsupported", "refused" },
  { 408, failure("vehicle unavailable: vehicle is offline or asleep"), "asleep", "refused" },
  { 503, failure("operation_timedout"), "timeout", "unknown" },
  { 408, failure("vehicle unavailable: vehicle is asleep"), "asleep", "refused", "wake" },
  { 408, failure("vehicle is offline"), "offline", "refused", "connection" },
  { 408, failure("vehicle unavailable: {:error=>\"timed out\"}"), "timeout", "unknown" },
  { 408, failure("request timed out"), "timeout", "unknown" },
  { 409, failure("conflict"), "service", "unknown" },
  { 412, failure("This endpoint must be called through the Vehicle Command HTTP Proxy"), "unsupported", "refused" },
  { 412, failure("Account 1 must be registered in the current region https://e"), "unregistered", "refused",
    "register" },
  { 412, failure("Root domain example.com must match registered allowed origin"), "invalid", "refused", "allowed origin of" },
  { 410, failure("No longer supported: use another address"), "unsupported", "refused", "no longer" },
  { 412, failure("Refer to https://docs.example.com/fleet-telemetry for instructions"), "unsupported", "refused",
    "signed only: give" },
  { 412, failure("Endpoint is only available on fleetapi"), "unsupported", "refused", "closed owner interface" },
  { 412, failure("something else"), "unsupported", "refused" },
  { 501, failure("command not implemented"), "unsupported", "refused", "no such call" },
  { 422, failure("Validation failed: Domain has already been taken"), "conflict", "refused", "subdomain" },
  { 422, failure("Validation failed: Public key hash has already been taken"), "conflict", "refused", "fleet keygen" },
  { 418, failure("client too old"), "unsupported", "refused", "too old" },
  { 421, failure("user out of region, use base URL: https://elsewhere.example.com, see https://d"), "region",
    "refused", "region" },
  { 422, '{"response":null,"error":"invalid","messages":{"vin":["is odd"]}}', "invalid", "refused" },
  { 423, failure("locked"), "forbidden", "refused", "locked" },
  { 424, failure("public key could not be downloaded"), "invalid", "refused", "hosted" },
  { 429, "Retry in 17 seconds", "rate_limited", "refused" },
  { 451, failure("legal"), "forbidden", "refused", "legal" },
  { 499, failure("client closed"), "service", "unknown" },
  { 500, failure("internal server error"), "service", "unknown" },
  { 500, failure("vehicle rejected request: your public key has not been paired with the vehicle"),
    "key_not_paired", "unknown", "key" },
  { 500, failure("vehicle unavailable: vehicle is offline or asleep"), "asleep", "unknown", "wake" },
  { 502, "<html><body>Bad Gateway</body></html>", "service", "unknown" },
  { 503, failure("vehicle is not available"), "service", "unknown" },
  { 504, failure("gateway timeout"), "service", "unknown" },
  { 520, "", "service", "unknown" },
  { 540, failure("device answered unexpectedly"), "service", "unknown" },
  { 302, "", "service", "unknown" },
  { 599, "\0\255", "service", "unknown" },
}

describe("a status", function()
  it("has the kind and the outcome that are written down for it, for every sort of call", function()
    for _, row in ipairs(statuses) do
      local about = row[1] .. " " .. row[2]
      local function rule()
        renew()
        return { status = row[1], body = row[2] }
      end
      assert.are.equal(row[3] .. " nil", described("read", rule()), about)
      assert.are.equal(row[3] .. " " .. row[4], described("idempotent", rule()), about)
      assert.are.equal(row[3] .. " " .. row[4], described("set", rule()), about)
      assert.are.equal(row[3] .. " " .. row[4], described("command", rule()), about)
    end
  end)

  it("is in this table for every row, with what the row says", function()
    for _, known in ipairs(core.statuses()) do
      local found = false
      for _, row in ipairs(statuses) do
        local text = string.lower(row[2])
        local fits = (known.status == 0 or known.status == row[1]) and
          (not known.text or string.find(text, string.lower(known.text), 1, true)) and
          (not known.also or string.find(text, string.lower(known.also), 1, true))
        found = found or known.trait == "proxy" -- spec/http/outcome_spec.lua
        found = found or (fits and known.kind == row[3] and known.outcome == row[4])
      end
      assert.is_true(found, known.status .. " " .. tostring(known.text))
    end
  end)

  it("says what to do, what was asked and of whom", function()
    for _, row in ipairs(statuses) do
      local _, err = ask("command", { status = row[1], body = row[2] })
      if row[5] then assert.is_truthy(string.find(err.message, row[5], 1, true), err.message) end
      assert.are.equal(row[1], err.status)
      assert.are.equal(vin, err.vin)
      assert.are.equal("POST /api/1/vehicles/{vin}/command/honk_horn", err.request)
      assert.are.equal(row[2], err.raw)
      assert.are.equal(err.message, tostring(err))
      assert.is_truthy(string.find(err.message, "honk_horn", 1, true))
      assert.is_nil(string.find(err.message, "%c"), err.message)
    end
    local _, err = ask("idempotent", { status = 404, body = "" })
    assert.are.same({ "1", nil }, { err.site, err.vin })
  end)

  it("of a scope names the scope that the call needs", function()
    local wanted = { read = "user_data", live = "vehicle_device_data", idempotent = "energy_cmds",
      command = "vehicle_cmds" }
    for which, scope in pairs(wanted) do
      local _, err = ask(which, { status = 403, body = failure("Unauthorized missing scopes") })
      assert.are.equal(scope, err.scope)
    end
    local _, err = ask("command", { status = 403, body = failure("forbidden") })
    assert.is_nil(err.scope)
  end)

  it("is done from 200 to 299", function()
    for _, status in ipairs { 200, 201, 202, 203, 299 } do
      assert.are.equal("done", described("command",
        { status = status, body = '{"response":{"result":true,"reason":""}}' }))
      assert.are.equal("done", described("read", { status = status, body = '{"response":{}}' }))
    end
  end)

  it("205 or 206 is no whole answer, and an error beside another unknown success leaves the outcome open", function()
    for _, status in ipairs { 205, 206 } do
      assert.are.equal("protocol unknown", described("command",
        { status = status, body = '{"response":{"result":true,"reason":""}}' }))
      assert.are.equal("protocol unknown", described("command", { status = status, body = failure("not_now") }))
    end
    assert.are.equal("service unknown", described("command", { status = 299, body = failure("odd") }))
    assert.are.equal("service refused", described("command", { status = 200, body = failure("odd") }))
  end)

  it("is reported in a sentence, too, when the reply broke off after it or is empty", function()
    local _, err = ask("read", { status = 200, body = "        {", cut = 5 })
    assert.matches("^user%.me: the reply ended early or cannot be read: .+ %(HTTP 200%)$", err.message)
    _, err = ask("read", { status = 404, body = "  \n  " })
    assert.are.equal("user.me: not_found (HTTP 404)", err.message)
  end)

  it("408 that names both is asleep while the state is not known, and otherwise what was last seen",
    function()
    local both = failure("vehicle unavailable: vehicle is offline or asleep")
    local unclear = failure("vehicle unavailable: no answer")
    local cases = {
      { "asleep", both, "asleep refused" }, { "offline", both, "offline refused" },
        { "online", both, "offline refused" },
      { "strange", both, "asleep refused" },
      { "asleep", unclear, "asleep unknown" }, { "offline", unclear, "offline unknown" },
        { "online", unclear, "timeout unknown" },
    }
    for _, case in ipairs(cases) do
      server:script { { body = '{"response":{"state":"' .. case[1] .. '"}}' } }
      assert(car:info())
      assert.are.equal(case[3], described("command", { status = 408, body = case[2] }), case[1])
    end
  end)
end)

describe("429", function()
  local cases = {
    { { "Retry-After: 7" }, "", 7 }, { { "retry-after: 0" }, "", 0 },
      { { "Retry-After: 7", "RateLimit-Reset: 99" }, "", 7 },
    { { "ratelimit-reset: 12" }, "", 12 }, { { "RateLimit-Commands-Reset: 40", "RateLimit-Data-Reset: 50" },
      "", 50 },
    { {}, "Retry in 17 seconds", 17 }, { {}, "", 300 }, { { "Retry-After: soon" }, "", 300 },
    { { "Retry-After: 99999999999999999999" }, "", 30 * 86400 }, { { "Retry-After: -5" }, "", 300 },
    { { "Retry-After: 1.5" }, "", 2 }, { { "Retry-After: 1." }, "", 300 }, { { "Retry-After: 1.5x" }, "", 300 },
  }

  it("says how long to wait, and is never repeated", function()
    for _, case in ipairs(cases) do
      for _, which in ipairs { "read", "idempotent", "command" } do
        local _, err, count = ask(which, { status = 429, headers = case[1], body = case[2] })
        assert.are.same({ "rate_limited", case[3] }, { err.kind, err.retry_after or 0 },
          table.concat(case[1], ", "))
        assert.are.equal(1, count)
      end
    end
  end)

  it("takes a date as the time until then", function()
    local _, wall = fleet.loop.clock()
    local _, err = ask("command", { status = 429,
      headers = { "Retry-After: " .. os.date("!%a, %d %b %Y %H:%M:%S GMT", math.floor(wall) + 100) } })
    assert.is_true(err.retry_after > 80 and err.retry_after <= 101)
    _, err = ask("command", { status = 429, headers = { "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT" } })
    assert.is_true((err.retry_after or 0) == 0)
  end)
end)

-- ---- reason rows: what vehicles say with result false ----

local done, no = "changed = false", "refused refused"
local reasons = {
  already_set = done, already_standard = done, already_started = done, is_charging = done,
    not_charging = done, complete = done,
  requested = done, ["already closed"] = done, ["already off"] = done, GENERICERROR_ALREADY_ON = done,
  ["cable connected"] = no, ["non-motorized charge port"] = no, car_wash = no, ["not allowed"] = no,
    disconnected = no,
  no_power = no, not_supported = no, parental_controls_active = no, not_parked = no,
  could_not_wake_buses = "busy refused", ["cabin comfort remote settings not enabled"] = no,
  invalid_value = "invalid refused", ["missing percent param"] = "invalid refused",
    ["invalid percent param"] = "invalid refused",
  low_power_mode_low_soc = no, low_soc = no, cpd_enabled = no,
  too_far_from_vehicle = no, speed_limit_mode_active = no, not_on_whitelist = "key_not_paired refused",
  low_power_mode_enforced = no, GENERICERROR_UNKNOWN = no, GENERICERROR_CLOSURES_OPEN = no,
  GENERICERROR_DISABLED_FOR_USER_COMMAND = no, GENERICERROR_VEHICLE_NOT_IN_PARK = no,
  GENERICERROR_UNAUTHORIZED = "forbidden refused",
    GENERICERROR_NOT_ALLOWED_OVER_TRANSPORT = "unsupported refused",
  ["user not found"] = "forbidden refused", mobile_access_disabled = "forbidden refused",
  ["vehicle rejected request: your public key has not been paired with the vehicle"] =
    "key_not_paired refused",
  ["Tesla Vehicle Command Protocol required"] = "key_not_paired refused",
  ["vehicle unavailable: vehicle is offline or asleep"] = "asleep refused",
  ["vehicle busy or finishing wake-up"] = "busy refused",
  ["upstream internal error"] = "service unknown", operation_timedout = "timeout unknown",
  -- not known to any row: passes through
  ["a brand new reason"] = no, [""] = no,
}

local function reasoned(which, reason, options)
  local body = cjson.encode { response = { result = false, reason = reason } }
  local value, err, count = ask(which, { body = body }, options)
  if not value then return err.kind .. " " .. tostring(err.outcome), err, count end
  return "changed = " .. tostring(value.changed), value, count
end

describe("a reason", function()
  it("has the kind and the outcome that are written down for it", function()
    for reason, wanted in pairs(reasons) do
      for _, which in ipairs { "command", "set" } do
        local found, said = reasoned(which, reason)
        assert.are.equal(wanted, found, reason)
        assert.are.equal(reason, said.reason or "")
        if reason ~= "" and wanted ~= done then
          assert.is_truthy(string.find(said.message, reason, 1, true), reason)
        end
      end
    end
  end)

  local function is_written_down(row)
    for reason in pairs(reasons) do
      if string.find(string.lower(reason), string.lower(row.text), 1, true) then return true end
    end
  end

  it("that is not written down here is what its row says", function()
    for _, row in ipairs(core.reasons()) do
      if row.where == "vehicle" and not is_written_down(row) then
        local wanted = row.changed and row.kind .. " " .. row.outcome or done
        assert.are.equal(wanted, (reasoned("command", row.text)), row.text)
      end
    end
  end)

  it("is the same in any case, and behind the words of the signing proxy", function()
    for reason, wanted in pairs(reasons) do
      if reason ~= "" then
        assert.are.equal(wanted, (reasoned("command", string.upper(reason))), reason)
        for _, prefix in ipairs { "car could not execute command: ", "vcsec could not execute command: " } do
          local found, said = reasoned("command", prefix .. reason)
          assert.are.equal(wanted, found, prefix .. reason)
          assert.are.equal(reason, said.reason)
        end
      end
    end
  end)

  it("that the wanted state already holds is an error when the call is strict", function()
    for reason, wanted in pairs(reasons) do
      if wanted == done then
        assert.are.equal("refused refused", (reasoned("command", reason, { strict = true })), reason)
      end
    end
    assert.are.equal("done", described("command", { body = '{"response":{"result":true,"reason":""}}' },
      { strict = true }))
  end)

  it("does not make a command with result true fail, and stays readable", function()
    local value = ask("command", { body = '{"response":{"result":true,"reason":"could_not_wake_buses"}}' })
    assert.are.same({ true, "could_not_wake_buses" }, { value.changed, value.reason })
    local _, said = reasoned("command", "\n\27[31m\127\u{9b}" .. string.rep("ä", 300))
    assert.is_nil(string.find(said.message, "%c"))
    assert.is_nil(string.find(said.message, "\u{9b}", 1, true))
    assert.is_truthy(utf8.len(said.message))
    assert.is_truthy(utf8.len(said.reason))
  end)

  it("is found beside the empty error members that the proxy sends", function()
    local body = '{"response":{"result":false,"reason":"car could not execute command: is_charging"},' ..
      '"error":"","error_description":""}'
    assert.is_false(ask("command", { body = body }).changed)
  end)

  it("of an error status is the word of the service", function()
    local _, err = ask("command", { status = 400, body = failure("invalid_command", "no such thing") })
    assert.are.equal("invalid_command", err.reason)
    assert.is_truthy(string.find(err.message, "no such thing", 1, true))
    _, err = ask("command", { status = 400,
      body = '{"response":{"result":false,"reason":"missing on param"}}' })
    assert.are.equal("missing on param", err.reason)
    _, err = ask("command", { status = 429, body = "Retry in 5 seconds" })
    assert.are.equal("Retry in 5 seconds", err.reason)
  end)
end)

-- ---- replies that are not what was promised ----

local unreadable = {
  "", "   ", "not JSON", "<html></html>", "{", '{"response":', '{"response":{}} trailing', "\255\254", "nul",
    '{"a":1,}',
  string.rep("[", 100000), '{"response":' .. string.rep('{"a":', 200) .. "1" .. string.rep("}", 201),
    '"\\ud800',
}

describe("a reply with 200", function()
  it("that cannot be read is no success: a command may have been done", function()
    for _, body in ipairs(unreadable) do
      local about = string.sub(body, 1, 40)
      assert.are.equal("protocol nil", described("read", { body = body }), about)
      assert.are.equal("protocol unknown", described("idempotent", { body = body }), about)
      assert.are.equal("protocol unknown", described("command", { body = body }), about)
    end
  end)

  it("that does not state the result of a command leaves it open", function()
    for _, body in ipairs { "{}", "[]", "null", "true", '"ok"', "1", '{"response":null}', '{"response":true}',
      '{"response":"ok"}',
      '{"response":{}}', '{"response":[]}', '{"response":{"result":"true"}}', '{"response":{"result":1}}',
      '{"response":{"result":null,"reason":""}}', '{"result":1}' } do
      assert.are.equal("protocol unknown", described("command", { body = body }), body)
      assert.are.equal("protocol unknown", described("set", { body = body }), body)
    end
  end)

  it("with an error in it is a failure", function()
    assert.are.equal("service nil", described("read", { body = failure("something new") }))
    assert.are.equal("service refused", described("idempotent", { body = failure("something new") }))
    local word = described("command", { body = failure("invalid_command") })
    assert.is_truthy(word == "service refused" or word == "service unknown", word)
    assert.are.equal("done", described("read", { body = '{"response":{"a":1},"error":null}' }))
    assert.are.equal("done", described("read", { body = '{"response":{"a":1},"error":""}' }))
  end)

  it("that is cut short, or longer than allowed, is not trusted", function()
    local body = '{"response":{"result":true,"reason":""}}'
    for _, rule in ipairs { { body = body, cut = 0 }, { body = body, cut = #body - 1 },
      { raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"res\r\n" },
      { raw = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd" } } do
      for which, outcome in pairs { read = "nil", idempotent = "unknown", command = "unknown" } do
        local copy = {}
        for name, value in pairs(rule) do copy[name] = value end
        assert.are.equal("protocol " .. outcome, described(which, copy))
      end
    end
    local small <close> = fleet.new { base_url = server.url, token = "t0ken", max_response = 100 }
    server:script { { body = '{"response":{"result":true,"reason":"' .. string.rep("x", 200) .. '"}}',
      times = 0 } }
    local _, err, kind = small:vehicle(vin):honk_horn()
    assert.are.same({ "protocol", "unknown" }, { kind, err.outcome })
    assert.are.equal(1, #server:records())
  end)

  it("that is no HTTP, or nothing, leaves a command open", function()
    for _, raw in ipairs { "this is no HTTP\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Le", "\0\0\0\0" } do
      for which, outcome in pairs { read = "nil", idempotent = "unknown", command = "unknown" } do
        local found = described(which, { raw = raw })
        assert.are.equal("protocol " .. outcome, found, raw)
      end
    end
    for which, outcome in pairs { read = "nil", idempotent = "unknown", command = "unknown" } do
      assert.are.equal("network " .. outcome, described(which, { drop = true }))
    end
  end)

  it("that comes too late is a time-out, and a command may have been done", function()
    for which, outcome in pairs { read = "nil", idempotent = "unknown", command = "unknown" } do
      assert.are.equal("timeout " .. outcome, timed_out(which, { silent = true }))
    end
    assert.are.equal("timeout unknown", timed_out("command", { trickle = 0.05, body = string.rep(" ", 400) }))
  end)

  it("without a sender was never sent", function()
    local lost <close> = fleet.new { base_url = recorder.unused(), token = "t0ken" }
    local _, err, kind = lost:vehicle(vin):honk_horn()
    assert.are.same({ "network", "not_sent" }, { kind, err.outcome })
    _, err, kind = lost.user:me()
    assert.are.same({ "network" }, { kind, err.outcome })
    local unresolved <close> = fleet.new { base_url = "https://nowhere.invalid", token = "t0ken" }
    _, err, kind = unresolved:vehicle(vin):honk_horn()
    assert.are.same({ "network", "not_sent" }, { kind, err.outcome })
  end)
end)

-- ---- 421 and 412 ----

describe("421", function()
  local function moved(text, more)
    return { status = 421, body = failure(text), headers = more }
  end

  it("is followed once to a host on the list, which is remembered", function()
    local there = recorder.start()
    for _, rule in ipairs { moved("user out of region, use base URL: " .. there.url .. ", see https://docs"),
      moved("user out of region", { "Alt-Svc: h2=" .. there.url }) } do
      local store = fleet.store.memory()
      local options = { base_url = server.url, hosts = { there.url }, token = "t0ken", store = store }
      local mover <close> = fleet.new(options)
      server:script { rule }
      there:script { { times = 0, body = '{"response":{"result":true,"reason":""}}' } }
      assert(mover:vehicle(vin):honk_horn())
      assert(mover:vehicle(vin):honk_horn())
      local again <close> = fleet.new(options)
      assert(again:vehicle(vin):honk_horn())
      assert.are.equal(1, #server:records())
      assert.are.equal(3, #there:records())
    end
    there:stop()
  end)

  it("is not followed round in circles", function()
    local there = recorder.start()
    local mover <close> = fleet.new { base_url = server.url, hosts = { there.url, server.url },
      token = "t0ken" }
    server:script { { status = 421, body = failure("use base URL: " .. there.url), times = 0 } }
    there:script { { status = 421, body = failure("use base URL: " .. server.url), times = 0 } }
    local _, err, kind = mover:vehicle(vin):honk_horn()
    assert.are.same({ "region", "refused" }, { kind, err.outcome })
    assert.is_true(#server:records() + #there:records() <= 2)
    there:stop()
  end)

  it("is not followed to any other host, and no token goes there", function()
    local there = recorder.start()
    local port = string.match(there.url, ":(%d+)$")
    there:script { { times = 0 } }
    local mover <close> = fleet.new { base_url = server.url, hosts = { "fleet.example.com" },
      token = "t0ken" }
    for _, text in ipairs { there.url, "http://fleet.example.com@127.0.0.1:" .. port, "https://127.0.0.1:" ..
      port,
      "https://fleet.example.com.127.0.0.1:" .. port, "https://evilfleet.example.com",
        "http://fleet.example.com", server.url } do
      server:script { moved("use base URL: " .. text, { "Alt-Svc: h2=" .. text }) }
      local _, err, kind = mover:vehicle(vin):honk_horn()
      assert.are.same({ "region", "refused" }, { kind, err.outcome }, text)
      assert.are.equal(1, #server:records())
    end
    assert.are.equal(0, #there:records())
    there:stop()
  end)

  it("does not follow redirects", function()
    local there = recorder.start()
    there:script { { times = 0, body = '{"response":{"result":true,"reason":""}}' } }
    for _, status in ipairs { 301, 302, 303, 307, 308 } do
      for which, outcome in pairs { read = "nil", command = "unknown" } do
        assert.are.equal("service " .. outcome,
          described(which, { status = status, headers = { "Location: " .. there.url .. "/x" } }))
      end
    end
    assert.are.equal(0, #there:records())
    there:stop()
  end)

  it("advice is joined to the service's words as a part of their sentence", function()
    for _, words in ipairs { "Unauthorized missing scopes", "Unauthorized missing scopes." } do
      local _, err = ask("read", { status = 403, times = 0, body = cjson.encode { error = words } })
      assert.are.equal("scope", err.kind)
      assert.matches("; the owner must grant the scope that this call needs$", err.message)
      assert.is_nil(string.find(err.message, "%. ?;") or string.find(err.message, "%. %l"))
    end
  end)

  it("412 says where to register", function()
    local _, err = ask("read", { status = 412,
      body = failure("Account 1 must be registered in the current region https://eu.example") })
    assert.are.equal("unregistered", err.kind)
    assert.is_truthy(string.find(err.message, "https://eu.example", 1, true))
    assert.is_truthy(string.find(err.message, "register", 1, true))
  end)
end)
