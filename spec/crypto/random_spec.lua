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
end)
