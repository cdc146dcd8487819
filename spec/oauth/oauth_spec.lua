local core = require "fleet.core"

describe("core.random_text", function()
  it("is base64url text of the asked length, and never the same twice", function()
    local seen = {}
    for _ = 1, 100 do
      local text = core.random_text(32)
      assert.matches("^[%w_%-]+$", text)
      assert.equal(43, #text)
      assert.is_nil(seen[text])
      seen[text] = true
    end
    assert.has_error(function() core.random_text(0) end)
    assert.has_error(function() core.random_text(65) end)
  end)
end)

describe("digests", function()
  it("agree with FIPS 180-4 and RFC 7636 appendix B", function()
    assert.equal("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", core.sha256("abc"))
    assert.equal("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", core.sha256(""))
    assert.equal("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
      core.oauth_challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"))
  end)

  it("of secrets are compared whole", function()
    assert.is_true(core.same_secret("abc", "abc"))
    assert.is_true(core.same_secret("", ""))
    assert.is_false(core.same_secret("abc", "abd"))
    assert.is_false(core.same_secret("abc", "abcd"))
  end)
end)

describe("core.oauth_form", function()
  it("encodes everything but unreserved characters, in the order given", function()
    assert.equal("scope=openid%20vehicle_cmds&redirect_uri=https%3A%2F%2Fx.example%2Fa%3Fb%3D1%26c&e=%C3%A4%2B~",
      core.oauth_form { { "scope", "openid vehicle_cmds" }, { "redirect_uri", "https://x.example/a?b=1&c" }, { "e", "ä+~" } })
  end)

  it("leaves out what has no value and keeps what is empty", function()
    assert.equal("b=", core.oauth_form { { "a" }, { "b", "" } })
    assert.equal("", core.oauth_form {})
  end)

  it("is read back by core.oauth_field, whatever the bytes", function()
    local every = {}
    for byte = 0, 255 do every[#every + 1] = string.char(byte) end
    local text = table.concat(every)
    assert.equal(text, core.oauth_field(core.oauth_form { { "x", "1" }, { "all", text } }, "all"))
  end)
end)

describe("core.oauth_field", function()
  local cases = {
    { "code=abc&state=x", "code", "abc" }, { "code=abc&state=x", "state", "x" }, { "a=1+2%2B3", "a", "1 2+3" },
    { "a", "a", "" }, { "a=", "a", "" }, { "a=b=c", "a", "b=c" }, { "&&a=1&", "a", "1" }, { "%61=1", "a", "1" },
    { "", "a", nil }, { "ab=1", "a", nil }, { "A=1", "a", nil },
  }
  for _, case in ipairs(cases) do
    it(("reads '%s' of '%s'"):format(case[2], case[1]), function()
      assert.same({ case[3] }, { (core.oauth_field(case[1], case[2])) })
    end)
  end

  local refused = { "a=1&a=2", "a=1&%61=1", "a=%4", "a=%zz", "a=%" }
  for _, query in ipairs(refused) do
    it(("refuses '%s'"):format(query), function()
      local value, _, kind = core.oauth_field(query, "a")
      assert.is_nil(value)
      assert.equal("protocol", kind)
    end)
  end
end)

describe("core.oauth_claims", function()
  it("gives the middle of a JSON Web Token", function()
    assert.equal('{"sub":"1"}', core.oauth_claims("eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.c2ln"))
  end)

  for _, token in ipairs { "", "opaque", "a.b", "a..c", "a.!!.c", "a.bm9qc29u.c", "a.eyJ9.c.d", "NA_0123456789abcdef" } do
    it(("takes '%s' for opaque"):format(token), function() assert.is_nil(core.oauth_claims(token)) end)
  end
end)

describe("core.oauth_choose", function()
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
    { "takes another margin", "use", { access = true, refresh = true, expires_at = 1011, margin = 10 } },
  }
  for _, case in ipairs(cases) do
    it(case[1], function()
      case[3].wall = 1000
      assert.equal(case[2], core.oauth_choose(case[3]))
    end)
  end
end)
