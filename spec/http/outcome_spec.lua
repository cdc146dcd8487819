-- What an exchange means and what follows: every status row, every failure, every decision, as tables.

local probe = require "probe_http"

local function judge(exchange)
  return probe.judge(nil, exchange)
end

-- status, text, kind, outcome of a write, state; doc/protocol.md#statuses and #outcomes.
local statuses = {
  { 200, "", "none", nil },
  { 201, '{"response":{"code":201}}', "none", nil },
  { 204, "", "none", nil },
  { 205, "", "protocol", "unknown" },
  { 206, '{"error":"not_now"}', "protocol", "unknown" },
  { 299, "", "none", nil },
  { 301, "", "service", "unknown" },
  { 307, "", "service", "unknown" },
  { 400, '{"error":"invalid_command"}', "invalid", "refused" },
  { 401, "", "auth", "refused" },
  { 401, '{"error":"token expired (401)"}', "auth", "refused" },
  { 401, '{"error":"mobile_access_disabled"}', "forbidden", "refused" },
  { 401, '{"error":"unknown user"}', "forbidden", "refused" },
  { 402, "", "limit_exceeded", "refused" },
  { 403, '{"error":"Unauthorized missing scopes"}', "scope", "refused" },
  { 403, '{"error":"Unauthorized missing scopes vehicle_location"}', "scope", "refused" },
  { 403, '{"error":"account disabled: EXCEEDED_LIMIT"}', "limit_exceeded", "refused" },
  { 403, '{"error":"Vehicle Command Protocol required, please use it"}', "key_not_paired", "refused" },
  { 403, '{"error":"location access not granted"}', "forbidden", "refused" },
  { 403, "", "forbidden", "refused" },
  { 404, "not_found", "not_found", "refused" },
  { 405, '{"error":"vehicle is currently in service"}', "refused", "refused" },
  { 406, "", "unsupported", "refused" },
  { 407, "", "service", "unknown" },
  { 409, "", "service", "unknown" },
  { 409, "asleep", "asleep", "unknown" },
  { 410, "", "unsupported", "refused" },
  { 412, "Account 1 must be registered in the current region", "unregistered", "refused" },
  { 412, "Root domain example.com must match registered allowed origin", "invalid", "refused" },
  { 412, "Refer to https://docs.example.com/fleet-telemetry", "unsupported", "refused" },
  { 412, "Endpoint is only available on fleetapi. Visit https://docs.example.com", "unsupported", "refused" },
  { 403, "Endpoint is only available on fleetapi", "unsupported", "refused" },
  { 412, "", "unsupported", "refused" },
  { 412, "This endpoint must be called through the Vehicle Command HTTP Proxy", "unsupported", "refused" },
  { 418, "", "unsupported", "refused" },
  { 421, "user out of region", "region", "refused" },
  { 422, '{"messages":{"a":["b"]}}', "invalid", "refused" },
  { 422, "Validation failed: Domain has already been taken", "conflict", "refused" },
  { 422, "Validation failed: Public key hash has already been taken", "conflict", "refused" },
  { 422, "Validation failed: Public key is invalid", "invalid", "refused" },
  { 501, "command not implemented", "unsupported", "refused" },
  { 423, "", "forbidden", "refused" },
  { 424, "", "invalid", "refused" },
  { 425, "", "service", "unknown" },
  { 429, "Retry in 5 seconds", "rate_limited", "refused" },
  { 431, "", "service", "unknown" },
  { 451, "", "forbidden", "refused" },
  { 499, "", "service", "unknown" },
  { 499, "vehicle is asleep", "asleep", "unknown" },
  { 500, "", "service", "unknown" },
  { 500, "vehicle is offline", "service", "unknown" },
  { 500, "your public key has not been paired with the vehicle", "key_not_paired", "unknown" },
  { 502, "<html>Bad Gateway</html>", "service", "unknown" },
  { 503, "vehicle is not available", "service", "unknown" },
  { 503, '{"error":"operation_timedout"}', "timeout", "unknown" },
  { 503, "vehicle is offline or asleep", "asleep", "unknown" },
  { 504, "", "service", "unknown" },
  { 540, "", "service", "unknown" },
  { 540, "the vehicle is Asleep", "asleep", "unknown" },
  { 599, "", "service", "unknown" },
  { 999, "", "service", "unknown" },
}

local both = '{"error":"vehicle unavailable: vehicle is offline or asleep"}'
for _, row in ipairs {
  -- both words: the last known state decides, and a vehicle known to be online is not asleep
  { both, "asleep", "refused", "unknown" }, { both, "asleep", "refused", "asleep" },
  { both, "offline", "refused", "offline" }, { both, "offline", "refused", "online" },
  { "ASLEEP, perhaps OFFLINE", "asleep", "refused", "unknown" },
  -- one word: it decides
  { "vehicle is asleep", "asleep", "refused", "online" },
  { "vehicle is asleep", "asleep", "refused", "offline" },
  { "vehicle is offline", "offline", "refused", "asleep" },
  { "vehicle is offline", "offline", "refused", "unknown" },
  -- no word: nothing says that it was not done; the kind follows the known state
  { "vehicle unavailable: nobody knows", "timeout", "unknown", "unknown" },
  { "vehicle unavailable: nobody knows", "timeout", "unknown", "online" },
  { "vehicle unavailable: nobody knows", "asleep", "unknown", "asleep" },
  { "vehicle unavailable: nobody knows", "offline", "unknown", "offline" },
  -- a slow service
  { "", "timeout", "unknown", "unknown" }, { "", "timeout", "unknown", "asleep" },
  { "operation_timedout", "timeout", "unknown", "offline" },
} do statuses[#statuses + 1] = { 408, row[1], row[2], row[3], row[4] } end

-- Words of the signing proxy, which only it can say.
for _, row in ipairs {
  { "vehicle unavailable: vehicle is offline or asleep", "asleep" },
  { "vehicle rejected request: your public key has not been paired with the vehicle", "key_not_paired" },
} do
  statuses[#statuses + 1] = { 500, row[1], row[2], "refused", nil, true }
  statuses[#statuses + 1] = { 500, row[1], row[2], "unknown", nil, false }
end
statuses[#statuses + 1] = { 500, "context deadline exceeded", "service", "unknown", nil, true }
statuses[#statuses + 1] = { 503, "vehicle is offline or asleep", "asleep", "refused", nil, true }
statuses[#statuses + 1] = { 503, "the vehicle fell asleep", "asleep", "unknown", nil, true }
statuses[#statuses + 1] = { 500, "Your vehicle has not been paired with the hoster key", "key_not_paired", "refused", nil, true }
statuses[#statuses + 1] = { 500, "Your vehicle has not been paired with the hoster key", "service", "unknown", nil, false }
statuses[#statuses + 1] = { 502, "virtual key not paired", "key_not_paired", "refused", nil, true }
statuses[#statuses + 1] = { 500, "open https://www.example.com/_ak/example.com", "key_not_paired", "refused", nil, true }

local function name_of(row)
  return ("%d %s %s"):format(row.status, row.text or "", row.also or "")
end

describe("a status", function()
  for _, row in ipairs(statuses) do
    local status, text, kind, outcome, state = row[1], row[2], row[3], row[4], row[5]
    local proxied = row[6]
    it(("of %d %q, state %s, is %s%s"):format(status, text:sub(1, 60), state or "unknown", kind, proxied and " (proxy)" or ""), function()
      local read = judge { status = status, text = text, sent = true, state = state, proxied = proxied }
      local write = judge { status = status, text = text, sent = true, state = state, proxied = proxied, write = true }
      assert.equal(kind, read.kind)
      assert.is_nil(read.outcome)
      assert.equal(kind, write.kind)
      assert.equal(outcome, write.outcome)
    end)
  end

  it("has a row, and each row is in the table above", function()
    local seen = {}
    for _, row in ipairs(statuses) do
      local verdict = judge { status = row[1], text = row[2], proxied = row[6], write = true }
      if verdict.row then seen[name_of(verdict.row)] = true end
    end
    for _, row in ipairs(probe.statuses()) do assert.is_true(seen[name_of(row)], name_of(row)) end
  end)

  it("counts as refused only where it is proved", function()
    local refused = { 400, 401, 402, 403, 404, 405, 406, 410, 412, 418, 421, 422, 423, 424, 429, 451, 501 }
    for _, status in ipairs(refused) do refused[status] = true end
    for status = 300, 599 do
      local verdict = judge { status = status, write = true, sent = true }
      assert.equal(refused[status] and "refused" or "unknown", verdict.outcome)
    end
  end)

  it("of a web page is read without the page's words", function()
    for _, body in ipairs { "<html>the scope of this page</html>", "\239\187\191 \n<!DOCTYPE html>EXCEEDED_LIMIT" } do
      local verdict = judge { status = 403, text = body, write = true, sent = true }
      assert.same({ "forbidden", true }, { verdict.kind, verdict.page })
    end
    local typed = judge { status = 403, text = "the scope of this", headers = "content-type: text/html\n", sent = true }
    assert.same({ "forbidden", true }, { typed.kind, typed.page })
    assert.equal("scope", judge({ status = 403, text = "missing scopes: a < b", sent = true }).kind)
  end)

  it("that is good is not good when the body is not what was promised", function()
    local verdict = judge { status = 200, text = "", write = true, unreadable = true, sent = true }
    assert.equal("protocol", verdict.kind)
    assert.equal("unknown", verdict.outcome)
    assert.is_nil(judge({ status = 200, unreadable = true }).outcome)
  end)

  it("is judged by the first 16 KiB of its text", function()
    local far = (" "):rep(16 * 1024)
    assert.equal("asleep", judge({ status = 503, text = far:sub(1, -7) .. "asleep" }).kind)
    assert.equal("service", judge({ status = 503, text = far .. "asleep" }).kind)
  end)

  it("has advice that is a plain sentence part", function()
    for _, row in ipairs(probe.statuses()) do
      if row.advice then assert.truthy(row.advice:find("^%l.*[^%.]$") or row.advice:find("^Tesla .*[^%.]$"), row.advice) end
    end
  end)
end)

describe("a failure without a status", function()
  for failure, kind in pairs {
    resolve = "network", connect = "network", tls = "tls", timeout = "timeout", empty = "network",
    cut = "protocol", too_large = "protocol", cancelled = "cancelled", ["local"] = "network",
  } do
    it(failure .. " is " .. kind, function()
      local before = judge { failure = failure, write = true }
      local after = judge { failure = failure, write = true, sent = true, status = 200 }
      assert.equal(kind, before.kind)
      assert.equal("not_sent", before.outcome)
      assert.equal(kind, after.kind)
      assert.equal("unknown", after.outcome)
      assert.is_nil(judge({ failure = failure, sent = true }).outcome)
    end)
  end
end)

describe("the time to wait", function()
  local wall = 784111777 -- 1994-11-06T08:49:37Z, the example of RFC 9110 5.6.7

  for _, row in ipairs {
    { "retry-after: 7\n", "", 7 },
    { "date: x\nretry-after: 0\nratelimit-reset: 9\n", "Retry in 3 seconds", 0 },
    { "retry-after: 7\nretry-after: 8\n", "", 8 },
    { "ratelimit-reset: 9\nretry-after: 7\n", "", 7 },
    { "ratelimit-limit: 5\nratelimit-remaining: 0\nratelimit-reset: 9\n", "Retry in 3 seconds", 9 },
    { "ratelimit-wakes-reset: 9\nratelimit-commands-reset: 12\n", "", 12 },
    { "ratelimit-wakes-limit: 9\nx-retry-after: 4\n", "", -1 },
    { "", "Retry in 3 seconds", 3 },
    { "", '{"error":"too many requests, RETRY IN 45 seconds"}', 45 },
    { "", "Retry in a while", -1 },
    { "", "", -1 },
    { "retry-after: soon\n", "Retry in 3 seconds", 3 },
    { "retry-after: -5\n", "", -1 },
    { "retry-after: \n", "", -1 },
    { "retry-after: 1.5\n", "", 2 },
    { "retry-after\n", "", -1 },
    { "retry-after: 7", "", -1 }, -- no whole line
    { "retry-after: 99999999999999999999999999\n", "", 30 * 24 * 3600 },
    { "retry-after: Sun, 06 Nov 1994 08:50:37 GMT\n", "", 60 },
    { "retry-after: Sunday, 06-Nov-94 08:50:37 GMT\n", "", 60 },
    { "retry-after: Sun Nov  6 08:50:37 1994\n", "", 60 },
    { "retry-after: Sun, 06 Nov 1994 08:49:00 GMT\n", "", 0 }, -- in the past
    { "retry-after: Sun, 06 Nov 2094 08:49:00 GMT\n", "", 30 * 24 * 3600 },
    { "retry-after: Sun, 31 Feb 1994 08:50:37 GMT\n", "", -1 },
    { "retry-after: Sun, 06 Nob 1994 08:50:37 GMT\n", "", -1 },
    { "retry-after: Sun, 06 ovD 1994 08:50:37 GMT\n", "", -1 },
    { "retry-after: Sun, 06 Nov 1994 24:50:37 GMT\n", "", -1 },
    { "retry-after: " .. ("9 "):rep(100) .. "\n", "", -1 },
  } do
    it(("of %q and %q is %g"):format(row[1], row[2], row[3]), function()
      assert.equal(row[3], probe.retry_after(row[1], row[2], wall))
    end)
  end

  it("is five minutes when a 429 says nothing, and not given otherwise", function()
    assert.equal(300, judge({ status = 429 }).retry_after)
    assert.equal(5, judge({ status = 429, text = "Retry in 5 seconds" }).retry_after)
    assert.equal(0, judge({ status = 429, headers = "retry-after: 0\n" }).retry_after)
    assert.equal(0, judge({ status = 503 }).retry_after)
    assert.equal(7, judge({ status = 503, headers = "retry-after: 7\n" }).retry_after)
    assert.equal(0, judge({ status = 200, headers = "retry-after: 7\n" }).retry_after)
  end)
end)

describe("another host", function()
  local text = '{"error":"user out of region, use base URL: https://api.eu.vn.cloud.example.com, see https://docs.example.com"}'
  local eu = "https://api.eu.vn.cloud.example.com"

  for _, row in ipairs {
    { text, "", ".example.com", eu },
    { "USE BASE url: https://a.example.com", "", ".example.com", "https://a.example.com" },
    { "", "alt-svc: h2=" .. eu .. "\n", ".example.com", eu },
    { "", "alt-svc: h3=https://b.other.org\nalt-svc: h2=" .. eu .. "\n", ".example.com", eu },
    { "use base URL: https://evil.org", "alt-svc: h2=" .. eu .. "\n", ".example.com", eu },
    { "use base URL: https://a.example.com:443/path", "", ".example.com", "https://a.example.com:443" },
    { "use base URL: https://a.example.com", "", "a.example.com", "https://a.example.com" },
    { "use base URL: https://a.example.com:8443", "", "a.example.com:8443", "https://a.example.com:8443" },
    { "use base URL: http://127.0.0.1:8080", "", "http://127.0.0.1:8080", "http://127.0.0.1:8080" },
    -- whole labels only
    { "use base URL: https://evilexample.com", "", ".example.com" },
    { "use base URL: https://example.com", "", ".example.com" },
    { "use base URL: https://.example.com", "", ".example.com" },
    { "use base URL: https://a.example.com.evil.org", "", ".example.com" },
    { "use base URL: https://b.a.example.com", "", "a.example.com" },
    -- neither another scheme, another port nor a user name
    { "use base URL: http://a.example.com", "", ".example.com" },
    { "use base URL: ftp://a.example.com", "", ".example.com" },
    { "use base URL: a.example.com", "", ".example.com" },
    { "use base URL: https://a.example.com:8443", "", ".example.com" },
    { "use base URL: https://a.example.com:8443", "", "a.example.com" },
    { "use base URL: https://evil.org:1.example.com", "", ".example.com" },
    { "use base URL: https://a.example.com@evil.org/", "", ".example.com" },
    { "use base URL: https://evil.org\\@a.example.com", "", ".example.com" },
    { "use base URL: https://a.example.com\0", "", ".example.com" },
    { "use base URL: https://a.example.com?x", "", ".example.com" },
    { "use base URL: https://", "", ".example.com" },
    { "use base URL: http://127.0.0.1:8081", "", "http://127.0.0.1:8080" },
    -- the documentation's address is not the base URL
    { "see https://docs.example.com", "", ".example.com" },
    { "", "alt-svc: h3=" .. eu .. "\n", ".example.com" },
    { "", "location: " .. eu .. "\n", ".example.com" },
    { text, "", nil },
  } do
    it(("of %q %q for %s is %s"):format(row[1], row[2], row[3] or "nobody", row[4] or "none"), function()
      assert.equal(row[4], (probe.other_host(row[2], row[1], row[3])))
    end)
  end

  it("may be any of several", function()
    assert.equal(eu, probe.other_host("", text, ".other.org", "x.example.com", ".example.com"))
  end)
end)

describe("what follows", function()
  local read, set, act = {}, { write = true, idempotent = true }, { write = true }

  local function with(more, base)
    local all = { sent = true }
    for name, value in pairs(base) do all[name] = value end
    for name, value in pairs(more) do all[name] = value end
    return all
  end

  local function follows(what, wait, exchange, base)
    local action, seconds = probe.next(nil, with(exchange, base))
    assert.equal(what, action)
    assert.equal(wait, seconds)
  end

  -- what happened, then what follows for a read, an idempotent write, another write
  for name, row in pairs {
    ["a good reply"] = { { status = 200 }, "fail", "fail", "fail" },
    ["no connection"] = { { failure = "connect", sent = false }, "repeat", "repeat", "repeat" },
    ["no address"] = { { failure = "resolve", sent = false }, "repeat", "repeat", "repeat" },
    ["a connection that died"] = { { failure = "empty" }, "repeat", "repeat", "fail" },
    ["a time limit within the deadline"] = { { failure = "timeout" }, "repeat", "repeat", "fail" },
    ["a reply cut short"] = { { failure = "cut" }, "repeat", "repeat", "fail" },
    ["a reply too large"] = { { failure = "too_large" }, "fail", "fail", "fail" },
    ["an unreadable reply"] = { { status = 200, unreadable = true }, "fail", "fail", "fail" },
    ["a false certificate"] = { { failure = "tls", sent = false }, "fail", "fail", "fail" },
    ["cancelled before it was sent"] = { { failure = "cancelled", sent = false }, "fail", "fail", "fail" },
    ["cancelled"] = { { failure = "cancelled" }, "fail", "fail", "fail" },
    ["400"] = { { status = 400 }, "fail", "fail", "fail" },
    ["404"] = { { status = 404 }, "fail", "fail", "fail" },
    ["408 asleep"] = { { status = 408, text = "asleep" }, "fail", "fail", "fail" },
    ["408 offline"] = { { status = 408, text = "offline" }, "fail", "fail", "fail" },
    ["408 slow"] = { { status = 408 }, "repeat", "repeat", "fail" },
    ["429"] = { { status = 429 }, "fail", "fail", "fail" },
    ["429 without a wait"] = { { status = 429, headers = "retry-after: 0\n" }, "fail", "fail", "fail" },
    ["500"] = { { status = 500 }, "repeat", "repeat", "fail" },
    ["503"] = { { status = 503 }, "repeat", "repeat", "fail" },
    ["503 asleep"] = { { status = 503, text = "asleep" }, "fail", "fail", "fail" },
    ["504"] = { { status = 504 }, "repeat", "repeat", "fail" },
    ["540"] = { { status = 540 }, "repeat", "repeat", "fail" },
    ["307"] = { { status = 307 }, "repeat", "repeat", "fail" },
    ["403 without a reason"] = { { status = 403 }, "fail", "fail", "fail" },
    ["403 scope"] = { { status = 403, text = "missing scopes" }, "repeat", "repeat", "repeat" },
  } do
    it("after " .. name, function()
      for i, base in ipairs { read, set, act } do
        follows(row[i + 1], row[i + 1] == "repeat" and 0.25 or 0, row[1], base)
      end
    end)
  end

  it("a read and an idempotent write are repeated twice, after a quarter and after a whole second", function()
    for _, base in ipairs { read, set } do
      follows("repeat", 0.25, { status = 503, repeats = 0 }, base)
      follows("repeat", 1, { status = 503, repeats = 1 }, base)
      follows("fail", 0, { status = 503, repeats = 2 }, base)
    end
  end)

  it("another write is repeated once, and only when nothing can have left", function()
    follows("repeat", 0.25, { failure = "connect", sent = false, repeats = 0 }, act)
    follows("fail", 0, { failure = "connect", sent = false, repeats = 1 }, act)
    follows("fail", 0, { failure = "connect", sent = true }, act)
  end)

  it("a missing scope is tried once more", function()
    follows("fail", 0, { status = 403, text = "missing scopes", repeats = 1 }, read)
  end)

  it("a 401 refreshes a token of our own, once", function()
    for _, base in ipairs { read, set, act } do
      follows("refresh", 0, { status = 401, own_token = true }, base)
      follows("fail", 0, { status = 401, own_token = true, refreshes = 1 }, base)
      follows("fail", 0, { status = 401 }, base)
    end
  end)

  it("a 421 goes to an acceptable host, once", function()
    for _, base in ipairs { read, set, act } do
      follows("region", 0, { status = 421, other_host = true }, base)
      follows("fail", 0, { status = 421, other_host = true, regions = 1 }, base)
      follows("fail", 0, { status = 421 }, base)
    end
  end)

  it("nothing follows when the time is over, or would be after the pause", function()
    follows("fail", 0, { status = 401, own_token = true, left = 0 }, read)
    follows("fail", 0, { status = 421, other_host = true, left = -1 }, read)
    follows("fail", 0, { status = 503, left = 0.25 }, read)
    follows("repeat", 0.25, { status = 503, left = 0.26 }, read)
  end)

  it("the service's own pause is kept, unless it is long", function()
    follows("repeat", 2, { status = 503, headers = "retry-after: 2\n" }, read)
    follows("repeat", 0.25, { status = 503, headers = "retry-after: 0\n" }, read)
    follows("repeat", 5, { status = 503, headers = "retry-after: 5\n" }, read)
    follows("fail", 0, { status = 503, headers = "retry-after: 6\n" }, read)
    follows("fail", 0, { status = 503, headers = "retry-after: 2\n", left = 2 }, read)
  end)

  it("a write that may have been done is never repeated unless it is idempotent (rule R1)", function()
    local function check(exchange)
      exchange.sent, exchange.write, exchange.own_token, exchange.other_host = true, true, true, true
      local verdict, action = judge(exchange), probe.next(nil, exchange)
      if action ~= "fail" then assert.equal("refused", verdict.outcome) end
    end
    for _, failure in ipairs { "timeout", "empty", "cut", "too_large", "cancelled", "local" } do
      check { failure = failure }
    end
    for status = 200, 599 do
      for _, text in ipairs { "", "asleep", "offline", "vehicle unavailable", "missing scopes" } do
        check { status = status, text = text }
      end
    end
  end)
end)

-- The faults of the signing protocol as a signing proxy passes them on; doc/protocol.md#protocol-faults.
describe("a fault in the words of a signing proxy", function()
  local function of(words, status)
    local text = '{"response":null,"error":"' .. words .. '"}'
    local verdict = judge { status = status or 500, text = text, words = words, proxied = true, write = true, sent = true }
    return verdict.kind .. " " .. verdict.outcome .. " " .. tostring(verdict.transient) .. " " .. verdict.fault
  end

  it("has the kind and the outcome of its row, whatever the status", function()
    for _, fault in ipairs(require("fleet.core").faults()) do
      local expected = "^" .. fault.kind .. " " .. fault.outcome .. " %l+ " .. fault.number .. "$"
      for _, status in ipairs { 403, 408, 500, 502, 503, 504 } do
        assert.matches(expected, of("MESSAGEFAULT_ERROR_" .. fault.name, status))
        assert.matches(expected, of("could not send: messagefault_error_" .. fault.name:lower() .. ".", status))
        if fault.name:find("_", 1, true) then
          assert.matches(expected, of(fault.name, status))
          assert.matches(expected, of((fault.name:lower():gsub("_", "-")), status))
        end
      end
    end
  end)

  it("is repeated only where it is no refusal and may not have been carried out", function()
    for words, expected in pairs {
      MESSAGEFAULT_ERROR_INSUFFICIENT_PRIVILEGES = "forbidden refused false 7",
      MESSAGEFAULT_ERROR_COULD_NOT_HASH_METADATA = "service refused false 19",
      MESSAGEFAULT_ERROR_TIMEOUT = "timeout unknown true 2", MESSAGEFAULT_ERROR_INTERNAL = "service unknown true 11",
      MESSAGEFAULT_ERROR_RESPONSE_MTU_EXCEEDED = "protocol unknown false 25",
      MESSAGEFAULT_ERROR_SOMETHING_NEW = "protocol unknown false 0", ["unrecognized error code 29"] = "protocol unknown false 29",
      ["unrecognized error code 7"] = "forbidden refused false 7",
    } do assert.equal(expected, of(words)) end
  end)

  it("is none where the word is another one, or the service itself answered", function()
    for _, words in ipairs { "busy", "internal", "decoding", "NOT_INVALID_COMMANDS", "XINVALID_COMMAND" } do
      assert.equal("service unknown true 0", of(words))
    end
    local direct = judge { status = 500, text = "", words = "MESSAGEFAULT_ERROR_INSUFFICIENT_PRIVILEGES", write = true, sent = true }
    assert.same({ "service", "unknown" }, { direct.kind, direct.outcome })
  end)
end)
