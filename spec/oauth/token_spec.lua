-- A pair of tokens as a value: its record, its claims, the choice among what can be done with it, and what a reply makes of it.

local core = require "fleet.core"
local oauth = require "probe_oauth"

describe("the claims of a token", function()
  it("gives the middle of a JSON Web Token", function()
    assert.equal('{"sub":"1"}', oauth.claims("eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.c2ln"))
  end)

  for _, token in ipairs { "", "opaque", "a.b", "a..c", "a.!!.c", "a.bm9qc29u.c", "a.eyJ9.c.d", "NA_0123456789abcdef" } do
    it(("takes '%s' for opaque"):format(token), function() assert.is_nil(oauth.claims(token)) end)
  end
end)

describe("the choice of a token", function()
  local cases = {
    { "uses a token that lives longer than the margin", "use", { access = true, refresh = true, expires_at = 1061 } },
    { "refreshes within the margin", "refresh", { access = true, refresh = true, expires_at = 1060 } },
    { "refreshes after the end", "refresh", { access = true, refresh = true, expires_at = 900 } },
    { "uses one without refresh token to its end", "use", { access = true, expires_at = 1001 } },
    { "logs in when one without refresh token has ended", "login", { access = true, expires_at = 1000 } },
    { "uses one whose end is not known", "use", { access = true, refresh = true } },
    { "refreshes what the service rejected", "refresh", { access = true, refresh = true, rejected = true, expires_at = 9999 } },
    { "logs in when the rejected one cannot be refreshed", "login", { access = true, rejected = true, expires_at = 9999 } },
    { "refreshes when only a refresh token is there", "refresh", { refresh = true } },
    { "logs in when there is nothing", "login", {} },
    { "tries the token when the clock is before the time it was saved", "use",
      { access = true, refresh = true, expires_at = 900, saved_at = 1001 } },
    { "refreshes a rejected token whatever the clock", "refresh",
      { access = true, refresh = true, rejected = true, expires_at = 900, saved_at = 1001 } },
    { "measures by the monotonic clock where it saw the token issued", "refresh",
      { access = true, refresh = true, ends = 1060, mono = 1000, expires_at = 9999 } },
    { "believes that clock against a wall clock that was set forward", "use",
      { access = true, refresh = true, ends = 1061, mono = 1000, expires_at = 900 } },
  }
  for _, case in ipairs(cases) do
    it(case[1], function()
      case[3].wall = 1000
      assert.equal(case[2], oauth.choose(case[3]))
    end)
  end
end)

describe("a stored record", function()
  local function read(text)
    return core.token_record(text)
  end

  it("is read back as it was written", function()
    local text = '{"access_token":"a\\"b","asked":"x y","expires_at":1700000000.25,"order":12,"previous":{"ends":1700000001,'
      .. '"refresh_token":"r0"},"refresh_token":"r1","refreshed_at":1690000000,"saved_at":1690000001,"scope":"openid"}'
    assert.equal(text, read(text):json())
    assert.equal('{"access_token":"a"}', read('{"access_token":"a"}'):json())
  end)

  it("of an earlier version is read, too", function()
    local facts = read('{"access_token":"a","refresh_token":"EU_r","expires_at":"1700000000","saved_at":5,"extra":[1]}'):facts()
    assert.same({ expires_at = 1700000000, prefix = "EU_" }, facts)
  end)

  local none = { "", "{", "null", "[]", "{}", '{"access_token":5}', '{"refresh_token":"r"}', '{"access_token":"a"',
    '{"access_token":"a"}}' }
  for _, text in ipairs(none) do
    it("that is none is not taken for one: " .. text, function() assert.is_nil(read(text)) end)
  end

  for _, number in ipairs { "1e999", "-1e999", '"1e999"', '"0x1p2000"', "-5", '"x"', "true", "[1]", "{}", "null", "1e12" } do
    it("is used whatever its numbers are: " .. number, function()
      local token = read(('{"access_token":"a","refresh_token":"r","expires_at":%s,"saved_at":%s,"refreshed_at":%s,"order":%s,'
        .. '"previous":{"ends":%s,"refresh_token":"p"}}'):format(number, number, number, number, number))
      assert.equal("use", token:choose(0, 1000))
      assert.equal("refresh", token:choose(0, 1000, "a"))
      assert.is_false(token:has_previous(0, 1000))
      assert.is_true(token:stale(0, 1e9)) -- nobody knows when it was refreshed
      assert.is_nil(token:facts().expires_at)
      assert.is_table(core.json_decode(token:json()))
    end)
  end

  it("is to be kept alive after 30 days, and where its refresh lies more than a day in the future of the clock", function()
    local now, day = 1.7e9, 86400
    local function stale(at, refresh)
      return read(('{"access_token":"a","refresh_token":%s,"refreshed_at":%d}'):format(refresh or '"r"', at)):stale(0, now)
    end
    assert.same({ false, true }, { stale(now - 30 * day + 1), stale(now - 30 * day - 1) })
    assert.same({ false, true }, { stale(now + day - 1), stale(now + day + 1) })
    assert.is_false(stale(now + 9 * day, "null")) -- nothing to refresh with
  end)

  it("whose access token would break a header is refreshed", function()
    assert.equal("refresh", read('{"access_token":"a\\r\\nX: 1","refresh_token":"r"}'):choose(0, 1000))
    assert.equal("login", read('{"access_token":"a\\u0000"}'):choose(0, 1000))
  end)

  it("says which of two exchanges came after, by their order alone", function()
    local function of(order) return read('{"access_token":"a","saved_at":' .. (1e6 - order) .. ',"order":' .. order .. "}") end
    assert.is_true(of(2):newer(of(1)))
    assert.is_false(of(1):newer(of(2)))
    assert.is_false(of(1):newer(of(1))) -- the stored one was exchanged under a later lease
  end)
end)

describe("a token", function()
  it("is in no text except the requested one", function()
    local token = core.token_record '{"access_token":"canary-a","refresh_token":"canary-r","previous":{"refresh_token":"canary-p"}}'
    assert.equal("fleet.oauth_token", tostring(token))
    assert.is_nil(core.json_encode(token:facts()):find("canary-", 1, true))
    assert.equal("canary-a", token:access())
    token:close()
    assert.has_error(function() token:access() end)
  end)
end)

describe("the form of a grant", function()
  local token = core.token_record '{"access_token":"a","refresh_token":"r 1","previous":{"refresh_token":"r 0","ends":9e9}}'
  local all = {
    client_id = "app", client_secret = "s&", code = "c=", code_verifier = "v", redirect_uri = "https://x/?", audience = "https://a",
    scope = "x y", auth_code = "b", token = token,
  }
  local function but(name)
    local copy = {}
    for k, v in pairs(all) do copy[k] = v end
    copy[name] = nil
    return copy
  end
  local cases = {
    { "code", all, "grant_type=authorization_code&client_id=app&client_secret=s%26&code=c%3D&audience=https%3A%2F%2Fa"
      .. "&redirect_uri=https%3A%2F%2Fx%2F%3F" },
    { "code", but "client_secret", "grant_type=authorization_code&client_id=app&code=c%3D&audience=https%3A%2F%2Fa&code_verifier=v"
      .. "&redirect_uri=https%3A%2F%2Fx%2F%3F" },
    { "refresh", all, "grant_type=refresh_token&client_id=app&refresh_token=r%201" },
    { "partner", all, "grant_type=client_credentials&client_id=app&client_secret=s%26&audience=https%3A%2F%2Fa&scope=x%20y" },
    { "partner", but "scope", "grant_type=client_credentials&client_id=app&client_secret=s%26&audience=https%3A%2F%2Fa" },
    { "business", all, "grant_type=client_credentials&client_id=app&client_secret=s%26&audience=https%3A%2F%2Fa&scope=x%20y&auth_code=b" },
  }
  for i, case in ipairs(cases) do
    it("has what the kind takes and nothing else: " .. i .. " " .. case[1], function()
      local form = core.grant(case[1], case[2])
      assert.equal(case[3], form:text())
      assert.equal("fleet.secret", tostring(form))
      form:close()
      assert.has_error(function() form:text() end)
    end)
  end

  it("can carry the refresh token before the newest", function()
    assert.equal("grant_type=refresh_token&client_id=app&refresh_token=r%200",
      core.grant("refresh", { client_id = "app", token = token, previous = true }):text())
  end)

  it("is of four kinds", function()
    assert.error_matches(function() core.grant("password", {}) end, "no kind of grant")
  end)
end)

describe("a reply of the token address", function()
  local form = core.grant("code", { client_id = "app", client_secret = "canary-secret", code = "canary/code" })

  -- What a reply makes: the token or nil, and err, kind and what is known of what was sent.
  local function take(reply, more)
    local token = core.token()
    local facts = { reply = core.reply(reply), form = form, fence = 7, mono = 100, wall = 1e9 }
    for name, value in pairs(more or {}) do facts[name] = value end
    local issued, err, kind, known = token:take(facts)
    return issued and token, err, kind, known
  end
  local function pair(more)
    return { status = 200, body = '{"access_token":"a","refresh_token":"r",' .. (more or "") .. '"token_type":"Bearer"}' }
  end

  for _, lifetime in ipairs { '"1e999"', '"0x1p2000"', '"-1e999"', "1e999", "-1e999", "-1", "0", '"soon"', "null", "true", "[]", "1e12" } do
    it("is a pair whatever its lifetime is: " .. lifetime, function()
      local token = assert(take(pair('"expires_in":' .. lifetime .. ",")))
      assert.equal("use", token:choose(1e9, 1e9))
      assert.is_nil(token:facts().expires_at)
      assert.is_table(core.json_decode(token:json()))
    end)
  end

  for text, seconds in pairs { ["28800"] = 28800, ['"600"'] = 600, ["3.6e3"] = 3600, ["0.5"] = 0.5 } do
    it("has its lifetime: " .. text, function()
      assert.equal(1e9 + seconds, assert(take(pair('"expires_in":' .. text .. ","))):facts().expires_at)
    end)
  end

  it("is a pair whatever else the reply contains", function()
    for _, odd in ipairs { '"state":"\\ud800"', '"n":1e999', '"n":12345678901234567890', '"x":[[[{}]]]' } do
      assert.equal("a", assert(take(pair(odd .. ","))):access())
    end
  end)

  it("takes its order from the lease, and always after the stored pair", function()
    local function after(order)
      return take(pair(), { stored = core.token_record('{"access_token":"x","order":' .. order .. "}") }):json():match('"order":(%d+)')
    end
    assert.equal("7", take(pair()):json():match('"order":(%d+)'))
    assert.same({ "7", "7", "8", "501" }, { after(3), after(6), after(7), after(500) })
  end)

  local kinds = {
    { 400, "", "invalid", "kept" }, { 401, "", "invalid", "kept" }, { 403, "", "forbidden", "kept" }, { 404, "", "not_found", "kept" },
    { 408, "", "timeout", "kept" }, { 408, "asleep", "timeout", "kept" }, { 429, "", "rate_limited", "kept" },
    { 500, "asleep", "service", "kept" }, { 503, "", "service", "kept" }, { 302, "", "service", "kept" },
    { 200, "", "protocol", "unanswered" },
    { 200, "[]", "protocol", "unanswered" },
    { 200, '{"access_token":""}', "protocol", "unanswered" }, { 200, '{"access_token":"a\\n"}', "protocol", "unanswered" },
    { 204, "", "protocol", "unanswered" },
    { 401, '{"error":"login_required"}', "auth", "refused" }, { 400, '{"error":"invalid_grant"}', "auth", "refused" },
    { 400, '{"error":"invalid_auth_code"}', "auth", "kept" }, { 400, '{"error":"server_error"}', "service", "kept" },
    { 400, '{"error":"unauthorized_client"}', "invalid", "kept" }, { 403, '{"error":"invalid_scope"}', "scope", "kept" },
    { 400, '{"error":"moon_phase"}', "invalid", "kept" }, { 401, '{"error":5}', "invalid", "kept" },
  }
  for _, case in ipairs(kinds) do
    it(("of %d '%s' is %s, and what was sent is %s"):format(case[1], case[2]:gsub("%c", ""), case[3], case[4]), function()
      local token, err, kind, known = take { status = case[1], body = case[2] }
      assert.is_falsy(token)
      local open = case[1] == 408 or case[2]:find("server_error", 1, true) or case[1] < 400 or case[1] >= 500
      assert.same({ case[3], case[3], case[4], open and "unknown" or "refused", case[1] },
        { kind, err.kind, known, err.outcome, err.status })
      assert.equal(case[2]:match('"error":"([^"]+)"'), err.reason)
    end)
  end

  local failures = {
    resolve = "network", connect = "network", tls = "tls", timeout = "timeout", empty = "network", cut = "protocol", too_large = "protocol",
    cancelled = "cancelled",
  }
  for failure, kind in pairs(failures) do
    it("that did not come may have done its work once it was sent: " .. failure, function()
      for sent, expected in pairs { [true] = "unanswered", [false] = "kept" } do
        local token, err, got, known = take { failure = failure, sent = sent }
        assert.is_falsy(token)
        assert.same({ kind, kind, expected, sent and "unknown" or "not_sent" }, { got, err.kind, known, err.outcome })
      end
    end)
  end

  -- Sun, 09 Sep 2001 01:46:40 GMT is 1e9.
  local waits = {
    { { ["Retry-After"] = "17" }, 17 }, { { ["Retry-After"] = "Sun, 09 Sep 2001 01:47:10 GMT" }, 30 },
    { { ["RateLimit-Reset"] = "42" }, 42 }, { {}, 300 },
  }
  for i, case in ipairs(waits) do
    it("says how long to wait in every form that a call's reply may: " .. i, function()
      local _, err = take { status = 429, headers = case[1], body = "" }
      assert.equal(case[2], err.retry_after)
    end)
  end

  it("does not repeat what was sent", function()
    local body = '{"error":"bad canary/code","error_description":"canary%2Fcode with canary-secret, twice canary-secret"}'
    local _, err = take { status = 400, body = body }
    assert.is_nil((err.message .. err.reason):find("canary", 1, true))
    assert.matches("no token: bad %[redacted%]: %[redacted%] with %[redacted%], twice %[redacted%]", err.message)
  end)
end)
